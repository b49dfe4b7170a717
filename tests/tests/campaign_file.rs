//! A campaign file names variants of a filesystem. Errors in one are reported with their position.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use end_to_end::{DirectoryEntry, Sandbox, cells_of, program, run};
use model::{Bytes, CellResult, Status};

const VARIANTS: &str = r#"
name = "journals"
contenders = [
  "watched",
  "watched:data=journal",
  { name = "late", filesystem = "watched", mount_options = ["data=writeback"] },
  { name = "none", filesystem = "watched", mkfs_options = ["-O", "^has_journal"] },
]
suites = ["trial"]
profile = "smoke"
rounds = 2
seed = 5
size = "64 MiB"
"#;

/// Mounts, and prints the options that the kernel uses.
const MOUNT: &str = "mount -o \"$1\" \"$2\" \"$3\" && cat \"/proc/fs/ext4/${2##*/}/options\"";

fn write(sandbox: &Sandbox, text: &str) -> PathBuf {
    let file = sandbox.path("campaign.toml");
    fs::write(&file, text).unwrap();
    file
}

/// Returns the data mode (`data=`) that the kernel reported at the mount, or `None` without a
/// journal.
fn treatment(cell: &CellResult) -> Option<&str> {
    let mount = cell.steps.iter().find(|s| s.step == "mount");
    let options = &mount.expect("every cell is mounted").output;
    assert!(options.lines().any(|line| line == "rw"), "{options}");
    options.lines().find_map(|line| line.strip_prefix("data="))
}

#[test]
fn variants_of_a_filesystem_compete_under_separate_names() {
    let sandbox = Sandbox::new();
    let mount = ["sh", "-c", MOUNT, "sh", "{options}", "{device}", "{mountpoint}"];
    sandbox.add(&DirectoryEntry::ext4("watched").mount(&mount));
    let mut command = sandbox.fsarena();
    command.arg("run").arg(write(&sandbox, VARIANTS)).arg("--work-dir");
    run(command.arg(sandbox.path("work"))).assert_code(0);
    let (results, report) = (sandbox.results(), sandbox.report());
    let campaign = &results.campaign;
    assert_eq!((campaign.name.as_str(), campaign.rounds), ("journals", 2));
    assert_eq!((campaign.seed, campaign.size), (5, Bytes::mib(64)));
    for (name, data) in [
        ("watched", Some("ordered")),
        ("watched:data=journal", Some("journal")),
        ("late", Some("writeback")),
        ("none", None),
    ] {
        let cells = cells_of(&results, name);
        assert_eq!(cells.len(), 2, "{name}");
        for cell in cells {
            assert_eq!(cell.status, Status::Ok, "{name}: {:?}", cell.failure);
            assert_eq!(treatment(cell), data, "{name}");
        }
        assert!(report.contains(name), "{name}: {report}");
    }
    sandbox.assert_clean();
}

#[test]
fn options_are_tried_before_the_campaign_and_in_a_dry_run() {
    let sandbox = Sandbox::new();
    let work = sandbox.path("work");
    for (contender, said) in [
        ("ext4:no-such-option", "cannot mount `ext4:no-such-option`: ext4: Unknown parameter"),
        ("ext4:data=backwards", "cannot mount `ext4:data=backwards`: "),
    ] {
        for more in [&["--dry-run"][..], &[]] {
            let mut command = sandbox.fsarena();
            command.args(["run", "-c", "ext4:noatime", "-c", contender, "-s", "tree"]);
            command.args(["--profile", "smoke", "--size", "96MiB", "--work-dir"]).arg(&work);
            let ended = run(command.args(more)).assert_code(2);
            let told = ended.stderr.lines().last().unwrap_or_default();
            assert!(told.contains(said) && told.ends_with("; correct the options"), "{told}");
        }
    }
    let text = "contenders = [{ name = \"odd\", filesystem = \"ext4\", mkfs_options = [\"-O\", \"no-such-feature\"] }]\nsuites = [\"tree\"]\nprofile = \"smoke\"\nsize = \"96 MiB\"";
    let file = write(&sandbox, text);
    let mut command = sandbox.fsarena();
    let ended = run(command.arg("run").arg(&file).arg("--work-dir").arg(&work)).assert_code(2);
    assert!(ended.stderr.contains("cannot create `odd`: "), "{}", ended.stderr);
    assert!(ended.stderr.contains("no-such-feature"), "{}", ended.stderr);
    sandbox.assert_clean();
    assert_eq!(fs::read_dir(&work).map_or(0, Iterator::count), 0, "no image remains");
    let listed = run(sandbox.fsarena().args(["list", "campaigns", "--json"])).assert_code(0);
    assert!(!listed.stdout.contains("smoke"), "nothing was stored: {}", listed.stdout);
}

