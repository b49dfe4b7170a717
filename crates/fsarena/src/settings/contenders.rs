//! Selection of contenders: the named ones, or all that can run on a backend.

use std::collections::BTreeSet;
use std::path::Path;

use config::{Catalog, ContenderEntry, DirectoryContender};
use model::wire::machine::MountedDirectory;
use model::{BackendKind, Contender, ContenderOverrides, Filesystem, Suite};
use storage::{Availability, HostInfo, MissingRequirement};

use crate::output::exit::EnvironmentError;
use crate::output::progress::ProgressDisplay;

/// Inputs for selecting contenders.
pub struct ContenderSelection<'a> {
    /// Available filesystems.
    pub catalog: &'a Catalog,
    /// Backend of the contenders. Not the backend for directories, whose filesystems already exist.
    pub backend: BackendKind,
    /// This machine and the contents of its guest.
    pub machine: &'a HostInfo,
}

impl ContenderSelection<'_> {
    /// Returns the contenders that the user named; each of them must be able to run. Without names,
    /// returns all that can run, limited to those of a study if given.
    pub fn contenders(
        &self,
        named: &[ContenderEntry],
        among: Option<&[String]>,
        progress: &ProgressDisplay,
    ) -> anyhow::Result<Vec<Contender>> {
        let named = named.iter().map(|entry| entry.contender(self.catalog));
        let named: Vec<Contender> = named.collect::<Result<_, _>>()?;
        for contender in &named {
            if let Some(missing) = self.missing(&contender.filesystem) {
                let (name, advice) = (&contender.name, self.advice(&contender.filesystem));
                let why = format!("{name} cannot run here: {missing}{advice}");
                return Err(EnvironmentError(why).into());
            }
        }
        if named.is_empty() { self.all_that_run(among, progress) } else { Ok(named) }
    }

    /// Adds missing baselines of the suites, which show the cost of the work without a disk. A
    /// baseline keeps its files in memory and is omitted if they would need more than half of the
    /// available memory.
    pub fn with_baselines(
        &self,
        mut contenders: Vec<Contender>,
        suites: &[Suite],
        progress: &ProgressDisplay,
    ) -> anyhow::Result<Vec<Contender>> {
        let wanted: BTreeSet<&String> = suites.iter().filter_map(|s| s.baseline.as_ref()).collect();
        for name in wanted {
            if contenders.iter().any(|c| c.filesystem.name == *name) {
                continue;
            }
            let baseline = self.catalog.contender(name)?;
            let of_it = suites.iter().filter(|s| s.baseline.as_ref() == Some(name));
            let most = of_it.flat_map(|s| &s.tests).map(|test| test.space).max();
            let most = most.unwrap_or_default();
            let available = self.machine.available_memory;
            let too_little = available.filter(|memory| memory.0 / 2 < most.0);
            let obstacle = match (self.missing(&baseline.filesystem), too_little) {
                (Some(missing), _) => Some(missing),
                (None, Some(memory)) if self.backend != BackendKind::Vm => {
                    Some(format!("{most} in memory leave too little of {memory}"))
                }
                _ => None,
            };
            match obstacle {
                Some(why) => progress.note(&format!("no baseline: {name}: {why}")),
                None => contenders.push(baseline),
            }
        }
        Ok(contenders)
    }

    fn verdict(&self, filesystem: &Filesystem) -> Availability {
        storage::check_availability(filesystem, self.backend, self.machine)
    }

    /// Returns the reason why a filesystem cannot run, with the command that fixes it.
    pub fn missing(&self, filesystem: &Filesystem) -> Option<String> {
        match self.verdict(filesystem) {
            Availability::Available => None,
            Availability::Impossible { why } => Some(why),
            Availability::Missing { needs } => Some(list(&needs)),
        }
    }

    /// Returns the advice to use a guest if only a guest can run a filesystem.
    fn advice(&self, filesystem: &Filesystem) -> String {
        let is_impossible = matches!(self.verdict(filesystem), Availability::Impossible { .. });
        let range = filesystem.requires.linux;
        if self.backend == BackendKind::Vm && is_impossible && !range.is_all() {
            let mut kernels = self.catalog.kernels().iter().map(|series| series.version);
            let newest = kernels.rfind(|version| range.contains(*version));
            return newest.map_or_else(String::new, |one| format!("; use --guest-kernel {one}"));
        }
        if self.backend == BackendKind::Vm || !is_impossible || filesystem.unavailable.is_some() {
            return String::new();
        }
        let requires = &filesystem.requires;
        // A guest has the programs of packages.
        match requires.packages.is_empty() && !requires.programs.is_empty() {
            true => "; a guest needs a kernel and programs of yours for it: see `fsarena guest build --help`"
                .to_owned(),
            false if guest::is_dkms(filesystem) => format!(
                "; a guest can run it: first `fsarena guest build --with {}`, then add --backend vm",
                filesystem.name
            ),
            false => "; a guest can run it: add --backend vm".to_owned(),
        }
    }

    /// Returns every contender that can run here, regardless of the size of the device. Reports
    /// contenders that are excluded for a fixable reason.
    fn all_that_run(
        &self,
        among: Option<&[String]>,
        progress: &ProgressDisplay,
    ) -> anyhow::Result<Vec<Contender>> {
        let mut contenders = Vec::new();
        let mut impossible = Vec::new();
        let competes = |filesystem: &&Filesystem| match among {
            Some(among) => among.contains(&filesystem.name),
            None => filesystem.runs_by_default(self.backend),
        };
        for filesystem in self.catalog.filesystems().filter(competes) {
            let obstacle = match self.verdict(filesystem) {
                Availability::Available => None,
                Availability::Missing { needs } => Some(list(&needs)),
                Availability::Impossible { why } if among.is_some() => Some(why),
                Availability::Impossible { .. } => {
                    impossible.push(filesystem.name.as_str());
                    continue;
                }
            };
            match obstacle {
                Some(reason) => progress.note(&format!("left out: {}: {reason}", filesystem.name)),
                None => contenders.push(self.catalog.contender(&filesystem.name)?),
            }
        }
        if self.backend == BackendKind::Vm && !impossible.is_empty() {
            let names = impossible.join(", ");
            progress.note(&format!(
                "the guest supports all filesystems except {names}; see `fsarena doctor` for the reasons"
            ));
        }
        if contenders.is_empty() {
            return Err(EnvironmentError(
                "no filesystem can run here; see `fsarena doctor` for the reasons".into(),
            )
            .into());
        }
        Ok(contenders)
    }
}

