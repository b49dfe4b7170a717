//! The opening lines of human-readable reports: the contenders, rounds, environment, and the
//! outcomes of the cells.

use model::{
    BackendKind, Bytes, CampaignResults, Clock, DataKind, Environment, GuestConfig, SizeProfile,
    SkippedSuite,
};
use stats::{Advice, Analysis, RoundOutcome};

use crate::text::caveats::{fewest_runs, runs_text};
use crate::text::conclusions::{CampaignScope, use_case_conclusion};
use crate::text::labels::moment;
use crate::text::labels::pluralize;
use crate::text::sanitize::sanitize_line;
use crate::text::title::contenders;

/// Returns the facts about a campaign, as pairs of name and value.
pub(crate) fn facts(results: &CampaignResults, analysis: &Analysis) -> Vec<(&'static str, String)> {
    let campaign = &results.campaign;
    if let Some(by) = &campaign.measured_by {
        return vec![
            ("Measured by", sanitize_line(&by.program)),
            ("Source", sanitize_line(&by.source)),
            ("Begun", moment(results.started)),
            ("Rounds", repeats(campaign.rounds)),
        ];
    }
    let memory = campaign.memory.map_or_else(|| "all there is".to_owned(), |m| m.to_string());
    let fewer = fewer_runs(results, analysis);
    let mut facts = vec![
        ("Begun", moment(results.started)),
        ("Profile", campaign.profile.to_string()),
        ("Rounds", fewer.unwrap_or_else(|| campaign.rounds.to_string())),
        ("Backend", campaign.backend.to_string()),
        ("Clock", clock(results)),
        ("Seed", campaign.seed.to_string()),
        ("Size", campaign.size.to_string()),
        ("Memory", memory),
    ];
    let kinds = campaign.data_kinds();
    if kinds.iter().any(|kind| *kind != DataKind::Random) {
        let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        facts.push(("Data", kinds.join(", ")));
    }
    let machine = campaign.describe_guest();
    facts.extend(machine.map(|machine| ("Machine", sanitize_line(&machine))));
    facts
}

/// Returns the number of repetitions of results from other programs, if stated: a single number may
/// be a mean.
fn repeats(rounds: u32) -> String {
    match rounds {
        1 => "one number each, without a spread".to_owned(),
        rounds => pluralize(rounds, "round"),
    }
}

/// Returns the sentences that answer a use, the same in every report.
pub fn answer_text(advice: &Advice, analysis: &Analysis) -> String {
    sentence(&use_case_conclusion(advice, analysis, &CampaignScope::of(analysis)))
}

/// Returns how often each test ran if some ran less often than there are rounds.
pub(crate) fn fewer_runs(results: &CampaignResults, analysis: &Analysis) -> Option<String> {
    let fewest = fewest_runs(analysis)?;
    let is_less = fewest < results.campaign.rounds as usize;
    is_less.then(|| format!("each test run {}", runs_text(analysis)))
}

/// Returns an explanation of results in virtual time, or `None` for campaigns in real time.
pub(crate) fn virtual_time(results: &CampaignResults) -> Option<String> {
    let campaign = &results.campaign;
    if campaign.clock != Clock::Virtual {
        return None;
    }
    let machine = campaign.describe_guest();
    let machine = machine.map_or_else(String::new, |m| format!(" ({})", sanitize_line(&m)));
    let seeds = match campaign.rounds {
        1 => "",
        _ => "; rounds differ by their seeds alone",
    };
    let instruction = match campaign.guest.as_ref().map_or(1, GuestConfig::instruction) {
        1 => "a nanosecond".to_owned(),
        time => format!("{time} nanoseconds"),
    };
    Some(format!(
        "Times are those of a model machine, not of a real one: they show how much work a filesystem makes for processor and disk. The model{machine}: an instruction takes {instruction}, and disk times follow from the disk model. Repeated runs give the same times to the nanosecond{seeds}."
    ))
}

/// Returns the scope of virtual times without the machine.
pub(crate) fn virtual_time_scope(results: &CampaignResults) -> Option<String> {
    let text = virtual_time(results)?;
    let (scope, _) = text.split_once(". ")?;
    Some(format!("{scope}."))
}

