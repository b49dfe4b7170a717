//! Source archives that commands of suites unpack: copied to the host that runs the cells, and
//! linked in a directory.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::Context;
use campaign::run::StopFlag;
use model::wire::machine::{HostReply, HostRequest};
use model::{CachedArchive, Campaign, SourceArchive, Suite};

use crate::error::{EnvironmentError, UsageError};
use crate::remote::connection::{AgentConnection, AgentTransport};
use crate::remote::user_prompt::UserPrompt;

/// Subdirectory of a campaign directory that contains the archives.
pub const DIRECTORY: &str = "archives";

/// Returns the archives of some suites without duplicates.
///
/// # Errors
/// Returns an error if two suites use one name for different archives, because commands find
/// archives by name.
pub fn required_by(suites: &[Suite]) -> anyhow::Result<Vec<SourceArchive>> {
    let mut all: Vec<SourceArchive> = Vec::new();
    for archive in suites.iter().flat_map(|suite| &suite.archives) {
        match all.iter().find(|other| other.name == archive.name) {
            None => all.push(archive.clone()),
            Some(other) if other == archive => {}
            Some(_) => {
                let name = &archive.name;
                return Err(UsageError(format!(
                    "two suites call different archives `{name}`: run them one after the other"
                ))
                .into());
            }
        }
    }
    Ok(all)
}

/// Makes the machine download archives missing from its cache. Returns the archives that it has.
///
/// # Errors
/// Returns an error if a download fails, the user asks to stop, or the machine cannot be reached.
pub fn fetch_archives(
    reach: &dyn AgentTransport,
    wanted: Vec<SourceArchive>,
    dialogue: &dyn UserPrompt,
    stop: &StopFlag,
) -> anyhow::Result<Vec<CachedArchive>> {
    let mut connection = AgentConnection::open(reach, stop)?;
    connection.send(HostRequest::FetchArchives(wanted))?;
    let is_it = |answer: &HostReply| matches!(answer, HostReply::Archives(_));
    match connection.wait_for(is_it, dialogue, &mut |_| {})? {
        HostReply::Archives(held) => Ok(held),
        _ => unreachable!("nothing else is waited for"),
    }
}

/// Downloads archives missing from the cache of this machine.
///
/// # Errors
/// Returns an error if a download fails or the user asks to stop.
pub fn fetch_local(
    wanted: &[SourceArchive],
    stop: &StopFlag,
    say: &mut dyn FnMut(&str),
) -> anyhow::Result<Vec<CachedArchive>> {
    let cache = guest::cache_directory()?;
    let held = guest::fetch_archives(wanted, &cache, stop, say);
    held.map_err(|error| {
        EnvironmentError(format!("the suite cannot have its sources: {error}")).into()
    })
}

/// Returns the name and the path in the cache of each archive of a campaign.
///
/// # Errors
/// Returns an error if the version of an archive has changed since the campaign started.
pub fn campaign_archives(
    campaign: &Campaign,
    stop: &StopFlag,
    say: &mut dyn FnMut(&str),
) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let wanted = required_by(&campaign.suites)?;
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let held = fetch_local(&wanted, stop, say)?;
    if let Some(other) = held.iter().find(|held| !campaign.archives.contains(held)) {
        let began = campaign.archives.iter().find(|a| a.name == other.name);
        let began = began.map_or("none", |archive| &archive.version);
        return Err(EnvironmentError(format!(
            "cannot use archive `{}`: its version is {}, but the campaign started with {began}; start a new campaign",
            other.name, other.version
        ))
        .into());
    }
    let cache = guest::cache_directory()?;
    let place = |held: CachedArchive| (held.name.clone(), guest::archive_path(&held, &cache));
    Ok(held.into_iter().map(place).collect())
}

/// Links archives in a new directory, each under its name.
///
/// # Errors
/// Returns an error if the directory cannot be created or written.
pub fn link_into(archives: &[(String, PathBuf)], directory: &Path) -> anyhow::Result<()> {
    let failed = || format!("cannot link archives in {}", directory.display());
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).with_context(failed);
        }
        _ => fs::create_dir(directory).with_context(failed)?,
    }
    for (name, path) in archives {
        symlink(path, directory.join(name)).with_context(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linking_archives_again_keeps_their_names() {
        let place = tempfile::tempdir().unwrap();
        let content = place.path().join("content");
        fs::write(&content, "sources").unwrap();
        let directory = place.path().join(DIRECTORY);
        for _ in 0..2 {
            link_into(&[("sed".to_owned(), content.clone())], &directory).unwrap();
            assert_eq!(fs::read(directory.join("sed")).unwrap(), b"sources");
        }
    }
}
