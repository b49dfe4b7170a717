//! One file of `studies/`: a published comparison as a campaign in its original sizes, and its
//! published results.

use std::collections::BTreeSet;

use model::{Bytes, Campaign, ContenderGroup, SizeProfile, Suite, Test};

use crate::catalog::document::{TomlSource, TomlTable, TomlValue};
use crate::study::publication::{self, NamedEntry, Publication};
use crate::suite::parameters::StudyOverrides;
use crate::suite::suite_file;
use crate::{Catalog, CatalogError};

const KEYS: [&str; 13] = [
    "name",
    "title",
    "source",
    "rationale",
    "contenders",
    "contender_groups",
    "suites",
    "tests",
    "size",
    "memory",
    "rounds",
    "machine",
    "parameters",
];

/// A published comparison as a campaign: profile `study`, overridden by the sizes of the
/// publication.
#[derive(Clone, Debug, PartialEq)]
pub struct StudySource {
    /// Name of the study.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Reference to the publication.
    pub source: String,
    /// Explains which part is run, which part is omitted, and which sizes the publication does not
    /// state.
    pub rationale: String,
    /// Catalog names of the compared filesystems.
    pub contenders: Vec<String>,
    /// Groups of these filesystems that the publication compared, for reports.
    pub contender_groups: Vec<ContenderGroup>,
    /// The tests, by suite.
    pub suites: Vec<Suite>,
    /// Size of the volume.
    pub size: Bytes,
    /// Memory of the test machine, if the publication states it.
    pub memory: Option<Bytes>,
    /// Number of runs of each test, if the publication states it.
    pub rounds: Option<u32>,
    /// Catalog machine similar to the test machine, for guests in virtual time.
    pub machine: Option<String>,
    /// The published figures and claims. `None` if the study is only a campaign.
    pub published: Option<Publication>,
}

/// The unparsed files of a study.
#[derive(Clone, Debug)]
pub(crate) struct StudyText {
    /// The name of the TOML file, for errors.
    pub file: String,
    /// Its TOML.
    pub text: String,
    /// Name and text of `figures.csv`, if the study is a directory.
    pub figures: Option<(String, String)>,
}

impl StudyText {
    fn source(&self) -> TomlSource<'_> {
        TomlSource { file: &self.file, text: &self.text }
    }

    /// Returns the valid keys of the TOML. Only a study with figures may have claims.
    fn keys(&self) -> Vec<&'static str> {
        let published = self.figures.iter().flat_map(|_| publication::KEYS);
        KEYS.into_iter().chain(published).collect()
    }
}

/// Reads only the name of a study.
pub(crate) fn name(study: &StudyText) -> Result<String, CatalogError> {
    let document = study.source().parse()?;
    TomlTable::top(study.source(), &document, &study.keys())?.required("name")?.name()
}

/// Reads a study. Its suites are looked up in the catalog.
pub(crate) fn read(text: &StudyText, catalog: &Catalog) -> Result<StudySource, CatalogError> {
    let document = text.source().parse()?;
    let top = TomlTable::top(text.source(), &document, &text.keys())?;
    let figures = text.figures.as_ref();
    let published = figures.map(|(file, figures)| {
        publication::read(&top, &text.file, (file.as_str(), figures.as_str()))
    });
    let contenders = contenders(&top, catalog)?;
    let study = StudySource {
        name: top.required("name")?.name()?,
        title: top.text("title")?,
        source: top.text("source")?,
        rationale: top.text("rationale")?,
        contender_groups: contender_groups(&top, &contenders)?,
        contenders,
        suites: suites(&top, catalog)?,
        size: top.required("size")?.size()?,
        memory: top.read("memory", |v| v.size())?,
        rounds: top.read("rounds", |v| v.count(1..=Campaign::MAX_ROUNDS))?,
        machine: top.read("machine", |v| machine(&v, catalog))?,
        published: published.transpose()?,
    };
    for test in study.suites.iter().flat_map(|suite| &suite.tests) {
        if test.space > study.size {
            return Err(top.required("size")?.expected_error(&format!(
                "at least {}, which the test `{}` needs",
                test.space, test.name
            )));
        }
    }
    Ok(study)
}

