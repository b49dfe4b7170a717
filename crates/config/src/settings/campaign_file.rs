//! A campaign file of the user: contenders, tests, sizes and backend.

use std::path::Path;

use model::{
    BackendKind, Contender, ContenderGroup, ContenderOverrides, CopySource, DiskModel, GuestConfig,
    SizeProfile,
};

use crate::catalog::age_file;
use crate::catalog::document::{TomlSource, TomlTable, TomlValue};
use crate::settings::campaign_settings::{
    AgeEntry, ContenderEntry, DirectoryContender, GUESTS, Settings,
};
use crate::settings::contender::check_options;
use crate::settings::declare::DeclaredOptions as _;
use crate::{Catalog, CatalogError};

const CONTENDER: [&str; 8] =
    ["name", "filesystem", "mkfs_options", "mount_options", "memory", "disk", "disks", "age"];
const DIRECTORY: [&str; 3] = ["name", "path", "memory"];

/// Reads a campaign from the text of a file. Resolves relative paths against the directory of the
/// file.
///
/// # Errors
/// Returns a one-line error with file and line if the text is invalid.
pub fn load(path: &Path, text: &str, catalog: &Catalog) -> Result<Settings, CatalogError> {
    let mut campaign = parse(text, &path.display().to_string(), catalog)?;
    if let Some(base) = path.parent() {
        for directory in &mut campaign.directories {
            directory.path = base.join(&directory.path);
        }
        if let Some(source) =
            campaign.source.as_mut().filter(|s| *s != Path::new(CopySource::IMAGE))
        {
            *source = base.join(&*source);
        }
    }
    Ok(campaign)
}

/// Reads a campaign from text. `file` is the file name for errors.
///
/// # Errors
/// Returns an error if the text is invalid.
pub fn parse(text: &str, file: &str, catalog: &Catalog) -> Result<Settings, CatalogError> {
    let source = TomlSource { file, text };
    let document = source.parse()?;
    let top = TomlTable::top(source, &document, &Settings::keys())?;
    let settings = Settings::read(&top, catalog)?;
    check(&settings, &top)?;
    Ok(settings)
}

/// Checks combinations of keys: a campaign has one backend and one rule for its rounds.
fn check(settings: &Settings, top: &TomlTable<'_>) -> Result<(), CatalogError> {
    let Settings { backend, budget, until_width, .. } = settings;
    let (in_directories, has_contenders) =
        (!settings.directories.is_empty(), !settings.contenders.is_empty());
    if !has_contenders && !in_directories {
        return Err(top.error("missing key `contenders` (or `directories`)".into()));
    }
    let is_on = |kind| *backend == Some(kind);
    let no_rule = "means nothing without `until_width`";
    let refusals = [
        (
            "rounds",
            budget.is_some() && settings.rounds.is_some(),
            "and `budget` exclude each other",
        ),
        (
            "until_width",
            budget.is_some() && until_width.is_some(),
            "and `budget` exclude each other",
        ),
        ("until_share", until_width.is_none() && settings.until_share.is_some(), no_rule),
        ("max_rounds", until_width.is_none() && settings.max_rounds.is_some(), no_rule),
        ("max_time", until_width.is_none() && settings.max_time.is_some(), no_rule),
        (
            "directories",
            in_directories && has_contenders,
            "and `contenders` cannot be in one campaign: it has one backend",
        ),
        (
            "age",
            in_directories && settings.age.is_some(),
            "cannot be used with `directories`: fsarena does not modify their contents",
        ),
        (
            "device",
            in_directories && settings.storage.device.is_some(),
            "cannot be used with `directories`; remove it",
        ),
        (
            "backend",
            in_directories && is_on(BackendKind::Loop),
            "is `loop`; expected dir, for there are `directories`",
        ),
        (
            "backend",
            in_directories && is_on(BackendKind::Vm),
            "is `vm`; expected dir, for there are `directories`",
        ),
        (
            "backend",
            !in_directories && is_on(BackendKind::Dir),
            "is `dir`; expected `directories` instead of `contenders`",
        ),
    ];
    let given = settings.given();
    // If the file leaves the backend to the command line, these keys are checked there.
    let elsewhere = backend.is_some_and(|backend| backend != BackendKind::Vm);
    let of_guests = given.iter().filter(|option| elsewhere && option.heading == GUESTS);
    let of_guests = of_guests.map(|option| (option.key, true, "is for `backend = \"vm\"` alone"));
    match refusals.into_iter().chain(of_guests).find(|(_, refused, _)| *refused) {
        Some((key, _, why)) => Err(top.required(key)?.error(format!("`{key}` {why}"))),
        None => Ok(()),
    }
}

