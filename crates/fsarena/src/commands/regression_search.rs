//! `fsarena guard` over a list of versions. Each version is a campaign in virtual time. Only the
//! versions that the search for the first worse one needs are run.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::campaign::run::CampaignEnd;
use ::campaign::store::{CampaignId, Store};
use config::ContenderEntry;
use model::{CampaignResults, Clock, CpuProfile, Nanos};
use report::first_worse_report;
use serde_json::json;
use stats::{
    AnalysedCampaign, Analysis, Bisection, CampaignComparison, CompareFilter,
    IncomparableCampaigns, Margin, RegressionCriterion, RegressionSearch, TestedVersion,
    VersionState, analyse, compare_versions, explain_step, first_cell, is_cpu_bound,
};

use crate::args::cli::GlobalArgs;
use crate::args::compare_args::GuardArgs;
use crate::args::run_args::RunArgs;
use crate::commands::cluster::collect::{self, CollectEnd};
use crate::commands::cluster::plan as plan_command;
use crate::commands::run::{self, RunOutcome};
use crate::commands::{compare, explain, guest};
use crate::cpu_sampling::{self, SamplingContext};
use crate::output::erase_question::EraseConfirmation;
use crate::output::exit::{self, EnvironmentError, ExitReason, UsageError};
use crate::output::progress::ProgressDisplay;
use crate::output::text::{line, print_document, print_json, print_note};
use crate::settings::campaign;
use crate::settings::versions::{self, GuardedVersion};
use crate::{paths, traces};

/// Results of a version.
struct MeasuredVersion {
    results: CampaignResults,
    analysis: Analysis,
}

/// Outcome of running a version.
enum SearchOutcome {
    /// The version was measured.
    Complete(Box<MeasuredVersion>),
    /// The search ends: only a plan was requested, or the user stopped it.
    Aborted(ExitCode),
}

/// Searches for the first version that is worse. Exits with 1 if one is found.
pub fn run(
    args: &GuardArgs,
    contenders: &[String],
    run: &RunArgs,
    globals: &GlobalArgs,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<ExitCode> {
    let catalog = paths::catalog(globals)?;
    let mut versions = versions::versions(contenders, &args.over, run, catalog.kernels(), stop)?;
    let guard = Guard {
        args,
        contenders,
        globals,
        stop,
        progress: ProgressDisplay::choose(globals.json, globals.quiet),
        wanted: CompareFilter {
            results: args.only.clone(),
            margin: Margin(args.threshold),
            ..CompareFilter::default()
        },
    };
    if run.engine.on.is_some() {
        run::elsewhere(run, stop)?;
    }
    guard.require_contenders(&mut versions)?;
    guard.search(&versions)
}

struct Guard<'a> {
    args: &'a GuardArgs,
    contenders: &'a [String],
    globals: &'a GlobalArgs,
    stop: &'a Arc<AtomicBool>,
    progress: ProgressDisplay,
    wanted: CompareFilter,
}

/// Versions and the results of those that ran.
struct VersionSearch<'a> {
    versions: &'a [GuardedVersion],
    measured: Vec<Option<MeasuredVersion>>,
    tried: Vec<TestedVersion>,
}

