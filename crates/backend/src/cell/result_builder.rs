//! Builds the result of one cell from its events. Pure.

use model::wire::CellEvent;
use model::{
    AgeingResult, Bytes, CellResult, CommandRecord, Failure, Features, KernelEvent,
    KernelMemoryUse, Nanos, Phase, PhaseResult, RequestLogChunk, Status, Test,
};

use crate::cell::ending::CellEnd;
use crate::kernel_log;
use crate::kernel_log::kernel_crash::{self, KernelFinding};
use model::result::kernel_log::strip_level;

/// Name of the step that mounts the filesystem.
const MOUNT: &str = "mount";
/// Words in the kernel's messages about a refused mount.
const MOUNT_REASONS: [&str; 8] = [
    "parameter",
    "option",
    "invalid",
    "support",
    "bad value",
    "incompatible",
    "refusing",
    "cannot mount",
];

/// An unfinished result of a cell.
#[derive(Debug)]
pub struct CellResultBuilder<'a> {
    test: &'a Test,
    step: Option<String>,
    phases: Vec<PhaseResult>,
    steps: Vec<CommandRecord>,
    mounted: Option<KernelMemoryUse>,
    journal: Vec<RequestLogChunk>,
    age: Option<AgeingResult>,
    features: Features,
    failed: Option<(Status, Failure)>,
    /// Memory limit at which the kernel killed processes of the cell.
    exhausted: Option<Bytes>,
}

impl<'a> CellResultBuilder<'a> {
    /// Creates a collector for this test, without any event.
    pub fn new(test: &'a Test) -> Self {
        Self {
            test,
            step: None,
            phases: Vec::with_capacity(test.phases.len()),
            steps: Vec::new(),
            mounted: None,
            journal: Vec::new(),
            age: None,
            features: Features::default(),
            failed: None,
            exhausted: None,
        }
    }

    /// Records that the kernel killed processes of the cell at the campaign's memory limit.
    pub fn record_oom(&mut self, limit: Bytes) {
        self.exhausted = Some(limit);
    }

    /// Returns whether an event begins the next phase of the test.
    pub fn begins_phase(&self, event: &CellEvent) -> bool {
        let next = self.test.phases.get(self.phases.len());
        matches!(event, CellEvent::Begin { step } if next.is_some_and(|next| next.name == *step))
    }

    /// Adds one event.
    pub fn apply(&mut self, event: CellEvent) {
        match event {
            CellEvent::Begin { step } => self.step = Some(step),
            CellEvent::Step(record) => self.steps.push(record),
            CellEvent::Phase(phase) => {
                self.step = None;
                let planned = self.test.phases.get(self.phases.len());
                // Ignore a phase that was not planned or was already reported.
                if planned.is_some_and(|p| p.name == phase.phase) {
                    self.phases.push(with_reason(*phase));
                }
            }
            CellEvent::Journal(part) => self.journal.push(part),
            CellEvent::Layout { phase, layout } => {
                let mut phases = self.phases.iter_mut();
                if let Some(of) = phases.find(|of| of.phase == phase) {
                    of.layout = Some(layout);
                }
            }
            CellEvent::Mounted(memory) => self.mounted = Some(memory),
            CellEvent::Aged(record) => self.age = Some(record),
            CellEvent::Features(features) => self.features = features,
            CellEvent::Failed { crashed, failure } => {
                let status = if crashed { Status::Crashed } else { Status::Failed };
                self.failed.get_or_insert((status, failure));
            }
            // Such a cell has no result.
            CellEvent::Hello { .. }
            | CellEvent::Progress { .. }
            | CellEvent::EnvironmentFault { .. }
            | CellEvent::Rank(_)
            | CellEvent::Done => {}
        }
    }

