//! Builds of guests: stored files are complete or rebuilt, and a build that is killed, interrupted
//! or out of space leaves no files or processes.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use end_to_end::debian::{Debian, STEPS};
use end_to_end::{CommandOutput, Sandbox, leak_check, run};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid, chown};

use crate::stopwatch::Stopwatch;

/// Promised time of the reaction to Ctrl-C.
const PROMISE: Duration = Duration::from_secs(2);
const SIGNALS: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];
const INTERRUPTED: &str = "fsarena: interrupted; partial files were removed";

/// A sandbox with a separate cache and a small Debian.
struct Scratch {
    sandbox: Sandbox,
    debian: Debian,
}

impl Scratch {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let debian = Debian::new(&sandbox.path("debian"));
        Self { sandbox, debian }
    }

    fn cache(&self) -> PathBuf {
        self.sandbox.path("cache/fsarena")
    }

    /// Returns an fsarena command with this Debian and this cache.
    fn fsarena(&self, words: &[&str]) -> Command {
        let mut command = self.sandbox.fsarena();
        self.debian.for_program(&mut command);
        command
            .args(words)
            .env("XDG_CACHE_HOME", self.sandbox.path("cache"))
            .env("TMPDIR", self.temporary());
        command
    }

    /// Returns the directory for temporary files of programs, which must also be empty at the end.
    fn temporary(&self) -> PathBuf {
        let directory = self.sandbox.path("tmp");
        fs::create_dir_all(&directory).unwrap();
        directory
    }

    fn build(&self) -> CommandOutput {
        run(&mut self.fsarena(&["guest", "build"]))
    }

    /// Builds the guest and returns its directory.
    fn built(&self) -> PathBuf {
        self.build().assert_code(0);
        self.guest()
    }

    fn guest(&self) -> PathBuf {
        let guests = names(&self.cache());
        let mut guests = guests.iter().filter(|name| name.starts_with("guest-"));
        self.cache().join(guests.next().expect("there is a guest"))
    }

    /// Starts a build that blocks at a step.
    fn standing_still(&self, words: &[&str], step: &str) -> Child {
        self.debian.pause_at(step);
        let child = self
            .fsarena(words)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        self.debian.wait_for_stop();
        child
    }

    /// Checks that the cache contains only permanent files, and that no processes remain.
    #[track_caller]
    fn assert_empty(&self, when: &str) {
        let left: Vec<String> = names(&self.cache());
        let left: Vec<&String> = left.iter().filter(|name| *name != "lock").collect();
        assert_eq!(left, [""; 0], "{when}");
        assert_eq!(names(&self.temporary()), [""; 0], "{when}");
        // A cell of another test may hold a copy of a mount until it ends.
        assert_eq!(leak_check::find_lasting(self.sandbox.root()), [""; 0], "{when}");
    }

    /// Checks that the cache contains only a guest, and packages and modules for the next one.
    #[track_caller]
    fn assert_whole(&self) {
        let there = names(&self.cache());
        let kind = |name: &String| name.split('-').next().unwrap_or_default().to_owned();
        let mut kinds: Vec<String> = there.iter().map(kind).collect();
        assert!(kinds.iter().any(|kind| kind == "modules"), "{there:?}");
        kinds.retain(|kind| kind != "modules");
        let whole = ["answer", "answer", "apt", "guest", "lock", "packages"];
        assert_eq!(kinds, whole, "{there:?}");
        assert_eq!(names(&self.temporary()), [""; 0]);
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Returns all files below a directory, by relative path.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for name in names(directory) {
        let path = directory.join(&name);
        if path.is_dir() {
            let below = files(&path).into_iter();
            found.extend(below.map(|(below, content)| (format!("{name}/{below}"), content)));
        } else {
            found.insert(name, fs::read(path).unwrap());
        }
    }
    found
}

fn send(signal: Signal, child: &Child) {
    kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
}

fn last_line(text: &str) -> &str {
    text.lines().next_back().unwrap_or_default()
}

/// Interrupts a blocked build by a signal and checks all promises for that case.
#[track_caller]
fn interrupt(place: &Scratch, words: &[&str], step: &str, signal: Signal) {
    let child = place.standing_still(words, step);
    let stopwatch = Stopwatch::start();
    send(signal, &child);
    let ended = CommandOutput::from(child.wait_with_output().unwrap());
    let when = format!("{words:?}, {step}, {signal}");
    stopwatch.assert_within(PROMISE, &when);
    let ended = ended.assert_code(130);
    assert_eq!(last_line(&ended.stderr), INTERRUPTED, "{when}");
    let told = ended.stderr.lines().filter(|line| line.starts_with("fsarena: "));
    assert_eq!(told.count(), 1, "{when}: {}", ended.stderr);
    place.assert_empty(&when);
    place.debian.resume();
}