impl Guard<'_> {
    /// Checks all contenders before the first one runs, since the search also needs the last one, and
    /// chooses one kernel for their campaigns, which differ by nothing else.
    fn require_contenders(&self, versions: &mut [GuardedVersion]) -> anyhow::Result<()> {
        if !self.args.over.is_empty() {
            return Ok(());
        }
        let mut all = versions[0].run.clone();
        let named = self.contenders.iter().cloned();
        all.settings.contenders = named.map(ContenderEntry::Spec).collect();
        let catalog = paths::catalog(self.globals)?;
        let reach = paths::transport(None, self.stop)?;
        let silent = ProgressDisplay::choose(false, true);
        let read = campaign::read(&all, self.globals, &catalog, &*reach, &silent, self.stop)?;
        let filesystems = read.campaign.contenders.iter().map(|contender| &contender.filesystem);
        let build = &mut all.execution.build;
        guest::choose_kernel(build, filesystems, catalog.kernels(), storage::debian_release())?;
        for version in versions {
            version.run.execution.build.guest_kernel.clone_from(&build.guest_kernel);
        }
        Ok(())
    }

    fn search(&self, versions: &[GuardedVersion]) -> anyhow::Result<ExitCode> {
        let last = versions.len() - 1;
        let mut search = VersionSearch::new(versions);
        for at in [0, last] {
            match self.measure(versions, at)? {
                SearchOutcome::Complete(measured) => search.take(at, *measured),
                SearchOutcome::Aborted(code) => return Ok(code),
            }
        }
        let whole = search.beside_first(last, &self.wanted);
        let whole = whole.map_err(|error| search.not_compared(error))?;
        let target = RegressionCriterion::worst(&whole);
        search.tried[last].beside_first = Some(whole.clone());
        let Some(target) = target else {
            search.tried[last].seen = VersionState::NotWorse;
            let found = RegressionSearch::new(search.tried, None, [0, last], whole, None);
            self.show(&found)?;
            compare::require_power(self.args.detect, &found.step)?;
            return Ok(ExitReason::Success.into());
        };
        search.tried[last].seen = VersionState::Worse;
        let mut bisection = Bisection::new(versions.len());
        while let Some(at) = bisection.next() {
            match self.measure(versions, at) {
                Ok(SearchOutcome::Complete(measured)) => {
                    search.take(at, *measured);
                    search.judge(at, &target, &self.wanted);
                }
                Ok(SearchOutcome::Aborted(code)) => return Ok(code),
                Err(error) if self.stop.load(Ordering::SeqCst) => return Err(error),
                Err(error) => search.skip(at, exit::error_chain(&error)),
            }
            bisection.record(at, search.tried[at].seen);
            if let Some(why) = &search.tried[at].skip_reason {
                let name = line(&versions[at].name);
                self.progress.note(&format!("{name} is skipped: {}", line(why)));
            }
        }
        let found = self.found(search, target, &bisection)?;
        self.show(&found)?;
        Ok(ExitReason::SomeFailed.into())
    }

    /// Runs a version on this machine or with a scheduler.
    fn measure(&self, versions: &[GuardedVersion], at: usize) -> anyhow::Result<SearchOutcome> {
        let GuardedVersion { name, run } = &versions[at];
        let mut named = run.clone();
        named.settings.name.get_or_insert_with(|| name.clone());
        self.progress.note(&format!("version {} of {}: {}", at + 1, versions.len(), line(name)));
        if run.engine.on.is_some() {
            return self.measure_elsewhere(&named, at);
        }
        match run::campaign(&named, 0, self.globals, self.stop)? {
            RunOutcome::Planned(code) => Ok(SearchOutcome::Aborted(code)),
            RunOutcome::Campaign { ended: Ok(CampaignEnd::Complete), id, store } => {
                measured(&store, id)
            }
            RunOutcome::Campaign { ended, id, store } => {
                let code = run::finish(ended, id, &store, false, self.globals)?;
                print_note(
                    "to resume, run the same guard command again; completed cells are not repeated",
                );
                Ok(SearchOutcome::Aborted(code))
            }
        }
    }

    fn measure_elsewhere(&self, run: &RunArgs, at: usize) -> anyhow::Result<SearchOutcome> {
        let (engine, directory) = run::elsewhere(run, self.stop)?;
        // Each version has a separate directory, which the same guard finds again.
        let directory = directory.join((at + 1).to_string());
        let (globals, progress, stop) = (self.globals, &self.progress, self.stop);
        let batch = plan_command::make_once(run, &directory, globals, progress, stop)?;
        match collect::followed(&batch, engine, globals, progress, stop)? {
            CollectEnd::Complete(store, id) => measured(&store, id),
            CollectEnd::Incomplete(code) => Ok(SearchOutcome::Aborted(code)),
        }
    }

    /// Combines the results with an explanation.
    fn found(
        &self,
        search: VersionSearch<'_>,
        target: RegressionCriterion,
        bisection: &Bisection,
    ) -> anyhow::Result<RegressionSearch> {
        let between = bisection.bounds();
        let sides = between.map(|at| search.side(at));
        let names = between.map(|at| search.versions[at].name.as_str());
        let step = compare_versions(sides[0], sides[1], &self.wanted).map_err(compare::refused)?;
        let none = CpuProfile::default();
        let mut explanation = explain_step(&target, sides, names, [&none; 2]);
        if explanation.as_ref().is_some_and(is_cpu_bound) {
            self.progress.note("running both once more, with the processor sampled");
            let mut profiles = [none.clone(), none];
            for (at, profile) in between.iter().zip(&mut profiles) {
                *profile = self.profile(&search, *at, &target)?;
            }
            explanation = explain_step(&target, sides, names, profiles.each_ref());
        }
        Ok(RegressionSearch::new(search.tried, Some(target), between, step, explanation))
    }

    /// Samples the processor in the phase of a version. Returns an empty profile if the kernel does
    /// not report samples, or if cells run elsewhere.
    fn profile(
        &self,
        search: &VersionSearch<'_>,
        at: usize,
        target: &RegressionCriterion,
    ) -> anyhow::Result<CpuProfile> {
        let (side, contender) = search.side(at);
        let (results, run) = (side.results, &search.versions[at].run);
        let Some(cell) = first_cell(results, contender, target) else {
            return Ok(CpuProfile::default());
        };
        let mut silent = |_: &str| {};
        let catalog = paths::catalog(self.globals)?;
        let (build, campaign) = (&run.execution.build, &results.campaign);
        let guest = guest::obtain_again(&catalog, build, campaign, self.stop, &mut silent)?;
        let phases = || cell.result.iter().flat_map(|result| &result.phases);
        let took = phases().find(|phase| phase.phase == target.phase);
        let means = SamplingContext {
            guest: Arc::new(guest),
            cache: guest::cells(run.execution.no_cache, run.execution.cache_size, &mut silent),
            traces: &traces::directory(self.globals)?,
            sampling: explain::sampling(
                &target.phase,
                took.map_or(Nanos(0), |phase| phase.elapsed),
            ),
        };
        let asked = EraseConfirmation { progress: &self.progress, yes: false, stop: self.stop };
        let id = CampaignId(results.id);
        let again = cpu_sampling::rerun_with_sampling(
            id,
            campaign,
            &[&cell.cell],
            means,
            &asked,
            self.stop,
        )?;
        let phases = again.into_iter().flat_map(|cell| cell.phases);
        let phase = { phases }.find(|phase| phase.phase == target.phase);
        Ok(phase.and_then(|phase| phase.profile).unwrap_or_default())
    }

    fn show(&self, found: &RegressionSearch) -> anyhow::Result<()> {
        if self.globals.json {
            return Ok(print_json(&json!(found))?);
        }
        Ok(print_document(self.args.markdown, &first_worse_report(found))?)
    }
}

