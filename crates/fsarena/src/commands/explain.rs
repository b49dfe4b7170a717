//! `fsarena explain`: shows the causes of the difference between two contenders in one phase.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use campaign::run::StopFlag;
use campaign::store::{CampaignId, Store};
use model::{
    Campaign, CampaignResults, CellRecord, CellResult, Clock, CpuProfile, Nanos, PhaseResult,
    Sampling, Status,
};
use report::{difference_flame_graph, explanation_report};
use serde_json::{Value, json};
use stats::{Analysis, ExplainedSide, Explanation, disk_of_each, explain};

use crate::args::cli::GlobalArgs;
use crate::args::disk_args::ExplainArgs;
use crate::commands::guest as guest_command;
use crate::cpu_sampling::{self, SamplingContext};
use crate::output::erase_question::EraseConfirmation;
use crate::output::exit::{EnvironmentError, ExitReason, UsageError};
use crate::output::progress::ProgressDisplay;
use crate::output::text::{document_text, line, print, print_json};
use crate::output::{disk_map, output_file};
use crate::request_logs::{self, Journal};
use crate::settings::select_campaign::{self, NO_CAMPAIGN};
use crate::{paths, stop, traces};

/// Minimum time between two samples. A sample itself takes the guest 4 µs.
const SHORTEST_PERIOD: Nanos = Nanos(20_000);
/// Number of samples that can distinguish a function that uses 0.1 % of the time from one that uses
/// none. More samples would slow down a long phase.
const SAMPLES: u64 = 50_000;

/// Maximum relative difference between the duration of a sampled run and of the measured one.
/// Beyond it, the sampled run did different work.
const SAMPLING_SHIFT_LIMIT: f64 = 0.3;

/// Contenders and phase to explain.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ContestQuestion {
    campaign: Option<String>,
    test: String,
    phase: String,
    contenders: [String; 2],
}

/// Results of one of the two contenders in the campaign.
struct ExplainSide<'a> {
    cell: &'a CellRecord,
    phase: &'a PhaseResult,
    journal: Option<Journal>,
}

