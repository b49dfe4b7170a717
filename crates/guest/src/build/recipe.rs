//! Contents of a guest, as required by the filesystems of a catalog.

use model::{Filesystem, ProgramRequirements, Requirements};

/// Contents of a guest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recipe {
    /// Requested modules; those that the kernel does not have are omitted.
    pub modules: Vec<String>,
    /// Requested programs; those that no package contains are omitted.
    pub programs: Vec<String>,
    /// Files of packages that programs of suites read.
    pub files: Vec<String>,
    /// Sets of packages, each downloaded with all its dependencies. Packages that apt does not know
    /// are omitted.
    pub packages: Vec<Vec<String>>,
    /// Filesystems whose drivers are built from source packages.
    pub add_ons: Vec<DkmsPackage>,
    /// Series (`6.12`) or release (`6.1.0-50`) of Debian's kernel; the drivers of a release are used
    /// unchanged. If `None`, the newest kernel of the distribution is used.
    pub kernel: Option<String>,
    /// The newer release of Debian that has the kernel, if this machine's has no such kernel.
    pub newer: Option<NewerRelease>,
    /// A Debian mirror to use instead of those configured for this machine's apt.
    pub mirror: Option<String>,
}

/// A release of Debian that is newer than this machine's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewerRelease {
    /// Names of the release and of its backports on a mirror.
    pub suites: Vec<String>,
    /// Package of the compiler that built the kernel.
    pub compiler: String,
}

/// A filesystem whose driver is distributed as source, in a package whose name ends with `-dkms`.
/// Its programs are stored separately, because their names may collide with those of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DkmsPackage {
    /// The filesystem.
    pub name: String,
    /// Modules to build.
    pub modules: Vec<String>,
    /// Its programs.
    pub programs: Vec<String>,
    /// Package with the source of the driver.
    pub source: String,
    /// Packages that contain the programs.
    pub packages: Vec<String>,
}

impl Recipe {
    /// Returns the recipe for these filesystems. Filesystems distributed as source are included
    /// only if `with` contains their name, because they take many minutes to build.
    pub fn for_filesystems<'a>(
        filesystems: impl IntoIterator<Item = &'a Filesystem>,
        with: &[String],
    ) -> Self {
        let mut recipe = Self::default();
        for filesystem in filesystems {
            match add_on(filesystem) {
                Some(add_on) if with.contains(&add_on.name) => recipe.add_ons.push(add_on),
                Some(_) => {}
                None => recipe.add(&filesystem.requires),
            }
        }
        recipe.in_order()
    }

    /// Adds the programs of a suite's commands. Returns the recipe unchanged if it already contains
    /// them all.
    pub fn with_programs(mut self, of_suite: &ProgramRequirements) -> Self {
        if self.has(of_suite) {
            return self;
        }
        self.programs.extend(of_suite.programs.iter().cloned());
        self.files.extend(of_suite.files.iter().cloned());
        self.packages.push(of_suite.packages.clone());
        self.in_order()
    }

    /// Adds the modules and programs of a layer.
    #[must_use]
    pub fn with_layer(mut self, requires: &Requirements) -> Self {
        self.add(requires);
        self.in_order()
    }

    fn has(&self, of_suite: &ProgramRequirements) -> bool {
        let is_in = |all: &[String], some: &[String]| some.iter().all(|one| all.contains(one));
        is_in(&self.programs, &of_suite.programs)
            && is_in(&self.files, &of_suite.files)
            && is_in(&self.packages.concat(), &of_suite.packages)
    }

    fn in_order(mut self) -> Self {
        for names in [&mut self.modules, &mut self.programs, &mut self.files] {
            names.sort();
            names.dedup();
        }
        self
    }

    fn add(&mut self, requires: &Requirements) {
        self.modules.extend(requires.modules.iter().cloned());
        self.programs.extend(requires.programs.iter().cloned());
        self.packages.push(requires.packages.clone());
    }
}

/// Returns true if the driver of a filesystem is distributed as source, so that a guest contains it
/// only on request.
pub fn is_dkms(filesystem: &Filesystem) -> bool {
    add_on(filesystem).is_some()
}

/// Returns the requirements of a filesystem distributed as source. Returns `None` for all others.
fn add_on(filesystem: &Filesystem) -> Option<DkmsPackage> {
    let requires = &filesystem.requires;
    let is_source = |package: &&String| package.ends_with("-dkms");
    let source = requires.packages.iter().find(is_source)?;
    let others = requires.packages.iter().filter(|p| !is_source(p));
    Some(DkmsPackage {
        name: filesystem.name.clone(),
        modules: requires.modules.clone(),
        programs: requires.programs.clone(),
        source: source.clone(),
        packages: others.cloned().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::filesystem;

    #[test]
    fn recipe_contains_each_requirement_once() {
        let all = [
            filesystem("ext4", "ext4", "e2fsprogs", "mke2fs"),
            filesystem("ext2", "ext4", "e2fsprogs", "mke2fs"),
            filesystem("jfs", "jfs", "jfsutils", "mkfs.jfs"),
        ];
        let recipe = Recipe::for_filesystems(&all, &[]);
        assert_eq!(recipe.modules, ["ext4", "jfs"]);
        assert_eq!(recipe.programs, ["mke2fs", "mkfs.jfs"]);
        assert_eq!(recipe.packages.len(), 3);
    }

    #[test]
    fn programs_of_a_suite_are_added_each_once() {
        let all = [filesystem("ext4", "ext4", "e2fsprogs", "mke2fs")];
        let of_suite = ProgramRequirements {
            packages: vec!["coreutils".into()],
            programs: vec!["sort".into(), "mke2fs".into()],
            files: Vec::new(),
        };
        let recipe = Recipe::for_filesystems(&all, &[]).with_programs(&of_suite);
        assert_eq!(recipe.programs, ["mke2fs", "sort"]);
        assert_eq!(recipe.packages[1], ["coreutils"]);
        assert_eq!(recipe.clone().with_programs(&of_suite), recipe);
    }

    #[test]
    fn drivers_from_source_are_included_only_on_request() {
        let mut zfs = filesystem("zfs", "zfs", "zfs-dkms", "zpool");
        zfs.requires.packages.push("zfsutils-linux".into());
        let all = [zfs];
        assert_eq!(Recipe::for_filesystems(&all, &[]), Recipe::default());
        let recipe = Recipe::for_filesystems(&all, &["zfs".into()]);
        assert!(recipe.modules.is_empty() && recipe.packages.is_empty());
        let add_on = &recipe.add_ons[0];
        assert_eq!(
            (add_on.source.as_str(), &add_on.packages[..]),
            ("zfs-dkms", &["zfsutils-linux".to_owned()][..])
        );
    }
}
