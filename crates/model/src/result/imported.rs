//! A campaign that fsarena did not run: imported or published results in the format of fsarena.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::op::External;
use crate::{
    BackendKind, Bytes, CacheState, Campaign, CampaignResults, Cell, CellId, CellRecord,
    CellResult, Clock, Contender, ContenderOverrides, DriverKind, Environment, Failure, Filesystem,
    LatencyBucket, Metric, Nanos, Op, Phase, PhaseResult, ReportedValue, Requirements, SizeProfile,
    Status, Suite, SyncAtEnd, Test, WorkloadCategory,
};

/// Origin of the measurements of a campaign that fsarena did not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExternalSource {
    /// The program, with its version if known, or the authors: `bonnie++ 1.98`.
    pub program: String,
    /// Source of the results: a file name or a publication.
    pub source: String,
}

/// Figures from another source. Values that the source does not contain are left open.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedCampaign {
    /// Name of the campaign.
    pub name: String,
    /// The program or authors that measured: `bonnie++ 1.98`.
    pub program: String,
    /// Source of the results: a file name or a publication.
    pub source: String,
    /// Time of the measurement, in nanoseconds since 1970.
    pub started: Option<Nanos>,
    /// The known properties of the machine.
    pub environment: Environment,
    /// The contenders, in the order of the tables. Contenders of figures that are not listed here
    /// follow them.
    pub contenders: Vec<ImportedContender>,
    /// The results, in the order of the tables.
    pub figures: Vec<ImportedResult>,
}

/// Who competed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedContender {
    /// The name in tables.
    pub name: String,
    /// The filesystem, if the catalog contains it.
    pub filesystem: Option<Filesystem>,
}

/// Result of one phase of a contender in one round.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedResult {
    /// Name of the contender.
    pub contender: String,
    /// Name of the test.
    pub test: String,
    /// Name of the phase.
    pub phase: String,
    /// The round, from 1.
    pub round: u32,
    /// Workload category of the phase, if known.
    pub group: Option<WorkloadCategory>,
    /// Whether it is a total over the other phases of its test, which must not be added to them.
    pub total: bool,
    /// Whether the phase ended too soon to be timed. It then has no number, but ranks like the best
    /// result.
    pub too_fast: bool,
    /// Status of the phase.
    pub status: Status,
    /// Reason of a status that is not `ok`, or of a missing number.
    pub reason: Option<String>,
    /// The numbers, each in the unit of its metric. The first is used for ranking. Empty if the
    /// phase ended too soon to be timed.
    pub values: Vec<ReportedValue>,
    /// Latency of single operations, ascending.
    pub latency: Vec<LatencyBucket>,
}

impl ImportedResult {
    /// Creates a result with one number, status `ok` and round 1.
    pub fn single_value(
        contender: &str,
        test: &str,
        phase: &str,
        metric: Metric,
        value: f64,
    ) -> Self {
        Self {
            contender: contender.to_owned(),
            test: test.to_owned(),
            phase: phase.to_owned(),
            round: 1,
            group: None,
            total: false,
            too_fast: false,
            status: Status::Ok,
            reason: None,
            values: vec![ReportedValue { metric, value }],
            latency: Vec::new(),
        }
    }
}

impl ImportedCampaign {
    /// Converts to a campaign with results, with the suite name `suite`.
    ///
    /// # Errors
    /// Returns an error if there are no figures, a number is not finite, a round is 0 or above
    /// [`Campaign::MAX_ROUNDS`], or a phase of a contender has two figures in one round.
    pub fn into_results(self, suite: &str) -> Result<CampaignResults, String> {
        self.check()?;
        let contenders = self.all_contenders();
        let tests = self.tests(suite);
        let rounds = self.figures.iter().map(|f| f.round).max().unwrap_or(1);
        let cells = self.cells(&contenders, &tests, rounds);
        let started = self.started.unwrap_or(Nanos(0));
        let campaign = Campaign {
            skipped: Vec::new(),
            name: self.name,
            contenders,
            groups: Vec::new(),
            suites: vec![Suite {
                name: suite.to_owned(),
                title: self.program.clone(),
                source: self.source.clone(),
                requires: crate::ProgramRequirements::default(),
                archives: Vec::new(),
                baseline: None,
                tests,
            }],
            profile: SizeProfile::Study,
            rounds,
            stopping_rule: None,
            budget: None,
            seed: 0,
            size: Bytes(0),
            memory: None,
            backend: BackendKind::Imported,
            measured_by: Some(ExternalSource { program: self.program, source: self.source }),
            clock: Clock::Real,
            guest: None,
            readahead: None,
            max_written: None,
            source: None,
            host: None,
            together: Vec::new(),
            archives: Vec::new(),
            keep_aged: false,
            device: None,
            work_dir: std::path::PathBuf::new(),
            database: None,
            stall_timeout: Nanos(0),
            phase_limit: Nanos(0),
        };
        Ok(CampaignResults {
            id: 0,
            started,
            campaign,
            environments: vec![self.environment],
            calibration: None,
            cells,
        })
    }

