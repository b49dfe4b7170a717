//! Guests that begin where one of them was saved: those that boot alike boot once.
//!
//! In virtual time guests differ in nothing but what lies on their card until their agent looks at it. There the first of
//! them is stopped and saved: its memory, which is a file, and the state of all else (`xen-save-devices-state` of QEMU's
//! QMP, which needs no Xen). A guest that begins there, on a copy of the memory, takes the same nanoseconds as one that
//! has booted itself. QEMU cannot `migrate` while it records, which it has to (`guest/machine.rs`), and it may advance the
//! clock if a guest stops itself in the midst of its work; a timer that stops it, as here, changes nothing.
//!
//! Memory and state are files without a name: nothing of them is left once this process has ended.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use model::Nanos;
use serde_json::{Value, json};
use sys::{clock, memfd};

use crate::cell_key::CellKey;
use crate::monitor::{GuestProgress, QmpMonitor};
use crate::warn_once::WarnOnce;

/// How many are kept, of some hundred MB each: a campaign has one for each size of its disks.
const KEPT: usize = 4;
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Saved machines, each for all guests that boot alike.
#[derive(Default)]
pub struct SnapshotPool {
    /// Nothing where a machine of this kind cannot be saved, or does not go on.
    known: Mutex<Vec<(CellKey, Option<Arc<Snapshot>>)>>,
    trouble: WarnOnce,
}

/// A machine that was saved.
pub struct Snapshot {
    memory: File,
    state: File,
    /// What its console had said.
    console: Vec<u8>,
}

impl SnapshotPool {
    /// The machine of this kind, made where there is none yet; nothing where that cannot be done. Others wait meanwhile:
    /// most of them for the same.
    pub(crate) fn get(
        &self,
        kind: CellKey,
        stop: &AtomicBool,
        make: impl FnOnce() -> io::Result<Snapshot>,
    ) -> Option<Arc<Snapshot>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, snapshot)) = known.iter().find(|(of, _)| *of == kind) {
            return snapshot.clone();
        }
        let made = make().map(Arc::new);
        if let Err(error) = &made
            && !stop.load(Ordering::Relaxed)
        {
            self.warn(&format!("a guest cannot be saved: {error}"));
        }
        let made = made.ok();
        // Who was interrupted knows nothing of the others.
        if made.is_some() || !stop.load(Ordering::Relaxed) {
            let most = KEPT - 1;
            let before = known.len().saturating_sub(most);
            known.drain(..before);
            known.push((kind, made.clone()));
        }
        made
    }

    /// How many machines are kept.
    pub fn len(&self) -> usize {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().filter(|(_, made)| made.is_some()).count()
    }

    /// No guest is to begin with it any more.
    pub(crate) fn discard(&self, kind: CellKey) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(of, _)| *of != kind);
        known.push((kind, None));
        self.warn("a guest does not go on where it was saved");
    }

    /// Something that the user is to know; what comes first is told, and no more.
    pub(crate) fn warn(&self, why: &str) {
        self.trouble.set(|| why.to_owned());
    }

    /// Why guests boot that could have begun where another was saved; once, to whoever asks first.
    pub fn take_warning(&self) -> Option<String> {
        self.trouble.take()
    }
}

impl Snapshot {
    /// Starts a machine and saves it where it stops. `start` is given the files that are to be its memory and its console.
    ///
    /// # Errors
    /// When it does not stop within such a time of its work, QEMU cannot save it, or `stop` rises.
    pub(crate) fn make(
        start: impl FnOnce(&Path, &Path) -> Command,
        within: Nanos,
        stop: &AtomicBool,
    ) -> io::Result<Self> {
        let memory = memfd::memfd("memory")?;
        let state = memfd::memfd("state")?;
        let console = memfd::memfd("console")?;
        let said = memfd::path(&console);
        let mut command = start(&memfd::path(&memory), &said);
        let mut machine = Running::start(&mut command, within, stop)?;
        machine.wait_for(|said| said["event"] == "STOP")?;
        let to = memfd::path(&state);
        let save = json!({"filename": to, "live": false});
        let monitor = machine.progress.monitor();
        monitor.send(&json!({"execute": "xen-save-devices-state", "arguments": save, "id": 1}))?;
        let answer = machine.wait_for(|said| said["id"] == 1)?;
        if let Some(error) = answer.get("error") {
            return Err(io::Error::other(error.to_string()));
        }
        drop(machine);
        Ok(Self {
            memory,
            state,
            console: fs::read(said)?,
        })
    }

    /// A copy of its memory, for one machine.
    pub(crate) fn memory(&self) -> io::Result<File> {
        memfd::copy(&self.memory, "memory")
    }

