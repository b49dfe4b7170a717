//! The shell command that repeats a campaign.

use std::collections::BTreeSet;

use model::{
    BackendKind, Bytes, Campaign, CampaignResults, Clock, Contender, CopySource, GuestDisk, Op,
    PowerCut, RECORDING, Suite, shell_quote,
};
use stats::Analysis;
use stats::inference::FORECAST_ROUNDS;

use crate::text::conclusions::most_rounds;
use crate::text::sanitize::{sanitize_line, sanitize_paragraph};

/// Returns `fsarena run --rounds 5 --profile quick -c ext4 …`, with the same random choices.
/// Limits, and settings that only a campaign file supports, such as mkfs options, are omitted.
/// Empty if fsarena did not run the campaign.
pub(crate) fn rerun_command(results: &CampaignResults) -> String {
    command(&Campaign { budget: results.whole_budget(), ..results.campaign.clone() })
}

/// Returns the command that repeats the cells of one contender in some tests. They have the same
/// seeds, because these do not depend on the other contenders and tests.
pub(crate) fn repeat_cells_command(
    campaign: &Campaign,
    contender: &str,
    tests: &BTreeSet<&str>,
) -> String {
    // A budget chooses rounds by the results of all contenders.
    let whole = Campaign { budget: None, ..campaign.clone() };
    repeat_part_command(&whole, &[contender].into(), tests)
}

/// Returns the command that repeats some contenders in some tests.
pub(crate) fn repeat_part_command(
    campaign: &Campaign,
    contenders: &BTreeSet<&str>,
    tests: &BTreeSet<&str>,
) -> String {
    let mut part = campaign.clone();
    part.contenders.retain(|one| contenders.contains(one.name.as_str()));
    for suite in &mut part.suites {
        suite.tests.retain(|test| tests.contains(test.name.as_str()));
    }
    part.suites.retain(|suite| !suite.tests.is_empty());
    command(&part)
}

fn command(campaign: &Campaign) -> String {
    if campaign.measured_by.is_some() {
        return String::new();
    }
    let trace = campaign.suites.iter().find(|suite| suite.name == RECORDING);
    let mut words = vec!["fsarena".to_owned()];
    match trace {
        Some(suite) => words.extend(trace_command(suite)),
        None => words.push("run".to_owned()),
    }
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    match campaign.budget {
        Some(budget) => option("--budget", format!("{}s", budget.as_secs_f64().ceil())),
        None => option("--rounds", campaign.rounds.to_string()),
    }
    option("--profile", campaign.profile.to_string());
    for contender in campaign.contenders.iter().filter(|c| c.directory.is_none()) {
        option("-c", spec(contender));
    }
    for directory in campaign.contenders.iter().filter_map(|c| c.directory.as_ref()) {
        option("--dir", directory.display().to_string());
    }
    for suite in campaign.suites.iter().filter(|suite| suite.name != RECORDING) {
        // Points of a sweep have no names that can be typed. For other suites, some tests may have
        // been excluded.
        match suite.tests.iter().any(|test| test.sweep.is_some()) {
            true => option("-s", suite.name.clone()),
            false => suite.tests.iter().for_each(|test| option("-s", suite.selector(test))),
        }
    }
    option("--seed", campaign.seed.to_string());
    if campaign.backend != BackendKind::Dir && campaign.device.is_none() {
        option("--size", typed(campaign.size));
    }
    if let Some(memory) = campaign.memory {
        option("--memory", typed(memory));
    }
    if campaign.backend == BackendKind::Vm {
        option("--backend", campaign.backend.to_string());
        let clock = match campaign.clock {
            Clock::Real => "real",
            Clock::Virtual => "virtual",
        };
        option("--clock", clock.to_owned());
    }
    // Contenders with their own disks specify them.
    let is_shared = campaign.contenders.iter().any(|c| c.own.disk.is_none());
    let disk = campaign.guest.as_ref().map(|guest| &guest.disk);
    if let (true, Some(GuestDisk::Model { model })) = (is_shared, disk) {
        option("--disk", model.name.clone());
    }
    if let Some(device) = &campaign.device {
        option("--device", device.display().to_string());
    }
    if let Some(CopySource::Directory { path, .. } | CopySource::Device { path, .. }) =
        &campaign.source
    {
        option("--source", path.display().to_string());
    }
    match (&campaign.host, campaign.together.is_empty()) {
        (Some(host), true) => option("--host", host.clone()),
        (Some(_), false) => {
            option("--hosts", campaign.together.join(","));
            words.push("--together".to_owned());
        }
        (None, _) => {}
    }
    quote_words(&words)
}