#[test]
fn a_dry_run_makes_no_guest() {
    let place = Scratch::new();
    let words = ["run", "--backend", "vm", "--profile", "smoke", "--dry-run"];
    let ended = run(&mut place.fsarena(&words)).assert_code(3);
    let said =
        "fsarena: no such guest is made yet, and a dry run makes none: `fsarena guest build` does";
    assert_eq!(last_line(&ended.stderr), said);
    place.assert_empty("after a dry run");
}

#[test]
fn a_signal_ends_a_build_and_its_children_at_each_step() {
    let place = Scratch::new();
    for (step, signal) in STEPS.into_iter().zip(SIGNALS.into_iter().cycle()) {
        interrupt(&place, &["guest", "build"], step, signal);
    }
    place.built();
    place.assert_whole();
}

/// Simulates a slow disk, which keeps the files busy.
#[test]
fn busy_files_are_named_and_removed_by_the_next_build() {
    let place = Scratch::new();
    let child = place.standing_still(&["guest", "build"], "bringing");
    let partial = names(&place.cache()).into_iter().find(|name| name.starts_with("partial-"));
    let partial = place.cache().join(partial.expect("a build is running"));
    let busy = partial.join("packages");
    let disk = FullDisk::mount(&busy, 16);
    send(Signal::SIGTERM, &child);
    let ended = CommandOutput::from(child.wait_with_output().unwrap()).assert_code(130);
    let told = format!(
        "fsarena: interrupted; {} is not removed yet: the next build does that",
        partial.display()
    );
    assert_eq!(last_line(&ended.stderr), told);
    drop(disk);
    place.debian.resume();
    place.built();
    place.assert_whole();
}

#[test]
fn a_signal_ends_the_build_of_every_command() {
    let place = Scratch::new();
    let work = place.sandbox.path("work");
    let campaign = ["run", "--backend", "vm", "-c", "ext4", "--work-dir"];
    let campaign = [&campaign[..], &[work.to_str().unwrap()]].concat();
    let demands: [&[&str]; 3] = [&campaign, &["guest", "shell", "ext4"], &["guest", "selftest"]];
    for (words, signal) in demands.into_iter().zip(SIGNALS) {
        interrupt(&place, words, "bringing", signal);
    }
}

#[test]
fn a_build_that_is_killed_leaves_no_process_and_the_next_removes_its_files() {
    let place = Scratch::new();
    for step in STEPS {
        let mut child = place.standing_still(&["guest", "build"], step);
        child.kill().unwrap();
        child.wait().unwrap();
        let left = leak_check::find_lasting(place.sandbox.root());
        assert_eq!(left, [""; 0], "{step}");
        let partial = names(&place.cache());
        let partial = partial.iter().filter(|name| name.starts_with("partial-"));
        assert_eq!(partial.count(), 1, "{step}: only what the last one has left");
        place.debian.resume();
    }
    place.built();
    place.assert_whole();
}

