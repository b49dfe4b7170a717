//! Tests of operations that several hosts run together: each host is a thread with its own workspace
//! in one directory.

use std::path::Path;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use model::op::OpInfo as _;
use model::wire::rank::HostRank;
use model::{
    AccessPattern, Bytes, Create, EntryKind, FileSharing, Io, Metadata, MetadataAction, Nanos, Op,
    SyncAtEnd, TraversalOrder,
};

use crate::error::OpError;
use crate::hosts::{HostBarrier, HostShare};
use crate::measure::meter::PhaseMeter;
use crate::measure::thread_stats::ThreadStats;
use crate::ops::perform;
use crate::workspace::CellWorkspace;

const HOSTS: u32 = 3;
const THREADS: u32 = 2;

/// Meeting point of threads that stand for hosts.
#[derive(Debug)]
struct Meeting {
    all: Barrier,
    operations: Mutex<Vec<u64>>,
}

impl HostBarrier for Meeting {
    fn start(&self) -> Result<(), OpError> {
        self.all.wait();
        Ok(())
    }

    fn finish(&self, first: u32, operations: &[u64]) -> Result<Vec<u64>, OpError> {
        let first = first as usize;
        self.operations.lock().unwrap()[first..first + operations.len()]
            .copy_from_slice(operations);
        self.all.wait();
        let all = self.operations.lock().unwrap().clone();
        self.all.wait();
        Ok(all)
    }
}

/// An operation, and whether each host works on the files of the next one.
type Step = (Op, bool);

/// Runs the steps on all hosts in a directory. Returns the operations of each step and host.
fn run(root: &Path, steps: &[Step], at_most: Option<Nanos>) -> Vec<Vec<u64>> {
    let meeting = Arc::new(Meeting {
        all: Barrier::new(HOSTS as usize),
        operations: Mutex::new(vec![0; (HOSTS * THREADS) as usize]),
    });
    let of_hosts: Vec<Vec<u64>> = thread::scope(|scope| {
        let hosts = (0..HOSTS).map(|number| {
            let meeting = Arc::clone(&meeting);
            scope.spawn(move || {
                let mut workspace = CellWorkspace::new(root, 7);
                let of_step = steps.iter().map(|(op, from_next_host)| {
                    let share = HostShare {
                        rank: HostRank { number, hosts: HOSTS },
                        from_next_host: *from_next_host,
                        sync: None,
                        barrier: Arc::clone(&meeting) as Arc<dyn HostBarrier>,
                    };
                    let meter = PhaseMeter::start(None, None);
                    let mut stats =
                        ThreadStats::new(at_most, Arc::default(), meter).on_hosts(Some(share));
                    perform(op, SyncAtEnd::Call, &mut workspace, &mut stats).unwrap();
                    stats.operations
                });
                of_step.collect::<Vec<u64>>()
            })
        });
        let hosts: Vec<_> = hosts.collect();
        hosts.into_iter().map(|host| host.join().unwrap()).collect()
    });
    (0..steps.len()).map(|step| of_hosts.iter().map(|host| host[step]).collect()).collect()
}

fn on_hosts(op: &Op) -> Op {
    op.info().on_hosts(HOSTS).unwrap()
}

fn io(access: AccessPattern, sharing: FileSharing, interleaved: bool) -> Op {
    on_hosts(&Op::Io(Io {
        size: (access == AccessPattern::Write).then_some(Bytes(40_000)),
        threads: THREADS,
        sharing,
        interleaved,
        verify: access == AccessPattern::Read,
        ..Io::new("f", access, Bytes(1000))
    }))
}

#[test]
fn each_host_writes_its_part_and_reads_that_of_the_next() {
    for (sharing, interleaved) in
        [(FileSharing::Own, false), (FileSharing::Shared, false), (FileSharing::Shared, true)]
    {
        let place = tempfile::tempdir().unwrap();
        let steps = [
            (io(AccessPattern::Write, sharing, interleaved), false),
            (io(AccessPattern::Read, sharing, interleaved), true),
        ];
        let done = run(place.path(), &steps, None);
        let each = if sharing == FileSharing::Own { 80 } else { 40 };
        assert_eq!(done, [[each; HOSTS as usize]; 2], "{sharing:?}, {interleaved}");
        let files = std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap());
        let sizes: Vec<u64> = files.map(|entry| entry.metadata().unwrap().len()).collect();
        match sharing {
            FileSharing::Own => assert_eq!(sizes, [40_000; (HOSTS * THREADS) as usize]),
            FileSharing::Shared => assert_eq!(sizes, [120_000]),
        }
    }
}

fn sets(sharing: FileSharing) -> [Step; 3] {
    let create = on_hosts(&Op::Create(Create {
        set: "set".into(),
        kind: EntryKind::File,
        entries: 40,
        directories: 1,
        depth: 1,
        size: Bytes(100),
        spread: Default::default(),
        order: TraversalOrder::Sequential,
        fsync: false,
        fsync_directory: false,
        threads: THREADS,
        sharing,
    }));
    let visit = |action| {
        let set = "set".to_owned();
        let order = TraversalOrder::Random;
        on_hosts(&Op::Metadata(Metadata { set, action, order, threads: THREADS }))
    };
    [
        (create, false),
        (visit(MetadataAction::Stat { read: true }), true),
        (visit(MetadataAction::Remove { fsync: false }), true),
    ]
}

#[test]
fn hosts_share_the_entries_of_a_set() {
    for sharing in [FileSharing::Own, FileSharing::Shared] {
        let place = tempfile::tempdir().unwrap();
        let done = run(place.path(), &sets(sharing), None);
        assert_eq!(done, [[40; HOSTS as usize]; 3], "{sharing:?}");
        // The first host removes the directories after all hosts have removed their files.
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }
}

/// With a time limit, each host knows the files of the others that exist.
#[test]
fn hosts_know_what_the_others_did_before_a_time_limit() {
    let place = tempfile::tempdir().unwrap();
    let done = run(place.path(), &sets(FileSharing::Own), Some(Nanos(1)));
    assert!(done[0].iter().all(|&operations| operations < 40), "{done:?}");
    let left = walk(place.path());
    let (made, removed): (u64, u64) = (done[0].iter().sum(), done[2].iter().sum());
    assert_eq!(left, made - removed);
}

fn walk(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { walk(&path) } else { 1 }).sum()
}

#[test]
fn work_without_threads_is_for_one_host() {
    assert!(model::RemoveFile { file: "f".into() }.on_hosts(HOSTS).is_none());
}
