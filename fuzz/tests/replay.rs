//! Runs every target on its stored and generated inputs and on mutations of both, the same in every
//! run.

use std::fs;
use std::path::Path;
use std::thread;

use fuzz::mutation::mutated;
use fuzz::{FuzzTarget, TARGETS, target};
use model::SeededRng;

/// Runs a target on its inputs and on the given number of mutations in total.
fn replay(name: &str, mutations: usize) {
    let target = target(name).expect("it is one");
    let inputs = inputs(target);
    let mut chance = SeededRng::substream(1, name);
    let mutations = (0..mutations).map(|number| {
        let input = &inputs[number % inputs.len()];
        mutated(input, target.longest, &mut chance)
    });
    let mutations: Vec<Vec<u8>> = mutations.collect();
    let inputs: Vec<&Vec<u8>> = inputs.iter().chain(&mutations).collect();
    // One target takes longer than all others together, so its inputs run in parallel.
    let processors = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for part in inputs.chunks(inputs.len().div_ceil(processors)) {
            scope.spawn(|| part.iter().for_each(|input| (target.run)(input)));
        }
    });
}

fn inputs(target: &FuzzTarget) -> Vec<Vec<u8>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let entries = fs::read_dir(corpus.join(target.name)).into_iter().flatten();
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let kept = files.iter().map(|file| fs::read(file).expect("it is kept"));
    (target.seeds)().into_iter().chain(kept).collect()
}

#[test]
fn campaign_files() {
    replay("campaign", 6_000);
}

#[test]
fn catalog_files() {
    replay("catalog", 6_000);
}

#[test]
fn events_and_jobs() {
    replay("events", 6_000);
}

#[test]
fn output_of_other_programs() {
    replay("import", 6_000);
}

/// Output of other programs that is within all limits, with every report on it.
#[test]
fn reports_on_output_of_other_programs() {
    replay("report", 300);
}

#[test]
fn kernel_files() {
    replay("proc", 6_000);
}

#[test]
fn deaths_of_kernels() {
    replay("oops", 6_000);
}

#[test]
fn stored_results() {
    replay("database", 200);
}

#[test]
fn contents_of_devices() {
    replay("device", 6_000);
}

#[test]
fn files_of_guests() {
    replay("guest", 6_000);
}

#[test]
fn published_studies() {
    replay("study", 300);
}

#[test]
fn traces() {
    replay("trace", 6_000);
}

#[test]
fn files_that_hosts_share() {
    replay("batch", 200);
}

#[test]
fn every_target_has_a_test_in_this_file() {
    let tests = include_str!("replay.rs");
    for target in &TARGETS {
        assert!(tests.contains(&format!("replay(\"{}\", ", target.name)));
    }
}
