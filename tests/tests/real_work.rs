//! Real work: sources that are downloaded, extracted and built. A failed step skips only the steps
//! that need it, and a baseline runs the same steps.

use std::fs;
use std::path::PathBuf;

use end_to_end::{DirectoryEntry, Sandbox, cells_of, program, run};
use model::{PhaseResult, Status};

/// Returns a suite of commands, each a phase with a name, a command and further settings.
fn suite(head: &str, phases: &[(&str, &str, &str)]) -> String {
    let phases = phases.iter().map(|(name, command, more)| {
        format!(
            "[[test.phase]]\nname = \"{name}\"\nop = \"exec\"\ncommand = \"{command}\"\n{more}\n"
        )
    });
    format!(
        "name = \"work\"\ntitle = \"Work\"\nsource = \"made for a test\"\n{head}\n[[test]]\nname = \"work\"\n\
         rationale = \"Made for a test.\"\nspace = \"16 MiB\"\n{}",
        phases.collect::<String>()
    )
}

fn phase<'a>(phases: &'a [PhaseResult], name: &str) -> &'a PhaseResult {
    let mut phases = phases.iter();
    phases.find(|phase| phase.phase == name).unwrap()
}

#[test]
fn a_failed_step_skips_only_the_steps_that_need_it() {
    let sandbox = Sandbox::new();
    let phases = [
        ("extract", "sh -c 'exit 3'", ""),
        ("other", "touch here", "needs = []"),
        ("build", "true", "needs = [\"extract\"]"),
        ("test", "true", "needs = [\"build\"]"),
        ("look", "test -e here", "needs = [\"other\"]"),
        ("last", "true", ""),
    ];
    sandbox.add_suite("work", &suite("", &phases));
    sandbox.add(&DirectoryEntry::ext4("frail"));
    run(&mut sandbox.campaign(&["frail"], "work")).assert_code(0);
    let results = sandbox.results();
    let cell = cells_of(&results, "frail")[0];
    let became = |name: &str| {
        let phase = phase(&cell.phases, name);
        let reason = phase.failure.as_ref().map(|f| f.reason.as_str());
        (phase.status, reason.unwrap_or_default())
    };
    assert_eq!(became("extract"), (Status::Failed, "`sh` ended with 3"));
    assert_eq!(became("other"), (Status::Ok, ""));
    assert_eq!(became("build"), (Status::Skipped, "needs extract"));
    assert_eq!(became("test"), (Status::Skipped, "needs build"));
    assert_eq!(became("look"), (Status::Ok, ""));
    assert_eq!(became("last"), (Status::Skipped, "extract did not succeed"));
    assert_eq!(cell.status, Status::Failed);
    let report = run(sandbox.fsarena().arg("report")).assert_code(0).stdout;
    let total = report.lines().find(|line| line.trim_start().starts_with("total"));
    assert!(total.is_some_and(|line| line.contains("invalid")), "{report}");
    sandbox.assert_clean();
}

/// A FAT driver in user space has no chmod.
#[test]
fn archives_are_unpacked_without_the_modes_that_a_filesystem_lacks() {
    let sandbox = Sandbox::new();
    let pack = "sh -c 'mkdir a && echo text >a/f && tar --mode=a+rx -cf a.tar a && rm -r a'";
    let unpack = "tar --no-same-owner -xf a.tar";
    let phases = [
        ("pack", pack, ""),
        ("unpack", unpack, "unpacks = true"),
        ("look", "grep text a/f", ""),
        ("again", unpack, ""),
    ];
    sandbox.add_suite("work", &suite("", &phases));
    run(sandbox.campaign(&["fusefat"], "work").args(["--size", "64MiB"])).assert_code(0);
    let results = sandbox.results();
    let cell = cells_of(&results, "fusefat")[0];
    let unpacked = phase(&cell.phases, "unpack");
    assert_eq!(unpacked.status, Status::Ok, "{:?}", unpacked.failure);
    let unset = unpacked.unset.as_ref().unwrap();
    assert!(unset.example.contains("Cannot change mode"), "{unset:?}");
    assert_eq!(phase(&cell.phases, "look").status, Status::Ok);
    assert_eq!(phase(&cell.phases, "again").status, Status::Failed, "without `unpacks`");
    let report = run(sandbox.fsarena().arg("report")).assert_code(0).stdout;
    assert!(report.contains("Unpacked without owners, modes or times"), "{report}");
    sandbox.assert_clean();
}

#[test]
fn a_phase_needs_earlier_phases_and_a_named_archive() {
    let sandbox = Sandbox::new();
    sandbox.add(&DirectoryEntry::ext4("ext"));
    let refused = |text: &str| {
        sandbox.add_suite("work", text);
        run(&mut sandbox.campaign(&["ext"], "work")).assert_code(2).stderr
    };
    let said = refused(&suite("", &[("a", "true", "needs = [\"b\"]"), ("b", "true", "")]));
    assert!(said.contains("no phase `b` comes before this one"), "{said}");
    let said = refused(&suite("", &[("a", "tar -xf $ARCHIVES/sed", "")]));
    assert!(said.contains("no [[archive]] has this name"), "{said}");
}

