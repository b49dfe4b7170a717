//! `fsarena guest`: the machine that has the filesystems which this machine's kernel has not.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use catalog::Catalog;
use guest::{Guest, Recipe};
use model::Requirements;
use serde_json::json;

use crate::cli::{Globals, GuestAction, GuestArgs};
use crate::exit::Code;
use crate::output::{line, print, print_json, remark};
use crate::paths;

/// Does what is asked.
pub fn run(args: &GuestArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    match args.action {
        GuestAction::Build => build(globals),
    }
}

/// Makes the guest, or finds it made, and says what it has.
fn build(globals: &Globals) -> anyhow::Result<ExitCode> {
    let catalog = paths::catalog(globals)?;
    let recipe = recipe(&catalog);
    let guest = Guest::build(&recipe, &cache()?, &mut |doing| {
        if !globals.quiet && !globals.json {
            remark(doing);
        }
    })?;
    let drives = |f: &&model::Filesystem| {
        let (modules, programs) = (&f.requires.modules, &f.requires.programs);
        !modules.is_empty()
            && f.unavailable.is_none()
            && modules.iter().all(|module| guest.has(module))
            && programs
                .iter()
                .all(|p| p == "blkid" || guest.has_program(p))
    };
    let names: Vec<&str> = catalog
        .filesystems()
        .filter(drives)
        .map(|f| f.name.as_str())
        .collect();
    if globals.json {
        print_json(&json!({
            "directory": guest.directory(),
            "kernel": guest.release(),
            "filesystems": names,
        }))?;
    } else {
        print(&format!(
            "{}: Linux {} for {}\n",
            line(&guest.directory().to_string_lossy()),
            line(guest.release()),
            line(&names.join(", "))
        ))?;
    }
    Ok(Code::Done.into())
}

/// What all filesystems of the catalog need, as far as Debian has it.
fn recipe(catalog: &Catalog) -> Recipe {
    let requirements = || catalog.filesystems().map(|f| &f.requires);
    let all = |of: fn(&Requirements) -> &[String]| -> Vec<String> {
        let names: BTreeSet<String> = requirements().flat_map(of).cloned().collect();
        names.into_iter().collect()
    };
    Recipe {
        modules: all(|r| &r.modules),
        programs: all(|r| &r.programs),
        packages: requirements().map(|r| r.packages.clone()).collect(),
    }
}

/// Guests can be made again at any time, so they are kept where caches are.
fn cache() -> anyhow::Result<PathBuf> {
    let directories = directories::ProjectDirs::from("", "", "fsarena")
        .context("cannot find a cache directory: set HOME")?;
    Ok(directories.cache_dir().to_owned())
}
