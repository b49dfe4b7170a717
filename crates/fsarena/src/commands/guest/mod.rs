//! `fsarena guest`: builds and checks the virtual machine with the filesystems that this machine's
//! kernel lacks.

mod kernel_choice;
mod selftest;
mod shell;

pub use kernel_choice::{KernelShare, choose_kernel, divide, newer_release};

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use backend::{BlobStore, CellCache, DirectoryStore};
use config::Catalog;
use guest::{Guest, GuestError, Recipe, UserKernel};
use model::wire::machine::FailureKind;
use model::{Bytes, Campaign, Filesystem, LinuxVersion, ProgramRequirements, SizeProfile, Suite};
use serde_json::json;
use sha2::{Digest, Sha256};
use storage::{GuestContents, HostInfo, MissingRequirement};
use sys::fs::plain_file;
use sys::fs::safe_path::SafeDir;
use sys::secret_key::{KEY_LENGTH, SecretKey};

use crate::args::cli::GlobalArgs;
use crate::args::execution_args::SharedCache;
use crate::args::guest_args::{BuildOptions, GuestCommand};
use crate::output::exit;
use crate::output::exit::{EnvironmentError, ExitReason, UsageError};
use crate::output::text::{line, print, print_json, print_note, table, wrap_with_margin};
use crate::paths;
use crate::settings::external_programs;
use crate::stop;

/// Runs the requested action.
pub fn run(command: &GuestCommand, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    match command {
        GuestCommand::Build(options) => build(options, globals),
        GuestCommand::Selftest(args) => selftest::run(args, globals),
        GuestCommand::Shell(args) => shell::run(args, globals),
    }
}

/// Returns a guest for all filesystems of a catalog: an existing one, or a new one. Prefers an
/// existing guest with drivers built from source. `say` receives progress messages.
pub fn obtain(
    catalog: &Catalog,
    options: &BuildOptions,
    stop: &Arc<AtomicBool>,
    say: &mut dyn FnMut(&str),
) -> anyhow::Result<Guest> {
    choose(catalog, options, &|_| true, BuildPolicy::AsNeeded, stop, say)
}

/// Finds a guest that is already built; never builds one.
pub fn find_built(
    catalog: &Catalog,
    options: &BuildOptions,
    stop: &Arc<AtomicBool>,
    say: &mut dyn FnMut(&str),
) -> anyhow::Result<Guest> {
    choose(catalog, options, &|_| true, BuildPolicy::Never, stop, say)
}

/// Returns the guest in which a campaign started, if it is one of the existing ones, else a guest
/// with the same components. Components that follow from the campaign's suites and contenders need
/// not be repeated in `options`.
pub fn obtain_again(
    catalog: &Catalog,
    options: &BuildOptions,
    campaign: &Campaign,
    stop: &Arc<AtomicBool>,
    say: &mut dyn FnMut(&str),
) -> anyhow::Result<Guest> {
    let made = campaign.guest.as_ref().map(|parts| parts.guest_name.as_str());
    let fits = |guest: &Guest| Some(guest.name()) == made;
    if let Some(guest) = find_of_same_kernel(catalog, options, campaign, &fits, stop, say)? {
        return Ok(guest);
    }
    let mut options = options.clone();
    let filesystems = campaign.contenders.iter().map(|contender| &contender.filesystem);
    choose_kernel(&mut options, filesystems, catalog.kernels(), storage::debian_release())?;
    let sets = made_with(catalog, &options, campaign);
    let may_be_several = sets.len() > 1;
    for options in sets.iter().filter(|_| may_be_several) {
        if let Ok(guest) = choose(catalog, options, &fits, BuildPolicy::Never, stop, say) {
            return Ok(guest);
        }
    }
    choose(catalog, &sets[0], &fits, BuildPolicy::AsNeeded, stop, say)
}

