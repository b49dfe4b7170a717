//! Driver of disks in memory for a user-supplied kernel, built against the build tree or the
//! headers of that kernel, and cached.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use model::Bytes;

use crate::build::build_dir::BuildDir;
use crate::build::module_cache::ModuleCache;
use crate::build::package_selection::VERSION;
use crate::build::{driver, rebuild};
use crate::{GuestError, files, hash};

/// Space needed for the build.
const ROOM: Bytes = Bytes::mib(256);
/// Links that `make modules_install` creates in the directory of the modules: to the build tree,
/// and to the source if it is elsewhere.
const LINKS: [&str; 2] = ["build", "source"];
/// File of a build tree that contains the release of its modules: `#define UTS_RELEASE "6.9.0"`.
const RELEASE: &str = "include/generated/utsrelease.h";
/// Files of a build tree that every build against it needs.
const TOOLS: [&str; 2] = ["Makefile", "scripts/mod/modpost"];
/// Kernel settings that influence the build.
const SETTINGS: [&str; 2] = [".config", "Module.symvers"];
/// Hint if no headers are found.
const ADVICE: &str =
    "give the tree that the kernel was built in, or its headers, with --headers DIR";

/// Headers of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelHeaders {
    /// The tree.
    tree: PathBuf,
    /// Directory of the unpacked packages, if the tree comes from packages. Its files expect to be
    /// located below `/usr`.
    unpacked: Option<PathBuf>,
}

impl KernelHeaders {
    /// Finds the headers of the kernel with these modules. `given` is a directory specified by the
    /// user.
    ///
    /// # Errors
    /// Returns the reason in one line if no headers are found.
    pub fn find(modules: &Path, given: Option<&Path>) -> Result<Self, String> {
        let release = modules.file_name().unwrap_or_default().to_string_lossy();
        if let Some(given) = given {
            return Self::below(given, &release);
        }
        let links = LINKS.map(|link| modules.join(link));
        let links = links.iter().filter(|link| link.symlink_metadata().is_ok());
        let mut first = None;
        for link in links {
            match Self::below(link, &release) {
                Ok(headers) => return Ok(headers),
                Err(why) => first = first.or(Some(why)),
            }
        }
        let none = || format!("{} has no link `build`", modules.display());
        Err(format!("{}; {ADVICE}", first.unwrap_or_else(none)))
    }

    fn below(directory: &Path, release: &str) -> Result<Self, String> {
        let shown = directory.display();
        let found = directory.canonicalize();
        let found = found.map_err(|_| format!("{shown} leads nowhere"))?;
        let package = found.join(format!("usr/src/linux-headers-{release}"));
        let headers = match package.is_dir() {
            true => Self { tree: package, unpacked: Some(found) },
            false => Self { tree: found, unpacked: None },
        };
        if let Some(missing) = TOOLS.iter().find(|tool| !headers.has(tool)) {
            return Err(format!(
                "{shown} has no {missing}: it is no tree in which a kernel was built"
            ));
        }
        match headers.release() {
            Some(found) if found == release => Ok(headers),
            Some(found) => {
                Err(format!("{shown} is for Linux {found}, the modules are for {release}"))
            }
            None => Err(format!("{shown} has no {RELEASE}: its kernel is not built")),
        }
    }

    fn release(&self) -> Option<String> {
        let text = files::read_of_user(&self.tree.join(RELEASE)).ok()?;
        String::from_utf8_lossy(&text).split('"').nth(1).map(str::to_owned)
    }

    /// Returns true if the tree contains a file. Absolute links of packages are resolved later, in
    /// the unpacked directory.
    fn has(&self, file: &str) -> bool {
        let is_there = self.tree.join(file).exists();
        let top = file.split('/').next().unwrap_or(file);
        is_there || self.unpacked.is_some() && self.tree.join(top).is_symlink()
    }

    /// Returns a tree that works at its current location.
    fn settled(&self, release: &str, workshop: &BuildDir<'_>) -> Result<PathBuf, GuestError> {
        let Some(unpacked) = &self.unpacked else {
            return Ok(self.tree.clone());
        };
        let copy = workshop.place("headers");
        files::create_directory(&copy)?;
        let mut command = Command::new("cp");
        command.arg("-a").arg(unpacked.join("usr")).arg(&copy);
        workshop.programs().run(&mut command, "coreutils")?;
        rebuild::fix_header_paths(&copy, release)
    }
}

