//! Locations of databases, work directories, reports and catalogs, and functions that open them.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use backend::{AgentTransport, LocalTransport, SshTransport, TogetherTransport};
use campaign::run::StopFlag;
use campaign::store::{CampaignId, Store};
use config::Catalog;
use model::{SizeProfile, UserDir, UserDirError};
use sys::fs::safe_path::{SafeDir, UntrustedPath};

use crate::args::cli::GlobalArgs;
use crate::output::exit::{EnvironmentError, UsageError};
use crate::settings::external_programs;
use crate::settings::select_campaign::NO_CAMPAIGN;

/// File stem of the default database.
const DEFAULT_PATHS: &str = "fsarena";

/// Returns the path of the campaign database: `--db`, or `fsarena.db` in the user's data directory.
pub fn database(globals: &GlobalArgs) -> anyhow::Result<PathBuf> {
    if let Some(path) = &globals.db {
        let path = absolute("--db", path)?;
        let directory = path.parent().unwrap_or(Path::new("/"));
        if directory.exists() && !directory.is_dir() {
            let shown = directory.display();
            let why = format!("--db: {shown} is not a directory; name another path");
            return Err(UsageError(why).into());
        }
        if !directory.exists() {
            let (shown, create) = (directory.display(), shell_path(directory));
            let why = format!("--db: {shown} does not exist; create it with `mkdir -p {create}`");
            return Err(UsageError(why).into());
        }
        return Ok(path);
    }
    Ok(data_directory()?.join(DEFAULT_PATHS).with_extension("db"))
}

/// Returns the user's data directory for fsarena.
pub fn data_directory() -> anyhow::Result<PathBuf> {
    let directory = UserDir::Data.resolve(|name| env::var_os(name));
    directory.map_err(|error| match error {
        UserDirError::Unset(_) => EnvironmentError(format!("{error}, or give --db")).into(),
        UserDirError::NotUtf8(_) => anyhow::Error::from(error),
    })
}

/// Default directory of images and mount points on another host.
const FAR_WORK_DIRECTORY: &str = "/var/lib/fsarena";

/// Returns the directory of images and mount points that the user gave, else the default one.
///
/// # Errors
/// Returns an error if the given directory does not exist on this machine. A wrong path would
/// otherwise become a new directory, probably on another disk.
pub fn given_work_directory(
    given: Option<&Path>,
    host: Option<&str>,
    globals: &GlobalArgs,
) -> anyhow::Result<PathBuf> {
    let Some(given) = given else {
        return work_directory(host, globals);
    };
    let directory = absolute("--work-dir", given)?;
    let found = directory.metadata().map_err(|error| error.kind());
    match found {
        Err(ErrorKind::NotFound) if host.is_none() => {
            let shown = directory.display();
            let create = format!("mkdir -p {}", shell_path(&directory));
            let why = format!("--work-dir {shown} does not exist; create it with `{create}`");
            Err(UsageError(why).into())
        }
        Ok(found) if !found.is_dir() && host.is_none() => {
            let shown = directory.display();
            let why = format!("--work-dir {shown} is not a directory; name another path");
            Err(UsageError(why).into())
        }
        _ => Ok(directory),
    }
}

/// Returns the default directory of images and mount points: on this machine, the directory of the
/// database.
pub fn work_directory(host: Option<&str>, globals: &GlobalArgs) -> anyhow::Result<PathBuf> {
    if host.is_some() {
        return Ok(FAR_WORK_DIRECTORY.into());
    }
    let database = database(globals)?;
    Ok(database.parent().unwrap_or(Path::new("/")).to_owned())
}

/// Returns the directory of the report pages that are written after runs. Creates it if it does not
/// exist.
pub fn reports(globals: &GlobalArgs) -> anyhow::Result<SafeDir> {
    let (directory, _) = place_of(&database(globals)?)?;
    Ok(SafeDir::make(&directory)?.subdirectory("reports")?)
}

/// Returns the file name of the page of a campaign.
pub fn page(globals: &GlobalArgs, id: CampaignId) -> anyhow::Result<String> {
    Ok(page_of(&database(globals)?, id))
}

/// Returns the directory and the name of the file with the progress within the running cells.
///
/// # Errors
/// Returns an error if the database has no directory.
pub fn live_file(globals: &GlobalArgs, id: CampaignId) -> anyhow::Result<(PathBuf, String)> {
    let database = database(globals)?;
    let (directory, name) = place_of(&database)?;
    Ok((directory, format!("{}.live-{id}.json", name.to_string_lossy())))
}

/// Returns the file name of the page of a campaign of a database. The name includes that of a
/// database other than the default one, because several databases may be in the same directory.
fn page_of(database: &Path, id: CampaignId) -> String {
    let name = database.file_name().unwrap_or_default().to_string_lossy();
    match name.strip_suffix(".db").unwrap_or(&name) {
        DEFAULT_PATHS => format!("campaign-{id}.html"),
        other => format!("{other}-campaign-{id}.html"),
    }
}

