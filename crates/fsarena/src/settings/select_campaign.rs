//! Selects a campaign by number, by name, or by file.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use campaign::store::{CampaignId, CampaignSummary, Store};
use model::{CampaignResults, Clock};
use stats::{differ_only_by_host, differ_only_by_seed};
use sys::fs::plain_file;

use crate::args::cli::GlobalArgs;
use crate::output::exit::UsageError;
use crate::output::text::{line, print_note};
use crate::paths;
use crate::settings::campaign_text::is_builtin_filesystem;

/// Maximum size of a report as JSON, in bytes.
const MAX_REPORT_SIZE: u64 = 1 << 30;

/// A campaign, and the database that contains it. A JSON report has no database.
pub struct SelectedCampaign {
    /// The campaign with its results.
    pub results: CampaignResults,
    /// The database.
    pub store: Option<Store>,
}

impl SelectedCampaign {
    /// Returns the results with their database, which also has the request logs.
    ///
    /// # Errors
    /// Returns an error for a JSON report.
    pub fn in_database(self) -> Result<(CampaignResults, Store), UsageError> {
        let why = "a JSON report has no request logs: name a campaign or a database";
        let store = self.store.ok_or_else(|| UsageError(why.to_owned()))?;
        Ok((self.results, store))
    }
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

/// Returns true for the path of an existing file or directory, unless it is a number.
fn is_file(named: &str) -> bool {
    named.parse::<i64>().is_err() && Path::new(named).exists()
}

/// Returns true for the path of an existing file that is not a database.
pub fn is_other_file(named: &str) -> bool {
    is_file(named) && !campaign::store::is_sqlite(Path::new(named)).unwrap_or(false)
}

/// Loads the named campaign without reporting which of several it is.
pub fn find(named: Option<&str>, globals: &GlobalArgs) -> anyhow::Result<SelectedCampaign> {
    if let Some(named) = named.filter(|named| is_file(named)) {
        return from_file(Path::new(named));
    }
    let store = paths::existing_store(globals)?;
    let id = campaign_id(&store, named)?;
    Ok(SelectedCampaign { results: load(&store, id)?, store: Some(store) })
}

/// Loads a campaign for a report.
///
/// # Errors
/// Returns an error if it cannot be read, or if no report on it would fit into memory.
pub fn load(store: &Store, id: CampaignId) -> anyhow::Result<CampaignResults> {
    let results = store.load(id)?;
    import::check_size(&results)
        .map_err(|why| UsageError(format!("cannot report on campaign {id}: {why}")))?;
    Ok(results)
}

/// Returns true if a number or a name refers to a campaign.
pub fn refers_to(named: &str, campaign: &CampaignSummary) -> bool {
    match named.parse::<i64>() {
        Ok(number) => campaign.id.0 == number,
        Err(_) => campaign.name == named,
    }
}

/// Error, or the start of one, if a database has no campaign.
pub const NO_CAMPAIGN: &str = "no campaign was run yet";

/// Returns the campaign with this number, which may not exist, the latest campaign with this name,
/// or the latest one.
pub fn campaign_id(store: &Store, named: Option<&str>) -> anyhow::Result<CampaignId> {
    let Some(named) = named else {
        let latest = store.latest()?;
        return Ok(latest.ok_or_else(|| UsageError(NO_CAMPAIGN.to_owned()))?);
    };
    if let Ok(number) = named.parse() {
        return Ok(CampaignId(number));
    }
    let known = store.campaigns()?;
    let latest = known.iter().filter(|one| one.name == named).map(|one| one.id).max();
    Ok(latest.ok_or_else(|| {
        let hint = match is_builtin_filesystem(named) {
            true => {
                "compare filesystems of one campaign with `fsarena compare --within CAMPAIGN A B`"
                    .to_owned()
            }
            false => similar_name(&known, named),
        };
        UsageError(format!("no campaign or file named `{}`; {hint}", line(named)))
    })?)
}

/// Returns the campaign to resume: the latest incomplete one of the named ones, or of all in
/// this database, else the latest. An imported one cannot be resumed.
pub fn campaign_to_resume(store: &Store, named: Option<&str>) -> anyhow::Result<CampaignId> {
    let campaigns = store.campaigns()?;
    let is_meant = |one: &&CampaignSummary| named.is_none_or(|named| refers_to(named, one));
    for open in campaigns.iter().rev().filter(is_meant).filter(|one| one.done < one.planned) {
        if !store.is_imported(open.id)? {
            return Ok(open.id);
        }
    }
    campaign_id(store, named)
}

/// Returns the hint for a name that no campaign has.
fn similar_name(known: &[CampaignSummary], named: &str) -> String {
    let names: BTreeSet<&str> = known.iter().map(|one| one.name.as_str()).collect();
    let similar = config::did_you_mean(named, names.into_iter());
    similar.unwrap_or_else(|| "`fsarena list campaigns` shows all campaigns".to_owned())
}

/// Maximum number of sessions that are combined.
pub const MAX_SESSIONS: u32 = 20;

/// The campaigns that a command can name. Opens the database and lists its campaigns at most once.
pub struct Campaigns<'a> {
    globals: &'a GlobalArgs,
    store: OnceCell<Store>,
    known: OnceCell<Vec<CampaignSummary>>,
}

