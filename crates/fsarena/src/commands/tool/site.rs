//! `fsarena tool site`: writes a whole database as static pages. Only changed pages are written.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use campaign::store::Store;
use config::{Catalog, StudySource};
use report::{IndexEntry, Site, StudyEntry, campaign_file};
use serde_json::{Value, json};
use stats::{AnalysedCampaign, history};
use studies::Replication;
use sys::fs::plain_file;
use sys::fs::safe_path::{self, SafeDir};

use crate::args::cli::GlobalArgs;
use crate::args::tool_args::SiteArgs;
use crate::commands::changes::every_result;
use crate::commands::report::page;
use crate::output::exit::{EnvironmentError, ExitReason};
use crate::output::text::{print, print_json};
use crate::paths;
use crate::settings::analysis::analysed;
use crate::settings::select_campaign;

/// File present in every site, which lists the files written by fsarena.
const MARKER: &str = ".fsarena-site";
/// Maximum size of an existing file, in bytes. No page is larger.
const MAX_FILE_SIZE: u64 = 1 << 30;

/// Writes the site.
pub fn run(args: &SiteArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let store = paths::existing_store(globals)?;
    let catalog = paths::catalog(globals)?;
    let mut place = SiteDir::open(&args.directory)?;
    write(&store, &catalog, &mut place)?;
    let SiteDir { path, written, unchanged, removed, .. } = &place;
    if globals.json {
        let value = json!({ "directory": path, "written": written, "unchanged": unchanged, "removed": removed });
        print_json(&value)?;
    } else if !globals.quiet {
        let lines = written.iter().map(|name| format!("wrote {name}\n"));
        let lines = lines.chain(removed.iter().map(|name| format!("removed {name}\n")));
        let index = path.join(report::INDEX);
        let (written, unchanged) = (written.len(), unchanged.len());
        let text: String = lines.collect();
        print(&format!("{text}{written} written, {unchanged} unchanged: {}\n", index.display()))?;
    }
    Ok(ExitReason::Success.into())
}

/// Writes every page, one campaign at a time.
fn write(store: &Store, catalog: &Catalog, place: &mut SiteDir) -> anyhow::Result<()> {
    let campaigns = store.campaigns()?;
    let studies: Vec<StudySource> = catalog
        .studies()?
        .into_iter()
        .filter(|study| campaigns.iter().any(|campaign| campaign.name == study.name))
        .collect();
    let site = Site { studies: !studies.is_empty() };
    let mut files: BTreeSet<String> = campaigns.iter().map(|c| campaign_file(c.id.0)).collect();
    files.extend([report::INDEX, report::HISTORY].map(str::to_owned));
    files.extend(site.studies.then(|| report::STUDIES.to_owned()));
    place.begin(&files)?;

    let everything = every_result();
    let mut collector = history(&everything, &[]);
    let mut entries = Vec::new();
    let mut names = Vec::new();
    let mut latest = BTreeMap::new();
    // The latest comes first, because it defines comparability.
    for campaign in campaigns.iter().rev() {
        let results = select_campaign::load(store, campaign.id)?;
        let analysis = analysed(&results, catalog, None);
        place.write(
            &campaign_file(campaign.id.0),
            &page(store, &results, &analysis, Some(report::INDEX)),
        )?;
        if let Some(study) = studies.iter().find(|study| study.name == campaign.name)
            && !latest.contains_key(&study.name)
            && let Some(study) = studies::Study::read(study)?
        {
            let twice = Replication::new(&study, &results, &analysis);
            latest.insert(study.name.clone(), (study, twice));
        }
        entries.push(IndexEntry::from_results(&results, &analysis));
        names.push(&campaign.name);
        collector.add(AnalysedCampaign::new(&results, &analysis));
    }
    place.write(report::INDEX, &report::index_page(&entries, site))?;
    let heads: Vec<_> = entries.iter().map(|entry| entry.head().clone()).collect();
    let found = collector.finish();
    place.write(report::HISTORY, &report::history_page(&heads, &found, site))?;
    if site.studies {
        let of = |name: &str| {
            let entries = entries.iter().zip(&names);
            let entries = entries.filter(|(_, campaign)| **campaign == name);
            entries.map(|(entry, _)| entry.clone()).collect()
        };
        let studies: Vec<StudyEntry> = studies
            .into_iter()
            .map(|study| {
                let campaigns = of(&study.name);
                let entry =
                    StudyEntry::new(&study.title, &study.source, &study.rationale, campaigns);
                match latest.get(&study.name) {
                    Some((study, twice)) => entry.with_claims(study, twice),
                    None => entry,
                }
            })
            .collect();
        place.write(report::STUDIES, &report::studies_page(&studies, site))?;
    }
    place.end(&files)
}

