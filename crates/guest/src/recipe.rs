//! What a guest is made of, as the filesystems of a catalog ask for it.

use model::{Filesystem, ProgramRequirements};

/// What a guest is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recipe {
    /// Modules that it should have; those that the kernel does not have are left out.
    pub modules: Vec<String>,
    /// Programs that it should have; those that are in none of the packages are left out.
    pub programs: Vec<String>,
    /// What programs of suites read of their packages ([`Programs::files`]).
    pub files: Vec<String>,
    /// Sets of packages, each brought with all that it depends on; those that apt does not know are left
    /// out.
    pub packages: Vec<Vec<String>>,
    /// Filesystems whose drivers are built of a package of their source.
    pub add_ons: Vec<DkmsPackage>,
    /// The release of Debian's kernel (`6.12`, `6.1.0-50`), whose drivers are taken as they are; the newest of the
    /// distribution where none is named.
    pub kernel: Option<String>,
    /// A mirror of Debian in the place of those that this machine's apt is set to.
    pub mirror: Option<String>,
}

/// A filesystem whose driver comes as source, in a package that ends with `-dkms`. Its programs are kept
/// apart from the others, for they may have the names of theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DkmsPackage {
    /// The filesystem.
    pub name: String,
    /// The modules that are built.
    pub modules: Vec<String>,
    /// Its programs.
    pub programs: Vec<String>,
    /// The package with the source.
    pub source: String,
    /// Packages that bring the programs.
    pub packages: Vec<String>,
}

impl Recipe {
    /// For these filesystems; those that come as source only where they are among `with`, by name, for
    /// they take many minutes.
    pub fn for_filesystems<'a>(
        filesystems: impl IntoIterator<Item = &'a Filesystem>,
        with: &[String],
    ) -> Self {
        let mut recipe = Self::default();
        for filesystem in filesystems {
            match add_on(filesystem) {
                Some(add_on) if with.contains(&add_on.name) => recipe.add_ons.push(add_on),
                Some(_) => {}
                None => recipe.add(filesystem),
            }
        }
        recipe.in_order()
    }

    /// The same with the programs of a suite's commands; the very same where it has them all.
    pub fn with_programs(mut self, of_suite: &ProgramRequirements) -> Self {
        if self.has(of_suite) {
            return self;
        }
        self.programs.extend(of_suite.programs.iter().cloned());
        self.files.extend(of_suite.files.iter().cloned());
        self.packages.push(of_suite.packages.clone());
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

    fn add(&mut self, filesystem: &Filesystem) {
        let requires = &filesystem.requires;
        self.modules.extend(requires.modules.iter().cloned());
        self.programs.extend(requires.programs.iter().cloned());
        self.packages.push(requires.packages.clone());
    }
}

/// Whether a filesystem's driver comes as source, so that a guest has it only where it is asked for.
pub fn is_dkms(filesystem: &Filesystem) -> bool {
    add_on(filesystem).is_some()
}

/// What such a filesystem needs; nothing for all others.
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
    fn a_recipe_has_what_its_filesystems_need_each_once() {
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
    fn what_comes_as_source_is_taken_when_it_is_asked_for() {
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