/// Finds the guest of a campaign whose user named its kernel, and need not name it again.
fn find_of_same_kernel(
    catalog: &Catalog,
    options: &BuildOptions,
    campaign: &Campaign,
    fits: &dyn Fn(&Guest) -> bool,
    stop: &Arc<AtomicBool>,
    say: &mut dyn FnMut(&str),
) -> anyhow::Result<Option<Guest>> {
    let release = campaign.guest.as_ref().map(|parts| parts.kernel.parse::<LinuxVersion>());
    let is_named = !options.guest_kernel.is_empty() || options.kernel.is_some();
    let (Some(Ok(version)), false) = (release, is_named) else { return Ok(None) };
    let of_kernel = BuildOptions { guest_kernel: vec![version.to_string()], ..options.clone() };
    for options in made_with(catalog, &of_kernel, campaign) {
        match choose(catalog, &options, fits, BuildPolicy::Never, stop, say) {
            Ok(guest) => return Ok(Some(guest)),
            Err(error) if backend::kind(&error) == FailureKind::Interrupted => return Err(error),
            // No such guest is built, or apt no longer has its kernel.
            Err(_) => (),
        }
    }
    Ok(None)
}

/// Returns the possible build options of a campaign's guest: always with the programs that run as
/// suites, and with each combination of optional components.
fn made_with(catalog: &Catalog, options: &BuildOptions, campaign: &Campaign) -> Vec<BuildOptions> {
    let sources = come_as_source(catalog);
    let filesystems = campaign.contenders.iter().map(|c| c.filesystem.name_without_layers());
    let is_used = |name: &&String| filesystems.clone().any(|one| one == *name);
    let sources: Vec<&String> = sources.iter().filter(is_used).collect();
    let suites = suite_components(catalog, &campaign.suites);
    let suites: Vec<&String> = suites.iter().collect();
    let mut sets: Vec<BuildOptions> = Vec::new();
    for more in [vec![], sources.clone(), suites.clone(), [sources, suites].concat()] {
        let mut set = options.clone();
        let peers = external_programs::brought(&campaign.suites);
        let layers = required_layers(campaign.contenders.iter().map(|c| &c.filesystem));
        for name in more.into_iter().cloned().chain(peers).chain(layers) {
            if !set.with.contains(&name) {
                set.with.push(name);
            }
        }
        if !sets.iter().any(|known| known.with == set.with) {
            sets.push(set);
        }
    }
    sets
}

/// Whether a missing guest is built.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BuildPolicy {
    AsNeeded,
    Never,
}

/// Returns the first existing guest that fits, else builds the smallest one that satisfies the
/// options. A damaged guest is rebuilt with the same components.
fn choose(
    catalog: &Catalog,
    options: &BuildOptions,
    fits: &dyn Fn(&Guest) -> bool,
    making: BuildPolicy,
    stop: &Arc<AtomicBool>,
    say: &mut dyn FnMut(&str),
) -> anyhow::Result<Guest> {
    require_emulator()?;
    let recipes = recipes(catalog, options)?;
    let own = UserKernel {
        kernel: options.kernel.clone(),
        modules: options.modules.clone(),
        headers: options.headers.clone(),
        rootfs: options.rootfs.clone(),
    };
    let bad = |error: GuestError| UsageError(error.to_string());
    own.check().map_err(bad)?;
    if let Some(mirror) = &options.mirror {
        guest::validate_mirror(mirror).map_err(bad)?;
    }
    let cache = guest::cache_directory()?;
    for recipe in &recipes {
        let found = match Guest::find(recipe, &cache, stop) {
            Err(GuestError::Damaged { .. }) if making == BuildPolicy::AsNeeded => {
                Some(Guest::build(recipe, &cache, stop, say)?)
            }
            found => found?,
        };
        if let Some(guest) = found {
            let guest = guest.with_user_kernel(&own, &cache, stop, say)?;
            if fits(&guest) {
                return Ok(guest);
            }
        }
    }
    if making == BuildPolicy::Never {
        let with = options.with.iter();
        let kernel = options.guest_kernel.iter().map(|kernel| format!(" --guest-kernel {kernel}"));
        let with: String = kernel.chain(with.map(|name| format!(" --with {name}"))).collect();
        return Err(EnvironmentError(format!(
            "no such guest is made yet, and a dry run makes none: `fsarena guest build{with}` does"
        ))
        .into());
    }
    let least = recipes.last().context("nothing to make a guest of")?;
    let guest = Guest::build(least, &cache, stop, say)?;
    Ok(guest.with_user_kernel(&own, &cache, stop, say)?)
}

