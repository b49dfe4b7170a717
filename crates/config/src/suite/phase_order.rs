//! Checks the order of the phases of a test: an earlier phase must create each object that a phase
//! uses.

use model::op::FsState;
use model::{Bytes, CacheState, Op, Phase, SyncAtEnd};

/// Simulates a test phase by phase.
#[derive(Debug, Default)]
pub(crate) struct PhaseOrder {
    things: FsState,
    most: Bytes,
    /// A modifying phase with a time limit, which may end before its work is complete.
    bounded: Option<String>,
}

impl PhaseOrder {
    /// Adds the next phase. Returns an error if the phase is not valid at this position.
    pub fn check_next(&mut self, phase: &Phase) -> Result<(), String> {
        self.same_for_all(phase)?;
        check_end(phase)?;
        check_cache(phase)?;
        phase.op.info().check()?;
        self.things.apply(&phase.op);
        self.most = self.most.max(self.things.bytes());
        match self.things.violation() {
            Some(complaint) => Err(complaint.to_owned()),
            None => Ok(()),
        }
    }

    /// Checks that no phase follows a modifying phase with a time limit: slow contenders would
    /// leave less work for it than fast ones.
    fn same_for_all(&mut self, phase: &Phase) -> Result<(), String> {
        // The role results follow their mix and do no work.
        let works = !phase.op.is_command() && !matches!(phase.op, Op::RoleResult(_));
        if let Some(bounded) = self.bounded.as_ref().filter(|_| works) {
            return Err(format!(
                "phase `{bounded}` before it may end at its time limit and leave less to work on; \
                 a phase that changes something takes `at_most` only as the last of its test"
            ));
        }
        if phase.at_most.is_some() && phase.op.modifies_files() {
            self.bounded = Some(phase.name.clone());
        }
        Ok(())
    }

    /// Returns true if the stride of a phase exceeds its file.
    pub fn steps_beyond(&self, phase: &Phase) -> bool {
        matches!(&phase.op, Op::Io(io) if io.exceeds_file(&self.things))
    }

    /// Returns the maximum total size of files on the filesystem at any time.
    pub fn max_bytes_on_disk(&self) -> Bytes {
        self.most
    }
}

/// Checks the end of a phase: `fsync` needs a phase on one file; a phase on many files can only use
/// `syncfs`.
fn check_end(phase: &Phase) -> Result<(), String> {
    if phase.sync_at_end == SyncAtEnd::Fsync
        && !phase.op.info().allowed_ends().contains(&SyncAtEnd::Fsync)
    {
        return Err("`ends = \"fsync\"` needs requests on a file; expected call or syncfs".into());
    }
    Ok(())
}

/// Checks the cache state of a phase: only block requests on one file can bypass the page cache.
fn check_cache(phase: &Phase) -> Result<(), String> {
    let caches = phase.op.info().allowed_caches();
    if phase.cache == CacheState::Direct && !caches.contains(&CacheState::Direct) {
        return Err("`cache = \"direct\"` needs a file that is read or written in blocks; expected cold, warm or advised".into());
    }
    if phase.cache == CacheState::FadviseDontNeed && !caches.contains(&CacheState::FadviseDontNeed)
    {
        return Err(
            "`cache = \"advised\"` needs files that are known; expected cold or warm".into()
        );
    }
    Ok(())
}
