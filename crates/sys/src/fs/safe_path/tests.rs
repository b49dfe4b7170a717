//! Tests with another user's directories, files and links at every position of a path. Needs root,
//! to give files to that user.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};

use nix::unistd::geteuid;

use super::*;

const NOBODY: u32 = 65_534;

fn place() -> tempfile::TempDir {
    assert!(geteuid().is_root(), "these tests give files to another user");
    tempfile::tempdir().unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn a_list_of_access_rights_that_lets_others_write_is_seen() {
    let place = place();
    let list = |entry: &str| {
        let mut command = std::process::Command::new("setfacl");
        let done = command.args(["-m", entry]).arg(place.path()).status();
        assert!(done.unwrap().success());
    };
    list("user:65534:r-x");
    SafeDir::open(place.path()).unwrap();
    list("user:65534:rwx");
    let refused = SafeDir::open(place.path()).unwrap_err();
    assert!(matches!(refused, UntrustedPath::WritableByOthers { .. }), "{refused}");
}

#[test]
fn missing_directories_are_created_for_this_user_only() {
    let place = place();
    let path = place.path().join("a/b");
    let directory = SafeDir::make(&path).unwrap();
    assert_eq!(directory.path(), path);
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o700, 0o700));
    let mut file = directory.create("file").unwrap();
    file.write_all(b"mine").unwrap();
    assert_eq!(mode(&path.join("file")), 0o600);
    assert!(directory.create("file").is_err());
    assert!(directory.file("file").unwrap().is_some());
    assert!(directory.file("none").unwrap().is_none());
    assert!(SafeDir::open(&place.path().join("none")).is_err());
}

#[test]
fn a_directory_of_another_user_is_refused_anywhere_in_the_path() {
    let place = place();
    let theirs = place.path().join("theirs");
    fs::create_dir_all(theirs.join("mine")).unwrap();
    chown(&theirs, Some(NOBODY), None).unwrap();
    for path in [theirs.clone(), theirs.join("mine"), theirs.join("mine/../new")] {
        let refused = SafeDir::make(&path).unwrap_err();
        let told = refused.to_string();
        assert!(told.contains("uid 65534") && told.contains("theirs"), "{told}");
    }
    assert!(!theirs.join("new").exists());
}

#[test]
fn a_world_writable_directory_needs_the_sticky_bit() {
    let place = place();
    let shared = place.path().join("shared");
    fs::create_dir(&shared).unwrap();
    let with_mode = |mode| fs::set_permissions(&shared, Permissions::from_mode(mode)).unwrap();
    with_mode(0o777);
    let told = SafeDir::make(&shared.join("x")).unwrap_err().to_string();
    assert!(told.contains("mode 777"), "{told}");
    with_mode(0o1777);
    SafeDir::make(&shared.join("x")).unwrap();
    with_mode(0o775);
    SafeDir::make(&shared).expect("the group is root's");
    chown(&shared, None, Some(NOBODY)).unwrap();
    assert!(SafeDir::make(&shared).is_err());
}

#[test]
fn links_of_root_are_followed_but_not_links_of_other_users() {
    let place = place();
    let target = place.path().join("target");
    fs::create_dir(&target).unwrap();
    let link = place.path().join("link");
    symlink("target", &link).unwrap();
    assert_eq!(SafeDir::make(&link.join("x")).unwrap().path(), target.join("x"));
    std::os::unix::fs::lchown(&link, Some(NOBODY), None).unwrap();
    assert!(matches!(SafeDir::make(&link), Err(UntrustedPath::NotOwned { .. })));
    let circle = place.path().join("circle");
    symlink("circle", &circle).unwrap();
    assert!(SafeDir::open(&circle).is_err());
}

