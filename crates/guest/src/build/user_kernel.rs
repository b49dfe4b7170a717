//! User-supplied kernels, modules and programs that replace those of Debian, for developers of
//! filesystems and for software that Debian does not have.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::{fs, io};

use model::Bytes;

use crate::build::KERNEL;
use crate::build::build_dir::BuildDir;
use crate::build::disk_module::{self, KernelHeaders};
use crate::build::kernel;
use crate::build::packages::single_file;
use crate::build::program_tree::ProgramTree;
use crate::guest::QemuKernel;
use crate::process_runner::ProcessRunner;
use crate::{GuestError, files, hash};

/// Files that the user supplies, all optional.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserKernel {
    /// Kernel file: `bzImage`, or an ELF file built with CONFIG_PVH.
    pub kernel: Option<PathBuf>,
    /// Modules of the kernel: a directory such as `/lib/modules/6.12.0`, or the value of
    /// INSTALL_MOD_PATH.
    pub modules: Option<PathBuf>,
    /// Build directory of the kernel or unpacked header packages. Only needed if the modules do not
    /// link to them.
    pub headers: Option<PathBuf>,
    /// Directory with the layout of a root filesystem. It is searched first for programs.
    pub rootfs: Option<PathBuf>,
}

impl UserKernel {
    /// Checks all files before a guest is built.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read, a kernel has no modules, `rootfs` has no program,
    /// or the headers belong to another kernel.
    pub fn check(&self) -> Result<(), GuestError> {
        if let Some(kernel) = &self.kernel {
            files::read_of_user(kernel)?;
        }
        if let Some(rootfs) = &self.rootfs {
            fs::read_dir(rootfs).map_err(GuestError::io("read", rootfs))?;
            if !ProgramTree::in_directory(rootfs, None).has_any() {
                let rootfs = rootfs.display();
                return Err(GuestError::UnexpectedOutput(format!(
                    "cannot use --rootfs {rootfs}: it has no program; put programs into {rootfs}/usr/sbin"
                )));
            }
        }
        if let (Some((_, modules)), Some(headers)) = (self.kernel()?, &self.headers) {
            KernelHeaders::find(&modules, Some(headers)).map_err(GuestError::UnexpectedOutput)?;
        }
        Ok(())
    }

    /// Returns the kernel and the directory of its modules.
    pub(crate) fn kernel(&self) -> Result<Option<(&Path, PathBuf)>, GuestError> {
        match (&self.kernel, &self.modules) {
            (None, None) => Ok(None),
            (Some(kernel), Some(modules)) => Ok(Some((kernel.as_path(), modules_in(modules)?))),
            _ => Err(GuestError::UnexpectedOutput(
                "a kernel needs its modules, and modules their kernel: give --kernel and --modules"
                    .into(),
            )),
        }
    }

    /// Returns a name that identifies the kernel by its content and the modules by their sizes and
    /// times.
    pub(crate) fn kernel_name(&self, modules: &Path) -> Result<String, GuestError> {
        let image = self.kernel.as_deref().unwrap_or(Path::new(""));
        let mut content = files::read_of_user(image)?;
        content.extend(all_files(modules).into_bytes());
        Ok(hash::name(&content))
    }

    /// Returns a name that identifies the programs by sizes and times of the files in the searched
    /// directories.
    pub(crate) fn rootfs_name(&self, rootfs: &Path) -> String {
        const PLACES: [&str; 6] = ["bin", "etc", "lib", "sbin", "usr", "lib64"];
        let files = PLACES.iter().map(|place| all_files(&rootfs.join(place)));
        hash::name(files.collect::<String>().as_bytes())
    }

