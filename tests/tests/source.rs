//! Copies from another disk: the copy equals the source byte by byte, and the source is not
//! modified.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use end_to_end::{Gate, Sandbox, TestLoopDevice, cells_of, run, succeed};
use model::{CacheState, CampaignResults, CopySource, Status};

const SIZE: u64 = 96 << 20;

/// A suite that copies the source in and keeps it.
const SUITE: &str = r#"
name = "come-in"
title = "Copies that come in and stay"
source = "made for a test"

[[test]]
name = "come-in"
title = "A tree and a file"
rationale = "The copy is compared with the original."
space = "16 MiB"

[[test.phase]]
name = "tree-in"
op = "copy-tree-in"
tree = "tree"
files = 20
directories = 4
bytes = "1 MB"
smallest = "1 KB"
largest = "100 KB"
block = "10 KiB"
cache = "warm"
ends = "syncfs"

[[test.phase]]
name = "file-in"
op = "copy-file-in"
file = "file"
size = "1 MB"
block = "64 KiB"
cache = "warm"
ends = "fsync"

[[test.phase]]
name = "verify-tree"
op = "verify-tree"
tree = "tree"
cache = "cold"
ends = "call"

[[test.phase]]
name = "verify-file"
op = "read"
file = "file"
block = "64 KiB"
verify = true
cache = "cold"
ends = "call"
"#;

/// Creates a directory with files of all sizes and links that lead out of it.
fn fill(top: &Path, outside: &Path) {
    let bytes = |size: usize| -> Vec<u8> { (0..size).map(|i| (i * 7 + i / 999) as u8).collect() };
    fs::create_dir_all(top.join("a/b/c")).unwrap();
    fs::write(top.join("a/one"), bytes(1)).unwrap();
    fs::write(top.join("a/b/some"), bytes(100_001)).unwrap();
    fs::write(top.join("a/b/c/nothing"), "").unwrap();
    fs::write(top.join("largest of them"), bytes(700_000)).unwrap();
    fs::create_dir(outside).unwrap();
    fs::write(outside.join("secret"), "of somebody else").unwrap();
    symlink(outside, top.join("a/leads-out")).unwrap();
    symlink(outside.join("secret"), top.join("secret")).unwrap();
}

/// Returns all paths below a directory with type, content, and times of change and access.
fn everything(top: &Path) -> BTreeMap<PathBuf, (Vec<u8>, [i64; 6])> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![top.to_owned()];
    while let Some(path) = waiting.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let content = match metadata.is_file() {
            true => Some(path.clone()),
            false => None,
        };
        let m = &metadata;
        let times =
            [m.mtime(), m.mtime_nsec(), m.ctime(), m.ctime_nsec(), m.atime(), m.atime_nsec()];
        let below = path.strip_prefix(top).unwrap().to_owned();
        found.insert(below, (content, times));
    }
    // Read the content last, because reading sets the access time.
    let read = |file: Option<PathBuf>| file.map(|file| fs::read(file).unwrap()).unwrap_or_default();
    found.into_iter().map(|(path, (file, times))| (path, (read(file), times))).collect()
}

/// Returns only the regular files, without links that fsarena must not follow.
fn files(top: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let all = everything(top).into_iter();
    all.filter(|(path, _)| fs::symlink_metadata(top.join(path)).unwrap().is_file())
        .map(|(path, (content, _))| (path, content))
        .collect()
}

/// Returns a campaign on a device, which keeps the last filesystem created there.
fn copy_to(sandbox: &Sandbox, device: &TestLoopDevice, source: &Path) -> Command {
    sandbox.add_suite("come-in", SUITE);
    let mut command = sandbox.campaign(&["ext4"], "come-in");
    command.arg("--device").arg(device.path()).arg("--source").arg(source);
    command
}

fn assert_ok(results: &CampaignResults, contender: &str) {
    for cell in cells_of(results, contender) {
        assert_eq!(cell.status, Status::Ok, "{:?}", cell.failure);
    }
}

/// Checks the copied files on the device after the last cell.
fn copied(sandbox: &Sandbox, device: &TestLoopDevice, look: impl FnOnce(&Path)) {
    let at = sandbox.path("copied");
    fs::create_dir(&at).unwrap();
    succeed(Command::new("mount").args(["-o", "ro"]).arg(device.path()).arg(&at));
    look(&at);
    succeed(Command::new("umount").arg(&at));
}

