//! Events of an agent or a guest and the resulting cell; the job that an agent reads.

use backend::cell::events;
use backend::{CellEnd, CellResultBuilder};
use model::wire::{CellEvent, CellJob, WorkTarget};
use model::{CellId, CommandRecord, MountId, Nanos, PhaseResult};
use stats::fixture;

use crate::property::survives_json;
use crate::sample::TEST;

/// Parses data from a channel. Each line is also parsed as a job.
pub fn run(input: &[u8]) {
    let mut collector = CellResultBuilder::new(&TEST);
    for event in events::read(input) {
        let line = event.to_line();
        assert_eq!(line.matches('\n').count(), 1, "an event is a line");
        survives_json(&event);
        collector.apply(event);
    }
    let result = collector.finish(CellEnd::Done, None);
    let phases = result.phases.iter().map(|phase| &phase.phase);
    assert!(
        phases.eq(TEST.phases.iter().map(|phase| &phase.name)),
        "each planned phase must be listed once"
    );
    survives_json(&result);
    for line in input.split(|byte| *byte == b'\n') {
        if let Ok(job) = serde_json::from_slice::<CellJob>(line) {
            survives_json(&job);
            assert_eq!(job.to_line().matches('\n').count(), 1);
        }
    }
}

/// Returns a session that succeeds, one that fails, and a job.
pub fn seeds() -> Vec<Vec<u8>> {
    let phases = TEST.phases.iter();
    let well = phases.map(|phase| CellEvent::Phase(Box::new(PhaseResult::not_run(phase))));
    let ended = CellEvent::Step(CommandRecord {
        step: "mkfs".into(),
        command: vec!["mkfs.ext4".into(), "/dev/a".into()],
        exit: Some(0),
        signal: None,
        elapsed: Nanos(7),
        output: "done".into(),
    });
    let well: String = well.chain([ended, CellEvent::Done]).map(|e| e.to_line()).collect();
    let failed = CellEvent::Failed {
        crashed: true,
        failure: fixture::failure("mount", "it said no", Some(("EIO", 5, "mount"))),
    };
    let job = CellJob {
        version: model::wire::VERSION,
        cell: CellId(1),
        source: None,
        target: WorkTarget::Directory {
            path: "/a/b".into(),
            top: "/a".into(),
            mount: MountId { device: (8, 1), mount: 1, inode: 2 },
        },
        archives: None,
        memory_limit: None,
        test: TEST.clone(),
        age: None,
        aged: None,
        seed: 1,
        stacks_after: None,
        sampling: None,
        rank: None,
    };
    vec![well.into(), failed.to_line().into(), job.to_line().into()]
}
