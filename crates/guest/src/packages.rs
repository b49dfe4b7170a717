//! Debian's packages, asked for, brought and unpacked by apt and dpkg; nothing is installed, and no root is
//! needed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::GuestError;
use crate::command::{listen, run};

/// A package as apt would bring it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// The name of its file, with version and architecture.
    pub file: String,
    /// What its content must be, as apt says it: `SHA256:…`.
    pub digest: String,
}

impl Package {
    /// Its name without version and architecture.
    pub fn name(&self) -> &str {
        self.file.split('_').next().unwrap_or_default()
    }
}

/// A release on a mirror, as apt's settings name it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// Where it lies.
    pub uri: String,
    /// What it is called there: `bookworm-security`.
    pub name: String,
}

/// An apt: this machine's own, or one with settings of its own.
#[derive(Clone, Debug, Default)]
pub struct Apt {
    settings: Vec<String>,
}

impl Apt {
    /// One with these settings (apt.conf(5)) over those of the machine.
    pub fn with(settings: &[String]) -> Self {
        let words = settings
            .iter()
            .flat_map(|setting| ["-o".into(), setting.clone()]);
        Self {
            settings: words.collect(),
        }
    }

    fn call(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(&self.settings);
        command
    }

    /// Asks the mirrors what they have.
    pub fn update(&self) -> Result<(), GuestError> {
        run(self.call("apt-get").args(["update", "--quiet=2"]), "apt").map(drop)
    }

    /// The releases of Debian that it is set to.
    pub fn releases(&self) -> Result<BTreeSet<Release>, GuestError> {
        const FORMAT: &str = "$(ORIGIN)|$(REPO_URI)|$(RELEASE)";
        let mut command = self.call("apt-get");
        command.args(["indextargets", "--format", FORMAT, "Created-By: Packages"]);
        Ok(run(&mut command, "apt")?
            .lines()
            .filter_map(release)
            .collect())
    }

    /// The package of the newest kernel that the release has.
    pub fn newest_kernel(&self) -> Result<String, GuestError> {
        const NEWEST: &str = "linux-image-amd64";
        let needed = self.depends(NEWEST)?;
        let mut kernels = needed
            .into_iter()
            .filter(|name| name.starts_with("linux-image-"));
        kernels.next().ok_or_else(|| {
            GuestError::Unexpected(format!("apt knows no {NEWEST}: run `apt-get update` first"))
        })
    }

    /// What a package itself depends on.
    pub fn depends(&self, package: &str) -> Result<Vec<String>, GuestError> {
        let text = run(self.call("apt-cache").args(["depends", package]), "apt")?;
        let names = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("Depends: "));
        Ok(names.map(str::to_owned).collect())
    }

    /// Those of some packages that it knows: not every archive is open on every machine.
    pub fn known<'a>(&self, names: &BTreeSet<&'a str>) -> Result<BTreeSet<&'a str>, GuestError> {
        let text = run(self.call("apt-cache").arg("pkgnames"), "apt")?;
        let all: BTreeSet<&str> = text.lines().collect();
        Ok(names
            .iter()
            .copied()
            .filter(|name| all.contains(name))
            .collect())
    }

    /// Packages with all that they depend on, as apt would install them on a machine that has nothing.
    pub fn with_dependencies(&self, names: &[&str]) -> Result<Vec<String>, GuestError> {
        let mut command = self.call("apt-get");
        command
            .args(["install", "--print-uris", "--quiet=2", "--yes"])
            .args([
                "--no-install-recommends",
                "-o",
                "Dir::State::status=/dev/null",
            ]);
        let text = run(command.args(names), "apt")?;
        let packages = text.lines().filter_map(parse);
        Ok(packages.map(|package| package.name().to_owned()).collect())
    }

    /// What it would bring for these names, in their order.
    pub fn ask(&self, names: &BTreeSet<&str>) -> Result<Vec<Package>, GuestError> {
        let mut command = self.call("apt-get");
        // It says nothing of a package that lies in the current directory.
        command.current_dir("/").args(["download", "--print-uris"]);
        let text = run(command.args(names), "apt")?;
        let mut packages: Vec<Package> = text.lines().filter_map(parse).collect();
        packages.sort_by(|a, b| a.name().cmp(b.name()));
        let missing = |name: &&&str| !packages.iter().any(|package| package.name() == **name);
        match names.iter().find(missing) {
            None => Ok(packages),
            Some(name) => Err(GuestError::Unexpected(format!(
                "apt does not say where it would get {name} from"
            ))),
        }
    }

    /// Brings packages into a directory, but for those that lie there; apt checks signatures and digests
    /// of both.
    pub fn bring(
        &self,
        packages: &[Package],
        into: &Path,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), GuestError> {
        /// Who waits for a hundred packages need not read of each.
        const STEP: usize = 10;
        let lies_there = |package: &&Package| into.join(&package.file).exists();
        let missing = packages.len() - packages.iter().filter(lies_there).count();
        // As root, apt would download as a user who cannot write here.
        let sandbox = ["-o", "APT::Sandbox::User=root"];
        let mut command = self.call("apt-get");
        command.current_dir(into).args(["download", "--quiet"]);
        command
            .args(sandbox)
            .args(packages.iter().map(Package::name));
        let mut begun = 0;
        listen(&mut command, "apt", &mut |line| {
            let Some(what) = being_brought(line) else {
                return;
            };
            if begun % STEP == 0 || what.contains(" MB") {
                say(&format!(
                    "bringing package {} of {missing}: {what}",
                    begun + 1
                ));
            }
            begun += 1;
        })
    }
}