/// Returns an error if the emulator is missing. Called before any download for a guest.
fn require_emulator() -> Result<(), EnvironmentError> {
    match storage::emulator(&HostInfo::inspect()) {
        None => Ok(()),
        Some(MissingRequirement { description: what, command, .. }) => {
            Err(EnvironmentError(format!("{what} is missing ({command})")))
        }
    }
}

/// Returns a guest for these contenders as `obtain` does, with signal handling and progress messages.
pub fn obtain_with_progress(
    catalog: &Catalog,
    options: &BuildOptions,
    contenders: &[String],
    globals: &GlobalArgs,
) -> anyhow::Result<Guest> {
    let mut options = options.clone();
    let filesystems = contenders.iter().map(|name| Ok(catalog.contender(name)?.filesystem));
    let filesystems = filesystems.collect::<anyhow::Result<Vec<_>>>()?;
    let note =
        choose_kernel(&mut options, &filesystems, catalog.kernels(), storage::debian_release())?;
    let options = &options;
    let mut say = |doing: &str| {
        if !globals.quiet && !globals.json {
            print_note(doing);
        }
    };
    note.iter().for_each(|note| say(note));
    stop::with_stop_flag(|stop| obtain(catalog, options, stop, &mut say))
}

/// Finds an existing guest for all filesystems of a catalog. Returns `None` if none was built.
pub fn find(catalog: &Catalog) -> anyhow::Result<Option<Guest>> {
    let cache = guest::cache_directory()?;
    for recipe in recipes(catalog, &BuildOptions::default())? {
        if let Some(guest) = Guest::find(&recipe, &cache, &AtomicBool::new(false))? {
            return Ok(Some(guest));
        }
    }
    Ok(None)
}

/// Returns the kernel release of a guest and the filesystems that it does not support.
pub fn contents(catalog: &Catalog, guest: &Guest) -> GuestContents {
    let lacks = |f: &Filesystem| Some((f.name.clone(), guest.missing_for(f)?));
    GuestContents {
        kernel: guest.release().to_owned(),
        lacks: catalog.filesystems().filter_map(lacks).collect(),
    }
}

/// Returns the components that guests need for the programs of these suites, as names for `--with`.
pub fn required_packages(catalog: &Catalog, suites: &[Suite]) -> Vec<String> {
    let components = suite_components(catalog, suites).into_iter();
    components.chain(external_programs::brought(suites)).collect()
}

/// Returns the layers of these filesystems, as names for `--with`.
pub fn required_layers<'a>(filesystems: impl IntoIterator<Item = &'a Filesystem>) -> Vec<String> {
    let layers = filesystems.into_iter().flat_map(|filesystem| &filesystem.layers);
    layers.map(|layer| layer.name.clone()).collect()
}

/// Returns the names of the components with the programs of these suites: `SUITE` for the small
/// profiles, and `SUITE:PROFILE` for a profile that needs others.
fn suite_components(catalog: &Catalog, suites: &[Suite]) -> Vec<String> {
    let component = |suite: &Suite| {
        let is_it = |profile: &SizeProfile| {
            let of_profile = component_requirements(catalog, &suite.name, *profile);
            of_profile.is_some_and(|needed| needed == suite.requires)
        };
        let known = component_requirements(catalog, &suite.name, SizeProfile::Smoke);
        let usual = known.map(|_| SizeProfile::Smoke);
        let profile = SizeProfile::ALL.into_iter().find(is_it).or(usual)?;
        Some(component_name(&suite.name, profile))
    };
    suites.iter().filter_map(component).collect()
}

fn component_name(suite: &str, profile: SizeProfile) -> String {
    match profile {
        SizeProfile::Smoke => suite.to_owned(),
        other => format!("{suite}:{other}"),
    }
}

/// Returns the programs of a suite's commands at a profile, if it has commands.
fn component_requirements(
    catalog: &Catalog,
    suite: &str,
    profile: SizeProfile,
) -> Option<ProgramRequirements> {
    let suites = catalog.suites(profile).into_iter();
    let requires = suites.filter(|one| one.name == suite).map(|one| one.requires.clone());
    requires.into_iter().find(|requires| !requires.is_empty())
}

