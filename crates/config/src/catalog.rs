//! The catalog: built-in entries, and user files that add or override entries.

pub(crate) mod age_file;
pub(crate) mod defaults_file;
pub(crate) mod disk_file;
pub(crate) mod document;
pub(crate) mod filesystem_file;
pub(crate) mod kernels_file;
pub(crate) mod layer_file;
pub(crate) mod machine_file;
pub(crate) mod uses_file;
pub(crate) mod virtual_time_file;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use model::{
    AgeProfile, DiskModel, ExcludedPhase, Filesystem, FlashState, SizeProfile, Suite, UseCase,
    VirtualTimeMachine,
};

use crate::CatalogError;
use crate::catalog::defaults_file::{Defaults, ProfileDefaults, position};
use crate::catalog::disk_file::DiskEntry;
use crate::catalog::document::{NameRegistry, TomlSource};
use crate::catalog::kernels_file::KernelSeries;
use crate::catalog::layer_file::LayerEntry;
use crate::study::study_file::{self, StudySource, StudyText};
use crate::suite::suite_file;
use crate::text_file::read_regular_file;

static BUILTIN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../catalog");

/// An entry and the file that defines it.
#[derive(Clone, Debug)]
struct CatalogEntry<T> {
    file: String,
    value: T,
    /// Names that refer only to this entry.
    claims: NameRegistry,
}

/// Entries by name.
type Entries<T> = BTreeMap<String, CatalogEntry<T>>;

/// The data files of a directory, by kind: name and text of each file.
#[derive(Default)]
struct CatalogFiles {
    filesystems: Vec<(String, String)>,
    layers: Vec<(String, String)>,
    suites: Vec<(String, String)>,
    uses: Vec<(String, String)>,
    disks: Vec<(String, String)>,
    ages: Vec<(String, String)>,
    machines: Vec<(String, String)>,
    studies: Vec<StudyText>,
}

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
    /// Each suite as resolved for every profile, in the order of [`SizeProfile::SIZES`].
    suites: Entries<[Suite; 4]>,
    uses: Entries<UseCase>,
    disks: Entries<DiskEntry>,
    ages: Entries<AgeProfile>,
    machines: Entries<VirtualTimeMachine>,
    /// Unresolved texts of studies, because studies depend on the suites of the catalog.
    studies: Entries<StudyText>,
    /// Texts of suites. Studies resolve them with other sizes.
    texts: BTreeMap<String, (String, String)>,
    defaults: Defaults,
    /// Results that are withheld in virtual time, with reasons.
    withheld: Vec<ExcludedPhase>,
    kernels: Vec<KernelSeries>,
}

impl Catalog {
    /// Returns the catalog that is compiled into the program.
    ///
    /// # Errors
    /// Returns an error if one of its files is invalid. A test of this crate checks that all files
    /// are valid.
    pub fn builtin() -> Result<Self, CatalogError> {
        let read = |directory: &str| -> Vec<(String, String)> {
            let files = BUILTIN.get_dir(directory).into_iter().flat_map(Dir::files);
            files
                .filter_map(|f| Some((builtin_name(f.path()), f.contents_utf8()?.to_owned())))
                .collect()
        };
        let text = |name: &str| {
            let file = BUILTIN.get_file(name);
            file.and_then(include_dir::File::contents_utf8).unwrap_or_default()
        };
        let mut catalog = Self::empty(Defaults::read(TomlSource {
            file: "catalog/defaults.toml",
            text: text("defaults.toml"),
        })?);
        catalog.kernels = kernels_file::read(TomlSource {
            file: "catalog/kernels.toml",
            text: text("kernels.toml"),
        })?;
        catalog.withheld = virtual_time_file::read(TomlSource {
            file: "catalog/virtual-time.toml",
            text: text("virtual-time.toml"),
        })?;
        catalog.take(&CatalogFiles {
            filesystems: read("filesystems"),
            layers: read("layers"),
            suites: read("suites"),
            uses: read("uses"),
            disks: read("disks"),
            ages: read("ages"),
            machines: read("machines"),
            studies: builtin_studies(),
        })?;
        for profile in SizeProfile::ALL {
            for suite in catalog.defaults.suites(profile) {
                catalog.suite(suite, profile)?;
            }
        }
        Ok(catalog)
    }

    const fn empty(defaults: Defaults) -> Self {
        Self {
            filesystems: BTreeMap::new(),
            layers: BTreeMap::new(),
            suites: BTreeMap::new(),
            uses: BTreeMap::new(),
            disks: BTreeMap::new(),
            ages: BTreeMap::new(),
            machines: BTreeMap::new(),
            studies: BTreeMap::new(),
            texts: BTreeMap::new(),
            defaults,
            withheld: Vec::new(),
            kernels: Vec::new(),
        }
    }

