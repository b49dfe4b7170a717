//! Holds that the phases of a test make sense in their order: what one uses, an earlier one made.

use std::collections::BTreeMap;

use model::{Bytes, CacheState, End, Op, Phase};

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
        check_end(phase)?;
        check_cache(phase)?;
        check_numbers(&phase.op)?;
        self.files(&phase.op)?;
        let live = self.things.values().map(|t| t.bytes().0);
        self.most = self.most.max(Bytes(live.fold(0, u64::saturating_add)));
        Ok(())
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
            Op::Write { file, size, .. } | Op::WriteChars { file, size } => {
                self.make(file, Thing::File(*size))
            }
            Op::Rewrite { file, .. }
            | Op::Read { file, .. }
            | Op::Seek { file, .. }
            | Op::ReadChars { file } => self.find(file, "file").map(|_| ()),
            Op::RemoveFile { file } => self.remove(file, "file"),
            Op::CopyFile { from, to, .. } => self.copy(from, to, "file"),
            Op::Create {
                set, files, size, ..
            } => self.make(set, Thing::Set(Bytes(files.saturating_mul(size.0)))),
            Op::Stat { set, .. } => self.find(set, "set").map(|_| ()),
            Op::Delete { set, .. } => self.remove(set, "set"),
            Op::PlantTree { tree, bytes, .. } => self.make(tree, Thing::Tree(*bytes)),
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

/// `fsync` ends a phase that works on one file; what works on many can only sync them all.
fn check_end(phase: &Phase) -> Result<(), String> {
    let one_file_written = matches!(
        phase.op,
        Op::Write { .. }
            | Op::Rewrite { .. }
            | Op::WriteChars { .. }
            | Op::CopyFile { .. }
            | Op::Seek { .. }
    );
    if phase.ends == End::Fsync && !one_file_written {
        return Err(
            "`ends = \"fsync\"` needs one file that is written; expected call or syncfs".into(),
        );
    }
    Ok(())
}

/// Only what reads and writes one file in blocks can pass the page cache by.
fn check_cache(phase: &Phase) -> Result<(), String> {
    let blocks = matches!(
        phase.op,
        Op::Write { .. }
            | Op::Rewrite { .. }
            | Op::Read { .. }
            | Op::Seek { .. }
            | Op::CopyFile { .. }
    );
    if phase.cache == CacheState::Direct && !blocks {
        return Err("`cache = \"direct\"` needs one file that is used in blocks; expected cold, warm or advised".into());
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
        Op::Write { size, block, .. } if block > size => {
            Err(format!("`block` ({block}) is above `size` ({size})"))
        }
        Op::Create {
            files, directories, ..
        } if directories > files => Err(format!(
            "{directories} directories are more than {files} files"
        )),
        _ => Ok(()),
    }
}
