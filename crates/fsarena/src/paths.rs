//! Where things are kept, and opening what is kept there.

use std::path::{Path, PathBuf};

use anyhow::Context;
use catalog::Catalog;
use store::{CampaignId, Store};

use crate::cli::Globals;
use crate::exit::BadInput;

/// The user's data directory for fsarena (`$XDG_DATA_HOME/fsarena`).
pub fn data_directory() -> anyhow::Result<PathBuf> {
    let directories = directories::ProjectDirs::from("", "", "fsarena")
        .context("cannot find a data directory: set HOME, or give --db")?;
    Ok(directories.data_dir().to_owned())
}

/// The database of campaigns.
pub fn database(globals: &Globals) -> anyhow::Result<PathBuf> {
    globals
        .db
        .clone()
        .map_or_else(|| Ok(data_directory()?.join("fsarena.db")), Ok)
}

/// Where images and mount points are made unless the user says otherwise: beside the database.
pub fn work_directory(globals: &Globals) -> anyhow::Result<PathBuf> {
    let database = std::path::absolute(database(globals)?)?;
    Ok(database.parent().unwrap_or(Path::new("/")).to_owned())
}

/// Where the page of a campaign is written after a run.
pub fn report_file(globals: &Globals, id: CampaignId) -> anyhow::Result<PathBuf> {
    let database = std::path::absolute(database(globals)?)?;
    let directory = database.parent().unwrap_or(Path::new("/"));
    Ok(directory
        .join("reports")
        .join(format!("campaign-{id}.html")))
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
