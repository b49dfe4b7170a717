//! docs/report.schema.json matches the types of a report.

use std::fs;
use std::path::Path;

/// Environment variable that updates the file: `WRITE_SCHEMA=1 cargo test --package end-to-end
/// --test schema`.
const WRITE: &str = "WRITE_SCHEMA";

#[test]
fn the_published_schema_is_that_of_the_types() {
    let made = report::json_schema();
    if std::env::var_os(WRITE).is_some() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/report.schema.json");
        fs::write(file, &made).expect("the file can be written");
        return;
    }
    let lines = made.lines().zip(report::JSON_SCHEMA.lines());
    if let Some((made, published)) = lines.into_iter().find(|(a, b)| a != b) {
        panic!(
            "docs/report.schema.json has `{published}`, the types give `{made}`: set {WRITE}=1 to update it"
        );
    }
    assert_eq!(made.len(), report::JSON_SCHEMA.len(), "one ends before the other");
}
