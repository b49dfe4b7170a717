//! One file of `uses/`: raw TOML → a checked [`Use`].

use model::{Feature, Group, Need, Readers, Use, Weight};

use crate::CatalogError;
use crate::document::{Claims, Source, Table};
use crate::filesystem_file::system;

const KEYS: [&str; 9] = [
    "name",
    "title",
    "order",
    "source",
    "rationale",
    "readers",
    "relevant",
    "need",
    "weight",
];
const READERS: [&str; 2] = ["one_of", "why"];
const NEED: [&str; 2] = ["feature", "why"];
const WEIGHT: [&str; 3] = ["group", "parts", "why"];

/// Reads one use; it claims its name.
pub(crate) fn read(source: Source<'_>) -> Result<(Use, Claims), CatalogError> {
    let document = source.parse()?;
    let top = Table::top(source, &document, &KEYS)?;
    let name = top.need("name")?;
    let claims = vec![(name.name()?, name.line())];
    let read = Use {
        name: name.name()?,
        title: top.text("title")?,
        order: top
            .read("order", |v| v.count(1..1001))?
            .and_then(|order| u32::try_from(order).ok()),
        source: top.text("source")?,
        rationale: top.text("rationale")?,
        readers: readers(&top)?,
        relevant: top.read("relevant", |v| v.percentage())?,
        needs: needs(&top)?,
        weights: weights(&top)?,
    };
    Ok((read, claims))
}

/// The systems of which one must read it, and why; none where the file does not say.
fn readers(top: &Table<'_>) -> Result<Option<Readers>, CatalogError> {
    let Some(value) = top.get("readers")? else {
        return Ok(None);
    };
    let table = value.table(&READERS)?;
    let one_of = table.need("one_of")?;
    let systems = one_of.list("systems")?;
    if systems.is_empty() {
        return Err(one_of.wrong("at least one system"));
    }
    Ok(Some(Readers {
        one_of: systems.iter().map(system).collect::<Result<_, _>>()?,
        why: table.text("why")?,
    }))
}

fn needs(top: &Table<'_>) -> Result<Vec<Need>, CatalogError> {
    let words = Feature::ALL.map(|feature| (feature.name(), feature));
    let Some(value) = top.get("need")? else {
        return Ok(Vec::new());
    };
    let mut needs: Vec<Need> = Vec::new();
    for value in value.list("features, each under [[need]]")? {
        let table = value.table(&NEED)?;
        let feature = table.need("feature")?.word(&words)?;
        if needs.iter().any(|need| need.feature == feature) {
            return Err(table.error(format!("`{feature}` is needed twice")));
        }
        let why = table.text("why")?;
        needs.push(Need { feature, why });
    }
    Ok(needs)
}

fn weights(top: &Table<'_>) -> Result<Vec<Weight>, CatalogError> {
    let value = top.need("weight")?;
    let mut weights: Vec<Weight> = Vec::new();
    for value in value.list("groups of tests, each under [[weight]]")? {
        let table = value.table(&WEIGHT)?;
        let group = table.need("group")?.word(&Group::WORDS)?;
        if weights.iter().any(|w| w.group == group) {
            return Err(table.error(format!("`{group}` has two weights")));
        }
        let parts = u32::try_from(table.need("parts")?.count(1..1001)?).unwrap_or(1000);
        weights.push(Weight {
            group,
            weight: f64::from(parts),
            why: table.text("why")?,
        });
    }
    if weights.is_empty() {
        return Err(value.wrong("at least one group"));
    }
    Ok(weights)
}

/// Every key that such a file may hold.
#[cfg(test)]
pub(crate) fn all_keys() -> impl Iterator<Item = &'static str> {
    KEYS.into_iter().chain(READERS).chain(NEED).chain(WEIGHT)
}
