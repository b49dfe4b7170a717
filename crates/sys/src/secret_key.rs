//! A secret that authenticates content which others could have written.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::fs::safe_path::{SafeDir, UntrustedPath};

/// Length of a secret, in bytes.
pub const KEY_LENGTH: usize = 32;
const PRIVATE_MODE: u32 = 0o600;
const MAX_FILE_SIZE: u64 = 1 << 16;

/// Secret required to store content that is believed later.
#[derive(Clone)]
pub struct SecretKey([u8; KEY_LENGTH]);

/// Hides the secret.
impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey")
    }
}

impl SecretKey {
    /// Creates a secret from these bytes.
    pub const fn new(bytes: [u8; KEY_LENGTH]) -> Self {
        Self(bytes)
    }

    /// Reads a secret from a file. Returns `None` if the file does not exist or is too short.
    ///
    /// # Errors
    /// Returns an error if other users could read or change the file, or if it cannot be read.
    pub fn read(
        directory: &SafeDir,
        name: impl AsRef<OsStr>,
    ) -> Result<Option<Self>, UntrustedPath> {
        let bytes = directory.read_secret(name, MAX_FILE_SIZE)?;
        Ok(bytes.and_then(|bytes| bytes.first_chunk().copied()).map(Self))
    }

    /// Reads a secret from a file, which is created with a random secret if it does not exist.
    ///
    /// # Errors
    /// Returns the errors of [`SecretKey::read`], and an error if the file cannot be created.
    pub fn read_or_create(
        directory: &SafeDir,
        name: impl AsRef<OsStr>,
    ) -> Result<Self, UntrustedPath> {
        let name = name.as_ref();
        if let Some(stored) = Self::read(directory, name)? {
            return Ok(stored);
        }
        let random = || -> io::Result<[u8; KEY_LENGTH]> {
            let mut bytes = [0; KEY_LENGTH];
            File::open("/dev/urandom")?.read_exact(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = random().map_err(|source| UntrustedPath::Io {
            doing: "read",
            path: "/dev/urandom".into(),
            source,
        })?;
        directory.replace(name, PRIVATE_MODE, &bytes)?;
        Ok(Self(bytes))
    }

    /// Returns the code of a content (HMAC-SHA-256, in hexadecimal), which only holders of the
    /// secret can compute. It covers the name, to detect moved content, and the content, to detect
    /// damage.
    pub fn code(&self, name: &str, content: &[u8]) -> String {
        let mut code = Hmac::<Sha256>::new_from_slice(&self.0).expect("any length is a key's");
        code.update(name.as_bytes());
        code.update(content);
        let bytes = code.finalize().into_bytes();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_is_created_once_and_refused_if_others_can_read_it() {
        let place = tempfile::tempdir().unwrap();
        let directory = SafeDir::open(place.path()).unwrap();
        assert!(SecretKey::read(&directory, "key").unwrap().is_none());
        let code = || SecretKey::read_or_create(&directory, "key").map(|key| key.code("a", b"b"));
        let first = code().unwrap();
        assert_eq!(code().unwrap(), first);
        assert_ne!(SecretKey::new([0; KEY_LENGTH]).code("a", b"b"), first);
        fs::set_permissions(place.path().join("key"), Permissions::from_mode(0o604)).unwrap();
        let refused = code().unwrap_err().to_string();
        assert!(refused.contains("all users can read"), "{refused}");
    }
}