/// Returns what the smallest profile is for.
pub(crate) fn smoke(results: &CampaignResults) -> Option<String> {
    let campaign = &results.campaign;
    let is_smoke = campaign.profile == SizeProfile::Smoke;
    (is_smoke && campaign.backend != BackendKind::Imported).then(|| {
        "Profile smoke writes little, to show that all works. To decide, use --profile quick or standard."
            .to_owned()
    })
}

/// Returns a sentence for each requested suite that did not run.
pub(crate) fn skipped_suites(results: &CampaignResults) -> impl Iterator<Item = String> {
    let skipped = results.campaign.skipped.iter();
    skipped.map(|SkippedSuite { suite, reason }| format!("Suite {suite} was skipped: {reason}."))
}

/// Describes the clock of the times.
pub(crate) fn clock(results: &CampaignResults) -> String {
    results
        .environments
        .first()
        .map_or_else(|| "clock not recorded".to_owned(), |e| sanitize_line(&e.clock))
}

/// Returns the facts about a campaign in one line.
pub(crate) fn one_line(results: &CampaignResults, analysis: &Analysis) -> String {
    let campaign = &results.campaign;
    if let Some(by) = &campaign.measured_by {
        return format!(
            "{}“{}”: measured by {}, {}",
            numbered(results.id),
            sanitize_line(&campaign.name),
            sanitize_line(&by.program),
            repeats(campaign.rounds),
        );
    }
    format!(
        "campaign {} “{}”: profile {}, {}, backend {}, {}, seed {}",
        results.id,
        sanitize_line(&campaign.name),
        campaign.profile,
        fewer_runs(results, analysis).unwrap_or_else(|| pluralize(campaign.rounds, "round")),
        campaign.backend,
        clock(results),
        campaign.seed,
    )
}

/// Returns `campaign 3 ` if the campaign is in a store.
fn numbered(id: i64) -> String {
    match id {
        0 => String::new(),
        id => format!("campaign {id} "),
    }
}

/// Returns the outcomes of the cells, in one line.
pub(crate) fn outcome_line(results: &CampaignResults, analysis: &Analysis) -> String {
    let tests: std::collections::BTreeSet<&str> =
        analysis.rows.iter().map(|row| row.test.as_str()).collect();
    let counts = outcomes(analysis)
        .into_iter()
        .map(|(outcome, count)| format!("{count} {outcome}"))
        .collect::<Vec<_>>()
        .join(", ");
    let done = results.cells.iter().filter_map(|cell| cell.result.as_ref());
    let served = done.filter(|result| result.from_cache).count();
    let cached = match served {
        0 => String::new(),
        served => format!(" ({served} from the cache)"),
    };
    format!(
        "{}, {}, {}: {counts}{cached}",
        contenders(results),
        pluralize(tests.len() as u64, "test"),
        pluralize(analysis.counts.cells, "test run"),
    )
}

/// Returns the outcomes of cells with their counts, in the order of [`RoundOutcome::ALL`].
pub(crate) fn outcomes(analysis: &Analysis) -> Vec<(RoundOutcome, u32)> {
    let counts = &analysis.counts.by_outcome;
    RoundOutcome::ALL
        .into_iter()
        .filter_map(|outcome| Some((outcome, *counts.get(&outcome)?)))
        .collect()
}

/// Returns the known facts about the environment of a session, as pairs of name and value.
pub(crate) fn environment(environment: &Environment) -> Vec<(String, String)> {
    let parts = [
        ("fsarena", sanitize_line(&environment.program)),
        ("Kernel", sanitize_line(&environment.kernel)),
        ("Distribution", sanitize_line(&environment.distribution)),
        ("Processor", processor(environment)),
        ("Main memory", memory(environment)),
        ("Device", sanitize_line(&environment.device)),
        ("Attached", sanitize_line(&environment.attachment)),
        ("Clock", sanitize_line(&environment.clock)),
    ];
    let stated = parts.into_iter().filter(|(_, value)| !value.is_empty());
    let stated = stated.map(|(what, value)| (what.to_owned(), value));
    let conditions = environment.conditions.iter();
    stated.chain(conditions.map(|c| (heading(&c.name), sanitize_line(&c.value)))).collect()
}

/// Returns the number and model of the processors; empty if unknown.
pub(crate) fn processor(environment: &Environment) -> String {
    let model = sanitize_line(&environment.cpu);
    match environment.cpus {
        0 => model,
        cpus => format!("{cpus} × {model}"),
    }
}

/// Returns a text with a capital first letter.
pub(crate) fn heading(what: &str) -> String {
    sanitize_line(&capitalized(what))
}

