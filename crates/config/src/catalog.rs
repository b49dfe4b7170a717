//! The catalog: entries of each kind, found by name.

pub(crate) mod age_file;
pub(crate) mod defaults_file;
pub(crate) mod disk_file;
pub(crate) mod document;
pub(crate) mod filesystem_file;
pub(crate) mod kernels_file;
pub(crate) mod layer_file;
mod load;
pub(crate) mod machine_file;
pub(crate) mod uses_file;
pub(crate) mod virtual_time_file;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use model::{
    AgeProfile, DiskModel, ExcludedPhase, Filesystem, FlashState, SizeProfile, Suite, UseCase,
    VirtualTimeMachine,
};

use crate::CatalogError;
use crate::catalog::defaults_file::{Defaults, ProfileDefaults, position};
use crate::catalog::disk_file::DiskEntry;
use crate::catalog::document::NameRegistry;
use crate::catalog::kernels_file::KernelSeries;
use crate::catalog::layer_file::LayerEntry;
use crate::study::study_file::{self, StudySource, StudyText};

/// An entry and the file that defines it.
#[derive(Clone, Debug)]
struct CatalogEntry<T> {
    file: String,
    value: T,
    /// Names that refer only to this entry.
    claims: NameRegistry,
}

/// A suite with the sizes of each profile.
#[derive(Clone, Debug)]
struct SuiteSizes {
    /// Text of its file. Studies resolve it with other sizes.
    text: String,
    /// The suite, in the order of [`SizeProfile::SIZES`]. A built-in suite is read when it is first used.
    sizes: [OnceLock<Suite>; 4],
}

/// Entries by name.
type Entries<T> = BTreeMap<String, CatalogEntry<T>>;

/// The kind of catalog entry that a file describes. Each kind has its own directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CatalogKind {
    /// A filesystem, in `filesystems/`.
    Filesystem,
    /// A layer below or above a filesystem, in `layers/`.
    Layer,
    /// A suite, in `suites/`.
    Suite,
    /// A use case, in `uses/`.
    Use,
    /// A disk model, in `disks/`.
    Disk,
    /// An ageing profile, in `ages/`.
    Age,
    /// A virtual-time machine, in `machines/`.
    Machine,
    /// A published comparison, in `studies/`.
    Study,
}

/// All data files: filesystems, layers, suites, uses, disks, ages, machines, studies and profile defaults.
/// Every entry is validated.
#[derive(Clone, Debug)]
pub struct Catalog {
    filesystems: Entries<Filesystem>,
    layers: Entries<LayerEntry>,
    suites: Entries<SuiteSizes>,
    uses: Entries<UseCase>,
    disks: Entries<DiskEntry>,
    ages: Entries<AgeProfile>,
    machines: Entries<VirtualTimeMachine>,
    /// Unresolved texts of studies, because studies depend on the suites of the catalog.
    studies: Entries<StudyText>,
    defaults: Defaults,
    /// Results that are withheld in virtual time, with reasons.
    withheld: Vec<ExcludedPhase>,
    kernels: Vec<KernelSeries>,
}

impl Catalog {
    /// Returns every filesystem, by name.
    pub fn filesystems(&self) -> impl Iterator<Item = &Filesystem> {
        self.filesystems.values().map(|e| &e.value)
    }

    /// Finds a filesystem by its name or an alias.
    ///
    /// # Errors
    /// Returns an error with the nearest names if no filesystem has this name.
    pub fn filesystem(&self, name: &str) -> Result<&Filesystem, CatalogError> {
        self.filesystems()
            .find(|f| f.name == name || f.aliases.iter().any(|a| a == name))
            .ok_or_else(|| {
                let known = self.filesystems().flat_map(|f| {
                    std::iter::once(f.name.as_str()).chain(f.aliases.iter().map(String::as_str))
                });
                CatalogError::unknown("filesystem", name, known)
            })
    }

    /// Returns every layer, by name.
    pub fn layers(&self) -> impl Iterator<Item = &LayerEntry> {
        self.layers.values().map(|e| &e.value)
    }

    /// Finds a layer by name.
    ///
    /// # Errors
    /// Returns an error with the nearest names if no layer has this name.
    pub fn layer(&self, name: &str) -> Result<&LayerEntry, CatalogError> {
        let known = self.layers.keys().map(String::as_str);
        let found = self.layers.get(name).map(|entry| &entry.value);
        found.ok_or_else(|| CatalogError::unknown("layer", name, known))
    }