/// Commands that only look for a guest also remove leftovers.
#[test]
fn leftovers_of_a_killed_build_are_removed_by_any_guest_lookup() {
    let place = Scratch::new();
    let mut child = place.standing_still(&["guest", "build"], "bringing");
    run(&mut place.fsarena(&["doctor"])).assert_code(0);
    let names_meanwhile = names(&place.cache());
    assert!(
        names_meanwhile.iter().any(|name| name.starts_with("partial-")),
        "the files of a running build are kept: {names_meanwhile:?}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(leak_check::find_lasting(place.sandbox.root()), [""; 0]);
    run(&mut place.fsarena(&["doctor"])).assert_code(0);
    let left = names(&place.cache());
    assert!(!left.iter().any(|name| name.starts_with("partial-")), "{left:?}");
}

#[test]
fn of_two_parallel_builds_one_waits_and_uses_the_other_result() {
    let place = Scratch::new();
    let first = place.standing_still(&["guest", "build"], "bringing");
    let mut second = place.fsarena(&["guest", "build"]);
    let second = second.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut second = second.spawn().unwrap();
    let mut said = BufReader::new(second.stderr.take().unwrap()).lines();
    let waits = said.next().unwrap().unwrap();
    assert!(waits.starts_with("waiting for another fsarena"), "{waits}");
    place.debian.resume();
    assert!(first.wait_with_output().unwrap().status.success());
    assert!(second.wait().unwrap().success());
    assert_eq!(said.count(), 0, "no further step was needed");
    let calls = place.debian.calls();
    let builds = calls.iter().filter(|call| *call == "download").count();
    assert_eq!(builds, 1, "{calls:?}");
    place.assert_whole();
}

/// Damages a guest and checks that the damage is reported and the guest is rebuilt identically.
#[track_caller]
fn assert_mended(place: &Scratch, what: &str, damage: impl FnOnce(&Path)) {
    let guest = place.guest();
    let whole = files(&guest);
    damage(&guest);
    let said = place.build().assert_code(0).stderr;
    let shown = guest.display();
    let told = format!("the guest in {shown} is damaged ({what}): making it again");
    let lines = said.lines().filter(|line| line.contains("damaged"));
    assert_eq!(lines.collect::<Vec<_>>(), [told]);
    assert!(files(&guest) == whole, "{what}");
    place.assert_whole();
    assert_eq!(place.build().assert_code(0).stderr, "");
}

/// One answer is for the state of apt, and one for machines on which apt knows no packages.
#[test]
fn without_apt_the_last_guest_is_used() {
    let place = Scratch::new();
    place.built();
    place.debian.break_apt();
    let answers: Vec<String> =
        names(&place.cache()).into_iter().filter(|name| name.starts_with("answer-")).collect();
    assert_eq!(answers.len(), 2);
    let without = answers.iter().map(|answer| {
        let file = place.cache().join(answer);
        let content = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        let built = place.build().assert_code(0);
        fs::write(&file, content).unwrap();
        built.stderr.contains("the last one is used")
    });
    let without: Vec<bool> = without.collect();
    assert_eq!(without.iter().filter(|used| **used).count(), 1, "{without:?}");
    for answer in answers {
        fs::remove_file(place.cache().join(answer)).unwrap();
    }
    place.build().assert_code(3);
}

#[test]
fn a_damaged_guest_is_reported_and_rebuilt() {
    const MODULE: &str = "modules/6.1.0-1-amd64/kernel/ext4.ko";
    let place = Scratch::new();
    place.built();
    let change = |guest: &Path, file: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let path = guest.join(file);
        let mut content = fs::read(&path).unwrap();
        change(&mut content);
        fs::write(path, content).unwrap();
    };
    assert_mended(&place, &format!("{MODULE} differs"), |guest| {
        change(guest, MODULE, &|content| content[3] ^= 1);
    });
    assert_mended(&place, "vmlinux differs", |guest| {
        change(guest, "vmlinux", &|content| content[1 << 20] ^= 0x80);
    });
    assert_mended(&place, "base.cpio differs", |guest| {
        change(guest, "base.cpio", &|content| content.truncate(100));
    });
    assert_mended(&place, "tools/sbin/mke2fs is missing", |guest| {
        fs::remove_file(guest.join("tools/sbin/mke2fs")).unwrap();
    });
    assert_mended(&place, "tools/sbin/mkfs does not belong there", |guest| {
        fs::write(guest.join("tools/sbin/mkfs"), "").unwrap();
    });
    assert_mended(&place, "manifest differs", |guest| {
        change(guest, "manifest", &|content| content[10] ^= 1);
    });
    assert_mended(&place, "manifest is missing", |guest| {
        fs::remove_file(guest.join("manifest")).unwrap();
    });
    assert_mended(&place, "it is no directory", |guest| {
        let elsewhere = place.sandbox.path("elsewhere");
        fs::rename(guest, &elsewhere).unwrap();
        symlink(elsewhere, guest).unwrap();
    });
    assert_mended(&place, "it is no directory", |guest| {
        fs::remove_dir_all(guest).unwrap();
        fs::write(guest, "no directory").unwrap();
    });
}

#[test]
fn doctor_names_the_damaged_file_and_the_repair_command() {
    let place = Scratch::new();
    let guest = place.built();
    fs::write(guest.join("vmlinux"), "no kernel").unwrap();
    let said = run(&mut place.fsarena(&["doctor"])).assert_code(0).stdout;
    let told = "is damaged (vmlinux differs): `fsarena guest build` makes it again";
    assert!(said.contains(told), "{said}");
    assert_eq!(fs::read_to_string(guest.join("vmlinux")).unwrap(), "no kernel");
}