/// Returns the command that cuts the power in steps, for one contender with the settings of a campaign.
pub(crate) fn steps_command(campaign: &Campaign, contender: &str, steps: &PowerCut) -> String {
    let mut one = campaign.clone();
    one.contenders.retain(|known| known.name == contender);
    let mut phases =
        one.suites.iter_mut().flat_map(|suite| &mut suite.tests).flat_map(|test| &mut test.phases);
    if let Some(phase) = phases.find(|phase| matches!(phase.op, Op::PowerCut(_))) {
        phase.op = Op::PowerCut(PowerCut { cuts: CUTS_OF_STEPS, ..steps.clone() });
    }
    one.suites.truncate(1);
    for suite in &mut one.suites {
        (suite.name, suite.source) = (RECORDING.to_owned(), String::new());
    }
    command(&one)
}

/// Returns the command that replays a trace or cuts the power in it, with its options.
fn trace_command(suite: &Suite) -> Vec<String> {
    let mut ops = suite.tests.iter().flat_map(|test| &test.phases).map(|phase| &phase.op);
    let cuts = ops.find_map(|op| match op {
        Op::PowerCut(cuts) => Some(cuts),
        _ => None,
    });
    let command = match cuts {
        None => ["trace", "replay"],
        Some(_) if suite.source.is_empty() => ["survive", "steps"],
        Some(_) => ["survive", "trace"],
    };
    let mut words = command.map(str::to_owned).to_vec();
    if !suite.source.is_empty() {
        words.push(suite.source.clone());
    } else if let Some(PowerCut { prepare, steps, .. }) = cuts {
        let prepare = prepare.iter().map(|step| ("--prepare", step));
        for (option, step) in prepare.chain(steps.iter().map(|step| ("--step", step))) {
            words.extend([option.to_owned(), step.to_string()]);
        }
    }
    if let Some(cuts) = cuts {
        words.extend(["--cuts".to_owned(), cuts.cuts.to_string()]);
        words.extend(["--expect".to_owned(), cuts.expect.name().to_owned()]);
    }
    words
}

/// Returns the option of `fsarena resume` for closer answers: time, which makes three budgets, or three
/// times the rounds of the campaign, as in the forecasts of bounds (`FORECAST_ROUNDS` of `stats`), or
/// the rounds that show the noise.
pub(crate) fn more_work(analysis: &Analysis) -> String {
    match (analysis.budget, most_rounds(analysis)) {
        (Some(budget), _) => {
            format!("--more {}", in_minutes(budget.as_secs_f64() * (FORECAST_ROUNDS - 1.0)))
        }
        (None, None | Some(1)) => format!("--rounds {MIN_ROUNDS_FOR_NOISE}"),
        (None, Some(rounds)) => {
            let more = (rounds as f64 * FORECAST_ROUNDS) as u32;
            format!("--rounds {}", more.min(Campaign::MAX_ROUNDS))
        }
    }
}

/// Formats a time as a user types it.
fn in_minutes(seconds: f64) -> String {
    let seconds = seconds.ceil() as u64;
    match seconds % 60 {
        0 => format!("{}min", seconds / 60),
        _ => format!("{seconds}s"),
    }
}

