//! Mounts are nosuid,nodev and private. A campaign in a directory needs no root and never leaves
//! the directory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use end_to_end::{
    CommandOutput, DirectoryEntry, Sandbox, cells_of, leak_check, program, results_of, run, succeed,
};
use model::Status;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// Timeout for an event that happens immediately or never.
const NEVER: Duration = Duration::from_secs(120);
const NOBODY: u32 = 65_534;

/// Returns the options of a mount: the sixth field of a mountinfo line.
fn options(line: &str) -> Vec<&str> {
    line.split(' ').nth(5).unwrap_or_default().split(',').collect()
}

#[test]
fn mounts_are_nosuid_and_nodev_in_a_private_namespace() {
    let sandbox = Sandbox::new();
    let script = "mount -o \"$1\" \"$2\" \"$3\" && readlink /proc/self/ns/mnt && \
                  grep \" $3 \" /proc/self/mountinfo";
    let line = ["sh", "-c", script, "sh", "{options}", "{device}", "{mountpoint}"];
    sandbox.add(&DirectoryEntry::ext4("watched").mount(&line));
    run(&mut sandbox.campaign(&["watched"], "names")).assert_code(0);
    let results = sandbox.results();
    let cell = cells_of(&results, "watched")[0];
    assert_eq!(cell.status, Status::Ok, "{:?}", cell.failure);
    let mounts: Vec<_> = cell.steps.iter().filter(|s| s.step == "mount").collect();
    assert_eq!(mounts.len(), 2, "at first, and again for the cold phase");
    let ours = fs::read_link("/proc/self/ns/mnt").unwrap();
    for record in mounts {
        let (namespace, line) = record.output.split_once('\n').expect("two lines");
        assert_ne!(Path::new(namespace), ours, "a private namespace");
        let options = options(line);
        assert!(options.contains(&"nosuid") && options.contains(&"nodev"), "{line}");
    }
    sandbox.assert_clean();
}

#[test]
fn a_running_campaigns_mounts_are_not_seen_outside() {
    let sandbox = Sandbox::new();
    sandbox.add_faulty("waiting", &["hang-on=fsync"]);
    let child = sandbox
        .campaign(&["waiting"], "trial")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let begin = Instant::now();
    let mounts = loop {
        let mut found = leak_check::find(sandbox.root());
        found.retain(|line| line.starts_with("mount: "));
        if !found.is_empty() || begin.elapsed() > NEVER {
            break found;
        }
        thread::sleep(Duration::from_millis(5));
    };
    let host = fs::read_to_string("/proc/self/mountinfo").unwrap();
    killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    CommandOutput::from(child.wait_with_output().unwrap()).assert_code(130);
    assert!(!mounts.is_empty(), "it mounted something");
    for line in mounts {
        let options = options(line.trim_start_matches("mount: "));
        assert!(options.contains(&"nosuid") && options.contains(&"nodev"), "{line}");
    }
    let root = sandbox.root().to_str().unwrap();
    assert!(!host.contains(root), "seen outside: {host}");
}

/// Makes the sandbox readable for an unprivileged user, and writable in these places.
fn open_to_nobody(sandbox: &Sandbox, writable: &[&str]) {
    let mode = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    mode(sandbox.root());
    for name in writable {
        let path = sandbox.path(name);
        fs::create_dir_all(&path).unwrap();
        std::os::unix::fs::chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}

/// Returns an fsarena command for an unprivileged user.
fn as_nobody(sandbox: &Sandbox) -> Command {
    let mut command = Command::new("setpriv");
    let user = NOBODY.to_string();
    command
        .args(["--reuid", &user, "--regid", &user, "--clear-groups"])
        .arg(program::fsarena())
        .arg("--db")
        .arg(sandbox.path("data/fsarena.db"))
        .arg("--catalog")
        .arg(sandbox.path("catalog"))
        .env("XDG_DATA_HOME", sandbox.path("data"))
        .stdin(Stdio::null());
    command
}

const RUN: [&str; 7] = ["run", "--profile", "smoke", "--suite", "trial", "--rounds", "1"];

#[test]
fn a_directory_campaign_needs_no_root_and_touches_no_other_files() {
    let sandbox = Sandbox::new();
    open_to_nobody(&sandbox, &["data", "place"]);
    let place = sandbox.path("place");
    let sentinel = place.join("sentinel");
    fs::write(&sentinel, "not yours").unwrap();
    std::os::unix::fs::chown(&sentinel, Some(NOBODY), Some(NOBODY)).unwrap();
    let before = fs::metadata(&sentinel).unwrap().modified().unwrap();

    run(as_nobody(&sandbox).args(RUN).arg("--dir").arg(&place)).assert_code(0);
    let results = results_of(run(as_nobody(&sandbox).args(["report", "--format", "json"])));
    assert_eq!(results.cells.len(), 1);
    let result = results.cells[0].result.as_ref().unwrap();
    assert_eq!(result.status, Status::Ok, "{:?}", result.failure);

    assert_eq!(fs::read_to_string(&sentinel).unwrap(), "not yours");
    assert_eq!(fs::metadata(&sentinel).unwrap().modified().unwrap(), before);
    let names: Vec<_> = fs::read_dir(&place).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["sentinel"], "its own sub-directory is gone");
}

#[test]
fn a_directory_with_too_little_space_is_refused() {
    let sandbox = Sandbox::new();
    let place = sandbox.path("place");
    fs::create_dir(&place).unwrap();
    succeed(Command::new("mount").args(["-t", "tmpfs", "-o", "size=4m", "none"]).arg(&place));
    let ended = run(sandbox.fsarena().args(RUN).arg("--dir").arg(&place));
    let inside = fs::read_dir(&place).unwrap().count();
    succeed(Command::new("umount").arg(&place));
    let ended = ended.assert_code(3);
    assert!(ended.stderr.contains("free") || ended.stderr.contains("space"), "{}", ended.stderr);
    assert_eq!(ended.stderr.trim_end().lines().count(), 1, "{}", ended.stderr);
    assert_eq!(inside, 0, "nothing was written");
}

#[test]
fn a_loop_campaign_without_root_is_refused() {
    let sandbox = Sandbox::new();
    open_to_nobody(&sandbox, &["data", "work"]);
    let mut command = as_nobody(&sandbox);
    command.args(RUN).args(["--contender", "ext4", "--size", "64MiB", "--work-dir"]);
    let ended = run(command.arg(sandbox.path("work"))).assert_code(3);
    assert!(ended.stderr.contains("root"), "{}", ended.stderr);
    assert_eq!(ended.stderr.trim_end().lines().count(), 1, "{}", ended.stderr);
}
