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
    profiles: [ProfileDefaults; 4],
}

impl Defaults {
    /// Reads the file.
    pub fn read(source: TomlSource<'_>) -> Result<Self, CatalogError> {
        let document = source.parse()?;
        let top = TomlTable::top(source, &document, &["suites", "profile"])?;
        let suites = top.required("suites")?.list("names")?;
        let profiles = top.required("profile")?.table(&SizeProfile::ALL.map(SizeProfile::name))?;
        let [smoke, quick, standard, study] = SizeProfile::ALL.map(|p| read_profile(&profiles, p));
        Ok(Self {
            suites: suites.iter().map(TomlValue::name).collect::<Result<_, _>>()?,
            profiles: [smoke?, quick?, standard?, study?],
        })
    }

    /// Returns the defaults of a profile.
    pub fn profile(&self, profile: SizeProfile) -> ProfileDefaults {
        self.profiles[position(profile)]
    }
}

/// Returns the index of a profile in [`SizeProfile::ALL`].
pub(crate) fn position(profile: SizeProfile) -> usize {
    SizeProfile::ALL.iter().position(|p| *p == profile).expect("every profile is one of all")
}

fn read_profile(
    profiles: &TomlTable<'_>,
    profile: SizeProfile,
) -> Result<ProfileDefaults, CatalogError> {
    let keys = ["size", "rounds", "scaling"];
    let table = profiles.required(profile.name())?.table(&keys)?;
    Ok(ProfileDefaults {
        size: table.required("size")?.size()?,
        rounds: table.required("rounds")?.count(1..=Campaign::MAX_ROUNDS)?,
        memory: None,
        scaling: scaling(&table.required("scaling")?)?,
    })
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
