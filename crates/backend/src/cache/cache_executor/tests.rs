//! Tests of the cache with a counting executor and several hosts that share cells.

use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use model::{Bytes, CellId, Nanos, Status};
use proptest::prelude::*;
use sys::secret_key::{KEY_LENGTH, SecretKey};

use super::*;
use crate::cache::blob_store::{BlobStore, DirectoryStore};
use crate::cache::cell_cache::{CacheError, name};
use crate::cache::cell_key::KeyBuilder;
use crate::cell::fixture::job;
use crate::{CellEnd, CellResultBuilder};

/// Counts its runs. The key of a cell is its seed.
struct Counting<'a> {
    runs: &'a Cell<u64>,
    has_key: bool,
    repeatable: bool,
}

impl Executor for Counting<'_> {
    fn execute(
        &mut self,
        job: &CellJob,
        observe: &mut dyn FnMut(&CellEvent),
    ) -> Result<CellResult, AbortReason> {
        Ok(self.execute_checked(job, observe)?.0)
    }
}

impl Cacheable for Counting<'_> {
    fn key(&self, job: &CellJob) -> io::Result<Option<CellKey>> {
        let mut parts = KeyBuilder::new();
        parts.add("seed", &job.seed.to_le_bytes());
        Ok(self.has_key.then(|| parts.key()))
    }

    fn execute_checked(
        &mut self,
        job: &CellJob,
        _: &mut dyn FnMut(&CellEvent),
    ) -> Result<(CellResult, bool), AbortReason> {
        self.runs.set(self.runs.get() + 1);
        let mut collector = CellResultBuilder::new(&job.test);
        let mut phase = PhaseResult::not_run(&job.test.phases[0]);
        phase.elapsed = Nanos(self.runs.get());
        collector.apply(CellEvent::Phase(Box::new(phase)));
        let mut result = collector.finish(CellEnd::Done, Some(Vec::new()));
        result.elapsed = Nanos(7);
        Ok((result, self.repeatable))
    }

    fn stop_requested(&self) -> bool {
        false
    }
}

fn cache_in(directory: &Path) -> CellCache {
    CellCache::open(directory, SecretKey::new([7; KEY_LENGTH]), CellCache::DEFAULT_LIMIT).unwrap()
}

fn path(cache: &CellCache, key: &CellKey) -> std::path::PathBuf {
    Path::new(&cache.shelf.path_of()).join(name(key))
}

fn key(seed: u64) -> CellKey {
    let runs = Cell::new(0);
    counting(&runs).key(&job(seed)).unwrap().unwrap()
}

fn counting(runs: &Cell<u64>) -> Counting<'_> {
    Counting { runs, has_key: true, repeatable: true }
}

fn run(executor: Counting<'_>, cache: Option<&CellCache>, job: &CellJob) -> CellResult {
    let mut executor = CachedExecutor::new(executor, cache.cloned(), None);
    executor.execute(job, &mut |_| {}).unwrap()
}

#[test]
fn equal_cell_runs_once_and_is_marked_as_cached() {
    let directory = tempfile::tempdir().unwrap();
    let cache = cache_in(&directory.path().join("cells"));
    let runs = Cell::new(0);
    let first = run(counting(&runs), Some(&cache), &job(1));
    let again = CellJob { cell: CellId(2), ..job(1) };
    let second = run(counting(&runs), Some(&cache), &again);
    assert_eq!((runs.get(), first.from_cache), (1, false));
    let first = CellResult { from_cache: true, ..first };
    assert_eq!(second, first);
    let other = run(counting(&runs), Some(&cache), &job(2));
    assert_eq!((runs.get(), other.from_cache), (2, false));
}

/// Claims outlive any test, and waits are short.
const PACE: ClaimTimeouts = ClaimTimeouts {
    renewed: Duration::from_millis(5),
    holds: Duration::from_secs(600),
    look: Duration::ZERO,
    wait: Duration::ZERO,
    longest_wait: Duration::from_secs(600),
};