    /// Completes the result: every planned phase gets one result, and the cell gets the most severe
    /// status.
    pub fn finish(mut self, ending: CellEnd, kernel_log: Option<Vec<KernelEvent>>) -> CellResult {
        let kernel_log_readable = kernel_log.is_some();
        let kernel_log = kernel_log.unwrap_or_default();
        let lines = kernel_log.iter().flat_map(|event| event.lines.clone());
        self.close(&ending, &lines.collect::<Vec<_>>());
        self.blame_memory();
        let mut remarks = self.read_though_warm();
        remarks.extend(self.age.iter().flat_map(AgeingResult::warnings));
        let failed = self.failed.take().or_else(|| gravest(&self.phases));
        let (status, failure) = match failed {
            Some((Status::Failed, failure)) if failure.step == MOUNT => {
                (Status::Failed, Some(begin_with_kernel_message(failure, &kernel_log)))
            }
            Some((status, failure)) => (status, Some(failure)),
            None => (Status::Ok, None),
        };
        CellResult {
            status,
            failure,
            phases: self.phases,
            steps: self.steps,
            mounted: self.mounted,
            journal: self.journal,
            features: self.features,
            kernel_log: kernel_log::limit_size(kernel_log),
            kernel_log_readable,
            started: Nanos(0),
            elapsed: Nanos(0),
            from_cache: false,
            remarks,
            age: self.age,
            disturbance: None,
            first: None,
        }
    }

    /// Returns remarks on warm phases that read from the device.
    fn read_though_warm(&self) -> Vec<String> {
        let phases = self.test.phases.iter().zip(&self.phases);
        let remark = |(planned, result): (&Phase, &PhaseResult)| {
            let read = result.device_reads_when_warm(&planned.op)?;
            let name = &planned.name;
            Some(format!("{name} should have read from memory, but {read} came from the device"))
        };
        phases.filter_map(remark).collect()
    }

    /// Adds the outcome of the steps that the agent did not report.
    fn close(&mut self, ending: &CellEnd, kernel_log: &[String]) {
        let step = self.step.clone().unwrap_or_else(|| "set-up".to_owned());
        let mut verdict = ending.to_status(&step);
        if let Some((Status::Hung, failure)) = &mut verdict
            && let Some(finding) = kernel_crash::find_hung_task(kernel_log)
        {
            explain(failure, finding);
        }
        // The end of a kernel explains all other failures and invalidates successes.
        if let Some(finding) = kernel_crash::find(kernel_log) {
            let step = match (verdict, &self.failed) {
                (Some((_, failure)), _) => failure.step,
                (None, Some((_, failure))) => failure.step.clone(),
                (None, None) => self.last_trouble(),
            };
            let failure = Failure {
                step,
                reason: finding.reason,
                error: None,
                stacks: non_empty(finding.trace),
            };
            verdict = Some((Status::Crashed, failure));
        }
        if let Some((status, failure)) = verdict.or_else(|| self.missing_phase()) {
            self.fill(status, &failure);
            self.failed = Some((status, failure));
        }
        self.fill(Status::Skipped, &Failure::default());
    }

    /// Returns a failure for the first phase without a result, if nothing else explains it.
    fn missing_phase(&self) -> Option<(Status, Failure)> {
        // A cell that only prepares an aged image runs no phases.
        let only_ages = self.age.is_some() && self.phases.is_empty();
        let is_explained = only_ages || self.failed.is_some() || gravest(&self.phases).is_some();
        let missing = self.test.phases.get(self.phases.len()).filter(|_| !is_explained)?;
        let reason = "the agent ended without a result of this phase".to_owned();
        let failure = Failure { step: missing.name.clone(), reason, ..Failure::default() };
        Some((Status::Failed, failure))
    }

    /// Adds the campaign's memory limit to failures that it caused.
    fn blame_memory(&mut self) {
        let Some(limit) = self.exhausted else { return };
        let of_phases = self.phases.iter_mut();
        let of_phases = of_phases.filter(|p| matches!(p.status, Status::Crashed | Status::Failed));
        let failures = of_phases.filter_map(|p| p.failure.as_mut());
        let outside = self.failed.iter_mut().map(|(_, failure)| failure);
        for failure in failures.chain(outside) {
            failure.reason = format!(
                "out of memory: the kernel killed a process at the limit of {limit} that --memory \
                 sets; {}",
                failure.reason
            );
        }
    }

