//! Contenders that are aged before a test: their content, refused options, and reports.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use end_to_end::{Sandbox, cells_of, run};
use model::{AgeingResult, AgeingSpec, AgeingStopReason, CellResult, Nanos, PerMille, Status};

/// Number of ageing operations: enough to have an effect, few enough for a short test.
const OPERATIONS: &str = "operations = 1500";

/// Returns a campaign of these contenders, each fresh and at this age.
fn campaign(sandbox: &Sandbox, contenders: &[&str], age: &str, options: &[&str]) -> Command {
    let file = sandbox.path("aged.toml");
    let text = format!(
        "contenders = {contenders:?}\nsuites = [\"trial\"]\nprofile = \"smoke\"\nrounds = 1\nseed = 7\n\
         size = \"320 MiB\"\nage = {{ {age} }}\n"
    );
    fs::write(&file, text).unwrap();
    let mut command = sandbox.fsarena();
    command.arg("run").arg(file).arg("--work-dir");
    command.arg(sandbox.path("work")).args(options);
    command
}

fn record(cell: &CellResult) -> AgeingResult {
    assert_eq!(cell.status, Status::Ok, "{:?}", cell.failure);
    cell.age.clone().expect("it was aged")
}

#[test]
fn filesystems_are_filled_as_requested_before_the_first_phase() {
    let sandbox = Sandbox::new();
    let contenders = ["ext4", "xfs", "btrfs"];
    let age = format!("profile = \"agrawal\", fill = \"80%\", {OPERATIONS}");
    run(&mut campaign(&sandbox, &contenders, &age, &[])).assert_code(0);
    let shown = sandbox.report();
    let results = sandbox.results();
    for name in contenders {
        let fresh = cells_of(&results, name)[0];
        assert_eq!((fresh.status, &fresh.age), (Status::Ok, &None));
        let cells = cells_of(&results, &format!("{name}-aged"));
        let aged = record(cells[0]);
        assert!(aged.fill.0.abs_diff(800) <= AgeingSpec::TOLERANCE.0, "{name}: {aged:?}");
        assert_eq!(aged.stopped, AgeingStopReason::OperationLimit);
        assert!(aged.files > 1000 && aged.bytes < aged.written, "{aged:?}");
        assert!(aged.operations > aged.files + 1000, "{aged:?}");
        assert!(aged.elapsed > Nanos(0));
        let layout = [aged.layout_filled, aged.layout_aged].map(Option::unwrap);
        assert!(layout.iter().all(|score| *score <= PerMille(1000)), "{layout:?}");
        assert!(cells[0].remarks.iter().all(|r| !r.contains("aged to")), "{:?}", cells[0].remarks);
        // The aged content exists during the test.
        let before = cells[0].phases[0].space_before.unwrap();
        let used = before.total.0 - before.free.0;
        assert!(used > aged.bytes.0, "{before:?} {aged:?}");
        // Ageing was followed by a remount.
        let mounts = cells[0].steps.iter().filter(|step| step.step == "mount");
        let fresh_mounts = fresh.steps.iter().filter(|step| step.step == "mount");
        assert_eq!(mounts.count(), fresh_mounts.count() + 1);
    }
    for said in [
        "The price of age:",
        "ext4-aged (agrawal, 80% full, 1500 operations) took ",
        "Contenders are of different age: fresh (ext4, xfs, btrfs)",
    ] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    let page = run(sandbox.fsarena().args(["report", "--format", "html"])).assert_code(0).stdout;
    assert!(page.contains("<section id=\"ageing\""));
    let json = run(sandbox.fsarena().args(["report", "--format", "json"])).assert_code(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let prices = json["analysis"]["ageing"]["prices"].as_array().unwrap();
    assert_eq!(prices.len(), 3);
    assert!(!prices[0]["results"].as_array().unwrap().is_empty());
    sandbox.assert_clean();
}

#[test]
fn full_filesystems_do_not_fail_and_equal_contenders_age_equally() {
    let sandbox = Sandbox::new();
    let age = format!("profile = \"git-history\", fill = \"95%\", {OPERATIONS}");
    run(&mut campaign(&sandbox, &["one=ext4", "two=ext4"], &age, &[])).assert_code(0);
    let results = sandbox.results();
    let [one, two] = ["one-aged", "two-aged"].map(|name| record(cells_of(&results, name)[0]));
    for aged in [&one, &two] {
        assert!(aged.fill.0.abs_diff(950) <= AgeingSpec::TOLERANCE.0, "{aged:?}");
    }
    // The fill of ext4 depends slightly on random values of mkfs, which are the only difference.
    assert!(one.files.abs_diff(two.files) * 100 <= one.files, "{one:?} {two:?}");
    assert!(one.written.0.abs_diff(two.written.0) * 100 <= one.written.0, "{one:?} {two:?}");
    sandbox.assert_clean();
}

#[test]
fn a_test_that_does_not_fit_is_refused_with_the_needed_size() {
    let sandbox = Sandbox::new();
    let run_with = |size: &str| {
        let mut command = sandbox.campaign(&["ext4"], "trial");
        command.args(["--age", "agrawal", "--fill", "90%", "--size", size, "--dry-run"]);
        run(&mut command)
    };
    let refused = run_with("64MiB").assert_code(2).stderr;
    assert_eq!(refused.lines().count(), 1, "{refused}");
    assert!(refused.contains("ext4-aged: the test `"), "{refused}");
    assert!(refused.contains("in addition to a fill of 90%, which leaves"), "{refused}");
    let (_, rest) = refused.split_once("give --size ").expect("it says which size would do");
    let (size, _) = rest.split_once(',').unwrap();
    run_with(size).assert_code(0);
    sandbox.assert_clean();
}

#[test]
fn invalid_ageing_options_are_refused_in_one_line() {
    let sandbox = Sandbox::new();
    for (options, said) in [
        (&["--fill", "80%"][..], "needs --age PROFILE"),
        (&["--age", "agrawl"], "did you mean `agrawal`?"),
        (&["--age", "agrawal", "--fill", "99%"], "expected a percentage from 5% to 95%"),
    ] {
        let mut command = sandbox.campaign(&["ext4"], "trial");
        let refused = run(command.args(options)).assert_code(2).stderr;
        assert!(refused.contains(said), "{refused}");
    }
    let listed = run(sandbox.fsarena().args(["list", "ages"])).assert_code(0).stdout;
    for name in ["agrawal", "git-history", "wang-os"] {
        assert!(listed.contains(name), "{listed}");
    }
}

#[test]
fn a_test_that_makes_its_filesystem_is_unsupported_aged_and_runs_fresh() {
    let sandbox = Sandbox::new();
    let age = format!("profile = \"wang-os\", fill = \"50%\", {OPERATIONS}");
    let options = ["--suite", "lifecycle"];
    run(&mut campaign(&sandbox, &["ext4"], &age, &options)).assert_code(0);
    let results = sandbox.results();
    let of = |contender: &str| {
        let mut cells = results.cells.iter();
        let cell = cells.find(|s| s.cell.contender == contender && s.cell.test == "lifecycle");
        cell.unwrap().result.clone().unwrap()
    };
    assert_eq!(of("ext4").status, Status::Ok);
    let aged = of("ext4-aged");
    assert_eq!((aged.status, &aged.age), (Status::Unsupported, &None));
    let reason = aged.failure.unwrap().reason;
    assert!(reason.contains("makes its filesystem itself, which is never aged"), "{reason}");
    sandbox.assert_clean();
}

#[test]
fn an_error_during_ageing_is_a_result_of_that_step() {
    let sandbox = Sandbox::new();
    sandbox.add_faulty("bad", &["errno-on=unlink:EIO"]);
    let age = format!("profile = \"agrawal\", fill = \"20%\", {OPERATIONS}");
    run(&mut campaign(&sandbox, &["bad"], &age, &[])).assert_code(0);
    let results = sandbox.results();
    let aged = cells_of(&results, "bad-aged")[0];
    assert_eq!(aged.status, Status::Failed);
    let failure = aged.failure.as_ref().unwrap();
    assert_eq!(failure.step, "age");
    assert_eq!(failure.error.as_ref().unwrap().name, "EIO");
    assert!(aged.phases.iter().all(|phase| phase.status == Status::Skipped));
    assert_eq!(cells_of(&results, "bad")[0].status, Status::Ok);
    sandbox.assert_clean();
}

/// Returns the aged images in the cache of the sandbox.
fn kept_images(sandbox: &Sandbox) -> Vec<PathBuf> {
    let entries = fs::read_dir(sandbox.path("cache/fsarena/aged")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some()).collect()
}

#[test]
fn a_kept_image_gives_the_next_campaign_the_same_state_and_a_damaged_one_is_replaced() {
    let sandbox = Sandbox::new();
    let age = format!("profile = \"agrawal\", fill = \"80%\", {OPERATIONS}");
    let campaign = |seed: &str| {
        let options = ["--keep-aged", "--seed", seed];
        let mut command = campaign(&sandbox, &["ext4"], &age, &options);
        command.env("XDG_CACHE_HOME", sandbox.path("cache"));
        let said = run(&mut command).assert_code(0).stderr;
        let results = sandbox.results();
        let cells = cells_of(&results, "ext4-aged");
        let records = cells.iter().map(|cell| record(cell));
        let remarks = cells.iter().flat_map(|cell| cell.remarks.clone());
        (records.collect::<Vec<_>>(), remarks.collect::<Vec<_>>(), said)
    };
    let (first, remarks, _) = campaign("1");
    assert!(remarks.is_empty(), "{remarks:?}");
    let images = kept_images(&sandbox);
    assert_eq!(images.len(), 1);
    let whole = fs::read(&images[0]).unwrap();
    assert!(whole.len() < 64 << 20, "holes are not stored: {}", whole.len());

    let (second, remarks, _) = campaign("2");
    for record in &second {
        let hash = record.image_hash.clone().unwrap();
        assert!(images[0].ends_with(format!("{hash}.zst")));
        let kept = None;
        let made = first.iter().find(|one| one.image_hash.is_none()).unwrap();
        assert_eq!(
            AgeingResult { image_hash: kept, ..record.clone() },
            *made,
            "to the score and the time"
        );
    }
    assert!(remarks.iter().all(|r| r.contains("that of a kept image")), "{remarks:?}");
    let report = sandbox.report();
    assert!(report.contains("an aged state out of 1 kept image"), "{report}");
    let mut list = sandbox.fsarena();
    list.env("XDG_CACHE_HOME", sandbox.path("cache")).args(["list", "aged"]);
    let listed = run(&mut list).assert_code(0).stdout;
    assert!(listed.contains("ext4 (agrawal, 80% full, 1500 operations)"), "{listed}");

    let mut damaged = whole;
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(&images[0], &damaged).unwrap();
    let (third, remarks, said) = campaign("3");
    assert!(remarks[0].contains("was damaged (its checksum is wrong)"), "{remarks:?}");
    assert!(said.contains("aged the filesystem again"), "{said}");
    let [before, now] = [&first[0], &third[0]].map(|record| record.operations);
    assert!(before.abs_diff(now) * 100 <= before, "it was aged by the same draws");
    assert_eq!(kept_images(&sandbox), images);
    assert!(campaign("4").0.iter().all(|record| record.image_hash.is_some()));
}

#[test]
fn keep_aged_is_refused_in_one_line_if_images_cannot_be_kept() {
    let sandbox = Sandbox::new();
    for (options, reason) in [
        (&["-c", "ext4"][..], "needs --age PROFILE"),
        (&["-c", "ext4", "--age", "agrawal", "--device", "/dev/null"], "aged again"),
        (&["-c", "btrfs@disks=2", "-s", "tree", "--age", "agrawal"], "one image"),
    ] {
        let mut command = sandbox.fsarena();
        command.args(["run", "--keep-aged", "--dry-run"]).args(options);
        let refused = run(&mut command).assert_code(2).stderr;
        assert!(refused.contains(reason), "{refused}");
    }
}
