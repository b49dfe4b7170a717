//! Another user of the machine prepares links, files and directories where root is going to write.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::{Ended, Sandbox, run};

/// The other user.
const NOBODY: u32 = 65_534;
const LETTER: &str = "precious";

/// A directory in which everybody may make files, as `/tmp` is, and a file of root's that must not change.
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
        Self { sandbox }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.sandbox.path("tmp").join(name)
    }

    /// What the other user makes there.
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

    /// A campaign of root's with database and work directory there.
    fn campaign(&self) -> Ended {
        let mut command = Command::new(end_to_end::program::fsarena());
        command
            .arg("--db")
            .arg(self.path("fsarena.db"))
            .args(["--catalog"])
            .arg(self.sandbox.path("catalog"))
            .args(["run", "-c", "ext4", "-s", "trial", "--profile", "smoke"])
            .args([
                "--rounds",
                "1",
                "--seed",
                "1",
                "--size",
                "64MiB",
                "--work-dir",
            ])
            .arg(self.sandbox.path("tmp"))
            .env("XDG_DATA_HOME", self.sandbox.path("data"));
        run(&mut command)
    }

    /// Refused in one line, which names what is in the way, and the letter is whole.
    #[track_caller]
    fn assert_refused(&self, culprit: &str) {
        let ended = self.campaign().with(3);
        let lines: Vec<&str> = ended.stderr.trim_end().lines().collect();
        let last = lines.last().unwrap();
        assert!(last.contains(culprit), "{}", ended.stderr);
        self.assert_whole();
    }

    #[track_caller]
    fn assert_whole(&self) {
        let letter = fs::read_to_string(self.sandbox.path("letter")).unwrap();
        assert_eq!(letter, LETTER);
    }
}

/// The kernel's own protection of links, which not every machine has switched on.
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

/// What the other user does beforehand.
type Preparation<'a> = &'a dyn Fn(&Common);

#[test]
fn links_and_directories_in_a_place_where_all_may_write() {
    let _unprotected = Unprotected::new();
    let prepared: [(&str, Preparation<'_>); 8] = [
        ("fsarena.db", &|there| there.link("fsarena.db")),
        ("fsarena.db-wal", &|there| there.link("fsarena.db-wal")),
        ("fsarena.db-shm", &|there| there.file("fsarena.db-shm", "")),
        ("fsarena.db", &|there| there.file("fsarena.db", "")),
        ("reports", &|there| there.directory("reports")),
        ("reports", &|there| there.link("reports")),
        ("fsarena-1-1", &|there| {
            there.directory("fsarena-1-1");
            there.link("fsarena-1-1/lock");
            there.link("fsarena-1-1/image-0");
            there.link("fsarena-1-1/image-0.partial");
        }),
        ("fsarena-1-1", &|there| there.link("fsarena-1-1")),
    ];
    for (culprit, prepare) in prepared {
        let there = Common::new(0o1777);
        prepare(&there);
        there.assert_refused(culprit);
    }
    let there = Common::new(0o1777);
    there.campaign().with(0);
    for (name, mode) in [("fsarena.db", 0o600), ("reports", 0o700)] {
        let found = fs::metadata(there.path(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{name}");
    }
}

#[test]
fn a_place_in_which_everybody_may_rename_what_others_made() {
    let there = Common::new(0o777);
    there.assert_refused("mode 777");
    chown(there.sandbox.path("tmp"), Some(NOBODY), None).unwrap();
    fs::set_permissions(there.sandbox.path("tmp"), Permissions::from_mode(0o755)).unwrap();
    there.assert_refused("uid 65534");
}

#[test]
fn a_report_is_written_through_no_link() {
    let _unprotected = Unprotected::new();
    let there = Common::new(0o1777);
    there.campaign().with(0);
    for name in ["report.html", "report.html.partial"] {
        there.link(name);
    }
    let report = |path: &Path| {
        let mut command = Command::new(end_to_end::program::fsarena());
        command.arg("--db").arg(there.path("fsarena.db"));
        command.args(["report", "--format", "html", "-o"]).arg(path);
        run(&mut command)
    };
    report(&there.path("report.html")).with(0);
    there.assert_whole();
    let page = fs::symlink_metadata(there.path("report.html")).unwrap();
    assert!(page.is_file());
    // A device in its place would be overwritten.
    let device = end_to_end::LoopDevice::new(&there.sandbox.path("disk"), 1 << 20);
    symlink(device.path(), there.path("disk.html")).unwrap();
    report(&there.path("disk.html")).with(3);
    assert!(
        fs::read(device.image())
            .unwrap()
            .iter()
            .all(|&byte| byte == 0)
    );
}
