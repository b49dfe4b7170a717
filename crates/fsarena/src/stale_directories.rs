//! Directories that killed campaigns left in work directories, mostly images. The next campaign
//! removes those that belong to its database and lists the others.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use backend::{AgentTransport, CALIBRATION, unique_name};
use campaign::run::StopFlag;
use campaign::store::{CampaignId, Store};
use model::Campaign;
use model::wire::machine::StaleDirectory;

use crate::args::cli::GlobalArgs;
use crate::commands::cluster::work::worker_directory;
use crate::output::exit;
use crate::paths;

/// Places to search for leftover directories.
#[derive(Clone, Copy)]
pub struct SearchDirs<'a> {
    /// The machine.
    pub reach: &'a dyn AgentTransport,
    /// Name of the host, or `None` for this machine.
    pub host: Option<&'a str>,
    /// Work directory to search in addition to the work directories of stored campaigns.
    pub work_dir: &'a Path,
    /// Ends every wait for the machine.
    pub stop: &'a StopFlag,
}

/// A directory left by a killed process.
pub struct Leftover {
    found: StaleDirectory,
    whose: DirectoryOwner,
}

/// Creator of a leftover directory.
enum DirectoryOwner {
    /// A campaign of this database.
    Campaign(CampaignId, Box<Campaign>),
    Calibration,
    /// A worker of a plan.
    Worker,
    /// A campaign that is not in this database.
    Unknown,
}

/// Finds leftover directories on a machine, in `work_dir` and in the work directories of all stored
/// campaigns that ran there. A directory that cannot be read counts as empty.
///
/// # Errors
/// Returns an error if the machine cannot be reached.
pub fn find(store: Option<&Store>, searched: &SearchDirs<'_>) -> anyhow::Result<Vec<Leftover>> {
    let campaigns = store.and_then(|store| store.definitions().ok());
    let mut campaigns = campaigns.unwrap_or_default();
    campaigns.retain(|(_, campaign)| campaign.host.as_deref() == searched.host);
    let places = campaigns.iter().map(|(_, c)| c.work_dir.clone());
    let workers = searched.host.is_none().then(worker_directory);
    let places: BTreeSet<PathBuf> =
        places.chain([searched.work_dir.to_owned()]).chain(workers).collect();
    let left = backend::find_stale(searched.reach, places.into_iter().collect(), searched.stop)?;
    let left = left.into_iter().map(|found| Leftover { whose: whose(&found, &campaigns), found });
    Ok(left.collect())
}

fn whose(found: &StaleDirectory, campaigns: &[(CampaignId, Campaign)]) -> DirectoryOwner {
    if found.name == CALIBRATION {
        return DirectoryOwner::Calibration;
    }
    if found.place == worker_directory() {
        return DirectoryOwner::Worker;
    }
    let is_its_own = |(id, campaign): &&(CampaignId, Campaign)| {
        found.place == campaign.work_dir && found.name == unique_name(campaign, *id)
    };
    match campaigns.iter().find(is_its_own) {
        Some((id, campaign)) => DirectoryOwner::Campaign(*id, Box::new(campaign.clone())),
        None => DirectoryOwner::Unknown,
    }
}

/// Removes the leftovers of campaigns of this database, except campaign `but`, and reports each
/// removal. Lists the leftovers of other databases.
///
/// # Errors
/// Returns an error if the machine cannot be reached.
pub fn remove(
    store: &Store,
    searched: &SearchDirs<'_>,
    but: Option<CampaignId>,
    globals: &GlobalArgs,
    say: &dyn Fn(&str),
) -> anyhow::Result<()> {
    for left in find(Some(store), searched)? {
        match &left.whose {
            DirectoryOwner::Campaign(id, _) if Some(*id) == but => {}
            DirectoryOwner::Unknown => say(&left.describe(globals)),
            _ => say(&left.removed(searched)),
        }
    }
    Ok(())
}

impl Leftover {
    /// Removes the directory. Returns a one-line report of the removal or of its failure.
    fn removed(&self, searched: &SearchDirs<'_>) -> String {
        let campaign = match &self.whose {
            DirectoryOwner::Campaign(id, campaign) => Some((*id, &**campaign)),
            DirectoryOwner::Calibration | DirectoryOwner::Worker | DirectoryOwner::Unknown => None,
        };
        let (whose, size) = (self.whose(), self.found.size);
        let shown = self.found.directory.display();
        match backend::remove_stale(searched.reach, &self.found.directory, campaign, searched.stop)
        {
            Ok(()) => format!("removed {shown}, which {whose} left when it was killed ({size})"),
            Err(error) => {
                let why = exit::error_chain(&error);
                format!("cannot remove {shown}, which {whose} left ({size}): {why}")
            }
        }
    }

    /// Describes the leftover in one line: path, size, creator, and the command that removes it.
    pub fn describe(&self, globals: &GlobalArgs) -> String {
        let shown = self.found.directory.display();
        let (whose, size) = (self.whose(), self.found.size);
        let advice = match &self.whose {
            DirectoryOwner::Campaign(id, campaign) => {
                let resume = paths::resume_line(globals, *id, campaign.device.as_deref());
                format!("`{resume}` resumes it, the next run with this database removes it")
            }
            DirectoryOwner::Calibration | DirectoryOwner::Worker => {
                "the next `fsarena run` removes it".to_owned()
            }
            DirectoryOwner::Unknown => {
                format!("to remove it: rm -r {}", paths::shell_path(&self.found.directory))
            }
        };
        format!("{shown} ({size}) was left by {whose} that was killed; {advice}")
    }

    fn whose(&self) -> String {
        match &self.whose {
            DirectoryOwner::Campaign(id, _) => format!("campaign {id}"),
            DirectoryOwner::Calibration => "a calibration".to_owned(),
            DirectoryOwner::Worker => "a worker of a plan".to_owned(),
            DirectoryOwner::Unknown => "a campaign of another database".to_owned(),
        }
    }
}
