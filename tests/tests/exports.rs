//! Exports of a real campaign in every format.

use std::fs;

use end_to_end::{DirectoryEntry, Sandbox, run};
use serde_json::Value;

fn report(sandbox: &Sandbox, words: &[&str]) -> String {
    run(sandbox.fsarena().arg("report").args(words)).assert_code(0).stdout
}

/// Every event of a campaign, with each of its fields, is in the table of docs/json.md.
#[test]
fn events_have_the_documented_fields() {
    let document = include_str!("../../docs/json.md");
    let sandbox = Sandbox::new();
    let mut command = sandbox.campaign(&["ext4"], "trial");
    let ended = run(command.arg("--json")).assert_code(0);
    assert!(ended.stdout.lines().count() > 4, "{}", ended.stdout);
    for line in ended.stdout.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        let begin = format!("| `{}` |", event["event"].as_str().unwrap());
        let row = document.lines().find(|row| row.starts_with(&begin));
        let row = row.unwrap_or_else(|| panic!("docs/json.md lacks {line}"));
        for field in event.as_object().unwrap().keys().filter(|field| *field != "event") {
            assert!(row.contains(&format!("`{field}`")), "{field} in: {row}");
        }
    }
}

#[test]
fn a_campaign_leaves_in_every_form() {
    let sandbox = Sandbox::new();
    sandbox.add(&DirectoryEntry::ext4("made"));
    let mut command = sandbox.campaign(&["made"], "trial");
    run(command.args(["--suite", "iozone", "--size", "64 MiB"])).assert_code(0);

    let json: Value = serde_json::from_str(&report(&sandbox, &["--format", "json"])).unwrap();
    let schema: Value = serde_json::from_str(&report(&sandbox, &["--schema"])).unwrap();
    assert_eq!(json["schema"], schema["properties"]["schema"]["const"]);
    let (mut compiler, mut schemas) = (boon::Compiler::new(), boon::Schemas::new());
    compiler.add_resource("/report.schema.json", schema).unwrap();
    let schema = compiler.compile("/report.schema.json", &mut schemas).unwrap();
    let valid = schemas.validate(&json, schema).map_err(|error| error.to_string());
    assert_eq!(valid, Ok(()));
    assert!(json["analysis"]["uses"].as_array().unwrap().len() >= 6, "weights for the page");

    let directory = sandbox.path("charts");
    let said = report(&sandbox, &["--charts", directory.to_str().unwrap()]);
    let mut names: Vec<String> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(said.starts_with(&format!("{} charts", names.len() / 2)), "{said}");
    for name in ["data-write-throughput.svg", "iozone-read-by-size.svg"] {
        assert!(names.contains(&name.to_owned()), "{name} in {names:?}");
        let svg = fs::read_to_string(directory.join(name)).unwrap();
        assert!(svg.starts_with("<svg xmlns=") && svg.contains("made"), "{svg}");
        let png = fs::read(directory.join(name.replace(".svg", ".png"))).unwrap();
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.len() > 2_000, "{name}");
    }

    let iozone = report(&sandbox, &["--format", "iozone"]);
    assert!(iozone.contains("\n\"Writer report\"\n        \"8\""), "{iozone}");
    assert!(iozone.contains("\n\"Re-Reader report\"\n"), "{iozone}");

    let markdown = report(&sandbox, &["--format", "markdown"]);
    assert!(markdown.contains("\n## Standings\n"), "{markdown}");

    let ended = run(sandbox.fsarena().args(["report", "--format", "parquet"]));
    assert!(matches!(ended.code, Some(2 | 3)), "no text, or not built: {ended:?}");
    sandbox.assert_clean();
}