fn measured(store: &Store, id: CampaignId) -> anyhow::Result<SearchOutcome> {
    let results = store.load(id)?;
    if results.campaign.clock != Clock::Virtual {
        return Err(UsageError("a list of versions is searched in virtual time".to_owned()).into());
    }
    let analysis = analyse(&results);
    Ok(SearchOutcome::Complete(Box::new(MeasuredVersion { results, analysis })))
}

impl MeasuredVersion {
    /// The campaign and its contender, which may be followed by a baseline.
    fn side(&self) -> (AnalysedCampaign<'_>, &str) {
        let contender = &self.results.campaign.contenders[0].name;
        (AnalysedCampaign::new(&self.results, &self.analysis), contender)
    }

    /// Returns the reason if the version has no result to compare.
    fn failure(&self) -> Option<String> {
        let (_, contender) = self.side();
        let mut failures = self.analysis.failures.iter();
        let failed = failures.find(|failure| failure.contender == contender)?;
        Some(format!("{}: {}", line(&failed.test), line(&failed.reason)))
    }
}

impl<'a> VersionSearch<'a> {
    fn new(versions: &'a [GuardedVersion]) -> Self {
        let tried = |version: &GuardedVersion| TestedVersion {
            name: version.name.clone(),
            campaign: None,
            seen: VersionState::NotRun,
            skip_reason: None,
            beside_first: None,
        };
        Self {
            versions,
            measured: versions.iter().map(|_| None).collect(),
            tried: versions.iter().map(tried).collect(),
        }
    }

    fn take(&mut self, at: usize, measured: MeasuredVersion) {
        self.tried[at].campaign = Some(measured.results.id);
        self.tried[at].seen = VersionState::NotWorse;
        self.measured[at] = Some(measured);
    }

    fn skip(&mut self, at: usize, why: String) {
        self.tried[at].seen = VersionState::Skipped;
        self.tried[at].skip_reason = Some(why);
    }

    fn side(&self, at: usize) -> (AnalysedCampaign<'_>, &str) {
        let measured = self.measured[at].as_ref();
        measured.expect("only what was run is compared").side()
    }

    fn beside_first(
        &self,
        at: usize,
        wanted: &CompareFilter,
    ) -> Result<CampaignComparison, IncomparableCampaigns> {
        compare_versions(self.side(0), self.side(at), wanted)
    }

    /// Evaluates if a version that was run is worse than the first.
    fn judge(&mut self, at: usize, target: &RegressionCriterion, wanted: &CompareFilter) {
        let found = self.beside_first(at, wanted);
        let seen = found.as_ref().map_or(VersionState::Skipped, |found| target.seen(found));
        self.tried[at].seen = seen;
        if seen == VersionState::Skipped {
            let failure = self.measured[at].as_ref().and_then(MeasuredVersion::failure);
            let none = || format!("it has no result of {}/{}", target.test, target.phase);
            self.skip(at, failure.unwrap_or_else(none));
        }
        self.tried[at].beside_first = found.ok();
    }

    /// Returns the error if the first and the last version cannot be compared.
    fn not_compared(&self, error: IncomparableCampaigns) -> anyhow::Error {
        let failed = self.measured[0].as_ref().and_then(MeasuredVersion::failure);
        match (error, failed) {
            (IncomparableCampaigns::NoCommonResults, Some(why)) => EnvironmentError(format!(
                "nothing can be compared with the first version, {}, since it failed in {why}",
                line(&self.versions[0].name)
            ))
            .into(),
            (error, _) => compare::refused(error),
        }
    }
}
