//! Which campaign is meant: by its number, by its name, or by a file.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use analyse::are_sessions_of_one;
use anyhow::Context;
use model::{CampaignResults, Clock};

use crate::arguments::cli::Globals;
use crate::output::exit::BadInput;
use crate::paths;

/// How every SQLite database begins (SQLite's file format, §1.3).
const SQLITE: &[u8] = b"SQLite format 3\0";

/// The campaign that is meant, the latest where none is named.
///
/// A name that is a number is that of a campaign in the database. Any other is the name of a campaign,
/// of which the latest is taken; or a file: a report in JSON, or a database, of which the latest
/// campaign is taken.
pub fn campaign(named: Option<&str>, globals: &Globals) -> anyhow::Result<CampaignResults> {
    let Some(named) = named else {
        let store = paths::existing_store(globals)?;
        return Ok(store.load(paths::campaign_id(&store, None)?)?);
    };
    if let Ok(number) = named.parse::<i64>() {
        let store = paths::existing_store(globals)?;
        return Ok(store.load(paths::campaign_id(&store, Some(number))?)?);
    }
    if Path::new(named).is_file() {
        return from_file(Path::new(named));
    }
    if Path::new(named).exists() {
        return Err(BadInput(format!(
            "{named} is no plain file: name a report or a database"
        ))
        .into());
    }
    let store = paths::existing_store(globals)?;
    let known = store.campaigns()?;
    let latest = known
        .iter()
        .filter(|c| c.name == named)
        .max_by_key(|c| c.id);
    match latest {
        Some(campaign) => Ok(store.load(campaign.id)?),
        None => Err(BadInput(format!(
            "`{named}` is no campaign and no file: see `fsarena list campaigns`"
        ))
        .into()),
    }
}

/// The most sessions of each side that are compared.
const MOST_SESSIONS: usize = 10;

/// Two campaigns of the database, each with the other sessions of the same thing that the database has, itself first. Where
/// nothing is known to differ between the two, those that were begun no later than the earlier one are its sessions,
/// and those begun no earlier than the later one are its. Files have no sessions, nor has virtual time.
pub fn with_sessions(
    named: [&str; 2],
    campaigns: [CampaignResults; 2],
    globals: &Globals,
) -> anyhow::Result<[Vec<CampaignResults>; 2]> {
    let mut sides = campaigns.map(|one| vec![one]);
    let is_file = |name: &&str| name.parse::<i64>().is_err() && Path::new(name).is_file();
    let clocks = sides.each_ref().map(|side| side[0].campaign.clock);
    if named.iter().any(is_file) || clocks.contains(&Clock::Virtual) {
        return Ok(sides);
    }
    let store = paths::existing_store(globals)?;
    let are_the_same = are_sessions_of_one(&sides[0][0], &sides[1][0]);
    let started = sides.each_ref().map(|side| side[0].started);
    let own = sides.each_ref().map(|side| side[0].id);
    for (id, campaign) in store.definitions()?.into_iter().rev() {
        let may_be = |side: &Vec<CampaignResults>| {
            side.len() < MOST_SESSIONS && campaign.suites == side[0].campaign.suites
        };
        if own.contains(&id.0) || !sides.iter().any(may_be) {
            continue;
        }
        let other = store.load(id)?;
        let is_before = |a: usize, b: usize| match started[a] <= started[b] {
            true => other.started <= started[a],
            false => other.started >= started[a],
        };
        let side = (0..2).find(|side| {
            are_sessions_of_one(&sides[*side][0], &other)
                && (!are_the_same || is_before(*side, 1 - side))
        });
        if let Some(side) = side.filter(|side| may_be(&sides[*side])) {
            sides[side].push(other);
        }
    }
    Ok(sides)
}

fn from_file(path: &Path) -> anyhow::Result<CampaignResults> {
    let shown = path.display();
    let cannot = || format!("cannot read {shown}");
    if is_database(path).with_context(cannot)? {
        let store = paths::foreign_store(path)?;
        return Ok(store.load(paths::campaign_id(&store, None)?)?);
    }
    let bytes = fs::read(path).with_context(cannot)?;
    report::read_json(&bytes).map_err(|why| {
        let wrong = format!(
            "{shown} is neither a database nor what `fsarena report --format json` writes: {why}"
        );
        BadInput(wrong).into()
    })
}

fn is_database(path: &Path) -> io::Result<bool> {
    let mut begin = Vec::new();
    let mut file = File::open(path)?.take(SQLITE.len() as u64);
    file.read_to_end(&mut begin)?;
    Ok(begin == SQLITE)
}

/// What a campaign is called in a sentence: by its number and its name.
pub fn called(results: &CampaignResults) -> String {
    format!(
        "campaign {} “{}”",
        results.id,
        crate::output::text::line(&results.campaign.name)
    )
}