    /// Where its state is.
    pub(crate) fn state(&self) -> PathBuf {
        memfd::path(&self.state)
    }

    /// What its console had said.
    pub(crate) fn console(&self) -> &[u8] {
        &self.console
    }
}

/// A machine that has not come yet to where it is saved. It ends with this.
struct Running<'a> {
    child: Child,
    progress: GuestProgress,
    /// What it writes to standard error.
    complaints: File,
    left: Nanos,
    stop: &'a AtomicBool,
}

impl<'a> Running<'a> {
    fn start(command: &mut Command, within: Nanos, stop: &'a AtomicBool) -> io::Result<Self> {
        let complaints = memfd::memfd("complaints")?;
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(complaints.try_clone()?)
            .process_group(0)
            .spawn()?;
        let monitor = QmpMonitor::of(&mut child)?;
        Ok(Self {
            child,
            progress: GuestProgress::of(monitor),
            complaints,
            left: within,
            stop,
        })
    }

    fn why_it_ended(&self) -> String {
        const ENDED: &str = "QEMU ended before it was saved";
        let complaints = fs::read_to_string(memfd::path(&self.complaints));
        let last = complaints.ok();
        let last = last.as_deref().and_then(|text| text.trim().lines().last());
        last.map_or_else(|| ENDED.to_owned(), |last| format!("{ENDED}: {last}"))
    }

    fn wait_for(&mut self, is_it: impl Fn(&Value) -> bool) -> io::Result<Value> {
        let mut before = clock::now();
        loop {
            match self.progress.monitor().receive(STOP_POLL_INTERVAL) {
                Ok(Some(said)) if is_it(&said) => return Ok(said),
                Ok(_) => {}
                Err(_) => return Err(io::Error::other(self.why_it_ended())),
            }
            let ran = self.progress.pass(clock::since(before));
            before = clock::now();
            self.left.0 = self.left.0.saturating_sub(ran.0);
            if self.left.0 == 0 || self.stop.load(Ordering::Relaxed) {
                return Err(io::Error::other("the guest did not come so far"));
            }
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> io::Result<Snapshot> {
        Ok(Snapshot {
            memory: memfd::memfd("memory")?,
            state: memfd::memfd("state")?,
            console: Vec::new(),
        })
    }

    fn fails() -> io::Result<Snapshot> {
        Err(io::Error::other("no"))
    }

    fn kind(number: u8) -> CellKey {
        CellKey::sha256(&[number])
    }

    #[test]
    fn each_kind_is_saved_once_and_where_it_fails_never_again() {
        let (snapshots, stop) = (SnapshotPool::default(), AtomicBool::new(false));
        assert!(snapshots.get(kind(0), &stop, snapshot).is_some());
        assert!(
            snapshots
                .get(kind(0), &stop, || panic!("it is there"))
                .is_some()
        );
        assert!(snapshots.get(kind(1), &stop, fails).is_none());
        assert!(
            snapshots
                .get(kind(1), &stop, || panic!("it failed"))
                .is_none()
        );
        assert_eq!(
            snapshots.take_warning().as_deref(),
            Some("a guest cannot be saved: no")
        );
        snapshots.discard(kind(0));
        assert_eq!(
            snapshots.take_warning(),
            None,
            "the user has been told once"
        );
        assert!(
            snapshots
                .get(kind(0), &stop, || panic!("given up"))
                .is_none()
        );
        for number in 2..10 {
            snapshots.get(kind(number), &stop, snapshot);
        }
        assert_eq!(snapshots.len(), KEPT);
    }

    #[test]
    fn who_is_interrupted_says_nothing_of_the_others() {
        let (snapshots, stop) = (SnapshotPool::default(), AtomicBool::new(true));
        assert!(snapshots.get(kind(0), &stop, fails).is_none());
        assert!(snapshots.get(kind(0), &stop, snapshot).is_some());
    }

    #[test]
    fn a_machine_that_ends_before_it_stops_and_one_that_never_does_are_no_snapshots() {
        let stop = AtomicBool::new(false);
        let make = |program: &str, words: &[&str]| {
            let start = |_: &Path, _: &Path| {
                let mut command = Command::new(program);
                command.args(words);
                command
            };
            let made = Snapshot::make(start, Nanos(200_000_000), &stop);
            made.err().unwrap().to_string()
        };
        assert_eq!(
            make("cat", &["/dev/null"]),
            "QEMU ended before it was saved"
        );
        assert_eq!(
            make("sh", &["-c", "echo no such machine >&2"]),
            "QEMU ended before it was saved: no such machine"
        );
        assert_eq!(make("sleep", &["1000"]), "the guest did not come so far");
    }
}
