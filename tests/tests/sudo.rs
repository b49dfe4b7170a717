//! A user who runs fsarena by sudo(8) with the user's own home owns the files in it, and can
//! continue without sudo.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::debian::Debian;
use end_to_end::{Sandbox, program, run};

/// User that calls sudo.
const USER: u32 = 4711;

/// A sandbox that contains the home directory of the user.
struct Home {
    sandbox: Sandbox,
    debian: Debian,
}

impl Home {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let debian = Debian::new(&sandbox.path("debian"));
        let home = sandbox.path("home");
        fs::create_dir(&home).unwrap();
        chown(&home, Some(USER), Some(USER)).unwrap();
        let passable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(sandbox.root(), passable).unwrap();
        Self { sandbox, debian }
    }

    fn path(&self) -> PathBuf {
        self.sandbox.path("home")
    }

    fn fsarena(&self, words: &[&str]) -> Command {
        let mut command = Command::new(program::fsarena());
        self.debian.for_program(&mut command);
        command.args(words).env("HOME", self.path());
        for unset in ["XDG_DATA_HOME", "XDG_CACHE_HOME", "SUDO_UID"] {
            command.env_remove(unset);
        }
        command
    }

    fn by_sudo(&self, words: &[&str]) -> Command {
        let mut command = self.fsarena(words);
        command.env("SUDO_UID", USER.to_string());
        command
    }

    fn by_the_user(&self, words: &[&str]) -> Command {
        let mut command = self.fsarena(words);
        command.uid(USER).gid(USER);
        command
    }
}

/// Returns all paths below a directory with owner and group.
fn owners(directory: &Path) -> Vec<(PathBuf, u32, u32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let about = fs::symlink_metadata(&path).unwrap();
        found.push((path.clone(), about.uid(), about.gid()));
        if about.is_dir() {
            found.extend(owners(&path));
        }
    }
    found
}

#[test]
fn files_in_a_users_home_belong_to_the_user_and_work_without_sudo() {
    let home = Home::new();
    let campaign = ["run", "--contender", "tmpfs", "--suite", "lifecycle"];
    let campaign = [&campaign[..], &["--profile", "smoke", "--rounds", "1"]].concat();
    run(&mut home.by_sudo(&campaign)).assert_code(0);
    run(&mut home.by_sudo(&["guest", "build"])).assert_code(0);
    let kept = owners(&home.path());
    let has = |name: &str| kept.iter().any(|(path, ..)| path.ends_with(name));
    let expected = ["fsarena.db", "reports/campaign-1.html", "lock", "vmlinux"];
    for name in expected {
        assert!(has(name), "{name} in {kept:?}");
    }
    let foreign: Vec<_> = kept.iter().filter(|(_, u, g)| (*u, *g) != (USER, USER)).collect();
    assert_eq!(foreign, [] as [&_; 0]);

    let table = run(&mut home.by_the_user(&["report"])).assert_code(0).stdout;
    assert!(table.contains("tmpfs"), "{table}");
    let built = run(&mut home.by_the_user(&["guest", "build"])).assert_code(0);
    assert_eq!(built.stderr, "", "the guest that root made is taken");
    let place = home.path().join("place");
    fs::create_dir(&place).unwrap();
    chown(&place, Some(USER), Some(USER)).unwrap();
    let again = ["run", "--suite", "lifecycle", "--profile", "smoke", "--rounds", "1", "--dir"];
    run(home.by_the_user(&again).arg(&place)).assert_code(0);
    run(&mut home.by_sudo(&["report"])).assert_code(0);
}
