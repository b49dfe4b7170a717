//! Mounted directories as contenders (`--dir`).

use std::path::Path;

use config::{Catalog, DirectoryContender, Settings};
use model::wire::machine::MountedDirectory;
use model::{Contender, ContenderOverrides, check_name};

use crate::args::run_args::RunArgs;

/// Returns the directories of the command line, else those of the file.
pub fn directories(args: &RunArgs, file: &Settings) -> Vec<DirectoryContender> {
    if args.directories.is_empty() {
        return file.directories.clone();
    }
    args.directories.iter().map(|text| directory(text)).collect()
}

/// Parses `DIR`, or `NAME=DIR` if that whole text is not an existing path.
fn directory(text: &Path) -> DirectoryContender {
    let named = text.to_str().and_then(|text| text.split_once('='));
    match named {
        Some((name, path)) if check_name(name).is_ok() && !text.exists() => {
            DirectoryContender { name: Some(name.to_owned()), path: path.into(), memory: None }
        }
        _ => DirectoryContender { name: None, path: text.to_owned(), memory: None },
    }
}

/// Returns the contenders for mounted directories, as found on their machine.
pub fn mounted(
    directories: &[DirectoryContender],
    found: &[MountedDirectory],
    catalog: &Catalog,
) -> anyhow::Result<Vec<Contender>> {
    let contender = |(directory, found): (&DirectoryContender, &MountedDirectory)| {
        let (name, filesystem) = (directory.name.as_deref(), found.filesystem.as_deref());
        let contender = catalog.directory_contender(&found.path, name, filesystem)?;
        Ok(Contender {
            own: ContenderOverrides { memory: directory.memory, ..contender.own },
            ..contender
        })
    };
    directories.iter().zip(found).map(contender).collect()
}
