//! Selects a campaign by number, by name, or by file.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;

use anyhow::Context;
use campaign::store::{CampaignId, Store};
use model::{CampaignResults, Clock};
use stats::{differ_only_by_host, differ_only_by_seed};
use sys::fs::plain_file;

use crate::args::cli::GlobalArgs;
use crate::output::exit::UsageError;
use crate::output::text::print_note;
use crate::paths;

/// First bytes of every SQLite database (SQLite's file format, §1.3).
const SQLITE: &[u8] = b"SQLite format 3\0";
/// Maximum size of a report as JSON, in bytes.
const MAX_REPORT_SIZE: u64 = 1 << 30;

/// A campaign, and the database that contains it. A JSON report has no database.
pub struct SelectedCampaign {
    /// The campaign with its results.
    pub results: CampaignResults,
    /// The database.
    pub store: Option<Store>,
}

/// Loads the named campaign, or the latest one if no name is given. Reports which campaign it is if
/// several have the name.
///
/// A numeric name selects a campaign in the database. Any other name selects a file (a JSON report,
/// or the latest campaign of a database), or the latest campaign with that name.
pub fn select(named: Option<&str>, globals: &GlobalArgs) -> anyhow::Result<SelectedCampaign> {
    let selected = find(named, globals)?;
    if let (Some(name), Some(store)) = (named.filter(|name| is_name(name)), &selected.store) {
        let namesakes = store.campaigns()?.iter().filter(|c| c.name == name).count();
        if namesakes > 1 && !globals.json && !globals.quiet {
            let label = campaign_label(&selected.results);
            print_note(&format!("{label} is the latest of {namesakes} with this name"));
        }
    }
    Ok(selected)
}

/// Returns true for a name that is neither a number nor a file.
fn is_name(named: &str) -> bool {
    named.parse::<i64>().is_err() && !Path::new(named).exists()
}

/// Loads the named campaign without reporting which of several it is.
pub fn find(named: Option<&str>, globals: &GlobalArgs) -> anyhow::Result<SelectedCampaign> {
    if let Some(named) = named.filter(|named| named.parse::<i64>().is_err() && !is_name(named)) {
        return from_file(Path::new(named));
    }
    let store = paths::existing_store(globals)?;
    let id = campaign_id(&store, named)?;
    Ok(SelectedCampaign { results: store.load(id)?, store: Some(store) })
}

/// Returns the campaign with this number, the latest campaign with this name, or the latest one.
pub fn campaign_id(store: &Store, named: Option<&str>) -> anyhow::Result<CampaignId> {
    let Some(name) = named.filter(|named| named.parse::<i64>().is_err()) else {
        return paths::campaign_id(store, named.and_then(|number| number.parse().ok()));
    };
    let known = store.campaigns()?;
    let latest = known.iter().filter(|c| c.name == name).map(|c| c.id).max();
    Ok(latest.ok_or_else(|| {
        UsageError(format!("no campaign or file named `{name}`; see `fsarena list campaigns`"))
    })?)
}

/// Maximum number of sessions that are combined.
pub const MAX_SESSIONS: u32 = 20;

/// Loads the selected campaign. If it is selected by name, also loads its other complete sessions
/// (equal plan, machine and system), latest first.
pub fn sessions(named: &str, globals: &GlobalArgs) -> anyhow::Result<Vec<CampaignResults>> {
    let mut sessions = vec![find(Some(named), globals)?.results];
    if !is_name(named) {
        return Ok(sessions);
    }
    let store = paths::existing_store(globals)?;
    for known in store.campaigns()?.iter().rev() {
        let is_other = known.name == named && known.id.0 != sessions[0].id;
        if sessions.len() == MAX_SESSIONS as usize {
            break;
        }
        if !is_other || known.done < known.planned {
            continue;
        }
        let other = store.load(known.id)?;
        if differ_only_by_seed(&sessions[0], &other) {
            sessions.push(other);
        }
    }
    Ok(sessions)
}