/// `Get:7 http://mirror/debian bookworm/main amd64 makefs amd64 20190105-3 [55.0 kB]`: name and size.
fn being_brought(line: &str) -> Option<String> {
    let mut words = line.strip_prefix("Get:")?.split(' ');
    let name = words.nth(4)?;
    let (_, size) = line.rsplit_once('[')?;
    Some(format!("{name} ({})", size.trim_end_matches(']')))
}

/// `Debian|http://mirror/debian/|bookworm`; other origins are none of Debian's.
fn release(line: &str) -> Option<Release> {
    let mut fields = line.split('|');
    let (origin, uri, name) = (fields.next()?, fields.next()?, fields.next()?);
    (origin == "Debian").then(|| Release {
        uri: uri.to_owned(),
        name: name.to_owned(),
    })
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

/// Unpacks a package below a directory; none of its scripts runs.
pub fn unpack(package: &Path, into: &Path) -> Result<(), GuestError> {
    let mut command = Command::new("dpkg-deb");
    run(command.arg("--extract").arg(package).arg(into), "dpkg").map(drop)
}

/// The one file in a directory whose name begins so.
pub fn only_file(directory: &Path, prefix: &str) -> Result<PathBuf, GuestError> {
    let entries = fs::read_dir(directory).map_err(GuestError::io("read", directory))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_apt_would_bring() {
        let line =
            "'http://mirror/pool/b/busybox_1%2b2.deb' busybox_1+2_amd64.deb 928188 SHA256:3d3f";
        let package = parse(line).unwrap();
        assert_eq!(package.name(), "busybox");
        assert_eq!(package.digest, "SHA256:3d3f");
        let bare = parse("'http://mirror/pool/x.deb' x_1_amd64.deb 7 ");
        assert_eq!(bare.unwrap().file, "x_1_amd64.deb");
        assert_eq!(parse("Reading package lists..."), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn reads_what_apt_is_bringing() {
        let line = "Get:7 http://mirror/debian bookworm/main amd64 makefs amd64 20190105-3 [55 kB]";
        assert_eq!(being_brought(line).as_deref(), Some("makefs (55 kB)"));
        assert_eq!(being_brought("Fetched 55 kB in 0s (400 kB/s)"), None);
    }

    #[test]
    fn only_debians_own_releases_are_taken() {
        let found = release("Debian|http://mirror/debian/|bookworm").unwrap();
        assert_eq!(
            (found.uri.as_str(), found.name.as_str()),
            ("http://mirror/debian/", "bookworm")
        );
        assert_eq!(release("somebody|http://other/|stable"), None);
        assert_eq!(release("|http://other/|stable"), None);
    }
}