#[test]
fn other_damaged_files_are_downloaded_again() {
    let place = Scratch::new();
    let guest = place.built();
    let whole = files(&guest);
    place.debian.calls();
    let again = |files_of: &[String], calls: &[&str]| {
        let said = place.build().assert_code(0).stderr;
        let is_named = |file: &String| said.contains(&format!("{file} is damaged: "));
        assert!(files_of.iter().any(is_named), "{said}");
        assert_eq!(place.debian.calls(), calls);
        assert!(files(&guest) == whole);
        place.assert_whole();
    };
    let flip = |file: &Path| {
        let mut content = fs::read(file).unwrap();
        *content.last_mut().unwrap() ^= 1;
        fs::write(file, content).unwrap();
    };
    // Each of the two answers names the guest.
    let answers = &names(&place.cache())[..2];
    let empty = || answers.iter().for_each(|one| fs::write(place.cache().join(one), "").unwrap());
    answers.iter().for_each(|one| flip(&place.cache().join(one)));
    again(answers, &["download"]);
    empty();
    let package = "packages/e2fsprogs_1_amd64.deb".to_owned();
    flip(&place.cache().join(&package));
    again(&[package], &["download", "bring e2fsprogs"]);
    empty();
    flip(&place.cache().join("apt/state/lists/all"));
    again(answers, &["update", "download"]);
}

/// The space grows from none to almost enough, so that each step runs out of space once.
#[test]
fn a_full_disk_is_reported_with_a_hint_and_leaves_no_files() {
    let place = Scratch::new();
    let cache = place.sandbox.path("cache");
    fs::create_dir(&cache).unwrap();
    for pages in (4..).map(|step| 4 << step) {
        let disk = FullDisk::mount(&cache, pages);
        let ended = place.build();
        if ended.code == Some(0) {
            assert!(pages * 4 > 3 << 10, "a kernel of 3 MiB does not fit");
            place.assert_whole();
            return;
        }
        let told = ended.assert_code(3).stderr;
        let told = last_line(&told);
        let full = format!("fsarena: the filesystem of {} is full", place.cache().display());
        assert!(told.starts_with(&full), "{told}");
        assert!(told.contains("needs about 1 GiB"), "{told}");
        assert!(told.contains("XDG_CACHE_HOME"), "{told}");
        assert_eq!(names(&place.cache()), ["lock"], "{told}");
        drop(disk);
        place.assert_empty(told);
    }
}

/// A small filesystem in memory.
struct FullDisk<'a>(&'a Path);

impl<'a> FullDisk<'a> {
    fn mount(on: &'a Path, pages: u32) -> Self {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={}k", pages * 4)]);
        assert!(mount.arg("none").arg(on).status().unwrap().success());
        Self(on)
    }
}

impl Drop for FullDisk<'_> {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.0).status();
        assert!(unmounted.is_ok_and(|status| status.success()));
    }
}

#[test]
fn a_cache_is_for_its_user_alone_and_any_other_is_refused() {
    let place = Scratch::new();
    let guest = place.built();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.cache()), 0o700);
    let set = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let refused = |path: &Path, why: &str| {
        for words in [&["guest", "build"][..], &["guest", "shell", "ext4"]] {
            let told = run(&mut place.fsarena(words)).assert_code(3).stderr;
            let expected = format!("fsarena: {} {why}", path.display());
            assert!(told.starts_with(&expected), "{told}");
            assert_eq!(told.lines().count(), 1, "{told}");
        }
    };
    for path in [place.cache(), guest.join("vmlinux"), place.cache().join("packages")] {
        let usual = mode(&path);
        for others in [0o020, 0o002] {
            set(&path, usual | others);
            refused(&path, "can be written by others");
        }
        set(&path, usual);
        chown(&path, Some(Uid::from_raw(4711)), None).unwrap();
        refused(&path, "belongs to user 4711");
        chown(&path, Some(Uid::from_raw(0)), None).unwrap();
    }
    assert_eq!(place.build().assert_code(0).stderr, "");
}

#[test]
fn a_umask_that_lets_others_write_is_no_matter() {
    let place = Scratch::new();
    let fsarena = place.fsarena(&["guest", "build"]);
    let mut open = Command::new("sh");
    open.args(["-c", "umask 000; exec \"$@\"", "sh"]);
    open.arg(fsarena.get_program()).args(fsarena.get_args());
    open.envs(fsarena.get_envs().filter_map(|(name, value)| Some((name, value?))));
    run(&mut open).assert_code(0);
    assert_eq!(place.build().assert_code(0).stderr, "");
}
