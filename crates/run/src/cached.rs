//! Serves cells from the results of equal ones, where equal cells cannot but give equal figures.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use model::{CellResult, Test};
use wire::{Event, Job};

use crate::cell_key::CellKey;
use crate::{Executor, Stopped};

/// An executor some of whose cells give the same result whenever they are run.
pub trait Repeatable: Executor {
    /// The name of all that the result of a job follows from; nothing where not all of it can be named.
    ///
    /// # Errors
    /// When something that goes into the cell cannot be read.
    fn key(&self, job: &Job) -> io::Result<Option<CellKey>>;

    /// Does the job, and says whether it would come to the same end again: what was killed from outside, or
    /// given up, would not.
    ///
    /// # Errors
    /// Only when the user interrupted it or it was withdrawn.
    fn execute_and_judge(
        &mut self,
        job: &Job,
        observe: &mut dyn FnMut(&Event),
    ) -> Result<(CellResult, bool), Stopped>;
}

/// Results by the key of their cell, a file each. Any number of processes may use it at once.
#[derive(Clone, Debug)]
pub struct CellCache {
    directory: PathBuf,
}

impl CellCache {
    /// The cache in this directory, which need not be there yet.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    /// The result of the cell with this key, as it was when it was run. What cannot be read, is damaged or
    /// does not answer the test is as good as none.
    pub fn find(&self, key: &CellKey, test: &Test) -> Option<CellResult> {
        let text = fs::read_to_string(self.path(key)).ok()?;
        let (head, json) = text.split_once('\n')?;
        if head != heading(key, json) {
            return None;
        }
        let result: CellResult = serde_json::from_str(json).ok()?;
        let phases = result.phases.iter().map(|phase| &phase.phase);
        let answers = phases.eq(test.phases.iter().map(|phase| &phase.name));
        answers.then_some(result)
    }

    /// Keeps a result. The file has its name only when all of it is on the disk, so that a kill at any
    /// moment leaves none that is half written.
    ///
    /// # Errors
    /// When the file cannot be written; nothing is kept then.
    pub fn keep(&self, key: &CellKey, result: &CellResult) -> io::Result<()> {
        fs::create_dir_all(&self.directory)?;
        let json = serde_json::to_string(result)?;
        // A name of its own for each writer; it is removed where it does not get the final one.
        let mut file = tempfile::Builder::new()
            .prefix("partial-")
            .tempfile_in(&self.directory)?;
        write!(file, "{}\n{json}", heading(key, &json))?;
        file.as_file().sync_all()?;
        file.persist(self.path(key))?;
        File::open(&self.directory)?.sync_all()
    }

    fn path(&self, key: &CellKey) -> PathBuf {
        self.directory.join(format!("{key}.json"))
    }
}

/// The first line of a file: the key, which tells a file that was moved, and the digest of the rest, which
/// tells one that was damaged.
fn heading(key: &CellKey, json: &str) -> String {
    format!("{key} {}", CellKey::of(json.as_bytes()))
}

/// Runs a cell only where no equal one was run before.
pub struct CachedExecutor<E> {
    executor: E,
    cache: Option<CellCache>,
}

impl<E: Repeatable> CachedExecutor<E> {
    /// Runs with this executor what is not in the cache; everything where there is none.
    pub const fn new(executor: E, cache: Option<CellCache>) -> Self {
        Self { executor, cache }
    }

    /// The executor of what is not in the cache, to be made ready for the next cell.
    pub const fn executor(&mut self) -> &mut E {
        &mut self.executor
    }
}

impl<E: Repeatable> Executor for CachedExecutor<E> {
    fn execute(
        &mut self,
        job: &Job,
        observe: &mut dyn FnMut(&Event),
    ) -> Result<CellResult, Stopped> {
        let Some(cache) = &self.cache else {
            return self.executor.execute(job, observe);
        };
        let key = match self.executor.key(job) {
            Ok(Some(key)) => key,
            Ok(None) => return self.executor.execute(job, observe),
            Err(error) => {
                let mut result = self.executor.execute(job, observe)?;
                let remark = format!("its key for the cache could not be made: {error}");
                result.remarks.push(remark);
                return Ok(result);
            }
        };
        if let Some(found) = cache.find(&key, &job.test) {
            return Ok(CellResult {
                from_cache: true,
                ..found
            });
        }
        let (mut result, repeatable) = self.executor.execute_and_judge(job, observe)?;
        if repeatable && let Err(error) = cache.keep(&key, &result) {
            let remark = format!("it could not be kept in the cache: {error}");
            result.remarks.push(remark);
        }
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell_key::Parts;
    use crate::{Collector, Ending};
    use model::{CacheState, CellId, End, Nanos, Op, Phase, PhaseResult, Status};
    use proptest::prelude::*;
    use std::cell::Cell;
    use wire::Target;

    /// Counts how often it is run; its cells have the seed as their key.
    struct Counting<'a> {
        runs: &'a Cell<u64>,
        has_key: bool,
        repeatable: bool,
    }