/// Explains the difference, and writes the pictures.
pub fn run(args: &ExplainArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let question = question(&args.args)?;
    let stop = stop::install_handlers()?;
    let progress = ProgressDisplay::choose(globals.json, globals.quiet);
    let campaign = question.campaign.as_deref();
    let selected = select_campaign::select(campaign, globals).map_err(with_command)?;
    let (results, store) = selected.in_database()?;
    let id = CampaignId(results.id);
    require_virtual(id, &results.campaign)?;
    let contests = contests(&results, &question)?;
    let sides = contests.iter();
    let sides = sides.map(|contest| sides_of(&store, &results, contest));
    let sides: Vec<[ExplainSide<'_>; 2]> = sides.collect::<Result<_, _>>()?;
    // Fail early: the guests run for half a minute.
    if let Some(directory) = &args.output {
        let made = fs::create_dir_all(directory);
        made.with_context(|| format!("cannot make the directory {}", directory.display()))?;
    }
    let asked = EraseConfirmation { progress: &progress, yes: false, stop: &stop };
    let analysis = stats::analyse(&results);
    let mut told = Vec::new();
    for (number, (contest, sides)) in contests.iter().zip(&sides).enumerate() {
        let sampled = sampled(id, &results.campaign, sides, args, globals, &asked, &stop)?;
        let again = again(sides, &sampled)?;
        let explained = explained(id, contest, sides, &again, args, globals)?;
        let caveats = caveats(&analysis, contest);
        match globals.json {
            true => told.push(explained.in_full(id, sides, &again, &caveats)),
            false => {
                let gap = if number == 0 { "" } else { "\n" };
                let text = explained.text(id, sides, &again);
                print(&format!("{gap}{}{text}", caveats.concat()))?;
            }
        }
    }
    match &told[..] {
        [] => {}
        [one] => print_json(one)?,
        several => print_json(&json!(several))?,
    }
    Ok(ExitReason::Success.into())
}

/// Returns one line for each contender whose syncs never reach the disk, so that it does less work
/// than the phase requires.
fn caveats(analysis: &Analysis, contest: &ContestQuestion) -> Vec<String> {
    let rows = analysis.rows.iter();
    let of_phase = rows.filter(|row| row.test == contest.test && row.phase == contest.phase);
    let results: Vec<_> = of_phase.flat_map(|row| &row.results).collect();
    let is_apart = |name: &&String| {
        let mut own = results.iter().filter(|result| result.contender == **name);
        own.any(|result| result.not_durable)
    };
    let apart = contest.contenders.iter().filter(is_apart);
    apart.map(|name| format!("{}\n", report::less_work(name))).collect()
}

/// Explanation of two contenders in one phase.
struct Explained {
    explanation: Explanation,
    pictures: Vec<PathBuf>,
}

impl Explained {
    fn text(
        &self,
        id: CampaignId,
        sides: &[ExplainSide<'_>; 2],
        again: &[(&PhaseResult, &CpuProfile); 2],
    ) -> String {
        let pictures = self.pictures.iter();
        let pictures = pictures.map(|path| format!("{}\n", line(&path.display().to_string())));
        format!(
            "{}\n{}{}",
            document_text(&explanation_report(&self.explanation)),
            notes(id, sides, again),
            pictures.collect::<String>()
        )
    }

    fn in_full(
        &self,
        id: CampaignId,
        sides: &[ExplainSide<'_>; 2],
        again: &[(&PhaseResult, &CpuProfile); 2],
        caveats: &[String],
    ) -> Value {
        let pictures = self.pictures.iter();
        let pictures: Vec<_> = pictures.map(|path| path.display().to_string()).collect();
        json!({
            "campaign": id.0,
            "round": sides[0].cell.cell.round,
            "explanation": self.explanation,
            "sampled_ns": again.map(|(result, _)| result.elapsed),
            "pictures": pictures,
            "caveats": caveats.iter().map(|line| line.trim_end()).collect::<Vec<_>>(),
        })
    }
}

/// Analyses the difference, and draws the pictures.
fn explained(
    id: CampaignId,
    question: &ContestQuestion,
    sides: &[ExplainSide<'_>; 2],
    again: &[(&PhaseResult, &CpuProfile); 2],
    args: &ExplainArgs,
    globals: &GlobalArgs,
) -> anyhow::Result<Explained> {
    let result = format!("{}/{}", question.test, question.phase);
    let contested: [ExplainedSide<'_>; 2] = std::array::from_fn(|side| ExplainedSide {
        name: &question.contenders[side],
        result: sides[side].phase,
        profile: again[side].1,
        forced: forced(sides[side].journal.as_ref()),
    });
    let explanation = explain(&result, contested);
    let directory = match &args.output {
        Some(directory) => directory.clone(),
        None => paths::reports(globals)?.path().to_owned(),
    };
    let stem = format!("explain-{id}-{}-{}", question.test, question.phase);
    let beginning = directory.join(file_name(&stem));
    let pictures = draw(&explanation, again, sides, &beginning)?;
    Ok(Explained { explanation, pictures })
}

/// Parses `[CAMPAIGN] TEST/PHASE A B`.
fn question(words: &[String]) -> Result<ContestQuestion, UsageError> {
    let (campaign, [result, one, other]) = match words {
        [campaign, result, one, other] => (Some(campaign.clone()), [result, one, other]),
        [result, one, other] => (None, [result, one, other]),
        _ => {
            return Err(UsageError(
                "name a result and two filesystems, as in `fsarena explain tree/list xfs ext4`"
                    .to_owned(),
            ));
        }
    };
    if one == other {
        return Err(UsageError(format!("`{}` twice: name two filesystems", line(one))));
    }
    let (test, phase) = result.split_once('/').ok_or_else(|| {
        UsageError(format!("`{}` is no result: TEST/PHASE as in `fsarena report`", line(result)))
    })?;
    Ok(ContestQuestion {
        campaign,
        test: test.to_owned(),
        phase: phase.to_owned(),
        contenders: [one.clone(), other.clone()],
    })
}

/// Command for a campaign that can be explained.
const MAKES_ONE: &str = "`fsarena run --backend vm --disk hdd-2003-7200 -s SUITE -c A -c B` makes one that can be explained";

/// Adds the command that makes a campaign to the error for an empty database.
fn with_command(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<UsageError>() {
        Some(UsageError(text)) if text.starts_with(NO_CAMPAIGN) => {
            UsageError(format!("{text}; {MAKES_ONE}")).into()
        }
        _ => error,
    }
}

/// Returns an error if the campaign is not in virtual time. Only in virtual time does a sampled
/// cell do the same work as the measured one.
fn require_virtual(id: CampaignId, campaign: &Campaign) -> Result<(), UsageError> {
    match (&campaign.guest, campaign.clock) {
        (Some(_), Clock::Virtual) => Ok(()),
        _ => Err(UsageError(format!("campaign {id} is not in virtual time: {MAKES_ONE}"))),
    }
}

/// Expands a question into one question per pair of contenders. In a campaign with several disks,
/// bare filesystem names expand to each disk that has both contenders.
fn contests(
    results: &CampaignResults,
    question: &ContestQuestion,
) -> Result<Vec<ContestQuestion>, UsageError> {
    let named = results.campaign.contenders.iter().map(|c| c.name.as_str());
    let named: Vec<&str> = named.collect();
    let is_known = |word: &String| named.contains(&word.as_str());
    if question.contenders.iter().all(is_known) {
        return Ok(vec![question.clone()]);
    }
    let on_disks = disk_of_each(results);
    let is_bare = |word: &String| on_disks.iter().any(|(_, bare)| bare == word);
    let mut words = question.contenders.iter();
    if let Some(unknown) = words.find(|word| !is_known(word) && !is_bare(word)) {
        let known = &mut named.iter().copied();
        return Err(unknown_name(results.id, "contender", unknown, known));
    }
    let pairs = on_each_disk(&on_disks, &named, question);
    match pairs.is_empty() {
        false => Ok(pairs),
        true => {
            let [one, other] = question.contenders.each_ref().map(|word| line(word));
            let names: Vec<String> = named.iter().map(|name| line(name)).collect();
            Err(UsageError(format!(
                "no disk of campaign {} has both `{one}` and `{other}`; its contenders are {}",
                results.id,
                names.join(", ")
            )))
        }
    }
}

/// Returns one question per disk that has both contenders. A contender matches by its full name or
/// by its name without the disk. `on_disks` contains the disk and short name of each contender,
/// `names` the full name.
fn on_each_disk(
    on_disks: &[(Option<String>, String)],
    names: &[&str],
    question: &ContestQuestion,
) -> Vec<ContestQuestion> {
    let all = || on_disks.iter().zip(names);
    let mut disks: Vec<&str> = Vec::new();
    for disk in all().filter_map(|((disk, _), _)| disk.as_deref()) {
        if !disks.contains(&disk) {
            disks.push(disk);
        }
    }
    let on = |disk: &str, word: &str| {
        let mut there = all().filter(|((on, _), _)| on.as_deref() == Some(disk));
        let (_, name) = there.find(|((_, bare), name)| bare == word || **name == word)?;
        Some((*name).to_owned())
    };
    let [one, other] = &question.contenders;
    let pairs = disks.into_iter().filter_map(|disk| {
        Some(ContestQuestion { contenders: [on(disk, one)?, on(disk, other)?], ..question.clone() })
    });
    pairs.collect()
}

/// Returns the error for a name that is not in the campaign.
fn unknown_name(
    id: i64,
    kind: &str,
    name: &str,
    known: &mut dyn Iterator<Item = &str>,
) -> UsageError {
    let hint = config::did_you_mean(name, known);
    let hint = hint.unwrap_or_else(|| format!("`fsarena report {id}` has all"));
    let name = line(name);
    UsageError(format!("campaign {id} has no {kind} `{name}`; {hint}"))
}

/// Returns the phase of both contenders, each in the first round of the campaign.
fn sides_of<'a>(
    store: &Store,
    results: &'a CampaignResults,
    question: &ContestQuestion,
) -> anyhow::Result<[ExplainSide<'a>; 2]> {
    let [one, other] = &question.contenders;
    Ok([side(store, results, question, one)?, side(store, results, question, other)?])
}

fn side<'a>(
    store: &Store,
    results: &'a CampaignResults,
    question: &ContestQuestion,
    contender: &str,
) -> anyhow::Result<ExplainSide<'a>> {
    let cells = || results.cells.iter();
    let none = |kind: &str, name: &str, known: &mut dyn Iterator<Item = &str>| {
        unknown_name(results.id, kind, name, known)
    };
    let test = &question.test;
    let of_test =
        cells().filter(|cell| cell.cell.contender == contender && cell.cell.test == *test);
    let cell = of_test.min_by_key(|cell| cell.cell.round).ok_or_else(|| {
        let known: BTreeSet<&str> = cells().map(|cell| cell.cell.test.as_str()).collect();
        none("test", test, &mut known.into_iter())
    })?;
    let phases = cell.result.as_ref().map_or(&[][..], |r| &r.phases);
    let found = phases.iter().find(|found| found.phase == question.phase);
    let phase = found.ok_or_else(|| match phases.is_empty() {
        true => UsageError(format!(
            "cell {} of campaign {} has no result yet",
            cell.cell.id.0, results.id
        )),
        false => {
            let mut known = phases.iter().map(|phase| phase.phase.as_str());
            none(&format!("phase of {}", line(test)), &question.phase, &mut known)
        }
    })?;
    require_ok(phase, contender)?;
    if phase.elapsed == Nanos(0) {
        let (test, phase) = (line(test), line(&phase.phase));
        let why = format!("{test}/{phase} is not timed: name a phase that takes time");
        return Err(UsageError(why).into());
    }
    let journal = match phase.disk {
        Some(_) => Some(request_logs::load_cell(store, results, cell)?),
        None => None,
    };
    // A phase may not use the disk.
    let journal = journal.and_then(|journal| journal.for_phase(&phase.phase).ok());
    // Mounts and checks belong to the phase, but are not timed.
    let journal = journal.map(Journal::timed_only);
    Ok(ExplainSide { cell, phase, journal })
}