    /// Returns the first phase that was not `ok`, or else the last phase.
    fn last_trouble(&self) -> String {
        let troubled = self.phases.iter().find(|p| p.status != Status::Ok);
        troubled.or(self.phases.last()).map_or("set-up", |p| &p.phase).to_owned()
    }

    /// Sets the status of the phase that was running, and marks later phases as skipped.
    fn fill(&mut self, status: Status, failure: &Failure) {
        for planned in &self.test.phases[self.phases.len()..] {
            let mut result = PhaseResult::not_run(planned);
            let running = planned.name == failure.step;
            result.status = if running { status } else { Status::Skipped };
            result.failure = Some(if running {
                failure.clone()
            } else {
                let died = if failure.step.is_empty() { "an earlier step" } else { &failure.step };
                let reason = format!("{died} did not succeed");
                Failure { step: planned.name.clone(), reason, ..Failure::default() }
            });
            self.phases.push(result);
        }
    }
}

/// Returns a reported phase with a failure exactly if it was not `ok`. A guest may send anything.
fn with_reason(mut phase: PhaseResult) -> PhaseResult {
    if phase.status == Status::Ok {
        phase.failure = None;
    } else if phase.failure.is_none() {
        let reason = "the agent gave no reason".to_owned();
        phase.failure = Some(Failure { step: phase.phase.clone(), reason, ..Failure::default() });
    }
    phase
}

/// Puts the kernel's reason for a refused mount first, because `mount` knows only that it failed.
fn begin_with_kernel_message(mut failure: Failure, kernel_log: &[KernelEvent]) -> Failure {
    let is_reason = |line: &&str| {
        let line = line.to_ascii_lowercase();
        MOUNT_REASONS.iter().any(|word| line.contains(word)) && !line.contains("command line")
    };
    let mut lines = kernel_log.iter().rev().map(|event| strip_level(&event.title));
    if let Some(line) = lines.find(is_reason).filter(|line| !failure.reason.contains(line)) {
        failure.reason = format!("{line}; {}", failure.reason);
    }
    failure
}

/// Adds a finding from the kernel log to a failure.
fn explain(failure: &mut Failure, finding: KernelFinding) {
    failure.reason = format!("{}; {}", failure.reason, finding.reason);
    failure.stacks.extend(non_empty(finding.trace));
}

fn non_empty(text: String) -> Vec<String> {
    if text.is_empty() { Vec::new() } else { vec![text] }
}

