//! The compiler of a newer release of Debian, for kernels whose headers need its tools and its C
//! library.
//!
//! Its packages are unpacked into a directory, which is the root directory of `make` in a mount
//! namespace. This needs no root, and the modules are those that a machine of that release builds.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::geteuid;

use crate::build::rebuild::clean_command;
use crate::build::recipe::NewerRelease;
use crate::{GuestError, files};

/// Packages of the programs and the library that a build of modules needs, besides the compiler.
const PACKAGES: [&str; 9] =
    ["coreutils", "dash", "diffutils", "findutils", "grep", "libelf1t64", "make", "mawk", "sed"];
/// Makes the devices, the processes (for objtool) and the directory of the build visible below the new
/// root, and enters it.
const ENTER: &str = "mount --rbind /dev \"$1/dev\" && mount --rbind /proc \"$1/proc\" && mount --bind \"$2\" \"$1$2\" && root=$1 && shift 2 && \
                     exec env PATH=/usr/bin:/usr/sbin TMPDIR=/tmp chroot \"$root\" \"$@\"";

/// Unpacked programs of a newer release.
#[derive(Debug)]
pub struct Toolchain {
    root: PathBuf,
    /// Directory of headers and sources, which has the same path for `make`.
    work: PathBuf,
}

impl Toolchain {
    /// Returns the names of the packages.
    pub fn packages(newer: &NewerRelease) -> Vec<&str> {
        PACKAGES.into_iter().chain([newer.compiler.as_str()]).collect()
    }

    /// Completes the directory of the unpacked packages.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be changed.
    pub fn prepare(root: &Path, work: &Path) -> Result<Self, GuestError> {
        let place = root.join(work.strip_prefix("/").unwrap_or(work));
        for directory in [root.join("dev"), root.join("proc"), root.join("tmp"), place] {
            files::create_directory(&directory)?;
        }
        // A script of the package would choose between several programs.
        let link = root.join("usr/bin/awk");
        if link.symlink_metadata().is_err() {
            symlink("mawk", &link).map_err(GuestError::io("link", &link))?;
        }
        Ok(Self { root: root.to_owned(), work: work.to_owned() })
    }

    /// Returns a command that runs a program of the newer release.
    pub fn command(&self, program: &str) -> Command {
        let mut command = clean_command("unshare");
        if !geteuid().is_root() {
            command.arg("--map-root-user");
        }
        command
            .args(["--mount", "--propagation", "private", "sh", "-c", ENTER, "sh"])
            .args([&self.root, &self.work])
            .arg(program);
        command
    }
}