    /// Returns a catalog of a single file, with the profiles of this catalog. If the file is a
    /// study, the result also includes the filesystems and suites of this catalog. `file` is the
    /// file name for errors.
    ///
    /// # Errors
    /// Returns an error if the text is invalid.
    pub fn from_file(
        &self,
        kind: CatalogKind,
        file: &str,
        text: &str,
    ) -> Result<Self, CatalogError> {
        self.of_files(kind, file, text, None)
    }

    /// Returns a catalog of a single study with its figures. `figures` is a pair of file name, for
    /// errors, and text.
    ///
    /// # Errors
    /// Returns an error if the text of the study is invalid. The text of the figures is not parsed
    /// here.
    pub fn from_study(
        &self,
        file: &str,
        text: &str,
        figures: (&str, &str),
    ) -> Result<Self, CatalogError> {
        self.of_files(CatalogKind::Study, file, text, Some(figures))
    }

    fn of_files(
        &self,
        kind: CatalogKind,
        file: &str,
        text: &str,
        figures: Option<(&str, &str)>,
    ) -> Result<Self, CatalogError> {
        let only = [(file.to_owned(), text.to_owned())];
        let mut catalog = Self::empty(self.defaults.clone());
        match kind {
            CatalogKind::Filesystem => catalog.take_filesystems(&only),
            CatalogKind::Layer => catalog.take_layers(&only),
            CatalogKind::Suite => catalog.take_suites(&only),
            CatalogKind::Use => catalog.take_uses(&only),
            CatalogKind::Disk => catalog.take_disks(&only),
            CatalogKind::Age => catalog.take_ages(&only),
            CatalogKind::Machine => catalog.take_machines(&only),
            CatalogKind::Study => {
                // Read before cloning the catalog: most fuzzer inputs are invalid, and cloning is
                // expensive.
                let study = StudyText {
                    file: file.to_owned(),
                    text: text.to_owned(),
                    figures: figures.map(|(file, text)| (file.to_owned(), text.to_owned())),
                };
                study_file::read(&study, self)?;
                catalog = Self { studies: BTreeMap::new(), ..self.clone() };
                catalog.take_studies(&[study])
            }
        }?;
        Ok(catalog)
    }

    /// Adds the files of a user directory. An entry replaces an existing entry of the same name.
    ///
    /// Reads `DIR/filesystems/*.toml`, `DIR/layers/*.toml`, `DIR/suites/*.toml`, `DIR/uses/*.toml`, `DIR/disks/*.toml`,
    /// `DIR/ages/*.toml`, `DIR/machines/*.toml`, `DIR/studies/*.toml` and
    /// `DIR/studies/*/study.toml`, the last with the `figures.csv` in the same directory. If none
    /// of these exists, the files of the directory itself are read as filesystems. If any file is
    /// invalid, the catalog is unchanged.
    ///
    /// # Errors
    /// Returns an error if the directory contains no catalog files, or if a file cannot be read or
    /// is invalid.
    pub fn overlay(&mut self, directory: &Path) -> Result<(), CatalogError> {
        let below = |name: &str| {
            let path = directory.join(name);
            path.is_dir().then(|| read_directory(&path)).transpose()
        };
        let found = [
            below("filesystems")?,
            below("layers")?,
            below("suites")?,
            below("uses")?,
            below("disks")?,
            below("ages")?,
            below("machines")?,
        ];
        let studies = directory.join("studies");
        let studies = studies.is_dir().then(|| read_studies(&studies)).transpose()?;
        let files = if found.iter().all(Option::is_none) && studies.is_none() {
            CatalogFiles { filesystems: read_directory(directory)?, ..CatalogFiles::default() }
        } else {
            let [filesystems, layers, suites, uses, disks, ages, machines] =
                found.map(Option::unwrap_or_default);
            CatalogFiles {
                filesystems,
                layers,
                suites,
                uses,
                disks,
                ages,
                machines,
                studies: studies.unwrap_or_default(),
            }
        };
        let CatalogFiles { filesystems, layers, suites, uses, disks, ages, machines, studies } =
            &files;
        let others = [filesystems, layers, suites, uses, disks, ages, machines];
        if others.iter().all(|f| f.is_empty()) && studies.is_empty() {
            return Err(CatalogError::NoCatalog { path: directory.to_owned() });
        }
        let mut changed = self.clone();
        changed.take(&files)?;
        *self = changed;
        Ok(())
    }

