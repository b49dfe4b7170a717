//! A user-defined kernel, which gets the driver of simulated disks if its headers are known. The
//! kernel of the tests' guest is used, without the driver that was built for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::{Sandbox, cells_of, guest, guest_cache, program, run};
use serde_json::Value;

/// A kernel, its modules and its unpacked header packages.
struct OwnKernel {
    /// Directory of the kernel and its modules.
    tree: PathBuf,
    image: PathBuf,
    modules: PathBuf,
    headers: PathBuf,
}

impl OwnKernel {
    fn new(sandbox: &Sandbox) -> Self {
        let guest = guest();
        let release = guest.release();
        let tree = sandbox.path("tree");
        let modules = tree.join("lib/modules").join(release);
        fs::create_dir_all(modules.join("kernel")).unwrap();
        let made = guest.directory().join("modules").join(release);
        fs::copy(made.join("modules.builtin"), modules.join("modules.builtin")).unwrap();
        for module in fs::read_dir(made.join("kernel")).unwrap().flatten() {
            let is_driver = |name: &std::ffi::OsStr| {
                ["fsarena_disk.ko", "fsarena_disk_recorder.ko"].iter().any(|driver| name == *driver)
            };
            if !is_driver(&module.file_name()) {
                let copy = modules.join("kernel").join(module.file_name());
                fs::copy(module.path(), copy).unwrap();
            }
        }
        let image = tree.join("bzImage");
        fs::copy(guest.kernel(), &image).unwrap();
        let headers = sandbox.path("headers");
        unpack_headers(&headers);
        Self { image, modules, headers, tree }
    }

    fn words(&self) -> Vec<&Path> {
        let (kernel, modules) = (Path::new("--kernel"), Path::new("--modules"));
        vec![kernel, &self.image, modules, &self.modules]
    }
}

/// Creates a directory with programs of ext4 that omit the journal by default.
fn programs_without_journal(sandbox: &Sandbox) -> PathBuf {
    let tree = sandbox.path("programs");
    let mut copy = Command::new("cp");
    copy.arg("-r").arg(guest().directory().join("tools")).arg(&tree);
    assert!(copy.status().unwrap().success());
    let settings = tree.join("etc/mke2fs.conf");
    let text = fs::read_to_string(&settings).unwrap();
    assert!(text.contains("has_journal,"), "{text}");
    fs::write(&settings, text.replace("has_journal,", "")).unwrap();
    tree
}

/// Unpacks the packages with which the guest's own driver was built.
fn unpack_headers(into: &Path) {
    let packages = fs::read_dir(guest_cache().join("packages")).unwrap();
    let is_wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("linux-headers-") || name.starts_with("linux-kbuild-")
    };
    for package in packages.flatten().map(|entry| entry.path()).filter(is_wanted) {
        let mut command = Command::new("dpkg-deb");
        let status = command.arg("-x").arg(&package).arg(into).status().unwrap();
        assert!(status.success(), "{}", package.display());
    }
}

fn build(sandbox: &Sandbox, words: &[&Path]) -> Command {
    let mut command = sandbox.fsarena();
    command.args(["guest", "build"]).args(words).env("XDG_CACHE_HOME", program::cache());
    command
}

#[test]
fn a_user_defined_kernel_with_headers_has_simulated_disks() {
    let sandbox = Sandbox::new();
    let kernel = OwnKernel::new(&sandbox);
    let without = kernel.words();
    let told = run(&mut build(&sandbox, &without)).assert_code(0).stdout;
    let missing = format!("{} has no link `build`; give", kernel.modules.display());
    assert!(told.contains("never flushed (null_blk)") && told.contains(&missing), "{told}");
    let campaign = |words: &[&Path]| {
        let mut command = sandbox.in_guests(sandbox.fsarena(), &["ext4"], "1");
        let options = ["--suite", "durable", "--disk", "hdd-2003-7200"];
        command.args(options).args(words);
        command
    };
    let refused = run(&mut campaign(&without)).assert_code(3).stderr;
    assert!(refused.contains(&missing) && refused.contains("`--disk ideal`"), "{refused}");

    let with = [&without[..], &[Path::new("--headers"), &kernel.headers]].concat();
    let told = run(&mut build(&sandbox, &with)).assert_code(0);
    assert!(!told.stdout.contains("null_blk"), "{}", told.stdout);
    let again = run(&mut build(&sandbox, &with)).assert_code(0).stderr;
    assert!(!again.contains("building"), "{again}");
    run(&mut campaign(&with)).assert_code(0);
    let results = sandbox.results();
    let cell = cells_of(&results, "ext4").remove(0);
    assert_eq!(cell.status, model::Status::Ok, "{:?}", cell.failure);
    let flushes = cell.phases.iter().filter_map(|phase| phase.device);
    let flushes: u64 = flushes.map(|device| device.flushes).sum();
    let seeks = cell.phases.iter().filter_map(|phase| phase.disk);
    let seeks: u64 = seeks.map(|work| work.seeks).sum();
    assert!(flushes > 0 && seeks > 0, "{flushes} flushes, {seeks} seeks");
    let mut replay = sandbox.fsarena();
    let words = ["--json", "disk", "replay", "--disk", "hdd-2003-7200"];
    let replayed = run(replay.args(words)).assert_code(0).stdout;
    let replayed: Value = serde_json::from_str(&replayed).unwrap();
    assert_eq!(replayed["disks"][0]["same_as_journal"], true, "{replayed}");

    // The cell of this kernel is already stored; the one before it had another mkfs, on Debian's
    // kernel.
    let (old, new) = (programs_without_journal(&sandbox), &kernel.tree);
    fs::rename(kernel.headers.join("usr"), new.join("usr")).unwrap();
    let over = format!("old={},new={}", old.display(), new.display());
    let mut guard = sandbox.fsarena();
    let options = ["guard", "ext4", "--suite", "durable", "--disk", "hdd-2003-7200"];
    guard.args(options).args(["--profile", "smoke", "--over", &over]);
    guard.arg("--work-dir").arg(sandbox.path("work"));
    let told = run(guard.env("XDG_CACHE_HOME", program::cache())).assert_code(1).stdout;
    assert!(told.starts_with("First worse: new (2 of 2 versions run)"), "{told}");
    sandbox.assert_clean();
}