fn at_pace(directory: &Path, secret: u8, pace: ClaimTimeouts) -> Result<CellCache, CacheError> {
    let shelf = DirectoryStore::open_shared(directory).unwrap();
    CellCache::with_timeouts(Arc::new(shelf), SecretKey::new([secret; KEY_LENGTH]), pace)
}

fn shared_in(directory: &Path, secret: u8) -> Result<CellCache, CacheError> {
    at_pace(directory, secret, PACE)
}

fn claim_in(directory: &Path, seed: u64) -> std::path::PathBuf {
    directory.join(format!("{}.claim", key(seed)))
}

/// Hosts with the same key share results. A host with another key is refused and cannot add
/// results.
#[test]
fn hosts_with_the_same_key_share_a_cache() {
    let directory = tempfile::tempdir().unwrap();
    let (cells, elsewhere) = (directory.path().join("cells"), directory.path().join("else"));
    let shared = || shared_in(&cells, 7).unwrap();
    let runs = Cell::new(0);
    let first = run(counting(&runs), Some(&shared()), &job(1));
    let second = run(counting(&runs), Some(&shared()), &job(1));
    assert_eq!((first.from_cache, second.from_cache, runs.get()), (false, true, 1));
    let refused = shared_in(&cells, 8).unwrap_err().to_string();
    let place = cells.display();
    assert_eq!(
        refused,
        format!(
            "{place} is kept with another key: name that (--cache-key), or another cache (--cache)"
        )
    );
    let forger = shared_in(&elsewhere, 8).unwrap();
    run(counting(&runs), Some(&forger), &job(1));
    fs::copy(path(&forger, &key(1)), path(&shared(), &key(1))).unwrap();
    let again = run(counting(&runs), Some(&shared()), &job(1));
    assert!(!again.from_cache, "entries written without the key are ignored");
    let path = path(&shared(), &key(1));
    fs::remove_file(&path).unwrap();
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    assert_eq!(shared().get(&key(1), &job(1).test), None, "reading does not block on a pipe");
}

/// Executes a cell immediately, unless another process has claimed it.
fn try_once(cache: &CellCache, runs: &Cell<u64>) -> Result<CellResult, AbortReason> {
    let mut executor = CachedExecutor::new(counting(runs), Some(cache.clone()), None);
    executor.execute(&job(1), &mut |_| {})
}

fn turn(cache: &CellCache) -> CellClaim {
    match cache.claim_state(&key(1)) {
        ClaimState::Acquired(claim) => claim,
        other => panic!("{other:?}"),
    }
}

#[test]
fn claimed_cell_is_postponed_and_then_read_from_the_cache() {
    let directory = tempfile::tempdir().unwrap();
    let [mine, theirs] = [(); 2].map(|()| shared_in(directory.path(), 7).unwrap());
    let runs = Cell::new(0);
    let claim = turn(&theirs);
    for _ in 0..2 {
        let elsewhere = try_once(&mine, &runs);
        assert!(matches!(elsewhere, Err(AbortReason::OtherHost(_))), "{elsewhere:?}");
    }
    assert_eq!(runs.get(), 0);
    let result = run(counting(&runs), None, &job(1));
    theirs.insert(&key(1), &result).unwrap();
    drop(claim);
    assert!(try_once(&mine, &runs).unwrap().from_cache);
    assert_eq!(runs.get(), 1);
    let left = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 2, "the result and the key check");
}

/// A claim is held while its content changes, independent of its age.
#[test]
fn claim_of_a_dead_host_is_taken_over_after_it_expires() {
    let pace = ClaimTimeouts { holds: Duration::from_millis(50), ..PACE };
    let directory = tempfile::tempdir().unwrap();
    let [mine, theirs] = [(); 2].map(|()| at_pace(directory.path(), 7, pace).unwrap());
    let claim = claim_in(directory.path(), 1);
    let held = turn(&theirs);
    let early = fs::read(&claim).unwrap();
    let later = loop {
        match fs::read(&claim) {
            Ok(text) if text != early => break text,
            _ => thread::sleep(pace.renewed),
        }
    };
    drop(held);
    let runs = Cell::new(0);
    for text in [&early, &later] {
        fs::write(&claim, text).unwrap();
        assert!(try_once(&mine, &runs).is_err(), "it has just changed");
        thread::sleep(pace.holds);
    }
    assert!(!try_once(&mine, &runs).unwrap().from_cache);
    assert!(!claim.exists(), "it was released");
    assert_eq!(runs.get(), 1);
}