/// Returns the programs of a component of this name: `SUITE` or `SUITE:PROFILE`.
fn requirements(catalog: &Catalog, component: &str) -> Option<ProgramRequirements> {
    let (suite, profile) = match component.split_once(':') {
        Some((suite, profile)) => (suite, profile.parse().ok()?),
        None => (component, SizeProfile::Smoke),
    };
    component_requirements(catalog, suite, profile)
}

/// Returns the acceptable recipes for a guest, in order of preference. If the options name no
/// driver, a guest with all drivers built from source, or with one of them, is also acceptable.
fn recipes(catalog: &Catalog, options: &BuildOptions) -> anyhow::Result<Vec<Recipe>> {
    let named = with(catalog, options)?;
    let drivers = come_as_source(catalog);
    let sets = match named.iter().any(|name| drivers.contains(name)) {
        true => vec![named],
        false => {
            let each = drivers.iter().map(|name| vec![name.clone()]);
            let more = [drivers.clone()].into_iter().chain(each).chain([Vec::new()]);
            let mut sets: Vec<_> = more.map(|more| [more, named.clone()].concat()).collect();
            sets.dedup();
            sets
        }
    };
    let layered = |with: &[String]| {
        let layers = with.iter().filter_map(|name| catalog.layer(name).ok());
        let recipe = Recipe::for_filesystems(catalog.filesystems(), with);
        layers.fold(recipe, |recipe, layer| recipe.with_layer(&layer.requires))
    };
    let kernel = options.single_kernel()?;
    let recipe = |with: &Vec<String>| Recipe {
        kernel: kernel.cloned(),
        newer: kernel
            .and_then(|kernel| newer_release(kernel, catalog.kernels(), storage::debian_release())),
        mirror: options.mirror.clone(),
        ..with
            .iter()
            .filter_map(|name| requirements(catalog, name))
            .chain(with.iter().filter_map(|name| external_programs::required(name)))
            .fold(layered(with), |recipe, programs| recipe.with_programs(&programs))
    };
    Ok(sets.iter().map(recipe).collect())
}

/// Returns the names of filesystems whose drivers are built from source.
fn come_as_source(catalog: &Catalog) -> Vec<String> {
    let filesystems = catalog.filesystems();
    let filesystems = filesystems.filter(|filesystem| guest::is_dkms(filesystem));
    filesystems.map(|f| f.name.clone()).collect()
}

/// Returns the components to build: contenders with drivers built from source, suites with
/// programs, and single programs.
fn with(catalog: &Catalog, options: &BuildOptions) -> anyhow::Result<Vec<String>> {
    let come_as_source = come_as_source(catalog);
    let name = |word: &String| {
        let is_component = requirements(catalog, word).is_some();
        let is_layer = catalog.layer(word).is_ok();
        if is_component || is_layer || external_programs::required(word).is_some() {
            return Ok(word.clone());
        }
        let found = catalog.filesystem(word).map(|f| f.name.clone());
        let known = |name: &String| come_as_source.contains(name);
        found.ok().filter(known).ok_or_else(|| {
            let known = come_as_source.join(", ");
            anyhow::Error::from(UsageError(format!(
                "`--with {word}`: name a driver that comes as source ({known}), a layer (luks), a suite that needs programs (build, or build:study for a profile), or one that runs as a suite (fio)"
            )))
        })
    };
    options.with.iter().map(name).collect()
}

/// Builds a guest with each kernel, or finds existing ones, and reports their contents.
fn build(options: &BuildOptions, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let catalog = paths::catalog(globals)?;
    let mut guests = options.of_each_kernel();
    guests.try_for_each(|options| build_one(&catalog, &options, globals))?;
    Ok(ExitReason::Success.into())
}

