//! Key of an aged state: the digest of all its inputs, so that any change results in another key.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io;

use config::Placeholders;
use model::wire::AgeingParams;
use model::{Bytes, Commands, Contender, DriverKind, ToolVersion};
use nix::sys::utsname::uname;
use serde::Serialize;
use sha2::{Digest, Sha256};
use storage::{find_program, tool_version};

use crate::aged::hexadecimal;

/// Increased when ageing would give another result than the stored states, although all inputs are
/// equal.
const VERSION: u32 = 1;

/// Inputs that determine an aged state.
#[derive(Debug, Serialize)]
struct Inputs<'a> {
    version: u32,
    ager: u32,
    fsarena: &'static str,
    filesystem: &'a str,
    driver: DriverKind,
    /// Commands without the parts that differ between campaigns: devices and mount points.
    commands: Commands,
    tool: Option<ToolVersion>,
    /// Digests of the programs that create and mount the filesystem.
    programs: Vec<Option<String>>,
    /// Settings of mke2fs in addition to its options: environment variables and the digest of its
    /// configuration file.
    settings: (Vec<(String, String)>, Option<String>),
    kernel: String,
    size: Bytes,
    ageing: &'a AgeingParams,
}

/// Returns the key of a contender aged on an image of this size: SHA-256, in hexadecimal.
///
/// # Errors
/// Returns an error if a program or the kernel version cannot be read.
pub fn image_key(contender: &Contender, size: Bytes, ageing: &AgeingParams) -> io::Result<String> {
    let filesystem = &contender.filesystem;
    let place =
        Placeholders { devices: &["device"], mountpoint: "mountpoint", size, fsarena: "fsarena" };
    let commands = config::expand_commands(contender, &place);
    let programs = [&commands.mkfs, &commands.mount].map(|words| words.first());
    let programs = programs.into_iter().flatten().filter_map(|p| find_program(p));
    let programs: io::Result<Vec<_>> = programs.map(|path| digest(&path).map(Some)).collect();
    let inputs = Inputs {
        version: VERSION,
        ager: workload::AGER_VERSION,
        fsarena: env!("CARGO_PKG_VERSION"),
        filesystem: &filesystem.name,
        driver: filesystem.driver,
        tool: tool_version(&filesystem.commands.version),
        programs: programs?,
        settings: settings(env::vars_os()),
        kernel: kernel()?,
        commands,
        size,
        ageing,
    };
    Ok(hexadecimal(Sha256::digest(serde_json::to_vec(&inputs)?)))
}

/// Returns the defaults of mke2fs, the only mkfs program that has some: mke2fs.conf(5), and
/// ENVIRONMENT in mke2fs(8).
fn settings(
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> (Vec<(String, String)>, Option<String>) {
    let text = |text: OsString| text.to_string_lossy().into_owned();
    let variables = environment.map(|(name, value)| (text(name), text(value)));
    let mut variables: Vec<_> = variables.filter(|(n, _)| n.starts_with("MKE2FS")).collect();
    variables.sort();
    let named = variables.iter().find(|(name, _)| name == "MKE2FS_CONFIG");
    let file = named.map_or("/etc/mke2fs.conf", |(_, file)| file);
    let file = digest(file.as_ref()).ok();
    (variables, file)
}

/// Returns release and build of the running kernel.
fn kernel() -> io::Result<String> {
    let name = uname()?;
    let parts = [name.release(), name.version(), name.machine()];
    Ok(parts.map(|part| part.to_string_lossy()).join(" "))
}

fn digest(path: &std::path::Path) -> io::Result<String> {
    let mut digest = Sha256::new();
    io::copy(&mut File::open(path)?, &mut super::file::Hashing(&mut digest))?;
    Ok(hexadecimal(digest.finalize()))
}

#[cfg(test)]
mod tests {
    use config::Catalog;
    use model::{AgeingSpec, PerMille};

    use super::*;

    #[test]
    fn mke2fs_environment_and_configuration_change_the_key() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("mke2fs.conf");
        let found = |content: &str| {
            std::fs::write(&file, content).unwrap();
            let variables = [("MKE2FS_CONFIG", file.as_os_str()), ("HOME", "/".as_ref())];
            settings(variables.map(|(n, v)| (n.into(), v.into())).into_iter())
        };
        let (variables, first) = found("[defaults]\nblocksize = 1024\n");
        assert_eq!(variables.len(), 1, "HOME is nothing to it");
        assert!(first.is_some() && first != found("[defaults]\n").1);
        assert_eq!(found("[defaults]\n"), found("[defaults]\n"));
    }

    #[test]
    fn every_input_changes_the_key() {
        let catalog = Catalog::builtin().unwrap();
        let [ext4, same, journal, xfs] = ["ext4", "other=ext4", "ext4:data=journal", "xfs"]
            .map(|c| catalog.contender(c).unwrap());
        let age = AgeingSpec {
            profile: catalog.age("agrawal").unwrap().clone(),
            fill: AgeingSpec::FILL,
            operations: None,
            layout: None,
        };
        let ageing = AgeingParams::for_round(&age, 0, 1);
        let size = Bytes::mib(64);
        let first = image_key(&ext4, size, &ageing).unwrap();
        assert_eq!(first, image_key(&same, size, &ageing).unwrap(), "a name decides nothing");
        let turned =
            |age: AgeingSpec| image_key(&ext4, size, &AgeingParams::for_round(&age, 0, 1)).unwrap();
        let mut profile = age.profile.clone();
        profile.turnover += 1;
        let others = [
            image_key(&journal, size, &ageing).unwrap(),
            image_key(&xfs, size, &ageing).unwrap(),
            image_key(&ext4, Bytes::mib(65), &ageing).unwrap(),
            image_key(&ext4, size, &AgeingParams::for_round(&age, 0, 2)).unwrap(),
            image_key(&ext4, size, &AgeingParams::for_round(&age, 1, 1)).unwrap(),
            turned(AgeingSpec { profile, ..age.clone() }),
            turned(AgeingSpec { fill: PerMille(500), ..age.clone() }),
            turned(AgeingSpec { operations: Some(7), ..age.clone() }),
            turned(AgeingSpec { layout: Some(PerMille(900)), ..age.clone() }),
        ];
        for (index, one) in others.iter().enumerate() {
            assert!(*one != first && !others[..index].contains(one), "{index}");
        }
    }
}