    impl Executor for Counting<'_> {
        fn execute(
            &mut self,
            job: &Job,
            observe: &mut dyn FnMut(&Event),
        ) -> Result<CellResult, Stopped> {
            Ok(self.execute_and_judge(job, observe)?.0)
        }
    }

    impl Repeatable for Counting<'_> {
        fn key(&self, job: &Job) -> io::Result<Option<CellKey>> {
            let mut parts = Parts::new();
            parts.add("seed", &job.seed.to_le_bytes());
            Ok(self.has_key.then(|| parts.key()))
        }

        fn execute_and_judge(
            &mut self,
            job: &Job,
            _: &mut dyn FnMut(&Event),
        ) -> Result<(CellResult, bool), Stopped> {
            self.runs.set(self.runs.get() + 1);
            let mut collector = Collector::new(&job.test);
            let mut phase = PhaseResult::blank(&job.test.phases[0]);
            phase.wall = Nanos(self.runs.get());
            collector.take(Event::Phase(Box::new(phase)));
            let mut result = collector.finish(Ending::Done, Some(Vec::new()));
            result.elapsed = Nanos(7);
            Ok((result, self.repeatable))
        }
    }

    fn job(seed: u64) -> Job {
        let phase = Phase {
            name: "p".into(),
            cache: CacheState::Warm,
            ends: End::Call,
            at_most: None,
            scaling: None,
            op: Op::Capacity,
        };
        Job {
            version: wire::VERSION,
            cell: CellId(1),
            target: Target::Directory {
                path: "/".into(),
                top: "/".into(),
                mount: model::MountIdentity {
                    device: (0, 0),
                    mount: 0,
                    inode: 0,
                },
            },
            test: Test {
                name: "t".into(),
                suite: "s".into(),
                title: String::new(),
                rationale: String::new(),
                space: model::Bytes(0),
                sweep: None,
                phases: vec![phase],
            },
            seed,
            stacks_after: None,
        }
    }

    fn key(seed: u64) -> CellKey {
        let runs = Cell::new(0);
        counting(&runs).key(&job(seed)).unwrap().unwrap()
    }

    fn counting(runs: &Cell<u64>) -> Counting<'_> {
        Counting {
            runs,
            has_key: true,
            repeatable: true,
        }
    }

    fn run(executor: Counting<'_>, cache: Option<&CellCache>, job: &Job) -> CellResult {
        let mut executor = CachedExecutor::new(executor, cache.cloned());
        executor.execute(job, &mut |_| {}).unwrap()
    }

    #[test]
    fn an_equal_cell_is_run_once_and_served_as_it_was_and_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let cache = CellCache::at(directory.path().join("cells"));
        let runs = Cell::new(0);
        let first = run(counting(&runs), Some(&cache), &job(1));
        let again = Job {
            cell: CellId(2),
            ..job(1)
        };
        let second = run(counting(&runs), Some(&cache), &again);
        assert_eq!((runs.get(), first.from_cache), (1, false));
        let first = CellResult {
            from_cache: true,
            ..first
        };
        assert_eq!(second, first);
        let other = run(counting(&runs), Some(&cache), &job(2));
        assert_eq!((runs.get(), other.from_cache), (2, false));
    }

    #[test]
    fn what_has_no_key_or_would_not_come_again_is_never_kept_nor_anything_without_a_cache() {
        let directory = tempfile::tempdir().unwrap();
        let cache = CellCache::at(directory.path());
        let runs = Cell::new(0);
        for (has_key, repeatable, cache) in [
            (false, true, Some(&cache)),
            (true, false, Some(&cache)),
            (true, true, None),
        ] {
            let executor = Counting {
                runs: &runs,
                has_key,
                repeatable,
            };
            assert!(!run(executor, cache, &job(1)).from_cache);
        }
        assert_eq!(runs.get(), 3);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_result_of_another_key_or_another_test_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let cache = CellCache::at(directory.path());
        let runs = Cell::new(0);
        run(counting(&runs), Some(&cache), &job(1));
        fs::rename(cache.path(&key(1)), cache.path(&key(2))).unwrap();
        assert_eq!(cache.find(&key(2), &job(2).test), None);
        fs::rename(cache.path(&key(2)), cache.path(&key(1))).unwrap();
        assert!(cache.find(&key(1), &job(1).test).is_some());
        let mut other = job(1).test;
        other.phases[0].name = "q".into();
        assert_eq!(cache.find(&key(1), &other), None);
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_remarked_and_the_result_stands() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "no directory").unwrap();
        let runs = Cell::new(0);
        let result = run(counting(&runs), Some(&CellCache::at(file)), &job(1));
        assert_eq!((result.status, result.from_cache), (Status::Ok, false));
        assert!(result.remarks[0].contains("could not be kept"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Wherever a file was cut off or changed, it is a miss, and the cell is run again.
        #[test]
        fn a_damaged_entry_is_a_miss(at in 0.0f64..1.0, byte in any::<u8>(), cut in any::<bool>()) {
            let directory = tempfile::tempdir().unwrap();
            let cache = CellCache::at(directory.path());
            let runs = Cell::new(0);
            run(counting(&runs), Some(&cache), &job(1));
            let path = cache.path(&key(1));
            let whole = fs::read(&path).unwrap();
            let mut bytes = whole.clone();
            let at = (at * bytes.len() as f64) as usize;
            if cut {
                bytes.truncate(at);
            } else {
                bytes[at] = byte;
            }
            fs::write(&path, &bytes).unwrap();
            let second = run(counting(&runs), Some(&cache), &job(1));
            prop_assert_eq!(second.from_cache, bytes == whole);
            prop_assert_eq!(runs.get(), if bytes == whole { 1 } else { 2 });
        }
    }
}
