//! `fsarena guest`: the machine that has the filesystems which this machine's kernel has not.

use std::process::ExitCode;

use catalog::Catalog;
use guest::{Guest, GuestError, Own, Recipe};
use model::Filesystem;
use provision::GuestStock;
use run::CellCache;
use serde_json::json;

use crate::cli::Globals;
use crate::exit::{BadInput, Code};
use crate::guest_args::{BuildOptions, GuestAction, GuestArgs};
use crate::output::{line, print, print_json, remark, table};
use crate::{paths, selftest_command, shell_command};

/// Does what is asked.
pub fn run(args: &GuestArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    match &args.action {
        GuestAction::Build(options) => build(options, globals),
        GuestAction::Selftest(args) => selftest_command::run(args, globals),
        GuestAction::Shell(args) => shell_command::run(args, globals),
    }
}

/// The guest for all filesystems of a catalog: the one that is made, or a new one. `say` hears what is being
/// done, where anything is.
pub fn obtain(
    catalog: &Catalog,
    options: &BuildOptions,
    say: &mut dyn FnMut(&str),
) -> anyhow::Result<Guest> {
    let recipe = recipe(catalog, options)?;
    let own = Own {
        kernel: options.kernel.clone(),
        modules: options.modules.clone(),
        rootfs: options.rootfs.clone(),
    };
    let bad = |error: GuestError| BadInput(error.to_string());
    own.check().map_err(bad)?;
    if let Some(mirror) = &options.mirror {
        guest::check_mirror(mirror).map_err(bad)?;
    }
    let cache = guest::cache_directory()?;
    let guest = Guest::build(&recipe, &cache, say)?;
    Ok(guest.with_own(&own, &cache)?)
}

/// The same; what is being done is told to whoever wants to hear it.
pub fn obtain_saying(
    catalog: &Catalog,
    options: &BuildOptions,
    globals: &Globals,
) -> anyhow::Result<Guest> {
    obtain(catalog, options, &mut |doing| {
        if !globals.quiet && !globals.json {
            remark(doing);
        }
    })
}

/// The guest for all filesystems of a catalog that was made before, if one was.
pub fn find(catalog: &Catalog) -> anyhow::Result<Option<Guest>> {
    let recipe = recipe(catalog, &BuildOptions::default())?;
    Ok(Guest::find(&recipe, &guest::cache_directory()?)?)
}

/// What a guest has for the filesystems of a catalog.
pub fn stock(catalog: &Catalog, guest: &Guest) -> GuestStock {
    let lacks = |f: &Filesystem| Some((f.name.clone(), guest.lacks(f)?));
    GuestStock {
        kernel: guest.release().to_owned(),
        lacks: catalog.filesystems().filter_map(lacks).collect(),
    }
}

fn recipe(catalog: &Catalog, options: &BuildOptions) -> anyhow::Result<Recipe> {
    Ok(Recipe {
        mirror: options.mirror.clone(),
        ..Recipe::of(catalog.filesystems(), &with(catalog, options)?)
    })
}

/// The names of contenders whose drivers are to be built.
fn with(catalog: &Catalog, options: &BuildOptions) -> anyhow::Result<Vec<String>> {
    let come_as_source: Vec<&str> = catalog
        .filesystems()
        .filter(|filesystem| guest::comes_as_source(filesystem))
        .map(|filesystem| filesystem.name.as_str())
        .collect();
    let name = |word: &String| {
        let found = catalog.filesystem(word).map(|f| f.name.clone());
        let known = |name: &String| come_as_source.contains(&name.as_str());
        found.ok().filter(known).ok_or_else(|| {
            let known = come_as_source.join(", ");
            anyhow::Error::from(BadInput(format!(
                "`--with {word}`: what comes as source is {known}"
            )))
        })
    };
    options.with.iter().map(name).collect()
}

/// Makes the guest, or finds it made, and says what it has.
fn build(options: &BuildOptions, globals: &Globals) -> anyhow::Result<ExitCode> {
    let catalog = paths::catalog(globals)?;
    let guest = obtain_saying(&catalog, options, globals)?;
    let all: Vec<&Filesystem> = catalog.filesystems().collect();
    let lacking = |f: &&Filesystem| guest.lacks(f).map(|why| [f.name.clone(), line(&why)]);
    let left_out: Vec<[String; 2]> = all.iter().filter_map(lacking).collect();
    let drives = |f: &&&Filesystem| guest.lacks(f).is_none();
    let names: Vec<&str> = all.iter().filter(drives).map(|f| f.name.as_str()).collect();
    if globals.json {
        print_json(&json!({
            "directory": guest.directory(),
            "name": guest.name(),
            "kernel": guest.release(),
            "filesystems": names,
            "left-out": left_out.iter().map(|[name, why]| json!({ "name": name, "why": why })).collect::<Vec<_>>(),
        }))?;
        return Ok(Code::Done.into());
    }
    print(&format!(
        "{}: Linux {} for {}\n\n{}",
        line(&guest.directory().to_string_lossy()),
        line(guest.release()),
        line(&names.join(", ")),
        table(["left out", "why"], &left_out)
    ))?;
    Ok(Code::Done.into())
}

/// Where the results of cells in model time are kept, unless the user wants none of them.
pub fn cells(unwanted: bool) -> anyhow::Result<Option<CellCache>> {
    match unwanted {
        true => Ok(None),
        false => {
            let cells = guest::cache_directory()?.join("cells");
            Ok(Some(CellCache::at(cells)))
        }
    }
}
