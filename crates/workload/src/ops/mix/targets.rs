//! Sets, files and logs that the roles of a mix use, before and after the mix.

use std::fs::{File, OpenOptions};
use std::path::PathBuf;
use std::sync::Mutex;

use model::op::MixStep;
use model::{EntryKind, Mix};
use nix::fcntl::OFlag;
use nix::unistd::close;
use sys::io::caches;

use super::RoleThread;
use super::worker::ThreadOutcome;
use crate::data::corruption::{Corruption, CorruptionKind};
use crate::data::expected_content::{ExpectedFile, GenerationPolicy};
use crate::data::pattern::BLOCK;
use crate::error::{OpContext, OpError};
use crate::files::mixed::{DynamicFileSet, ThreadFiles};
use crate::io::sync_loop::VerifyMode;
use crate::io::target::{IoFile, OpenMode as How};
use crate::workspace::CellWorkspace;

/// Maximum bytes per request when a whole file of a set is read or written, as in filebench
/// (`iosize=1m`).
pub const REQUEST: u64 = 1 << 20;

/// Sets, files and logs of a mix before the clock starts.
pub struct MixTargets {
    /// Sets that roles use.
    pub sets: Vec<TargetSet>,
    /// Files that roles use.
    pub files: Vec<TargetFile>,
    /// Log of each role that has one.
    pub logs: Vec<TargetLog>,
    longest: usize,
}

/// A set, whole or in parts.
pub struct TargetSet {
    name: String,
    /// Existing files.
    pub mixed: DynamicFileSet,
    /// Exclusive shares of the threads, if roles change the set; taken when a thread starts.
    shares: Option<Vec<Mutex<Option<ThreadFiles>>>>,
}

/// A file whose blocks are read and written.
pub struct TargetFile {
    name: String,
    path: PathBuf,
    /// State before the mix.
    pub state: ExpectedFile,
    /// Effect of writes on the content.
    pub stamping: GenerationPolicy,
    /// Comparison of reads.
    pub verify: VerifyMode,
    writes: bool,
    /// Whether a role streams over the file, which is then evicted from the page cache first.
    streamed: bool,
}

/// A file that the threads of a role append to.
pub struct TargetLog {
    role: String,
    path: PathBuf,
    /// Size before the mix, in bytes.
    before: u64,
}

/// Files that are open during the timed part, in the order of [`MixTargets`].
pub struct OpenTargets {
    /// The files.
    pub files: Vec<IoFile>,
    /// The logs.
    pub logs: Vec<AppendLog>,
}

/// An open log.
pub struct AppendLog {
    /// File opened for appending.
    pub file: File,
    /// Path of the log.
    pub path: PathBuf,
}

