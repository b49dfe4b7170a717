//! Holds that the phases of a test make sense in their order: what one uses, an earlier one made.

use std::collections::BTreeMap;

use model::{Access, Action, Bytes, CacheState, End, Io, IoEngine, Op, Phase, Sharing};

/// What lies on the filesystem between two phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thing {
    File(Bytes),
    Set(Bytes),
    Tree(Bytes),
}

impl Thing {
    fn kind(self) -> &'static str {
        match self {
            Self::File(_) => "file",
            Self::Set(_) => "set",
            Self::Tree(_) => "tree",
        }
    }

    fn bytes(self) -> Bytes {
        let (Self::File(bytes) | Self::Set(bytes) | Self::Tree(bytes)) = self;
        bytes
    }
}

/// Whether there is a filesystem, and whether it is mounted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Before the first phase.
    #[default]
    Start,
    Unmade,
    Unmounted,
    Mounted,
}

/// Follows a test phase by phase.
#[derive(Debug, Default)]
pub(crate) struct PhaseOrder {
    state: State,
    things: BTreeMap<String, Thing>,
    most: Bytes,
    /// A phase that changes something and may be cut short by its time limit.
    bounded: Option<String>,
}

impl PhaseOrder {
    /// Takes in the next phase, or says why it cannot come here.
    pub fn admit(&mut self, phase: &Phase) -> Result<(), String> {
        if self.state == State::Start {
            // A test that makes no filesystem itself finds one made and mounted.
            self.state = if phase.op == Op::Mkfs {
                State::Unmade
            } else {
                State::Mounted
            };
        }
        if phase.op.is_command() {
            return self.command(&phase.op);
        }
        if self.state != State::Mounted {
            return Err("the filesystem is not mounted here".into());
        }
        self.same_for_all(phase)?;
        check_end(phase)?;
        check_cache(phase)?;
        check_numbers(&phase.op)?;
        self.files(&phase.op)?;
        let live = self.things.values().map(|t| t.bytes().0);
        self.most = self.most.max(Bytes(live.fold(0, u64::saturating_add)));
        Ok(())
    }

    /// What a time limit left undone would be missing for later phases, with slow contenders only.
    fn same_for_all(&mut self, phase: &Phase) -> Result<(), String> {
        if let Some(bounded) = &self.bounded {
            return Err(format!(
                "phase `{bounded}` before it may end at its time limit and leave less to work on; \
                 a phase that changes something takes `at_most` only as the last of its test"
            ));
        }
        if phase.at_most.is_some() && changes_something(&phase.op) {
            self.bounded = Some(phase.name.clone());
        }
        Ok(())
    }

    /// Whether a phase steps from one request to a next that its file does not hold.
    pub fn steps_beyond(&self, phase: &Phase) -> bool {
        let Op::Io(io) = &phase.op else { return false };
        let Access::ReadStride { stride } = io.access else {
            return false;
        };
        let whole = || self.things.get(&io.file).map(|thing| thing.bytes());
        io.size.or_else(whole).is_some_and(|size| stride > size)
    }

    /// The most that lies on the filesystem at once, as files have it.
    pub fn most_written(&self) -> Bytes {
        self.most
    }

    fn command(&mut self, op: &Op) -> Result<(), String> {
        use State::{Mounted, Unmade, Unmounted};
        self.state = match (op, self.state) {
            (Op::Mkfs, Unmade) => Unmounted,
            (Op::Mkfs, _) => {
                return Err(
                    "mkfs can only be the first phase: the others would be made on what is gone"
                        .into(),
                );
            }
            (Op::Mount, Unmounted) => Mounted,
            (Op::Unmount, Mounted) => Unmounted,
            (Op::Fsck, Unmounted) => Unmounted,
            (_, Mounted) => return Err("the filesystem is mounted here".into()),
            _ => return Err("the filesystem is not mounted here".into()),
        };
        Ok(())
    }

    fn files(&mut self, op: &Op) -> Result<(), String> {
        match op {
            Op::Io(io) => self.io(io),
            Op::WriteStream { file, size, .. }
            | Op::CopyFileIn { file, size, .. }
            | Op::Preallocate { file, size }
            | Op::Sparse { file, size } => self.make(file, Thing::File(*size)),
            Op::ReadStream { file, .. } => self.find(file, "file").map(|_| ()),
            Op::RemoveFile { file } => self.remove(file, "file"),
            Op::CopyFile { from, to, .. } => self.copy(from, to, "file"),
            Op::Create(c) => {
                let bytes = Bytes(c.entries.saturating_mul(c.size.0));
                self.make(&c.set, Thing::Set(bytes))
            }
            Op::Metadata { set, action, .. } => self.metadata(set, action),
            Op::PlantTree { tree, bytes, .. } | Op::CopyTreeIn { tree, bytes, .. } => {
                self.make(tree, Thing::Tree(*bytes))
            }
            Op::ListTree { tree } | Op::FindInTree { tree } | Op::VerifyTree { tree } => {
                self.find(tree, "tree").map(|_| ())
            }
            Op::RemoveTree { tree } => self.remove(tree, "tree"),
            Op::CopyTree { from, to, .. } => self.copy(from, to, "tree"),
            Op::Capacity | Op::Probe { .. } | Op::Mkfs | Op::Mount | Op::Unmount | Op::Fsck => {
                Ok(())
            }
        }
    }

    fn io(&mut self, io: &Io) -> Result<(), String> {
        let files = match io.sharing {
            Sharing::Shared => 1,
            Sharing::Own => u64::from(io.threads),
        };
        let size = Bytes(io.size.unwrap_or_default().0.saturating_mul(files));
        match io.access {
            Access::Write => self.make(&io.file, Thing::File(size)),
            Access::Append => {
                let there = self.find(&io.file, "file")?.bytes();
                let longer = Bytes(there.0.saturating_add(size.0));
                self.things.insert(io.file.clone(), Thing::File(longer));
                Ok(())
            }
            _ => self.find(&io.file, "file").map(|_| ()),
        }
    }