/// Returns the absolute path of an option's value. Stored campaigns can contain only UTF-8 paths.
pub fn absolute(option: &str, path: &Path) -> anyhow::Result<PathBuf> {
    let absolute = std::path::absolute(path)
        .with_context(|| format!("{option} {}: the working directory is gone", path.display()))?;
    require_utf8(option, &absolute)?;
    Ok(absolute)
}

/// Returns an error if a path is not UTF-8. The error names the option that led to the path.
pub fn require_utf8(option: &str, path: &Path) -> Result<(), UsageError> {
    match path.to_str() {
        Some(_) => Ok(()),
        None => Err(UsageError(backend::not_utf8(option, path))),
    }
}

/// Returns the programs that all filesystems and suites require, the files that suites require, and
/// the emulator.
pub fn programs(catalog: &Catalog) -> BTreeSet<String> {
    let of_filesystems = catalog.filesystems().flat_map(|f| &f.requires.programs).cloned();
    let suites = SizeProfile::ALL.into_iter().flat_map(|profile| catalog.suites(profile));
    let all = of_filesystems.chain(suites.flat_map(|suite| suite.requires.on_host()));
    let peers = external_programs::programs().map(str::to_owned);
    all.chain(peers).chain([guest::QEMU.to_owned()]).collect()
}

/// Returns the transport to the machine on which cells run.
///
/// # Errors
/// Returns an error if the machine is remote and cannot be reached.
pub fn transport(host: Option<&str>, stop: &StopFlag) -> anyhow::Result<Box<dyn AgentTransport>> {
    Ok(match host {
        Some(host) => Box::new(SshTransport::connect_to(host, stop)?),
        None => Box::new(LocalTransport),
    })
}

/// Reaches the machine of a campaign, or all hosts that run its cells together.
///
/// # Errors
/// Returns an error if a host cannot be reached.
pub fn campaign_transport(
    host: Option<&str>,
    together: &[String],
    stop: &StopFlag,
) -> anyhow::Result<Box<dyn AgentTransport>> {
    let first = transport(host, stop)?;
    let others = together.iter().skip(1).map(|host| transport(Some(host), stop));
    let others = others.collect::<anyhow::Result<Vec<_>>>()?;
    Ok(match others.is_empty() {
        true => first,
        false => Box::new(TogetherTransport { first, others }),
    })
}

/// Opens the store, which must be in a directory that no other user can write to. Creates the store
/// if it does not exist, and removes the new file if it cannot be written, as on a full disk.
pub fn store(globals: &GlobalArgs) -> anyhow::Result<Store> {
    let path = database(globals)?;
    let is_new = path.try_exists().is_ok_and(|exists| !exists);
    let path = own_database(&path, true)?;
    let opened = Store::open(&path);
    if opened.is_err() && is_new && path.metadata().is_ok_and(|file| file.len() == 0) {
        let _ = fs::remove_file(&path);
    }
    Ok(opened?)
}

/// Checks that a campaign and its report page can be stored. Creates nothing.
pub fn require_writable_store(globals: &GlobalArgs) -> anyhow::Result<()> {
    let (directory, name) = place_of(&database(globals)?)?;
    for place in [directory.clone(), directory.join("reports")] {
        let existing = SafeDir::open_nearest_existing(&place)?;
        backend::require_writable(existing.path())?;
        if existing.path() == directory && existing.is_sticky_shared()? {
            return Err(common(&existing, &name).into());
        }
    }
    let file = directory.join(name);
    match OpenOptions::new().write(true).open(&file) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let why = format!("cannot write {}: {error}; name another --db", file.display());
            Err(EnvironmentError(why).into())
        }
        _ => Ok(()),
    }
}

/// Checks that the user's cache directory is writable. Creates nothing.
pub fn require_writable_cache() -> anyhow::Result<()> {
    let directory = UserDir::Cache.resolve(|name| env::var_os(name))?;
    let existing = SafeDir::open_nearest_existing(&directory)?;
    Ok(backend::require_writable(existing.path())?)
}

/// Returns the path of a database after checking that the user owns it and its SQLite side files.
/// With `writes`, creates the directory and the file if they do not exist.
fn own_database(path: &Path, writes: bool) -> anyhow::Result<PathBuf> {
    let (directory, name) = place_of(path)?;
    let directory = match writes {
        true => SafeDir::make(&directory)?,
        false => SafeDir::open(&directory)?,
    };
    // SQLite would use a planted side file as its own journal and roll it back.
    if directory.is_sticky_shared()? {
        return Err(common(&directory, &name).into());
    }
    for suffix in ["", "-journal", "-wal", "-shm"] {
        let mut file = name.clone();
        file.push(suffix);
        match directory.file(&file) {
            // No user can change a read-only filesystem. The store reports an error on the first
            // write.
            Err(UntrustedPath::Io { source, .. })
                if source.kind() == ErrorKind::ReadOnlyFilesystem =>
            {
                continue;
            }
            other => other?,
        };
        if writes && suffix.is_empty() {
            directory.file_or_new(&file)?;
        }
    }
    Ok(directory.path().join(name))
}

