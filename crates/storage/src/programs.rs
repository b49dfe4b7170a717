//! Finds programs on the path and in the directories of administration programs.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Directories that are often missing from the `PATH` of a user.
const ADMINISTRATION: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Returns the path of an executable program, given by name or path.
pub fn find_program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        let path = PathBuf::from(name);
        return is_executable(&path).then_some(path);
    }
    directories(env::var_os("PATH").unwrap_or_default())
        .map(|directory| directory.join(name))
        .find(|path| is_executable(path))
}

fn directories(path: OsString) -> impl Iterator<Item = PathBuf> {
    let named: Vec<PathBuf> = env::split_paths(&path).collect();
    named.into_iter().chain(ADMINISTRATION.map(PathBuf::from))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_programs_and_only_programs() {
        assert!(find_program("sh").is_some());
        assert!(find_program("/bin/sh").is_some());
        assert_eq!(find_program("no-such-program-anywhere"), None);
        assert_eq!(find_program("/etc/passwd"), None);
        assert_eq!(find_program("/usr"), None);
    }

    #[test]
    fn finds_administration_programs_independently_of_the_path() {
        let all: Vec<PathBuf> = directories("/nowhere".into()).collect();
        assert_eq!(all[0], Path::new("/nowhere"));
        assert!(all.contains(&PathBuf::from("/usr/sbin")));
    }
}