#[test]
fn a_copy_equals_the_source_directory_and_does_not_modify_it() {
    let sandbox = Sandbox::new();
    let (source, outside) = (sandbox.path("source"), sandbox.path("outside"));
    fill(&source, &outside);
    let before = everything(&source);
    let device = TestLoopDevice::new(&sandbox.path("disk"), SIZE);
    run(&mut copy_to(&sandbox, &device, &source)).assert_code(0);

    let results = sandbox.results();
    assert_ok(&results, "ext4");
    let Some(CopySource::Directory { path, contents }) = &results.campaign.source else {
        panic!("{:?}", results.campaign.source);
    };
    assert_eq!(*path, source);
    assert_eq!((contents.files, contents.directories, contents.skipped_entries), (4, 3, 2));
    assert_eq!(contents.bytes.0, 800_002);
    let cell = cells_of(&results, "ext4")[0];
    let phase = |name: &str| cell.phases.iter().find(|p| p.phase == name).unwrap();
    assert_eq!(phase("tree-in").bytes_written.0, 800_002);
    assert_eq!(phase("file-in").bytes_written.0, 700_000);
    assert_eq!(phase("tree-in").cache, CacheState::Cold, "of the source, too");
    let condition = results.environments[0].conditions.iter().find(|c| c.name == "source");
    let condition = &condition.expect("it is recorded").value;
    assert!(condition.contains("4 files in 3 directories"), "{condition}");
    assert!(condition.contains("2 links and other entries are skipped"), "{condition}");
    let page =
        run(sandbox.fsarena().args(["report", "--format", "markdown"])).assert_code(0).stdout;
    assert!(page.contains("**Source:** directory "), "{page}");

    copied(&sandbox, &device, |at| {
        assert_eq!(files(&at.join("tree")), files(&source), "byte by byte");
        let largest = fs::read(source.join("largest of them")).unwrap();
        assert!(fs::read(at.join("file")).unwrap() == largest);
        assert!(!at.join("tree/secret").exists() && !at.join("tree/a/leads-out").exists());
    });
    // Access times may differ, because this test read the files and looked at links.
    let after = everything(&source);
    for (path, (content, times)) in before {
        let (now, times_now) = &after[&path];
        assert!(*now == content, "{path:?}");
        assert_eq!(times_now[..4], times[..4], "{path:?}: mtime and ctime");
    }
    assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "of somebody else");
    drop(device);
    sandbox.assert_clean();
}

