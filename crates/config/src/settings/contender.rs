//! Converts the user's text to a contender: `ext4`, `ext4:data=journal,noatime`, `ext4@sata-ssd`,
//! `ext4@age=agrawal`, `ext4+luks`, a directory.

use std::path::Path;

use model::{
    Commands, Contender, ContenderOverrides, DriverKind, Filesystem, FilesystemFacts, Requirements,
};

use crate::command_line::DEFAULT_OPTIONS;
use crate::settings::contender_overrides;
use crate::settings::options::{check_mkfs_options, check_mount_option};
use crate::{Catalog, CatalogError};

impl Catalog {
    /// Parses a contender of the command line: `[NAME=]FILESYSTEM[@SETTING,...][:OPTION,...]`.
    /// `FILESYSTEM` may have layers: `ext4+luks`, `gocryptfs/ext4`.
    /// Settings override campaign settings for this contender; options are mount options. With
    /// `NAME=`, one filesystem can compete twice.
    ///
    /// # Errors
    /// Returns an error if the filesystem is not in the catalog, the name is invalid, or an option
    /// or setting is refused.
    pub fn contender(&self, spec: &str) -> Result<Contender, CatalogError> {
        // Options and settings may contain `=`, too: `ext4:data=journal`, `zfs@disks=4`.
        match spec.split_once('=') {
            Some((name, of)) if !name.contains([':', '@']) => {
                check_alias(spec, name)?;
                Ok(Contender { name: name.to_owned(), ..self.unnamed(of)? })
            }
            _ => self.unnamed(spec),
        }
    }

    /// Parses a contender without `NAME=`.
    fn unnamed(&self, spec: &str) -> Result<Contender, CatalogError> {
        let bad = |reason| CatalogError::BadContender { spec: spec.to_owned(), reason };
        let (head, options) = match spec.split_once(':') {
            None => (spec, None),
            Some((head, options)) => (head, Some(options)),
        };
        let (name, setting) = match head.split_once('@') {
            None => (head, None),
            Some((name, setting)) => (name, Some(setting)),
        };
        let filesystem = self.layered_filesystem(name)?;
        let own = setting.map(|text| contender_overrides::read(text, self));
        let mut own = own.transpose().map_err(bad)?.unwrap_or_default();
        own.disks = Self::disks_of_layers(&filesystem, own.disks).map_err(bad)?;
        let mut name = filesystem.name.clone();
        for (sign, text) in [('@', setting), (':', options)] {
            if let Some(text) = text {
                name.push(sign);
                name.push_str(text);
            }
        }
        let options = options.into_iter().flat_map(|options| options.split(','));
        let contender = Contender {
            name,
            filesystem,
            mkfs_options: Vec::new(),
            mount_options: options.map(str::to_owned).collect(),
            directory: None,
            own,
        };
        check_options(&contender).map_err(bad)?;
        Ok(contender)
    }

    /// Returns the number of disks of a contender: the given one, or the minimum of a layer of
    /// several disks.
    ///
    /// # Errors
    /// Returns the reason if a layer needs more disks than given.
    pub(crate) fn disks_of_layers(
        filesystem: &Filesystem,
        given: Option<u32>,
    ) -> Result<Option<u32>, String> {
        let of_several = filesystem.layers.iter().filter(|layer| layer.disks > 1);
        match (of_several.max_by_key(|layer| layer.disks), given) {
            (Some(layer), Some(given)) if given < layer.disks => {
                let (name, least) = (&layer.name, layer.disks);
                Err(format!("`{name}` needs {least} disks or more: @disks={least}"))
            }
            (layer, given) => Ok(given.or(layer.map(|layer| layer.disks))),
        }
    }

    /// Creates the contender for a mounted directory.
    ///
    /// `kind` is the filesystem type reported by the system (`ext4`, `fuseblk`, `nfs4`). If the
    /// catalog contains this type, its entry provides the other details.
    ///
    /// # Errors
    /// Returns an error if the name is invalid.
    pub fn directory_contender(
        &self,
        path: &Path,
        name: &str,
        kind: Option<&str>,
    ) -> Result<Contender, CatalogError> {
        check_alias(&path.display().to_string(), name)?;
        let known = kind.and_then(|k| self.filesystem(k).ok());
        Ok(Contender {
            name: name.to_owned(),
            filesystem: known.map_or_else(|| mounted(kind), Clone::clone),
            mkfs_options: Vec::new(),
            mount_options: Vec::new(),
            directory: Some(path.to_owned()),
            own: ContenderOverrides::default(),
        })
    }

    /// Derives names of directories from their paths: of each the fewest last parts that no other
    /// has, and that are not the name of a filesystem.
    pub fn directory_names(&self, paths: &[&Path]) -> Vec<String> {
        let all: Vec<Vec<String>> = paths.iter().map(|path| words_of(path)).collect();
        let last = |parts: &[String], count: usize| {
            let mut name = parts[parts.len().saturating_sub(count)..].join("-");
            name.truncate(64);
            name
        };
        let shortest = |one: usize| {
            let is_clear = |count: &usize| {
                let name = last(&all[one], *count);
                let mut others = all.iter().enumerate().filter(|(other, _)| *other != one);
                self.filesystem(&name).is_err() && others.all(|(_, o)| last(o, *count) != name)
            };
            let count = (1..=all[one].len()).find(is_clear);
            match last(&all[one], count.unwrap_or(all[one].len())) {
                name if name.is_empty() => "directory".to_owned(),
                name => name,
            }
        };
        (0..all.len()).map(shortest).collect()
    }
}

/// Checks the name of a contender from `NAME=`.
fn check_alias(spec: &str, name: &str) -> Result<(), CatalogError> {
    model::check_name(name)
        .map_err(|e| CatalogError::BadContender { spec: spec.to_owned(), reason: e.to_string() })
}

/// Checks the options of a contender, from a file or the command line.
pub(crate) fn check_options(contender: &Contender) -> Result<(), String> {
    let own = &contender.filesystem.commands;
    if !contender.mkfs_options.is_empty() && !own.mkfs.iter().any(|w| w == "{options}") {
        return Err(format!("`{}` takes no mkfs options", contender.filesystem.name));
    }
    if contender.own.age.is_some() && !own.need_device() {
        return Err(format!("`{}` is on no device that could be aged", contender.filesystem.name));
    }
    check_mkfs_options(&contender.mkfs_options)?;
    contender.mount_options.iter().try_for_each(|o| check_mount_option(o))?;
    DEFAULT_OPTIONS.check(&contender.mkfs_options)?;
    DEFAULT_OPTIONS.check(&contender.mount_options)
}

/// Returns the words of a name from a path: `mnt` and `big-disk` of `/mnt/big disk`.
fn words_of(path: &Path) -> Vec<String> {
    let parts = path.iter().map(|part| {
        let text = part.to_string_lossy().to_lowercase();
        let allowed =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_');
        let words = text.split(|c| !allowed(c)).map(|word| word.trim_start_matches(['.', '_']));
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// Creates a filesystem entry for a type that the catalog does not contain.
fn mounted(kind: Option<&str>) -> Filesystem {
    let kind = kind.unwrap_or("mounted directory");
    Filesystem {
        name: kind.to_owned(),
        title: kind.to_owned(),
        aliases: Vec::new(),
        driver: DriverKind::Kernel,
        facts: FilesystemFacts::default(),
        source: "found mounted".to_owned(),
        requires: Requirements::default(),
        commands: Commands::default(),
        quirks: Vec::new(),
        unavailable: None,
        only_in_guest: None,
        only_when_named: None,
        layers: Vec::new(),
    }
}
