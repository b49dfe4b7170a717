//! `fsarena doctor`: shows which contenders run here or in a guest, and how to enable the others.

use std::collections::BTreeSet;
use std::process::ExitCode;

use backend::AgentTransport;
use campaign::run::StopFlag;
use config::Catalog;
use model::{BackendKind, Filesystem, SizeProfile, Suite};
use serde_json::{Value, json};
use storage::{Availability, HostInfo, MissingRequirement, check_availability, missing_programs};

use crate::args::cli::{DoctorArgs, GlobalArgs};
use crate::commands::{guest as guest_command, install, overview};
use crate::output::exit::{self, ExitReason};
use crate::output::text::{
    line, print, print_json, print_note, print_unwrapped, table_on_screen, wrap_with_margin,
};
use crate::paths;
use crate::stale_directories::{self, SearchDirs};

const BACKENDS: [BackendKind; 3] = [BackendKind::Loop, BackendKind::Dir, BackendKind::Vm];

/// Examines this machine and writes the verdicts.
pub fn run(args: &DoctorArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let catalog = paths::catalog(globals)?;
    // Searching for an existing guest takes apt a moment and is not needed for a list of packages.
    let (programs, stop) = (paths::programs(&catalog), StopFlag::default());
    let reach = paths::transport(args.host.as_deref(), &stop)?;
    let found = backend::inspect_machine(&*reach, programs, None, Vec::new(), &stop)?;
    let machine = found.machine;
    let (machine, trouble) = match args.packages || reach.is_remote() {
        true => (machine, None),
        false => with_guest(&catalog, machine),
    };
    if args.fix {
        let emulator = storage::emulator(&machine).into_iter().flat_map(|need| need.packages);
        let missing = packages(&catalog, &machine).into_iter().chain(emulator).collect();
        install::install(&missing, args)?;
        return overview::run(globals);
    }
    match (args.packages, globals.json) {
        (true, false) => {
            let packages: Vec<String> = packages(&catalog, &machine).into_iter().collect();
            print_unwrapped(&format!("{}\n", packages.join(" ")))?;
        }
        (true, true) => print_json(&json!(packages(&catalog, &machine)))?,
        (false, true) => {
            print_json(&value(&catalog, &machine))?;
            left(&*reach, args, globals).iter().for_each(|line| print_note(line));
        }
        (false, false) => {
            let left = left(&*reach, args, globals);
            let left: String = left.iter().map(|line| format!("\n{line}\n")).collect();
            if reach.is_remote() {
                print(&(here(&catalog, &machine) + &left))?;
                return Ok(ExitReason::Success.into());
            }
            let suites = suites(&catalog, &machine);
            let suites: String = suites
                .iter()
                .map(|(name, need)| {
                    let (what, command) = (line(&need.description), line(&need.command));
                    format!("\nSuite {name} lacks {what}: {command}\n")
                })
                .collect();
            print(&(text(&catalog, &machine, trouble.as_deref()) + &suites + &left))?;
        }
    }
    Ok(ExitReason::Success.into())
}

/// Returns one line per leftover directory of killed campaigns on the machine. An unreadable
/// database is ignored here, because other commands report it.
fn left(reach: &dyn AgentTransport, args: &DoctorArgs, globals: &GlobalArgs) -> Vec<String> {
    let store = paths::store_if_any(globals).ok().flatten();
    let host = args.host.as_deref();
    let Ok(work_dir) = paths::work_directory(host, globals) else {
        return Vec::new();
    };
    let searched = SearchDirs { reach, host, work_dir: &work_dir, stop: &StopFlag::default() };
    let left = stale_directories::find(store.as_ref(), &searched);
    let left = left.unwrap_or_default();
    left.iter().map(|left| line(&left.describe(globals))).collect()
}

/// Returns this machine with its guest, if one was built, and the reason if the guest cannot be
/// examined.
pub fn with_guest(catalog: &Catalog, machine: HostInfo) -> (HostInfo, Option<String>) {
    let (guest, trouble) = match guest_command::find(catalog) {
        Ok(guest) => (guest.map(|g| guest_command::contents(catalog, &g)), None),
        Err(error) => (None, Some(exit::error_chain(&error))),
    };
    (HostInfo { guest, ..machine }, trouble)
}

/// Returns a table with a row for each filesystem, for the loop backend.
fn here(catalog: &Catalog, machine: &HostInfo) -> String {
    let rows: Vec<_> = catalog
        .filesystems()
        .map(|f| {
            let (word, what) = words(&check_availability(f, BackendKind::Loop, machine), f);
            [f.name.clone(), word.to_owned(), what]
        })
        .collect();
    table_on_screen(["filesystem", "loop", "what it needs, or why not"], &rows)
}

/// Returns a summary of backends, then a row for each filesystem on this machine, and for those
/// that do not run in guests.
fn text(catalog: &Catalog, machine: &HostInfo, trouble: Option<&str>) -> String {
    let emulator = storage::emulator(machine).map_or_else(String::new, |need| {
        let (what, command) = (line(&need.description), line(&need.command));
        wrap_with_margin("", &format!("Guests need {what}, which is missing: {command}")) + "\n"
    });
    let summary = wrap_with_margin("", &summary(catalog, machine, trouble));
    format!("{emulator}{summary}\n{}{}", here(catalog, machine), guests(catalog, machine))
}

