//! One file of `filesystems/`: raw TOML → a checked [`Filesystem`].

use std::collections::BTreeMap;

use model::{Class, Commands, Driver, Filesystem, Requirements};

use crate::CatalogError;
use crate::command_line::{DEFAULT_OPTIONS, FSARENA, FSCK, MKFS, MOUNT, Rule, UMOUNT, VERSION};
use crate::document::{Claims, Source, Table, Value};
use crate::options::{check_mkfs_options, check_mount_option};

const KEYS: [&str; 12] = [
    "name",
    "title",
    "aliases",
    "class",
    "driver",
    "source",
    "quirks",
    "unavailable",
    "only_in_guest",
    "only_when_named",
    "requires",
    "commands",
];
const REQUIRES: [&str; 7] = [
    "kernel",
    "modules",
    "packages",
    "programs",
    "unpackaged",
    "smallest",
    "largest",
];
const COMMANDS: [&str; 9] = [
    "mkfs",
    "mkfs_shares",
    "mount",
    "umount",
    "fsck",
    "fsck_clean",
    "mkfs_options",
    "mount_options",
    "version",
];
const CLASSES: [(&str, Class); 4] = [
    ("native", Class::Native),
    ("foreign-unix", Class::ForeignUnix),
    ("foreign", Class::Foreign),
    ("floor", Class::Floor),
];
const DRIVERS: [(&str, Driver); 2] = [("kernel", Driver::Kernel), ("fuse", Driver::Fuse)];

/// Programs that every machine has: no package brings them for the sake of a filesystem.
const EVERYWHERE: [&str; 3] = ["mount", "umount", "sh"];

/// Reads one filesystem; it claims its name and aliases.
pub(crate) fn read(source: Source<'_>) -> Result<(Filesystem, Claims), CatalogError> {
    let document = source.parse()?;
    let top = Table::top(source, &document, &KEYS)?;
    let unavailable = top.read("unavailable", |v| v.text())?;
    let requires = requirements(&top, unavailable.is_some())?;
    let commands = match top.get("commands")? {
        Some(table) => commands(&table, unavailable.is_some(), &requires.programs)?,
        None if unavailable.is_some() => Commands::default(),
        None => return Err(top.error("missing key `commands`".into())),
    };
    let class = top.need("class")?.word(&CLASSES)?;
    if commands.mkfs.is_empty() && class != Class::Floor && unavailable.is_none() {
        return Err(top.error("missing key `mkfs` in `commands`; only a floor goes without".into()));
    }
    let name = top.need("name")?;
    let mut claims = vec![(name.name()?, name.line())];
    for alias in top
        .read("aliases", |v| v.list("names"))?
        .unwrap_or_default()
    {
        claims.push((alias.name()?, alias.line()));
    }
    let filesystem = Filesystem {
        name: name.name()?,
        title: top.text("title")?,
        aliases: claims[1..].iter().map(|(alias, _)| alias.clone()).collect(),
        class,
        driver: top.need("driver")?.word(&DRIVERS)?,
        source: top.text("source")?,
        requires,
        commands,
        quirks: top.texts("quirks")?,
        unavailable,
        only_in_guest: top.read("only_in_guest", |v| v.text())?,
        only_when_named: top.read("only_when_named", |v| v.text())?,
    };
    Ok((filesystem, claims))
}

/// What cannot be run need not say how small it may be.
fn requirements(top: &Table<'_>, unavailable: bool) -> Result<Requirements, CatalogError> {
    let table = top.need("requires")?.table(&REQUIRES)?;
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
        modules: table.texts("modules")?,
        packages: table.texts("packages")?,
        programs,
        unpackaged,
        smallest,
        largest,
    })
}

/// Programs that no package brings, each with what does.
fn unpackaged(
    table: &Table<'_>,
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
    value: &Value<'_>,
    unavailable: bool,
    programs: &[String],
) -> Result<Commands, CatalogError> {
    let table = value.table(&COMMANDS)?;
    let line = |rule: Rule| -> Result<Vec<String>, CatalogError> {
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
    let clean = table.read("fsck_clean", |v| v.list("exit codes"))?;
    let clean = clean.map(|codes| codes.iter().map(Value::exit_code).collect());
    let mkfs_options = options(&table, "mkfs_options", |_| Ok(()))?;
    check_mkfs_options(&mkfs_options).map_err(|m| table.error(m))?;
    Ok(Commands {
        mkfs: line(MKFS)?,
        mkfs_shares: table.read("mkfs_shares", |v| v.flag())?.unwrap_or(false),
        mount,
        umount,
        fsck: line(FSCK)?,
        fsck_clean: clean.unwrap_or_else(|| Ok(vec![0]))?,
        mkfs_options,
        mount_options: options(&table, "mount_options", check_mount_option)?,
        version: line(VERSION)?,
    })
}

/// A command line as one text, split at white space, or as a list of words.
fn command(
    value: &Value<'_>,
    rule: &Rule,
    programs: &[String],
) -> Result<Vec<String>, CatalogError> {
    let words: Vec<String> = match value.text() {
        Ok(line) => line.split_whitespace().map(str::to_owned).collect(),
        Err(_) => value
            .list("words, or one text")?
            .iter()
            .map(Value::text)
            .collect::<Result<_, _>>()?,
    };
    rule.check(&words).map_err(|m| value.error(m))?;
    let known =
        |p: &String| programs.contains(p) || EVERYWHERE.contains(&p.as_str()) || p == FSARENA;
    match words.first() {
        Some(program) if known(program) => Ok(words),
        Some(program) => Err(value.error(format!(
            "`{}` begins with `{program}`, which `requires.programs` does not list",
            rule.key
        ))),
        None => Err(value.wrong("a command line")),
    }
}

fn options(
    table: &Table<'_>,
    key: &'static str,
    check: fn(&str) -> Result<(), String>,
) -> Result<Vec<String>, CatalogError> {
    let listed = table.read(key, |v| v.list("options"))?.unwrap_or_default();
    let mut options = Vec::with_capacity(listed.len());
    for value in listed {
        let option = value.text()?;
        check(&option).map_err(|m| value.error(m))?;
        DEFAULT_OPTIONS
            .check(std::slice::from_ref(&option))
            .map_err(|m| value.error(m))?;
        options.push(option);
    }
    Ok(options)
}

/// Every key that such a file may hold.
#[cfg(test)]
pub(crate) fn all_keys() -> impl Iterator<Item = &'static str> {
    KEYS.into_iter().chain(REQUIRES).chain(COMMANDS)
}
