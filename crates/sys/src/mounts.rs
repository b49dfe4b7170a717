//! The mounts of this process's namespace, from `/proc/self/mountinfo`.

use std::fs;
use std::path::{Path, PathBuf};

/// One mounted filesystem. Format: proc_pid_mountinfo(5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Device number; not that of a block device for btrfs and its like.
    pub device: (u64, u64),
    /// Where it is mounted.
    pub on: PathBuf,
    /// Type of the filesystem.
    pub kind: String,
    /// What is mounted: a device node, or any word.
    pub source: PathBuf,
}

/// Every mount, in the order in which they lie over each other.
pub fn all() -> Vec<Mount> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    text.lines().filter_map(parse).collect()
}

/// The mount that a path lies on.
pub fn of(path: &Path) -> Option<Mount> {
    let path = path.canonicalize().ok()?;
    // Of mounts on one directory the last one counts, and so does `max_by_key`.
    all()
        .into_iter()
        .filter(|mount| path.starts_with(&mount.on))
        .max_by_key(|mount| mount.on.components().count())
}

/// Whether something is mounted on a directory, given by its path without links.
pub fn is_mounted(directory: &Path) -> bool {
    all().iter().any(|mount| mount.on == directory)
}

/// What kind of filesystem a path lies on: `ext4`, `fuseblk`, `nfs4`.
pub fn kind_of(path: &Path) -> Option<String> {
    of(path).map(|mount| mount.kind)
}

/// `36 35 98:0 /root /on options [fields …] - kind source options`.
fn parse(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(2);
    let (major, minor) = before.next()?.split_once(':')?;
    let on = before.nth(1)?;
    let mut after = after.split(' ');
    Some(Mount {
        device: (major.parse().ok()?, minor.parse().ok()?),
        on: unescape(on).into(),
        kind: after.next()?.to_owned(),
        source: unescape(after.next()?).into(),
    })
}

/// Space, tab, line end and backslash are written as `\040` and so on.
pub fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|c| u8::from_str_radix(c, 8).ok());
        match code {
            Some(code) if code.is_ascii() => {
                plain.push(char::from(code));
                plain.push_str(&part[3..]);
            }
            _ => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_a_line_with_optional_fields_and_spaces_in_names() {
        let line = r"36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 shared:4 - ext3 /dev/my\134disk rw,errors=continue";
        let mount = parse(line).unwrap();
        assert_eq!(mount.device, (98, 0));
        assert_eq!(mount.on, Path::new("/mnt 2"));
        assert_eq!(mount.kind, "ext3");
        assert_eq!(mount.source, Path::new(r"/dev/my\disk"));
    }

    #[test]
    fn every_path_lies_on_some_mount() {
        assert_eq!(of(Path::new("/proc/self/status")).unwrap().kind, "proc");
        assert!(of(Path::new("/no/such/path")).is_none());
    }

    proptest! {
        #[test]
        fn reading_never_panics(line in ".*", escaped in r"([\\0-9a-zé ])*") {
            let _ = parse(&line);
            let _ = unescape(&escaped);
        }
    }
}
