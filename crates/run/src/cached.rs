//! Serves cells from the results of equal ones, where equal cells cannot but give equal results.
//!
//! What is kept is believed only where it was kept with the user's own key: a cache may be written by somebody else,
//! restored from a copy, or shared.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use model::{CellResult, PhaseResult, Test};
use nix::fcntl::OFlag;
use sha2::Sha256;
use sys::trusted::{Directory, Untrusted, usual_mode};
use wire::{Event, Job, Stopped};

use crate::Executor;
use crate::cell_key::CellKey;

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

/// Length of the key by which entries are known, in bytes.
pub const SECRET: usize = 32;

/// Results by the key of their cell, a file each. Any number of processes may use it at once.
#[derive(Clone, Debug)]
pub struct CellCache {
    directory: Arc<Directory>,
    secret: [u8; SECRET],
    /// Whether others keep results there, too.
    is_shared: bool,
}

impl CellCache {
    /// The cache in this directory, which is made where there is none; entries that were not kept with the same
    /// secret are none.
    ///
    /// # Errors
    /// When it cannot be made, or others could tamper with it.
    pub fn open(directory: &Path, secret: [u8; SECRET]) -> Result<Self, Untrusted> {
        Ok(Self {
            directory: Arc::new(Directory::make(directory)?),
            secret,
            is_shared: false,
        })
    }

    /// The cache in a directory in which others keep results, too, who have the same secret: whoever can write there but
    /// does not have it can remove results, and give none.
    ///
    /// # Errors
    /// When it cannot be made, or somebody else's link is on the way.
    pub fn shared(directory: &Path, secret: [u8; SECRET]) -> Result<Self, Untrusted> {
        Ok(Self {
            directory: Arc::new(Directory::shared_or_new(directory)?),
            secret,
            is_shared: true,
        })
    }

    /// The result of the cell with this key, as it was when it was run. What cannot be read, is damaged, was kept
    /// by somebody else or does not answer the test is as good as none.
    pub fn find(&self, key: &CellKey, test: &Test) -> Option<CellResult> {
        let text = self.entry(key)?;
        let (code, json) = text.split_once('\n')?;
        if code != self.code(key, json) {
            return None;
        }
        let result: CellResult = serde_json::from_str(json).ok()?;
        let phases = result.phases.iter().map(|phase| &phase.phase);
        let answers = phases.eq(test.phases.iter().map(|phase| &phase.name));
        answers.then_some(result)
    }