#[test]
fn no_file_is_written_through_a_link_or_under_a_second_name() {
    let place = place();
    let precious = place.path().join("precious");
    fs::write(&precious, "theirs").unwrap();
    let path = place.path().join("d");
    let directory = SafeDir::make(&path).unwrap();
    symlink(&precious, path.join("link")).unwrap();
    fs::hard_link(&precious, path.join("second")).unwrap();
    nix::unistd::mkfifo(&path.join("pipe"), Mode::S_IRWXU).unwrap();
    for name in ["link", "second", "pipe"] {
        assert!(directory.create(name).is_err(), "{name}");
        assert!(directory.file(name).is_err(), "{name}");
        assert!(directory.file_or_new(name).is_err(), "{name}");
    }
    assert!(directory.subdirectory("link").is_err());
    directory.replace("link", 0o600, b"ours").unwrap();
    directory.replace("second", 0o644, b"ours").unwrap();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "theirs");
    assert_eq!(fs::read_to_string(path.join("link")).unwrap(), "ours");
    assert_eq!((mode(&path.join("link")), mode(&path.join("second"))), (0o600, 0o644));
    assert_eq!(fs::read_dir(&path).unwrap().count(), 3, "no partial file is left");
}

#[test]
fn a_report_in_another_users_directory_replaces_a_link() {
    let place = place();
    let theirs = place.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    let precious = place.path().join("precious");
    fs::write(&precious, "theirs").unwrap();
    symlink(&precious, theirs.join("report")).unwrap();
    chown(&theirs, Some(NOBODY), None).unwrap();
    let directory = SafeDir::open_shared(&theirs).unwrap();
    directory.replace("report", 0o644, b"ours").unwrap();
    assert_eq!(fs::read_to_string(&precious).unwrap(), "theirs");
    assert_eq!(fs::read_to_string(theirs.join("report")).unwrap(), "ours");
}

#[test]
fn the_nearest_directory_is_the_last_existing_one() {
    let place = place();
    let path = place.path().join("a/b/c");
    assert_eq!(SafeDir::open_nearest_existing(&path).unwrap().path(), place.path());
    SafeDir::make(path.parent().unwrap()).unwrap();
    assert_eq!(SafeDir::open_nearest_existing(&path).unwrap().path(), path.parent().unwrap());
}

#[test]
fn a_file_of_another_user_or_one_that_others_may_write_is_refused() {
    let place = place();
    let directory = SafeDir::make(&place.path().join("d")).unwrap();
    directory.create("theirs").unwrap();
    chown(directory.path().join("theirs"), Some(NOBODY), None).unwrap();
    assert!(matches!(directory.file("theirs"), Err(UntrustedPath::NotOwned { .. })));
    let shared = directory.create("shared").unwrap();
    shared.set_permissions(Permissions::from_mode(0o666)).unwrap();
    assert!(matches!(directory.file("shared"), Err(UntrustedPath::WritableByOthers { .. })));
}

#[test]
fn a_link_is_removed_but_not_its_target() {
    let place = place();
    let precious = place.path().join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("file"), "theirs").unwrap();
    let directory = SafeDir::make(&place.path().join("d")).unwrap();
    directory.subdirectory("tree").unwrap();
    symlink(&precious, directory.path().join("tree/link")).unwrap();
    symlink(&precious, directory.path().join("link")).unwrap();
    directory.remove_tree("tree").unwrap();
    directory.remove_tree("link").unwrap();
    directory.remove_tree("none").unwrap();
    assert!(precious.join("file").exists());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// Mounts another filesystem, and another directory of the same one, on a directory and on a file.
#[test]
fn a_directory_with_a_mount_point_is_not_removed() {
    let place = place();
    let precious = place.path().join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("file"), "theirs").unwrap();
    let directory = SafeDir::make(&place.path().join("d")).unwrap();
    let top = directory.subdirectory("tree").unwrap();
    top.create("ours").unwrap();
    top.create("point").unwrap();
    top.subdirectory("sub").unwrap();
    let run = |words: &[&str], on: &Path| {
        let mut command = std::process::Command::new(words[0]);
        assert!(command.args(&words[1..]).arg(on).status().unwrap().success());
    };
    let (file, source) = (precious.join("file"), precious.to_str().unwrap());
    for (mount, on) in [
        (&["mount", "--bind", source][..], "sub"),
        (&["mount", "-t", "tmpfs", "none"], "sub"),
        (&["mount", "--bind", file.to_str().unwrap()], "point"),
    ] {
        let on = top.path().join(on);
        run(mount, &on);
        let refused = directory.remove_tree("tree");
        run(&["umount"], &on);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("a filesystem is mounted in it"), "{refused}");
        assert!(top.has("ours") && file.exists(), "{mount:?}");
    }
    directory.remove_tree("tree").unwrap();
    assert!(file.exists() && !directory.has("tree"));
}
