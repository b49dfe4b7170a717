//! Reads one file of `filesystems/`: TOML → a validated [`Filesystem`].

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use model::{
    BootLoader, Commands, CrashRecovery, DocumentedPromise, DriverKind, Expectation, Filesystem,
    FilesystemFacts, FilesystemOrigin, FormatLimit, HarmlessMessage, License, LinuxRange,
    MaintenanceCommand, MaintenanceTask, MkfsWriteEstimate, NativeReader, OperatingSystem,
    PowerCutEvidence, RecoveryMechanism, Requirements, SnapshotSupport,
};

use crate::CatalogError;
use crate::catalog::document::{NameRegistry, TomlSource, TomlTable, TomlValue};
use crate::catalog::kernels_file;
use crate::command_line::{
    DEFAULT_OPTIONS, FSARENA, FSCK, MAINTENANCE, MKFS, MKFS_HALF, MOUNT, POOL_OPTIONS,
    PlaceholderRule, REPAIR, UMOUNT, VERSION,
};
use crate::settings::options::{check_mkfs_options, check_mount_option, check_pool_mount_option};

const KEYS: [&str; 24] = [
    "name",
    "title",
    "aliases",
    "baseline",
    "driver",
    "origin",
    "read_by",
    "booted_by",
    "largest_file",
    "largest_volume",
    "license",
    "crash_recovery",
    "snapshots",
    "promises",
    "power_cuts",
    "harmless",
    "source",
    "quirks",
    "unavailable",
    "only_in_guest",
    "only_when_named",
    "requires",
    "commands",
    "maintenance",
];
const REQUIRES: [&str; 8] =
    ["kernel", "linux", "modules", "packages", "programs", "unpackaged", "smallest", "largest"];
const LINUX: [&str; 2] = ["from", "before"];
const COMMANDS: [&str; 14] = [
    "mkfs",
    "mkfs_shares",
    "mkfs_writes",
    "mount",
    "umount",
    "fsck",
    "fsck_clean",
    "repair",
    "repair_clean",
    "mkfs_options",
    "mount_options",
    "pool_mkfs_options",
    "pool_mount_options",
    "version",
];
/// All tasks but the last one, to trim, which needs no command.
const MAINTENANCE_KEYS: [&str; MaintenanceTask::ALL.len() - 1] = {
    let mut keys = [""; MaintenanceTask::ALL.len() - 1];
    let mut i = 0;
    while i < keys.len() {
        keys[i] = MaintenanceTask::ALL[i].name();
        i += 1;
    }
    keys
};
const MAINTENANCE_COMMAND: [&str; 3] = ["command", "unmounted", "sys_resource"];
pub(crate) const HARMLESS: [&str; 2] = ["text", "why"];
const SNAPSHOTS: [&str; 2] = ["by", "source"];
const PROMISE: [&str; 4] = ["keeps", "unless", "only_with", "source"];
const ORIGIN: [&str; 3] = ["system", "year", "source"];
const READER: [&str; 3] = ["system", "writes", "source"];
const BOOT_LOADER: [&str; 2] = ["name", "source"];
const MKFS_WRITES: [&str; 2] = ["bytes", "one_in"];
const CRASH_RECOVERY: [&str; 3] = ["by", "lost_with", "source"];
const POWER_CUTS: [&str; 4] = ["cuts", "lost", "worst", "source"];
const LICENSE: [&str; 3] = ["name", "price", "source"];
const LIMIT: [&str; 2] = ["size", "source"];
pub(crate) const DRIVERS: [(&str, DriverKind); 2] =
    [("kernel", DriverKind::Kernel), ("fuse", DriverKind::Fuse)];

/// Programs of the base system: no package needs to be listed for them.
const BASE_PROGRAMS: [&str; 3] = ["mount", "umount", "sh"];

