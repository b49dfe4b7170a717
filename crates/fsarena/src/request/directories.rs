//! Mounted directories that compete (`--dir`).

use std::path::Path;

use catalog::{CampaignFile, Catalog, Directory};
use model::{Contender, OwnSetting, check_name};
use wire::machine::MountedDirectory;

use crate::arguments::run_args::RunArgs;

/// Those of the command line, else those of the file.
pub fn directories(args: &RunArgs, file: &CampaignFile) -> Vec<Directory> {
    if args.directories.is_empty() {
        return file.directories.clone();
    }
    args.directories
        .iter()
        .map(|text| directory(text))
        .collect()
}

/// `DIR`, or `NAME=DIR` where that is not itself the path of something.
fn directory(text: &Path) -> Directory {
    let named = text.to_str().and_then(|text| text.split_once('='));
    match named {
        Some((name, path)) if check_name(name).is_ok() && !text.exists() => Directory {
            name: Some(name.to_owned()),
            path: path.into(),
            memory: None,
        },
        _ => Directory {
            name: None,
            path: text.to_owned(),
            memory: None,
        },
    }
}

/// The directories that compete, as their machine sees them.
pub fn mounted(
    directories: &[Directory],
    found: &[MountedDirectory],
    catalog: &Catalog,
) -> anyhow::Result<Vec<Contender>> {
    let contender = |(directory, found): (&Directory, &MountedDirectory)| {
        let (name, filesystem) = (directory.name.as_deref(), found.filesystem.as_deref());
        let contender = catalog.directory_contender(&found.path, name, filesystem)?;
        Ok(Contender {
            own: OwnSetting {
                memory: directory.memory,
                ..contender.own
            },
            ..contender
        })
    };
    directories.iter().zip(found).map(contender).collect()
}
