//! Reads one file of `uses/`: TOML → a validated [`UseCase`].

use model::{CategoryWeight, Feature, RequiredFeature, RequiredReaders, UseCase, WorkloadCategory};

use crate::CatalogError;
use crate::catalog::document::{NameRegistry, TomlSource, TomlTable};
use crate::catalog::filesystem_file::system;

const KEYS: [&str; 12] = [
    "name",
    "title",
    "also",
    "order",
    "source",
    "rationale",
    "readers",
    "relevant",
    "crash_recovery",
    "snapshots",
    "need",
    "weight",
];
const READERS: [&str; 2] = ["one_of", "why"];
const NEED: [&str; 2] = ["feature", "why"];
const WEIGHT: [&str; 3] = ["group", "parts", "why"];

/// Reads a use case and its name.
pub(crate) fn read(source: TomlSource<'_>) -> Result<(UseCase, NameRegistry), CatalogError> {
    let document = source.parse()?;
    let top = TomlTable::top(source, &document, &KEYS)?;
    let name = top.required("name")?;
    let mut claims = vec![(name.name()?, name.line())];
    // Answers name a use by its title, and `advise --use` finds it by either.
    let title = top.required("title")?;
    let spoken = title.text()?.to_lowercase();
    if spoken != claims[0].0 {
        claims.push((spoken, title.line()));
    }
    let read = UseCase {
        name: name.name()?,
        title: title.text()?,
        also: top.texts("also")?,
        order: top.read("order", |v| v.count(1..=1000))?,
        source: top.text("source")?,
        rationale: top.text("rationale")?,
        readers: readers(&top)?,
        relevant: top.read("relevant", |v| v.percentage())?,
        crash_recovery: top.read("crash_recovery", |v| v.text())?,
        snapshots: top.read("snapshots", |v| v.text())?,
        needs: needs(&top)?,
        weights: weights(&top)?,
    };
    Ok((read, claims))
}

/// Reads the list of systems and the reason; at least one of them must support the filesystem.
/// Returns `None` if the file has no list.
fn readers(top: &TomlTable<'_>) -> Result<Option<RequiredReaders>, CatalogError> {
    let Some(value) = top.get("readers")? else {
        return Ok(None);
    };
    let table = value.table(&READERS)?;
    let one_of = table.required("one_of")?;
    let systems = one_of.list("systems")?;
    if systems.is_empty() {
        return Err(one_of.expected_error("at least one system"));
    }
    Ok(Some(RequiredReaders {
        one_of: systems.iter().map(system).collect::<Result<_, _>>()?,
        rationale: table.text("why")?,
    }))
}

fn needs(top: &TomlTable<'_>) -> Result<Vec<RequiredFeature>, CatalogError> {
    let Some(value) = top.get("need")? else {
        return Ok(Vec::new());
    };
    let mut needs: Vec<RequiredFeature> = Vec::new();
    for value in value.list("features, each under [[need]]")? {
        let table = value.table(&NEED)?;
        let feature = table.required("feature")?.one_of(&Feature::WORDS)?;
        if needs.iter().any(|need| need.feature == feature) {
            return Err(table.error(format!("`{feature}` is needed twice")));
        }
        let why = table.text("why")?;
        needs.push(RequiredFeature { feature, rationale: why });
    }
    Ok(needs)
}

fn weights(top: &TomlTable<'_>) -> Result<Vec<CategoryWeight>, CatalogError> {
    let value = top.required("weight")?;
    let mut weights: Vec<CategoryWeight> = Vec::new();
    for value in value.list("groups of tests, each under [[weight]]")? {
        let table = value.table(&WEIGHT)?;
        let group = table.required("group")?.one_of(&WorkloadCategory::WORDS)?;
        if weights.iter().any(|w| w.group == group) {
            return Err(table.error(format!("`{group}` has two weights")));
        }
        weights.push(CategoryWeight {
            group,
            weight: f64::from(table.required("parts")?.count(1..=1000_u32)?),
            rationale: table.text("why")?,
        });
    }
    if weights.is_empty() {
        return Err(value.expected_error("at least one group"));
    }
    Ok(weights)
}

/// Returns every key of a use file.
#[cfg(test)]
pub(crate) fn all_keys() -> impl Iterator<Item = &'static str> {
    KEYS.into_iter().chain(READERS).chain(NEED).chain(WEIGHT)
}
