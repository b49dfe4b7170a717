//! Parses the real output of programs: one file in `samples/` each.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use import::{
    InputFormat, NamingOptions, ParsedInput, detect_format, detect_only_format, merge, read,
};
use model::{ImportedResult, Status};

fn samples() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let entries = fs::read_dir(directory).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

fn naming() -> NamingOptions {
    NamingOptions { otherwise: "here".to_owned(), ..NamingOptions::default() }
}

fn sample(name: &str) -> ParsedInput {
    let path = samples().into_iter().find(|path| stem(path) == name).unwrap();
    let bytes = fs::read(path).unwrap();
    read(detect_format(&bytes).unwrap(), &bytes, &naming()).unwrap()
}

/// Formats each result as one line.
fn shown(found: &ParsedInput) -> String {
    let reported = &found.reported;
    let mut text = format!("{} ({})\n", reported.program, found.suite);
    for figure in &reported.figures {
        let ImportedResult { contender, test, phase, round, .. } = figure;
        let _ = write!(text, "{contender} {test}/{phase} {round}:");
        if figure.status != Status::Ok {
            let _ = write!(text, " {} ({})", figure.status, figure.reason.as_deref().unwrap());
        }
        for stated in &figure.values {
            let _ = write!(text, " {}={}", stated.metric, stated.value);
        }
        if !figure.latency.is_empty() {
            let count: u64 = figure.latency.iter().map(|bucket| bucket.1).sum();
            let _ = write!(text, " {} buckets of {count}", figure.latency.len());
        }
        text.push('\n');
    }
    for line in &found.skipped {
        let _ = writeln!(text, "left out: {line}");
    }
    text
}

#[test]
fn every_sample_is_recognised_and_read() {
    for path in samples() {
        let bytes = fs::read(&path).unwrap();
        let name = stem(&path);
        let format = detect_format(&bytes).unwrap_or_else(|| panic!("{name} is not recognised"));
        let begin = name.split(['-', '.']).next().unwrap();
        assert!(format.name().starts_with(begin), "{name} is recognised as {format}");
        let found = read(format, &bytes, &naming()).unwrap_or_else(|e| panic!("{name}: {e}"));
        insta::assert_snapshot!(name.clone(), shown(&found));
        found.into_results().unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn output_of_two_programs_in_one_file_is_refused_with_both_names() {
    let all: Vec<(InputFormat, Vec<u8>)> = samples()
        .iter()
        .filter(|path| stem(path) != "fio-3.33-utf16")
        .map(|path| fs::read(path).unwrap())
        .map(|bytes| (detect_only_format(&bytes).unwrap(), bytes))
        .collect();
    let is_of_text = |format: InputFormat| format != InputFormat::Phoronix;
    let one_each = InputFormat::ALL.into_iter().filter(|format| is_of_text(*format));
    let one_each: Vec<_> =
        one_each.filter_map(|format| all.iter().find(|(known, _)| *known == format)).collect();
    assert!(one_each.len() >= 10);
    for (first, before) in &one_each {
        for (second, after) in one_each.iter().filter(|(second, _)| second != first) {
            let both = [before.as_slice(), b"\n", after].concat();
            let error = detect_only_format(&both).unwrap_err().to_string();
            for format in [first, second] {
                assert!(error.contains(format.title()), "{first} and {second}: {error}");
            }
            assert!(error.contains("save the output of each program as a file"), "{error}");
        }
    }
}

/// At any truncation, a sample is parsed up to that point or refused with a one-line error.
#[test]
fn no_sample_that_is_cut_off_or_damaged_is_a_panic() {
    for path in samples() {
        let bytes = fs::read(&path).unwrap();
        let format = detect_format(&bytes).unwrap();
        let step = bytes.len() / 200 + 1;
        for end in (0..bytes.len()).step_by(step) {
            let _ = read(format, &bytes[..end], &naming());
            let mut damaged = bytes.clone();
            damaged[end] ^= 0x15;
            if let Err(error) = read(format, &damaged, &naming()) {
                assert_eq!(error.to_string().lines().count(), 1, "{error}");
            }
        }
    }
}

#[test]
fn the_same_name_in_several_files_has_further_rounds() {
    let all = merge(vec![sample("bonnie-1.03"), sample("bonnie-1.03")]).unwrap();
    let results = all.into_results().unwrap();
    assert_eq!(results.campaign.rounds, 4);
    assert_eq!(results.campaign.contenders.len(), 1);
}

#[test]
fn one_name_is_for_one_contender() {
    let naming = NamingOptions { given: Some("ext4".to_owned()), ..naming() };
    let bytes = fs::read(samples().iter().find(|p| stem(p) == "phoronix").unwrap()).unwrap();
    let error = read(InputFormat::Phoronix, &bytes, &naming).unwrap_err();
    assert!(error.to_string().contains("it holds 2 contenders (btrfs, ext4)"), "{error}");
    let bytes = fs::read(samples().iter().find(|p| stem(p) == "bonnie-1.03").unwrap()).unwrap();
    let found = read(InputFormat::Bonnie, &bytes, &naming).unwrap();
    assert_eq!(found.reported.contenders[0].name, "ext4");
}

#[test]
fn too_quick_phases_are_ok_without_a_value() {
    let results = sample("bonnie-1.03").into_results().unwrap();
    let cell = results.cells.iter().find(|c| c.cell.test == "bonnie-files").unwrap();
    let phase = &cell.result.as_ref().unwrap().phases[0];
    assert_eq!((phase.phase.as_str(), phase.status), ("create-seq", Status::Ok));
    assert_eq!(phase.measurements(), []);
}

#[test]
fn points_of_a_grid_are_a_sweep() {
    let results = sample("iozone-489-grid").into_results().unwrap();
    let again = sample("iozone-489-spreadsheet").into_results().unwrap();
    let tests = &results.campaign.suites[0].tests;
    assert_eq!(tests.len(), 6);
    assert!(tests.iter().all(|test| test.sweep_name() == "iozone"));
    assert_eq!(&again.campaign.suites[0].tests, tests);
}
