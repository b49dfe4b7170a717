//! Campaign files, the equivalent command-line arguments, and the resulting plan.

use std::path::{Path, PathBuf};

use config::Settings;
use config::settings::campaign_file;
use model::{
    BackendKind, Bytes, Campaign, Contender, DiskCache, Nanos, ResultSelector, SizeProfile, Suite,
    percentage,
};

use crate::property::{is_one_line, survives_json};
use crate::sample::CATALOG;

/// Maximum cells of a plan. Larger plans do not test parsing.
const MAX_CELLS: u64 = 1000;

/// Parses the input as a campaign file, and each of its lines also as a word of the command line.
pub fn run(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else {
        return;
    };
    text.lines().take(8).for_each(word);
    match campaign_file::load(Path::new("/home/a/c.toml"), text, &CATALOG) {
        Err(error) => is_one_line(&error),
        Ok(file) => planned(&file),
    }
}

/// Returns the example of the README.
pub fn seeds() -> Vec<Vec<u8>> {
    let readme = include_str!("../../README.md").split("```toml\n").nth(1);
    let example = readme.and_then(|rest| rest.split("```").next());
    vec![example.unwrap_or_default().into()]
}

fn planned(file: &Settings) {
    let profile = file.profile.unwrap_or(SizeProfile::Smoke);
    // A name with a colon is another program.
    let of_catalog = file.suites.iter().filter(|name| !name.contains(':'));
    let suites = of_catalog.map(|name| {
        let suite = CATALOG.suite(name, profile);
        suite.expect("it was checked").clone()
    });
    let contenders = file.contenders.iter().map(|entry| entry.contender(&CATALOG));
    let contenders = contenders.collect::<Result<_, _>>().expect("they were checked");
    let campaign = Campaign {
        rounds: file.rounds.unwrap_or(1),
        seed: file.seed.unwrap_or(1),
        size: file.size.unwrap_or(Bytes::mib(64)),
        ..campaign(contenders, suites.collect())
    };
    has_a_plan(&campaign);
}

/// Checks that a campaign has a cost and a plan that contains each cell once.
pub fn has_a_plan(campaign: &Campaign) {
    let cost = campaign::plan::cost(
        campaign,
        campaign::plan::ThroughputModel::default(),
        &campaign::plan::PastDurations::default(),
        1,
    );
    let cells = campaign::plan::max_cells(campaign).expect("a small number");
    assert_eq!(cost.cells, cells);
    if cells <= MAX_CELLS {
        assert_eq!(campaign::plan::plan(campaign).len() as u64, cells);
    }
    survives_json(campaign);
}

/// Returns a campaign of one round.
pub fn campaign(contenders: Vec<Contender>, suites: Vec<Suite>) -> Campaign {
    Campaign {
        skipped: Vec::new(),
        name: "fuzz".into(),
        contenders,
        groups: Vec::new(),
        suites,
        profile: SizeProfile::Smoke,
        rounds: 1,
        stopping_rule: None,
        budget: None,
        seed: 1,
        size: Bytes::mib(64),
        memory: None,
        backend: BackendKind::Loop,
        measured_by: None,
        clock: model::Clock::Real,
        guest: None,
        device: None,
        readahead: None,
        max_written: None,
        keep_aged: false,
        source: None,
        work_dir: PathBuf::new(),
        database: None,
        stall_timeout: Nanos::from_secs(60),
        host: None,
        together: Vec::new(),
        archives: Vec::new(),
        phase_limit: SizeProfile::Smoke.phase_limit(BackendKind::Loop),
    }
}

fn word(word: &str) {
    match CATALOG.contender(word) {
        Err(error) => is_one_line(&error),
        Ok(contender) => survives_json(&contender),
    }
    if let Err(error) = CATALOG.directory_contender(Path::new(word), word, Some(word)) {
        is_one_line(&error);
    }
    if let Ok(bytes) = word.parse::<Bytes>() {
        survives_json(&bytes);
    }
    if let Ok(time) = word.parse::<Nanos>() {
        survives_json(&time);
    }
    if let Ok(pattern) = word.parse::<ResultSelector>() {
        assert_eq!(pattern.to_string().parse(), Ok(pattern));
    }
    let _ = (percentage(word), word.parse::<DiskCache>());
}