fn capitalized(what: &str) -> String {
    let mut letters = what.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Returns an answer as a sentence with a capital first letter. The name of a filesystem keeps its
/// letters.
pub(crate) fn sentence(answer: &str) -> String {
    const FIRST_WORDS: [&str; 3] = ["take ", "no ", "nothing"];
    match FIRST_WORDS.iter().any(|word| answer.starts_with(word)) {
        true => capitalized(answer),
        false => answer.to_owned(),
    }
}

fn memory(environment: &Environment) -> String {
    let size = environment.memory;
    match environment.memory_goes_back {
        _ if size == Bytes(0) => String::new(),
        true => format!("{size}; what is free goes back to the host and is fetched again"),
        false => size.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use model::{DiskCache, GuestConfig, GuestDisk, HostSetting};
    use stats::{analyse, fixture};

    use super::*;

    #[test]
    fn the_first_line_tells_rounds_from_tests_that_ran_once() {
        let mut results = fixture::plain();
        let line = |results: &CampaignResults| one_line(results, &analyse(results));
        let all = format!(", {} rounds, backend", results.campaign.rounds);
        assert!(line(&results).contains(&all), "{}", line(&results));
        for stored in results.cells.iter_mut().filter(|stored| stored.cell.round > 1) {
            stored.result = None;
        }
        assert!(line(&results).contains(", each test run once, backend"), "{}", line(&results));
    }

    fn in_guests(clock: Clock) -> CampaignResults {
        let mut results = fixture::plain();
        results.campaign.clock = clock;
        let cache = DiskCache::Writeback;
        results.campaign.guest = Some(GuestConfig {
            cpu: "max\u{1b}[2J".into(),
            ..fixture::guest(GuestDisk::Image { cache })
        });
        results
    }

    #[test]
    fn the_scopes_of_virtual_time_and_of_smoke_are_sentences() {
        let mut results = in_guests(Clock::Virtual);
        let scope = virtual_time_scope(&results).unwrap();
        assert!(scope.contains("not of a real one") && scope.ends_with("disk."), "{scope}");
        assert_eq!(virtual_time_scope(&in_guests(Clock::Real)), None);
        results.campaign.profile = SizeProfile::Smoke;
        assert!(smoke(&results).unwrap().contains("--profile quick"));
        results.campaign.profile = SizeProfile::Standard;
        assert_eq!(smoke(&results), None);
    }

    #[test]
    fn virtual_time_is_named_and_explained() {
        let text = virtual_time(&in_guests(Clock::Virtual)).unwrap();
        assert!(text.contains("The model (1 GiB of memory, 1 processor"), "{text}");
        assert!(text.contains("how much work") && text.contains("seeds"), "{text}");
        assert!(!text.contains('\u{1b}'));
        assert_eq!(virtual_time(&in_guests(Clock::Real)), None);
    }

    #[test]
    fn conditions_that_affect_speed_are_listed_with_the_machine() {
        let session = Environment {
            conditions: vec![HostSetting::new("readahead", "128 KiB\u{1b}[2J")],
            ..Environment::default()
        };
        let facts = environment(&session);
        let (what, value) = facts.last().unwrap();
        assert_eq!(what, "Readahead");
        assert!(value.starts_with("128 KiB") && !value.contains('\u{1b}'));
    }

    #[test]
    fn unstated_facts_about_a_machine_are_omitted() {
        let stated = Environment {
            cpu: "Intel Celeron 533".to_owned(),
            memory: Bytes(256_000_000),
            ..Environment::default()
        };
        let facts = environment(&stated);
        let facts: Vec<String> = facts.iter().map(|(a, b)| format!("{a}: {b}")).collect();
        assert_eq!(facts, ["Processor: Intel Celeron 533", "Main memory: 256 MB"]);
        assert!(environment(&Environment::default()).is_empty());
    }

    #[test]
    fn the_parts_of_a_guests_machine_are_among_the_facts() {
        let facts = |results: &CampaignResults| super::facts(results, &analyse(results));
        let guests = facts(&in_guests(Clock::Real));
        let (_, machine) = guests.iter().find(|(name, _)| *name == "Machine").unwrap();
        assert!(machine.contains("1 disk: an image, cache writeback; Linux 6.1.0"), "{machine}");
        assert!(facts(&fixture::plain()).iter().all(|(name, _)| *name != "Machine"));
    }
}