/// Maximum number of cuts in a short sequence: at each of its positions.
const CUTS_OF_STEPS: u32 = 600;
/// Number of rounds that shows the noise of results and detects large differences.
const MIN_ROUNDS_FOR_NOISE: u32 = 5;

/// Returns the command with more rounds or a larger budget. Empty without a command. It repeats the
/// campaign: results in a file, or from another database, cannot be resumed.
pub(crate) fn closer_answer(analysis: &Analysis, command: &str) -> String {
    // The first option of the command, before any name.
    let options = [" --rounds ", " --budget "];
    let first = options.into_iter().filter_map(|work| command.split_once(work));
    let Some((before, behind)) = first.min_by_key(|(before, _)| before.len()) else {
        return String::new();
    };
    let rest = behind.split_once(' ').map_or("", |(_, rest)| rest);
    let work = match analysis.budget {
        Some(budget) => {
            format!("--budget {}", in_minutes(budget.as_secs_f64() * FORECAST_ROUNDS))
        }
        None => more_work(analysis),
    };
    format!("`{}`", format!("{before} {work} {rest}").trim_end())
}

/// Returns true if a campaign ran on several hosts, so that it gets no more rounds.
pub(crate) fn is_plan_fixed(campaign: &CampaignResults) -> bool {
    campaign.environments.iter().any(|environment| environment.spread.is_some())
}

/// Returns the options of `fsarena resume` for closer answers of a campaign.
pub(crate) fn resume_options(analysis: &Analysis, campaign: &CampaignResults) -> String {
    let device = campaign.campaign.device.as_ref();
    let device = device.map(|path| sanitize_line(&shell_quote(&path.to_string_lossy())));
    let erase = device.map_or_else(String::new, |device| format!(" --erase {device}"));
    format!("{erase} {}", more_work(analysis))
}

/// Returns a contender in the syntax of the command line.
fn spec(contender: &Contender) -> String {
    let filesystem = &contender.filesystem.name;
    let rest = contender.name.strip_prefix(filesystem.as_str());
    if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '@'])) {
        return contender.name.clone();
    }
    match contender.mount_options.is_empty() {
        true => format!("{}={filesystem}", contender.name),
        false => format!("{}={filesystem}:{}", contender.name, contender.mount_options.join(",")),
    }
}

/// Returns the options of a contender: of mkfs and mount, and the directory of a mounted one.
pub(crate) fn options_text(contender: &Contender) -> String {
    let mut options = Vec::new();
    if !contender.mkfs_options.is_empty() {
        options.push(format!("mkfs {}", quote_words(&contender.mkfs_options)));
    }
    if !contender.mount_options.is_empty() {
        options.push(format!("mount {}", contender.mount_options.join(",")));
    }
    if let Some(directory) = &contender.directory {
        options.push(format!("in {}", directory.display()));
    }
    options.join("; ")
}

/// Formats a size exactly, without the space before its unit.
fn typed(size: Bytes) -> String {
    format!("{size:#}").replace(' ', "")
}

/// Maximum length of a command that is shown, in bytes.
const MAX_COMMAND: usize = 4000;

