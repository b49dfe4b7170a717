//! `fsarena guard` over a list of versions: each is a campaign in virtual time, and of the list only as many are run as it
//! takes to find the first that is worse.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use analyse::{
    Analysed, Analysis, Bisection, CannotCompare, Differences, FirstWorse, Margin, Seen, Target,
    Tried, Wanted, analyse, cell_of, compare_versions, explain_step, is_of_the_processor,
};
use model::{CampaignResults, Clock, CpuProfile, Nanos};
use orchestrate::Ended;
use report::first_worse_text;
use serde_json::json;
use store::{CampaignId, Store};

use crate::arguments::cli::Globals;
use crate::arguments::compare_args::GuardArgs;
use crate::arguments::run_args::RunArgs;
use crate::commands::collect::{self, Followed};
use crate::commands::run::{self, Ran};
use crate::commands::{compare, explain, guest, plan as plan_command};
use crate::output::erase_question::Asked;
use crate::output::exit::{self, BadInput, Code, Refused};
use crate::output::progress::Progress;
use crate::output::text::{line, print_in, print_json, remark};
use crate::request::read;
use crate::request::versions::{self, Version};
use crate::sampled::{self, Means};
use crate::{paths, traces};

/// What came of a version that was run.
struct Measured {
    results: CampaignResults,
    analysis: Analysis,
}

/// How running a version ended.
enum Outcome {
    /// It is known.
    Whole(Box<Measured>),
    /// Nothing more is to be done: a plan was asked for, or the user stopped it.
    Over(ExitCode),
}

/// Looks for the first version that is worse; ends with 1 where there is one.
pub fn run(
    args: &GuardArgs,
    contenders: &[String],
    run: &RunArgs,
    globals: &Globals,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<ExitCode> {
    let versions = versions::versions(contenders, &args.over, run, stop)?;
    let guard = Guard {
        args,
        contenders,
        globals,
        stop,
        progress: Progress::choose(globals.json, globals.quiet),
        wanted: Wanted {
            results: args.only.clone(),
            margin: Margin(args.threshold),
            ..Wanted::default()
        },
    };
    if run.engine.on.is_some() {
        run::elsewhere(run)?;
    }
    guard.require_contenders(&versions)?;
    guard.search(&versions)
}

struct Guard<'a> {
    args: &'a GuardArgs,
    contenders: &'a [String],
    globals: &'a Globals,
    stop: &'a Arc<AtomicBool>,
    progress: Progress,
    wanted: Wanted,
}

/// Versions, and what came of those that were run.
struct Search<'a> {
    versions: &'a [Version],
    measured: Vec<Option<Measured>>,
    tried: Vec<Tried>,
}