#[test]
fn a_dry_run_checks_its_places_and_creates_nothing() {
    let sandbox = Sandbox::new();
    let plan = |more: &[&str]| {
        let mut command = sandbox.fsarena();
        command.args(["run", "-c", "ext4", "-s", "tree", "--profile", "smoke", "--dry-run"]);
        let ended = run(command.args(more));
        (ended.code, ended.stderr)
    };
    let (code, told) = plan(&["--device", "/dev/no-such-device"]);
    assert!(code != Some(0) && told.contains("/dev/no-such-device"), "{told}");
    let (code, told) = plan(&["--size", "4 PiB"]);
    assert!(code != Some(0) && told.contains("PiB are needed"), "{told}");
    let file = write(&sandbox, "not a directory").join("below");
    let below = file.to_str().unwrap();
    let (code, told) = plan(&["--work-dir", below]);
    assert!(code != Some(0) && told.contains("campaign.toml"), "{told}");
    let mut command = Command::new(program::fsarena());
    command.args(["--db", below, "run", "-c", "ext4", "-s", "tree", "--dry-run"]);
    let ended = run(command.arg("--work-dir").arg(sandbox.root()));
    assert!(ended.code != Some(0) && ended.stderr.contains("campaign.toml"), "{}", ended.stderr);
    let work = sandbox.path("missing");
    let mut command = Command::new(program::fsarena());
    command.arg("--db").arg(work.join("fsarena.db")).args(["run", "-c", "ext4", "-s", "tree"]);
    let told = run(&mut command).assert_code(2).stderr;
    assert!(told.contains("create it with `mkdir -p "), "{told}");
    assert!(!work.exists(), "{told}");
    let (code, told) = plan(&["--work-dir", work.to_str().unwrap()]);
    let shown = work.display();
    let expected = format!("--work-dir {shown} does not exist; create it with `mkdir -p {shown}`");
    assert!(code == Some(2) && told.trim_end().ends_with(&expected), "{told}");
    assert!(!work.exists(), "a dry run creates nothing");
    let mut command = sandbox.fsarena();
    command.args(["run", "-c", "ext4", "-s", "tree", "--profile", "smoke"]);
    let ended = run(command.arg("--work-dir").arg(&work)).assert_code(2);
    assert!(ended.stderr.trim_end().ends_with(&expected), "{}", ended.stderr);
    assert!(!work.exists() && !sandbox.path("fsarena.db").exists());
}

/// An invalid file, the line of the error, and parts of the one-line message.
const WRONG: [(&str, usize, &[&str]); 10] = [
    ("contenders = [\"ext4\"]\nround = 3", 2, &["`round`", "did you mean", "`rounds`"]),
    ("contenders = [\"ext4\"]\nrounds = 0", 2, &["`rounds`", "expected", "1"]),
    ("contenders = [\"ext4\"]\nrounds = \"three\"", 2, &["`rounds`", "expected"]),
    ("contenders = [\"ext4\"]\n\nsize = \"1 potato\"", 3, &["`size`", "expected"]),
    ("contenders = [\n  \"ext4\",\n  \"ext5\",\n]", 3, &["`ext5`", "`ext4`"]),
    ("contenders = [\"ext4\"]\nprofile = \"huge\"", 2, &["`huge`", "expected", "smoke"]),
    ("contenders = [\"ext4\"]\nsuites = [\"bonny\"]", 2, &["`bonny`", "`bonnie`"]),
    ("contenders = [\"ext4\"]\nbackend = \"dir\"", 2, &["`dir`", "expected"]),
    ("rounds = 3", 1, &["`contenders`"]),
    ("contenders = [\"ext4\"\nrounds = 3", 2, &["expected"]),
];

#[test]
fn errors_are_reported_in_one_line_with_their_position() {
    let sandbox = Sandbox::new();
    for (text, line, words) in WRONG {
        let file = write(&sandbox, text);
        let ended = run(sandbox.fsarena().arg("run").arg(&file)).assert_code(2);
        let said = ended.stderr.trim_end();
        assert_eq!(said.lines().count(), 1, "{text}:\n{said}");
        let place = format!("{}:{line}: ", file.display());
        assert!(said.contains(&place), "{place}: {said}");
        for word in words {
            assert!(said.contains(word), "{text}:\n{said}\nwithout {word}");
        }
        assert_eq!(ended.stdout, "", "{text}");
    }
    assert!(!sandbox.path("fsarena.db").exists(), "nothing was stored");
}
