//! What campaigns that were killed have left in work directories: images, most of all. The next campaign removes what
//! those of its own database have left, and names the rest.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::{Bytes, Campaign};
use store::{CampaignId, Store};
use sys::trusted::Directory;

use crate::arguments::cli::Globals;
use crate::output::exit;
use crate::paths;
use machine::{CALIBRATION, Local, WorkPlace, is_of_a_campaign, unique_name};

/// A unit of `st_blocks` (stat(2)).
const BLOCK: u64 = 512;

/// A directory that a killed process has left.
pub struct Leftover {
    directory: PathBuf,
    size: Bytes,
    whose: Whose,
}

/// Who made it.
enum Whose {
    /// A campaign of this database.
    Campaign(CampaignId, Box<Campaign>),
    Calibration,
    /// A campaign of which nothing is known here.
    Unknown,
}

/// What is left in the work directories of all stored campaigns, and in one more. Where nothing can be looked at,
/// nothing is found.
pub fn find(store: Option<&Store>, work_dir: &Path) -> Vec<Leftover> {
    let campaigns = store.and_then(|store| store.definitions().ok());
    let campaigns = campaigns.unwrap_or_default();
    let mut places: BTreeSet<&Path> = campaigns.iter().map(|(_, c)| &*c.work_dir).collect();
    places.insert(work_dir);
    let places = places.into_iter().filter_map(|p| Directory::open(p).ok());
    let mut left: Vec<Leftover> = places
        .flat_map(|place| left_in(&place, &campaigns))
        .collect();
    left.sort_by(|a, b| a.directory.cmp(&b.directory));
    left.dedup_by(|a, b| a.directory == b.directory);
    left
}

fn left_in(place: &Directory, campaigns: &[(CampaignId, Campaign)]) -> Vec<Leftover> {
    let entries = fs::read_dir(place.path()).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let names = names.filter(|name| name == CALIBRATION || is_of_a_campaign(name));
    let left = names.filter(|name| WorkPlace::is_left(place, name.as_ref()));
    left.map(|name| {
        let directory = place.path().join(&name);
        Leftover {
            size: size(&directory),
            whose: whose(&directory, &name, campaigns),
            directory,
        }
    })
    .collect()
}

fn whose(directory: &Path, name: &str, campaigns: &[(CampaignId, Campaign)]) -> Whose {
    if name == CALIBRATION {
        return Whose::Calibration;
    }
    let is_its_own = |(id, campaign): &&(CampaignId, Campaign)| {
        let own = WorkPlace::directory(campaign, *id);
        name == unique_name(campaign, *id) && own.canonicalize().is_ok_and(|own| own == directory)
    };
    match campaigns.iter().find(is_its_own) {
        Some((id, campaign)) => Whose::Campaign(*id, Box::new(campaign.clone())),
        None => Whose::Unknown,
    }
}

/// What a directory takes on the disk: an image has holes.
fn size(directory: &Path) -> Bytes {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => size(&entry.path()).0,
        Ok(found) => found.blocks() * BLOCK,
        Err(_) => 0,
    });
    Bytes(sizes.sum())
}

/// Removes what is left of this database's campaigns but one, and says so; names what else is left.
pub fn remove(
    store: &Store,
    work_dir: &Path,
    but: Option<CampaignId>,
    globals: &Globals,
    say: &dyn Fn(&str),
) {
    for left in find(Some(store), work_dir) {
        match &left.whose {
            Whose::Campaign(id, _) if Some(*id) == but => {}
            Whose::Unknown => say(&left.words(globals)),
            _ => say(&left.removed()),
        }
    }
}

impl Leftover {
    /// Removes it, and says in a line that this was done, or why not.
    fn removed(&self) -> String {
        let removed = match &self.whose {
            Whose::Campaign(id, campaign) => Local::sweep(*id, campaign),
            Whose::Calibration | Whose::Unknown => remove_directory(&self.directory),
        };
        let (whose, size) = (self.whose(), self.size);
        let shown = self.directory.display();
        match removed {
            Ok(()) => format!("removed {shown}, which {whose} left when it was killed ({size})"),
            Err(error) => {
                let why = exit::whole(&error);
                format!("cannot remove {shown}, which {whose} left ({size}): {why}")
            }
        }
    }

    /// What it is, how large, and what removes it, in a line.
    pub fn words(&self, globals: &Globals) -> String {
        let shown = self.directory.display();
        let (whose, size) = (self.whose(), self.size);
        let advice = match &self.whose {
            Whose::Campaign(id, campaign) => {
                let resume = paths::resume_line(globals, *id, campaign.device.as_deref());
                format!("`{resume}` goes on with it, the next run in this database removes it")
            }
            Whose::Calibration => "the next `fsarena run` removes it".to_owned(),
            Whose::Unknown => format!("to remove it: rm -r {shown}"),
        };
        format!("{shown} ({size}) was left by {whose} that was killed; {advice}")
    }

    fn whose(&self) -> String {
        match &self.whose {
            Whose::Campaign(id, _) => format!("campaign {id}"),
            Whose::Calibration => "a calibration".to_owned(),
            Whose::Unknown => "a campaign of another database".to_owned(),
        }
    }
}

/// Takes a directory and removes it.
fn remove_directory(directory: &Path) -> anyhow::Result<()> {
    let around = directory.parent().unwrap_or(Path::new("/"));
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    Ok(WorkPlace::hold(around, &name, "another process uses it")?.remove()?)
}
