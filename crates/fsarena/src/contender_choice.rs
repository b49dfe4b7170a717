//! Who competes: those that are named, or all that can run on a backend.

use catalog::{CampaignFile, Catalog};
use model::{Backend, Bytes, Class, Contender, Filesystem};
use provision::{Machine, Need, Verdict};

use crate::exit::Refused;
use crate::progress::Progress;

/// What it depends on who can compete.
pub struct Choice<'a> {
    /// What there is.
    pub catalog: &'a Catalog,
    /// Where contenders live; not the one of directories, which bring their filesystems.
    pub backend: Backend,
    /// This machine, and what the guest has.
    pub machine: &'a Machine,
    /// Size of the device.
    pub size: Bytes,
}

impl Choice<'_> {
    /// The contenders that are named, on the command line or else in the file, each of which must be able to
    /// run; or all that are.
    pub fn contenders(
        &self,
        specs: &[String],
        file: &CampaignFile,
        progress: &Progress,
    ) -> anyhow::Result<Vec<Contender>> {
        let named = if specs.is_empty() {
            file.contenders.clone()
        } else {
            let named = specs.iter().map(|spec| self.catalog.contender(spec));
            named.collect::<Result<_, _>>()?
        };
        for contender in &named {
            if let Some(missing) = self.missing(&contender.filesystem) {
                let name = &contender.name;
                return Err(Refused(format!("{name} cannot run here: {missing}")).into());
            }
        }
        if named.is_empty() {
            self.all_that_run(progress)
        } else {
            Ok(named)
        }
    }

    fn verdict(&self, filesystem: &Filesystem) -> Verdict {
        provision::verdict(filesystem, self.backend, self.machine)
    }

    /// What keeps a filesystem from running, with the command that mends it.
    fn missing(&self, filesystem: &Filesystem) -> Option<String> {
        match self.verdict(filesystem) {
            Verdict::Runs => None,
            Verdict::Impossible { why } => Some(why),
            Verdict::Missing { needs } => Some(list(&needs)),
        }
    }

    /// Every contender that runs here on a device of this size; what is left out for something that can
    /// be mended is said.
    fn all_that_run(&self, progress: &Progress) -> anyhow::Result<Vec<Contender>> {
        let mut contenders = Vec::new();
        let mut impossible = Vec::new();
        let filesystems = self.catalog.filesystems();
        for filesystem in filesystems.filter(|f| self.is_asked(f)) {
            let obstacle = match self.verdict(filesystem) {
                Verdict::Runs => self.misfit(filesystem),
                Verdict::Missing { needs } => Some(list(&needs)),
                Verdict::Impossible { .. } => {
                    impossible.push(filesystem.name.as_str());
                    continue;
                }
            };
            match obstacle {
                Some(reason) => progress.note(&format!("left out: {}: {reason}", filesystem.name)),
                None => contenders.push(self.catalog.contender(&filesystem.name)?),
            }
        }
        if self.backend == Backend::Vm && !impossible.is_empty() {
            let names = impossible.join(", ");
            progress.note(&format!(
                "the guest drives all but {names}: `fsarena doctor` says why"
            ));
        }
        if contenders.is_empty() {
            return Err(Refused("nothing can run here: `fsarena doctor` says why".into()).into());
        }
        Ok(contenders)
    }

    /// Whether a filesystem competes that nobody has named. In guests floors do: the memory that they take is
    /// the guest's.
    fn is_asked(&self, filesystem: &Filesystem) -> bool {
        let is_floor = filesystem.class == Class::Floor && self.backend == Backend::Vm;
        filesystem.only_when_named.is_none() || is_floor
    }

    /// Why the device is none for the filesystem. In guests, each filesystem has a disk no larger than it
    /// takes.
    fn misfit(&self, filesystem: &Filesystem) -> Option<String> {
        let requires = &filesystem.requires;
        let size = match (self.backend, requires.largest) {
            (Backend::Vm, Some(largest)) => self.size.min(largest),
            _ => self.size,
        };
        requires.misfit(size)
    }
}

/// What is missing, each with the command that brings it.
fn list(needs: &[Need]) -> String {
    let each = |need: &Need| format!("{} is missing ({})", need.what, need.command);
    needs.iter().map(each).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use provision::GuestStock;

    use super::*;

    /// A machine whose guest drives these filesystems and no others.
    fn machine(catalog: &Catalog, names: &[&str]) -> Machine {
        let others = catalog
            .filesystems()
            .filter(|f| !names.contains(&f.name.as_str()));
        let lacks = others.map(|f| (f.name.clone(), "it has no driver".to_owned()));
        Machine {
            has_program: |_| true,
            guest: Some(GuestStock {
                kernel: "6.1.0".into(),
                lacks: lacks.collect(),
            }),
            ..Machine::look()
        }
    }

    fn names(contenders: &[Contender]) -> Vec<&str> {
        contenders.iter().map(|c| c.name.as_str()).collect()
    }

    #[test]
    fn in_guests_all_compete_that_the_guest_has_and_floors_with_them() {
        let catalog = Catalog::builtin().unwrap();
        let all = ["fat12", "fuse-ufs", "hpfs", "jfs", "overlay", "tmpfs"];
        let machine = &machine(&catalog, &all);
        let choice = |size| Choice {
            catalog: &catalog,
            backend: Backend::Vm,
            machine,
            size,
        };
        let file = CampaignFile::default();
        let chosen = |size| {
            choice(size)
                .contenders(&[], &file, &Progress::Quiet)
                .unwrap()
        };
        let asked = ["fat12", "hpfs", "jfs", "overlay", "tmpfs"];
        assert_eq!(names(&chosen(Bytes::mib(384))), asked);
        assert!(!names(&chosen(Bytes::mib(8))).contains(&"jfs"), "too small");
    }

    #[test]
    fn who_is_named_and_cannot_run_is_refused_with_the_reason() {
        let catalog = Catalog::builtin().unwrap();
        let machine = &machine(&catalog, &["hpfs"]);
        let choice = Choice {
            catalog: &catalog,
            backend: Backend::Vm,
            machine,
            size: Bytes::mib(384),
        };
        let file = CampaignFile::default();
        let named = |name: &str| choice.contenders(&[name.to_owned()], &file, &Progress::Quiet);
        assert_eq!(names(&named("hpfs").unwrap()), ["hpfs"]);
        let error = named("jfs").unwrap_err().to_string();
        assert!(
            error.contains("jfs cannot run here: it has no driver"),
            "{error}"
        );
    }
}
