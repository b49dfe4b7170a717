//! Loads published comparisons, with their figures and claims, by name.

use config::Catalog;
use studies::Study;

use crate::args::cli::GlobalArgs;
use crate::output::exit::UsageError;
use crate::paths;

/// Loads all studies that have figures, by name.
pub fn all(globals: &GlobalArgs) -> anyhow::Result<Vec<Study>> {
    load_all(&paths::catalog(globals)?.studies()?)
}

/// Returns the studies that have figures.
pub fn load_all(studies: &[config::StudySource]) -> anyhow::Result<Vec<Study>> {
    let read = studies.iter().filter_map(|study| Study::read(study).transpose());
    Ok(read.collect::<Result<_, _>>()?)
}

/// Loads the study with a name.
pub fn study(name: &str, globals: &GlobalArgs) -> anyhow::Result<Study> {
    load_from(name, &paths::catalog(globals)?)
}

/// Returns a study of a loaded catalog. The error for an unknown name lists all studies.
pub fn load_from(name: &str, catalog: &Catalog) -> anyhow::Result<Study> {
    let studies = catalog.studies()?;
    let Some(study) = studies.iter().find(|study| study.name == name) else {
        let names: Vec<&str> = studies.iter().map(|study| study.name.as_str()).collect();
        let text = format!("there is no study `{name}`: there are {}", names.join(", "));
        return Err(UsageError(text).into());
    };
    let published = Study::read(study)?;
    Ok(published.ok_or_else(|| {
        UsageError(format!(
            "the study `{name}` has no figures: add figures.csv to the directory of its study.toml"
        ))
    })?)
}
