//! The kernel of a guest, chosen for the contenders that are named.

use config::KernelSeries;
use guest::NewerRelease;
use model::{Filesystem, LinuxVersion};

use crate::args::guest_args::BuildOptions;
use crate::output::exit::UsageError;

/// Chooses a series of Debian's kernels that has these filesystems, unless the options name a kernel
/// or a mirror, the default of this release of Debian has them, or the release is unknown. Returns a
/// note with the reason.
///
/// # Errors
/// Returns an error if no series has all of them.
pub fn choose_kernel<'a>(
    options: &mut BuildOptions,
    filesystems: impl IntoIterator<Item = &'a Filesystem>,
    kernels: &[KernelSeries],
    debian: Option<u32>,
) -> Result<Option<String>, UsageError> {
    let is_named =
        !options.guest_kernel.is_empty() || options.kernel.is_some() || options.mirror.is_some();
    let is_limited = |filesystem: &&Filesystem| !filesystem.requires.linux.is_all();
    let limited: Vec<&Filesystem> = filesystems.into_iter().filter(is_limited).collect();
    let has_all = |series: &&KernelSeries| {
        limited.iter().all(|filesystem| filesystem.requires.linux.contains(series.version))
    };
    let default = kernels.iter().find(|series| series.default_of == debian && debian.is_some());
    let (Some(debian), Some(default)) = (debian, default) else { return Ok(None) };
    if is_named || has_all(&default) {
        return Ok(None);
    }
    let mut needs: Vec<String> =
        limited.iter().map(|one| format!("{} needs {}", one.name, one.requires.linux)).collect();
    needs.dedup();
    let needs = needs.join(", ");
    let here: Vec<&KernelSeries> = kernels.iter().filter(|series| series.is_for(debian)).collect();
    let Some(chosen) = here.iter().copied().rev().find(has_all) else {
        let all: Vec<String> = here.iter().map(|series| series.version.to_string()).collect();
        let cure = match kernels.iter().find(has_all) {
            Some(KernelSeries { version, releases, .. }) => {
                let releases: Vec<String> = releases.iter().map(u32::to_string).collect();
                format!("Debian {} has {version}", releases.join(" and "))
            }
            None => "compare them in campaigns with a --guest-kernel each".to_owned(),
        };
        let all = all.join(", ");
        return Err(UsageError(format!(
            "cannot choose a kernel of the guests: {needs}, and Debian {debian} has {all}; {cure}"
        )));
    };
    options.guest_kernel = vec![chosen.version.to_string()];
    Ok(Some(format!("guests run Linux {}, as with --guest-kernel: {needs}", chosen.version)))
}

/// Returns the newer release of Debian that has a kernel, if this machine's release lacks it.
pub fn newer_release(
    kernel: &str,
    kernels: &[KernelSeries],
    debian: Option<u32>,
) -> Option<NewerRelease> {
    let version: LinuxVersion = kernel.parse().ok()?;
    let series = kernels.iter().find(|series| series.version == version)?;
    let is_newer = debian.is_some_and(|debian| series.is_of_newer_than(debian));
    let compiler = series.compiler.clone().filter(|_| is_newer)?;
    Some(NewerRelease { suites: series.suites.clone(), compiler })
}

/// Contenders that run on one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelShare {
    /// The series or the release of the kernel.
    pub kernel: String,
    /// Their places in the list of contenders.
    pub members: Vec<usize>,
}

/// Divides contenders among the kernels that the options name, or, if the options name none and no
/// kernel has all contenders, among those of this release of Debian. Each contender runs on the
/// newest kernel that has it. Returns `None` if the options name at most one kernel and one kernel has
/// all contenders.
///
/// # Errors
/// Returns an error if none of the kernels has a contender, or if a kernel is named twice.
pub fn divide(
    options: &BuildOptions,
    filesystems: &[&Filesystem],
    kernels: &[KernelSeries],
    debian: Option<u32>,
) -> Result<Option<Vec<KernelShare>>, UsageError> {
    let mut series = match &options.guest_kernel[..] {
        [_, _, ..] => named(&options.guest_kernel)?,
        _ => {
            let alone = filesystems.iter().copied();
            if choose_kernel(&mut options.clone(), alone, kernels, debian).is_ok() {
                return Ok(None);
            }
            let here = kernels.iter().filter(|one| debian.is_some_and(|debian| one.is_for(debian)));
            here.map(|one| (one.version, one.version.to_string())).collect()
        }
    };
    series.sort();
    let mut shares: Vec<KernelShare> = Vec::new();
    for (place, filesystem) in filesystems.iter().enumerate() {
        let range = filesystem.requires.linux;
        let has = series.iter().rev().find(|(version, _)| range.contains(*version));
        let Some((_, kernel)) = has else {
            let all: Vec<&str> = series.iter().map(|(_, kernel)| kernel.as_str()).collect();
            let cure = match kernels.iter().find(|one| range.contains(one.version)) {
                Some(one) => format!("add {} to --guest-kernel", one.version),
                None => "leave it out".to_owned(),
            };
            return Err(UsageError(format!(
                "cannot choose a kernel for {}: it needs {range}, and the guests have {}; {cure}",
                filesystem.name,
                all.join(", ")
            )));
        };
        match shares.iter_mut().find(|share| share.kernel == *kernel) {
            Some(share) => share.members.push(place),
            None => shares.push(KernelShare { kernel: kernel.clone(), members: vec![place] }),
        }
    }
    Ok(Some(shares))
}

