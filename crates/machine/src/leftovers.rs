//! What killed processes have left on a machine: the directories of campaigns and calibrations that nobody holds.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::{Bytes, Campaign, CampaignId};
use sys::trusted::Directory;
use wire::machine::LeftDirectory;

use crate::error::Refused;
use crate::local::Local;
use crate::work_place::{CALIBRATION, WorkPlace, is_of_a_campaign};

/// A unit of `st_blocks` (stat(2)).
const BLOCK: u64 = 512;

/// What is left in these directories, each once. What cannot be looked at holds nothing.
pub fn find(places: &[PathBuf]) -> Vec<LeftDirectory> {
    let mut left: Vec<_> = places.iter().flat_map(|place| left_in(place)).collect();
    left.sort();
    left.dedup_by(|a, b| a.directory == b.directory);
    left
}

fn left_in(place: &Path) -> Vec<LeftDirectory> {
    let Ok(trusted) = Directory::open(place) else {
        return Vec::new();
    };
    let entries = fs::read_dir(trusted.path()).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let names =
        names.filter(|name| may_be_left(name) && WorkPlace::is_left(&trusted, name.as_ref()));
    let left = names.map(|name| {
        let directory = trusted.path().join(&name);
        LeftDirectory {
            size: size(&directory),
            place: place.to_owned(),
            directory,
            name,
        }
    });
    left.collect()
}

fn may_be_left(name: &str) -> bool {
    name == CALIBRATION || is_of_a_campaign(name)
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

/// Takes a directory and removes it, with all that its campaign has left elsewhere.
///
/// # Errors
/// When it is none that could have been left, something cannot be removed, or another process has it.
pub fn remove(directory: &Path, campaign: Option<(CampaignId, &Campaign)>) -> anyhow::Result<()> {
    if let Some((id, campaign)) = campaign {
        return Local::sweep(id, campaign);
    }
    let around = directory.parent().unwrap_or(Path::new("/"));
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    if !may_be_left(&name) {
        let shown = directory.display();
        return Err(Refused(format!("{shown} is nothing that fsarena makes")).into());
    }
    Ok(WorkPlace::hold(around, &name, "another process uses it")?.remove()?)
}