    /// Adds the entries of files. Names must be unique within each kind.
    fn take(&mut self, files: &CatalogFiles) -> Result<(), CatalogError> {
        self.take_filesystems(&files.filesystems)?;
        self.take_layers(&files.layers)?;
        self.take_suites(&files.suites)?;
        self.take_uses(&files.uses)?;
        self.take_disks(&files.disks)?;
        self.take_ages(&files.ages)?;
        self.take_machines(&files.machines)?;
        self.take_studies(&files.studies)
    }

    fn take_filesystems(&mut self, files: &[(String, String)]) -> Result<(), CatalogError> {
        let mut new = Entries::new();
        for (file, text) in files {
            let (filesystem, claims) = filesystem_file::read(TomlSource { file, text })?;
            add(&mut new, filesystem.name.clone(), filesystem, file, claims)?;
        }
        merge(&mut self.filesystems, new)
    }

    fn take_layers(&mut self, files: &[(String, String)]) -> Result<(), CatalogError> {
        let mut new = Entries::new();
        for (file, text) in files {
            let (layer, claims) = layer_file::read(TomlSource { file, text })?;
            add(&mut new, layer.name.clone(), layer, file, claims)?;
        }
        merge(&mut self.layers, new)
    }

    fn take_suites(&mut self, files: &[(String, String)]) -> Result<(), CatalogError> {
        let mut new = Entries::new();
        for (file, text) in files {
            let mut claims = NameRegistry::new();
            let mut read = |profile| {
                let scaling = self.defaults.profile(profile).scaling;
                let source = TomlSource { file, text };
                let (suite, more) = suite_file::read(source, profile, Some(scaling))?;
                // A larger profile may have more points of a sweep, each with its own name.
                claims.extend(more);
                Ok::<_, CatalogError>(suite)
            };
            let [smoke, quick, standard, study] = SizeProfile::SIZES.map(&mut read);
            let suite = [smoke?, quick?, standard?, study?];
            claims.sort();
            claims.dedup();
            let text = (file.clone(), text.clone());
            self.texts.insert(suite[0].name.clone(), text);
            add(&mut new, suite[0].name.clone(), suite, file, claims)?;
        }
        merge(&mut self.suites, new)
    }

    fn take_uses(&mut self, files: &[(String, String)]) -> Result<(), CatalogError> {
        let mut new = Entries::new();
        for (file, text) in files {
            let (value, claims) = uses_file::read(TomlSource { file, text })?;
            add(&mut new, value.name.clone(), value, file, claims)?;
        }
        merge(&mut self.uses, new)
    }

    fn take_disks(&mut self, files: &[(String, String)]) -> Result<(), CatalogError> {
        let mut new = Entries::new();
        for (file, text) in files {
            let (value, claims) = disk_file::read(TomlSource { file, text })?;
            add(&mut new, value.model.name.clone(), value, file, claims)?;
        }
        merge(&mut self.disks, new)
    }

    fn take_machines(&mut self, files: &[(String, String)]) -> Result<(), CatalogError> {
        let mut new = Entries::new();
        for (file, text) in files {
            let (value, claims) = machine_file::read(TomlSource { file, text })?;
            add(&mut new, value.name.clone(), value, file, claims)?;
        }
        merge(&mut self.machines, new)
    }

    fn take_ages(&mut self, files: &[(String, String)]) -> Result<(), CatalogError> {
        let mut new = Entries::new();
        for (file, text) in files {
            let (value, claims) = age_file::read(TomlSource { file, text })?;
            add(&mut new, value.name.clone(), value, file, claims)?;
        }
        merge(&mut self.ages, new)
    }

