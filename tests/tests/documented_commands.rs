//! The campaigns in the documentation are accepted as printed.

use std::fs;
use std::path::Path;
use std::process::Command;

use end_to_end::{Sandbox, run};

/// Parts of commands that need another machine, a device, a guest, the user's files, or programs that
/// this machine may lack.
const NEEDS: [&str; 16] = [
    "--host",
    "--on ",
    "--device",
    "--dir ",
    "--source",
    "--cache",
    "vm",
    "--machine",
    "-s fio:",
    "bonnie++:",
    "filebench:",
    "iozone:",
    "my-campaign",
    "traces",
    "…",
    "NAME",
];

/// Returns the options of every `fsarena run` with options in Markdown.
fn campaigns(text: &str) -> Vec<String> {
    let parts = text.lines().flat_map(|line| line.split('`'));
    let options = parts.filter_map(|part| {
        let command = part.strip_prefix("$ ").unwrap_or(part);
        let command = command.strip_prefix("sudo ").unwrap_or(command);
        let options = command.strip_prefix("fsarena run ")?;
        let options = options.split(" && ").next()?.split(" #").next()?;
        Some(options.replace("--dry-run", "").trim().to_owned())
    });
    options.collect()
}

#[test]
fn every_documented_campaign_is_accepted() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let documents = fs::read_dir(top.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let documents = documents.chain([top.join("README.md")]);
    let documents = documents.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let texts = documents.map(|path| fs::read_to_string(path).unwrap());
    let mut all: Vec<String> = texts.flat_map(|text| campaigns(&text)).collect();
    all.retain(|options| !options.is_empty() && !NEEDS.iter().any(|part| options.contains(part)));
    all.sort();
    all.dedup();
    assert!(all.len() > 15, "{all:?}");
    let sandbox = Sandbox::new();
    let program = sandbox.fsarena();
    for options in all {
        let mut shell = Command::new("sh");
        // The shell splits the options as the user's does.
        shell.args(["-c", &format!("exec \"$0\" run --dry-run {options}")]);
        shell.arg(program.get_program()).env("XDG_DATA_HOME", sandbox.path("data"));
        let ended = run(&mut shell);
        // A plan above the usual limit of writes is shown, too.
        assert!(matches!(ended.code, Some(0 | 3)), "{options}: {}", ended.stderr);
        assert!(ended.stdout.contains("test runs, "), "{options}: {}", ended.stderr);
    }
}