/// Waits for the device to be free: a parallel test's cell inherits the mount in its namespace
/// until it ends, and the unmount then writes.
fn wait_until_free(device: &Path) {
    let begun = Instant::now();
    while let Err(error) = fs::File::options().read(true).custom_flags(libc::O_EXCL).open(device) {
        assert!(begun.elapsed() < Duration::from_secs(120), "{error}");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_source_device_is_not_modified_and_refused_if_in_use() {
    let sandbox = Sandbox::new();
    let disk = TestLoopDevice::new(&sandbox.path("disk"), SIZE);
    let other = TestLoopDevice::new(&sandbox.path("other"), SIZE / 2);
    succeed(Command::new("mke2fs").args(["-q", "-t", "ext4"]).arg(other.path()));
    let mounted = sandbox.path("mounted");
    fs::create_dir(&mounted).unwrap();
    succeed(Command::new("mount").arg(other.path()).arg(&mounted));
    fill(&mounted, &sandbox.path("outside"));
    let there = files(&mounted);

    let ended = run(&mut copy_to(&sandbox, &disk, other.path())).assert_code(3);
    let hint = format!("give that directory (--source {})", mounted.display());
    assert!(ended.stderr.contains(&hint), "{}", ended.stderr);
    assert_eq!(ended.stderr.trim_end().lines().count(), 1, "{}", ended.stderr);

    succeed(Command::new("umount").arg(&mounted));
    wait_until_free(other.path());
    let before = fs::read(other.image()).unwrap();
    run(&mut copy_to(&sandbox, &disk, other.path())).assert_code(0);
    let after = fs::read(other.image()).unwrap();
    let written = (0..before.len()).filter(|i| before[*i] != after[*i]);
    let written: Vec<usize> = written.collect();
    assert!(written.is_empty(), "bytes were written: {written:?}");
    let results = sandbox.results();
    assert_ok(&results, "ext4");
    assert!(matches!(results.campaign.source, Some(CopySource::Device { .. })));
    copied(&sandbox, &disk, |at| {
        assert_eq!(files(&at.join("tree")), there);
    });
    drop((disk, other));
    sandbox.assert_clean();
}

#[test]
fn a_second_image_is_filled_once_and_read_by_every_cell() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.campaign(&["ext4", "xfs"], "tree");
    command.args(["--suite", "large-file", "--size", "400 MiB", "--source", "image"]);
    let ended = run(&mut command).assert_code(0);
    assert_eq!(ended.stderr.matches("filling second image").count(), 1, "{}", ended.stderr);
    let results = sandbox.results();
    for contender in ["ext4", "xfs"] {
        assert_ok(&results, contender);
        let cells = cells_of(&results, contender).into_iter();
        let phases: Vec<_> = cells.flat_map(|cell| &cell.phases).collect();
        let phase = |name: &str| *phases.iter().find(|p| p.phase == name).unwrap();
        assert_eq!(phase("tree-in").bytes_written.0, 2_000_000);
        assert_eq!(phase("copy-in").bytes_written.0, 4 << 20);
        for copying in ["tree-in", "copy-in"] {
            assert_eq!(phase(copying).cache, CacheState::Cold, "{copying}");
        }
    }
    let Some(CopySource::Image { size, .. }) = &results.campaign.source else {
        panic!("{:?}", results.campaign.source);
    };
    assert!(size.0 > 6_000_000);
    sandbox.assert_clean();
}

/// The tree is located on a second disk of the guest. The test uses virtual time and needs no root.
#[test]
fn in_a_guest_the_source_is_a_second_disk() {
    let sandbox = Sandbox::new();
    let run_in_guest = |source: &[&str]| {
        let mut command = sandbox.in_guests(sandbox.fsarena(), &["ext4", "hpfs"], "2");
        command.args(["--suite", "tree"]).args(source);
        run(&mut command).assert_code(0);
        sandbox.results()
    };
    let with = run_in_guest(&["--source", "image"]);
    let without = run_in_guest(&[]);
    for contender in ["ext4", "hpfs"] {
        assert_ok(&with, contender);
        let wall = |results: &CampaignResults| {
            let cells = cells_of(results, contender);
            let phase = cells[0].phases.iter().find(|p| p.phase == "tree-in").unwrap();
            assert_eq!(phase.bytes_written.0, 2_000_000);
            phase.elapsed
        };
        let (from_disk, from_memory) = (wall(&with), wall(&without));
        assert!(
            from_disk > from_memory,
            "{contender}: reading takes time, {from_disk} {from_memory}"
        );
        assert!(
            cells_of(&without, contender).iter().all(|cell| !cell.from_cache),
            "a cell without a source is another one"
        );
    }
    sandbox.assert_clean();
}

/// The campaign stops if the source is modified, and can be resumed after the change is reverted.
#[test]
fn a_modified_source_stops_the_campaign_and_resume_copies_again() {
    let sandbox = Sandbox::new();
    sandbox.add_suite("come-in", SUITE);
    let source = sandbox.path("source");
    fill(&source, &sandbox.path("outside"));
    let gate = Gate::new(&sandbox);
    let mut command = sandbox.campaign(&["gate"], "come-in");
    let child = command
        .arg("--source")
        .arg(&source)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let waiting = gate.reached();
    let changed = source.join("a/one");
    let reference = sandbox.path("reference");
    succeed(Command::new("cp").arg("-p").arg(&changed).arg(&reference));
    fs::write(&changed, "other").unwrap();
    waiting.release();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("the source is not what it was"), "{said}");

    let resume = || run(sandbox.fsarena().arg("resume"));
    assert!(resume().assert_code(3).stderr.contains("the source is not what it was"));
    succeed(Command::new("cp").arg("-p").arg(&reference).arg(&changed));
    resume().assert_code(0);
    assert_ok(&sandbox.results(), "gate");
    sandbox.assert_clean();
}

#[test]
fn a_source_that_cannot_be_one_is_refused_before_anything_is_stored() {
    let sandbox = Sandbox::new();
    sandbox.add_suite("come-in", SUITE);
    let empty = sandbox.path("empty");
    fs::create_dir(&empty).unwrap();
    let refused = |suite: &str, source: &Path, because: &str| {
        let mut command = sandbox.campaign(&["tmpfs"], suite);
        let ended = run(command.arg("--source").arg(source)).assert_code(2);
        assert!(ended.stderr.contains(because), "{}", ended.stderr);
        assert_eq!(ended.stderr.trim_end().lines().count(), 1, "{}", ended.stderr);
    };
    refused("come-in", &sandbox.path("nowhere"), "No such file");
    refused("come-in", &empty, "holds no file to copy");
    refused("come-in", sandbox.root(), "overlap");
    refused("trial", &empty, "no test of these suites copies from it");
    let below = empty.join("below");
    fs::create_dir(&below).unwrap();
    fs::write(empty.join("file"), "theirs").unwrap();
    succeed(Command::new("mount").args(["-t", "tmpfs", "none"]).arg(&below));
    refused("come-in", &empty, "contains a mount");
    succeed(Command::new("umount").arg(&below));
    fs::remove_file(empty.join("file")).unwrap();
    let mut guests = sandbox.campaign(&["tmpfs"], "come-in");
    let ended = run(guests
        .args(["--dry-run", "--backend", "dir", "--dir"])
        .arg(&empty)
        .args(["--source", "image"]));
    assert_ne!(ended.code, Some(0));
}
