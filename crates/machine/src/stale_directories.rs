//! What killed processes have left on a machine: the directories of campaigns and calibrations that nobody holds.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::{Bytes, Campaign, CampaignId};
use sys::safe_path::SafeDir;
use wire::machine::StaleDirectory;

use crate::campaign_dir::{CALIBRATION, CampaignDir, is_campaign_name};
use crate::error::EnvironmentError;
use crate::local::LocalBackend;

/// A unit of `st_blocks` (stat(2)).
const BLOCK: u64 = 512;

/// What is left in these directories, each once. What cannot be looked at holds nothing.
pub fn find_stale(places: &[PathBuf]) -> Vec<StaleDirectory> {
    let mut left: Vec<_> = places.iter().flat_map(|place| left_in(place)).collect();
    left.sort();
    left.dedup_by(|a, b| a.directory == b.directory);
    left
}

fn left_in(place: &Path) -> Vec<StaleDirectory> {
    let Ok(trusted) = SafeDir::open(place) else {
        return Vec::new();
    };
    let entries = fs::read_dir(trusted.path()).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let names =
        names.filter(|name| may_be_left(name) && CampaignDir::is_stale(&trusted, name.as_ref()));
    let left = names.map(|name| {
        let directory = trusted.path().join(&name);
        StaleDirectory {
            size: size(&directory),
            place: place.to_owned(),
            directory,
            name,
        }
    });
    left.collect()
}

fn may_be_left(name: &str) -> bool {
    name == CALIBRATION || is_campaign_name(name)
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
        return LocalBackend::sweep(id, campaign);
    }
    let around = directory.parent().unwrap_or(Path::new("/"));
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    if !may_be_left(&name) {
        let shown = directory.display();
        return Err(EnvironmentError(format!("{shown} is nothing that fsarena makes")).into());
    }
    Ok(CampaignDir::acquire_named(around, &name, "another process uses it")?.remove()?)
}