fn require_ok(phase: &PhaseResult, contender: &str) -> Result<(), UsageError> {
    match phase.status {
        Status::Ok => Ok(()),
        status => Err(UsageError(format!(
            "cannot explain {} of {}: it is {status}; see `fsarena report` for the reason",
            line(&phase.phase),
            line(contender)
        ))),
    }
}

/// Counts writes that had to reach the medium before they completed.
fn forced(journal: Option<&Journal>) -> u64 {
    let entries = journal.into_iter().flat_map(|journal| &journal.entries);
    let forced = entries.filter(|(_, entry)| entry.served.request.forced);
    forced.count() as u64
}

/// Returns the sampling parameters for a phase of this duration.
pub fn sampling(phase: &str, longest: Nanos) -> Sampling {
    Sampling {
        period: SHORTEST_PERIOD.max(Nanos(longest.0 / SAMPLES)),
        phase: Some(phase.to_owned()),
    }
}

/// Runs both cells again with sampling.
fn sampled(
    id: CampaignId,
    campaign: &Campaign,
    sides: &[ExplainSide<'_>; 2],
    args: &ExplainArgs,
    globals: &GlobalArgs,
    asked: &EraseConfirmation<'_>,
    stop: &StopFlag,
) -> anyhow::Result<Vec<CellResult>> {
    let mut note = |text: &str| asked.progress.note(text);
    // JSON output is a single value, without a preceding line.
    if !globals.json {
        note("running both once more in guests, with the processor sampled");
    }
    let catalog = paths::catalog(globals)?;
    let guest = guest_command::obtain_again(&catalog, &args.build, campaign, stop, &mut note)?;
    let longest = sides[0].phase.elapsed.max(sides[1].phase.elapsed);
    let kept = traces::directory(globals)?;
    let means = SamplingContext {
        guest: Arc::new(guest),
        cache: guest_command::cells(args.no_cache, args.cache_size, &mut note),
        traces: &kept,
        sampling: sampling(&sides[0].phase.phase, longest),
    };
    let cells = sides.each_ref().map(|side| &side.cell.cell);
    cpu_sampling::rerun_with_sampling(id, campaign, &cells, means, asked, stop)
}

/// Returns the phase of both sampled cells, with the profile.
fn again<'a>(
    sides: &[ExplainSide<'_>; 2],
    sampled: &'a [CellResult],
) -> anyhow::Result<[(&'a PhaseResult, &'a CpuProfile); 2]> {
    let of = |side: usize| {
        let (wanted, contender) = (&sides[side].phase.phase, &sides[side].cell.cell.contender);
        let phases = sampled.get(side).into_iter().flat_map(|cell| &cell.phases);
        let phase = { phases }.find(|phase| phase.phase == *wanted);
        let phase = phase.context("the phase was not run again")?;
        require_ok(phase, contender)?;
        let profile = phase.profile.as_ref().ok_or_else(|| {
            EnvironmentError(format!(
                "the kernel of the guest does not sample its processor for {}: it needs CONFIG_PERF_EVENTS",
                line(contender)
            ))
        })?;
        anyhow::Ok((phase, profile))
    };
    Ok([of(0)?, of(1)?])
}

/// Returns a file name of letters, digits and `-`.
fn file_name(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    text.chars().map(plain).collect()
}

/// Writes the pictures, whose names share a prefix.
fn draw(
    explanation: &Explanation,
    again: &[(&PhaseResult, &CpuProfile); 2],
    sides: &[ExplainSide<'_>; 2],
    beginning: &Path,
) -> anyhow::Result<Vec<PathBuf>> {
    let names = explanation.contenders.each_ref().map(String::as_str);
    let path =
        |what: &str| PathBuf::from(format!("{}-{}.svg", beginning.display(), file_name(what)));
    let title = format!("{}: CPU time, {} and {}", explanation.result, names[0], names[1]);
    let profiles = std::array::from_fn(|side| (again[side].1, explanation.processor[side]));
    let flames = difference_flame_graph(&title, names, profiles);
    let both = format!("{}-{}-cpu", names[0], names[1]);
    let mut pictures = vec![(path(&both), flames)];
    for (name, side) in names.iter().zip(sides) {
        if let Some(journal) = &side.journal {
            let title = format!("{name} · {}", explanation.result);
            pictures.push((path(&format!("{name}-map")), disk_map::svg(&title, journal)));
        }
    }
    for (path, picture) in &pictures {
        output_file::write(path, picture.as_bytes())?;
    }
    Ok(pictures.into_iter().map(|(path, _)| path).collect())
}

/// Returns the notes on the origin of the numbers.
fn notes(
    id: CampaignId,
    sides: &[ExplainSide<'_>; 2],
    again: &[(&PhaseResult, &CpuProfile); 2],
) -> String {
    let took = again.map(|(result, _)| result.elapsed);
    let shifted = (0..2).any(|side| {
        let (bare, sampled) = (sides[side].phase.elapsed.0, took[side].0);
        bare.abs_diff(sampled) as f64 > SAMPLING_SHIFT_LIMIT * bare as f64
    });
    let shifted = match shifted {
        true => {
            " Sampling changed the run time: use the functions only as a hint, and the times above as the measurement."
        }
        false => "",
    };
    format!(
        "Times and counts are those of round {} of campaign {id}. CPU is the time in which no request was in the disk. Which \
         functions spent it comes from a second run, whose processor was sampled; it took {} and {}.{shifted} Time with \
         interrupts disabled is attributed to the function that enables them again, such as _raw_spin_unlock_irqrestore.\n\n\
         A flame graph of CPU time and a map of the disk for each:\n",
        sides[0].cell.cell.round, took[0], took[1]
    )
}

#[cfg(test)]
mod tests {
    use stats::fixture::on_disks;

    use super::*;

    fn asked(words: &str) -> Result<ContestQuestion, String> {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        question(&words).map_err(|error| error.0)
    }

    #[test]
    fn error_without_campaign_names_the_command_for_one() {
        let none = with_command(UsageError(format!("{NO_CAMPAIGN}: there is none in x")).into());
        assert!(none.to_string().ends_with(MAKES_ONE), "{none}");
        let other = with_command(UsageError("no campaign 7".to_owned()).into());
        assert_eq!(other.to_string(), "no campaign 7");
    }

    #[test]
    fn campaign_may_come_first() {
        let first = asked("tree/within xfs ext4").unwrap();
        assert_eq!(
            (first.campaign, first.test.as_str(), first.phase.as_str()),
            (None, "tree", "within")
        );
        let second = asked("7 tree/within xfs ext4").unwrap();
        assert_eq!(
            (second.campaign, second.contenders),
            (Some("7".to_owned()), ["xfs", "ext4"].map(str::to_owned))
        );
        let named = asked("nightly tree/within xfs ext4").unwrap();
        assert_eq!(named.campaign.as_deref(), Some("nightly"));
        assert!(asked("within xfs ext4").is_err_and(|why| why.contains("TEST/PHASE")));
    }

    #[test]
    fn warns_about_syncs_that_never_reach_the_disk() {
        let mut analysis = stats::analyse(&stats::fixture::plain());
        let question = asked("file/write fast slow").unwrap();
        assert_eq!(caveats(&analysis, &question), [""; 0]);
        let row = analysis.rows.iter_mut().find(|row| row.phase == "write");
        let mut results = row.unwrap().results.iter_mut();
        results.find(|r| r.contender == "fast").unwrap().not_durable = true;
        let said = caveats(&analysis, &question);
        assert!(said.len() == 1 && said[0].starts_with("fast does less"), "{said:?}");
    }

    #[test]
    fn filesystems_on_several_disks_are_set_against_each_other_on_each() {
        let mut results = stats::fixture::plain();
        for (contender, name) in results.campaign.contenders.iter_mut().zip(["xfs", "ext4", "xfs"])
        {
            contender.name = name.to_owned();
        }
        let third = results.campaign.contenders[1].clone();
        results.campaign.contenders.push(third);
        let results = on_disks(results, &["hdd", "hdd", "ssd", "ssd"]);
        let of = |words: &str| {
            let found = contests(&results, &asked(words).unwrap());
            found.map(|all| all.into_iter().map(|q| q.contenders.join(" ")).collect())
        };
        let several: Vec<String> = of("file/write xfs ext4").unwrap();
        assert_eq!(several, ["xfs@hdd ext4@hdd", "xfs@ssd ext4@ssd"]);
        // A disk may be named with one of the contenders, and two disks with both.
        assert_eq!(of("file/write xfs ext4@ssd").unwrap(), ["xfs@ssd ext4@ssd"]);
        let named = of("file/write xfs@hdd xfs@ssd").unwrap();
        assert_eq!(named, ["xfs@hdd xfs@ssd"]);
        let unknown = of("file/write xfs jfs").unwrap_err().0;
        assert!(unknown.contains("has no contender `jfs`"), "{unknown}");
        let alone = on_disks(stats::fixture::plain(), &["hdd", "ssd", "ssd"]);
        let refused = contests(&alone, &asked("file/write fast slow").unwrap()).unwrap_err().0;
        let told = "has both `fast` and `slow`; its contenders are fast@hdd, middle@ssd, slow@ssd";
        assert!(refused.contains(told), "{refused}");
    }

    #[test]
    fn real_time_campaigns_are_refused_with_a_hint() {
        let campaign = stats::fixture::plain().campaign;
        let refused = require_virtual(CampaignId(7), &campaign).unwrap_err().0;
        assert!(
            refused.starts_with("campaign 7 is not in virtual time: `fsarena run --backend vm"),
            "{refused}"
        );
    }

    #[test]
    fn names_of_pictures_lead_nowhere_else() {
        assert_eq!(file_name("../ext4:data=journal"), "---ext4-data-journal");
    }
}