#[test]
fn claim_without_the_key_or_moved_or_damaged_is_ignored() {
    let directory = tempfile::tempdir().unwrap();
    let mine = shared_in(directory.path(), 7).unwrap();
    let claim = |seed| claim_in(directory.path(), seed);
    let elsewhere = directory.path().join("else");
    let held = turn(&shared_in(&elsewhere, 8).unwrap());
    let forged = fs::read(claim_in(&elsewhere, 1)).unwrap();
    drop(held);
    let held = turn(&mine);
    let moved = fs::read(claim(1)).unwrap();
    drop(held);
    for (seed, text) in [(1, forged), (2, moved), (3, b"\xff".to_vec())] {
        fs::write(claim(seed), text).unwrap();
        let cell = job(seed);
        let runs = Cell::new(0);
        assert!(!run(counting(&runs), Some(&mine), &cell).from_cache, "{seed}");
    }
    // A directory is not a claim and does not block the cell.
    fs::create_dir(claim(4)).unwrap();
    run(counting(&Cell::new(0)), Some(&mine), &job(4));
}

#[test]
fn wait_ends_after_the_longest_wait() {
    let directory = tempfile::tempdir().unwrap();
    let theirs = shared_in(directory.path(), 7).unwrap();
    let shelf = Arc::new(DirectoryStore::open_shared(directory.path()).unwrap());
    let pace = ClaimTimeouts { longest_wait: Duration::from_millis(100), ..PACE };
    let mine = CellCache::with_timeouts(shelf, SecretKey::new([7; KEY_LENGTH]), pace).unwrap();
    let _held = turn(&theirs);
    let runs = Cell::new(0);
    assert!(try_once(&mine, &runs).is_err());
    thread::sleep(pace.longest_wait);
    assert!(!try_once(&mine, &runs).unwrap().from_cache);
}

/// A shelf without free space.
#[derive(Debug)]
struct Full {
    inner: DirectoryStore,
    is_full: AtomicBool,
}

impl Full {
    fn room(&self) -> io::Result<()> {
        match self.is_full.load(Ordering::Relaxed) {
            true => Err(io::Error::from_raw_os_error(28)),
            false => Ok(()),
        }
    }
}

impl BlobStore for Full {
    fn path_of(&self) -> String {
        "/full".to_owned()
    }
    fn read(&self, name: &str) -> io::Result<Option<String>> {
        self.inner.read(name)
    }
    fn put(&self, name: &str, content: &str) -> io::Result<()> {
        self.room()?;
        self.inner.put(name, content)
    }
    fn create(&self, name: &str, content: &str) -> io::Result<bool> {
        self.room()?;
        self.inner.create(name, content)
    }
    fn compare_and_swap(&self, name: &str, seen: &str, content: &str) -> io::Result<bool> {
        self.room()?;
        self.inner.compare_and_swap(name, seen, content)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }
}

#[test]
fn full_or_read_only_shared_cache_is_reported_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let shelf = Arc::new(Full {
        inner: DirectoryStore::open_shared(directory.path()).unwrap(),
        is_full: AtomicBool::new(true),
    });
    let open =
        || CellCache::with_timeouts(Arc::clone(&shelf) as _, SecretKey::new([7; KEY_LENGTH]), PACE);
    let refused = open().unwrap_err().to_string();
    assert_eq!(
        refused,
        "no results can be kept in /full: No space left on device (os error 28); mend that, or name another cache (--cache)"
    );
    shelf.is_full.store(false, Ordering::Relaxed);
    let cache = open().unwrap();
    shelf.is_full.store(true, Ordering::Relaxed);
    let runs = Cell::new(0);
    for seed in 1..3 {
        assert!(!run(counting(&runs), Some(&cache), &job(seed)).from_cache);
    }
    let told = cache.take_warning().unwrap();
    assert_eq!(
        told,
        "the cache /full does not work: No space left on device (os error 28); cells are run and may not be shared"
    );
    assert_eq!(cache.take_warning(), None, "once");
    // Writes below /proc fail even for root.
    let refused = shared_in(Path::new("/proc/self"), 7).unwrap_err().to_string();
    assert!(refused.starts_with("no results can be kept in /proc/"), "{refused}");
    assert_eq!(refused.lines().count(), 1);
}