    fn check(&self) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        for figure in &self.figures {
            let ImportedResult { contender, test, phase, round, .. } = figure;
            if !(1..=Campaign::MAX_ROUNDS).contains(round) {
                let most = Campaign::MAX_ROUNDS;
                return Err(format!(
                    "{contender} has a round {round} of {test}/{phase}: from 1 to {most}"
                ));
            }
            if figure.values.iter().any(|v| !v.value.is_finite()) {
                return Err(format!(
                    "{test}/{phase} of {contender} has a value that is not a finite number"
                ));
            }
            if !seen.insert((contender, test, phase, round)) {
                return Err(format!("{test}/{phase} of {contender} occurs twice in round {round}"));
            }
        }
        match seen.is_empty() {
            true => Err("it holds no result".to_owned()),
            false => Ok(()),
        }
    }

    fn all_contenders(&self) -> Vec<Contender> {
        let mut all = self.contenders.clone();
        let mut known: BTreeSet<String> = all.iter().map(|c| c.name.clone()).collect();
        for figure in &self.figures {
            if known.insert(figure.contender.clone()) {
                all.push(ImportedContender { name: figure.contender.clone(), filesystem: None });
            }
        }
        all.into_iter().map(ImportedContender::contender).collect()
    }

    /// Returns every test with its phases, in the order of their first appearance.
    fn tests(&self, suite: &str) -> Vec<Test> {
        let mut tests: Vec<Test> = Vec::new();
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let mut phases: BTreeMap<(&str, &str), (usize, bool)> = BTreeMap::new();
        for figure in &self.figures {
            let place = *places.entry(&figure.test).or_insert(tests.len());
            if place == tests.len() {
                tests.push(test(suite, &figure.test));
            }
            let phase = phase(figure);
            let has_number = !figure.values.is_empty();
            let known = phases.get_mut(&(&figure.test, &figure.phase));
            match known {
                // A contender without a number cannot determine the metric for ranking.
                Some((at, ranked)) if has_number && !*ranked => {
                    tests[place].phases[*at] = phase;
                    *ranked = true;
                }
                // A contender that lacks the first number must not determine the metric for
                // ranking.
                Some((at, _)) if is_second(&tests[place].phases[*at], figure) => {
                    tests[place].phases[*at] = phase;
                }
                Some(_) => {}
                None => {
                    let at = tests[place].phases.len();
                    phases.insert((&figure.test, &figure.phase), (at, has_number));
                    tests[place].phases.push(phase);
                }
            }
        }
        tests
    }

    /// Creates a cell for each contender, test and round with a figure, ordered by round.
    fn cells(&self, contenders: &[Contender], tests: &[Test], rounds: u32) -> Vec<CellRecord> {
        let mut figures: BTreeMap<(u32, &str, &str), Vec<&ImportedResult>> = BTreeMap::new();
        for figure in &self.figures {
            let cell = (figure.round, figure.contender.as_str(), figure.test.as_str());
            figures.entry(cell).or_default().push(figure);
        }
        let mut cells = Vec::new();
        for round in 1..=rounds {
            for contender in contenders {
                for test in tests {
                    let of_cell =
                        figures.get(&(round, contender.name.as_str(), test.name.as_str()));
                    let Some(figures) = of_cell else { continue };
                    let id = CellId(u32::try_from(cells.len()).unwrap_or(u32::MAX));
                    cells.push(CellRecord {
                        cell: Cell {
                            id,
                            contender: contender.name.clone(),
                            suite: test.suite.clone(),
                            test: test.name.clone(),
                            round,
                            seed: 0,
                        },
                        result: Some(result(test, figures, self.started)),
                    });
                }
            }
        }
        cells
    }
}

impl ImportedContender {
    fn contender(self) -> Contender {
        let unknown = || Filesystem {
            name: self.name.clone(),
            title: self.name.clone(),
            aliases: Vec::new(),
            driver: DriverKind::Kernel,
            facts: crate::FilesystemFacts::default(),
            source: String::new(),
            requires: Requirements::default(),
            commands: crate::Commands::default(),
            quirks: Vec::new(),
            unavailable: None,
            only_in_guest: None,
            only_when_named: None,
            layers: Vec::new(),
        };
        Contender {
            filesystem: self.filesystem.clone().unwrap_or_else(unknown),
            name: self.name,
            mkfs_options: Vec::new(),
            mount_options: Vec::new(),
            directory: None,
            own: ContenderOverrides::default(),
        }
    }
}

fn test(suite: &str, name: &str) -> Test {
    Test {
        name: name.to_owned(),
        suite: suite.to_owned(),
        title: name.to_owned(),
        rationale: String::new(),
        space: Bytes(0),
        data: crate::DataKind::default(),
        sweep: None,
        phases: Vec::new(),
    }
}