impl MixTargets {
    /// Finds the sets, files and logs that roles use.
    pub fn find(ws: &CellWorkspace, mix: &Mix, seats: &[RoleThread<'_>]) -> Result<Self, OpError> {
        let sets = mix.sets().into_iter();
        let sets = sets.map(|set| TargetSet::find(ws, mix, set, seats));
        let sets = sets.collect::<Result<Vec<_>, _>>()?;
        let files = mix.files().into_iter();
        let files = files.map(|file| TargetFile::find(ws, mix, file));
        let logging = mix.roles.iter().filter(|role| role.appends_to_log());
        let logs = logging.map(|role| TargetLog {
            // No name in a suite starts with an underscore.
            path: ws.path(&format!("_{}.log", role.name)),
            before: ws.logs.get(&role.name).copied().unwrap_or(0),
            role: role.name.clone(),
        });
        let steps = || mix.roles.iter().flat_map(|role| &role.steps);
        // Appends may make a file longer than any existing one.
        let grows = steps().any(|step| matches!(step, MixStep::Append(_)));
        let largest = sets.iter().map(|set| match grows {
            true => u64::MAX,
            false => set.mixed.largest(),
        });
        let whole = largest.map(|size| size.min(REQUEST));
        let requests = steps().filter_map(MixStep::size).map(|size| size.0);
        Ok(Self {
            longest: whole.chain(requests).max().unwrap_or(1).max(1) as usize,
            sets,
            files: files.collect::<Result<_, _>>()?,
            logs: logs.collect(),
        })
    }

    /// Returns the length of the longest request, in bytes.
    pub const fn longest(&self) -> usize {
        self.longest
    }

    /// Returns the set with this name.
    pub fn set(&self, name: &str) -> Option<&TargetSet> {
        self.sets.iter().find(|set| set.name == name)
    }

    /// Returns the index of the file with this name.
    pub fn file(&self, name: &str) -> Option<usize> {
        self.files.iter().position(|file| file.name == name)
    }

    /// Returns the index of the log of a role.
    pub fn log(&self, role: &str) -> Option<usize> {
        self.logs.iter().position(|log| log.role == role)
    }

    /// Opens files and logs.
    pub fn open(&self) -> Result<OpenTargets, OpError> {
        let open = |file: &TargetFile| {
            if file.streamed {
                // If this fails, the first pass reads from memory.
                let _ = caches::drop_file_cache(&file.path);
            }
            let how = match file.writes {
                true => How::ReadWrite,
                false => How::ReadOnly,
            };
            IoFile::open(&file.path, file.state.size, how, OFlag::empty())
        };
        let open_log = |log: &TargetLog| {
            let file = OpenOptions::new().append(true).create(true).open(&log.path);
            let file = file.with_call("open", &log.path)?;
            Ok(AppendLog { file, path: log.path.clone() })
        };
        Ok(OpenTargets {
            files: self.files.iter().map(open).collect::<Result<_, _>>()?,
            logs: self.logs.iter().map(open_log).collect::<Result<_, _>>()?,
        })
    }

    /// Records the final state of the threads.
    pub fn record_results(
        self,
        ws: &mut CellWorkspace,
        seats: &[RoleThread<'_>],
        mut left: Vec<ThreadOutcome>,
    ) -> Result<(), OpError> {
        for mut set in self.sets {
            if set.shares.is_none() {
                continue;
            }
            let of_set = seats.iter().zip(&mut left);
            let of_set = of_set.filter(|(seat, _)| seat.role.set.as_ref() == Some(&set.name));
            let shares = of_set.filter_map(|(_, left)| left.share.take());
            set.mixed.merge(shares.collect());
            ws.sets.remove(&set.name);
            ws.mixed.insert(set.name, set.mixed);
        }
        for mut file in self.files.into_iter().filter(|file| file.writes) {
            let of_file = seats.iter().zip(&mut left);
            let of_file = of_file.filter(|(seat, _)| seat.role.file.as_ref() == Some(&file.name));
            let mut written: Vec<(u64, u64)> =
                of_file.flat_map(|(_, left)| std::mem::take(&mut left.written)).collect();
            written.sort_unstable();
            written.dedup();
            for (start, end) in written {
                file.state.written(start..end, file.stamping);
            }
            file.state.compact();
            ws.files.insert(file.name, file.state);
        }
        for log in self.logs {
            let of_role = seats.iter().zip(&left);
            let of_role = of_role.filter(|(seat, _)| seat.role.name == log.role);
            let expected = log.before + of_role.map(|(_, left)| left.logged).sum::<u64>();
            log.require(expected)?;
            ws.logs.insert(log.role, expected);
        }
        Ok(())
    }
}

impl TargetSet {
    fn find(
        ws: &CellWorkspace,
        mix: &Mix,
        name: &str,
        seats: &[RoleThread<'_>],
    ) -> Result<Self, OpError> {
        let mixed = match ws.mixed.get(name) {
            Some(mixed) => mixed.clone(),
            None => {
                let set = ws.set(name)?;
                if set.kind != EntryKind::File || set.links.is_some() || set.sizes_unknown {
                    return Err(OpError::Missing {
                        what: format!("a set `{name}` of plain files"),
                    });
                }
                DynamicFileSet::from_file_set(set)
            }
        };
        let threads = seats.iter().filter(|seat| seat.role.set.as_deref() == Some(name));
        let threads = threads.count() as u64;
        let parts = |mixed: &DynamicFileSet| -> Vec<_> {
            let shares = mixed.split(threads).into_iter();
            shares.map(|share| Mutex::new(Some(share))).collect()
        };
        Ok(Self {
            shares: mix.changes_set(name).then(|| parts(&mixed)),
            name: name.to_owned(),
            mixed,
        })
    }

    /// Takes the share of a thread, by its number among those of the set. Returns `None` if all
    /// threads share all files.
    pub fn share(&self, thread: usize) -> Option<ThreadFiles> {
        let share = self.shares.as_ref()?.get(thread)?;
        super::locked(share).take()
    }
}

impl TargetFile {
    fn find(ws: &CellWorkspace, mix: &Mix, name: &str) -> Result<Self, OpError> {
        let state = ws.file(name)?.clone();
        let roles = mix.roles.iter();
        let steps = roles.filter(|role| role.file.as_deref() == Some(name));
        let steps: Vec<&MixStep> = steps.flat_map(|role| &role.steps).collect();
        let requests = steps.iter().filter(|step| {
            matches!(step, MixStep::RandomRead(_) | MixStep::RandomWrite(_) | MixStep::Stream(_))
        });
        let largest = requests.filter_map(|step| step.size()).max();
        if largest.is_some_and(|largest| largest.0 > state.size) {
            return Err(OpError::Missing {
                what: format!("a block of the requested size in the file `{name}`"),
            });
        }
        let written = steps.iter().filter_map(|step| match step {
            MixStep::RandomWrite(size) => Some(size.0),
            _ => None,
        });
        let written: Vec<u64> = written.collect();
        // Requests that cover only parts of blocks cannot write whole blocks of one new generation.
        let aligned = written.iter().all(|size| size.is_multiple_of(BLOCK as u64));
        let writes = !written.is_empty();
        Ok(Self {
            path: ws.path(name),
            stamping: match aligned {
                true => GenerationPolicy::New(state.next_generation(false)),
                false => GenerationPolicy::Reuse,
            },
            verify: match (mix.verify, writes) {
                (false, _) => VerifyMode::Off,
                (true, true) => VerifyMode::BeforeOrAfter { at_once: true },
                (true, false) => VerifyMode::Before,
            },
            writes,
            streamed: steps.iter().any(|step| matches!(step, MixStep::Stream(_))),
            name: name.to_owned(),
            state,
        })
    }
}

impl TargetLog {
    /// Checks that the log is complete.
    fn require(&self, expected: u64) -> Result<(), OpError> {
        let found = self.path.metadata().with_call("stat", &self.path)?.len();
        match found == expected {
            true => Ok(()),
            false => Err(OpError::Corrupt {
                path: self.path.clone(),
                corruption: Corruption { offset: found, kind: CorruptionKind::Short { expected } },
            }),
        }
    }
}

impl OpenTargets {
    /// Closes all files and logs.
    pub fn close(self) -> Result<(), OpError> {
        for target in self.files {
            close(target.file).with_call("close", &target.path)?;
        }
        for log in self.logs {
            close(log.file).with_call("close", &log.path)?;
        }
        Ok(())
    }
}
