//! The mounts of this process's namespace, from `/proc/self/mountinfo`.
//!
//! Paths are bytes in any encoding. A table that cannot be read is an error, because the table
//! decides whether a device may be erased.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

const TABLE: &str = "/proc/self/mountinfo";

/// One mounted filesystem. Format: proc_pid_mountinfo(5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Device number. On btrfs and similar filesystems, it does not belong to a block device.
    pub device: (u64, u64),
    /// Mount point.
    pub on: PathBuf,
    /// Filesystem type.
    pub kind: String,
    /// Source of the mount: a device node, or any word.
    pub source: PathBuf,
    /// Options of the mount and of its filesystem without duplicates, joined by commas.
    pub options: String,
}

/// Returns every mount, in mount order: later ones cover earlier ones.
///
/// # Errors
/// Returns an error if the table cannot be read, or has an invalid line.
pub fn all() -> io::Result<Vec<Mount>> {
    table(&fs::read(TABLE)?)
}

/// Returns the mount that contains a path, or `None` if the path does not exist.
///
/// # Errors
/// Returns the errors of [`all`].
pub fn mount_of(path: &Path) -> io::Result<Option<Mount>> {
    let Ok(path) = path.canonicalize() else {
        return Ok(None);
    };
    // The last of several mounts on a directory is the visible one, and `max_by_key` returns the
    // last maximum.
    let mounts = all()?.into_iter();
    Ok(mounts
        .filter(|mount| path.starts_with(&mount.on))
        .max_by_key(|mount| mount.on.components().count()))
}

/// Whether a directory, given by its path without links, is a mount point.
///
/// # Errors
/// Returns the errors of [`all`].
pub fn is_mounted(directory: &Path) -> io::Result<bool> {
    Ok(all()?.iter().any(|mount| mount.on == directory))
}

/// Returns the type of the filesystem that contains a path, such as `ext4`, `fuseblk` or `nfs4`, or
/// `None` if it cannot be determined.
pub fn fs_type_of(path: &Path) -> Option<String> {
    mount_of(path).ok().flatten().map(|mount| mount.kind)
}

/// Parses a table in the format of `/proc/self/mountinfo`.
///
/// # Errors
/// Returns an error if a line is invalid.
pub fn table(bytes: &[u8]) -> io::Result<Vec<Mount>> {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines
        .filter(|line| !line.is_empty())
        .map(|line| {
            parse(line).ok_or_else(|| {
                let line = line.escape_ascii();
                let what = format!("cannot parse {TABLE}: invalid line: {line}");
                io::Error::new(io::ErrorKind::InvalidData, what)
            })
        })
        .collect()
}

/// Parses `36 35 98:0 /root /on options [fields …] - kind source options`. Tables of tests may lack
/// the last options.
fn parse(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ').skip(2);
    let (major, minor) = std::str::from_utf8(fields.next()?).ok()?.split_once(':')?;
    let on = fields.nth(1)?;
    let of_mount = fields.next()?;
    let mut behind = fields.skip_while(|field| *field != b"-").skip(1);
    Some(Mount {
        device: (major.parse().ok()?, minor.parse().ok()?),
        on: unescape(on),
        kind: String::from_utf8_lossy(behind.next()?).into_owned(),
        source: unescape(behind.next()?),
        options: options(of_mount, behind.next().unwrap_or_default()),
    })
}

/// Joins the options of a mount and of its filesystem. Both contain `rw` or `ro`.
fn options(of_mount: &[u8], of_filesystem: &[u8]) -> String {
    let both = [of_mount, of_filesystem].map(|part| unescape(part).to_string_lossy().into_owned());
    let mut all: Vec<&str> = Vec::new();
    for option in both.iter().flat_map(|part| part.split(',')).filter(|o| !o.is_empty()) {
        if !all.contains(&option) {
            all.push(option);
        }
    }
    all.join(",")
}

/// Decodes a path in which space, tab, line end and backslash are written as `\040` and so on.
pub fn unescape(escaped: &[u8]) -> PathBuf {
    let mut plain = Vec::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some((&byte, behind)) = rest.split_first() {
        let code = behind.get(..3).filter(|_| byte == b'\\').and_then(octal);
        plain.push(code.unwrap_or(byte));
        rest = code.map_or(behind, |_| &behind[3..]);
    }
    OsString::from_vec(plain).into()
}

fn octal(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits).ok()?;
    let all_digits = digits.bytes().all(|digit| digit.is_ascii_digit());
    all_digits.then(|| u8::from_str_radix(digits, 8).ok())?
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_a_line_with_optional_fields_and_spaces_in_names() {
        let line = br"36 35 98:0 /mnt1 /mnt\0402 rw,noatime master:1 shared:4 - ext3 /dev/my\134disk rw,errors=continue";
        let mount = parse(line).unwrap();
        assert_eq!(mount.device, (98, 0));
        assert_eq!(mount.on, Path::new("/mnt 2"));
        assert_eq!(mount.kind, "ext3");
        assert_eq!(mount.source, Path::new(r"/dev/my\disk"));
        assert_eq!(mount.options, "rw,noatime,errors=continue");
    }

    #[test]
    fn every_existing_path_has_a_mount() {
        let kind = |path| mount_of(Path::new(path)).unwrap().map(|mount| mount.kind);
        assert_eq!(kind("/proc/self/status").as_deref(), Some("proc"));
        assert_eq!(kind("/no/such/path"), None);
    }

    /// Regression test: one name that was not UTF-8 emptied the whole table, so every device seemed
    /// unused.
    #[test]
    fn a_path_that_is_no_utf_8_hides_no_other_mount() {
        let text =
            b"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /mnt/\xff\xfe rw - ext4 /dev/sda2 rw\n";
        let mounts = table(text).unwrap();
        assert_eq!(mounts.len(), 2);
        assert_eq!(mounts[1].on.as_os_str().as_bytes(), b"/mnt/\xff\xfe");
    }

    #[test]
    fn an_invalid_line_is_an_error() {
        let error = table(b"1 0 8:1 / / rw - ext4 /dev/sda1 rw\nnonsense\n").unwrap_err();
        assert!(error.to_string().contains("nonsense"), "{error}");
    }

    proptest! {
        #[test]
        fn reading_never_panics(line: Vec<u8>, escaped in r"([\\0-9a-zé ])*") {
            let _ = table(&line);
            let _ = unescape(escaped.as_bytes());
        }

        #[test]
        fn unescape_restores_paths_escaped_by_the_kernel(path: Vec<u8>) {
            let escape = |&byte: &u8| match byte {
                b' ' | b'\t' | b'\n' | b'\\' => format!("\\{byte:03o}").into_bytes(),
                _ => vec![byte],
            };
            let escaped: Vec<u8> = path.iter().flat_map(escape).collect();
            let plain = unescape(&escaped);
            prop_assert_eq!(plain.as_os_str().as_bytes(), &path[..]);
        }
    }
}
