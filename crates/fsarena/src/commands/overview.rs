//! `fsarena` without a command: what runs here now, which packages add what, and commands to try.

use std::collections::BTreeMap;
use std::process::ExitCode;

use campaign::run::StopFlag;
use config::Catalog;
use model::{BackendKind, Filesystem};
use serde_json::json;
use storage::{Availability, HostInfo, check_availability, emulator};

use crate::args::cli::GlobalArgs;
use crate::commands::doctor;
use crate::output::exit::ExitReason;
use crate::output::text::{line, print, print_json, wrap_with_margin};
use crate::paths;

/// Maximum number of packages that are named.
const MAX_PACKAGES: usize = 3;

/// Writes the overview.
pub fn run(globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let catalog = paths::catalog(globals)?;
    let reach = paths::transport(None, &StopFlag::default())?;
    let programs = paths::programs(&catalog);
    let machine =
        backend::inspect_machine(&*reach, programs, None, Vec::new(), &StopFlag::default())?;
    let (machine, _) = doctor::with_guest(&catalog, machine.machine);
    match globals.json {
        true => print_json(&json!({
            "loop": running(&catalog, BackendKind::Loop, &machine),
            "vm": running(&catalog, BackendKind::Vm, &machine),
            "packages": by_package(&catalog, &machine),
        }))?,
        false => print(&text(&catalog, &machine))?,
    }
    Ok(ExitReason::Success.into())
}

fn text(catalog: &Catalog, machine: &HostInfo) -> String {
    let here = running(catalog, BackendKind::Loop, machine);
    let all = catalog.filesystems().count();
    let mut parts = vec![
        "fsarena compares filesystems: it names the one to take and the most that it costs."
            .to_owned(),
        format!("{} of {all} filesystems run here, as root: {}.", here.len(), here.join(", ")),
        guests(catalog, machine),
    ];
    parts.extend(packages(catalog, machine));
    let parts: String = parts.iter().map(|part| wrap_with_margin("", part)).collect();
    let in_guests = match machine.guest {
        Some(_) => ["fsarena run --backend vm -c ext4 -c jfs", "in guests, without root"],
        None => ["fsarena guest build", "a guest, for filesystems that this kernel lacks"],
    };
    let tries = [
        ["sudo fsarena run -c ext4 -c xfs --profile smoke", "a first look at two filesystems"],
        ["sudo fsarena run --budget 10min", "all that run here"],
        in_guests,
        ["fsarena --help", "all commands"],
    ];
    let tries = tries.map(|[command, what]| format!("  {command:48}  {what}\n"));
    parts + "\nTry:\n" + &tries.concat()
}

fn guests(catalog: &Catalog, machine: &HostInfo) -> String {
    match (emulator(machine), &machine.guest) {
        (Some(need), _) => {
            format!(
                "Guests, without root, need {}: {}.",
                line(&need.description),
                line(&need.command)
            )
        }
        (None, Some(guest)) => format!(
            "{} run in guests, without root, on Linux {}.",
            running(catalog, BackendKind::Vm, machine).len(),
            line(&guest.kernel)
        ),
        (None, None) => "Many more run in guests, without root.".to_owned(),
    }
}

/// Returns the packages that add filesystems, and the command that installs them.
fn packages(catalog: &Catalog, machine: &HostInfo) -> Option<String> {
    let adding = by_package(catalog, machine);
    let named = adding.iter().take(MAX_PACKAGES);
    let mut named: Vec<String> =
        named.map(|(package, adds)| format!("{package} ({})", adds.join(", "))).collect();
    let more = adding.len().saturating_sub(MAX_PACKAGES);
    if more > 0 {
        named.push(format!("{more} more packages"));
    }
    let all = named.join(", ");
    (!named.is_empty()).then(|| format!("`fsarena doctor --fix` adds filesystems: {all}."))
}

fn running<'a>(catalog: &'a Catalog, backend: BackendKind, machine: &HostInfo) -> Vec<&'a str> {
    let is_here = |filesystem: &&Filesystem| {
        check_availability(filesystem, backend, machine) == Availability::Available
    };
    catalog.filesystems().filter(is_here).map(|filesystem| filesystem.name.as_str()).collect()
}

/// Returns the packages that are all that filesystems lack, each with these filesystems.
fn by_package<'a>(catalog: &'a Catalog, machine: &HostInfo) -> BTreeMap<String, Vec<&'a str>> {
    let mut adds: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let competes = |filesystem: &&Filesystem| filesystem.only_when_named.is_none();
    for filesystem in catalog.filesystems().filter(competes) {
        let found = check_availability(filesystem, BackendKind::Loop, machine);
        let Availability::Missing { needs } = found else { continue };
        if needs.iter().any(|need| need.packages.is_empty()) {
            continue;
        }
        let packages: Vec<String> = needs.into_iter().flat_map(|need| need.packages).collect();
        adds.entry(packages.join(" ")).or_default().push(&filesystem.name);
    }
    adds
}