#[test]
fn one_cell_in_twenty_is_run_again_and_the_seed_decides_which() {
    let checked = |seed: u64| (0..1000).filter(move |&n| is_checked(&key(n), seed));
    let count = checked(1).count();
    assert!((25..=100).contains(&count), "{count}");
    assert!(checked(1).eq(checked(1)));
    assert!(!checked(1).eq(checked(2)));
}

/// Regression test: the result of a disturbed run was returned from the cache forever.
#[test]
fn unrepeated_result_is_reported_and_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let cache = cache_in(directory.path());
    let runs = Cell::new(6);
    let mut wrong = run(counting(&runs), None, &job(1));
    wrong.phases[0].elapsed = Nanos(355);
    let keep_wrong = || cache.insert(&key(1), &wrong).unwrap();
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
    assert_eq!((next.from_cache, next.phases[0].elapsed), (true, Nanos(8)));
    runs.set(7);
    let same = with(checked);
    assert_eq!((same.from_cache, same.remarks.len()), (false, 0), "it came again");
    // A run killed from outside does not contradict the cached result.
    let killed = Counting { repeatable: false, ..counting(&runs) };
    let mut executor = CachedExecutor::new(killed, Some(cache.clone()), checked);
    assert!(executor.execute(&job(1), &mut |_| {}).unwrap().from_cache);
}