    /// Stores studies as text, because a study depends on suites that a later overlay may replace.
    fn take_studies(&mut self, files: &[StudyText]) -> Result<(), CatalogError> {
        let mut new = Entries::new();
        let mut names = Vec::new();
        for study in files {
            let name = study_file::name(study)?;
            let claims = vec![(name.clone(), 1)];
            names.push(name.clone());
            add(&mut new, name, study.clone(), &study.file, claims)?;
        }
        merge(&mut self.studies, new)?;
        names.iter().try_for_each(|name| self.study(name).map(drop))
    }

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
        let others = self.suites.values().map(|e| &e.value[position(profile.sizes())]);
        let default = self.defaults.suites(profile);
        all.extend(others.filter(|suite| !default.contains(&suite.name)));
        all
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
            Some(entry) => Ok(&entry.value[position(profile.sizes())]),
            None => {
                let known = self.suites.keys().map(String::as_str);
                // A part of the name of a test means this test.
                let holds = |test: &&model::Test| test.sweep_name().contains(name);
                let suites =
                    self.suites.values().map(|entry| &entry.value[position(profile.sizes())]);
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

    /// Finds a use case by name or title, in upper or lower case.
    ///
    /// # Errors
    /// Returns an error with the nearest names if no use case has this name.
    pub fn use_case(&self, name: &str) -> Result<&UseCase, CatalogError> {
        let known = self.uses.keys().map(String::as_str);
        let named = self.uses.get(name).map(|entry| &entry.value);
        let is_meant = |one: &&UseCase| {
            one.name.eq_ignore_ascii_case(name) || one.title.eq_ignore_ascii_case(name)
        };
        named
            .or_else(|| self.uses.values().map(|entry| &entry.value).find(is_meant))
            .ok_or_else(|| CatalogError::unknown("use", name, known))
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
        let known = self.texts.keys().map(String::as_str);
        let found = self.texts.get(name);
        let (file, text) = found.ok_or_else(|| CatalogError::unknown("suite", name, known))?;
        Ok((file.as_str(), text.as_str()))
    }

    /// Returns the default settings of a profile.
    pub fn profile(&self, profile: SizeProfile) -> ProfileDefaults {
        self.defaults.profile(profile)
    }
}

/// Adds an entry to the entries of one directory. Rejects duplicate names.
fn add<T>(
    new: &mut Entries<T>,
    name: String,
    value: T,
    file: &str,
    claims: NameRegistry,
) -> Result<(), CatalogError> {
    if let Some(other) = new.get(&name) {
        return Err(CatalogError::InFile {
            file: file.to_owned(),
            line: 1,
            message: format!("`{name}` is described in {} already", other.file),
        });
    }
    let entry = CatalogEntry { file: file.to_owned(), value, claims };
    new.insert(name, entry);
    Ok(())
}

/// Merges new entries and replaces entries of the same name. A name or alias must not belong to two
/// entries.
fn merge<T>(entries: &mut Entries<T>, new: Entries<T>) -> Result<(), CatalogError> {
    let added: Vec<String> = new.keys().cloned().collect();
    entries.extend(new);
    for name in &added {
        let entry = &entries[name];
        for (claim, line) in &entry.claims {
            let claims = |e: &CatalogEntry<T>| e.claims.iter().filter(|(c, _)| c == claim).count();
            let own = claims(entry);
            let owner = entries.iter().find(|(n, e)| *n != name && claims(e) > 0);
            if own > 1 || owner.is_some() {
                let owner = owner.map_or(name, |(n, _)| n);
                return Err(CatalogError::InFile {
                    file: entry.file.clone(),
                    line: *line,
                    message: format!("the name `{claim}` belongs to `{owner}` already"),
                });
            }
        }
    }
    Ok(())
}

/// Returns the built-in studies. Each has its own directory.
fn builtin_studies() -> Vec<StudyText> {
    let studies = BUILTIN.get_dir("studies").into_iter().flat_map(Dir::dirs);
    let read = |study: &Dir<'_>| {
        let file = |name: &str| {
            let file = study.get_file(study.path().join(name))?;
            Some((builtin_name(file.path()), file.contents_utf8()?.to_owned()))
        };
        let (name, text) = file("study.toml")?;
        Some(StudyText { file: name, text, figures: file("figures.csv") })
    };
    studies.filter_map(read).collect()
}

/// Reads the studies of a directory: single files, which contain only a campaign, and directories
/// with `study.toml` and `figures.csv`.
fn read_studies(directory: &Path) -> Result<Vec<StudyText>, CatalogError> {
    let files = read_directory(directory)?.into_iter();
    let mut studies: Vec<StudyText> =
        files.map(|(file, text)| StudyText { file, text, figures: None }).collect();
    for path in entries(directory)?.into_iter().filter(|path| path.is_dir()) {
        let (file, figures) = (path.join("study.toml"), path.join("figures.csv"));
        studies.push(StudyText {
            text: read_regular_file(&file)?,
            file: file.display().to_string(),
            figures: Some((figures.display().to_string(), read_regular_file(&figures)?)),
        });
    }
    Ok(studies)
}

fn builtin_name(path: &Path) -> String {
    format!("catalog/{}", path.display())
}

/// Reads the `*.toml` files of a directory. Returns their names and texts, sorted by name.
fn read_directory(directory: &Path) -> Result<Vec<(String, String)>, CatalogError> {
    let paths = entries(directory)?.into_iter();
    paths
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .map(|path| {
            let text = read_regular_file(&path)?;
            Ok((path.display().to_string(), text))
        })
        .collect()
}

/// Returns the entries of a directory, sorted by name, without hidden files.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, CatalogError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |error| CatalogError::Unreadable { path, error }
    };
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(unreadable(directory))? {
        let path = entry.map_err(unreadable(directory))?.path();
        let name = path.file_name();
        if name.is_some_and(|name| !name.as_encoded_bytes().starts_with(b".")) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
