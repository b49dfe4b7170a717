//! Cells that are not ok, with all available evidence, and kernel log complaints of cells that are
//! ok.

use model::{
    CampaignResults, Cell, CellId, CellResult, CommandRecord, KernelEvent, PhaseResult, Status,
    SyscallError,
};
use serde::Serialize;

/// Step that checks a filesystem after the phases.
pub(crate) const CHECK_STEP: &str = "fsck";

/// A phase that is not ok.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseFailure {
    /// Name of the phase.
    pub phase: String,
    /// Status of the phase.
    pub status: Status,
    /// Reason in one line, if recorded.
    pub reason: Option<String>,
    /// The failed system call, if any.
    pub error: Option<SyscallError>,
}

/// A cell that is not ok, or that has a phase that is not ok.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellFailure {
    /// The cell.
    pub cell: CellId,
    /// Name of the contender.
    pub contender: String,
    /// Name of the suite.
    pub suite: String,
    /// Name of the test.
    pub test: String,
    /// The round, from 1.
    pub round: u32,
    /// Status of the cell.
    pub status: Status,
    /// The first step or phase that failed; empty if not recorded.
    pub step: String,
    /// One-line reason.
    pub reason: String,
    /// The failed system call, if any.
    pub error: Option<SyscallError>,
    /// Kernel stacks, if the cell hung.
    pub stacks: Vec<String>,
    /// Phases that are not ok.
    pub phases: Vec<PhaseFailure>,
    /// Programs that were run, with their output.
    pub steps: Vec<CommandRecord>,
    /// Kernel log during the cell.
    pub kernel_log: Vec<String>,
    /// Whether the kernel log was readable.
    pub kernel_log_readable: bool,
}

impl CellFailure {
    /// Whether the filesystem check that runs after the phases found damage.
    pub fn is_damage(&self) -> bool {
        self.step == CHECK_STEP
    }
}

/// Kernel log complaints during a cell that is ok.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelWarning {
    /// The cell.
    pub cell: CellId,
    /// Name of the contender.
    pub contender: String,
    /// Name of the suite.
    pub suite: String,
    /// Name of the test.
    pub test: String,
    /// The round, from 1.
    pub round: u32,
    /// The events with a line of level 4 (warning) or worse.
    pub events: Vec<KernelEvent>,
}

/// Returns every cell that is not ok, in the order of the plan.
pub(crate) fn failures(results: &CampaignResults) -> Vec<CellFailure> {
    each_result(results)
        .filter(|(_, result)| !is_ok(result))
        .map(|(cell, result)| cell_failure(cell, result))
        .collect()
}

/// Returns the kernel warnings of cells that are ok, in the order of the plan, without those that the catalog knows to be
/// harmless.
pub(crate) fn kernel_warnings(results: &CampaignResults) -> Vec<KernelWarning> {
    let contenders = &results.campaign.contenders;
    let is_harmless = |cell: &Cell, event: &KernelEvent| {
        let contender = contenders.iter().find(|contender| contender.name == cell.contender);
        let mut known = contender.into_iter().flat_map(|one| &one.filesystem.facts.harmless);
        known.any(|message| event.title.contains(&message.text))
    };
    each_result(results)
        .filter(|(_, result)| is_ok(result))
        .filter_map(|(cell, result)| {
            let events = result.kernel_log.iter();
            let events: Vec<KernelEvent> = events
                .filter(|event| event.is_complaint() && !is_harmless(cell, event))
                .cloned()
                .collect();
            (!events.is_empty()).then(|| KernelWarning {
                cell: cell.id,
                contender: cell.contender.clone(),
                suite: cell.suite.clone(),
                test: cell.test.clone(),
                round: cell.round,
                events,
            })
        })
        .collect()
}

fn each_result(results: &CampaignResults) -> impl Iterator<Item = (&Cell, &CellResult)> {
    results.cells.iter().filter_map(|stored| Some((&stored.cell, stored.result.as_ref()?)))
}

fn is_ok(result: &CellResult) -> bool {
    result.status == Status::Ok && result.phases.iter().all(|p| p.status == Status::Ok)
}

fn cell_failure(cell: &Cell, result: &CellResult) -> CellFailure {
    let culprit = culprit(result);
    let failure = result.failure.as_ref().or_else(|| culprit.and_then(|p| p.failure.as_ref()));
    let step = failure
        .map(|f| f.step.clone())
        .filter(|step| !step.is_empty())
        .or_else(|| culprit.map(|p| p.phase.clone()));
    CellFailure {
        cell: cell.id,
        contender: cell.contender.clone(),
        suite: cell.suite.clone(),
        test: cell.test.clone(),
        round: cell.round,
        status: status_of(result),
        step: step.unwrap_or_default(),
        reason: failure
            .map(|f| f.reason.clone())
            .filter(|reason| !reason.is_empty())
            .unwrap_or_else(|| "no reason was recorded".to_owned()),
        error: failure.and_then(|f| f.error.clone()),
        stacks: failure.map(|f| f.stacks.clone()).unwrap_or_default(),
        phases: result.phases.iter().filter_map(phase_failure).collect(),
        steps: result.steps.clone(),
        kernel_log: result.kernel_lines().cloned().collect(),
        kernel_log_readable: result.kernel_log_readable,
    }
}

/// Returns the first phase that failed by itself, and not because of an earlier phase.
fn culprit(result: &CellResult) -> Option<&PhaseResult> {
    let consequence = |status| matches!(status, Status::Ok | Status::Skipped | Status::Invalid);
    result
        .phases
        .iter()
        .find(|p| !consequence(p.status))
        .or_else(|| result.phases.iter().find(|p| p.status != Status::Ok))
}

/// Returns the status of the cell. If the cell reports ok, returns the status of its first failed
/// phase, if any.
fn status_of(result: &CellResult) -> Status {
    match result.status {
        Status::Ok => culprit(result).map_or(Status::Ok, |p| p.status),
        status => status,
    }
}

fn phase_failure(phase: &PhaseResult) -> Option<PhaseFailure> {
    (phase.status != Status::Ok).then(|| PhaseFailure {
        phase: phase.phase.clone(),
        status: phase.status,
        reason: phase.failure.as_ref().map(|f| f.reason.clone()),
        error: phase.failure.as_ref().and_then(|f| f.error.clone()),
    })
}
