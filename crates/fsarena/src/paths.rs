//! Where things are kept, and opening what is kept there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Context;
use catalog::Catalog;
use store::{CampaignId, Store};
use sys::trusted::{Directory, Untrusted};

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

/// The directory of the pages that are written after runs, which is made where there is none.
pub fn reports(globals: &Globals) -> anyhow::Result<Directory> {
    let (directory, _) = place_of(&database(globals)?)?;
    Ok(Directory::make(&directory)?.subdirectory("reports")?)
}

/// The store, made where there is none, in a place that nobody else can tamper with.
pub fn store(globals: &Globals) -> anyhow::Result<Store> {
    let path = own_database(&database(globals)?, Directory::make)?;
    Ok(Store::open(&path)?)
}

/// The path of a database that belongs to this user, with all that SQLite keeps beside it.
fn own_database(
    path: &Path,
    open: impl FnOnce(&Path) -> Result<Directory, Untrusted>,
) -> anyhow::Result<PathBuf> {
    let (directory, name) = place_of(path)?;
    let directory = open(&directory)?;
    directory.file_or_new(&name)?;
    let is_common = directory.is_common()?;
    for suffix in ["-journal", "-wal", "-shm"] {
        let mut beside = name.clone();
        beside.push(suffix);
        directory.file(&beside)?;
        // Where others can make files, they could make these, in which they would say what was stored.
        if is_common && suffix != "-journal" {
            directory.file_or_new(&beside)?;
        }
    }
    Ok(directory.path().join(name))
}

/// The directory and the name of a file.
fn place_of(path: &Path) -> anyhow::Result<(PathBuf, OsString)> {
    let path = std::path::absolute(path)?;
    let name = path.file_name().map(OsString::from);
    let name = name.ok_or_else(|| BadInput(format!("{} names no file", path.display())))?;
    Ok((path.parent().unwrap_or(Path::new("/")).to_owned(), name))
}

/// The store of earlier campaigns; where there is none, that is said and nothing is made.
pub fn existing_store(globals: &Globals) -> anyhow::Result<Store> {
    let path = database(globals)?;
    let none = || {
        BadInput(format!(
            "no campaign was run yet: there is no {}",
            path.display()
        ))
    };
    Ok(store_if_any(globals)?.ok_or_else(none)?)
}

/// The same, where there is one. What belongs to somebody else is read and never written to.
pub fn store_if_any(globals: &Globals) -> anyhow::Result<Option<Store>> {
    let path = database(globals)?;
    if !path.exists() {
        return Ok(None);
    }
    let store = match own_database(&path, Directory::open) {
        Ok(path) => Store::open_existing(&path)?,
        Err(error) if error.is::<Untrusted>() => Store::open_for_reading(&path)?,
        Err(error) => return Err(error),
    };
    Ok(Some(store))
}

/// The campaign that is meant: the one named, or the latest.
pub fn campaign_id(store: &Store, named: Option<i64>) -> anyhow::Result<CampaignId> {
    let known: Vec<CampaignId> = store.campaigns()?.into_iter().map(|c| c.id).collect();
    match named.map(CampaignId) {
        Some(id) if known.contains(&id) => Ok(id),
        Some(id) => Err(BadInput(format!(
            "there is no campaign {id}: see `fsarena list campaigns`"
        ))
        .into()),
        None => store
            .latest()?
            .ok_or_else(|| BadInput("no campaign was run yet".into()).into()),
    }
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
