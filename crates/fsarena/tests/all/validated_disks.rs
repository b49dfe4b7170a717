//! Checks that the documentation of simulated disks matches the program.

use std::process::Command;

const PAGE: &str = include_str!("../../../../docs/disks.md");

/// Checks that a table is in the documentation. Returns the ratio of each row with the row.
fn ratios(words: &[&str]) -> Vec<(f64, String)> {
    let output =
        Command::new(env!("CARGO_BIN_EXE_fsarena")).args(words).arg("--markdown").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(PAGE.contains(&table), "write this into docs/disks.md:\n{table}");
    let ratio = |row: &str| {
        let cells = row.trim_end_matches(" |").rsplit(' ');
        (cells.into_iter().next()?.parse().ok()).map(|ratio| (ratio, row.to_owned()))
    };
    table.lines().skip(2).filter_map(ratio).collect()
}

#[test]
fn the_table_of_the_documentation_is_that_of_the_command() {
    let ratios = ratios(&["disk", "validate"]);
    assert!(ratios.len() > 40, "{ratios:?}");
    for (ratio, row) in ratios {
        // A bound is not a measured value: any value below it is correct.
        let right = match row.contains("against its bound") {
            true => 0.0..1.0,
            false => 0.8..1.2,
        };
        assert!(right.contains(&ratio), "far from the published value: {row}");
    }
}

/// MQSim assigns pages to dies by number, the model to an idle die. This matters only for many
/// parallel writes, or for reads in order.
#[test]
fn models_match_simulators_with_equal_parameters() {
    let simulators = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/simulators");
    let disks = ["disksim-cheetah-9lp", "mqsim", "mqsim-tight"];
    let ratios = ratios(&[&["--catalog", simulators, "disk", "validate"], &disks[..]].concat());
    assert!(ratios.len() > 10, "{ratios:?}");
    for (ratio, row) in ratios {
        let placed_otherwise = ["writes, 32", "writes, steady", "reads in order"];
        let limit = match placed_otherwise.iter().any(|words| row.contains(words)) {
            true => 1.95,
            false => 1.15,
        };
        assert!(
            (1.0 / limit..limit).contains(&ratio),
            "far from the result of the simulator: {row}"
        );
    }
}
