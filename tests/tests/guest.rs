//! Cells in guests: filesystems that the host kernel may lack, with the drivers of a real kernel.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use backend::GuestExecutor;
use config::Catalog;
use end_to_end::{guest, guest_cache, guest_recipe, program};
use guest::{Guest, Recipe, UserKernel};
use model::{Bytes, CellResult, Nanos, Phase, SizeProfile, Status, Test};
use tempfile::TempDir;

use crate::guest_bench::{Bench, execute};

const SIZE: Bytes = Bytes::mib(64);
const TREE: (&str, &str) = ("tree", "tree");
/// Tests that fit on a small image. They write files, verify them after a remount, and remove them.
const TESTS: [(&str, &str); 3] = [("lifecycle", "lifecycle"), TREE, ("large-file", "large-file")];

fn smoke(bench: &Bench, (suite, name): (&str, &str)) -> Test {
    bench.test(suite, name, SizeProfile::Smoke)
}

/// Runs a test of a contender in a new guest.
fn run(bench: &Bench, contender: &str, test: (&str, &str)) -> CellResult {
    let mut executor = bench.real(contender);
    let job = bench.job(contender, &executor, &smoke(bench, test));
    execute(&mut executor, &job)
}

/// Checks that all phases are ok or unsupported, and that the kernel logged no messages about the
/// filesystem or its disk. Messages of an emulated machine about its clock are ignored.
#[track_caller]
fn assert_well(result: &CellResult, filesystem: &str) {
    let failure = &result.failure;
    assert_eq!(result.status, Status::Ok, "{filesystem}: {failure:?}");
    for phase in &result.phases {
        let well = matches!(phase.status, Status::Ok | Status::Unsupported);
        assert!(well, "{}: {:?}", phase.phase, phase.failure);
    }
    let about = |line: &&String| {
        let line = line.to_lowercase();
        [filesystem, "vda", "nullb", "i/o error"].iter().any(|word| line.contains(word))
    };
    assert_eq!(result.kernel_lines().find(about), None);
}

fn takes_files(contender: &str) {
    takes_files_without(&contender[..4], contender);
}

/// Runs the tests, and checks that the kernel log does not contain a word.
fn takes_files_without(word: &str, contender: &str) {
    let bench = Bench::new(SIZE);
    let executor = bench.real(contender);
    takes_files_in(&bench, executor, word, contender);
}

fn takes_files_in(bench: &Bench, mut executor: GuestExecutor, word: &str, contender: &str) {
    let job = bench.job(contender, &executor, &one_after_the_other(bench));
    assert_well(&execute(&mut executor, &job), word);
}

/// Returns a single test with all of [`TESTS`], for one guest. The phases of the others precede the
/// final unmount of the first.
fn one_after_the_other(bench: &Bench) -> Test {
    let [mut whole, others @ ..] = TESTS.map(|test| smoke(bench, test));
    for Test { name, phases, space, .. } in others {
        let last = whole.phases.len() - 1;
        let named = phases
            .into_iter()
            .map(|phase| Phase { name: format!("{name}-{}", phase.name), ..phase });
        whole.phases.splice(last..last, named);
        whole.space.0 += space.0;
    }
    whole
}

/// The driver for OFS can lose the end of a synced file if the kernel writes back at the wrong moment
/// (quirks of the catalog). In virtual time writeback always comes at the same moment.
#[test]
fn affs_of_both_kinds_stores_files() {
    takes_files("affs-ffs");
    let bench = Bench::new(SIZE);
    let executor = bench.model("affs-ofs");
    takes_files_in(&bench, executor, "affs", "affs-ofs");
}

/// The driver verifies every node, and checks every sector that it reads against the bitmaps.
#[test]
fn hpfs_stores_files_under_strict_checks() {
    takes_files("hpfs:check=strict,errors=panic");
}

/// Each filesystem uses its own programs from Debian's packages.
#[test]
fn filesystems_that_debian_has_programs_for_are_made_and_checked_in_a_guest() {
    let bench = Bench::new(SIZE);
    for contender in ["ext4", "f2fs", "jfs", "minix"] {
        let result = run(&bench, contender, TESTS[0]);
        assert_well(&result, contender);
    }
}

