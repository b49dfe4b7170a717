//! Sweeps and repeated phases, from the command line to the stored result.

use std::collections::BTreeSet;

use end_to_end::{DirectoryEntry, Sandbox, cells_of, run};
use model::{CacheState, CellResult, IterationPolicy, PhaseResult, Status, Test};

const SUITE: &str = r#"
name = "swept"
title = "A small sweep"
source = "made for a test"

[[test]]
name = "swept"
title = "A file at two sizes"
rationale = "The smaller one is far too small to be timed once."
space = "2 * $size"

[test.sweep]
size = ["4 KiB", "8 MiB"]
block = ["4 KiB", "64 KiB"]

[[test.phase]]
name = "write"
op = "write"
file = "f"
size = "$size"
block = "$block"
cache = "warm"
ends = "call"

[[test.phase]]
name = "cold"
op = "read"
file = "f"
block = "$block"
verify = true
cache = "cold"
ends = "call"

[[test.phase]]
name = "once"
op = "read"
file = "f"
block = "$block"
repeat = false
cache = "warm"
ends = "call"
"#;

fn phases<'a>(
    test: &'a Test,
    cell: &'a CellResult,
) -> impl Iterator<Item = (Option<IterationPolicy>, &'a PhaseResult)> {
    let scaling = test.phases.iter().map(|phase| phase.scaling);
    scaling.zip(&cell.phases)
}

#[test]
fn every_phase_has_a_result_even_if_it_takes_no_measurable_time() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.campaign(&["tmpfs"], "bonnie");
    let more = ["-s", "metadata", "-s", "iozone", "--size", "384 MiB"];
    run(command.args(more)).assert_code(0);
    let results = sandbox.results();
    let tests = results.campaign.suites.iter().flat_map(|suite| &suite.tests);
    let mut repeated = 0;
    for test in tests {
        let cell = results.cells.iter().find(|c| c.cell.test == test.name);
        let result = cell.and_then(|c| c.result.as_ref()).expect("every cell has run");
        assert_eq!(result.status, Status::Ok, "{:?}", result.failure);
        for (scaling, phase) in phases(test, result) {
            let result = phase.primary_value().expect("there is a result");
            assert!(result > 0.0 && result.is_finite(), "{}: {result}", phase.phase);
            // The number of passes depends on the machine; its maximum does not.
            let most = scaling.expect("these phases are repeated").passes as usize;
            assert!(phase.passes.len() <= most, "{}", phase.phase);
            repeated += usize::from(phase.passes.len() > 1);
            let walls: u64 = phase.passes.iter().map(|pass| pass.elapsed.0).sum();
            assert!(phase.passes.is_empty() || walls == phase.elapsed.0, "sums over passes");
        }
    }
    assert!(repeated > 0, "some phases are too short for a single pass");
    sandbox.assert_clean();
}

#[test]
fn each_point_is_a_cell_and_a_repeated_phase_begins_as_the_first_time() {
    let sandbox = Sandbox::new();
    sandbox.add_suite("swept", SUITE);
    sandbox.add(&DirectoryEntry::ext4("made"));
    run(sandbox.campaign(&["made"], "swept").args(["--size", "64 MiB"])).assert_code(0);
    let results = sandbox.results();
    let names: BTreeSet<&str> = results.cells.iter().map(|c| c.cell.test.as_str()).collect();
    assert_eq!(names, ["swept-4k-4k", "swept-8m-4k", "swept-8m-64k"].into());
    for cell in cells_of(&results, "made") {
        assert_eq!(cell.status, Status::Ok, "{:?}", cell.failure);
        let [write, cold, once] = &cell.phases[..] else { panic!("three phases") };
        assert_eq!(once.passes, [], "it is not to be repeated");
        assert_eq!(cold.cache, CacheState::Cold);
        // Each pass writes the whole file and reads it from the device.
        let passes = |phase: &PhaseResult| phase.passes.len().max(1) as u64;
        let size = once.bytes.0;
        assert_eq!(write.bytes.0, size * passes(write));
        assert_eq!(cold.verified.0, size * passes(cold));
        assert!(cold.device.unwrap().read_bytes.0 >= size * passes(cold));
    }
    let csv = run(sandbox.fsarena().args(["report", "--format", "csv"])).assert_code(0).stdout;
    assert!(
        csv.lines().any(|l| l.contains(",swept-8m-64k,") && l.contains(",swept,8388608,65536,"))
    );
    let table = run(sandbox.fsarena().arg("report")).assert_code(0).stdout;
    assert!(table.contains("by size (block 4 KiB)"), "{table}");
    sandbox.assert_clean();
}

#[test]
fn a_dry_run_prints_the_cost_and_runs_no_cells() {
    let sandbox = Sandbox::new();
    sandbox.add_suite("swept", SUITE);
    let ended = run(sandbox.campaign(&["tmpfs"], "swept").arg("--dry-run")).assert_code(0);
    assert!(ended.stdout.contains("3 test runs"), "{}", ended.stdout);
    assert!(!sandbox.path("fsarena.db").exists(), "nothing is stored");
    let ended =
        run(sandbox.campaign(&["tmpfs"], "swept").args(["--dry-run", "--json"])).assert_code(0);
    let plan: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(plan["cost"]["cells"], 3);
    assert_eq!(plan["cells"].as_array().unwrap().len(), 3);
    // Three phases, each over the whole file.
    let moved = 3 * (4096 + 2 * (8 << 20));
    // Phases on the small file count with their expected number of repetitions.
    let again = 100 * 4096;
    let work = &plan["cost"]["work"];
    let announced = work["read"].as_u64().unwrap() + work["written"].as_u64().unwrap();
    assert!((moved..moved + again).contains(&announced), "{announced}");
    sandbox.assert_clean();
}

#[test]
fn a_sweep_prints_its_cost_before_it_begins_unless_quiet() {
    let sandbox = Sandbox::new();
    sandbox.add_suite("swept", SUITE);
    let loud = run(&mut sandbox.campaign(&["tmpfs"], "swept")).assert_code(0);
    assert!(
        loud.stderr.contains("swept: 3 points × 3 operations × 1 filesystem"),
        "{}",
        loud.stderr
    );
    let quiet = run(sandbox.campaign(&["tmpfs"], "swept").arg("--quiet")).assert_code(0);
    assert!(!quiet.stderr.contains("points"), "{}", quiet.stderr);
    sandbox.assert_clean();
}