/// A directory that contains a site or is empty.
struct SiteDir {
    directory: SafeDir,
    path: PathBuf,
    /// Files written by fsarena in earlier runs.
    own: BTreeSet<String>,
    written: Vec<String>,
    unchanged: Vec<String>,
    removed: Vec<String>,
}

impl SiteDir {
    /// Opens the directory of a site, and creates it if necessary.
    ///
    /// # Errors
    /// Returns an error if the directory is not empty and not a site.
    fn open(path: &Path) -> anyhow::Result<Self> {
        let directory = SafeDir::shared_or_new(path)?;
        let own = match read(&directory.path().join(MARKER))? {
            Some(marker) => files_of(&marker).ok_or_else(|| {
                EnvironmentError(format!(
                    "{}/{MARKER} is damaged: name another directory",
                    path.display()
                ))
            })?,
            None => {
                require_empty(&directory, path)?;
                BTreeSet::new()
            }
        };
        Ok(Self {
            path: path.to_owned(),
            directory,
            own,
            written: Vec::new(),
            unchanged: Vec::new(),
            removed: Vec::new(),
        })
    }

    /// Records the files in the marker before the first one is written.
    ///
    /// # Errors
    /// Returns an error if one of them exists and was not written by fsarena.
    fn begin(&mut self, files: &BTreeSet<String>) -> anyhow::Result<()> {
        for name in files.difference(&self.own) {
            if fs::symlink_metadata(self.directory.path().join(name)).is_ok() {
                let path = self.path.join(name);
                return Err(EnvironmentError(format!(
                    "{} was not written by fsarena: move it away, or name another directory",
                    path.display()
                ))
                .into());
            }
        }
        let all: BTreeSet<String> = files.union(&self.own).cloned().collect();
        self.mark(&all)
    }

    /// Writes a page, unless the file already has this content.
    fn write(&mut self, name: &str, page: &str) -> anyhow::Result<()> {
        let is = read(&self.directory.path().join(name))?;
        if is.as_deref() == Some(page.as_bytes()) {
            self.unchanged.push(name.to_owned());
            return Ok(());
        }
        self.directory.replace(name, safe_path::default_mode(), page.as_bytes())?;
        self.written.push(name.to_owned());
        Ok(())
    }

    /// Removes pages that do not belong to the site of this database.
    fn end(&mut self, files: &BTreeSet<String>) -> anyhow::Result<()> {
        for name in self.own.difference(files) {
            let path = self.directory.path().join(name);
            match fs::remove_file(&path) {
                Ok(()) => self.removed.push(name.clone()),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot remove {}", path.display()));
                }
            }
        }
        self.mark(files)
    }

    fn mark(&self, files: &BTreeSet<String>) -> anyhow::Result<()> {
        let marker = format!("{:#}\n", json!({ "files": files }));
        if read(&self.directory.path().join(MARKER))?.as_deref() == Some(marker.as_bytes()) {
            return Ok(());
        }
        Ok(self.directory.replace(MARKER, safe_path::default_mode(), marker.as_bytes())?)
    }
}

