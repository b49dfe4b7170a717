//! Another user of the machine prepares links, files and directories in places to which root will
//! write.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::{CommandOutput, Sandbox, run};

use crate::campaign_directory;

/// Number of the other user.
const NOBODY: u32 = 65_534;
const LETTER: &str = "precious";

/// A directory in which all users may create files, as in `/tmp`, and a file of root that must not
/// change.
struct Common {
    sandbox: Sandbox,
}

impl Common {
    fn new(mode: u32) -> Self {
        let sandbox = Sandbox::new();
        let place = sandbox.path("tmp");
        fs::create_dir(&place).unwrap();
        fs::set_permissions(&place, Permissions::from_mode(mode)).unwrap();
        fs::write(sandbox.path("letter"), LETTER).unwrap();
        fs::create_dir(sandbox.path("own")).unwrap();
        Self { sandbox }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.sandbox.path("tmp").join(name)
    }

    /// Creates a link of the other user.
    fn link(&self, name: &str) {
        let path = self.path(name);
        symlink(self.sandbox.path("letter"), &path).unwrap();
        lchown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
    }

    fn directory(&self, name: &str) {
        let path = self.path(name);
        fs::create_dir(&path).unwrap();
        chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
    }

    fn file(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
    }

    /// Runs a campaign as root with this database and a work directory in the shared `tmp`.
    fn campaign(&self, database: &Path) -> CommandOutput {
        let mut command = Command::new(end_to_end::program::fsarena());
        command
            .arg("--db")
            .arg(database)
            .args(["--catalog"])
            .arg(self.sandbox.path("catalog"))
            .args(["run", "-c", "ext4", "-s", "trial", "--profile", "smoke"])
            .args(["--rounds", "1", "--seed", "1", "--size", "64MiB", "--work-dir"])
            .arg(self.sandbox.path("tmp"))
            .env("XDG_DATA_HOME", self.sandbox.path("data"));
        run(&mut command)
    }

    /// Checks that the campaign is refused in one line that names the cause, and that the letter is
    /// unchanged.
    #[track_caller]
    fn assert_refused(&self, database: &Path, culprit: &str) {
        let ended = self.campaign(database).assert_code(3);
        let lines: Vec<&str> = ended.stderr.trim_end().lines().collect();
        let last = lines.last().unwrap();
        assert!(last.contains(culprit), "{}", ended.stderr);
        self.assert_whole();
    }

    /// Returns a database in a directory that other users cannot write.
    fn own(&self) -> PathBuf {
        self.sandbox.path("own/fsarena.db")
    }

    /// Returns the name of the work directory of a campaign with this database.
    fn of_campaign(&self) -> String {
        campaign_directory(&self.own(), 1)
    }

    #[track_caller]
    fn assert_whole(&self) {
        let letter = fs::read_to_string(self.sandbox.path("letter")).unwrap();
        assert_eq!(letter, LETTER);
    }
}

/// Guard that disables the kernel's protection of symbolic links until dropped. Not every machine
/// has it enabled.
struct Unprotected(String);

const PROTECTION: &str = "/proc/sys/fs/protected_symlinks";

impl Unprotected {
    fn new() -> Self {
        let before = fs::read_to_string(PROTECTION).unwrap();
        fs::write(PROTECTION, "0\n").unwrap();
        Self(before)
    }
}

impl Drop for Unprotected {
    fn drop(&mut self) {
        fs::write(PROTECTION, &self.0).unwrap();
    }
}

/// Preparation by the other user.
type Preparation<'a> = &'a dyn Fn(&Common);

#[test]
fn links_and_directories_in_a_world_writable_directory() {
    let _unprotected = Unprotected::new();
    let prepared: [Preparation<'_>; 2] = [
        &|there| {
            let name = there.of_campaign();
            there.directory(&name);
            for file in ["lock", "image-0", "image-0.partial"] {
                there.link(&format!("{name}/{file}"));
            }
        },
        &|there| there.link(&there.of_campaign()),
    ];
    for prepare in prepared {
        let there = Common::new(0o1777);
        prepare(&there);
        there.assert_refused(&there.own(), &there.of_campaign());
    }
    let there = Common::new(0o1777);
    there.campaign(&there.own()).assert_code(0);
    let own = there.own();
    let reports = own.with_file_name("reports");
    for (path, mode) in [(own, 0o600), (reports, 0o700)] {
        let found = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{path:?}");
    }
}

