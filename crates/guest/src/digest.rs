//! Names made of everything that goes into a thing, and the state of this machine's apt as one of them.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// What apt's answers follow from: its settings and its lists.
const FILES: [&str; 2] = ["/etc/apt/sources.list", "/etc/apt/preferences"];
const DIRECTORIES: [&str; 3] = [
    "/etc/apt/sources.list.d",
    "/etc/apt/preferences.d",
    "/var/lib/apt/lists",
];

/// A name of 16 letters (FNV-1a of 64 bits: nobody is to be kept from making two things with one name).
pub fn name(content: &[u8]) -> String {
    let hash = content.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Changes when apt may give other answers than before.
pub fn of_apt() -> String {
    let mut text: String = FILES.iter().map(|file| state(Path::new(file))).collect();
    for directory in DIRECTORIES {
        text += &of_directory(Path::new(directory));
    }
    name(text.as_bytes())
}

/// The files of a directory with sizes and times of change, one a line, in the order of their names.
pub fn of_directory(directory: &Path) -> String {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut lines: Vec<String> = entries.map(|entry| state(&entry.path())).collect();
    lines.sort();
    lines.concat()
}

/// What is no file says nothing.
fn state(path: &Path) -> String {
    let Ok(metadata) = fs::metadata(path) else {
        return String::new();
    };
    if !metadata.is_file() {
        return String::new();
    }
    let changed = metadata.modified().ok();
    let changed = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let nanos = changed.map_or(0, |time| time.as_nanos());
    format!("{} {} {nanos}\n", path.display(), metadata.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_changes_the_state_of_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a"), "1").unwrap();
        let before = of_directory(directory.path());
        assert_eq!(of_directory(directory.path()), before);
        fs::write(directory.path().join("a"), "12").unwrap();
        assert_ne!(of_directory(directory.path()), before);
    }

    #[test]
    fn names_differ_where_contents_do() {
        assert_eq!(name(b""), "cbf29ce484222325");
        assert_ne!(name(b"a"), name(b"b"));
    }
}
