//! `defaults.toml`: size and number of rounds of each profile, and the default suites.

use model::{Bytes, Campaign, IterationPolicy, SizeProfile};

use crate::CatalogError;
use crate::catalog::document::{TomlSource, TomlTable, TomlValue};
use crate::study::study_file::StudySource;

/// The default settings of a profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProfileDefaults {
    /// Size of the image: room for the largest test of the profile and for filesystem overhead.
    pub size: Bytes,
    /// Number of rounds.
    pub rounds: u32,
    /// Memory of a cell; unlimited if absent.
    pub memory: Option<Bytes>,
    /// Rule for repeating a phase that ends too soon.
    pub scaling: IterationPolicy,
}

impl ProfileDefaults {
    /// Returns these defaults, overridden by the settings of a study.
    #[must_use]
    pub fn with_study(self, study: Option<&StudySource>) -> Self {
        match study {
            Some(study) => Self {
                size: study.size,
                rounds: study.rounds.unwrap_or(self.rounds),
                memory: study.memory,
                ..self
            },
            None => self,
        }
    }
}

/// The contents of `defaults.toml`.
#[derive(Clone, Debug)]
pub(crate) struct Defaults {
    /// Suites that run if the user names none, in their order.
    pub suites: Vec<String>,
    profiles: [(ProfileDefaults, Vec<String>); 5],
}

impl Defaults {
    /// Reads the file.
    pub fn read(source: TomlSource<'_>) -> Result<Self, CatalogError> {
        let document = source.parse()?;
        let top = TomlTable::top(source, &document, &["suites", "profile"])?;
        let profiles = top.required("profile")?.table(&SizeProfile::ALL.map(SizeProfile::name))?;
        let [smoke, quick, standard, study, soak] =
            SizeProfile::ALL.map(|profile| read_profile(&profiles, profile));
        Ok(Self {
            suites: names(&top.required("suites")?)?,
            profiles: [smoke?, quick?, standard?, study?, soak?],
        })
    }

    /// Returns the names of the default suites of a profile.
    pub fn suites(&self, profile: SizeProfile) -> &[String] {
        match &self.profiles[position(profile)] {
            (_, own) if !own.is_empty() => own,
            _ => &self.suites,
        }
    }

    /// Returns the defaults of a profile.
    pub fn profile(&self, profile: SizeProfile) -> ProfileDefaults {
        self.profiles[position(profile)].0
    }
}

/// Returns the index of a profile in [`SizeProfile::ALL`], whose first four are
/// [`SizeProfile::SIZES`].
pub(crate) fn position(profile: SizeProfile) -> usize {
    SizeProfile::ALL.iter().position(|p| *p == profile).expect("every profile is one of all")
}

fn read_profile(
    profiles: &TomlTable<'_>,
    profile: SizeProfile,
) -> Result<(ProfileDefaults, Vec<String>), CatalogError> {
    let keys = ["suites", "size", "rounds", "scaling"];
    let table = profiles.required(profile.name())?.table(&keys)?;
    let suites = table.read("suites", |v| names(&v))?.unwrap_or_default();
    let defaults = ProfileDefaults {
        size: table.required("size")?.size()?,
        rounds: table.required("rounds")?.count(1..=Campaign::MAX_ROUNDS)?,
        memory: None,
        scaling: scaling(&table.required("scaling")?)?,
    };
    Ok((defaults, suites))
}

fn names(value: &TomlValue<'_>) -> Result<Vec<String>, CatalogError> {
    value.list("names")?.iter().map(TomlValue::name).collect()
}

fn scaling(value: &TomlValue<'_>) -> Result<IterationPolicy, CatalogError> {
    let table = value.table(&["at_least", "width", "passes", "limit"])?;
    let time = |key| {
        let value = table.required(key)?;
        value.time_limit()?.ok_or_else(|| value.expected_error("a time"))
    };
    Ok(IterationPolicy {
        at_least: time("at_least")?,
        width: table.required("width")?.share()?,
        passes: table.required("passes")?.count(1..=10_000)?,
        limit: time("limit")?,
    })
}