impl Guard<'_> {
    /// All contenders are looked at before the first is run, for the last one counts, too.
    fn require_contenders(&self, versions: &[Version]) -> anyhow::Result<()> {
        if !self.args.over.is_empty() {
            return Ok(());
        }
        let all = RunArgs {
            contenders: self.contenders.to_vec(),
            ..versions[0].run.clone()
        };
        let catalog = paths::catalog(self.globals)?;
        let reach = paths::reach(None)?;
        let silent = Progress::choose(false, true);
        read::read(&all, self.globals, &catalog, &*reach, &silent, self.stop).map(drop)
    }

    fn search(&self, versions: &[Version]) -> anyhow::Result<ExitCode> {
        let last = versions.len() - 1;
        let mut search = Search::new(versions);
        for at in [0, last] {
            match self.measure(versions, at)? {
                Outcome::Whole(measured) => search.take(at, *measured),
                Outcome::Over(code) => return Ok(code),
            }
        }
        let whole = search.beside_first(last, &self.wanted);
        let whole = whole.map_err(|error| search.not_compared(error))?;
        let target = Target::worst(&whole);
        search.tried[last].beside_first = Some(whole.clone());
        let Some(target) = target else {
            search.tried[last].seen = Seen::NotWorse;
            let found = FirstWorse::new(search.tried, None, [0, last], whole, None);
            self.show(&found)?;
            compare::require_sight(self.args.detect, &found.step)?;
            return Ok(Code::Done.into());
        };
        search.tried[last].seen = Seen::Worse;
        let mut bisection = Bisection::new(versions.len());
        while let Some(at) = bisection.next() {
            match self.measure(versions, at) {
                Ok(Outcome::Whole(measured)) => {
                    search.take(at, *measured);
                    search.judge(at, &target, &self.wanted);
                }
                Ok(Outcome::Over(code)) => return Ok(code),
                Err(error) if self.stop.load(Ordering::SeqCst) => return Err(error),
                Err(error) => search.skip(at, exit::whole(&error)),
            }
            bisection.tell(at, search.tried[at].seen);
            if let Some(why) = &search.tried[at].why {
                let name = line(&versions[at].name);
                self.progress
                    .note(&format!("{name} is skipped: {}", line(why)));
            }
        }
        let found = self.found(search, target, &bisection)?;
        self.show(&found)?;
        Ok(Code::NotAllOk.into())
    }

    /// Runs a version, on this machine or on the nodes of a scheduler.
    fn measure(&self, versions: &[Version], at: usize) -> anyhow::Result<Outcome> {
        let Version { name, run } = &versions[at];
        let named = RunArgs {
            name: run.name.clone().or_else(|| Some(name.clone())),
            ..run.clone()
        };
        self.progress.note(&format!(
            "version {} of {}: {}",
            at + 1,
            versions.len(),
            line(name)
        ));
        if run.engine.on.is_some() {
            return self.measure_elsewhere(&named, at);
        }
        match run::campaign(&named, 0, self.globals, self.stop)? {
            Ran::Planned(code) => Ok(Outcome::Over(code)),
            Ran::Campaign {
                ended: Ok(Ended::Complete),
                id,
                store,
            } => measured(&store, id),
            Ran::Campaign { ended, id, store } => {
                let code = run::finish(ended, id, &store, false, self.globals)?;
                remark("the same guard again goes on: what was run is not run again");
                Ok(Outcome::Over(code))
            }
        }
    }

    fn measure_elsewhere(&self, run: &RunArgs, at: usize) -> anyhow::Result<Outcome> {
        let (engine, directory) = run::elsewhere(run)?;
        // Each version has its own, which the same guard finds again.
        let directory = directory.join((at + 1).to_string());
        let (globals, progress, stop) = (self.globals, &self.progress, self.stop);
        let batch = plan_command::make_once(run, &directory, globals, progress, stop)?;
        match collect::followed(&batch, engine, globals, progress, stop)? {
            Followed::Complete(store, id) => measured(&store, id),
            Followed::Left(code) => Ok(Outcome::Over(code)),
        }
    }

    /// Puts together what was found, with what explains it.
    fn found(
        &self,
        search: Search<'_>,
        target: Target,
        bisection: &Bisection,
    ) -> anyhow::Result<FirstWorse> {
        let between = bisection.between();
        let sides = between.map(|at| search.side(at));
        let names = between.map(|at| search.versions[at].name.as_str());
        let step = compare_versions(sides[0], sides[1], &self.wanted).map_err(compare::refused)?;
        let none = CpuProfile::default();
        let mut explanation = explain_step(&target, sides, names, [&none; 2]);
        if explanation.as_ref().is_some_and(is_of_the_processor) {
            self.progress
                .note("running both once more, with the processor sampled");
            let mut profiles = [none.clone(), none];
            for (at, profile) in between.iter().zip(&mut profiles) {
                *profile = self.profile(&search, *at, &target)?;
            }
            explanation = explain_step(&target, sides, names, profiles.each_ref());
        }
        Ok(FirstWorse::new(
            search.tried,
            Some(target),
            between,
            step,
            explanation,
        ))
    }

    /// Where the processor was in the phase of a version; empty where the kernel does not say, or cells run elsewhere.
    fn profile(
        &self,
        search: &Search<'_>,
        at: usize,
        target: &Target,
    ) -> anyhow::Result<CpuProfile> {
        let (side, contender) = search.side(at);
        let (results, run) = (side.results, &search.versions[at].run);
        let Some(cell) = cell_of(results, contender, target) else {
            return Ok(CpuProfile::default());
        };
        let mut silent = |_: &str| {};
        let catalog = paths::catalog(self.globals)?;
        let (build, campaign) = (&run.machine.build, &results.campaign);
        let guest = guest::obtain_again(&catalog, build, campaign, self.stop, &mut silent)?;
        let phases = || cell.result.iter().flat_map(|result| &result.phases);
        let took = phases().find(|phase| phase.phase == target.phase);
        let means = Means {
            guest: Arc::new(guest),
            cache: guest::cells(run.machine.no_cache, &mut silent),
            traces: &traces::directory(self.globals)?,
            sampling: explain::sampling(&target.phase, took.map_or(Nanos(0), |phase| phase.wall)),
        };
        let asked = Asked {
            progress: &self.progress,
            yes: false,
            stop: self.stop,
        };
        let id = CampaignId(results.id);
        let again = sampled::again(id, campaign, &[&cell.cell], means, &asked, self.stop)?;
        let phases = again.into_iter().flat_map(|cell| cell.phases);
        let phase = { phases }.find(|phase| phase.phase == target.phase);
        Ok(phase.and_then(|phase| phase.profile).unwrap_or_default())
    }

    fn show(&self, found: &FirstWorse) -> anyhow::Result<()> {
        if self.globals.json {
            return Ok(print_json(&json!(found))?);
        }
        Ok(print_in(self.args.markdown, |form| {
            first_worse_text(found, form)
        })?)
    }
}

