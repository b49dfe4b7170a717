//! Source archives from Debian packages, in the cache: suites unpack and build them.
//!
//! The file name of an archive is its digest, which is verified before each use. A small note in
//! the same directory maps a request to the downloaded archive, so that the mirror is asked only
//! once.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use model::{Bytes, CachedArchive, SourceArchive};

use crate::build::build_dir::BuildDir;
use crate::build::mirrors::{self, AptListKind};
use crate::build::packages::{self, Apt, Package};
use crate::{GuestError, cache, files, hash};

/// Directory of the archives in the cache.
const ARCHIVES: &str = "archives";
/// Space for package lists, and for a package and its unpacked archive. Each archive may be as
/// large as that of Linux.
const ROOM: Bytes = Bytes::mib(512);
/// Name of the download directory in the build directory.
const DOWNLOAD_DIR: &str = "brought";
const NOTE: &str = "note";

/// Returns the path of an archive.
pub fn path(archive: &CachedArchive, cache: &Path) -> PathBuf {
    cache.join(ARCHIVES).join(&archive.sha256)
}

/// Returns the archives, from the cache or downloaded by this machine's apt. `say` receives
/// progress messages.
///
/// # Errors
/// Returns an error if `stop` becomes true, if apt is missing or fails, if the mirror does not have
/// the archive or has a different one than the suite expects, if the disk is full, or if another
/// user can write to the cache.
pub fn fetch_archives(
    wanted: &[SourceArchive],
    cache: &Path,
    stop: &Arc<AtomicBool>,
    say: &mut dyn FnMut(&str),
) -> Result<Vec<CachedArchive>, GuestError> {
    cache::require_ours(cache)?;
    let missing = |archive: &&SourceArchive| held(archive, cache).is_none();
    if wanted.iter().any(|archive| missing(&archive)) {
        BuildDir::open(cache, ROOM, stop, say, |workshop, say| {
            files::create_directory(&cache.join(ARCHIVES))?;
            let mut missing = wanted.iter().filter(missing);
            missing.try_for_each(|archive| bring_one(archive, cache, workshop, say))
        })?;
    }
    let all = wanted.iter().map(|archive| {
        held(archive, cache).ok_or_else(|| {
            let name = &archive.name;
            GuestError::UnexpectedOutput(format!(
                "the archive `{name}` disappeared immediately after the download"
            ))
        })
    });
    all.collect()
}

/// Returns the archive in the cache if it exists and is intact.
fn held(wanted: &SourceArchive, cache: &Path) -> Option<CachedArchive> {
    let note = files::read(&note_of(wanted, cache)).ok()?;
    let held: CachedArchive = serde_json::from_slice(&note).ok()?;
    let content = path(&held, cache);
    let is_whole = hash::sha256_file(&content).ok()? == held.sha256;
    let is_right = wanted.sha256.as_ref().is_none_or(|sum| *sum == held.sha256);
    (is_whole && is_right && held.name == wanted.name).then_some(held)
}

/// Returns the file that maps a request to an archive.
fn note_of(wanted: &SourceArchive, cache: &Path) -> PathBuf {
    let wish = format!("{wanted:?}");
    let name = format!("{}-{}", wanted.name, hash::name(wish.as_bytes()));
    cache.join(ARCHIVES).join(name)
}

fn bring_one(
    wanted: &SourceArchive,
    cache: &Path,
    workshop: &BuildDir<'_>,
    say: &mut dyn FnMut(&str),
) -> Result<(), GuestError> {
    say(&format!("bringing {} from Debian's package {}", wanted.name, wanted.package));
    let directory = workshop.place(DOWNLOAD_DIR);
    workshop.remove(&directory)?;
    files::create_directory(&directory)?;
    let (file, version) = match wanted.is_source {
        true => of_source(wanted, &directory, cache, workshop, say)?,
        false => of_binary(wanted, &directory, workshop, say)?,
    };
    let sha256 = hash::sha256_file(&file).map_err(GuestError::io("read", &file))?;
    if let Some(right) = wanted.sha256.as_ref().filter(|right| **right != sha256) {
        return Err(GuestError::UnexpectedOutput(format!(
            "the archive `{}` of {} {version} is another than the one that the suite was made for (SHA-256 {sha256}, and not {right})",
            wanted.name, wanted.package
        )));
    }
    let size = fs::metadata(&file).map_err(GuestError::io("look at", &file))?.len();
    let held = CachedArchive {
        name: wanted.name.clone(),
        version: format!("{} {version}", wanted.package),
        sha256,
        size: Bytes(size),
    };
    let whole = workshop.place("archive");
    fs::rename(&file, &whole).map_err(GuestError::io("rename", &file))?;
    workshop.install("archive", &path(&held, cache))?;
    let note = workshop.place(NOTE);
    workshop.remove(&note)?;
    let text = serde_json::to_string(&held).expect("a note has no keys but words");
    files::write(&note, text.as_bytes())?;
    workshop.install(NOTE, &note_of(wanted, cache))
}

