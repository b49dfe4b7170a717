//! Versions in chronological order: contenders, or one contender with different versions of kernel
//! or programs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use config::{ContenderEntry, KernelSeries};
use model::{BackendKind, Clock};

use crate::args::guest_args::BuildOptions;
use crate::args::run_args::RunArgs;
use crate::commands::guest as guest_command;
use crate::output::exit::UsageError;
use crate::settings::validate::reject_duplicates;

/// Locations of a kernel in a directory: as copied by a user, or as left by a build.
const IMAGES: [&str; 3] = ["bzImage", "vmlinux", "arch/x86/boot/bzImage"];
/// Locations of programs and their configuration in a directory.
const PROGRAMS: [&str; 5] = ["bin", "sbin", "usr/bin", "usr/sbin", "etc"];

/// A version.
pub struct GuardedVersion {
    /// Name, as given by the user.
    pub name: String,
    /// Campaign that measures the version.
    pub run: RunArgs,
}

/// Returns the requested versions, each with the campaign that runs it in virtual time.
///
/// # Errors
/// Returns an error if there are too few versions, if a name is repeated, if a version is invalid,
/// or if the versions cannot be compared in separate campaigns.
pub fn versions(
    contenders: &[String],
    over: &[String],
    run: &RunArgs,
    kernels: &[KernelSeries],
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Vec<GuardedVersion>> {
    let run = in_virtual_time(run)?;
    let versions: Vec<GuardedVersion> = match (over, contenders) {
        ([], contenders) => contenders
            .iter()
            .map(|contender| GuardedVersion {
                name: contender.clone(),
                run: with_contender(&run, contender),
            })
            .collect(),
        (over, [contender]) => {
            require_none_of_its_own(&run.execution.build)?;
            let run = with_contender(&run, contender);
            let versions = over.iter().map(|word| in_guest(word, &run, kernels, stop));
            versions.collect::<anyhow::Result<_>>()?
        }
        (_, contenders) => {
            return Err(UsageError(format!(
                "--over lists versions of one contender: name one, not {}",
                contenders.len()
            ))
            .into());
        }
    };
    if versions.len() < 2 {
        let name = &versions.first().map_or("", |version| &version.name);
        let why = format!(
            "--over {name} lists only one version: a guard compares two or more; add one, as in --over 6.1,6.12"
        );
        return Err(UsageError(why).into());
    }
    reject_duplicates("version", versions.iter().map(|version| &version.name))?;
    Ok(versions)
}

/// Selects virtual time, because separate campaigns show a difference between versions only if all
/// other conditions are equal.
fn in_virtual_time(run: &RunArgs) -> Result<RunArgs, UsageError> {
    let refuse = |why: &str| Err(UsageError(why.to_owned()));
    let is_elsewhere = run.settings.backend.is_some_and(|backend| backend != BackendKind::Vm);
    if is_elsewhere
        || run.settings.clock == Some(Clock::Real)
        || run.settings.storage.device.is_some()
    {
        return refuse(
            "a list of versions is searched in virtual time, where campaigns one after the other differ by nothing \
             else: leave --backend, --clock and --device out, or guard two of them",
        );
    }
    if run.settings.disk.len() > 1 {
        return refuse("a list of versions is searched on one disk: give one --disk");
    }
    let mut run = run.clone();
    run.settings.backend = Some(BackendKind::Vm);
    run.settings.clock = Some(Clock::Virtual);
    let has_rule = run.settings.budget.is_some() || run.settings.until_width.is_some();
    run.rounds_by_default = (!has_rule).then_some(1);
    run.needs_every_suite = true;
    Ok(run)
}

fn with_contender(run: &RunArgs, contender: &str) -> RunArgs {
    let mut run = run.clone();
    run.settings.contenders = vec![ContenderEntry::Spec(contender.to_owned())];
    run
}

fn require_none_of_its_own(build: &BuildOptions) -> Result<(), UsageError> {
    let own = [
        ("--guest-kernel", !build.guest_kernel.is_empty()),
        ("--kernel", build.kernel.is_some()),
        ("--rootfs", build.rootfs.is_some()),
    ];
    match own.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => {
            Err(UsageError(format!("--over sets the components of each version; remove {option}")))
        }
        None => Ok(()),
    }
}