fn measured(store: &Store, id: CampaignId) -> anyhow::Result<Outcome> {
    let results = store.load(id)?;
    if results.campaign.clock != Clock::Virtual {
        return Err(BadInput("a list of versions is searched in virtual time".to_owned()).into());
    }
    let analysis = analyse(&results);
    Ok(Outcome::Whole(Box::new(Measured { results, analysis })))
}

impl Measured {
    /// The campaign with its contender; a baseline may stand behind that.
    fn side(&self) -> (Analysed<'_>, &str) {
        let contender = &self.results.campaign.contenders[0].name;
        (Analysed::new(&self.results, &self.analysis), contender)
    }

    /// Why it has no result to compare.
    fn failure(&self) -> Option<String> {
        let (_, contender) = self.side();
        let mut failures = self.analysis.failures.iter();
        let failed = failures.find(|failure| failure.contender == contender)?;
        Some(format!("{}: {}", line(&failed.test), line(&failed.reason)))
    }
}

impl<'a> Search<'a> {
    fn new(versions: &'a [Version]) -> Self {
        let tried = |version: &Version| Tried {
            name: version.name.clone(),
            campaign: None,
            seen: Seen::NotRun,
            why: None,
            beside_first: None,
        };
        Self {
            versions,
            measured: versions.iter().map(|_| None).collect(),
            tried: versions.iter().map(tried).collect(),
        }
    }

    fn take(&mut self, at: usize, measured: Measured) {
        self.tried[at].campaign = Some(measured.results.id);
        self.tried[at].seen = Seen::NotWorse;
        self.measured[at] = Some(measured);
    }

    fn skip(&mut self, at: usize, why: String) {
        self.tried[at].seen = Seen::Skipped;
        self.tried[at].why = Some(why);
    }

    fn side(&self, at: usize) -> (Analysed<'_>, &str) {
        let measured = self.measured[at].as_ref();
        measured.expect("only what was run is compared").side()
    }

    fn beside_first(&self, at: usize, wanted: &Wanted) -> Result<Differences, CannotCompare> {
        compare_versions(self.side(0), self.side(at), wanted)
    }

    /// Whether a version that was run is worse than the first.
    fn judge(&mut self, at: usize, target: &Target, wanted: &Wanted) {
        let found = self.beside_first(at, wanted);
        let seen = found
            .as_ref()
            .map_or(Seen::Skipped, |found| target.seen(found));
        self.tried[at].seen = seen;
        if seen == Seen::Skipped {
            let failure = self.measured[at].as_ref().and_then(Measured::failure);
            let none = || format!("it has no result of {}/{}", target.test, target.phase);
            self.skip(at, failure.unwrap_or_else(none));
        }
        self.tried[at].beside_first = found.ok();
    }

    /// Why the ends of the list cannot be compared.
    fn not_compared(&self, error: CannotCompare) -> anyhow::Error {
        let failed = self.measured[0].as_ref().and_then(Measured::failure);
        match (error, failed) {
            (CannotCompare::NothingInCommon, Some(why)) => Refused(format!(
                "nothing can be compared with the first version, {}, since it failed in {why}",
                line(&self.versions[0].name)
            ))
            .into(),
            (error, _) => compare::refused(error),
        }
    }
}