/// Returns words quoted for a shell; empty if they are too long. A command is never cut: without the
/// end of a quotation, a shell would run words of a name.
pub(crate) fn quote_words(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| shell_quote(word)).collect();
    let command = sanitize_paragraph(&quoted.join(" "));
    if command.len() > MAX_COMMAND { String::new() } else { command }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::fixture;

    #[test]
    fn command_lines_can_be_typed() {
        let words = ["sh", "-c", "echo 'a' > b", ""].map(str::to_owned);
        assert_eq!(quote_words(&words), r"sh -c 'echo '\''a'\'' > b' ''");
        let long = ["a ".repeat(1000), "$(touch b)".to_owned()];
        assert!(quote_words(&long).ends_with("a ' '$(touch b)'"), "a command is never cut");
        assert_eq!(quote_words(&["a".repeat(MAX_COMMAND + 1)]), "");
    }

    #[test]
    fn a_campaign_is_repeated_with_its_contenders_suites_rounds_and_seed() {
        let mut results = fixture::plain();
        results.campaign.memory = Some(Bytes::mib(512));
        results.campaign.size = Bytes(1_000_000_001);
        results.campaign.contenders[0].name = "my own".to_owned();
        let command = rerun_command(&results);
        assert!(command.starts_with("fsarena run --rounds "), "{command}");
        for part in [
            " -c 'my own=fast'",
            " -c slow",
            "--rounds 3",
            "--memory 512MiB",
            "--size 1000000001B",
            " -s made/file",
        ] {
            assert!(command.contains(part), "{part}: {command}");
        }
    }

    #[test]
    fn cells_of_one_contender_are_repeated_with_their_seed() {
        let mut campaign = fixture::plain().campaign;
        campaign.backend = BackendKind::Vm;
        campaign.clock = Clock::Virtual;
        campaign.budget = Some(model::Nanos::from_secs(60));
        let test = campaign.suites[0].tests[0].name.as_str();
        let command = repeat_cells_command(&campaign, "slow", &BTreeSet::from([test]));
        let seed = format!(" --seed {}", campaign.seed);
        for part in
            [" -c slow", &format!(" -s made/{test} "), &seed, " --rounds 3", " --clock virtual"]
        {
            assert!(command.contains(part), "{part}: {command}");
        }
        assert!(!command.contains("fast"), "{command}");
    }

    #[test]
    fn other_programs_are_named_with_their_options() {
        let mut results = fixture::plain();
        let suite = &mut results.campaign.suites[0];
        suite.name = model::PEERS.to_owned();
        suite.tests[0].title = "bonnie++ -s 64M -n 4".to_owned();
        let command = rerun_command(&results);
        assert!(command.contains(" -s 'bonnie++:-s 64M -n 4'"), "{command}");
    }

    #[test]
    fn a_replay_is_repeated_with_its_trace() {
        let mut results = fixture::plain();
        let suite = &mut results.campaign.suites[0];
        (suite.name, suite.source) = (RECORDING.to_owned(), "/home/a b.trace".to_owned());
        let command = rerun_command(&results);
        assert!(
            command.starts_with("fsarena trace replay '/home/a b.trace' --rounds 3"),
            "{command}"
        );
        assert!(!command.contains(" -s "), "{command}");
        let phase = &mut results.campaign.suites[0].tests[0].phases[0];
        phase.op = Op::PowerCut(model::PowerCut {
            prepare: Vec::new(),
            steps: vec![model::FileStep::Sync],
            expect: model::Expectation::Order,
            cuts: 60,
            ignores_flushes: false,
            shorten: false,
        });
        let command = rerun_command(&results);
        let expected =
            "fsarena survive trace '/home/a b.trace' --cuts 60 --expect order --rounds 3";
        assert!(command.starts_with(expected), "{command}");
        let steps = model::PowerCut {
            prepare: vec![model::FileStep::Mkdir("d".to_owned())],
            steps: vec![model::FileStep::Sync],
            expect: model::Expectation::Promise,
            cuts: 3,
            ignores_flushes: false,
            shorten: true,
        };
        let command = steps_command(&results.campaign, "slow", &steps);
        let expected = "fsarena survive steps --prepare 'mkdir d' --step sync --cuts 600 --expect promise --rounds 3";
        assert!(command.starts_with(expected) && command.contains(" -c slow "), "{command}");
    }

    #[test]
    fn disk_used_by_no_contender_is_omitted() {
        let disk = |results: &CampaignResults| rerun_command(results).contains("--disk");
        let mut results = fixture::on_disks(fixture::plain(), &["hdd", "ssd", "hdd"]);
        let model = model::DiskModel::ideal();
        results.campaign.guest = Some(fixture::guest(GuestDisk::Model { model }));
        assert!(!disk(&results));
        results.campaign.contenders[0].own.disk = None;
        assert!(disk(&results));
    }
}