    fn metadata(&mut self, set: &str, action: &Action) -> Result<(), String> {
        match action {
            Action::Remove { .. } => self.remove(set, "set"),
            Action::Link { to } | Action::Symlink { to } => {
                self.find(set, "set")?;
                self.make(to, Thing::Set(Bytes(0)))
            }
            _ => self.find(set, "set").map(|_| ()),
        }
    }

    fn make(&mut self, name: &str, thing: Thing) -> Result<(), String> {
        match self.things.insert(name.to_owned(), thing) {
            None => Ok(()),
            Some(there) => Err(format!("a {} `{name}` is there already", there.kind())),
        }
    }

    fn find(&self, name: &str, kind: &str) -> Result<Thing, String> {
        match self.things.get(name) {
            Some(thing) if thing.kind() == kind => Ok(*thing),
            Some(thing) => Err(format!("`{name}` is a {} and no {kind}", thing.kind())),
            None => Err(format!(
                "no earlier phase made a {kind} `{name}`, or one removed it"
            )),
        }
    }

    fn remove(&mut self, name: &str, kind: &str) -> Result<(), String> {
        self.find(name, kind)?;
        self.things.remove(name);
        Ok(())
    }

    fn copy(&mut self, from: &str, to: &str, kind: &str) -> Result<(), String> {
        let thing = self.find(from, kind)?;
        self.make(to, thing)
    }
}

/// Whether files or names are other ones after the operation.
fn changes_something(op: &Op) -> bool {
    match op {
        Op::Io(io) => io.access.writes() && io.engine != IoEngine::Null,
        Op::Metadata { action, .. } => {
            !matches!(action, Action::Open | Action::Stat { .. } | Action::Readdir)
        }
        Op::WriteStream { .. }
        | Op::Preallocate { .. }
        | Op::Sparse { .. }
        | Op::Create(_)
        | Op::PlantTree { .. }
        | Op::CopyTreeIn { .. }
        | Op::CopyFileIn { .. }
        | Op::CopyTree { .. }
        | Op::RemoveTree { .. }
        | Op::CopyFile { .. }
        | Op::RemoveFile { .. } => true,
        Op::ReadStream { .. }
        | Op::ListTree { .. }
        | Op::FindInTree { .. }
        | Op::VerifyTree { .. }
        | Op::Mkfs
        | Op::Mount
        | Op::Unmount
        | Op::Fsck
        | Op::Capacity
        | Op::Probe { .. } => false,
    }
}

/// `fsync` ends a phase that works on one file; what works on many can only sync them all.
fn check_end(phase: &Phase) -> Result<(), String> {
    let one_file = matches!(
        &phase.op,
        Op::Io(_)
            | Op::WriteStream { .. }
            | Op::CopyFile { .. }
            | Op::CopyFileIn { .. }
            | Op::Preallocate { .. }
    );
    if phase.ends == End::Fsync && !one_file {
        return Err("`ends = \"fsync\"` needs requests on a file; expected call or syncfs".into());
    }
    Ok(())
}

/// Only what reads and writes one file in blocks can pass the page cache by.
fn check_cache(phase: &Phase) -> Result<(), String> {
    let blocks = match &phase.op {
        Op::Io(io) => io.engine != IoEngine::Mmap,
        _ => false,
    };
    if phase.cache == CacheState::Direct && !blocks {
        return Err("`cache = \"direct\"` needs a file that is read or written in blocks; expected cold, warm or advised".into());
    }
    Ok(())
}

fn check_numbers(op: &Op) -> Result<(), String> {
    match op {
        Op::PlantTree {
            files,
            bytes,
            smallest,
            largest,
            ..
        }
        | Op::CopyTreeIn {
            files,
            bytes,
            smallest,
            largest,
            ..
        } => {
            let least = files.saturating_mul(smallest.0);
            let most = files.saturating_mul(largest.0);
            if smallest > largest {
                Err(format!(
                    "`smallest` ({smallest}) is above `largest` ({largest})"
                ))
            } else if !(least..=most).contains(&bytes.0) {
                Err(format!(
                    "{files} files of {smallest} to {largest} cannot hold {bytes} together"
                ))
            } else {
                Ok(())
            }
        }
        Op::Io(io) => check_io(io),
        Op::Create(c) if c.directories > c.entries => Err(format!(
            "{} directories are more than {} entries",
            c.directories, c.entries
        )),
        _ => Ok(()),
    }
}

fn check_io(io: &Io) -> Result<(), String> {
    if let Some(size) = io.size
        && io.block > size
    {
        return Err(format!("`block` ({}) is above `size` ({size})", io.block));
    }
    if io.depth > 1 && io.engine != IoEngine::IoUring {
        return Err(format!(
            "`iodepth` above 1 needs `engine = \"io_uring\"`; {} has one request in flight",
            io.engine
        ));
    }
    if io.verify && !io.access.reads() {
        return Err(format!("`verify` means nothing for `{}`", io.access.word()));
    }
    if io.include_open_close && io.threads > 1 {
        return Err("`include_open_close` is for one thread: files of several are opened before the clock starts and closed after".into());
    }
    if io.fsync > 0 && !io.access.writes() {
        return Err(format!("`fsync` means nothing for `{}`", io.access.word()));
    }
    match io.access {
        Access::ReadStride { stride } if stride < io.block => Err(format!(
            "`stride` ({stride}) is below `block` ({})",
            io.block
        )),
        _ => Ok(()),
    }
}
