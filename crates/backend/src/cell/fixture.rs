//! Fixtures for tests of executors.

use model::wire::{CellJob, WorkTarget};
use model::{Bytes, CacheState, Capacity, CellId, MountId, Op, Phase, SyncAtEnd, Test};

/// Returns a job whose cells differ only in their seed.
pub fn job(seed: u64) -> CellJob {
    let phase = Phase {
        name: "p".into(),
        cache: CacheState::Warm,
        sync_at_end: SyncAtEnd::Call,
        at_most: None,
        scaling: None,
        step: None,
        needs: None,
        from_next_host: false,
        op: Op::Capacity(Capacity),
    };
    CellJob {
        version: model::wire::VERSION,
        cell: CellId(1),
        target: WorkTarget::Directory {
            path: "/".into(),
            top: "/".into(),
            mount: MountId { device: (0, 0), mount: 0, inode: 0 },
        },
        source: None,
        archives: None,
        memory_limit: None,
        test: Test {
            name: "t".into(),
            suite: "s".into(),
            title: String::new(),
            rationale: String::new(),
            space: Bytes(0),
            data: model::DataKind::default(),
            sweep: None,
            phases: vec![phase],
        },
        age: None,
        aged: None,
        seed,
        stacks_after: None,
        sampling: None,
        rank: None,
    }
}