/// Another user could create a journal next to the database, and SQLite would roll it back.
#[test]
fn a_database_in_a_world_writable_directory_is_not_written() {
    let there = Common::new(0o1777);
    there.campaign(&there.own()).assert_code(0);
    let database = there.path("fsarena.db");
    there.assert_refused(&database, "all users can create files");
    assert!(!database.exists());
    fs::copy(there.own(), &database).unwrap();
    let before = fs::read(&database).unwrap();
    // Start of every rollback journal (SQLite's file format, §3).
    there.file("fsarena.db-journal", "");
    let mut journal = vec![0; 28];
    journal[..8].copy_from_slice(&[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    journal[20..24].copy_from_slice(&512_u32.to_be_bytes());
    journal[24..28].copy_from_slice(&4096_u32.to_be_bytes());
    fs::write(there.path("fsarena.db-journal"), journal).unwrap();
    let fsarena = |words: &[&str]| {
        let mut command = Command::new(end_to_end::program::fsarena());
        run(command.arg("--db").arg(&database).args(words))
    };
    fsarena(&["report"]).assert_code(0);
    fsarena(&["list", "campaigns"]).assert_code(0);
    fsarena(&["resume"]).assert_code(3);
    assert!(fs::read(&database).unwrap() == before);
}

#[test]
fn a_directory_in_which_all_users_may_rename_files() {
    let there = Common::new(0o777);
    there.assert_refused(&there.own(), "mode 777");
    chown(there.sandbox.path("tmp"), Some(NOBODY), None).unwrap();
    fs::set_permissions(there.sandbox.path("tmp"), Permissions::from_mode(0o755)).unwrap();
    there.assert_refused(&there.own(), "uid 65534");
}

/// Cells create, change and remove files in the directory of a contender.
#[test]
fn a_directory_competes_through_no_link_of_another_user() {
    let _unprotected = Unprotected::new();
    let there = Common::new(0o1777);
    let link = there.path("disk");
    symlink(there.sandbox.path("own"), &link).unwrap();
    let run_in = |place: &Path| {
        let mut command = there.sandbox.fsarena();
        command.args(["run", "-s", "trial", "--profile", "smoke", "--rounds", "1", "--dir"]);
        run(command.arg(place))
    };
    run_in(&link).assert_code(0);
    lchown(&link, Some(NOBODY), Some(NOBODY)).unwrap();
    for place in [link.clone(), link.join(".")] {
        let refused = run_in(&place);
        assert_ne!(refused.code, Some(0));
        assert!(refused.stderr.contains("belongs to another user"), "{}", refused.stderr);
    }
    assert_eq!(fs::read_dir(there.sandbox.path("own")).unwrap().count(), 0);
}

#[test]
fn a_report_is_written_through_no_link() {
    let _unprotected = Unprotected::new();
    let there = Common::new(0o1777);
    there.campaign(&there.own()).assert_code(0);
    for name in ["report.html", "report.html.partial"] {
        there.link(name);
    }
    let report = |path: &Path| {
        let mut command = Command::new(end_to_end::program::fsarena());
        command.arg("--db").arg(there.own());
        command.args(["report", "--format", "html", "-o"]).arg(path);
        run(&mut command)
    };
    report(&there.path("report.html")).assert_code(0);
    there.assert_whole();
    let page = fs::symlink_metadata(there.path("report.html")).unwrap();
    assert!(page.is_file());
    // Without this check, a device that replaces the file would be overwritten.
    let device = end_to_end::TestLoopDevice::new(&there.sandbox.path("disk"), 1 << 20);
    symlink(device.path(), there.path("disk.html")).unwrap();
    report(&there.path("disk.html")).assert_code(3);
    assert!(fs::read(device.image()).unwrap().iter().all(|&byte| byte == 0));
}