/// Returns the archive among the files of a source package, with its version.
fn of_source(
    wanted: &SourceArchive,
    into: &Path,
    cache: &Path,
    workshop: &BuildDir<'_>,
    say: &mut dyn FnMut(&str),
) -> Result<(PathBuf, String), GuestError> {
    let lists = AptListKind::Sources.directory();
    let kept = match workshop.place(lists) {
        fresh if fresh.exists() => fresh,
        _ => cache.join(lists),
    };
    let apt = mirrors::separate_apt(
        AptListKind::Sources,
        &[],
        None,
        &kept,
        &hash::apt_state_hash(),
        workshop,
        say,
    )?;
    let files = apt.files_of_source(&wanted.package)?;
    let file = files.iter().find(|file| wanted.is_called(&file.file));
    let file = file.ok_or_else(|| no_such(wanted))?;
    apt.download_source(&wanted.package, into)?;
    let brought = into.join(&file.file);
    let sum = hash::sha256_file(&brought).map_err(GuestError::io("read", &brought))?;
    if !file.has(&sum) {
        return Err(GuestError::UnexpectedOutput(format!(
            "{} does not have the digest that apt expects",
            file.file
        )));
    }
    if workshop.place(lists).exists() {
        workshop.install(lists, &cache.join(lists))?;
    }
    Ok((brought, version_of_source(&files)))
}

/// Returns the version of a source package: `sed_4.9-1.dsc` describes version 4.9-1.
fn version_of_source(files: &[Package]) -> String {
    let mut names = files.iter().filter_map(|file| file.file.strip_suffix(".dsc"));
    let version = names.next().and_then(|name| name.split_once('_'));
    version.map(|(_, version)| version.to_owned()).unwrap_or_default()
}

/// Returns the archive in a binary package, with its version.
fn of_binary(
    wanted: &SourceArchive,
    into: &Path,
    workshop: &BuildDir<'_>,
    say: &mut dyn FnMut(&str),
) -> Result<(PathBuf, String), GuestError> {
    let apt = Apt::system(workshop.programs());
    let packages = apt.resolve(&[wanted.package.as_str()].into())?;
    let package = packages.first().ok_or_else(|| no_such(wanted))?;
    apt.download(&packages, into, say)?;
    let content = into.join("content");
    files::create_directory(&content)?;
    packages::unpack(&into.join(&package.file), &content, &[], workshop.programs())?;
    let mut fields = package.file.split('_');
    let version = fields.nth(1).unwrap_or_default().replace("%3a", ":");
    let mut paths = vec![content.clone()];
    while let Some(path) = paths.pop() {
        if path.is_dir() && !path.is_symlink() {
            let entries = fs::read_dir(&path).map_err(GuestError::io("read", &path))?;
            paths.extend(entries.flatten().map(|entry| entry.path()));
        } else if let Ok(below) = path.strip_prefix(&content)
            && wanted.is_called(&below.to_string_lossy())
        {
            return Ok((path, version));
        }
    }
    Err(no_such(wanted))
}

fn no_such(wanted: &SourceArchive) -> GuestError {
    GuestError::UnexpectedOutput(format!(
        "Debian's package {} of this machine's mirror has no {}",
        wanted.package, wanted.file
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(sha256: Option<String>) -> SourceArchive {
        SourceArchive {
            name: "made-up".into(),
            package: "made-up".into(),
            is_source: true,
            file: "made-up_*.tar".into(),
            sha256,
        }
    }

    /// Stores an archive in the cache as if it had been downloaded.
    fn hold(content: &str, cache: &Path) -> CachedArchive {
        let held = CachedArchive {
            name: "made-up".into(),
            version: "made-up 1".into(),
            sha256: hash::sha256_hex(content.as_bytes()),
            size: Bytes(content.len() as u64),
        };
        fs::create_dir_all(cache.join(ARCHIVES)).unwrap();
        fs::write(path(&held, cache), content).unwrap();
        let note = serde_json::to_string(&held).unwrap();
        fs::write(note_of(&wanted(None), cache), note).unwrap();
        held
    }

    #[test]
    fn intact_archives_are_reused_and_damaged_ones_are_not() {
        let cache = tempfile::tempdir().unwrap();
        let cache = cache.path();
        assert_eq!(super::held(&wanted(None), cache), None);
        let held = hold("sources", cache);
        let stop = Arc::default();
        let taken =
            fetch_archives(&[wanted(None)], cache, &stop, &mut |_| panic!("nothing is brought"));
        assert_eq!(taken.unwrap().first(), Some(&held));
        let other = wanted(Some(hash::sha256_hex(b"others")));
        assert_eq!(super::held(&other, cache), None, "it is not the right one");
        fs::write(path(&held, cache), "sourcex").unwrap();
        assert_eq!(super::held(&wanted(None), cache), None, "it is damaged");
    }

    #[test]
    fn the_version_is_that_of_the_description() {
        let file =
            |name: &str| Package { file: name.into(), digest: String::new(), size: Bytes(0) };
        let files = ["sed_4.9.orig.tar.xz", "sed_4.9-1+deb12u1.dsc"].map(file);
        assert_eq!(version_of_source(&files), "4.9-1+deb12u1");
    }
}