/// Returns the first phase with the gravest status. Unsupported phases count only if all phases are
/// unsupported.
fn gravest(phases: &[PhaseResult]) -> Option<(Status, Failure)> {
    const DEATH_STATUSES: [Status; 4] =
        [Status::Crashed, Status::Hung, Status::Failed, Status::Invalid];
    let all_unsupported = phases.iter().all(|p| p.status == Status::Unsupported);
    let wanted = DEATH_STATUSES.into_iter().chain(all_unsupported.then_some(Status::Unsupported));
    wanted
        .filter_map(|status| phases.iter().find(|p| p.status == status))
        .map(|p| (p.status, p.failure.clone().unwrap_or_default()))
        .next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::ending::{GuestEnd, StallKind};
    use model::{Bytes, CacheState, Capacity, ListTree, Op, Phase, SyncAtEnd};
    use proptest::prelude::*;
    fn test(names: &[&str]) -> Test {
        let phase = |name: &&str| Phase {
            name: (*name).into(),
            cache: CacheState::Warm,
            sync_at_end: SyncAtEnd::Call,
            at_most: None,
            scaling: None,
            step: None,
            needs: None,
            from_next_host: false,
            op: Op::Capacity(Capacity),
        };
        Test {
            name: "t".into(),
            suite: "s".into(),
            title: String::new(),
            rationale: String::new(),
            space: Bytes(0),
            data: model::DataKind::default(),
            sweep: None,
            phases: names.iter().map(phase).collect(),
        }
    }

    fn phase(test: &Test, index: usize, status: Status) -> CellEvent {
        let mut result = PhaseResult::not_run(&test.phases[index]);
        result.status = status;
        result.failure = (status != Status::Ok)
            .then(|| Failure { step: result.phase.clone(), ..Failure::default() });
        CellEvent::Phase(Box::new(result))
    }

    fn statuses(result: &CellResult) -> Vec<Status> {
        result.phases.iter().map(|p| p.status).collect()
    }

    proptest! {
        /// An agent in a guest may send anything: the filesystem that it tests may have crashed its
        /// kernel.
        #[test]
        fn every_story_of_an_agent_is_one_sound_result(
            story in prop::collection::vec((0..4_usize, 0..5_usize, any::<bool>()), 0..12),
        ) {
            let (test, other) = (test(&["a", "b", "c"]), test(&["a", "b", "c", "d", "x"]));
            let mut collector = CellResultBuilder::new(&test);
            for (kind, index, has_reason) in story {
                let failure = has_reason.then(Failure::default);
                collector.apply(match kind {
                    0 => CellEvent::Begin { step: other.phases[index].name.clone() },
                    1 | 2 => {
                        let mut result = PhaseResult::not_run(&other.phases[index]);
                        result.status = if kind == 1 { Status::Ok } else { Status::ALL[index] };
                        result.failure = failure;
                        CellEvent::Phase(Box::new(result))
                    }
                    _ => CellEvent::Failed {
                        crashed: index == 0,
                        failure: failure.unwrap_or_default(),
                    },
                });
            }
            let result = collector.finish(CellEnd::Done, Some(Vec::new()));
            let names = result.phases.iter().map(|p| p.phase.as_str()).collect::<Vec<_>>();
            prop_assert_eq!(names, ["a", "b", "c"]);
            for phase in &result.phases {
                prop_assert_eq!(phase.failure.is_some(), phase.status != Status::Ok);
            }
            prop_assert_eq!(result.failure.is_some(), result.status != Status::Ok);
            let is_bad = gravest(&result.phases).is_some();
            prop_assert!(!is_bad || result.status != Status::Ok, "{:?}", result);
        }
    }

    #[test]
    fn an_agent_that_ends_early_has_failed() {
        let test = test(&["a", "b", "c"]);
        let mut collector = CellResultBuilder::new(&test);
        collector.apply(phase(&test, 0, Status::Ok));
        collector.apply(phase(&test, 2, Status::Ok));
        let result = collector.finish(CellEnd::Done, Some(Vec::new()));
        assert_eq!(statuses(&result), [Status::Ok, Status::Failed, Status::Skipped]);
        let failure = result.failure.unwrap();
        assert_eq!(failure.reason, "the agent ended without a result of this phase");
    }

    #[test]
    fn all_well() {
        let test = test(&["a", "b"]);
        let mut collector = CellResultBuilder::new(&test);
        collector.apply(phase(&test, 0, Status::Ok));
        collector.apply(phase(&test, 1, Status::Unsupported));
        let result = collector.finish(CellEnd::Done, Some(vec![]));
        assert_eq!((result.status, result.failure.is_none()), (Status::Ok, true));
    }

    #[test]
    fn a_death_is_pinned_on_the_step_that_ran() {
        let test = test(&["a", "b", "c"]);
        let mut collector = CellResultBuilder::new(&test);
        collector.apply(phase(&test, 0, Status::Ok));
        collector.apply(CellEvent::Begin { step: "b".into() });
        let result = collector.finish(CellEnd::AgentDied { how: "signal 9".into() }, None);
        assert_eq!(result.status, Status::Crashed);
        assert_eq!(result.failure.as_ref().unwrap().step, "b");
        assert_eq!(statuses(&result), [Status::Ok, Status::Crashed, Status::Skipped]);
        assert!(!result.kernel_log_readable);
    }

    #[test]
    fn failure_names_the_memory_limit_of_the_campaign() {
        let test = test(&["a", "b"]);
        let mut collector = CellResultBuilder::new(&test);
        collector.apply(phase(&test, 0, Status::Ok));
        collector.apply(CellEvent::Begin { step: "b".into() });
        collector.record_oom(Bytes::mib(24));
        let how = "signal 9 killed it".into();
        let result = collector.finish(CellEnd::AgentDied { how }, None);
        assert_eq!(statuses(&result), [Status::Ok, Status::Crashed]);
        for failure in [&result.failure, &result.phases[1].failure] {
            let reason = &failure.as_ref().unwrap().reason;
            assert!(reason.contains("24 MiB that --memory sets"), "{reason}");
            assert_eq!(reason.matches("out of memory").count(), 1);
        }
        let mut well = CellResultBuilder::new(&test);
        well.apply(phase(&test, 0, Status::Ok));
        well.apply(phase(&test, 1, Status::Ok));
        well.record_oom(Bytes::mib(24));
        assert_eq!(well.finish(CellEnd::Done, None).failure, None);
    }

    #[test]
    fn a_refused_mount_begins_with_the_reason_of_the_kernel() {
        let reason = "mount ended with exit code 32: wrong fs type, bad option";
        let finish = |step: &str, log: &[&str]| {
            let test = test(&["a"]);
            let mut collector = CellResultBuilder::new(&test);
            let failure =
                Failure { step: step.into(), reason: reason.into(), ..Failure::default() };
            collector.apply(CellEvent::Failed { crashed: false, failure });
            let log = log.iter().map(|line| KernelEvent::from_line(*line)).collect();
            collector.finish(CellEnd::Done, Some(log)).failure.unwrap().reason
        };
        let log = [
            "<5>Unknown kernel command line parameters \"quiet\"",
            "<6>XFS (loop0): Mounting V5 Filesystem",
            "<4>xfs: Unknown parameter 'nobarrier'",
        ];
        let told = finish("mount", &log);
        assert_eq!(told, format!("xfs: Unknown parameter 'nobarrier'; {reason}"));
        assert_eq!(finish("mkfs", &log), reason);
        assert_eq!(finish("mount", &log[..2]), reason);
    }

    #[test]
    fn a_warm_phase_that_read_from_the_device_is_remarked() {
        let mut test = test(&["list"]);
        let tree = "t".to_owned();
        test.phases[0].op = Op::ListTree(ListTree { tree });
        let mut result = PhaseResult::not_run(&test.phases[0]);
        result.device =
            Some(model::DeviceCounters { read_bytes: Bytes::mib(3), ..Default::default() });
        let mut collector = CellResultBuilder::new(&test);
        collector.apply(CellEvent::Phase(Box::new(result)));
        let result = collector.finish(CellEnd::Done, Some(vec![]));
        assert_eq!(
            result.remarks,
            ["list should have read from memory, but 3 MiB came from the device"]
        );
    }

    #[test]
    fn oops_is_found_after_many_other_lines() {
        let test = test(&["a"]);
        let mut collector = CellResultBuilder::new(&test);
        collector.apply(phase(&test, 0, Status::Ok));
        let mut log = vec![KernelEvent::from_line("<4> a complaint"); 1000];
        log[700] = KernelEvent::from_line("<1> BUG: kernel NULL pointer dereference, address: 08");
        let result = collector.finish(CellEnd::Done, Some(log));
        assert_eq!(result.status, Status::Crashed);
        assert_eq!(result.kernel_lines().count(), 501);
    }

    #[test]
    fn a_hang_in_mount_skips_every_phase() {
        let test = test(&["a", "b"]);
        let mut collector = CellResultBuilder::new(&test);
        collector.apply(CellEvent::Begin { step: "mount".into() });
        let ending = CellEnd::Hung {
            stall: StallKind::Silence(Nanos::from_secs(9)),
            stacks: vec!["s".into()],
            unkillable: true,
        };
        let result = collector.finish(ending, Some(vec![]));
        let failure = result.failure.as_ref().unwrap();
        assert_eq!((result.status, failure.step.as_str()), (Status::Hung, "mount"));
        assert!(failure.reason.contains("9.00 s") && failure.reason.contains("still exists"));
        assert_eq!(statuses(&result), [Status::Skipped, Status::Skipped]);
        assert_eq!(result.phases[0].failure.as_ref().unwrap().reason, "mount did not succeed");
    }

    #[test]
    fn oops_explains_the_failure_and_outranks_it() {
        let test = test(&["a", "b"]);
        let mut collector = CellResultBuilder::new(&test);
        collector.apply(phase(&test, 0, Status::Failed));
        collector.apply(phase(&test, 1, Status::Skipped));
        let log = vec![KernelEvent::from_line("<1> BUG: unable to handle page fault")];
        let result = collector.finish(CellEnd::Done, Some(log));
        assert_eq!(result.status, Status::Crashed);
        assert_eq!(result.failure.as_ref().unwrap().step, "a");
    }

    #[test]
    fn oops_is_reported_with_its_functions_for_its_step() {
        let test = test(&["a", "b", "c"]);
        let mut collector = CellResultBuilder::new(&test);
        collector.apply(phase(&test, 0, Status::Ok));
        collector.apply(CellEvent::Begin { step: "b".into() });
        let log = [
            "<4> BUG: kernel NULL pointer dereference, address: 28",
            "<4> RIP: 0010:affs_alloc_extblock+0x4c/0x1d0 [affs]",
        ];
        let ending = CellEnd::Guest {
            end: GuestEnd::PoweredOff,
            last_words: "---[ end Kernel panic ]---".into(),
        };
        let result = collector.finish(ending, Some(log.map(KernelEvent::from_line).into()));
        assert_eq!(statuses(&result), [Status::Ok, Status::Crashed, Status::Skipped]);
        let failure = result.failure.unwrap();
        assert!(failure.reason.ends_with("; in affs_alloc_extblock+0x4c"));
        assert_eq!(failure.stacks, ["affs_alloc_extblock+0x4c [affs]\n"]);
    }

    #[test]
    fn hang_is_reported_with_the_kernel_log() {
        let test = test(&["a"]);
        let mut collector = CellResultBuilder::new(&test);
        collector.apply(CellEvent::Begin { step: "a".into() });
        let ending = CellEnd::Hung {
            stall: StallKind::Silence(Nanos::from_secs(120)),
            stacks: Vec::new(),
            unkillable: false,
        };
        let log = vec![KernelEvent::from_line(
            "<4> INFO: task init:7 blocked for more than 120 seconds.",
        )];
        let result = collector.finish(ending, Some(log));
        let reason = result.failure.unwrap().reason;
        assert_eq!(result.status, Status::Hung);
        assert!(reason.contains("nothing moved") && reason.contains("init:7 blocked"), "{reason}");
    }

    #[test]
    fn unplanned_phases_are_ignored() {
        let test = test(&["a"]);
        let other = self::tests::test(&["x"]);
        let mut collector = CellResultBuilder::new(&test);
        collector.apply(phase(&other, 0, Status::Ok));
        collector.apply(phase(&test, 0, Status::Ok));
        collector.apply(phase(&test, 0, Status::Failed));
        assert_eq!(statuses(&collector.finish(CellEnd::Done, None)), [Status::Ok]);
    }

    #[test]
    fn a_silent_end_leaves_no_hole() {
        let test = test(&["a", "b"]);
        let result = CellResultBuilder::new(&test).finish(CellEnd::Done, None);
        assert_eq!(statuses(&result), [Status::Failed, Status::Skipped]);
    }
}
