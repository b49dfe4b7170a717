//! What campaigns that were killed have left in work directories: images, most of all. The next campaign removes what
//! those of its own database have left, and names the rest.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use machine::{AgentTransport, CALIBRATION, unique_name};
use model::Campaign;
use store::{CampaignId, Store};
use wire::machine::StaleDirectory;

use crate::args::cli::GlobalArgs;
use crate::output::exit;
use crate::paths;

/// Where to look for what was left.
#[derive(Clone, Copy)]
pub struct SearchDirs<'a> {
    /// The machine.
    pub reach: &'a dyn AgentTransport,
    /// Its name, where it is another one.
    pub host: Option<&'a str>,
    /// A directory in which campaigns work, beside those of the stored ones.
    pub work_dir: &'a Path,
}

/// A directory that a killed process has left.
pub struct Leftover {
    found: StaleDirectory,
    whose: Owner,
}

/// Who made it.
enum Owner {
    /// A campaign of this database.
    Campaign(CampaignId, Box<Campaign>),
    Calibration,
    /// A campaign of which nothing is known here.
    Unknown,
}

/// What is left on a machine in the work directories of all stored campaigns that ran there, and in one more. Where
/// nothing can be looked at, nothing is found.
///
/// # Errors
/// When the machine cannot be reached.
pub fn find(store: Option<&Store>, searched: &SearchDirs<'_>) -> anyhow::Result<Vec<Leftover>> {
    let campaigns = store.and_then(|store| store.definitions().ok());
    let mut campaigns = campaigns.unwrap_or_default();
    campaigns.retain(|(_, campaign)| campaign.host.as_deref() == searched.host);
    let places = campaigns.iter().map(|(_, c)| c.work_dir.clone());
    let places: BTreeSet<PathBuf> = places.chain([searched.work_dir.to_owned()]).collect();
    let left = machine::find_stale(searched.reach, places.into_iter().collect())?;
    let left = left.into_iter().map(|found| Leftover {
        whose: whose(&found, &campaigns),
        found,
    });
    Ok(left.collect())
}

fn whose(found: &StaleDirectory, campaigns: &[(CampaignId, Campaign)]) -> Owner {
    if found.name == CALIBRATION {
        return Owner::Calibration;
    }
    let is_its_own = |(id, campaign): &&(CampaignId, Campaign)| {
        found.place == campaign.work_dir && found.name == unique_name(campaign, *id)
    };
    match campaigns.iter().find(is_its_own) {
        Some((id, campaign)) => Owner::Campaign(*id, Box::new(campaign.clone())),
        None => Owner::Unknown,
    }
}

/// Removes what is left on a machine of this database's campaigns but one, and says so; names what else is left.
///
/// # Errors
/// When the machine cannot be reached.
pub fn remove(
    store: &Store,
    searched: &SearchDirs<'_>,
    but: Option<CampaignId>,
    globals: &GlobalArgs,
    say: &dyn Fn(&str),
) -> anyhow::Result<()> {
    for left in find(Some(store), searched)? {
        match &left.whose {
            Owner::Campaign(id, _) if Some(*id) == but => {}
            Owner::Unknown => say(&left.describe(globals)),
            _ => say(&left.removed(searched.reach)),
        }
    }
    Ok(())
}

impl Leftover {
    /// Removes it, and says in a line that this was done, or why not.
    fn removed(&self, reach: &dyn AgentTransport) -> String {
        let campaign = match &self.whose {
            Owner::Campaign(id, campaign) => Some((*id, &**campaign)),
            Owner::Calibration | Owner::Unknown => None,
        };
        let (whose, size) = (self.whose(), self.found.size);
        let shown = self.found.directory.display();
        match machine::remove_stale(reach, &self.found.directory, campaign) {
            Ok(()) => format!("removed {shown}, which {whose} left when it was killed ({size})"),
            Err(error) => {
                let why = exit::error_chain(&error);
                format!("cannot remove {shown}, which {whose} left ({size}): {why}")
            }
        }
    }

    /// What it is, how large, and what removes it, in a line.
    pub fn describe(&self, globals: &GlobalArgs) -> String {
        let shown = self.found.directory.display();
        let (whose, size) = (self.whose(), self.found.size);
        let advice = match &self.whose {
            Owner::Campaign(id, campaign) => {
                let resume = paths::resume_line(globals, *id, campaign.device.as_deref());
                format!("`{resume}` goes on with it, the next run in this database removes it")
            }
            Owner::Calibration => "the next `fsarena run` removes it".to_owned(),
            Owner::Unknown => format!("to remove it: rm -r {shown}"),
        };
        format!("{shown} ({size}) was left by {whose} that was killed; {advice}")
    }

    fn whose(&self) -> String {
        match &self.whose {
            Owner::Campaign(id, _) => format!("campaign {id}"),
            Owner::Calibration => "a calibration".to_owned(),
            Owner::Unknown => "a campaign of another database".to_owned(),
        }
    }
}
