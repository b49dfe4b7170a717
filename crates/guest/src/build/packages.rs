//! Debian packages: apt and dpkg resolve, download and unpack them. They are not installed, and
//! root is not needed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use model::Bytes;

use crate::process_runner::ProcessRunner;
use crate::{GuestError, hash};

/// Prefix and suffix of the names of kernel packages.
const IMAGE: &str = "linux-image-";
const FLAVOUR: &str = "-amd64";

/// A package file that apt can download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// File name of the package, with version and architecture.
    pub file: String,
    /// Expected digest, in apt's notation: `SHA256:…`.
    pub digest: String,
    /// Size of the file.
    pub size: Bytes,
}

impl Package {
    /// Returns the name without version and architecture.
    pub fn name(&self) -> &str {
        self.file.split('_').next().unwrap_or_default()
    }

    /// Returns the version.
    fn version(&self) -> &str {
        self.file.split('_').nth(1).unwrap_or_default()
    }

    /// Returns true if the digest (SHA-256) is the expected one.
    pub fn has(&self, digest: &str) -> bool {
        self.digest.strip_prefix("SHA256:") == Some(digest)
    }
}

/// Returns the packages that are intact in a directory, and the files of damaged ones.
pub fn complete_packages<'a>(
    packages: &'a [Package],
    directory: &Path,
) -> (Vec<&'a Package>, Vec<PathBuf>) {
    let file = |package: &&Package| directory.join(&package.file);
    let there: Vec<&Package> = packages.iter().filter(|p| file(p).exists()).collect();
    let files: Vec<PathBuf> = there.iter().map(file).collect();
    let digests = hash::sha256_files(&files).into_iter();
    let is_whole: Vec<bool> = digests
        .zip(&there)
        .map(|(digest, package)| digest.is_ok_and(|digest| package.has(&digest)))
        .collect();
    let both = there.into_iter().zip(files).zip(is_whole);
    let (whole, damaged): (Vec<_>, Vec<_>) = both.partition(|(_, is_whole)| *is_whole);
    (
        whole.into_iter().map(|((package, _), _)| package).collect(),
        damaged.into_iter().map(|((_, file), _)| file).collect(),
    )
}

/// A release on a mirror, as in apt's configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// Address of the mirror.
    pub uri: String,
    /// Name of the release on the mirror: `bookworm-security`.
    pub name: String,
}

/// An apt, with this machine's settings or with additional ones.
#[derive(Clone, Debug)]
pub struct Apt<'a> {
    programs: &'a ProcessRunner,
    settings: Vec<String>,
}

impl<'a> Apt<'a> {
    /// This machine's.
    pub const fn system(programs: &'a ProcessRunner) -> Self {
        Self { programs, settings: Vec::new() }
    }

    /// Creates an apt with these settings (apt.conf(5)), which override those of the machine.
    pub fn with(programs: &'a ProcessRunner, settings: &[String]) -> Self {
        let words = settings.iter().flat_map(|setting| ["-o".into(), setting.clone()]);
        Self { programs, settings: words.collect() }
    }

    fn call(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.args(&self.settings);
        command
    }

    fn run(&self, command: &mut Command) -> Result<String, GuestError> {
        self.programs.run(command, "apt")
    }

    /// Updates the package lists from the mirrors.
    pub fn update(&self) -> Result<(), GuestError> {
        let mut command = self.call("apt-get");
        self.run(command.args(["update", "--quiet=2"])).map(drop)
    }

    /// Returns the configured releases of Debian.
    pub fn releases(&self) -> Result<BTreeSet<Release>, GuestError> {
        const FORMAT: &str = "$(ORIGIN)|$(REPO_URI)|$(RELEASE)";
        let mut command = self.call("apt-get");
        command.args(["indextargets", "--format", FORMAT, "Created-By: Packages"]);
        Ok(self.run(&mut command)?.lines().filter_map(release).collect())
    }

