//! Loads the catalog: built-in files, and files of a user that add or override entries.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use include_dir::{Dir, include_dir};
use model::{PEERS, RECORDING, SizeProfile, Suite};

use crate::CatalogError;
use crate::catalog::defaults_file::Defaults;
use crate::catalog::document::{NameRegistry, TomlSource};
use crate::catalog::{
    Catalog, CatalogEntry, CatalogKind, Entries, SuiteSizes, age_file, disk_file, filesystem_file,
    kernels_file, layer_file, machine_file, uses_file, virtual_time_file,
};
use crate::study::study_file::{self, StudyText};
use crate::suite::suite_file;
use crate::text_file::read_regular_file;

static BUILTIN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../catalog");

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
            suites: Vec::new(),
            uses: read("uses"),
            disks: read("disks"),
            ages: read("ages"),
            machines: read("machines"),
            studies: Vec::new(),
        })?;
        // Suites and studies are three quarters of the catalog, and a command needs few of them.
        catalog.suites.extend(read("suites").into_iter().map(|(file, text)| {
            let name = Path::new(&file).file_stem().unwrap_or_default();
            let value = SuiteSizes { text, sizes: Default::default() };
            let entry = CatalogEntry { value, claims: Vec::new(), file: file.clone() };
            (name.to_string_lossy().into_owned(), entry)
        }));
        catalog.studies.extend(builtin_studies().into_iter().map(|(name, study)| {
            let claims = vec![(name.clone(), 1)];
            let entry = CatalogEntry { file: study.file.clone(), value: study, claims };
            (name, entry)
        }));
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
            CatalogKind::Filesystem => {
                take(&mut catalog.filesystems, &only, filesystem_file::read, |it| &it.name)
            }
            CatalogKind::Layer => take(&mut catalog.layers, &only, layer_file::read, |it| &it.name),
            CatalogKind::Suite => catalog.take_suites(&only),
            CatalogKind::Use => take(&mut catalog.uses, &only, uses_file::read, |it| &it.name),
            CatalogKind::Disk => {
                take(&mut catalog.disks, &only, disk_file::read, |it| &it.model.name)
            }
            CatalogKind::Age => take(&mut catalog.ages, &only, age_file::read, |it| &it.name),
            CatalogKind::Machine => {
                take(&mut catalog.machines, &only, machine_file::read, |it| &it.name)
            }
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
        take(&mut self.filesystems, &files.filesystems, filesystem_file::read, |it| &it.name)?;
        take(&mut self.layers, &files.layers, layer_file::read, |it| &it.name)?;
        self.check_filesystems_of_layers()?;
        self.take_suites(&files.suites)?;
        take(&mut self.uses, &files.uses, uses_file::read, |it| &it.name)?;
        take(&mut self.disks, &files.disks, disk_file::read, |it| &it.model.name)?;
        take(&mut self.ages, &files.ages, age_file::read, |it| &it.name)?;
        take(&mut self.machines, &files.machines, machine_file::read, |it| &it.name)?;
        self.take_studies(&files.studies)
    }

    fn check_filesystems_of_layers(&self) -> Result<(), CatalogError> {
        for layer in self.layers.values() {
            let mut names = layer.value.filesystems.keys();
            if let Some(name) = names.find(|name| !self.filesystems.contains_key(*name)) {
                let known = self.filesystems.keys().map(String::as_str);
                let error = CatalogError::unknown("filesystem", name, known);
                return Err(CatalogError::InFile {
                    file: layer.file.clone(),
                    line: 1,
                    message: format!("[filesystems]: {error}"),
                });
            }
        }
        Ok(())
    }

    fn take_suites(&mut self, files: &[(String, String)]) -> Result<(), CatalogError> {
        if files.is_empty() {
            return Ok(());
        }
        let mut new = Entries::new();
        for (file, text) in files {
            let (sizes, claims) = self.read_suite_sizes(file, text)?;
            let name = sizes[0].name.clone();
            if [RECORDING, PEERS].contains(&&*name) {
                let message = format!("the name `{name}` is reserved; choose another name");
                return Err(CatalogError::InFile { file: file.clone(), line: 1, message });
            }
            let value = SuiteSizes { text: text.clone(), sizes: sizes.map(OnceLock::from) };
            add(&mut new, name, value, file, claims)?;
        }
        let mut entries = std::mem::take(&mut self.suites);
        for entry in entries.values_mut().filter(|entry| entry.claims.is_empty()) {
            (_, entry.claims) = self.read_suite_sizes(&entry.file, &entry.value.text)?;
        }
        self.suites = entries;
        merge(&mut self.suites, new)
    }

    /// Reads a suite for every profile, in the order of [`SizeProfile::SIZES`], and the names in it.
    fn read_suite_sizes(
        &self,
        file: &str,
        text: &str,
    ) -> Result<([Suite; 4], NameRegistry), CatalogError> {
        let mut claims = NameRegistry::new();
        let mut read = |profile| {
            let (suite, more) = self.read_suite(file, text, profile)?;
            // A larger profile may have more points of a sweep, each with its own name.
            claims.extend(more);
            Ok::<_, CatalogError>(suite)
        };
        let [smoke, quick, standard, study] = SizeProfile::SIZES.map(&mut read);
        let sizes = [smoke?, quick?, standard?, study?];
        claims.sort();
        claims.dedup();
        Ok((sizes, claims))
    }

    pub(super) fn read_suite(
        &self,
        file: &str,
        text: &str,
        profile: SizeProfile,
    ) -> Result<(Suite, NameRegistry), CatalogError> {
        let scaling = self.defaults.profile(profile).scaling;
        suite_file::read(TomlSource { file, text }, profile, Some(scaling))
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
}

/// Reads the entries of files of one kind and adds them.
fn take<T>(
    entries: &mut Entries<T>,
    files: &[(String, String)],
    read: fn(TomlSource<'_>) -> Result<(T, NameRegistry), CatalogError>,
    name: fn(&T) -> &String,
) -> Result<(), CatalogError> {
    let mut new = Entries::new();
    for (file, text) in files {
        let (value, claims) = read(TomlSource { file, text })?;
        add(&mut new, name(&value).clone(), value, file, claims)?;
    }
    merge(entries, new)
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

/// Returns the built-in studies by name. Each has its own directory.
fn builtin_studies() -> Vec<(String, StudyText)> {
    let studies = BUILTIN.get_dir("studies").into_iter().flat_map(Dir::dirs);
    let read = |study: &Dir<'_>| {
        let file = |name: &str| {
            let file = study.get_file(study.path().join(name))?;
            Some((builtin_name(file.path()), file.contents_utf8()?.to_owned()))
        };
        let directory = study.path().file_name()?.to_string_lossy().into_owned();
        let (name, text) = file("study.toml")?;
        Some((directory, StudyText { file: name, text, figures: file("figures.csv") }))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_suites_and_studies_are_valid_and_their_names_are_unique() {
        let catalog = Catalog::builtin().unwrap();
        let mut owners = BTreeMap::new();
        for (name, entry) in &catalog.suites {
            let (sizes, claims) = catalog.read_suite_sizes(&entry.file, &entry.value.text).unwrap();
            assert!(sizes.iter().all(|suite| suite.name == *name), "{}", entry.file);
            for (claim, _) in claims {
                assert_eq!(owners.insert(claim.clone(), name), None, "{name}: {claim}");
            }
        }
        for (name, entry) in &catalog.studies {
            assert_eq!(study_file::name(&entry.value).unwrap(), *name);
            assert!(catalog.study(name).is_ok(), "{name}");
        }
    }
}