/// Returns the content of a file. Returns `None` if it does not exist.
fn read(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    match plain_file::read(path, MAX_FILE_SIZE) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn require_empty(directory: &SafeDir, path: &Path) -> anyhow::Result<()> {
    let first = fs::read_dir(directory.path())?.next().transpose()?;
    match first {
        None => Ok(()),
        Some(entry) => Err(EnvironmentError(format!(
            "{} holds files that fsarena did not write ({}): name an empty directory, or a new one",
            path.display(),
            entry.file_name().to_string_lossy()
        ))
        .into()),
    }
}

/// Returns the files listed in a marker. Returns `None` if it is malformed or lists file names that
/// no site contains.
fn files_of(marker: &[u8]) -> Option<BTreeSet<String>> {
    let marker: Value = serde_json::from_slice(marker).ok()?;
    let files = marker["files"].as_array()?.iter();
    let files: Option<BTreeSet<String>> =
        files.map(|name| name.as_str().map(str::to_owned)).collect();
    files.filter(|files| files.iter().all(|name| is_of_a_site(name)))
}

fn is_of_a_site(name: &str) -> bool {
    let campaign = name.strip_prefix("campaign-").and_then(|rest| rest.strip_suffix(".html"));
    [report::INDEX, report::HISTORY, report::STUDIES].contains(&name)
        || campaign.is_some_and(|number| number.parse::<u64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Writes the given pages, each with the same text.
    fn written(path: &Path, pages: &[&str], text: &str) -> anyhow::Result<[Vec<String>; 3]> {
        let mut place = SiteDir::open(path)?;
        let files = names(pages);
        place.begin(&files)?;
        for name in pages {
            place.write(name, text)?;
        }
        place.end(&files)?;
        Ok([place.written, place.unchanged, place.removed])
    }

    #[test]
    fn writes_changed_pages_and_removes_obsolete_ones() {
        let around = tempfile::tempdir().unwrap();
        let path = around.path().join("a/site");
        let [new, same, gone] = written(&path, &["index.html", "campaign-1.html"], "one").unwrap();
        assert_eq!((new.len(), same.len(), gone.len()), (2, 0, 0));
        let [new, same, gone] = written(&path, &["index.html"], "one").unwrap();
        assert_eq!((new.len(), same.len()), (0, 1));
        assert_eq!(gone, ["campaign-1.html"]);
        let [new, ..] = written(&path, &["index.html"], "two").unwrap();
        assert_eq!(new, ["index.html"]);
        let there: Vec<_> = fs::read_dir(&path).unwrap().collect();
        assert_eq!(there.len(), 2, "the page and the marker: {there:?}");
    }

    #[test]
    fn never_overwrites_or_removes_files_of_the_user() {
        let around = tempfile::tempdir().unwrap();
        let foreign = around.path().join("index.html");
        fs::write(&foreign, "mine").unwrap();
        let refused = written(around.path(), &["index.html"], "one").unwrap_err();
        assert!(refused.to_string().contains("did not write (index.html)"), "{refused}");

        let site = around.path().join("site");
        written(&site, &["index.html"], "one").unwrap();
        fs::write(site.join("campaign-7.html"), "mine").unwrap();
        fs::write(site.join("robots.txt"), "mine").unwrap();
        let refused = written(&site, &["index.html", "campaign-7.html"], "one").unwrap_err();
        assert!(refused.to_string().contains("was not written by fsarena"), "{refused}");
        written(&site, &["index.html"], "two").unwrap();
        for name in ["campaign-7.html", "robots.txt"] {
            assert_eq!(fs::read_to_string(site.join(name)).unwrap(), "mine");
        }
        assert_eq!(fs::read_to_string(foreign).unwrap(), "mine");
    }

    #[test]
    fn markers_with_foreign_file_names_are_rejected() {
        let around = tempfile::tempdir().unwrap();
        for marker in ["", "{}", r#"{"files": ["../precious"]}"#, r#"{"files": [7]}"#] {
            fs::write(around.path().join(MARKER), marker).unwrap();
            let refused = written(around.path(), &["index.html"], "one").unwrap_err();
            assert!(refused.to_string().contains("is damaged"), "{refused}");
        }
        assert!(is_of_a_site("campaign-12.html") && !is_of_a_site("campaign-.html"));
    }

    #[test]
    fn a_writer_that_was_killed_leaves_a_site_that_the_next_one_finishes() {
        let around = tempfile::tempdir().unwrap();
        let path = around.path().join("site");
        let mut place = SiteDir::open(&path).unwrap();
        place.begin(&names(&["index.html", "history.html"])).unwrap();
        place.write("index.html", "half").unwrap();
        drop(place);
        let [new, ..] = written(&path, &["index.html", "history.html"], "whole").unwrap();
        assert_eq!(new.len(), 2);
    }
}