    /// Returns the package of a kernel of this release (`6.12`, `6.1.0-50`). If several match,
    /// returns the newest one with headers.
    pub fn kernel(&self, release: &str) -> Result<String, GuestError> {
        let text = self.run(self.call("apt-cache").arg("pkgnames"))?;
        let kernels = with_headers(&text);
        let mut fitting = kernels.iter().rev();
        if let Some(found) = fitting.find(|kernel| is_of(kernel, release)) {
            return Ok(format!("{IMAGE}{found}{FLAVOUR}"));
        }
        let known = match &kernels[..] {
            [] => "none".to_owned(),
            known => known.join(", "),
        };
        Err(GuestError::UnexpectedOutput(format!(
            "apt has no kernel {release} with its headers; it has {known}"
        )))
    }

    /// Returns the package of the newest kernel in the release.
    pub fn newest_kernel(&self) -> Result<String, GuestError> {
        const NEWEST: &str = "linux-image-amd64";
        let needed = self.depends(NEWEST)?;
        let mut kernels = needed.into_iter().filter(|name| name.starts_with("linux-image-"));
        kernels.next().ok_or_else(|| {
            GuestError::UnexpectedOutput(format!(
                "apt knows no {NEWEST}: run `apt-get update` first"
            ))
        })
    }

    /// Returns the packages with the files of a kernel: since Linux 6.19 its own package is empty, and
    /// the image, the modules and their lists are in others.
    pub fn kernel_parts(&self, kernel: &str) -> Result<Vec<String>, GuestError> {
        const PARTS: [&str; 3] = ["linux-base-", "linux-binary-", "linux-modules-"];
        let needed = self.depends(kernel)?.into_iter();
        let parts = needed.filter(|name| PARTS.iter().any(|prefix| name.starts_with(prefix)));
        Ok(parts.chain([kernel.to_owned()]).collect())
    }

    /// Returns true if two packages have the same version.
    pub fn have_one_version(&self, one: &str, other: &str) -> Result<bool, GuestError> {
        let packages = self.resolve(&BTreeSet::from([one, other]))?;
        Ok(packages.windows(2).all(|pair| pair[0].version() == pair[1].version()))
    }

    /// Returns the direct dependencies of a package.
    pub fn depends(&self, package: &str) -> Result<Vec<String>, GuestError> {
        let text = self.run(self.call("apt-cache").args(["depends", package]))?;
        let names = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
        Ok(names.map(str::to_owned).collect())
    }