fn phase(figure: &ImportedResult) -> Phase {
    let first = figure.values.first();
    Phase {
        name: figure.phase.clone(),
        cache: CacheState::Unknown,
        sync_at_end: SyncAtEnd::Unknown,
        at_most: None,
        scaling: None,
        step: None,
        needs: None,
        from_next_host: false,
        op: Op::External(External {
            metric: first.map_or(Metric::Elapsed, |value| value.metric),
            group: figure.group,
            total: figure.total,
        }),
    }
}

/// Returns true if a figure contains the current primary metric after another one.
fn is_second(phase: &Phase, figure: &ImportedResult) -> bool {
    let ranked_by = phase.op.primary_metric();
    let mut others = figure.values.iter().skip(1);
    others.any(|value| value.metric == ranked_by)
}

fn result(test: &Test, figures: &[&ImportedResult], started: Option<Nanos>) -> CellResult {
    let bad = figures.iter().map(|figure| figure.status);
    let bad = bad.filter(|status| *status != Status::Ok);
    // A failure is more informative than a phase skipped because of it.
    let worst = bad.min_by_key(|status| *status == Status::Skipped);
    let mut result = CellResult::with_status(worst.unwrap_or(Status::Ok));
    result.started = started.unwrap_or(Nanos(0));
    let by_phase: BTreeMap<&str, &&ImportedResult> =
        figures.iter().rev().map(|figure| (figure.phase.as_str(), figure)).collect();
    for phase in &test.phases {
        let figure = by_phase.get(phase.name.as_str());
        result.phases.extend(figure.map(|figure| PhaseResult {
            status: figure.status,
            too_fast: figure.too_fast,
            failure: failure(figure),
            latency: figure.latency.clone(),
            stated: figure.values.clone(),
            ..PhaseResult::not_run(phase)
        }));
    }
    let failed = |phase: &&PhaseResult| phase.status == result.status;
    let first = result.phases.iter().find(failed);
    result.failure = first.and_then(|phase| phase.failure.clone());
    result
}

fn failure(figure: &ImportedResult) -> Option<Failure> {
    let reason = match (&figure.reason, figure.status) {
        (_, Status::Ok) => return None,
        (Some(reason), _) => reason.clone(),
        (None, _) => "its source does not say why".to_owned(),
    };
    Some(Failure { step: figure.phase.clone(), reason, ..Failure::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(figures: Vec<ImportedResult>) -> ImportedCampaign {
        ImportedCampaign {
            name: "made".to_owned(),
            program: "bonnie++ 1.98".to_owned(),
            source: "made.csv".to_owned(),
            started: None,
            environment: Environment::default(),
            contenders: Vec::new(),
            figures,
        }
    }

    fn written(contender: &str, value: f64) -> ImportedResult {
        ImportedResult::single_value(contender, "file", "write", Metric::Throughput, value)
    }

    #[test]
    fn figures_keep_their_stated_numbers_as_cells() {
        let failed = ImportedResult {
            status: Status::Failed,
            reason: Some("I/O error".to_owned()),
            values: Vec::new(),
            ..written("affs", 0.0)
        };
        let figures = vec![failed, written("ext4", 2e8)];
        let results = reported(figures).into_results("bonnie++").unwrap();
        let names: Vec<_> = results.campaign.contenders.iter().map(|c| &c.name).collect();
        assert_eq!(names, ["affs", "ext4"]);
        let phase = &results.campaign.suites[0].tests[0].phases[0];
        assert_eq!(phase.op.primary_metric(), Metric::Throughput);
        let cells: Vec<_> = results.cells.iter().filter_map(|c| c.result.as_ref()).collect();
        assert_eq!(cells[0].status, Status::Failed);
        assert_eq!(cells[0].failure.as_ref().unwrap().reason, "I/O error");
        assert_eq!(cells[1].phases[0].primary_value(), Some(2e8));
    }

    /// For ext4 only the share of a processor is known, for XFS also the time.
    #[test]
    fn phase_is_ranked_by_first_available_metric() {
        let cpu = ImportedResult::single_value("ext4", "volume", "unmount", Metric::Cpu, 37.0);
        let mut both =
            ImportedResult::single_value("xfs", "volume", "unmount", Metric::Elapsed, 0.4);
        both.values.extend(cpu.values.clone());
        let results = reported(vec![cpu, both]).into_results("made").unwrap();
        let phase = &results.campaign.suites[0].tests[0].phases[0];
        assert_eq!(phase.op.primary_metric(), Metric::Elapsed);
    }

    #[test]
    fn invalid_campaigns_are_refused() {
        let refused = |figures| reported(figures).into_results("bonnie++").unwrap_err();
        assert!(refused(Vec::new()).contains("no result"));
        assert!(refused(vec![written("a", f64::NAN)]).contains("not a finite number"));
        assert!(refused(vec![written("a", 1.0), written("a", 2.0)]).contains("twice"));
        let round = |round| ImportedResult { round, ..written("a", 1.0) };
        assert!(refused(vec![round(0)]).contains("round 0"));
        assert!(refused(vec![round(u32::MAX)]).contains("from 1 to 1000"));
    }
}
