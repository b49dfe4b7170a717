//! `defaults.toml`: how large and how often each profile is, and which suites run when none is named.

use model::{Bytes, Campaign, Profile, Scaling};

use crate::CatalogError;
use crate::document::{Source, Table, Value};
use crate::study_file::Study;

/// What a profile sets where the user does not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProfileDefaults {
    /// Size of the image: room for the largest test of the profile, and for what a filesystem takes.
    pub size: Bytes,
    /// How often each test is repeated.
    pub rounds: u32,
    /// Memory of a cell; all of it where absent.
    pub memory: Option<Bytes>,
    /// When a phase is repeated because it ended too soon.
    pub scaling: Scaling,
}

impl ProfileDefaults {
    /// The same with what a study states.
    #[must_use]
    pub fn of_study(self, study: Option<&Study>) -> Self {
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

/// The whole file.
#[derive(Clone, Debug)]
pub(crate) struct Defaults {
    /// Suites that run when none is named, in their order.
    pub suites: Vec<String>,
    profiles: [ProfileDefaults; 4],
}

impl Defaults {
    /// Reads the file.
    pub fn read(source: Source<'_>) -> Result<Self, CatalogError> {
        let document = source.parse()?;
        let top = Table::top(source, &document, &["suites", "profile"])?;
        let suites = top.need("suites")?.list("names")?;
        let profiles = top
            .need("profile")?
            .table(&Profile::ALL.map(Profile::name))?;
        let [smoke, quick, standard, study] = Profile::ALL.map(|p| read_profile(&profiles, p));
        Ok(Self {
            suites: suites.iter().map(Value::name).collect::<Result<_, _>>()?,
            profiles: [smoke?, quick?, standard?, study?],
        })
    }

    /// What a profile sets.
    pub fn profile(&self, profile: Profile) -> ProfileDefaults {
        self.profiles[position(profile)]
    }
}

/// The place of a profile among all.
pub(crate) fn position(profile: Profile) -> usize {
    Profile::ALL
        .iter()
        .position(|p| *p == profile)
        .expect("every profile is one of all")
}

fn read_profile(profiles: &Table<'_>, profile: Profile) -> Result<ProfileDefaults, CatalogError> {
    let keys = ["size", "rounds", "scaling"];
    let table = profiles.need(profile.name())?.table(&keys)?;
    Ok(ProfileDefaults {
        size: table.need("size")?.size()?,
        rounds: rounds(&table.need("rounds")?)?,
        memory: None,
        scaling: scaling(&table.need("scaling")?)?,
    })
}

fn scaling(value: &Value<'_>) -> Result<Scaling, CatalogError> {
    let table = value.table(&["at_least", "width", "passes", "limit"])?;
    let time = |key| {
        let value = table.need(key)?;
        value.time_limit()?.ok_or_else(|| value.wrong("a time"))
    };
    let passes = table.need("passes")?.count(1..10_001)?;
    Ok(Scaling {
        at_least: time("at_least")?,
        width: table.need("width")?.share()?,
        passes: u32::try_from(passes).unwrap_or(1),
        limit: time("limit")?,
    })
}

/// A number of rounds.
pub(crate) fn rounds(value: &Value<'_>) -> Result<u32, CatalogError> {
    let rounds = value.count(1..u64::from(Campaign::MOST_ROUNDS) + 1)?;
    Ok(u32::try_from(rounds).unwrap_or(1))
}
