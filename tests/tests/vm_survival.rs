//! Power cuts on simulated disks: synced files survive, and losses are found.

use std::ffi::OsStr;
use std::fs;

use end_to_end::{Sandbox, cells_of, run};
use model::{Status, Survival};

/// A sequence with a sync and one without, with enough cuts to show a missing barrier.
const SUITE: &str = r#"
name = "cuts"
title = "Cuts"
source = "fsync(2) of the Linux man-pages"

[[test]]
name = "cut"
title = "Cut"
rationale = "A new file and its name are synced; then a file is replaced."
space = "1 MiB"

[[test.phase]]
name = "create-fsync"
op = "power-cut"
prepare = ["write old 2"]
steps = ["write new 4", "fsync new", "fsync ."]
expect = "promise"
cuts = 12

[[test.phase]]
name = "replace"
op = "power-cut"
prepare = ["write document 2"]
steps = ["write new 4", "rename new document", "write other 1", "fsync other"]
expect = "replacement"
cuts = 12

[[test.phase]]
name = "generated"
op = "power-cut-set"
operations = 1
sequences = 3
cuts = 3

[[test.phase]]
name = "ignored"
op = "power-cut"
prepare = ["write first 2"]
steps = ["write new 4", "fsync new", "fsync ."]
expect = "promise"
ignores_flushes = true
cuts = 6
"#;

fn add_suite(sandbox: &Sandbox) {
    let suites = sandbox.path("catalog/suites");
    fs::create_dir_all(&suites).unwrap();
    fs::write(suites.join("cuts.toml"), SUITE).unwrap();
}

#[test]
fn power_cuts_keep_synced_files_and_find_missing_flushes() {
    let sandbox = Sandbox::new();
    add_suite(&sandbox);
    let contenders = ["ext4", "ext4:nobarrier", "ext4:noauto_da_alloc"];
    let mut command = sandbox.in_guests(sandbox.fsarena(), &contenders, "1");
    let told = run(command.args(["--suite", "cuts"])).assert_code(0);
    let results = sandbox.results();
    let survival = |contender: &str, phase: &str| -> Survival {
        let cell = cells_of(&results, contender).remove(0);
        let result = cell.phases.iter().find(|result| result.phase == phase).unwrap();
        let survival = result.survival.clone();
        survival.unwrap_or_else(|| panic!("{contender}, {phase}: {:?}", result.failure))
    };
    let [synced, replaced, generated, ignored] =
        ["create-fsync", "replace", "generated", "ignored"].map(|phase| survival("ext4", phase));
    assert_eq!((generated.sequences, generated.unsupported), (3, 0), "{generated:?}");
    assert!(generated.cuts > 5, "{generated:?}");
    assert!(synced.cuts > 10 && synced.positions > 10, "{synced:?}");
    for all in [&synced, &replaced, &generated] {
        assert_eq!((all.held, all.unmountable, all.inconsistent), (all.cuts, 0, 0), "{all:?}");
    }
    assert!(ignored.cuts == 6 && ignored.held < 6, "no write was lost: {ignored:?}");
    // Without barriers it sends no flush that the disk could ignore.
    let unsafe_sync = survival("ext4:nobarrier", "create-fsync");
    assert!(unsafe_sync.held < unsafe_sync.cuts, "a disk that is never flushed loses nothing");
    let lost = &unsafe_sync.broken[0];
    assert!(!lost.lost.is_empty() && !lost.after.is_empty(), "{lost:?}");
    let [synced, replaced] =
        ["create-fsync", "replace"].map(|phase| survival("ext4:noauto_da_alloc", phase));
    assert_eq!(synced.held, synced.cuts, "{synced:?}");
    assert!(replaced.held < replaced.cuts, "a rename was not committed before its data");
    // The last screen answers the question of the suite.
    assert!(told.stdout.contains("Synced files after a power cut"), "{}", told.stdout);
    let report = run(sandbox.fsarena().arg("report")).assert_code(0).stdout;
    for text in [
        "Power cuts without a loss",
        "95 %",
        "document is neither the old nor the new file",
        "if the disk ignores flushes",
        "BROKEN ASSUMPTIONS",
        "replace: promised for ext4: Linux Documentation/admin-guide/ext4.rst, auto_da_alloc",
        "create-fsync and generated: not promised for ext4:nobarrier, because of its options",
    ] {
        assert!(report.contains(text), "{text}: {report}");
    }
    let page = run(sandbox.fsarena().args(["report", "--format", "html"])).assert_code(0).stdout;
    let [head, section] = ["Synced files after a power cut:", "id=\"power-cuts\""]
        .map(|text| page.find(text).unwrap_or_else(|| panic!("the page lacks {text}")));
    assert!(head < section, "the conclusion is on the first screen");
}

