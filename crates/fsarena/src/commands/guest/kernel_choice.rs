//! The kernel of a guest, chosen for the contenders that are named.

use config::KernelSeries;
use model::Filesystem;

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
        options.debian_kernel.is_some() || options.kernel.is_some() || options.mirror.is_some();
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
    let here: Vec<&KernelSeries> =
        kernels.iter().filter(|series| series.releases.contains(&debian)).collect();
    let Some(chosen) = here.iter().copied().rev().find(has_all) else {
        let all: Vec<String> = here.iter().map(|series| series.version.to_string()).collect();
        let cure = match kernels.iter().find(has_all) {
            Some(KernelSeries { version, releases, .. }) => {
                let releases: Vec<String> = releases.iter().map(u32::to_string).collect();
                format!("Debian {} has {version}", releases.join(" and "))
            }
            None => "compare them in several campaigns".to_owned(),
        };
        let all = all.join(", ");
        return Err(UsageError(format!(
            "cannot choose a kernel of the guests: {needs}, and Debian {debian} has {all}; {cure}"
        )));
    };
    options.debian_kernel = Some(chosen.version.to_string());
    Ok(Some(format!("guests run Linux {}, as with --debian-kernel: {needs}", chosen.version)))
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
            .map(|_| options.debian_kernel)
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
        let error = chosen(&["ext4", "ntfs-kernel"], Some(12)).unwrap_err();
        let told =
            "ntfs-kernel needs Linux 7.1 or later, and Debian 12 has 6.1, 6.12; Debian 13 has 7.3";
        assert!(error.ends_with(told), "{error}");
        assert_eq!(chosen(&["bcachefs", "xfs"], Some(12)), series("6.12"));
        assert_eq!(chosen(&["bcachefs", "reiserfs-3.6"], Some(12)), series("6.12"));
        assert_eq!(chosen(&["reiserfs-3.6"], Some(13)), Ok(None));
        // A release that the catalog does not know has its own default.
        assert_eq!(chosen(&["ntfs-kernel"], Some(14)), Ok(None));
        assert_eq!(chosen(&["ntfs-kernel"], None), Ok(None));
        let error = chosen(&["bcachefs", "ntfs-kernel"], Some(13)).unwrap_err();
        assert!(error.contains("Debian 13 has 6.12, 7.3"), "{error}");
        assert!(error.contains("bcachefs needs Linux from 6.7 to before 6.18"), "{error}");
        assert!(error.ends_with("compare them in several campaigns"), "{error}");
    }

    #[test]
    fn a_named_kernel_is_used() {
        let catalog = Catalog::builtin().unwrap();
        let filesystems = [catalog.filesystem("ntfs-kernel").unwrap().clone()];
        let mut options =
            BuildOptions { debian_kernel: Some("6.12".into()), ..BuildOptions::default() };
        let note = choose_kernel(&mut options, &filesystems, catalog.kernels(), Some(12));
        assert_eq!((note.unwrap(), options.debian_kernel.as_deref()), (None, Some("6.12")));
    }
}