/// The baseline of the suite is not added to a guard as a third side.
#[test]
fn a_guard_of_real_work_compares_its_two_sides() {
    let sandbox = Sandbox::new();
    let text = suite("baseline = \"tmpfs\"", &[("work", "sh -c 'seq 1000 >f'", "")]);
    sandbox.add_suite("work", &text);
    let mut guard = sandbox.fsarena();
    guard.args([
        "guard",
        "one=ext4",
        "two=ext4",
        "-s",
        "work",
        "--profile",
        "smoke",
        "--rounds",
        "2",
    ]);
    guard.args(["--threshold", "90%", "--work-dir"]).arg(sandbox.path("work"));
    let ended = run(&mut guard);
    // Two rounds may decide nothing: exit code 5.
    assert!(matches!(ended.code, Some(0 | 5)), "{}", ended.stderr);
    let said = ended.stdout;
    assert!(said.contains("one") && said.contains("two") && !said.contains("tmpfs"), "{said}");
    let aged = ["guard", "ext4", "xfs", "-s", "work", "--age", "agrawal"];
    let said = run(sandbox.fsarena().args(aged)).assert_code(2).stderr;
    assert!(said.contains("leave --age out"), "{said}");
    sandbox.assert_clean();
}

const SED: &str =
    "[[archive]]\nname = \"sed\"\nsource_package = \"sed\"\nfile = \"sed_*.orig.tar.xz\"\n";

/// Returns the archives in the tests' cache, without the notes.
fn archives() -> Vec<PathBuf> {
    let directory = program::cache().join("fsarena/archives");
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter(|e| e.file_name().len() == 64);
    names.map(|entry| entry.path()).collect()
}

#[test]
fn archives_are_downloaded_once_and_again_if_damaged() {
    let sandbox = Sandbox::new();
    let unpack = "sh -c 'mkdir tree && tar -xf $ARCHIVES/sed -C tree --strip-components=1 && test -e tree/configure'";
    let read = "[[test.phase]]\nname = \"read\"\nop = \"read-files\"\ndirectory = \"tree\"\n";
    let text = suite(SED, &[("unpack", unpack, "writes = \"14 MB\"")]) + read;
    sandbox.add_suite("work", &text);
    sandbox.add(&DirectoryEntry::ext4("ext"));
    let again = || {
        let mut campaign = sandbox.campaign(&["ext"], "work");
        run(campaign.env("XDG_CACHE_HOME", program::cache())).assert_code(0)
    };
    again();
    let results = sandbox.results();
    let held = &results.campaign.archives;
    assert!(held[0].version.starts_with("sed 4."), "{held:?}");
    let cell = cells_of(&results, "ext")[0];
    assert_eq!(cell.status, Status::Ok, "{:?}", cell.failure);
    let read = phase(&cell.phases, "read");
    assert!(read.operations > 500 && read.bytes.0 > 8_000_000, "{read:?}");
    let archive = archives().into_iter().find(|path| path.ends_with(&held[0].sha256));
    let archive = archive.expect("the archive is stored under its digest");
    let whole = fs::read(&archive).unwrap();
    fs::write(&archive, &whole[1..]).unwrap();
    let said = again().stderr;
    assert!(said.contains("bringing sed"), "{said}");
    assert_eq!(fs::read(&archive).unwrap(), whole);
    sandbox.assert_clean();
}

#[test]
fn an_archive_that_cannot_be_had_is_one_line_and_no_campaign() {
    let sandbox = Sandbox::new();
    let head = SED.replace("sed_*.orig.tar.xz", "sed_*.no-such-file");
    sandbox.add_suite("work", &suite(&head, &[("unpack", "tar -xf $ARCHIVES/sed", "")]));
    sandbox.add(&DirectoryEntry::ext4("ext"));
    let mut campaign = sandbox.campaign(&["ext"], "work");
    let said = run(campaign.env("XDG_CACHE_HOME", program::cache())).assert_code(3).stderr;
    let last = said.lines().last().unwrap();
    assert!(
        last.contains("the suite cannot have its sources") && last.contains("sed_*.no-such-file"),
        "{said}"
    );
    let list = run(sandbox.fsarena().args(["list", "--json"])).assert_code(0).stdout;
    assert!(!list.contains("\"id\""), "{list}");
    sandbox.assert_clean();
}

/// Runs both suites of the studies, with small sizes, and a baseline.
#[test]
fn real_work_of_the_studies_runs_and_is_compared_with_tmpfs() {
    let sandbox = Sandbox::new();
    sandbox.add(&DirectoryEntry::ext4("ext"));
    let mut campaign = sandbox.campaign(&["ext"], "emerging");
    campaign.args(["-s", "os2-shootout", "--size", "256 MiB", "--rounds", "1"]);
    run(campaign.env("XDG_CACHE_HOME", program::cache())).assert_code(0);
    let results = sandbox.results();
    for contender in ["ext", "tmpfs"] {
        for cell in cells_of(&results, contender) {
            assert_eq!(cell.status, Status::Ok, "{contender}: {:?}", cell.failure);
        }
    }
    let report = run(sandbox.fsarena().args(["report", "--format", "json"])).assert_code(0).stdout;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let totals = report["analysis"]["totals"].as_array().unwrap();
    let steps: Vec<_> =
        totals.iter().map(|total| total["steps"].as_array().unwrap().len()).collect();
    assert_eq!(steps, [11, 3, 1, 1], "emerging, zip, build, read");
    for total in totals {
        assert_eq!(total["baseline"], 1);
        let above = &total["contenders"][0]["above"]["median"];
        assert!(above.is_f64(), "{total}");
    }
    let text = run(sandbox.fsarena().arg("report")).assert_code(0).stdout;
    assert!(text.contains("How much is the filesystem:"), "{text}");
    sandbox.assert_clean();
}