fn build_one(
    catalog: &Catalog,
    options: &BuildOptions,
    globals: &GlobalArgs,
) -> anyhow::Result<()> {
    let guest = obtain_with_progress(catalog, options, &[], globals)?;
    let all: Vec<&Filesystem> = catalog.filesystems().collect();
    let lacking = |f: &&Filesystem| guest.missing_for(f).map(|why| [f.name.clone(), line(&why)]);
    let left_out: Vec<[String; 2]> = all.iter().filter_map(lacking).collect();
    let drives = |f: &&&Filesystem| guest.missing_for(f).is_none();
    let names: Vec<&str> = all.iter().filter(drives).map(|f| f.name.as_str()).collect();
    if globals.json {
        return Ok(print_json(&json!({
            "directory": guest.directory(),
            "name": guest.name(),
            "kernel": guest.release(),
            "filesystems": names,
            "no-disk-driver": guest.lacks_disk_driver(),
            "left-out": left_out.iter().map(|[name, why]| json!({ "name": name, "why": why })).collect::<Vec<_>>(),
        }))?);
    }
    let no_driver = guest.lacks_disk_driver().map(|why| {
        let why = format!(
            "Simulated disks: only `ideal`, which takes no time and is never flushed (null_blk): {}",
            line(why)
        );
        format!("\n{}", wrap_with_margin("", &why))
    });
    let head = format!(
        "{}: Linux {} for {}",
        line(&guest.directory().to_string_lossy()),
        line(guest.release()),
        line(&names.join(", "))
    );
    let left_out = match left_out.is_empty() {
        true => String::new(),
        false => format!("\n{}", table(["left out", "why"], &left_out)),
    };
    Ok(print(&(wrap_with_margin("", &head) + &no_driver.unwrap_or_default() + &left_out))?)
}

/// Opens the cache of cell results in virtual time. Returns `None` if the user disabled it. Also
/// returns `None`, after calling `note`, if no directory is private to the user.
pub fn cells(
    unwanted: bool,
    limit: Option<Bytes>,
    note: &mut dyn FnMut(&str),
) -> Option<CellCache> {
    if unwanted {
        return None;
    }
    match open_cells(limit.unwrap_or(CellCache::DEFAULT_LIMIT)) {
        Ok(cache) => Some(cache),
        Err(error) => {
            note(&format!(
                "results of equal cells are not used again: {}",
                exit::error_chain(&error)
            ));
            None
        }
    }
}

/// Opens the cache shared between users, if one is specified.
pub fn shared_cells(shared: &SharedCache) -> anyhow::Result<Option<CellCache>> {
    let (Some(place), Some(key)) = (&shared.cache, &shared.cache_key) else {
        return Ok(None);
    };
    let secret = shared_secret(key)?;
    let shelf: Arc<dyn BlobStore> = match bucket_of(place)? {
        Some(address) => backend::cache::bucket::open(&address, &environment())
            .map_err(|error| UsageError(error.to_string()))?,
        None => Arc::new(DirectoryStore::open_shared(&paths::absolute("--cache", place)?)?),
    };
    let cache = CellCache::shared(shelf, secret);
    Ok(Some(cache.map_err(|error| EnvironmentError(error.to_string()))?))
}