/// Reads a filesystem, its name and its aliases.
pub(crate) fn read(source: TomlSource<'_>) -> Result<(Filesystem, NameRegistry), CatalogError> {
    let document = source.parse()?;
    let top = TomlTable::top(source, &document, &KEYS)?;
    let unavailable = top.read("unavailable", |v| v.text())?;
    let requires = requirements(&top, unavailable.is_some())?;
    let mut commands = match top.get("commands")? {
        Some(table) => commands(&table, unavailable.is_some(), &requires.programs)?,
        None if unavailable.is_some() => Commands::default(),
        None => return Err(top.error("missing key `commands`".into())),
    };
    let is_baseline = top.read("baseline", |v| v.flag())?.unwrap_or(false);
    if let Some(table) = top.get("maintenance")? {
        commands.maintenance = maintenance(&table, &requires.programs)?;
    }
    if commands.mkfs.is_empty() != is_baseline && unavailable.is_none() {
        return Err(top.error(match is_baseline {
            true => "what `baseline` marks has no `mkfs` in `commands`".into(),
            false => {
                "missing key `mkfs` in `commands`; only a baseline (`baseline = true`) goes without"
                    .into()
            }
        }));
    }
    let name = top.required("name")?;
    let mut claims = vec![(name.name()?, name.line())];
    for alias in top.read("aliases", |v| v.list_or_none("names"))?.unwrap_or_default() {
        claims.push((alias.name()?, alias.line()));
    }
    let filesystem = Filesystem {
        name: name.name()?,
        title: top.text("title")?,
        aliases: claims[1..].iter().map(|(alias, _)| alias.clone()).collect(),
        driver: top.required("driver")?.one_of(&DRIVERS)?,
        facts: facts(&top)?,
        source: top.text("source")?,
        requires,
        commands,
        quirks: top.texts("quirks")?,
        unavailable,
        only_in_guest: top.read("only_in_guest", |v| v.text())?,
        only_when_named: top.read("only_when_named", |v| v.text())?,
        layers: Vec::new(),
    };
    Ok((filesystem, claims))
}

/// Reads facts that cannot be found by testing, each with its source.
fn facts(top: &TomlTable<'_>) -> Result<FilesystemFacts, CatalogError> {
    let limit = |key| top.read(key, |v| limit(&v));
    Ok(FilesystemFacts {
        origin: top.read("origin", |v| origin(&v))?,
        read_by: each(top, "read_by", "systems", reader)?,
        booted_by: each(top, "booted_by", "boot loaders", boot_loader)?,
        largest_file: limit("largest_file")?,
        largest_volume: limit("largest_volume")?,
        license: top.read("license", |v| license(&v))?,
        crash_recovery: top.read("crash_recovery", |v| crash_recovery(&v))?,
        snapshots: top.read("snapshots", |v| snapshots(&v))?,
        promises: each(top, "promises", "promises", promise)?,
        power_cuts: top.read("power_cuts", |v| power_cuts(&v))?,
        harmless: harmless(top)?,
    })
}

/// Reads the harmless warnings of the kernel.
pub(crate) fn harmless(top: &TomlTable<'_>) -> Result<Vec<HarmlessMessage>, CatalogError> {
    each(top, "harmless", "messages", |value| {
        let table = value.table(&HARMLESS)?;
        Ok(HarmlessMessage { text: table.text("text")?, why: table.text("why")? })
    })
}