/// Reads the contenders.
pub(crate) fn contenders(
    value: &TomlValue<'_>,
    catalog: &Catalog,
) -> Result<Vec<ContenderEntry>, CatalogError> {
    let mut contenders: Vec<ContenderEntry> = Vec::new();
    for value in value.list("contenders")? {
        let contender = contender(&value, catalog)?;
        if contenders.iter().any(|c| c.name() == contender.name) {
            return Err(value.error(format!(
                "two contenders are named `{}`; rename one of them",
                contender.name
            )));
        }
        contenders.push(ContenderEntry::Defined(Box::new(contender)));
    }
    Ok(contenders)
}

fn contender(value: &TomlValue<'_>, catalog: &Catalog) -> Result<Contender, CatalogError> {
    if !value.is_table() {
        let spec = value.text().map_err(|_| value.expected_error("a list of contenders"))?;
        return catalog.contender(&spec).map_err(|e| value.error(e.to_string()));
    }
    let table = value.table(&CONTENDER)?;
    let filesystem = table.required("filesystem")?;
    let layered = catalog.layered_filesystem(&filesystem.text()?);
    let filesystem = layered.map_err(|e| filesystem.error(e.to_string()))?;
    let disks = table.read("disks", |v| v.count(1..=GuestConfig::MAX_DISKS))?;
    let disks = Catalog::disks_of_layers(&filesystem, disks).map_err(|m| value.error(m))?;
    let contender = Contender {
        name: table.required("name")?.name()?,
        filesystem,
        mkfs_options: table.texts("mkfs_options")?,
        mount_options: table.texts("mount_options")?,
        directory: None,
        own: ContenderOverrides {
            memory: table.read("memory", |v| v.size())?,
            disk: table.read("disk", |v| disk(&v, catalog))?,
            disks,
            age: table.read("age", |v| age_file::contender_age(&v, catalog))?,
        },
    };
    check_options(&contender).map_err(|m| value.error(m))?;
    Ok(contender)
}

/// Reads the name of a simulated disk.
pub(crate) fn disk_name(
    value: &TomlValue<'_>,
    catalog: &Catalog,
) -> Result<Option<String>, CatalogError> {
    disk(value, catalog).map(|disk| Some(disk.name))
}

fn disk(value: &TomlValue<'_>, catalog: &Catalog) -> Result<DiskModel, CatalogError> {
    let name = value.name()?;
    catalog.disk(&name).map_err(|e| value.error(e.to_string()))
}

/// Reads the ages at which every contender competes.
pub(crate) fn ages(
    value: &TomlValue<'_>,
    catalog: &Catalog,
) -> Result<Option<AgeEntry>, CatalogError> {
    age_file::ages(value, catalog).map(|ages| Some(AgeEntry::Defined(ages)))
}

/// Reads groups of contenders. Their members are checked later, because the command line may add
/// contenders.
pub(crate) fn groups(
    value: &TomlValue<'_>,
    _: &Catalog,
) -> Result<Vec<ContenderGroup>, CatalogError> {
    let group = |(name, value): (&str, TomlValue<'_>)| {
        model::check_name(name).map_err(|e| value.error(format!("a group: {e}")))?;
        Ok(ContenderGroup { name: name.to_owned(), members: value.texts()? })
    };
    value.any_table()?.entries().map(group).collect()
}

/// Reads the mounted directories.
pub(crate) fn directories(
    value: &TomlValue<'_>,
    _: &Catalog,
) -> Result<Vec<DirectoryContender>, CatalogError> {
    let directory = |value: &TomlValue<'_>| {
        if !value.is_table() {
            let path = value.text().map_err(|_| value.expected_error("a list of directories"))?;
            return Ok(DirectoryContender { name: None, path: path.into(), memory: None });
        }
        let table = value.table(&DIRECTORY)?;
        Ok(DirectoryContender {
            name: table.read("name", |v| v.name())?,
            path: table.text("path")?.into(),
            memory: table.read("memory", |v| v.size())?,
        })
    };
    value.list("directories")?.iter().map(directory).collect()
}

/// Reads the names of suites.
pub(crate) fn suites(
    value: &TomlValue<'_>,
    catalog: &Catalog,
) -> Result<Vec<String>, CatalogError> {
    let suites = value.texts()?;
    // A name with a colon is another program, which the command line reads.
    let of_catalog: Vec<String> = suites.iter().filter(|s| !s.contains(':')).cloned().collect();
    let known = catalog.chosen_suites(&of_catalog, SizeProfile::Smoke);
    known.map_err(|e| value.error(e.to_string()))?;
    Ok(suites)
}