/// Returns the value of a cell, computed on first use.
fn once<T>(cell: &OnceCell<T>, compute: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<&T> {
    match cell.get() {
        Some(known) => Ok(known),
        None => {
            let computed = compute()?;
            Ok(cell.get_or_init(|| computed))
        }
    }
}

impl<'a> Campaigns<'a> {
    /// Selects from the user's database and from files.
    pub const fn new(globals: &'a GlobalArgs) -> Self {
        Self { globals, store: OnceCell::new(), known: OnceCell::new() }
    }

    fn store(&self) -> anyhow::Result<&Store> {
        once(&self.store, || paths::existing_store(self.globals))
    }

    fn known(&self) -> anyhow::Result<&[CampaignSummary]> {
        Ok(once(&self.known, || Ok(self.store()?.campaigns()?))?)
    }

    /// Loads the campaign that [`find`] would return.
    fn load(&self, named: &str) -> anyhow::Result<CampaignResults> {
        if is_file(named) {
            return Ok(from_file(Path::new(named))?.results);
        }
        let store = self.store()?;
        load(store, campaign_id(store, Some(named))?)
    }

    /// Loads the selected campaign. If it is selected by name, also loads its other complete
    /// sessions (equal plan, machine and system), latest first.
    pub fn sessions(&self, named: &str) -> anyhow::Result<Vec<CampaignResults>> {
        let mut sessions = vec![self.load(named)?];
        if !is_name(named) {
            return Ok(sessions);
        }
        for known in self.known()?.iter().rev() {
            let is_other = known.name == named && known.id.0 != sessions[0].id;
            if sessions.len() == MAX_SESSIONS as usize {
                break;
            }
            if !is_other || known.done < known.planned {
                continue;
            }
            let other = load(self.store()?, known.id)?;
            if differ_only_by_seed(&sessions[0], &other) {
                sessions.push(other);
            }
        }
        Ok(sessions)
    }

    /// Loads the selected campaign. If its name was run on several hosts, loads the campaigns of
    /// all hosts instead, but only complete rounds, because an incomplete one cannot be compared.
    pub fn by_host(&self, named: &str) -> anyhow::Result<Vec<CampaignResults>> {
        let latest = self.load(named)?;
        if !is_name(named) || latest.campaign.clock == Clock::Virtual {
            return Ok(vec![latest]);
        }
        let mut all = Vec::new();
        for known in self.known()?.iter().filter(|c| c.name == named) {
            let mut other = match known.id.0 == latest.id {
                true => latest.clone(),
                false => load(self.store()?, known.id)?,
            };
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
}

/// Finds campaigns by their numbers or names. Returns each once, in order of creation.
///
/// # Errors
/// Returns an error if none or several campaigns have a name. `verb` is the operation that failed.
pub fn find_all<'a>(
    known: &'a [CampaignSummary],
    named: &[String],
    verb: &str,
) -> Result<Vec<&'a CampaignSummary>, UsageError> {
    let mut found = BTreeMap::new();
    for named in named {
        let shown = line(named);
        let of_name: Vec<_> = known.iter().filter(|one| refers_to(named, one)).collect();
        match of_name[..] {
            [one] => {
                found.insert(one.id, one);
            }
            [] => {
                let hint = similar_name(known, named);
                let text = format!("cannot {verb} {shown}: no such campaign; {hint}");
                return Err(UsageError(text));
            }
            _ => {
                let numbers: Vec<String> = of_name.iter().map(|one| one.id.to_string()).collect();
                let (count, numbers) = (of_name.len(), numbers.join(" "));
                return Err(UsageError(format!(
                    "cannot {verb} {shown}: {count} campaigns have this name; give their numbers: fsarena {verb} {numbers}"
                )));
            }
        }
    }
    Ok(found.into_values().collect())
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
    let cannot = |error| UsageError(format!("cannot read {shown}: {error}"));
    if campaign::store::is_sqlite(path).map_err(cannot)? {
        let store = paths::foreign_store(path)?;
        let results = load(&store, campaign_id(&store, None)?)?;
        return Ok(SelectedCampaign { results, store: Some(store) });
    }
    let bytes = plain_file::read(path, MAX_REPORT_SIZE).map_err(cannot)?;
    let results = report::read_json(&bytes).and_then(|results| {
        import::validate(&results)?;
        Ok(results)
    });
    let results = results.map_err(|why| {
        UsageError(format!(
            "{shown} is neither a database nor what `fsarena report --format json` writes: {why}"
        ))
    })?;
    Ok(SelectedCampaign { results, store: None })
}

/// Returns the description of a campaign in a sentence: its number and its name.
pub fn campaign_label(results: &CampaignResults) -> String {
    format!("campaign {} “{}”", results.id, line(&results.campaign.name))
}

#[cfg(test)]
mod tests {
    use campaign::run::in_memory;
    use config::Catalog;
    use model::{Campaign, Nanos};

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

    #[test]
    fn a_stored_campaign_that_no_report_could_show_is_refused() {
        const CONTENDERS: usize = 6000;
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(&directory.path().join("many.db")).unwrap();
        let ext4 = Catalog::builtin().unwrap().contender("ext4").unwrap();
        let mut campaign = in_memory::campaign(vec![ext4.clone()], 1);
        let plan: Vec<_> = campaign::plan::plan(&campaign);
        let id = |store: &mut Store, campaign: &Campaign| {
            let id = store.begin_campaign(campaign, &plan, Nanos(1)).unwrap();
            store.begin_session(id, &in_memory::environment(), Nanos(2)).unwrap();
            store.record(id, &plan[0], &in_memory::ok_result(&in_memory::test())).unwrap();
            id
        };
        let one = id(&mut store, &campaign);
        assert_eq!(load(&store, one).unwrap().cells.len(), plan.len());
        let more = (1..CONTENDERS)
            .map(|number| model::Contender { name: format!("c{number}"), ..ext4.clone() });
        campaign.contenders.extend(more);
        let many = id(&mut store, &campaign);
        let refused = load(&store, many).unwrap_err().to_string();
        assert!(
            refused.starts_with("cannot report on campaign 2: more than 1414 contenders"),
            "{refused}"
        );
    }
}