    /// Returns the packages that apt knows. Some machines do not have all archives enabled.
    pub fn filter_known<'n>(
        &self,
        names: &BTreeSet<&'n str>,
    ) -> Result<BTreeSet<&'n str>, GuestError> {
        let text = self.run(self.call("apt-cache").arg("pkgnames"))?;
        let all: BTreeSet<&str> = text.lines().collect();
        Ok(names.iter().copied().filter(|name| all.contains(name)).collect())
    }

    /// Returns these packages and all their dependencies, as apt would install them on an empty
    /// machine.
    pub fn with_dependencies(&self, names: &[&str]) -> Result<Vec<String>, GuestError> {
        let mut command = self.call("apt-get");
        command.args(["install", "--print-uris", "--quiet=2", "--yes"]).args([
            "--no-install-recommends",
            "-o",
            "Dir::State::status=/dev/null",
        ]);
        let text = self.run(command.args(names))?;
        let packages = text.lines().filter_map(parse);
        Ok(packages.map(|package| package.name().to_owned()).collect())
    }

    /// Returns the package files that apt would download for these names, sorted by name.
    pub fn resolve(&self, names: &BTreeSet<&str>) -> Result<Vec<Package>, GuestError> {
        let mut command = self.call("apt-get");
        // apt omits packages whose files are in the current directory.
        command.current_dir("/").args(["download", "--print-uris"]);
        let text = self.run(command.args(names))?;
        let mut packages: Vec<Package> = text.lines().filter_map(parse).collect();
        packages.sort_by(|a, b| a.name().cmp(b.name()));
        let missing = |name: &&&str| !packages.iter().any(|package| package.name() == **name);
        match names.iter().find(missing) {
            None => Ok(packages),
            Some(name) => {
                Err(GuestError::UnexpectedOutput(format!("apt has no download address for {name}")))
            }
        }
    }

    /// Returns the files of a source package.
    pub fn files_of_source(&self, name: &str) -> Result<Vec<Package>, GuestError> {
        let mut command = self.call("apt-get");
        command.current_dir("/").args(["source", "--download-only", "--print-uris"]);
        let text = self.run(command.args(["--quiet=2", name]))?;
        Ok(text.lines().filter_map(parse).collect())
    }

    /// Downloads all files of a source package into a directory. apt checks signatures and digests.
    pub fn download_source(&self, name: &str, into: &Path) -> Result<(), GuestError> {
        let mut command = self.call("apt-get");
        command.current_dir(into).args(["source", "--download-only", "--quiet=2"]);
        self.run(command.args(["-o", "APT::Sandbox::User=root", name])).map(drop)
    }

    /// Downloads packages into a directory; apt checks their signatures and digests. Existing files
    /// are accepted by their size.
    pub fn download(
        &self,
        packages: &[Package],
        into: &Path,
        say: &mut dyn FnMut(&str),
    ) -> Result<(), GuestError> {
        /// Number of packages between two progress messages.
        const STEP: usize = 10;
        let lies_there = |package: &&Package| into.join(&package.file).exists();
        let missing: Vec<&Package> = packages.iter().filter(|one| !lies_there(one)).collect();
        if !missing.is_empty() {
            say(&announcement(&missing));
        }
        let missing = missing.len();
        // If apt runs as root, it would switch to a user that cannot write here.
        let sandbox = ["-o", "APT::Sandbox::User=root"];
        let mut command = self.call("apt-get");
        command.current_dir(into).args(["download", "--quiet"]);
        command.args(sandbox).args(packages.iter().map(Package::name));
        let mut begun = 0;
        self.programs.run_lines(&mut command, "apt", &mut |line| {
            let Some(what) = being_brought(line) else {
                return;
            };
            if begun % STEP == 0 || what.contains(" MB") {
                say(&format!("bringing package {} of {missing}: {what}", begun + 1));
            }
            begun += 1;
        })
    }
}

/// Returns the number and the size of packages before their download.
fn announcement(packages: &[&Package]) -> String {
    let size = packages.iter().map(|package| package.size.0).sum();
    let noun = if packages.len() == 1 { "package" } else { "packages" };
    format!("bringing {} {noun} of Debian, {} in all", packages.len(), Bytes(size))
}

/// Returns the releases of Debian kernels whose headers are also in the list of package names,
/// newest last.
fn with_headers(names: &str) -> Vec<&str> {
    let all: BTreeSet<&str> = names.lines().collect();
    let release = |name| str::strip_prefix(name, IMAGE)?.strip_suffix(FLAVOUR);
    let mut kernels: Vec<&str> = names.lines().filter_map(release).collect();
    kernels.retain(|release| {
        let headers = format!("linux-headers-{release}{FLAVOUR}");
        // A package with two numbers is a metapackage for the newest kernel.
        is_release(release) && numbers(release).len() > 2 && all.contains(headers.as_str())
    });
    kernels.sort_by_key(|release| numbers(release));
    kernels
}

