//! Formats of released versions stay readable: reports (JSON, CSV), databases, traces, catalog and campaign files.
//!
//! `released/VERSION/` has the samples of a version, as `scripts/save-formats.sh` wrote them. They never change.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Samples of a released version, and a directory for the output.
struct Released {
    samples: PathBuf,
    place: TempDir,
}

impl Released {
    /// Returns every released version.
    fn all() -> Vec<Self> {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released");
        let versions: Vec<_> = fs::read_dir(samples)
            .unwrap()
            .map(|version| Self {
                samples: version.unwrap().path(),
                place: tempfile::tempdir().unwrap(),
            })
            .collect();
        assert!(!versions.is_empty());
        versions
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.samples.join(name)).unwrap()
    }

    /// Returns the standard output of fsarena with a separate database.
    #[track_caller]
    fn fsarena(&self, arguments: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_fsarena"))
            .current_dir(self.place.path())
            .args(["--db", "other.db"])
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?} of {}: {error}", self.samples.display());
        String::from_utf8(output.stdout).unwrap()
    }

    fn sample(&self, name: &str) -> String {
        self.samples.join(name).to_str().unwrap().to_owned()
    }
}

/// Splits a CSV file without line breaks in its fields into its rows.
fn rows(csv: &str) -> Vec<Vec<String>> {
    let mut fields = vec![vec![String::new()]];
    let mut is_quoted = false;
    for character in csv.trim_end().chars() {
        let row = fields.last_mut().unwrap();
        match character {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => row.push(String::new()),
            '\n' => fields.push(vec![String::new()]),
            _ => row.last_mut().unwrap().push(character),
        }
    }
    fields
}

/// Checks that each row of the old report is in the new one, with the same values in its columns.
#[track_caller]
fn assert_has_rows_of(new: &str, old: &str) {
    let (new, old) = (rows(new), rows(old));
    // The path of a database is in no column, but its number of the campaign is.
    let columns: Vec<_> = old[0].iter().filter(|name| *name != "campaign").collect();
    let select = |rows: &[Vec<String>]| -> Vec<Vec<String>> {
        let place = |name| rows[0].iter().position(|n| n == name);
        let places: Vec<_> = columns
            .iter()
            .map(|name| place(*name).unwrap_or_else(|| panic!("no column {name}")))
            .collect();
        rows[1..].iter().map(|row| places.iter().map(|at| row[*at].clone()).collect()).collect()
    };
    let new = select(&new);
    assert!(old.len() > 50);
    for row in select(&old) {
        assert!(new.contains(&row), "{row:?}");
    }
}

#[test]
fn reports_and_databases_of_released_versions_give_the_same_values() {
    for released in Released::all() {
        let database = rusqlite::Connection::open(released.place.path().join("old.db")).unwrap();
        database.execute_batch(&released.text("database.sql")).unwrap();
        drop(database);
        let report = released.sample("report.json");
        for file in ["old.db", &report] {
            let new = released.fsarena(&["report", file, "--format", "csv"]);
            assert_has_rows_of(&new, &released.text("report.csv"));
        }
        for file in ["old.db", &report, &released.sample("report.csv")] {
            released.fsarena(&["import", file]);
        }
    }
}

/// A program that reads reports finds each field of an older version under its name.
#[test]
fn json_reports_keep_the_fields_of_released_versions() {
    fn assert_has_fields_of(new: &Value, old: &Value, at: &str) {
        match (new, old) {
            (Value::Object(new), Value::Object(old)) => {
                for (name, old) in old {
                    let new = new.get(name).unwrap_or_else(|| panic!("no field {at}.{name}"));
                    assert_has_fields_of(new, old, &format!("{at}.{name}"));
                }
            }
            (Value::Array(new), Value::Array(old)) => {
                for (new, old) in new.iter().zip(old) {
                    assert_has_fields_of(new, old, &format!("{at}[]"));
                }
            }
            _ => {}
        }
    }
    for released in Released::all() {
        let new =
            released.fsarena(&["report", &released.sample("report.json"), "--format", "json"]);
        let new: Value = serde_json::from_str(&new).unwrap();
        let old: Value = serde_json::from_str(&released.text("report.json")).unwrap();
        assert_eq!(new["results"]["cells"], old["results"]["cells"]);
        assert_has_fields_of(&new, &old, "");
    }
}

#[test]
fn traces_of_released_versions_have_the_same_contents() {
    for released in Released::all() {
        let decode = format!("base64 -d '{}' > old.trace", released.sample("trace.base64"));
        let decoded =
            Command::new("sh").args(["-c", &decode]).current_dir(released.place.path()).status();
        assert!(decoded.unwrap().success());
        let new: Value =
            serde_json::from_str(&released.fsarena(&["--json", "trace", "show", "old.trace"]))
                .unwrap();
        let old: Value = serde_json::from_str(&released.text("trace.json")).unwrap();
        assert_eq!(new, old);
    }
}

#[test]
fn catalogs_and_campaign_files_of_released_versions_are_accepted() {
    for released in Released::all() {
        let catalog = released.sample("catalog");
        for kind in fs::read_dir(&catalog).unwrap() {
            let kind = kind.unwrap();
            let listed = released.fsarena(&[
                "--catalog",
                &catalog,
                "list",
                kind.file_name().to_str().unwrap(),
            ]);
            for file in fs::read_dir(kind.path()).unwrap() {
                let file = file.unwrap().path();
                let name = file.file_stem().unwrap().to_str().unwrap();
                assert!(listed.contains(name), "{name}: {listed}");
            }
        }
        fs::create_dir(released.place.path().join("a")).unwrap();
        let campaign = released.place.path().join("campaign.toml");
        fs::copy(released.sample("campaign.toml"), &campaign).unwrap();
        let plan = released.fsarena(&["run", campaign.to_str().unwrap(), "--dry-run"]);
        assert!(plan.contains("metadata-deep"), "{plan}");
    }
}