fn named(kernels: &[String]) -> Result<Vec<(LinuxVersion, String)>, UsageError> {
    let mut found: Vec<(LinuxVersion, String)> = Vec::new();
    for kernel in kernels {
        let version: LinuxVersion = kernel
            .parse()
            .map_err(|why| UsageError(format!("cannot use --guest-kernel {kernel}: {why}")))?;
        if found.iter().any(|(_, known)| known == kernel) {
            return Err(UsageError(format!(
                "cannot use --guest-kernel {}: {kernel} is named twice; name it once",
                kernels.join(",")
            )));
        }
        found.push((version, kernel.clone()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::Catalog;

    fn chosen(names: &[&str], debian: Option<u32>) -> Result<Option<String>, String> {
        let catalog = Catalog::builtin().unwrap();
        let filesystems: Vec<Filesystem> =
            names.iter().map(|name| catalog.filesystem(name).unwrap().clone()).collect();
        let mut options = BuildOptions::default();
        choose_kernel(&mut options, &filesystems, catalog.kernels(), debian)
            .map(|_| options.guest_kernel.pop())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_kernel_of_the_release_is_kept_if_it_has_all_contenders() {
        assert_eq!(chosen(&["ext4"], Some(12)), Ok(None));
        assert_eq!(chosen(&["ext4", "reiserfs-3.6"], Some(13)), Ok(None));
        assert_eq!(chosen(&["ext4", "bcachefs"], Some(13)), Ok(None));
    }

    #[test]
    fn otherwise_the_newest_kernel_with_all_contenders_is_chosen() {
        let series = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(chosen(&["ext4", "ntfs-kernel"], Some(13)), series("7.3"));
        assert_eq!(chosen(&["ext4", "ntfs-kernel"], Some(12)), series("7.3"));
        assert_eq!(chosen(&["bcachefs", "xfs"], Some(12)), series("6.12"));
        assert_eq!(chosen(&["bcachefs", "reiserfs-3.6"], Some(12)), series("6.12"));
        assert_eq!(chosen(&["reiserfs-3.6"], Some(13)), Ok(None));
        // A release that the catalog does not know has its own default.
        assert_eq!(chosen(&["ntfs-kernel"], Some(14)), Ok(None));
        assert_eq!(chosen(&["ntfs-kernel"], None), Ok(None));
        let error = chosen(&["bcachefs", "ntfs-kernel"], Some(13)).unwrap_err();
        assert!(error.contains("Debian 13 has 6.12, 7.3"), "{error}");
        assert!(error.contains("bcachefs needs Linux from 6.7 to before 6.18"), "{error}");
        assert!(error.ends_with("campaigns with a --guest-kernel each"), "{error}");
    }

    #[test]
    fn a_named_kernel_is_used() {
        let catalog = Catalog::builtin().unwrap();
        let filesystems = [catalog.filesystem("ntfs-kernel").unwrap().clone()];
        let mut options =
            BuildOptions { guest_kernel: vec!["6.12".into()], ..BuildOptions::default() };
        let note = choose_kernel(&mut options, &filesystems, catalog.kernels(), Some(12));
        assert_eq!((note.unwrap(), options.guest_kernel), (None, vec!["6.12".to_owned()]));
    }

    fn divided(kernels: &[&str], names: &[&str]) -> Result<Vec<(String, Vec<usize>)>, String> {
        let catalog = Catalog::builtin().unwrap();
        let filesystems: Vec<&Filesystem> =
            names.iter().map(|name| catalog.filesystem(name).unwrap()).collect();
        let guest_kernel = kernels.iter().map(|&kernel| kernel.to_owned()).collect();
        let options = BuildOptions { guest_kernel, ..BuildOptions::default() };
        let shares = divide(&options, &filesystems, catalog.kernels(), Some(13));
        let shares = shares.map_err(|error| error.to_string())?.unwrap_or_default();
        Ok(shares.into_iter().map(|share| (share.kernel, share.members)).collect())
    }

    #[test]
    fn each_contender_runs_on_the_newest_kernel_that_has_it() {
        let share = |kernel: &str, members: &[usize]| (kernel.to_owned(), members.to_vec());
        assert_eq!(
            divided(&["6.1", "7.3", "6.12"], &["ext4", "bcachefs", "ntfs-kernel"]),
            Ok(vec![share("7.3", &[0, 2]), share("6.12", &[1])])
        );
        // Without the option several kernels are used only if no single one has all contenders.
        assert_eq!(divided(&[], &["ext4", "bcachefs"]), Ok(vec![]));
        assert_eq!(
            divided(&[], &["bcachefs", "ntfs-kernel", "ext4"]),
            Ok(vec![share("6.12", &[0]), share("7.3", &[1, 2])])
        );
        assert_eq!(divided(&["6.12"], &["bcachefs", "ntfs-kernel"]), Ok(vec![]));
        assert_eq!(divided(&["6.1", "6.12"], &["xfs"]), Ok(vec![share("6.12", &[0])]));
        let error = divided(&["6.1", "6.12"], &["ntfs-kernel"]).unwrap_err();
        assert!(error.ends_with("the guests have 6.1, 6.12; add 7.3 to --guest-kernel"), "{error}");
        let error = divided(&["6.1", "6.1"], &["xfs"]).unwrap_err();
        assert_eq!(error, "cannot use --guest-kernel 6.1,6.1: 6.1 is named twice; name it once");
    }
}