/// Returns true if a text is a release of a Debian kernel, or a prefix of one: `6.12`,
/// `6.12.117+deb12`, `6.1.0-50`. Other names belong to builds for clouds or with other schedulers.
pub fn is_release(text: &str) -> bool {
    let plain = text.replacen("+deb", "", 1);
    let is_plain = plain.chars().all(|c| c.is_ascii_digit() || ".-".contains(c));
    is_plain && plain.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns true for a series of kernels, such as `6.12`, and false for a release, such as `6.1.0-50`.
pub fn is_series(release: &str) -> bool {
    numbers(release).len() <= 2
}

/// Checks that apt on this machine has a kernel of this release, with its headers.
///
/// # Errors
/// Returns an error if apt has no such kernel, if apt is missing, or if `stop` becomes true.
pub fn require_debian_kernel(release: &str, stop: &Arc<AtomicBool>) -> Result<(), GuestError> {
    let programs = ProcessRunner::new(stop)?;
    Apt::system(&programs).kernel(release).map(drop)
}

/// Returns the numbers in a release, for sorting.
fn numbers(release: &str) -> Vec<u64> {
    let parts = release.split(|c: char| !c.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).collect()
}

/// Returns true if a kernel belongs to a release: `6.1.0-50` belongs to `6.1.0-50` and to `6.1`,
/// `6.12.117` does not.
fn is_of(kernel: &str, release: &str) -> bool {
    let rest = kernel.strip_prefix(release);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Extracts name and size from a progress line: `Get:7 http://mirror/debian bookworm/main amd64
/// makefs amd64 20190105-3 [55.0 kB]`.
fn being_brought(line: &str) -> Option<String> {
    let mut words = line.strip_prefix("Get:")?.split(' ');
    let name = words.nth(4)?;
    let (_, size) = line.rsplit_once('[')?;
    Some(format!("{name} ({})", size.trim_end_matches(']')))
}

/// Parses `Debian|http://mirror/debian/|bookworm`. Returns `None` for origins other than Debian.
fn release(line: &str) -> Option<Release> {
    /// Packages of backports are used only by name: apt prefers those of the release.
    const ORIGINS: [&str; 2] = ["Debian", "Debian Backports"];
    let mut fields = line.split('|');
    let (origin, uri, name) = (fields.next()?, fields.next()?, fields.next()?);
    ORIGINS.contains(&origin).then(|| Release { uri: uri.to_owned(), name: name.to_owned() })
}

/// Parses `'URI' FILE SIZE DIGEST`. The digest may be missing if apt lists what it would install.
fn parse(line: &str) -> Option<Package> {
    let mut words = line.split(' ');
    let uri = words.next()?;
    let (file, size) = (words.next()?, words.next()?);
    uri.starts_with('\'').then(|| Package {
        file: file.to_owned(),
        size: Bytes(size.parse().unwrap_or_default()),
        digest: words.next().unwrap_or_default().to_owned(),
    })
}

/// Unpacks a package below a directory, except for paths that match the patterns. Scripts of the
/// package do not run.
pub fn unpack(
    package: &Path,
    into: &Path,
    left_out: &[&str],
    programs: &ProcessRunner,
) -> Result<(), GuestError> {
    let mut open = Command::new("dpkg-deb");
    open.arg("--fsys-tarfile").arg(package);
    let mut take = Command::new("tar");
    // Keeps a link to a directory if another package has replaced the directory by a link.
    take.args(["--extract", "--no-same-owner", "--keep-directory-symlink"])
        .args(left_out.iter().map(|path| format!("--exclude={path}")))
        .arg("--directory")
        .arg(into);
    match programs.pipe([(open, "dpkg"), (take, "tar")])? {
        ([true, true], _) => Ok(()),
        (_, complaint) => Err(GuestError::Failed {
            command: format!("dpkg-deb --fsys-tarfile {}", package.display()),
            complaint,
        }),
    }
}

/// Returns the only file in a directory whose name has this prefix.
pub fn single_file(directory: &Path, prefix: &str) -> Result<PathBuf, GuestError> {
    let entries = fs::read_dir(directory).map_err(GuestError::io("read", directory))?;
    let fits = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(prefix)
    };
    let mut found: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(fits).collect();
    match (found.pop(), found.is_empty()) {
        (Some(path), true) => Ok(path),
        _ => Err(GuestError::UnexpectedOutput(format!(
            "{} does not hold one {prefix}…",
            directory.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_download_addresses_of_apt() {
        let line =
            "'http://mirror/pool/b/busybox_1%2b2.deb' busybox_1+2_amd64.deb 928188 SHA256:3d3f";
        let package = parse(line).unwrap();
        assert_eq!(package.name(), "busybox");
        assert_eq!((package.digest.as_str(), package.size), ("SHA256:3d3f", Bytes(928_188)));
        let both = [&package, &package];
        assert_eq!(announcement(&both[..1]), "bringing 1 package of Debian, 906.4 KiB in all");
        assert_eq!(announcement(&both), "bringing 2 packages of Debian, 1.8 MiB in all");
        let bare = parse("'http://mirror/pool/x.deb' x_1_amd64.deb 7 ");
        assert_eq!(bare.unwrap().file, "x_1_amd64.deb");
        assert_eq!(parse("Reading package lists..."), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn intact_packages_match_the_digest_of_apt() {
        let directory = tempfile::tempdir().unwrap();
        let package =
            |file: &str, digest: String| Package { file: file.into(), digest, size: Bytes(1) };
        let sha = |content: &str| format!("SHA256:{}", hash::sha256_hex(content.as_bytes()));
        let packages = [
            package("a_1.deb", sha("a")),
            package("b_1.deb", sha("b")),
            package("c_1.deb", "MD5Sum:0".into()),
            package("d_1.deb", sha("d")),
        ];
        for (file, content) in [("a_1.deb", "a"), ("b_1.deb", "B"), ("c_1.deb", "c")] {
            fs::write(directory.path().join(file), content).unwrap();
        }
        let (whole, damaged) = complete_packages(&packages, directory.path());
        assert_eq!(whole, [&packages[0]]);
        assert_eq!(damaged, ["b_1.deb", "c_1.deb"].map(|f| directory.path().join(f)));
    }

    #[test]
    fn release_selects_its_newest_kernel_with_headers() {
        let names = "linux-image-6.1.0-9-amd64\nlinux-headers-6.1.0-9-amd64\nlinux-image-6.1.0-50-amd64\n\
                     linux-headers-6.1.0-50-amd64\nlinux-image-6.1.0-51-amd64\nlinux-image-6.12-amd64\n\
                     linux-headers-6.12-amd64\nlinux-image-6.12.9+deb12-amd64\nlinux-headers-6.12.9+deb12-amd64\n\
                     linux-image-6.1.0-50-cloud-amd64\nlinux-headers-6.1.0-50-cloud-amd64\nlinux-image-amd64\n";
        let kernels = with_headers(names);
        assert_eq!(kernels, ["6.1.0-9", "6.1.0-50", "6.12.9+deb12"]);
        let of = |release| kernels.iter().rev().find(|kernel| is_of(kernel, release));
        assert_eq!(of("6.1"), Some(&"6.1.0-50"));
        assert_eq!(of("6.12"), Some(&"6.12.9+deb12"));
        assert_eq!(of("6.1.0-9"), Some(&"6.1.0-9"));
        assert_eq!(of("6.1.0-51"), None);
        assert_eq!(of("6.1.0-5"), None);
        assert!(is_series("6.12") && !is_series("6.1.0-9") && !is_series("6.12.9+deb12"));
    }

    #[test]
    fn parses_download_progress_of_apt() {
        let line = "Get:7 http://mirror/debian bookworm/main amd64 makefs amd64 20190105-3 [55 kB]";
        assert_eq!(being_brought(line).as_deref(), Some("makefs (55 kB)"));
        assert_eq!(being_brought("Fetched 55 kB in 0s (400 kB/s)"), None);
    }

    #[test]
    fn accepts_only_releases_of_debian() {
        assert!(release("Debian Backports|http://m/debian/|bookworm-backports").is_some());
        let found = release("Debian|http://mirror/debian/|bookworm").unwrap();
        assert_eq!(
            (found.uri.as_str(), found.name.as_str()),
            ("http://mirror/debian/", "bookworm")
        );
        assert_eq!(release("somebody|http://other/|stable"), None);
        assert_eq!(release("|http://other/|stable"), None);
    }
}