/// UFS2 needs a driver that can write and supports images of makefs. A Debian driver rejects
/// ReiserFS in format 3.5.
#[test]
fn filesystems_with_rebuilt_drivers_store_files() {
    takes_files("ufs2");
    // The driver reports at each mount that it is deprecated and that it uses flushes.
    takes_files_without("reiserfs error", "reiserfs-3.5");
}

/// Simulates a user-defined kernel with Debian's kernel: a bootable image, modules at their
/// installed location, and the guest's programs as a root filesystem.
#[test]
fn filesystems_run_on_a_user_defined_kernel_and_programs() {
    let bench = Bench::new(SIZE);
    let made = guest();
    let root = bench.directory.path().join("own");
    unpack("linux-image-", &root);
    let own = UserKernel {
        kernel: Some(root.join(format!("boot/vmlinuz-{}", made.release()))),
        modules: Some(root),
        rootfs: Some(made.directory().join("tools")),
        headers: None,
    };
    let (name, kernel) = (made.name().to_owned(), made.kernel());
    let cache = bench.directory.path().join("cache");
    let own = made.with_user_kernel(&own, &cache, &Arc::default(), &mut |_| {});
    let own = own.unwrap();
    assert!(own.name().starts_with(&format!("{name}+")));
    assert_eq!(own.name().split('+').count(), 3, "{}", own.name());
    assert_ne!(own.kernel(), kernel);
    for contender in ["ext4", "minix"] {
        let mut executor = bench.real_in(own.clone(), contender);
        let job = bench.job(contender, &executor, &smoke(&bench, TESTS[0]));
        assert_well(&execute(&mut executor, &job), contender);
    }
}

/// Unpacks a package that was downloaded for the shared guest of all tests.
fn unpack(name: &str, into: &Path) {
    let packages = fs::read_dir(guest_cache().join("packages")).unwrap();
    let mut packages = packages.map(|package| package.unwrap().path());
    let package = packages.find(|package| {
        let file = package.file_name().unwrap_or_default();
        file.to_string_lossy().starts_with(name)
    });
    let mut command = Command::new("dpkg-deb");
    command.arg("--extract").arg(package.unwrap()).arg(into);
    assert!(command.status().unwrap().success());
}

/// Builds in two directories at two times, one of them on another day if these tests ran before.
/// Neither directory nor time affects the result, even in the modules.
#[test]
fn the_same_packages_make_the_same_guest_to_the_byte() {
    let catalog = Catalog::builtin().unwrap();
    let filesystems = ["minix", "ufs2"].map(|name| catalog.filesystem(name).unwrap());
    let recipe = Recipe::for_filesystems(filesystems, &[]);
    let build = |place: &Path| {
        bring_packages(place);
        Guest::build(&recipe, place, &Arc::default(), &mut |_| {}).unwrap()
    };
    let place = tempfile::tempdir_in(program::cache()).unwrap();
    let kept = program::cache().join("another-day");
    let (mut first, second) = (build(&kept), build(place.path()));
    if first.name() != second.name() {
        // Newer packages are available.
        fs::remove_dir_all(&kept).unwrap();
        first = build(&kept);
    }
    assert_eq!(first.name(), second.name());
    let (first, second) = (files(first.directory()), files(second.directory()));
    assert!(first.keys().any(|file| file.ends_with("ufs.ko")));
    assert!(first.keys().eq(second.keys()), "{:?}\n{:?}", first.keys(), second.keys());
    for (file, content) in &first {
        assert!(content == &second[file], "{}", file.display());
    }
}

/// Links the packages of the shared guest into the directory of another guest.
fn bring_packages(place: &Path) {
    guest();
    let packages = place.join("packages");
    if packages.exists() {
        return;
    }
    fs::create_dir_all(&packages).unwrap();
    for package in fs::read_dir(guest_cache().join("packages")).unwrap() {
        let package = package.unwrap();
        fs::hard_link(package.path(), packages.join(package.file_name())).unwrap();
    }
}

/// Returns all files below a directory, by relative path.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = PathBuf::from(path.file_name().unwrap());
        if path.is_dir() {
            let below = files(&path).into_iter();
            found.extend(below.map(|(file, content)| (name.join(file), content)));
        } else {
            found.insert(name, fs::read(&path).unwrap());
        }
    }
    found
}

