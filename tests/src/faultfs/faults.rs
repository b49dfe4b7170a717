//! The faults of the driver, parsed from its mount options.

use std::collections::BTreeMap;

use model::Bytes;

/// A call that can fail or hang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// Mounting.
    Mount,
    /// Making a file.
    Create,
    /// Making a directory.
    Mkdir,
    /// Creating a hard link.
    Link,
    /// Creating a symbolic link.
    Symlink,
    /// Changing permissions.
    Chmod,
    /// Reading a file.
    Read,
    /// Writing a file.
    Write,
    /// Writing a file to the device.
    Fsync,
    /// Listing a directory.
    Readdir,
    /// Removing a file.
    Unlink,
}

const CALLS: [(&str, Call); 11] = [
    ("mount", Call::Mount),
    ("create", Call::Create),
    ("mkdir", Call::Mkdir),
    ("link", Call::Link),
    ("symlink", Call::Symlink),
    ("chmod", Call::Chmod),
    ("read", Call::Read),
    ("write", Call::Write),
    ("fsync", Call::Fsync),
    ("readdir", Call::Readdir),
    ("unlink", Call::Unlink),
];

const ERRORS: [(&str, i32); 6] = [
    ("EDQUOT", libc::EDQUOT),
    ("EIO", libc::EIO),
    ("ENOSPC", libc::ENOSPC),
    ("EOPNOTSUPP", libc::EOPNOTSUPP),
    ("EPERM", libc::EPERM),
    ("EROFS", libc::EROFS),
];

/// Mount options that every driver receives and that have no effect here.
const HARMLESS: [&str; 5] = ["nosuid", "nodev", "rw", "relatime", "noatime"];

/// Faults of one mount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Error number of each failing call.
    pub errors: BTreeMap<Call, i32>,
    /// Call that never returns.
    pub hang: Option<Call>,
    /// Number of read bytes after which every read returns a wrong byte.
    pub corrupt_after: Option<u64>,
    /// Offset of a byte that is corrupt in every file.
    pub corrupt_byte_at: Option<u64>,
    /// Maximum number of written bytes; the driver kills itself instead of exceeding it.
    pub die_after: Option<u64>,
    /// Start of a 4 KiB block that makes the driver kill itself instead of writing the block.
    pub die_at: Option<String>,
    /// Maximum total size of all files, in bytes.
    pub capacity: Option<u64>,
    /// Whether permission changes are accepted but not stored.
    pub forgets_permissions: bool,
    /// Overwrites of existing data are lost.
    pub stale: bool,
}

impl Faults {
    /// Parses mount options: `nosuid,nodev,no-links,errno-on=fsync:EIO`.
    ///
    /// # Errors
    /// Returns a message about the first unknown option.
    pub fn parse(options: &str) -> Result<Self, String> {
        let mut faults = Self::default();
        for option in options.split(',').filter(|o| !o.is_empty()) {
            let known = match option.split_once('=') {
                None => HARMLESS.contains(&option) || faults.switch_on(option),
                Some((name, value)) => faults.set(name, value).is_some(),
            };
            if !known {
                return Err(format!("unknown driver option `{option}`"));
            }
        }
        Ok(faults)
    }

    fn switch_on(&mut self, option: &str) -> bool {
        match option {
            "no-links" => self.refuse(Call::Link),
            "no-symlinks" => self.refuse(Call::Symlink),
            "no-permissions" => self.refuse(Call::Chmod),
            "forgets-permissions" => self.forgets_permissions = true,
            "stale" => self.stale = true,
            _ => return false,
        }
        true
    }

    fn refuse(&mut self, call: Call) {
        self.errors.insert(call, libc::EPERM);
    }

    fn set(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "corrupt-after" => self.corrupt_after = Some(size(value)?),
            "corrupt-byte-at" => self.corrupt_byte_at = Some(size(value)?),
            "die-after" => self.die_after = Some(size(value)?),
            "die-at" => self.die_at = Some(value.to_owned()),
            "capacity" => self.capacity = Some(size(value)?),
            "hang-on" => self.hang = Some(look_up(&CALLS, value)?),
            "errno-on" => {
                let (call, error) = value.split_once(':')?;
                self.errors.insert(look_up(&CALLS, call)?, look_up(&ERRORS, error)?);
            }
            _ => return None,
        }
        Some(())
    }
}

fn size(text: &str) -> Option<u64> {
    text.parse::<Bytes>().ok().map(|bytes| bytes.0)
}

fn look_up<T: Copy>(table: &[(&str, T)], word: &str) -> Option<T> {
    table.iter().find(|(name, _)| *name == word).map(|(_, v)| *v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_option() {
        let faults = Faults::parse(
            "nosuid,nodev,no-links,no-symlinks,no-permissions,errno-on=fsync:EIO,hang-on=readdir,\
             corrupt-after=64KiB,corrupt-byte-at=5000,die-after=7,die-at=stamp,capacity=1MiB,\
             stale,forgets-permissions",
        )
        .unwrap();
        assert_eq!(faults.errors.len(), 4);
        assert_eq!(faults.errors[&Call::Fsync], libc::EIO);
        assert_eq!(faults.errors[&Call::Chmod], libc::EPERM);
        assert_eq!(faults.hang, Some(Call::Readdir));
        assert_eq!(faults.corrupt_after, Some(65_536));
        assert_eq!(faults.corrupt_byte_at, Some(5000));
        assert_eq!(faults.die_after, Some(7));
        assert_eq!(faults.die_at.as_deref(), Some("stamp"));
        assert_eq!(faults.capacity, Some(1 << 20));
        assert!(faults.stale && faults.forgets_permissions);
    }

    #[test]
    fn refuses_unknown_options() {
        for wrong in [
            "no-such-fault",
            "hang-on=never",
            "errno-on=fsync",
            "errno-on=fsync:EWHAT",
            "capacity=lots",
        ] {
            let error = Faults::parse(wrong).unwrap_err();
            assert!(error.contains(wrong), "{error}");
        }
    }
}
