//! Stale directories on a machine: those of campaigns and calibrations whose process was killed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::wire::machine::StaleDirectory;
use model::{Bytes, Campaign, CampaignId};
use sys::fs::safe_path::SafeDir;

use crate::error::EnvironmentError;
use crate::host::campaign_dir::{CALIBRATION, CampaignDir, is_campaign_name};
use crate::host::local::LocalBackend;

/// Unit of `st_blocks`, in bytes (stat(2)).
const BLOCK: u64 = 512;

/// Returns the stale directories in these places without duplicates. Skips places that cannot be
/// read.
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
        StaleDirectory { size: size(&directory), place: place.to_owned(), directory, name }
    });
    left.collect()
}

fn may_be_left(name: &str) -> bool {
    name == CALIBRATION || is_campaign_name(name)
}

/// Returns the disk usage of a directory. Images are sparse.
fn size(directory: &Path) -> Bytes {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => size(&entry.path()).0,
        Ok(found) => found.blocks() * BLOCK,
        Err(_) => 0,
    });
    Bytes(sizes.sum())
}

/// Locks a stale directory and removes it, including all leftovers of its campaign in other
/// locations.
///
/// # Errors
/// Returns an error if the directory cannot be a stale one, a removal fails, or another process
/// uses the directory.
pub fn remove(directory: &Path, campaign: Option<(CampaignId, &Campaign)>) -> anyhow::Result<()> {
    if let Some((id, campaign)) = campaign {
        return LocalBackend::sweep(id, campaign);
    }
    let around = directory.parent().unwrap_or(Path::new("/"));
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    if !may_be_left(&name) {
        let shown = directory.display();
        return Err(
            EnvironmentError(format!("cannot remove {shown}: not a directory of fsarena")).into()
        );
    }
    Ok(CampaignDir::acquire_named(around, &name, "remove it")?.remove()?)
}