    /// The text of an entry, whoever wrote it.
    fn entry(&self, key: &CellKey) -> Option<String> {
        let mut text = String::new();
        let file = match self.is_shared {
            false => self.directory.file(name(key)).ok()??,
            true => {
                // No link is followed, and nobody is waited for who would write into a pipe.
                let mut options = OpenOptions::new();
                let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
                options.read(true).custom_flags(flags.bits());
                let file = options.open(self.directory.path().join(name(key))).ok()?;
                let found = file.metadata().ok()?;
                (found.is_file() && found.len() <= LARGEST).then_some(file)?
            }
        };
        file.take(LARGEST).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Keeps a result. The file has its name only when all of it is on the disk, so that a kill at any
    /// moment leaves none that is half written.
    ///
    /// # Errors
    /// When the file cannot be written; nothing is kept then.
    pub fn keep(&self, key: &CellKey, result: &CellResult) -> io::Result<()> {
        let json = serde_json::to_string(result)?;
        let entry = format!("{}\n{json}", self.code(key, &json));
        let mode = match self.is_shared {
            true => usual_mode(),
            false => ONLY_THE_USER,
        };
        self.directory
            .replace(name(key), mode, entry.as_bytes())
            .map_err(io::Error::other)
    }

    fn remove(&self, key: &CellKey) -> io::Result<()> {
        self.directory.remove(name(key)).map_err(io::Error::other)
    }

    /// The code (HMAC-SHA-256, in hexadecimal) that only who has the secret can give: of the key, which tells an
    /// entry that was moved, and of the content, which tells one that was damaged.
    fn code(&self, key: &CellKey, json: &str) -> String {
        let mut code = Hmac::<Sha256>::new_from_slice(&self.secret).expect("any length is a key's");
        code.update(key.to_string().as_bytes());
        code.update(json.as_bytes());
        let bytes = code.finalize().into_bytes();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

const ONLY_THE_USER: u32 = 0o600;
/// No result is larger, in bytes.
const LARGEST: u64 = 1 << 30;

fn name(key: &CellKey) -> String {
    format!("{key}.json")
}

/// One in so many cells of which an equal one was run is run again, to see whether it comes to the same.
const CHECKED: u64 = 20;

/// Whether a cell is run again though its result is there: by chance, which the campaign's seed decides.
fn is_checked(key: &CellKey, seed: u64) -> bool {
    let chance = CellKey::of(format!("check {key} {seed}").as_bytes());
    chance.number().is_multiple_of(CHECKED)
}

/// Runs a cell only where no equal one was run before, and one in twenty in spite of that.
pub struct CachedExecutor<E> {
    executor: E,
    cache: Option<CellCache>,
    seed: Option<u64>,
}

impl<E: Repeatable> CachedExecutor<E> {
    /// Runs with this executor what is not in the cache; everything where there is none. The seed, that of the
    /// campaign, decides which cells of the cache are run again; none are without.
    pub const fn new(executor: E, cache: Option<CellCache>, seed: Option<u64>) -> Self {
        Self {
            executor,
            cache,
            seed,
        }
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
        let found = cache.find(&key, &job.test);
        let served = |found| CellResult {
            from_cache: true,
            ..found
        };
        let kept = match found {
            Some(found) if !self.seed.is_some_and(|seed| is_checked(&key, seed)) => {
                return Ok(served(found));
            }
            kept => kept,
        };
        let (mut result, repeatable) = self.executor.execute_and_judge(job, observe)?;
        if let Some(kept) = kept {
            let Some(difference) = difference(&kept, &result) else {
                return Ok(result);
            };
            if !repeatable {
                // What came of it from outside says nothing about what is kept.
                return Ok(served(kept));
            }
            result.remarks.push(difference);
            // What cannot be removed is written over.
            let _ = cache.remove(&key);
        }
        if repeatable && let Err(error) = cache.keep(&key, &result) {
            let remark = format!("it could not be kept in the cache: {error}");
            result.remarks.push(remark);
        }
        Ok(result)
    }
}

/// What differs first between the result that was kept and that of a new run of the same cell, in words; nothing where
/// they are the same to the nanosecond.
fn difference(kept: &CellResult, new: &CellResult) -> Option<String> {
    let what = if kept.status != new.status {
        format!("it was {}, and is {} now", kept.status, new.status)
    } else if let Some((old, new)) = first_difference(&kept.phases, &new.phases) {
        format!(
            "phase {} took {} ns, and takes {} ns now",
            old.phase, old.wall.0, new.wall.0
        )
    } else if kept.features != new.features {
        "other features were found".to_owned()
    } else {
        return None;
    };
    Some(format!(
        "an equal cell that was run before came to something else: {what}; the new result is kept"
    ))
}

fn first_difference<'a>(
    kept: &'a [PhaseResult],
    new: &'a [PhaseResult],
) -> Option<(&'a PhaseResult, &'a PhaseResult)> {
    kept.iter().zip(new).find(|(kept, new)| kept != new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell_key::Parts;
    use crate::fixture::job;
    use crate::{Collector, Ending};
    use model::{CellId, Nanos, Status};
    use proptest::prelude::*;
    use std::cell::Cell;
    use std::fs;

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

    fn cache_in(directory: &Path) -> CellCache {
        CellCache::open(directory, [7; SECRET]).unwrap()
    }

    fn path(cache: &CellCache, key: &CellKey) -> std::path::PathBuf {
        cache.directory.path().join(name(key))
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
        let mut executor = CachedExecutor::new(executor, cache.cloned(), None);
        executor.execute(job, &mut |_| {}).unwrap()
    }

    #[test]
    fn an_equal_cell_is_run_once_and_served_as_it_was_and_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let cache = cache_in(&directory.path().join("cells"));
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

    /// Whoever has the key is served with what others kept; whoever has another is not, and can give nothing.
    #[test]
    fn a_shared_cache_is_of_all_who_have_its_key() {
        let directory = tempfile::tempdir().unwrap();
        let shared = |secret| CellCache::shared(&directory.path().join("cells"), [secret; SECRET]);
        let runs = Cell::new(0);
        let first = run(counting(&runs), Some(&shared(7).unwrap()), &job(1));
        let second = run(counting(&runs), Some(&shared(7).unwrap()), &job(1));
        assert_eq!(
            (first.from_cache, second.from_cache, runs.get()),
            (false, true, 1)
        );
        let other = run(counting(&runs), Some(&shared(8).unwrap()), &job(1));
        assert!(!other.from_cache);
        let again = run(counting(&runs), Some(&shared(7).unwrap()), &job(1));
        assert!(
            !again.from_cache,
            "what somebody without the key wrote is none"
        );
        let path = path(&shared(7).unwrap(), &key(1));
        fs::remove_file(&path).unwrap();
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let cache = shared(7).unwrap();
        assert_eq!(
            cache.find(&key(1), &job(1).test),
            None,
            "nobody waits for a pipe"
        );
    }

    #[test]
    fn one_cell_in_twenty_is_run_again_and_the_seed_decides_which() {
        let checked = |seed: u64| (0..1000).filter(move |&n| is_checked(&key(n), seed));
        let count = checked(1).count();
        assert!((25..=100).contains(&count), "{count}");
        assert!(checked(1).eq(checked(1)));
        assert!(!checked(1).eq(checked(2)));
    }

    /// A result that a disturbed run had left was served ever after.
    #[test]
    fn a_result_that_does_not_come_again_is_told_and_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let cache = cache_in(directory.path());
        let runs = Cell::new(6);
        let mut wrong = run(counting(&runs), None, &job(1));
        wrong.phases[0].wall = Nanos(355);
        let keep_wrong = || cache.keep(&key(1), &wrong).unwrap();
        keep_wrong();
        let checked = (0..).find(|&seed| is_checked(&key(1), seed));
        let with = |seed| {
            let mut executor = CachedExecutor::new(counting(&runs), Some(cache.clone()), seed);
            executor.execute(&job(1), &mut |_| {}).unwrap()
        };
        assert!(with(None).from_cache, "not checked this time");
        let found = with(checked);
        assert!(!found.from_cache);
        let told = "phase p took 355 ns, and takes 8 ns now";
        assert!(found.remarks[0].contains(told), "{:?}", found.remarks);
        let next = with(None);
        assert_eq!((next.from_cache, next.phases[0].wall), (true, Nanos(8)));
        runs.set(7);
        let same = with(checked);
        assert_eq!(
            (same.from_cache, same.remarks.len()),
            (false, 0),
            "it came again"
        );
        // A run that was killed from outside says nothing about what is kept.
        let killed = Counting {
            repeatable: false,
            ..counting(&runs)
        };
        let mut executor = CachedExecutor::new(killed, Some(cache.clone()), checked);
        assert!(executor.execute(&job(1), &mut |_| {}).unwrap().from_cache);
    }

    #[test]
    fn what_has_no_key_or_would_not_come_again_is_never_kept_nor_anything_without_a_cache() {
        let directory = tempfile::tempdir().unwrap();
        let cache = cache_in(directory.path());
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
        let cache = cache_in(directory.path());
        let runs = Cell::new(0);
        run(counting(&runs), Some(&cache), &job(1));
        fs::rename(path(&cache, &key(1)), path(&cache, &key(2))).unwrap();
        assert_eq!(cache.find(&key(2), &job(2).test), None);
        fs::rename(path(&cache, &key(2)), path(&cache, &key(1))).unwrap();
        assert!(cache.find(&key(1), &job(1).test).is_some());
        let mut other = job(1).test;
        other.phases[0].name = "q".into();
        assert_eq!(cache.find(&key(1), &other), None);
    }

    #[test]
    fn a_cache_that_cannot_be_written_is_remarked_and_the_result_stands() {
        let directory = tempfile::tempdir().unwrap();
        let cache = cache_in(directory.path());
        fs::create_dir(path(&cache, &key(1))).unwrap();
        let runs = Cell::new(0);
        let result = run(counting(&runs), Some(&cache), &job(1));
        assert_eq!((result.status, result.from_cache), (Status::Ok, false));
        assert!(result.remarks[0].contains("could not be kept"));
    }

    /// "mkfs in 1 ns", in a cache that another user could write, was once told as root's own result.
    #[test]
    fn an_entry_that_somebody_else_has_forged_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let (theirs, ours) = (
            directory.path().join("theirs"),
            directory.path().join("ours"),
        );
        let runs = Cell::new(0);
        let forger = CellCache::open(&theirs, [8; SECRET]).unwrap();
        run(counting(&runs), Some(&forger), &job(1));
        let cache = cache_in(&ours);
        fs::copy(path(&forger, &key(1)), path(&cache, &key(1))).unwrap();
        assert!(!run(counting(&runs), Some(&cache), &job(1)).from_cache);
        assert!(
            run(counting(&runs), Some(&cache), &job(1)).from_cache,
            "it was made again"
        );
        std::os::unix::fs::chown(path(&cache, &key(1)), Some(65_534), None).unwrap();
        assert_eq!(
            cache.find(&key(1), &job(1).test),
            None,
            "nor one that is not the user's"
        );
        std::os::unix::fs::chown(&ours, Some(65_534), None).unwrap();
        assert!(CellCache::open(&ours, [7; SECRET]).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Wherever a file was cut off or changed, it is a miss, and the cell is run again.
        #[test]
        fn a_damaged_entry_is_a_miss(at in 0.0f64..1.0, byte in any::<u8>(), cut in any::<bool>()) {
            let directory = tempfile::tempdir().unwrap();
            let cache = cache_in(directory.path());
            let runs = Cell::new(0);
            run(counting(&runs), Some(&cache), &job(1));
            let path = path(&cache, &key(1));
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
