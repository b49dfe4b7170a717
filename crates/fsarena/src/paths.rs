//! Where things are kept, and opening what is kept there.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::Context;
use catalog::Catalog;
use model::{NoUserDirectory, UserDirectory};
use store::{CampaignId, Store};

use crate::cli::Globals;
use crate::exit::{BadInput, Refused};

/// The database of campaigns: `--db`, or `fsarena.db` in the user's data directory.
pub fn database(globals: &Globals) -> anyhow::Result<PathBuf> {
    if let Some(path) = &globals.db {
        return absolute("--db", path);
    }
    let directory = UserDirectory::Data.locate(|name| env::var_os(name));
    let directory = directory.map_err(|error| match error {
        NoUserDirectory::Unset(_) => Refused(format!("{error}, or give --db")).into(),
        NoUserDirectory::NotUtf8(_) => anyhow::Error::from(error),
    });
    Ok(directory?.join("fsarena.db"))
}

/// Where images and mount points are made unless the user says otherwise: beside the database.
pub fn work_directory(globals: &Globals) -> anyhow::Result<PathBuf> {
    let database = database(globals)?;
    Ok(database.parent().unwrap_or(Path::new("/")).to_owned())
}

/// Where the page of a campaign is written after a run.
pub fn report_file(globals: &Globals, id: CampaignId) -> anyhow::Result<PathBuf> {
    let name = format!("campaign-{id}.html");
    Ok(work_directory(globals)?.join("reports").join(name))
}

/// The absolute path of what an option names. A campaign, which is stored, holds paths in UTF-8 alone.
pub fn absolute(option: &str, path: &Path) -> anyhow::Result<PathBuf> {
    let absolute = std::path::absolute(path)
        .with_context(|| format!("{option} {}: the working directory is gone", path.display()))?;
    require_utf8(option, &absolute)?;
    Ok(absolute)
}

/// Refuses a path, to which an option led, that is not UTF-8.
pub fn require_utf8(option: &str, path: &Path) -> Result<(), BadInput> {
    match path.to_str() {
        Some(_) => Ok(()),
        None => {
            let path = path.display();
            Err(BadInput(format!(
                "{option} leads to {path}, which is not UTF-8: give another path"
            )))
        }
    }
}

/// The store, to write to; made where there is none.
pub fn store(globals: &Globals) -> anyhow::Result<Store> {
    Ok(Store::open(&database(globals)?)?)
}

/// The store of earlier campaigns, to look at; where there is none, that is said and nothing is made.
pub fn existing_store(globals: &Globals) -> anyhow::Result<Store> {
    existing_store_at(&database(globals)?)
}

/// The store in a file, to look at.
pub fn existing_store_at(path: &Path) -> anyhow::Result<Store> {
    let none = || {
        let path = path.display();
        BadInput(format!("no campaign was run yet: there is none in {path}"))
    };
    Ok(Store::open_to_read(path)?.ok_or_else(none)?)
}

/// The campaign that is meant: the one named, which need not be there, or the latest.
pub fn campaign_id(store: &Store, named: Option<i64>) -> anyhow::Result<CampaignId> {
    let id = match named {
        Some(id) => Some(CampaignId(id)),
        None => store.latest()?,
    };
    id.ok_or_else(|| BadInput("no campaign was run yet".into()).into())
}

/// The catalog with the user's own files over it.
pub fn catalog(globals: &Globals) -> anyhow::Result<Catalog> {
    let mut catalog = Catalog::builtin()?;
    if let Some(directory) = &globals.catalog {
        catalog.overlay(directory)?;
    }
    Ok(catalog)
}

/// The command that goes on with a campaign.
pub fn resume_line(globals: &Globals, id: CampaignId) -> String {
    let db = globals
        .db
        .as_ref()
        .map(|db| format!(" --db {}", db.display()))
        .unwrap_or_default();
    format!("fsarena resume {id}{db}")
}