/// Loads the selected campaign. If its name was run on several hosts, loads the campaigns of all
/// hosts instead, but only complete rounds, because an incomplete one cannot be compared.
pub fn campaigns_by_host(
    named: &str,
    globals: &GlobalArgs,
) -> anyhow::Result<Vec<CampaignResults>> {
    let latest = find(Some(named), globals)?.results;
    if !is_name(named) || latest.campaign.clock == Clock::Virtual {
        return Ok(vec![latest]);
    }
    let store = paths::existing_store(globals)?;
    let mut all = Vec::new();
    for known in store.campaigns()?.iter().filter(|c| c.name == named) {
        let mut other = store.load(known.id)?;
        let is_same = differ_only_by_host(&latest, &other);
        if is_same && drop_incomplete_rounds(&mut other) {
            all.push(other);
        }
    }
    let hosts: BTreeSet<_> = all.iter().map(|one| &one.campaign.host).collect();
    Ok(match hosts.len() {
        0 | 1 => vec![latest],
        _ => all,
    })
}

/// Removes the results of incomplete rounds. Returns true if any results remain.
pub fn drop_incomplete_rounds(results: &mut CampaignResults) -> bool {
    let cells = &mut results.cells;
    let open: BTreeSet<u32> = cells
        .iter()
        .filter(|stored| stored.result.is_none())
        .map(|stored| stored.cell.round)
        .collect();
    for stored in cells.iter_mut() {
        if open.contains(&stored.cell.round) {
            stored.result = None;
        }
    }
    cells.iter().any(|stored| stored.result.is_some())
}

fn from_file(path: &Path) -> anyhow::Result<SelectedCampaign> {
    let shown = path.display();
    if !path.is_file() {
        let why = format!("{shown} is no plain file: name a report or a database");
        return Err(UsageError(why).into());
    }
    let cannot = || format!("cannot read {shown}");
    if is_database(path).with_context(cannot)? {
        let store = paths::foreign_store(path)?;
        let results = store.load(paths::campaign_id(&store, None)?)?;
        return Ok(SelectedCampaign { results, store: Some(store) });
    }
    let bytes = plain_file::read(path, MAX_REPORT_SIZE).with_context(cannot)?;
    let results = report::read_json(&bytes).map_err(|why| {
        UsageError(format!(
            "{shown} is neither a database nor what `fsarena report --format json` writes: {why}"
        ))
    })?;
    Ok(SelectedCampaign { results, store: None })
}

fn is_database(path: &Path) -> io::Result<bool> {
    let mut begin = Vec::new();
    let mut file = plain_file::open(path)?.take(SQLITE.len() as u64);
    file.read_to_end(&mut begin)?;
    Ok(begin == SQLITE)
}

/// Returns the description of a campaign in a sentence: its number and its name.
pub fn campaign_label(results: &CampaignResults) -> String {
    format!("campaign {} “{}”", results.id, crate::output::text::line(&results.campaign.name))
}

#[cfg(test)]
mod tests {
    use campaign::run::in_memory;
    use config::Catalog;

    use super::*;

    #[test]
    fn incomplete_rounds_are_omitted() {
        let catalog = Catalog::builtin().unwrap();
        let contenders = ["ext4", "xfs"].map(|name| catalog.contender(name).unwrap());
        let campaign = in_memory::campaign(contenders.into(), 3);
        let mut results = in_memory::MemorySink::new(&campaign).read().clone();
        assert!(!drop_incomplete_rounds(&mut results), "nothing has run");
        let success = in_memory::ok_result(&in_memory::test());
        for stored in &mut results.cells {
            let is_open = stored.cell.round == 2 && stored.cell.contender == "xfs";
            stored.result = (!is_open).then(|| success.clone());
        }
        assert!(drop_incomplete_rounds(&mut results));
        let ran = results.cells.iter().filter(|stored| stored.result.is_some());
        let rounds: BTreeSet<u32> = ran.map(|stored| stored.cell.round).collect();
        assert_eq!(rounds, [1, 3].into());
    }
}