/// Returns the environment variables that are valid UTF-8.
fn environment() -> backend::cache::bucket::EnvVars {
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// Returns the bucket address of a cache. Returns `None` if the cache is in a directory.
fn bucket_of(place: &Path) -> anyhow::Result<Option<backend::cache::bucket::BucketUrl>> {
    let address = backend::cache::bucket::BucketUrl::parse(&place.to_string_lossy());
    address.transpose().map_err(|why| UsageError(why).into())
}

/// Makes a cache location independent of the working directory.
pub fn absolute_cache(place: &Path) -> anyhow::Result<PathBuf> {
    match bucket_of(place)? {
        Some(_) => Ok(place.to_owned()),
        None => paths::absolute("--cache", place),
    }
}

/// Returns the secret derived from a key file.
fn shared_secret(key: &Path) -> anyhow::Result<SecretKey> {
    const READ_BY_ALL: u32 = 0o007;
    const MAX_GUEST_SIZE: u64 = 1 << 16;
    let shown = key.display();
    let file = plain_file::open(key).with_context(|| format!("cannot open {shown}"))?;
    if file.metadata()?.mode() & READ_BY_ALL != 0 {
        return Err(EnvironmentError(format!(
            "key {shown} is accessible to all users; run chmod o= {shown}"
        ))
        .into());
    }
    let mut bytes = Vec::new();
    file.take(MAX_GUEST_SIZE).read_to_end(&mut bytes)?;
    if bytes.len() < KEY_LENGTH {
        let why = format!("{shown} is too short for a key: head -c 32 /dev/urandom > {shown}");
        return Err(UsageError(why).into());
    }
    Ok(SecretKey::new(Sha256::digest(&bytes).into()))
}

fn open_cells(limit: Bytes) -> anyhow::Result<CellCache> {
    let data = SafeDir::make(&paths::data_directory()?)?;
    let secret = SecretKey::read_or_create(&data, "cells.key")?;
    let cells = guest::cache_directory()?.join("cells");
    Ok(CellCache::open(&cells, secret, limit)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_a_guest_follow_from_its_campaign() {
        let catalog = Catalog::builtin().unwrap();
        let own = BuildOptions { with: vec!["build".to_owned()], ..BuildOptions::default() };
        let sets = |campaign: &Campaign, options: &BuildOptions| -> Vec<Vec<String>> {
            let sets = made_with(&catalog, options, campaign).into_iter();
            sets.map(|set| set.with).collect()
        };
        let mut campaign = crate::fixture::campaign();
        let none = BuildOptions::default();
        assert_eq!(sets(&campaign, &none), [Vec::<String>::new()]);
        let names = ["bonnie++:-s 64M".to_owned()];
        let (suite, _) =
            external_programs::parse_program_suites(&names, Path::new(""), false).unwrap();
        campaign.suites.extend(suite);
        assert_eq!(sets(&campaign, &none), [["bonnie++"]]);
        assert_eq!(sets(&campaign, &own), [["build", "bonnie++"]]);
        let smoke = catalog.suites(SizeProfile::Smoke).into_iter();
        campaign.suites.extend(smoke.filter(|suite| suite.name == "build").cloned());
        let both = sets(&campaign, &none);
        assert_eq!(both, [vec!["bonnie++"], vec!["build", "bonnie++"]]);
    }

    #[test]
    fn large_profiles_have_their_own_programs() {
        let catalog = Catalog::builtin().unwrap();
        let of = |profile| {
            let suites = catalog.suites(profile).into_iter();
            let suites: Vec<Suite> =
                suites.filter(|suite| suite.name == "os2-shootout").cloned().collect();
            required_packages(&catalog, &suites)
        };
        assert_eq!(of(SizeProfile::Quick), ["os2-shootout"]);
        assert_eq!(of(SizeProfile::Study), ["os2-shootout:standard"]);
        let options = BuildOptions {
            with: vec!["os2-shootout:standard".to_owned()],
            ..BuildOptions::default()
        };
        let recipe = recipes(&catalog, &options).unwrap().pop().unwrap();
        assert!(recipe.files.iter().any(|file| file == "usr/bin/*"), "every program of Debian's");
        let options =
            BuildOptions { with: vec!["os2-shootout:huge".to_owned()], ..BuildOptions::default() };
        assert!(recipes(&catalog, &options).is_err());
    }

    #[test]
    fn suites_add_their_programs_to_the_guest() {
        let catalog = Catalog::builtin().unwrap();
        let suites = catalog.suites(SizeProfile::Smoke).into_iter();
        let suites = suites.filter(|suite| ["tree", "emerging"].contains(&suite.name.as_str()));
        let suites: Vec<Suite> = suites.cloned().collect();
        assert_eq!(required_packages(&catalog, &suites), ["emerging"]);
    }

    #[test]
    fn a_guest_that_was_made_with_more_is_as_good() {
        let catalog = Catalog::builtin().unwrap();
        let add_ons = |with: &[&str]| -> Vec<Vec<String>> {
            let options = BuildOptions {
                with: with.iter().map(|&name| name.to_owned()).collect(),
                ..BuildOptions::default()
            };
            let recipes = recipes(&catalog, &options).unwrap();
            let names = |recipe: &Recipe| recipe.add_ons.iter().map(|a| a.name.clone()).collect();
            recipes.iter().map(names).collect()
        };
        assert_eq!(add_ons(&[]), [vec!["zfs".to_owned()], Vec::new()]);
        assert_eq!(add_ons(&["build"]), add_ons(&[]));
        assert_eq!(add_ons(&["openzfs", "build"]), [["zfs"]]);
    }
}