/// Returns the files in the cache of the driver's modules for these headers, in the order of
/// [`driver::DRIVERS`], and builds them if necessary. `kernel` identifies the kernel and its modules.
///
/// # Errors
/// Returns an error if `stop` becomes true, or if the driver cannot be built or stored.
pub fn obtain(
    headers: &KernelHeaders,
    release: &str,
    kernel: &str,
    cache: &Path,
    stop: &Arc<AtomicBool>,
    say: &mut dyn FnMut(&str),
) -> Result<Vec<PathBuf>, GuestError> {
    let (modules, inputs) = (ModuleCache::new(cache), inputs(headers, kernel));
    if let Some(kept) = modules.get(&inputs) {
        return Ok(kept);
    }
    BuildDir::open(cache, ROOM, stop, say, |workshop, say| {
        say(&format!("building the driver of disks in memory for Linux {release}"));
        let tree = headers.settled(release, workshop)?;
        let built = driver::build(&tree, &workshop.place("driver"), None, workshop.programs())?;
        ModuleCache::put(&inputs, &built, workshop)?;
        modules.install(workshop)
    })?;
    modules.get(&inputs).ok_or_else(|| {
        GuestError::UnexpectedOutput("the built modules disappeared from the cache".to_owned())
    })
}

/// Returns all inputs of the modules.
fn inputs(headers: &KernelHeaders, kernel: &str) -> String {
    let settings = SETTINGS.map(|file| {
        let content = files::read_of_user(&headers.tree.join(file));
        // A kernel may have been built without a list of symbols.
        content.map_or_else(|_| String::new(), |content| hash::sha256_hex(&content))
    });
    format!("{VERSION}\n{}{kernel}{}", driver::description(), settings.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// Creates the files of a build tree that are checked.
    fn tree(at: &Path, release: &str) {
        for file in [RELEASE].iter().chain(&TOOLS) {
            let file = at.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, format!("#define UTS_RELEASE \"{release}\"\n")).unwrap();
        }
    }

    #[test]
    fn finds_headers_from_the_modules_or_the_option() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let modules = root.join("6.9.0");
        fs::create_dir_all(&modules).unwrap();
        let why = |given: Option<&Path>| KernelHeaders::find(&modules, given).unwrap_err();
        assert!(why(None).contains("no link `build`; give"), "{}", why(None));
        let built = root.join("built");
        symlink(&built, modules.join("build")).unwrap();
        assert!(why(None).contains("build leads nowhere"), "{}", why(None));
        fs::create_dir_all(&built).unwrap();
        assert!(why(None).contains("build has no Makefile"), "{}", why(None));
        let of_another = root.join("of-another");
        tree(&of_another, "6.8.0");
        let told = why(Some(&of_another));
        assert!(told.ends_with("for Linux 6.8.0, the modules are for 6.9.0"), "{told}");
        tree(&root.join("source"), "6.9.0");
        symlink(root.join("source"), modules.join("source")).unwrap();
        let found = |given: Option<&Path>| KernelHeaders::find(&modules, given).unwrap();
        assert_eq!(found(None).tree, root.join("source"));
        tree(&built, "6.9.0");
        assert_eq!(found(None).tree, built);
        let package = root.join("unpacked/usr/src/linux-headers-6.9.0");
        tree(&package, "6.9.0");
        let unpacked = found(Some(&root.join("unpacked")));
        assert_eq!(unpacked.tree, package);
        assert_eq!(unpacked.unpacked, Some(root.join("unpacked")));
    }

    #[test]
    fn another_kernel_or_other_settings_are_another_driver() {
        let directory = tempfile::tempdir().unwrap();
        let headers = KernelHeaders { tree: directory.path().to_owned(), unpacked: None };
        let before = inputs(&headers, "kernel");
        assert_eq!(inputs(&headers, "kernel"), before);
        assert_ne!(inputs(&headers, "another"), before);
        fs::write(directory.path().join(".config"), "CONFIG_SMP=y").unwrap();
        assert_ne!(inputs(&headers, "kernel"), before);
    }
}