/// Reads the elements of a list; returns an empty list if the key is missing.
fn each<T>(
    top: &TomlTable<'_>,
    key: &'static str,
    of: &str,
    read: fn(&TomlValue<'_>) -> Result<T, CatalogError>,
) -> Result<Vec<T>, CatalogError> {
    let listed = top.read(key, |v| v.list(of))?.unwrap_or_default();
    listed.iter().map(read).collect()
}

fn origin(value: &TomlValue<'_>) -> Result<FilesystemOrigin, CatalogError> {
    let table = value.table(&ORIGIN)?;
    Ok(FilesystemOrigin {
        system: table.text("system")?,
        year: table.read("year", |v| v.count(1956..=2099))?,
        source: table.text("source")?,
    })
}

fn reader(value: &TomlValue<'_>) -> Result<NativeReader, CatalogError> {
    let table = value.table(&READER)?;
    Ok(NativeReader {
        system: system(&table.required("system")?)?,
        writes: table.required("writes")?.flag()?,
        source: table.text("source")?,
    })
}

/// Reads an operating system that may read a disk.
pub(crate) fn system(value: &TomlValue<'_>) -> Result<OperatingSystem, CatalogError> {
    value.one_of(&OperatingSystem::ALL.map(|system| (system.name(), system)))
}

fn boot_loader(value: &TomlValue<'_>) -> Result<BootLoader, CatalogError> {
    let table = value.table(&BOOT_LOADER)?;
    Ok(BootLoader { name: table.text("name")?, source: table.text("source")? })
}

fn limit(value: &TomlValue<'_>) -> Result<FormatLimit, CatalogError> {
    let table = value.table(&LIMIT)?;
    Ok(FormatLimit { size: table.text("size")?, source: table.text("source")? })
}

fn license(value: &TomlValue<'_>) -> Result<License, CatalogError> {
    let table = value.table(&LICENSE)?;
    Ok(License {
        name: table.text("name")?,
        price: table.read("price", |v| v.text())?.unwrap_or_default(),
        source: table.text("source")?,
    })
}

fn crash_recovery(value: &TomlValue<'_>) -> Result<CrashRecovery, CatalogError> {
    let table = value.table(&CRASH_RECOVERY)?;
    let words = RecoveryMechanism::ALL.map(|mechanism| (mechanism.name(), mechanism));
    Ok(CrashRecovery {
        by: table.required("by")?.one_of(&words)?,
        lost_with: table.texts("lost_with")?,
        source: table.text("source")?,
    })
}

fn snapshots(value: &TomlValue<'_>) -> Result<SnapshotSupport, CatalogError> {
    let table = value.table(&SNAPSHOTS)?;
    Ok(SnapshotSupport { by: table.text("by")?, source: table.text("source")? })
}

fn promise(value: &TomlValue<'_>) -> Result<DocumentedPromise, CatalogError> {
    let table = value.table(&PROMISE)?;
    Ok(DocumentedPromise {
        keeps: table.required("keeps")?.one_of(&Expectation::WORDS)?,
        unless: table.texts("unless")?,
        only_with: table.texts("only_with")?,
        source: table.text("source")?,
    })
}

fn power_cuts(value: &TomlValue<'_>) -> Result<PowerCutEvidence, CatalogError> {
    let table = value.table(&POWER_CUTS)?;
    let cuts = table.required("cuts")?.count(1_u32..)?;
    let lost = table.required("lost")?.count(0..=cuts)?;
    Ok(PowerCutEvidence {
        cuts,
        lost,
        worst: table.read("worst", |v| v.text())?.unwrap_or_default(),
        source: table.text("source")?,
    })
}

/// Reads the requirements. The minimum size may be omitted if the filesystem is unavailable.
fn requirements(top: &TomlTable<'_>, unavailable: bool) -> Result<Requirements, CatalogError> {
    let table = top.required("requires")?.table(&REQUIRES)?;
    let smallest = match table.read("smallest", |v| v.size())? {
        Some(size) => size,
        None if unavailable => model::Bytes::default(),
        None => return Err(table.error("missing key `smallest`".into())),
    };
    let largest = table.read("largest", |v| v.size())?;
    if largest.is_some_and(|l| l < smallest) {
        return Err(table.error("`largest` is below `smallest`".into()));
    }
    let programs = table.texts("programs")?;
    let unpackaged = unpackaged(&table, &programs)?;
    Ok(Requirements {
        kernel: table.read("kernel", |v| v.text())?,
        linux: table.read("linux", |v| linux_range(&v))?.unwrap_or_default(),
        modules: table.texts("modules")?,
        packages: table.texts("packages")?,
        programs,
        unpackaged,
        smallest,
        largest,
    })
}

/// Reads versions of Linux: `{ from = "6.7", before = "6.18" }`.
fn linux_range(value: &TomlValue<'_>) -> Result<LinuxRange, CatalogError> {
    let table = value.table(&LINUX)?;
    let version = |key| table.read(key, |v| kernels_file::version(&v));
    Ok(LinuxRange { from: version("from")?, before: version("before")? })
}

/// Reads the programs that are in no package, each with its installation instructions.
fn unpackaged(
    table: &TomlTable<'_>,
    programs: &[String],
) -> Result<BTreeMap<String, String>, CatalogError> {
    let Some(given) = table.get("unpackaged")? else {
        return Ok(BTreeMap::new());
    };
    let given = given.any_table()?;
    let each = given.entries().map(|(program, brings)| {
        if !programs.iter().any(|known| known == program) {
            let message = format!("`programs` does not list `{program}`");
            return Err(brings.error(message));
        }
        Ok((program.to_owned(), brings.text()?))
    });
    each.collect()
}

fn commands(
    value: &TomlValue<'_>,
    unavailable: bool,
    programs: &[String],
) -> Result<Commands, CatalogError> {
    let table = value.table(&COMMANDS)?;
    let line = |rule: PlaceholderRule| -> Result<Vec<String>, CatalogError> {
        let words = table.read(rule.key, |v| command(&v, &rule, programs))?;
        Ok(words.unwrap_or_default())
    };
    let mount = line(MOUNT)?;
    if mount.is_empty() && !unavailable {
        return Err(table.error("missing key `mount`".into()));
    }
    let mut umount = line(UMOUNT)?;
    if umount.is_empty() {
        umount = vec!["umount".into(), "{mountpoint}".into()];
    }
    let exit_codes = |key, otherwise| -> Result<Vec<i32>, CatalogError> {
        let codes = table.read(key, |v| v.list("exit codes"))?;
        codes.map_or(Ok(otherwise), |codes| codes.iter().map(TomlValue::exit_code).collect())
    };
    let repair = line(REPAIR)?;
    let repair_clean = match repair.is_empty() {
        true => Vec::new(),
        false => exit_codes("repair_clean", vec![0, 1])?,
    };
    let of_mkfs = |key| {
        let words = options(&table, key, |_| Ok(()), &DEFAULT_OPTIONS)?;
        check_mkfs_options(&words).map_err(|m| table.error(m))?;
        Ok(words)
    };
    Ok(Commands {
        mkfs: line(MKFS)?,
        mkfs_shares: table.read("mkfs_shares", |v| v.flag())?.unwrap_or(false),
        mkfs_writes: mkfs_writes(&table)?,
        mount,
        umount,
        fsck: line(FSCK)?,
        fsck_clean: exit_codes("fsck_clean", vec![0])?,
        repair,
        repair_clean,
        // Depends on the options of a contender, too.
        replays_at_mount: false,
        mkfs_options: of_mkfs("mkfs_options")?,
        mount_options: options(&table, "mount_options", check_mount_option, &DEFAULT_OPTIONS)?,
        pool_mkfs_options: of_mkfs("pool_mkfs_options")?,
        pool_mount_options: options(
            &table,
            "pool_mount_options",
            check_pool_mount_option,
            &POOL_OPTIONS,
        )?,
        version: line(VERSION)?,
        maintenance: BTreeMap::new(),
    })
}

/// Reads the tasks of an administrator: each a command line, or a table with one.
fn maintenance(
    value: &TomlValue<'_>,
    programs: &[String],
) -> Result<BTreeMap<MaintenanceTask, MaintenanceCommand>, CatalogError> {
    let table = value.table(&MAINTENANCE_KEYS)?;
    let mut tasks = BTreeMap::new();
    for task in MaintenanceTask::ALL.into_iter().filter(|task| *task != MaintenanceTask::Trim) {
        let Some(value) = table.get(task.name())? else {
            continue;
        };
        let own = match value.any_table() {
            Ok(_) => Some(value.table(&MAINTENANCE_COMMAND)?),
            Err(_) => None,
        };
        let flag = |key| -> Result<bool, CatalogError> {
            let given = own.as_ref().map(|own| own.read(key, |v| v.flag())).transpose()?;
            Ok(given.flatten().unwrap_or(false))
        };
        let (unmounted, sys_resource) = (flag("unmounted")?, flag("sys_resource")?);
        let line = match &own {
            Some(own) => own.required("command")?,
            None => value,
        };
        let rule = match task {
            MaintenanceTask::MkfsHalf => MKFS_HALF,
            _ => MAINTENANCE,
        };
        let command = command(&line, &rule, programs)?;
        tasks.insert(task, MaintenanceCommand { command, unmounted, sys_resource });
    }
    Ok(tasks)
}

fn mkfs_writes(table: &TomlTable<'_>) -> Result<Option<MkfsWriteEstimate>, CatalogError> {
    let Some(value) = table.get("mkfs_writes")? else {
        return Ok(None);
    };
    let table = value.table(&MKFS_WRITES)?;
    let bytes = table.required("bytes")?.size()?;
    let one_in = table.required("one_in")?.count(NonZeroU64::MIN..)?;
    Ok(Some(MkfsWriteEstimate { bytes, one_in }))
}

/// Reads a command line: a text that is split at white space, or a list of words.
fn command(
    value: &TomlValue<'_>,
    rule: &PlaceholderRule,
    programs: &[String],
) -> Result<Vec<String>, CatalogError> {
    let words: Vec<String> = match value.text() {
        Ok(line) => line.split_whitespace().map(str::to_owned).collect(),
        Err(_) => value
            .list("words, or one text")?
            .iter()
            .map(TomlValue::text)
            .collect::<Result<_, _>>()?,
    };
    rule.check(&words).map_err(|m| value.error(m))?;
    let known =
        |p: &String| programs.contains(p) || BASE_PROGRAMS.contains(&p.as_str()) || p == FSARENA;
    match words.first() {
        Some(program) if known(program) => Ok(words),
        Some(program) => Err(value.error(format!(
            "`{}` begins with `{program}`, which `requires.programs` does not list",
            rule.key
        ))),
        None => Err(value.expected_error("a command line")),
    }
}

fn options(
    table: &TomlTable<'_>,
    key: &'static str,
    check: fn(&str) -> Result<(), String>,
    rule: &PlaceholderRule,
) -> Result<Vec<String>, CatalogError> {
    let listed = table.read(key, |v| v.list_or_none("options"))?.unwrap_or_default();
    let mut options = Vec::with_capacity(listed.len());
    for value in listed {
        let option = value.text()?;
        check(&option).map_err(|m| value.error(m))?;
        rule.check(std::slice::from_ref(&option)).map_err(|m| value.error(m))?;
        options.push(option);
    }
    Ok(options)
}

/// Returns every key of a filesystem file.
#[cfg(test)]
pub(crate) fn all_keys() -> impl Iterator<Item = &'static str> {
    let facts =
        ORIGIN.into_iter().chain(READER).chain(BOOT_LOADER).chain(LIMIT).chain(CRASH_RECOVERY);
    KEYS.into_iter()
        .chain(facts)
        .chain(REQUIRES)
        .chain(COMMANDS)
        .chain(MKFS_WRITES)
        .chain(MAINTENANCE_KEYS)
        .chain(MAINTENANCE_COMMAND)
        .chain(HARMLESS)
}