/// Returns the number of filesystems per backend, and the command that would add more.
fn summary(catalog: &Catalog, machine: &HostInfo, trouble: Option<&str>) -> String {
    let run = |backend| {
        let filesystems = catalog.filesystems();
        let runs =
            |f: &&Filesystem| check_availability(f, backend, machine) == Availability::Available;
        filesystems.filter(runs).count()
    };
    let all = catalog.filesystems().count();
    let guests = match (&machine.guest, trouble) {
        (Some(guest), _) => format!(
            "{} in guests, without root, on Linux {} (--backend vm)",
            run(BackendKind::Vm),
            line(&guest.kernel)
        ),
        (None, None) => {
            "many more in guests, without root, once `fsarena guest build` has made one".to_owned()
        }
        (None, Some(why)) => format!(
            "many more in guests, without root, once `fsarena guest build` has made one ({})",
            line(why)
        ),
    };
    format!(
        "{} of {all} filesystems run here, on images and devices (--backend loop); {guests}; any mounted filesystem in its directory, without root (--dir DIR).",
        run(BackendKind::Loop)
    )
}

/// Returns the list of filesystems that run in a guest, and a row for each other one. Returns an
/// empty string without a guest.
fn guests(catalog: &Catalog, machine: &HostInfo) -> String {
    let Some(guest) = &machine.guest else {
        return String::new();
    };
    let mut running = Vec::new();
    let mut rows = Vec::new();
    for filesystem in catalog.filesystems() {
        let found = check_availability(filesystem, BackendKind::Vm, machine);
        if found == Availability::Available {
            running.push(filesystem.name.as_str());
        } else {
            let (word, what) = words(&found, filesystem);
            rows.push([filesystem.name.clone(), word.to_owned(), what]);
        }
    }
    format!(
        "\nIn guests, on Linux {}, run:\n{}\n{}",
        line(&guest.kernel),
        wrap_with_margin("  ", &running.join(" ")),
        table_on_screen(["filesystem", "vm", "what it needs, or why not"], &rows)
    )
}

fn words(verdict: &Availability, filesystem: &Filesystem) -> (&'static str, String) {
    let named = filesystem.only_when_named.as_deref();
    let named = named.map(|why| format!("only when named: {}", line(why)));
    match verdict {
        Availability::Available => ("runs", named.unwrap_or_default()),
        Availability::Missing { needs } => {
            let each = |need: &MissingRequirement| {
                format!("{}: {}", line(&need.description), line(&need.command))
            };
            let needs = needs.iter().map(each).chain(named);
            ("missing", needs.collect::<Vec<_>>().join("; "))
        }
        Availability::Impossible { why } => ("impossible", line(why)),
    }
}

fn value(catalog: &Catalog, machine: &HostInfo) -> Value {
    let contenders = catalog.filesystems().map(|f| {
        let backends = BACKENDS.map(|b| (b.to_string(), json!(check_availability(f, b, machine))));
        json!({
            "contender": f.name,
            "only-when-named": f.only_when_named,
            "backends": Value::Object(backends.into_iter().collect()),
        })
    });
    let suites = suites(catalog, machine).into_iter();
    let suites = suites.map(|(suite, need)| json!({ "suite": suite, "missing": need }));
    contenders.chain(suites).collect()
}

/// Returns the missing requirements of default suites and of the user's suites.
fn suites<'a>(catalog: &'a Catalog, machine: &HostInfo) -> Vec<(&'a str, MissingRequirement)> {
    let builtin = Catalog::builtin().ok();
    let by_default = catalog.default_suites(SizeProfile::Quick);
    let is_wanted = |suite: &&Suite| {
        let is_ours =
            builtin.as_ref().is_some_and(|b| b.suite(&suite.name, SizeProfile::Quick).is_ok());
        !is_ours || by_default.iter().any(|s| s.name == suite.name)
    };
    let wanted = catalog.suites(SizeProfile::Quick).into_iter().filter(is_wanted);
    let missing = |suite: &'a Suite| Some((suite.name.as_str(), missing_programs(suite, machine)?));
    wanted.filter_map(missing).collect()
}

/// Returns the missing packages of suites, and of filesystems that would be contenders by default.
fn packages(catalog: &Catalog, machine: &HostInfo) -> BTreeSet<String> {
    let would_compete = catalog.filesystems().filter(|f| f.only_when_named.is_none());
    would_compete
        .filter_map(|f| match check_availability(f, BackendKind::Loop, machine) {
            Availability::Missing { needs } => Some(needs),
            Availability::Available | Availability::Impossible { .. } => None,
        })
        .flatten()
        .chain(suites(catalog, machine).into_iter().map(|(_, need)| need))
        .flat_map(|need| need.packages)
        .collect()
}