/// The error for a database in a directory that other users can write to.
fn common(directory: &SafeDir, name: &OsStr) -> EnvironmentError {
    let (place, name) = (directory.path().display(), Path::new(name).display());
    EnvironmentError(format!(
        "cannot use a database in {place}: all users can create files there, which SQLite would use as its journal; use a private directory, such as --db {place}/fsarena/{name}"
    ))
}

/// Splits the absolute path of a file into directory and name.
fn place_of(path: &Path) -> anyhow::Result<(PathBuf, OsString)> {
    let path = std::path::absolute(path)?;
    let name = path.file_name().map(OsString::from);
    let name = name.ok_or_else(|| {
        let path = path.display();
        UsageError(format!("cannot use {path} as a database: it names no file; name one"))
    })?;
    Ok((path.parent().unwrap_or(Path::new("/")).to_owned(), name))
}

/// Opens the store of earlier campaigns for reading. Returns an error if it does not exist; creates
/// nothing.
pub fn existing_store(globals: &GlobalArgs) -> anyhow::Result<Store> {
    let none = no_campaign(&database(globals)?);
    Ok(store_if_any(globals)?.ok_or(none)?)
}

/// Opens the store for reading. Returns `None` if it does not exist. A store of another user is
/// opened without any change.
pub fn store_if_any(globals: &GlobalArgs) -> anyhow::Result<Option<Store>> {
    let path = database(globals)?;
    let is_there = path.try_exists();
    if !is_there.with_context(|| format!("cannot open {}", path.display()))? {
        return Ok(None);
    }
    Ok(match own_database(&path, false) {
        Ok(path) => Store::open_read_only(&path)?,
        Err(error) if error.is::<UntrustedPath>() || error.is::<EnvironmentError>() => {
            Store::open_immutable(&path)?
        }
        Err(error) => return Err(error),
    })
}

/// Opens the store in any file, for reading.
pub fn foreign_store(path: &Path) -> anyhow::Result<Store> {
    Ok(Store::open_immutable(path)?.ok_or_else(|| no_campaign(path))?)
}

fn no_campaign(path: &Path) -> UsageError {
    let path = path.display();
    UsageError(format!("{NO_CAMPAIGN}: there is none in {path} (--db names another database)"))
}

/// Loads the built-in catalog, with the user's files merged over it.
pub fn catalog(globals: &GlobalArgs) -> anyhow::Result<Catalog> {
    let mut catalog = Catalog::builtin()?;
    if let Some(directory) = &globals.catalog {
        catalog.overlay(directory)?;
    }
    Ok(catalog)
}

/// Quotes a path for a shell, if necessary.
pub fn shell_path(path: &Path) -> String {
    model::shell_quote(&path.to_string_lossy())
}

/// Returns the command that resumes a campaign. It contains `--erase` for a device, because the
/// device now contains data of fsarena.
pub fn resume_line(globals: &GlobalArgs, id: CampaignId, device: Option<&Path>) -> String {
    let erase = device.map(|device| format!(" --erase {}", shell_path(device))).unwrap_or_default();
    command_line(globals, "resume", &format!("{id}{erase}"))
}

/// Returns a command on this database, with the same catalog.
pub fn command_line(globals: &GlobalArgs, command: &str, arguments: &str) -> String {
    let option = |name: &str, path: &Option<PathBuf>| {
        path.as_ref().map(|path| format!(" {name} {}", shell_path(path))).unwrap_or_default()
    };
    let db = option("--db", &globals.db);
    let catalog = option("--catalog", &globals.catalog);
    format!("fsarena {command} {arguments}{db}{catalog}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_command_has_the_database_and_the_catalog() {
        let mut globals =
            GlobalArgs { db: None, catalog: None, json: false, quiet: false, of_host: None };
        assert_eq!(command_line(&globals, "report", "3"), "fsarena report 3");
        globals.catalog = Some("/my catalog".into());
        globals.db = Some("/x.db".into());
        let both = "fsarena report 3 --db /x.db --catalog '/my catalog'";
        assert_eq!(command_line(&globals, "report", "3"), both);
    }

    #[test]
    fn databases_of_one_directory_have_different_pages() {
        let page = |name: &str| page_of(Path::new(name), CampaignId(3));
        let names = ["/a/fsarena.db", "/a/x.db", "/a/x.sqlite", "/a/fsarena.sqlite"].map(page);
        let expected = ["", "x-", "x.sqlite-", "fsarena.sqlite-"];
        assert_eq!(names, expected.map(|prefix| format!("{prefix}campaign-3.html")));
    }
}