fn machine(value: &TomlValue<'_>, catalog: &Catalog) -> Result<String, CatalogError> {
    let name = value.name()?;
    match catalog.machine(&name) {
        Ok(_) => Ok(name),
        Err(error) => Err(value.error(error.to_string())),
    }
}

fn contenders(top: &TomlTable<'_>, catalog: &Catalog) -> Result<Vec<String>, CatalogError> {
    let known = |value: &TomlValue<'_>| -> Result<String, CatalogError> {
        let filesystem = catalog.filesystem(&value.text()?);
        let filesystem = filesystem.map_err(|e| value.error(e.to_string()))?;
        Ok(filesystem.name.clone())
    };
    let listed = top.required("contenders")?.list("filesystems")?;
    listed.iter().map(known).collect()
}

fn contender_groups(
    top: &TomlTable<'_>,
    contenders: &[String],
) -> Result<Vec<ContenderGroup>, CatalogError> {
    let members = |value: TomlValue<'_>| {
        let members = value.texts()?;
        match members.iter().find(|member| !contenders.contains(member)) {
            None => Ok(members),
            Some(other) => {
                Err(value.error(format!("`{other}` is not in the `contenders` of the study")))
            }
        }
    };
    let groups = publication::named(top, "contender_groups", members)?.into_iter();
    let group = |of: NamedEntry<_>| ContenderGroup { name: of.name.text, members: of.means };
    Ok(groups.map(group).collect())
}

/// Reads the suites with the parameters of the study. Keeps only the tests that the study contains.
fn suites(top: &TomlTable<'_>, catalog: &Catalog) -> Result<Vec<Suite>, CatalogError> {
    let own = top.read("parameters", |v| v.any_table())?;
    let mut instead = StudyOverrides::new();
    for (test, value) in own.iter().flat_map(TomlTable::entries) {
        instead.insert(test, value.any_table()?);
    }
    let mut suites = Vec::new();
    let mut files = Vec::new();
    for value in top.required("suites")?.list("suites")? {
        let (file, text) =
            catalog.suite_text(&value.name()?).map_err(|e| value.error(e.to_string()))?;
        files.push(file);
        let scaling = catalog.profile(SizeProfile::Study).scaling;
        let source = TomlSource { file, text };
        let suite =
            suite_file::read_with_overrides(source, SizeProfile::Study, Some(scaling), &instead)?;
        suites.push(suite.0);
    }
    let tests = || suites.iter().flat_map(|suite: &Suite| &suite.tests);
    let known: BTreeSet<String> = tests().map(|test| called(test).to_owned()).collect();
    // A user may have replaced a suite of a built-in study.
    let lacks = |test: &str| {
        format!("the study's suites have no test `{test}`: it is in none of {}", files.join(", "))
    };
    for (test, value) in own.iter().flat_map(TomlTable::entries) {
        if !known.contains(test) {
            return Err(value.error(lacks(test)));
        }
    }
    if let Some(listed) = top.read("tests", |v| v.list("tests"))? {
        let mut wanted = BTreeSet::new();
        for value in listed {
            let test = value.name()?;
            if !known.contains(&test) {
                return Err(value.error(lacks(&test)));
            }
            wanted.insert(test);
        }
        for suite in &mut suites {
            suite.tests.retain(|test| wanted.contains(called(test)));
        }
    }
    suites.retain(|suite| !suite.tests.is_empty());
    match suites.is_empty() {
        true => Err(top.required("suites")?.expected_error("at least one suite with a test")),
        false => Ok(suites),
    }
}

/// Returns the name of a test in its suite file; for a point of a sweep, the name of the sweep.
fn called(test: &Test) -> &str {
    let sweep = test.sweep.as_ref();
    sweep.map_or(&test.name, |point| &point.sweep)
}

/// Returns every key of a study file.
#[cfg(test)]
pub(crate) fn all_keys() -> impl Iterator<Item = &'static str> {
    KEYS.into_iter().chain(publication::all_keys())
}