    /// Returns every suite as resolved for a profile: first the default suites in their order, then
    /// all others.
    pub fn suites(&self, profile: SizeProfile) -> Vec<&Suite> {
        let mut all = self.default_suites(profile);
        let others = self.suites.values().map(|entry| self.sized(entry, profile));
        let default = self.defaults.suites(profile);
        all.extend(others.filter(|suite| !default.contains(&suite.name)));
        all
    }

    /// Returns the suite with the sizes of a profile.
    ///
    /// # Panics
    /// Panics if a built-in suite is invalid. A test of this crate reads all of them.
    fn sized<'a>(&self, entry: &'a CatalogEntry<SuiteSizes>, profile: SizeProfile) -> &'a Suite {
        let size = profile.sizes();
        entry.value.sizes[position(size)].get_or_init(|| {
            let (suite, _) =
                self.read_suite(&entry.file, &entry.value.text, size).expect("it is valid");
            suite
        })
    }

    /// Returns the suites that run if the user names none, in their order.
    pub fn default_suites(&self, profile: SizeProfile) -> Vec<&Suite> {
        let names = self.defaults.suites(profile).iter();
        names.filter_map(|n| self.suite(n, profile).ok()).collect()
    }

    /// Finds a suite by name, with its parameters resolved for a profile.
    ///
    /// # Errors
    /// Returns an error with the nearest names if no suite has this name.
    pub fn suite(&self, name: &str, profile: SizeProfile) -> Result<&Suite, CatalogError> {
        match self.suites.get(name) {
            Some(entry) => Ok(self.sized(entry, profile)),
            None => {
                let known = self.suites.keys().map(String::as_str);
                // A part of the name of a test means this test.
                let holds = |test: &&model::Test| test.sweep_name().contains(name);
                let suites = self.suites.values().map(|entry| self.sized(entry, profile));
                let tests = suites.flat_map(|suite| suite.tests.iter().filter(holds));
                let tests: BTreeSet<String> =
                    tests.map(|test| format!("{}/{}", test.suite, test.sweep_name())).collect();
                match tests.is_empty() || name.is_empty() {
                    true => Err(CatalogError::unknown("suite", name, known)),
                    false => Err(CatalogError::unknown_but("suite", name, tests)),
                }
            }
        }
    }

    /// Finds suites, resolved for a profile. A name selects a whole suite, or one of its tests as
    /// `SUITE/TEST`. Tests of one suite are grouped, in the order in which they are named. The name
    /// of a sweep selects all its points.
    ///
    /// # Errors
    /// Returns an error if a name is unknown or duplicated.
    pub fn chosen_suites(
        &self,
        names: &[String],
        profile: SizeProfile,
    ) -> Result<Vec<Suite>, CatalogError> {
        let mut chosen: Vec<Suite> = Vec::new();
        for name in names {
            let new = self.suite_or_part(name, profile)?;
            let Some(suite) = chosen.iter_mut().find(|suite| suite.name == new.name) else {
                chosen.push(new);
                continue;
            };
            if !suite.merge(new) {
                return Err(CatalogError::Duplicate { name: name.clone() });
            }
        }
        Ok(chosen)
    }

    fn suite_or_part(&self, name: &str, profile: SizeProfile) -> Result<Suite, CatalogError> {
        // A path has no suite before its first slash.
        let Some((suite, test)) = name.split_once('/').filter(|(suite, _)| !suite.is_empty())
        else {
            return self.suite(name, profile).cloned();
        };
        let suite = self.suite(suite, profile)?;
        suite.select_test(test).ok_or_else(|| {
            let tests = suite.tests.iter().map(model::Test::sweep_name);
            let known: Vec<String> = tests.map(|t| format!("{}/{t}", suite.name)).collect();
            CatalogError::unknown("test", name, known.iter().map(String::as_str))
        })
    }

    /// Returns the phases that are excluded from scores in virtual time.
    pub fn withheld(&self) -> &[ExcludedPhase] {
        &self.withheld
    }

    /// Returns the series of Debian's kernels that guests can run, oldest first.
    pub fn kernels(&self) -> &[KernelSeries] {
        &self.kernels
    }

    /// Returns every use case, sorted by frequency, the most common first, and then by name.
    pub fn uses(&self) -> impl Iterator<Item = &UseCase> {
        let mut uses: Vec<&UseCase> = self.uses.values().map(|e| &e.value).collect();
        uses.sort_by_key(|one| one.order.unwrap_or(u32::MAX));
        uses.into_iter()
    }

    /// Finds a use case by name, title or another word for it, in upper or lower case.
    ///
    /// # Errors
    /// Returns an error with the nearest names if no use case has this name.
    pub fn use_case(&self, name: &str) -> Result<&UseCase, CatalogError> {
        let letters = |word: &str| word.to_lowercase().replace([' ', '-', '_'], "");
        let is_meant = |word: &String| letters(word) == letters(name);
        let mut found = self.uses().find(|one| is_meant(&one.name) || is_meant(&one.title));
        // A name of the user comes before another word for a built-in use.
        found = found.or_else(|| self.uses().find(|one| one.also.iter().any(is_meant)));
        found
            .ok_or_else(|| CatalogError::unknown("use", name, self.uses.keys().map(String::as_str)))
    }

    /// Returns every disk, by name.
    pub fn disks(&self) -> impl Iterator<Item = &DiskEntry> {
        self.disks.values().map(|e| &e.value)
    }

    /// Finds a disk model by name: `sata-ssd`, or preconditioned, `sata-ssd-steady`.
    ///
    /// # Errors
    /// Returns an error with the nearest names if no disk has this name.
    pub fn disk(&self, name: &str) -> Result<DiskModel, CatalogError> {
        if let Some(entry) = self.disks.get(name) {
            return Ok(entry.value.model.clone());
        }
        let in_state = FlashState::ALL.into_iter().find_map(|state| {
            let plain = name.strip_suffix(state.name())?.strip_suffix('-')?;
            self.disks.get(plain)?.value.model.with_state(state)
        });
        let known = self.disks.keys().map(String::as_str);
        in_state.ok_or_else(|| CatalogError::unknown("disk", name, known))
    }

    /// Returns every virtual-time machine, by name.
    pub fn machines(&self) -> impl Iterator<Item = &VirtualTimeMachine> {
        self.machines.values().map(|e| &e.value)
    }

    /// Finds a machine model by name.
    ///
    /// # Errors
    /// Returns an error with the nearest names if no machine has this name.
    pub fn machine(&self, name: &str) -> Result<&VirtualTimeMachine, CatalogError> {
        let known = self.machines.keys().map(String::as_str);
        self.machines
            .get(name)
            .map(|entry| &entry.value)
            .ok_or_else(|| CatalogError::unknown("machine", name, known))
    }

    /// Returns every ageing profile, by name.
    pub fn ages(&self) -> impl Iterator<Item = &AgeProfile> {
        self.ages.values().map(|e| &e.value)
    }

    /// Finds an age profile by name.
    ///
    /// # Errors
    /// Returns an error with the nearest names if no age profile has this name.
    pub fn age(&self, name: &str) -> Result<&AgeProfile, CatalogError> {
        let known = self.ages.keys().map(String::as_str);
        self.ages
            .get(name)
            .map(|entry| &entry.value)
            .ok_or_else(|| CatalogError::unknown("age", name, known))
    }

    /// Returns every study, by name.
    ///
    /// # Errors
    /// Returns an error if a suite of a study was replaced by a suite without the tests of the
    /// study.
    pub fn studies(&self) -> Result<Vec<StudySource>, CatalogError> {
        let entries = self.studies.values();
        entries.map(|entry| self.read_study(entry)).collect()
    }

    /// Finds a study by name.
    ///
    /// # Errors
    /// Returns an error with the nearest names if no study has this name.
    pub fn study(&self, name: &str) -> Result<StudySource, CatalogError> {
        let known = self.studies.keys().map(String::as_str);
        let entry = self.studies.get(name);
        self.read_study(entry.ok_or_else(|| CatalogError::unknown("study", name, known))?)
    }

    fn read_study(&self, entry: &CatalogEntry<StudyText>) -> Result<StudySource, CatalogError> {
        study_file::read(&entry.value, self)
    }

    /// Returns the file name and the text of a suite.
    pub(crate) fn suite_text(&self, name: &str) -> Result<(&str, &str), CatalogError> {
        let known = self.suites.keys().map(String::as_str);
        let found = self.suites.get(name);
        let entry = found.ok_or_else(|| CatalogError::unknown("suite", name, known))?;
        Ok((entry.file.as_str(), entry.value.text.as_str()))
    }

    /// Returns the default settings of a profile.
    pub fn profile(&self, profile: SizeProfile) -> ProfileDefaults {
        self.defaults.profile(profile)
    }
}