    /// Builds the driver of disks in memory for the kernel with these modules. Returns an inner
    /// `Err` with the reason in one line if it cannot be built.
    ///
    /// # Errors
    /// Returns an error if `stop` becomes true, or if the build against headers named by the user
    /// fails.
    pub(crate) fn driver(
        &self,
        modules: &Path,
        name: &str,
        cache: &Path,
        stop: &Arc<AtomicBool>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Result<Vec<PathBuf>, String>, GuestError> {
        let release = modules.file_name().unwrap_or_default().to_string_lossy();
        let headers = match KernelHeaders::find(modules, self.headers.as_deref()) {
            Ok(headers) => headers,
            Err(why) => return Ok(Err(why)),
        };
        match disk_module::obtain(&headers, &release, name, cache, stop, say) {
            Ok(modules) => Ok(Ok(modules)),
            Err(interrupted @ GuestError::Interrupted { .. }) => Err(interrupted),
            Err(error) if self.headers.is_some() => Err(error),
            Err(error) => Ok(Err(error.to_string())),
        }
    }

    /// Returns the kernel as a file in the cache that QEMU can start.
    pub(crate) fn startable(
        image: &Path,
        cache: &Path,
        stop: &Arc<AtomicBool>,
        say: &mut dyn FnMut(&str),
    ) -> Result<QemuKernel, GuestError> {
        let content = kernel::startable(image, &ProcessRunner::new(stop)?)?;
        let directory = cache.join(format!("own-{}", hash::name(&content)));
        let path = directory.join(KERNEL);
        match files::read(&path) {
            Ok(there) if there == content => {}
            there => {
                let missing = io::ErrorKind::NotFound;
                if there.is_ok() || there.is_err_and(|error| error.kind() != missing) {
                    say(&format!("{} is damaged: making it again", path.display()));
                }
                let need = Bytes(content.len() as u64);
                BuildDir::open(cache, need, stop, say, |workshop, _| {
                    let made = workshop.place("own");
                    files::create_directory(&made)?;
                    files::write(&made.join(KERNEL), &content)?;
                    workshop.install("own", &directory)
                })?;
            }
        }
        Ok(QemuKernel { digest: hash::sha256_hex(&content), path })
    }
}

/// Returns the directory that contains `kernel/`: the given one, or the one below it that `make
/// modules_install` created.
fn modules_in(given: &Path) -> Result<PathBuf, GuestError> {
    let given = given.canonicalize().map_err(GuestError::io("find", given))?;
    if given.join("modules.builtin").exists() {
        return Ok(given);
    }
    let installed = given.join("lib/modules");
    if !installed.is_dir() {
        return Err(GuestError::UnexpectedOutput(format!(
            "{} holds no modules: give what `make modules_install` made (with INSTALL_MOD_PATH)",
            given.display()
        )));
    }
    single_file(&installed, "")
}

/// Lists all files below a directory with sizes and modification times.
fn all_files(directory: &Path) -> String {
    let mut text = hash::directory_hash(directory);
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut below: Vec<PathBuf> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    below.sort();
    for directory in below {
        text += &all_files(&directory);
    }
    text
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn finds_modules_below_the_install_path() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let modules = root.join("lib/modules/6.9.0");
        fs::create_dir_all(modules.join("kernel")).unwrap();
        fs::write(modules.join("modules.builtin"), "").unwrap();
        assert_eq!(modules_in(&root).unwrap(), modules);
        assert_eq!(modules_in(&modules).unwrap(), modules);
        let error = modules_in(&root.join("lib")).unwrap_err().to_string();
        assert!(error.contains("modules_install"), "{error}");
    }

    #[test]
    fn kernel_needs_its_modules() {
        let own = UserKernel { kernel: Some("/boot/vmlinuz".into()), ..UserKernel::default() };
        let error = own.kernel().unwrap_err().to_string();
        assert!(error.contains("--modules"), "{error}");
        assert_eq!(UserKernel::default().kernel().unwrap(), None);
        UserKernel::default().check().unwrap();
    }

    #[test]
    fn files_that_cannot_be_used_are_refused_before_the_build() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        mkfifo(&path("pipe"), Mode::S_IRWXU).unwrap();
        fs::File::create(path("large")).unwrap().set_len(1 << 40).unwrap();
        fs::create_dir(path("empty")).unwrap();
        for (kernel, why) in [
            (path("pipe"), "; name a regular file"),
            ("/dev/zero".into(), "; name a regular file"),
            (path("empty"), "; name a regular file"),
            (path("large"), "it is larger than 1 GiB"),
        ] {
            let own = UserKernel { kernel: Some(kernel), ..UserKernel::default() };
            let error = own.check().unwrap_err().to_string();
            assert!(error.ends_with(why), "{error}");
        }
        for (rootfs, why) in [("pipe", "Not a directory"), ("empty", "it has no program")] {
            let own = UserKernel { rootfs: Some(path(rootfs)), ..UserKernel::default() };
            let error = own.check().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        let own = UserKernel { rootfs: Some("/no/such/directory".into()), ..UserKernel::default() };
        let error = own.check().unwrap_err().to_string();
        assert!(error.starts_with("cannot read /no/such/directory"), "{error}");
    }

    #[test]
    fn cached_kernel_is_verified_and_rebuilt_if_damaged() {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("vmlinux");
        let content = b"\x7fELF\x02\x01 and the note \x12\0\0\0Xen\0";
        fs::write(&image, content).unwrap();
        let cache = directory.path().join("cache");
        let mut said = Vec::new();
        let mut startable = || {
            let mut say = |text: &str| said.push(text.to_owned());
            let kernel = UserKernel::startable(&image, &cache, &Arc::default(), &mut say).unwrap();
            assert_eq!(fs::read(&kernel.path).unwrap(), content);
            assert_eq!(kernel.digest, hash::sha256_hex(content));
            kernel.path
        };
        let path = startable();
        assert_eq!(startable(), path);
        fs::write(&path, "damaged").unwrap();
        startable();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].ends_with("vmlinux is damaged: making it again"), "{said:?}");
    }

    #[test]
    fn another_module_is_another_name() {
        let directory = tempfile::tempdir().unwrap();
        let kernel = directory.path().join("bzImage");
        let below = directory.path().join("modules/kernel/fs");
        fs::create_dir_all(&below).unwrap();
        fs::write(&kernel, "kernel").unwrap();
        let own = UserKernel { kernel: Some(kernel), ..UserKernel::default() };
        let name = || own.kernel_name(&directory.path().join("modules")).unwrap();
        let before = name();
        assert_eq!(name(), before);
        fs::write(below.join("reiser4.ko"), "module").unwrap();
        assert_ne!(name(), before);
    }
}
