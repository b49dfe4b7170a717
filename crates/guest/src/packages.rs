//! Debian's packages, from the mirror that this machine's own apt is set to: asked for, brought, unpacked;
//! nothing is installed, and no root is needed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::GuestError;

/// A package as apt would bring it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// The name of its file, with version and architecture.
    pub file: String,
    /// What its content must be, as apt says it: `SHA256:…`.
    pub digest: String,
}

/// The package of the newest kernel that the release has.
pub fn newest_kernel() -> Result<String, GuestError> {
    const NEWEST: &str = "linux-image-amd64";
    let text = run(Command::new("apt-cache").args(["depends", NEWEST]), "apt")?;
    let kernel = text.lines().find_map(|line| {
        let name = line.trim().strip_prefix("Depends: ")?;
        name.starts_with("linux-image-").then(|| name.to_owned())
    });
    kernel.ok_or_else(|| {
        GuestError::Unexpected(format!("apt knows no {NEWEST}: run `apt-get update` first"))
    })
}

/// Those of some packages that apt knows: not every archive is open on every machine.
pub fn known<'a>(names: &[&'a str]) -> Result<Vec<&'a str>, GuestError> {
    let text = run(Command::new("apt-cache").arg("pkgnames"), "apt")?;
    let all: BTreeSet<&str> = text.lines().collect();
    Ok(names
        .iter()
        .copied()
        .filter(|name| all.contains(name))
        .collect())
}

/// Packages with all that they depend on, as apt would install them on a machine that has nothing.
pub fn with_dependencies(names: &[&str]) -> Result<Vec<String>, GuestError> {
    let mut command = Command::new("apt-get");
    command
        .args(["install", "--print-uris", "--quiet=2", "--yes"])
        .args([
            "--no-install-recommends",
            "-o",
            "Dir::State::status=/dev/null",
        ]);
    let text = run(command.args(names), "apt")?;
    let packages = text.lines().filter_map(parse);
    let name = |package: Package| package.file.split('_').next().map(str::to_owned);
    Ok(packages.filter_map(name).collect())
}

/// What apt would bring for these names.
pub fn ask(names: &[&str]) -> Result<Vec<Package>, GuestError> {
    let mut command = Command::new("apt-get");
    // It says nothing of a package that lies in the current directory.
    command.current_dir("/").args(["download", "--print-uris"]);
    let text = run(command.args(names), "apt")?;
    let packages: Vec<Package> = text.lines().filter_map(parse).collect();
    if packages.len() == names.len() {
        return Ok(packages);
    }
    let names = names.join(" ");
    Err(GuestError::Unexpected(format!(
        "apt does not say where it would get {names} from"
    )))
}

/// `'URI' FILE SIZE DIGEST`; where apt lists what it would install, the digest may be missing.
fn parse(line: &str) -> Option<Package> {
    let mut words = line.split(' ');
    let uri = words.next()?;
    let (file, _size) = (words.next()?, words.next()?);
    uri.starts_with('\'').then(|| Package {
        file: file.to_owned(),
        digest: words.next().unwrap_or_default().to_owned(),
    })
}

/// Brings packages into a directory; apt checks their signatures and digests.
pub fn bring<S: AsRef<OsStr>>(names: &[S], into: &Path) -> Result<(), GuestError> {
    // As root, apt would download as a user who cannot write here.
    let sandbox = ["-o", "APT::Sandbox::User=root"];
    let mut command = Command::new("apt-get");
    command.current_dir(into).args(["download", "--quiet"]);
    run(command.args(sandbox).args(names), "apt").map(drop)
}

/// Unpacks a package below a directory; none of its scripts runs.
pub fn unpack(package: &Path, into: &Path) -> Result<(), GuestError> {
    let mut command = Command::new("dpkg-deb");
    run(command.arg("--extract").arg(package).arg(into), "dpkg").map(drop)
}

/// The one file in a directory whose name begins so.
pub fn only_file(directory: &Path, prefix: &str) -> Result<PathBuf, GuestError> {
    let entries = directory
        .read_dir()
        .map_err(GuestError::io("read", directory))?;
    let fits = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(prefix)
    };
    let mut found: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(fits).collect();
    match (found.pop(), found.is_empty()) {
        (Some(path), true) => Ok(path),
        _ => Err(GuestError::Unexpected(format!(
            "{} does not hold one {prefix}…",
            directory.display()
        ))),
    }
}

fn run(command: &mut Command, package: &'static str) -> Result<String, GuestError> {
    let line = |command: &Command| {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        words
            .map(|w| w.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let output = command.env("LC_ALL", "C").stdin(Stdio::null()).output();
    let output = output.map_err(|source| match source.kind() {
        ErrorKind::NotFound => GuestError::Program {
            program: command.get_program().to_string_lossy().into_owned(),
            package,
            source,
        },
        _ => GuestError::Unexpected(format!("`{}`: {source}", line(command))),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(GuestError::Failed {
        command: line(command),
        complaint: complaint
            .lines()
            .last()
            .unwrap_or("it said nothing")
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_apt_would_bring() {
        let line =
            "'http://mirror/pool/b/busybox_1%2b2.deb' busybox_1+2_amd64.deb 928188 SHA256:3d3f";
        let package = Package {
            file: "busybox_1+2_amd64.deb".into(),
            digest: "SHA256:3d3f".into(),
        };
        assert_eq!(parse(line), Some(package));
        let bare = parse("'http://mirror/pool/x.deb' x_1_amd64.deb 7 ");
        assert_eq!(bare.unwrap().file, "x_1_amd64.deb");
        assert_eq!(parse("Reading package lists..."), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn a_program_that_fails_is_told_with_its_last_word() {
        let mut command = Command::new("sh");
        let error = run(
            command.args(["-c", "echo a >&2; echo b >&2; exit 1"]),
            "dash",
        );
        assert!(error.unwrap_err().to_string().ends_with("failed: b"));
        let error = run(&mut Command::new("no-such-program"), "none").unwrap_err();
        assert!(
            error.to_string().contains("apt-get install none"),
            "{error}"
        );
    }
}
