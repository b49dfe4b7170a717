//! Tiny comparisons from end to end, on a private tmpfs. The measured values are not checked.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

fn bench(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_fsarena-bench")).args(arguments).output();
    output.expect("cargo built it")
}

#[test]
fn tiny_comparison_gives_results_and_leaves_no_mounts() {
    let output = bench(&["bench", "--smoke", "--only", "sequential", "--pairs", "2", "--json"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let outcomes: Value = serde_json::from_slice(&output.stdout).expect(&said);
    let outcomes = outcomes.as_array().unwrap();
    let peers: Vec<&str> = outcomes.iter().map(|o| o["peer"].as_str().unwrap()).collect();
    assert_eq!(peers, ["fio", "dd", "fio", "dd"], "{said}");
    for outcome in outcomes {
        let comparison = &outcome["comparison"];
        assert_eq!(comparison["pairs"], 2, "{outcome}\n{said}");
        for number in ["ours", "peer", "ratio", "lowest", "highest"] {
            assert!(comparison[number].as_f64().unwrap() > 0.0, "{outcome}");
        }
        assert_ne!(outcome["verdict"], "no-result");
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains("fsarena-bench"), "{mounts}");
}

/// Uses virtual time, so that the numbers do not depend on the load of this machine.
#[test]
fn instructions_of_an_operation_are_counted_in_guests() {
    let output = Command::new(env!("CARGO_BIN_EXE_fsarena-bench"))
        .args(["instructions", "--smoke", "--json", "--only", "loop"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let first = String::from_utf8(output.stdout).unwrap();
    let rows: Value = serde_json::from_str(&first).unwrap();
    let peers: Vec<&str> =
        rows.as_array().unwrap().iter().map(|r| r["peer"].as_str().unwrap()).collect();
    assert_eq!(peers, ["C loop"]);
    for row in rows.as_array().unwrap() {
        for side in ["ours", "theirs"] {
            let user = row[side]["user"].as_f64().unwrap();
            let kernel = row[side]["kernel"].as_f64().unwrap();
            // A read of 4 KiB copies 512 words, and reading a clock takes a program more than ten
            // instructions.
            assert!(user > 10.0 && kernel > 512.0, "{row}");
        }
    }
}

#[test]
fn an_unknown_name_is_refused_with_a_list_of_names() {
    let output = bench(&["agreement", "--only", "nonsense"]);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no comparison `nonsense`"), "{said}");
    assert!(said.contains("tiobench@btrfs"), "{said}");
}

#[test]
fn missing_emulator_is_reported_in_the_row_of_the_guest() {
    let output = Command::new(env!("CARGO_BIN_EXE_fsarena-bench"))
        .args(["bench", "--smoke", "--only", "guest-boot", "--json"])
        .env("PATH", "/nowhere")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let outcomes: Value = serde_json::from_slice(&output.stdout).expect(&said);
    let [outcome] = &outcomes.as_array().unwrap()[..] else {
        panic!("{outcomes}");
    };
    assert_eq!(outcome["verdict"], "no-result", "{outcome}");
    let obstacle = outcome["obstacle"].as_str().unwrap();
    assert!(
        obstacle.starts_with("there is no qemu-system-x86_64: `apt-get install "),
        "{obstacle}"
    );
}