/// Returns the contenders for mounted directories, as found on their machine.
pub fn mounted(
    directories: &[DirectoryContender],
    found: &[MountedDirectory],
    catalog: &Catalog,
) -> anyhow::Result<Vec<Contender>> {
    let paths: Vec<&Path> = found.iter().map(|found| found.path.as_path()).collect();
    let contender = |((directory, found), short): ((&DirectoryContender, &MountedDirectory), _)| {
        let name: &String = directory.name.as_ref().unwrap_or(short);
        let kind = found.filesystem.as_deref();
        let contender = catalog.directory_contender(&found.path, name, kind)?;
        Ok(Contender {
            own: ContenderOverrides { memory: directory.memory, ..contender.own },
            ..contender
        })
    };
    let names = catalog.directory_names(&paths);
    directories.iter().zip(found).zip(&names).map(contender).collect()
}

/// Lists the missing requirements, each with the command that installs it.
fn list(needs: &[MissingRequirement]) -> String {
    let each =
        |need: &MissingRequirement| format!("{} is missing ({})", need.description, need.command);
    needs.iter().map(each).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use storage::{GuestContents, ProgramLookup};

    use super::*;
    use crate::commands::list as list_command;

    fn every_program(catalog: &Catalog) -> ProgramLookup {
        let all = catalog.filesystems().flat_map(|f| &f.requires.programs);
        let emulator = guest::QEMU.to_owned();
        ProgramLookup::These(all.cloned().chain([emulator]).collect())
    }

    /// Creates a machine whose guest has drivers for only these filesystems.
    fn machine(catalog: &Catalog, names: &[&str]) -> HostInfo {
        let others = catalog.filesystems().filter(|f| !names.contains(&f.name.as_str()));
        let lacks = others.map(|f| (f.name.clone(), "it has no driver".to_owned()));
        HostInfo {
            programs: every_program(catalog),
            guest: Some(GuestContents { kernel: "6.1.0".into(), lacks: lacks.collect() }),
            ..HostInfo::inspect()
        }
    }

    fn names(contenders: &[Contender]) -> Vec<&str> {
        contenders.iter().map(|c| c.name.as_str()).collect()
    }

    #[test]
    fn in_guests_all_supported_filesystems_and_baselines_run() {
        let catalog = Catalog::builtin().unwrap();
        let all = ["fat12", "fuse-ufs", "hpfs", "jfs", "overlay", "tmpfs"];
        let machine = &machine(&catalog, &all);
        let choice = ContenderSelection { catalog: &catalog, backend: BackendKind::Vm, machine };
        let chosen = choice.contenders(&[], None, &ProgressDisplay::Quiet).unwrap();
        let asked = ["fat12", "hpfs", "jfs", "overlay", "tmpfs"];
        assert_eq!(names(&chosen), asked);
    }

    #[test]
    fn default_contenders_match_the_list() {
        let catalog = Catalog::builtin().unwrap();
        let everything = HostInfo {
            root: true,
            filesystems: catalog.filesystems().filter_map(|f| f.requires.kernel.clone()).collect(),
            loop_control: true,
            fuse_device: true,
            programs: every_program(&catalog),
            guest: Some(GuestContents { kernel: "6.1.0".into(), lacks: BTreeMap::new() }),
            ..HostInfo::inspect()
        };
        for backend in [BackendKind::Loop, BackendKind::Vm] {
            let choice = ContenderSelection { catalog: &catalog, backend, machine: &everything };
            let chosen = choice.contenders(&[], None, &ProgressDisplay::Quiet).unwrap();
            let says = |f: &&Filesystem| {
                let backends = list_command::by_default(f);
                backends.split(' ').any(|one| one == backend.to_string())
            };
            let listed = catalog.filesystems().filter(says).map(|f| f.name.as_str());
            assert_eq!(names(&chosen), listed.collect::<Vec<_>>(), "{backend}");
        }
    }

    #[test]
    fn a_filesystem_that_only_guests_can_run_is_refused_with_the_option_for_guests() {
        let catalog = Catalog::builtin().unwrap();
        let bare = HostInfo {
            root: true,
            filesystems: std::collections::BTreeSet::new(),
            modules: std::collections::BTreeSet::new(),
            ..machine(&catalog, &[])
        };
        let choice =
            ContenderSelection { catalog: &catalog, backend: BackendKind::Loop, machine: &bare };
        let at_once = "; a guest can run it: add --backend vm";
        let built =
            "; a guest can run it: first `fsarena guest build --with zfs`, then add --backend vm";
        let own = "; a guest needs a kernel and programs of yours for it: see `fsarena guest build --help`";
        for (name, advice) in
            [("hpfs", at_once), ("ufs2", at_once), ("zfs", built), ("bcachefs", own)]
        {
            let named = &[ContenderEntry::Spec(name.to_owned())];
            let refused = choice.contenders(named, None, &ProgressDisplay::Quiet);
            let error = refused.unwrap_err().to_string();
            assert!(error.ends_with(advice), "{error}");
        }
    }

    #[test]
    fn named_contender_that_cannot_run_is_refused_with_the_reason() {
        let catalog = Catalog::builtin().unwrap();
        let machine = &machine(&catalog, &["hpfs"]);
        let choice = ContenderSelection { catalog: &catalog, backend: BackendKind::Vm, machine };
        let named = |name: &str| {
            choice.contenders(
                &[ContenderEntry::Spec(name.to_owned())],
                None,
                &ProgressDisplay::Quiet,
            )
        };
        assert_eq!(names(&named("hpfs").unwrap()), ["hpfs"]);
        let error = named("jfs").unwrap_err().to_string();
        assert!(error.contains("jfs cannot run here: it has no driver"), "{error}");
    }
}
