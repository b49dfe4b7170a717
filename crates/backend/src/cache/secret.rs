//! The key that authenticates entries of a cache.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Length of the key that authenticates entries, in bytes.
pub const SECRET: usize = 32;

/// Secret required to store entries.
#[derive(Clone)]
pub struct CacheKey([u8; SECRET]);

/// Hides the secret.
impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl CacheKey {
    /// This one.
    pub const fn new(bytes: [u8; SECRET]) -> Self {
        Self(bytes)
    }

    /// Returns the code of an entry (HMAC-SHA-256, in hexadecimal), which only holders of the
    /// secret can compute. It covers the name, to detect a moved entry, and the content, to detect
    /// damage.
    pub fn code(&self, name: &str, content: &str) -> String {
        let mut code = Hmac::<Sha256>::new_from_slice(&self.0).expect("any length is a key's");
        code.update(name.as_bytes());
        code.update(content.as_bytes());
        let bytes = code.finalize().into_bytes();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