/// Parses `6.12`, a directory, or either with a name: `NAME=DIRECTORY`.
fn in_guest(
    word: &str,
    run: &RunArgs,
    kernels: &[KernelSeries],
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<GuardedVersion> {
    let (name, what) = match word.split_once('=') {
        Some((name, what)) if !Path::new(word).exists() => (name, what),
        _ => (word, word),
    };
    let directory = Path::new(what);
    let mut run = run.clone();
    let build = &mut run.execution.build;
    if directory.is_dir() {
        from_directory(directory, build)?;
    } else if guest::is_release(what) {
        // A mirror given by the user is contacted when the guest is built.
        let is_newer =
            guest_command::newer_release(what, kernels, storage::debian_release()).is_some();
        if build.mirror.is_none() && !is_newer {
            guest::require_debian_kernel(what, stop)?;
        }
        build.guest_kernel = vec![what.to_owned()];
    } else {
        return Err(UsageError(format!(
            "--over {what}: give a release of Debian's kernel, such as 6.12, or a directory with a kernel or programs"
        ))
        .into());
    }
    Ok(GuardedVersion { name: name.to_owned(), run })
}

/// Detects the contents of a directory: a kernel with its modules and optional headers, and
/// programs.
fn from_directory(directory: &Path, build: &mut BuildOptions) -> Result<(), UsageError> {
    let below = |name: &str| directory.join(name);
    let there = |name: &&str| below(name).exists();
    build.kernel = IMAGES.iter().find(|name| there(name)).map(|name| below(name));
    if build.kernel.is_none() {
        build.kernel = only_image(&below("boot"));
    }
    build.rootfs = PROGRAMS.iter().any(there).then(|| directory.to_owned());
    if build.kernel.is_none() && build.rootfs.is_none() {
        return Err(UsageError(format!(
            "--over {0}: there is no kernel (bzImage, boot/vmlinuz-…, with lib/modules) in {0} and there are no programs \
             (sbin, usr/sbin)",
            directory.display()
        )));
    }
    if build.kernel.is_some() {
        let in_usr = !there(&"lib/modules") && there(&"usr/lib/modules");
        build.modules = Some(if in_usr { below("usr") } else { directory.to_owned() });
        build.headers = there(&"usr/src").then(|| directory.to_owned());
    }
    Ok(())
}

/// Returns the kernel image as installed by packages or `make install`. Returns `None` unless there
/// is exactly one.
fn only_image(boot: &Path) -> Option<PathBuf> {
    let entries = boot.read_dir().into_iter().flatten().flatten();
    let is_image = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("vmlinuz")
    };
    let mut images = entries.map(|entry| entry.path()).filter(is_image);
    let first = images.next()?;
    images.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn contents_of_a_version_directory_are_detected() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let of = || {
            let mut build = BuildOptions::default();
            from_directory(root, &mut build).map(|()| build)
        };
        assert!(of().unwrap_err().0.contains("no kernel"));
        fs::create_dir_all(root.join("usr/sbin")).unwrap();
        let programs = of().unwrap();
        assert_eq!(programs.rootfs.as_deref(), Some(root));
        assert_eq!(programs.kernel, None);
        fs::create_dir_all(root.join("boot")).unwrap();
        fs::create_dir_all(root.join("usr/lib/modules/6.9.0")).unwrap();
        fs::write(root.join("boot/vmlinuz-6.9.0"), "").unwrap();
        let both = of().unwrap();
        assert_eq!(both.kernel, Some(root.join("boot/vmlinuz-6.9.0")));
        assert_eq!(both.modules, Some(root.join("usr")));
        assert_eq!(both.headers, None);
        // With two kernels the choice is ambiguous.
        fs::write(root.join("boot/vmlinuz-6.8.0"), "").unwrap();
        assert_eq!(of().unwrap().kernel, None);
    }

    #[test]
    fn a_list_is_searched_in_virtual_time_alone() {
        let asked = |change: &dyn Fn(&mut RunArgs)| {
            let mut run = RunArgs::default();
            change(&mut run);
            in_virtual_time(&run)
        };
        let plain = asked(&|_| {}).unwrap();
        assert_eq!(plain.settings.backend, Some(BackendKind::Vm));
        assert_eq!(plain.rounds_by_default, Some(1));
        let refused = asked(&|run| run.settings.backend = Some(BackendKind::Loop)).unwrap_err();
        assert!(refused.0.contains("virtual time"), "{}", refused.0);
        assert!(asked(&|run| run.settings.clock = Some(Clock::Real)).is_err());
        let two = vec!["a".to_owned(), "b".to_owned()];
        assert!(asked(&|run| run.settings.disk = two.clone()).is_err());
    }
}