#[test]
fn result_without_key_or_repeatability_or_cache_is_not_stored() {
    let directory = tempfile::tempdir().unwrap();
    let cache = cache_in(directory.path());
    let runs = Cell::new(0);
    for (has_key, repeatable, cache) in
        [(false, true, Some(&cache)), (true, false, Some(&cache)), (true, true, None)]
    {
        let executor = Counting { runs: &runs, has_key, repeatable };
        assert!(!run(executor, cache, &job(1)).from_cache);
    }
    assert_eq!(runs.get(), 3);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// Regression test: a host without memory produced the permanent result "crashed".
#[test]
fn externally_ended_cell_is_withdrawn_if_requested() {
    let runs = Cell::new(0);
    for (repeatable, is_one) in [(true, true), (false, false)] {
        let counting = Counting { repeatable, ..counting(&runs) };
        let mut executor = CachedExecutor::new(counting, None, None).ignore_host_faults(true);
        let ended = executor.execute(&job(1), &mut |_| {});
        assert_eq!(ended.is_ok(), is_one, "{ended:?}");
        assert!(is_one || matches!(ended, Err(AbortReason::EnvironmentFault(_))));
    }
}

#[test]
fn result_of_another_key_or_test_is_ignored() {
    let directory = tempfile::tempdir().unwrap();
    let cache = cache_in(directory.path());
    let runs = Cell::new(0);
    run(counting(&runs), Some(&cache), &job(1));
    fs::rename(path(&cache, &key(1)), path(&cache, &key(2))).unwrap();
    assert_eq!(cache.get(&key(2), &job(2).test), None);
    fs::rename(path(&cache, &key(2)), path(&cache, &key(1))).unwrap();
    assert!(cache.get(&key(1), &job(1).test).is_some());
    let mut other = job(1).test;
    other.phases[0].name = "q".into();
    assert_eq!(cache.get(&key(1), &other), None);
}

#[test]
fn unwritable_cache_adds_a_remark_and_keeps_the_result() {
    let directory = tempfile::tempdir().unwrap();
    let cache = cache_in(directory.path());
    fs::create_dir(path(&cache, &key(1))).unwrap();
    let runs = Cell::new(0);
    let result = run(counting(&runs), Some(&cache), &job(1));
    assert_eq!((result.status, result.from_cache), (Status::Ok, false));
    assert!(result.remarks[0].contains("could not be kept"));
}

/// Regression test: a forged "mkfs in 1 ns" in a cache writable by another user was reported as
/// root's own result.
#[test]
fn forged_entry_of_another_user_is_ignored() {
    let directory = tempfile::tempdir().unwrap();
    let (theirs, ours) = (directory.path().join("theirs"), directory.path().join("ours"));
    let runs = Cell::new(0);
    let forger =
        CellCache::open(&theirs, SecretKey::new([8; KEY_LENGTH]), CellCache::DEFAULT_LIMIT)
            .unwrap();
    run(counting(&runs), Some(&forger), &job(1));
    let cache = cache_in(&ours);
    fs::copy(path(&forger, &key(1)), path(&cache, &key(1))).unwrap();
    assert!(!run(counting(&runs), Some(&cache), &job(1)).from_cache);
    assert!(run(counting(&runs), Some(&cache), &job(1)).from_cache, "it was made again");
    std::os::unix::fs::chown(path(&cache, &key(1)), Some(65_534), None).unwrap();
    assert_eq!(cache.get(&key(1), &job(1).test), None, "an entry of another user is ignored too");
    std::os::unix::fs::chown(&ours, Some(65_534), None).unwrap();
    assert!(
        CellCache::open(&ours, SecretKey::new([7; KEY_LENGTH]), CellCache::DEFAULT_LIMIT).is_err()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Any truncated or changed file is a miss, and the cell runs again.
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

/// Returns the seeds, of the first `count`, whose results are in the cache.
fn kept(cache: &CellCache, count: u64) -> Vec<u64> {
    let is_kept = |seed: &u64| path(cache, &key(*seed)).exists();
    (0..count).filter(is_kept).collect()
}

/// Makes an entry look unused since a number of seconds.
fn unused_for(cache: &CellCache, seed: u64, seconds: u64) {
    let file = fs::File::open(path(cache, &key(seed))).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
}

#[test]
fn entries_that_were_not_used_for_longest_are_removed_above_the_limit() {
    let directory = tempfile::tempdir().unwrap();
    let (runs, one) = (Cell::new(0), cache_in(directory.path()));
    run(counting(&runs), Some(&one), &job(0));
    let size = fs::metadata(path(&one, &key(0))).unwrap().len();
    // Numbers of runs have one digit, so that all entries have this size.
    let limit = |entries: u64| {
        CellCache::open(directory.path(), SecretKey::new([7; KEY_LENGTH]), Bytes(entries * size))
            .unwrap()
    };
    let cache = limit(3);
    run(counting(&runs), Some(&cache), &job(1));
    run(counting(&runs), Some(&cache), &job(2));
    for seed in [0, 1, 2] {
        unused_for(&cache, seed, 100 - seed);
    }
    assert!(run(counting(&runs), Some(&cache), &job(0)).from_cache, "which is a use");
    run(counting(&runs), Some(&cache), &job(3));
    assert_eq!(kept(&cache, 9), [0, 2, 3]);
    // An entry that a process reads is not removed.
    unused_for(&cache, 2, 100);
    let read = fs::File::open(path(&cache, &key(2))).unwrap();
    read.lock_shared().unwrap();
    unused_for(&cache, 0, 50);
    run(counting(&runs), Some(&cache), &job(4));
    assert_eq!(kept(&cache, 9), [2, 3, 4]);
    drop(read);
    // The newest entry is kept, however small the limit; a process counts what others stored.
    run(counting(&runs), Some(&limit(0)), &job(5));
    assert_eq!(kept(&cache, 9), [5]);
    run(counting(&runs), Some(&cache), &job(6));
    assert_eq!(kept(&cache, 9), [5, 6]);
}
