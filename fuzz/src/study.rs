//! Published studies: claims in TOML and figures as CSV, in one input, separated by a line of
//! dashes.

use std::fs;
use std::path::Path;

use studies::Study;

use crate::property::is_one_line;
use crate::sample::CATALOG;

/// Separator of the two files in an input.
const BETWEEN: &str = "\n-----\n";

/// Parses two files of a study. Valid claims are evaluated and printed.
pub fn run(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else {
        return;
    };
    let (study, figures) = text.split_once(BETWEEN).unwrap_or((text, ""));
    let files = ("own\n/figures.csv", figures);
    let catalog = match CATALOG.from_study("own\n/study.toml", study, files) {
        Err(error) => return is_one_line(&error),
        Ok(catalog) => catalog,
    };
    for study in catalog.studies().expect("they were read once") {
        match Study::read(&study) {
            Err(error) => is_one_line(&error),
            Ok(None) => {}
            Ok(Some(study)) => {
                assert_eq!(study.evaluate_claims().len(), study.claims.len());
                study.inconsistencies();
                if let Some(reported) = study.reported(&catalog) {
                    reported.into_results("published").expect("names differ");
                }
            }
        }
    }
}

/// Returns the built-in studies.
pub fn seeds() -> Vec<Vec<u8>> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../catalog/studies"));
    let studies = fs::read_dir(root).into_iter().flatten().flatten();
    let mut studies: Vec<_> = studies.map(|study| study.path()).collect();
    studies.sort();
    let text = |path: &Path, name: &str| fs::read_to_string(path.join(name)).unwrap_or_default();
    let both = studies.iter().map(|path| {
        let (study, figures) = (text(path, "study.toml"), text(path, "figures.csv"));
        format!("{study}{BETWEEN}{figures}").into_bytes()
    });
    both.collect()
}