#[test]
fn power_cuts_need_a_simulated_disk() {
    let sandbox = Sandbox::new();
    add_suite(&sandbox);
    let mut command = sandbox.fsarena();
    command.args(["run", "--profile", "smoke", "--rounds", "1", "--contender", "ext4"]);
    run(command.args(["--suite", "cuts"]).arg("--work-dir").arg(sandbox.path("work")));
    let results = sandbox.results();
    let cell = cells_of(&results, "ext4").remove(0);
    assert_eq!(cell.phases[0].status, Status::Unsupported);
    let why = &cell.phases[0].failure.as_ref().unwrap().reason;
    assert!(why.contains("--backend vm"), "{why}");
}

/// The script replaces a file safely, and another one without a sync.
#[test]
fn the_power_is_cut_in_a_recorded_program() {
    let sandbox = Sandbox::new();
    let work = sandbox.path("program");
    fs::create_dir_all(&work).unwrap();
    fs::write(work.join("document"), [1; 5000]).unwrap();
    let script = "dd if=/dev/zero of=new bs=3000 count=3 conv=fsync status=none && mv new document && sync . \
                  && echo text > unsynced";
    let trace = sandbox.path("work.trace");
    let mut record = sandbox.fsarena();
    record.args(["trace", "record", "--output"]).arg(&trace);
    run(record.args(["--", "sh", "-c", script]).current_dir(&work)).assert_code(0);
    let cut = |sequence: &[&OsStr], expect: &str| {
        let mut command = sandbox.fsarena();
        command.arg("survive").args(sequence).args(["--contender", "ext4"]);
        command.args(["--cuts", "24", "--expect", expect, "--clock", "virtual"]);
        command.args(["--profile", "smoke", "--rounds", "1", "--work-dir"]);
        command.arg(sandbox.path("work")).env("XDG_CACHE_HOME", end_to_end::program::cache());
        run(&mut command).assert_code(0);
        let cell = sandbox.results().cells.into_iter().next_back().unwrap().result.unwrap();
        let survival = cell.phases[0].survival.clone();
        survival.unwrap_or_else(|| panic!("{sequence:?}: {:?}", cell.failure))
    };
    let recorded = ["trace".as_ref(), trace.as_os_str()];
    let promised = cut(&recorded, "promise");
    assert!(promised.cuts > 10 && promised.held == promised.cuts, "{promised:?}");
    assert_eq!(promised.shortest, None);
    let result = cut(&recorded, "acknowledged");
    assert!(result.held < result.cuts, "an unsynced file is always kept: {result:?}");
    assert!(result.broken.iter().any(|broken| broken.lost.contains("unsynced")), "{result:?}");
    let shortest = result.shortest.expect("a shorter sequence loses the file, too");
    let steps: Vec<String> = shortest.steps.iter().map(ToString::to_string).collect();
    assert_eq!(
        (&steps[..], &shortest.prepare[..]),
        (&["write unsynced 1".to_owned()][..], &[][..])
    );
    let report = run(sandbox.fsarena().arg("report")).assert_code(0).stdout;
    let repeat = "fsarena survive steps --step 'write unsynced 1' --cuts 600 --expect acknowledged";
    for command in ["fsarena survive trace ", repeat] {
        assert!(report.contains(command), "{command}: {report}");
    }
    let step = ["steps", "--step", "write unsynced 1"].map(OsStr::new);
    let repeated = cut(&step, "acknowledged");
    assert!(repeated.held < repeated.cuts, "{repeated:?}");

    let mut onto_images = sandbox.fsarena();
    onto_images.args(["survive", "trace"]).arg(&trace).args(["-c", "ext4", "--backend", "loop"]);
    let refused = run(&mut onto_images).assert_code(2);
    assert!(refused.stderr.contains("only guests have simulated disks"), "{}", refused.stderr);
}