/// An existing guest is found without questions or builds.
#[test]
fn a_guest_that_is_made_is_found_without_a_word() {
    let made = guest();
    let mut said = Vec::new();
    let mut say = |word: &str| said.push(word.to_owned());
    let found = Guest::build(&guest_recipe(), &guest_cache(), &Arc::default(), &mut say);
    assert_eq!(found.unwrap().name(), made.name());
    assert_eq!(said, [""; 0]);
}

/// Returns a copy of the guest of all tests, in a separate directory.
fn copy() -> (TempDir, Guest) {
    let made = guest();
    let place = tempfile::tempdir_in(program::cache()).unwrap();
    let mut copy = Command::new("cp");
    copy.arg("--archive").arg(made.directory());
    let entries = fs::read_dir(guest_cache()).unwrap().flatten();
    let answers = entries.filter(|e| e.file_name().to_string_lossy().starts_with("answer-"));
    copy.args(answers.map(|answer| answer.path()));
    assert!(copy.arg(place.path()).status().unwrap().success());
    let found = Guest::find(&guest_recipe(), place.path(), &AtomicBool::new(false)).unwrap();
    (place, found.unwrap())
}

/// The failure cannot be blamed on the filesystem, and no guest boots.
#[test]
fn later_damage_of_a_guest_is_a_provision_failure_that_names_the_file() {
    let (_place, copy) = copy();
    let bench = Bench::new(SIZE);
    let modules = format!("modules/{}/kernel", copy.release());
    for file in [
        "vmlinux",
        "base.cpio",
        &format!("{modules}/ext4.ko"),
        &format!("{modules}/jbd2.ko"),
        "tools/sbin/mke2fs",
        "tools/lib/x86_64-linux-gnu/libext2fs.so.2",
    ] {
        let path = copy.directory().join(file);
        let whole = fs::read(&path).unwrap();
        let failure = || {
            let mut executor = bench.real_in(copy.clone(), "ext4");
            let job = bench.job("ext4", &executor, &smoke(&bench, TESTS[0]));
            let result = execute(&mut executor, &job);
            assert_eq!(result.status, Status::Failed, "{file}");
            let failure = result.failure.unwrap();
            assert_eq!(failure.step, "provision", "{file}");
            failure.reason
        };
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 1;
        fs::write(&path, &damaged).unwrap();
        let reason = failure();
        assert!(reason.contains(&format!("({file} differs)")), "{reason}");
        fs::remove_file(&path).unwrap();
        let reason = failure();
        assert!(reason.contains(&format!("({file} is missing)")), "{reason}");
        fs::write(&path, &whole).unwrap();
    }
    let mut executor = bench.real_in(copy, "ext4");
    let job = bench.job("ext4", &executor, &smoke(&bench, TESTS[0]));
    assert_well(&execute(&mut executor, &job), "ext4");
}

#[test]
fn a_guest_panic_is_a_crash_with_the_kernel_message() {
    let bench = Bench::new(SIZE);
    let mut executor = bench.real("hpfs");
    executor.program = bench.file("no-program", "not a program");
    let job = bench.job("hpfs", &executor, &smoke(&bench, TREE));
    let result = execute(&mut executor, &job);
    assert_eq!(result.status, Status::Crashed);
    let reason = result.failure.unwrap().reason;
    assert!(reason.contains("Kernel panic"), "{reason}");
}

#[test]
fn boot_time_ends_at_the_first_agent_message_or_gives_a_reason() {
    let bench = Bench::new(SIZE);
    let mut executor = bench.real("minix");
    let job = bench.job("minix", &executor, &smoke(&bench, TESTS[0]));
    assert!(executor.time_boot(&job).unwrap() > Nanos(0));
    executor.program = bench.file("no-program", "not a program");
    let error = executor.time_boot(&job).unwrap_err().to_string();
    assert!(error.contains("Kernel panic"), "{error}");
}

/// All measured values are equal, including each latency.
#[test]
fn in_virtual_time_the_same_cell_gives_the_same_results_to_the_nanosecond() {
    let bench = Bench::new(SIZE);
    let mut executor = bench.model("hpfs");
    let job = bench.job("hpfs", &executor, &smoke(&bench, TREE));
    let mut run = || {
        let result = execute(&mut executor, &job);
        assert_well(&result, "hpfs");
        result.phases
    };
    let (first, second) = (run(), run());
    assert!(first.iter().all(|phase| phase.elapsed > Nanos(0)));
    assert_eq!(first, second);
}
