//! Results of cells that are kept, in a directory or a bucket, each by the name of all that it follows from.
//!
//! What is kept is believed only where it was kept with the user's own key: a cache may be written by somebody else,
//! restored from a copy, or shared.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use model::{CellResult, Test};
use sys::safe_path::UntrustedPath;

use crate::blob_store::{BlobStore, DirectoryStore};
use crate::cell_claim::{CellClaims, ClaimState, ClaimTimeouts};
use crate::cell_key::CellKey;
use crate::secret::{CacheKey, SECRET};
use crate::warn_once::WarnOnce;

/// Why a cache that several people have cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// Who made it has another key.
    #[error("{0} is kept with another key: name that (--cache-key), or another cache (--cache)")]
    KeyMismatch(String),
    /// It cannot be read or written.
    #[error(
        "no results can be kept in {place}: {source}; mend that, or name another cache (--cache)"
    )]
    Unwritable {
        /// Where it is.
        place: String,
        /// What the kernel or the server says.
        source: io::Error,
    },
}

/// Results by the key of their cell, an entry each. Any number of processes may use it at once.
#[derive(Clone, Debug)]
pub struct CellCache {
    pub(crate) shelf: Arc<dyn BlobStore>,
    secret: CacheKey,
    /// Who runs which cell, where others keep results, too.
    pub(crate) claims: Option<CellClaims>,
    trouble: Arc<WarnOnce>,
}

/// Tells whether a key is that of a cache.
const KEY_CHECK: &str = "key-check";

impl CellCache {
    /// The cache in this directory, which is made where there is none; entries that were not kept with the same
    /// secret are none.
    ///
    /// # Errors
    /// When it cannot be made, or others could tamper with it.
    pub fn open(directory: &Path, secret: [u8; SECRET]) -> Result<Self, UntrustedPath> {
        Ok(Self {
            shelf: Arc::new(DirectoryStore::open_private(directory)?),
            secret: CacheKey::new(secret),
            claims: None,
            trouble: Arc::default(),
        })
    }

    /// The cache on a shelf on which others keep results, too, who have the same secret: whoever can write there but
    /// does not have it can remove results, and give none. No two of them run the same cell at once.
    ///
    /// # Errors
    /// When nothing can be kept there, or it is kept with another secret.
    pub fn shared(shelf: Arc<dyn BlobStore>, secret: [u8; SECRET]) -> Result<Self, CacheError> {
        Self::with_timeouts(shelf, secret, ClaimTimeouts::DEFAULT_CLAIM)
    }

    pub(crate) fn with_timeouts(
        shelf: Arc<dyn BlobStore>,
        secret: [u8; SECRET],
        pace: ClaimTimeouts,
    ) -> Result<Self, CacheError> {
        let secret = CacheKey::new(secret);
        let unwritable = |source| CacheError::Unwritable {
            place: shelf.path_of(),
            source,
        };
        if !has_key(&*shelf, &secret).map_err(unwritable)? {
            return Err(CacheError::KeyMismatch(shelf.path_of()));
        }
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = host.trim().to_owned();
        let claims = CellClaims::new(Arc::clone(&shelf), secret.clone(), host, pace);
        claims.check_writable().map_err(unwritable)?;
        Ok(Self {
            shelf,
            secret,
            claims: Some(claims),
            trouble: Arc::default(),
        })
    }

    /// The result of the cell with this key, as it was when it was run. What cannot be read, is damaged, was kept
    /// by somebody else or does not answer the test is as good as none.
    pub fn get(&self, key: &CellKey, test: &Test) -> Option<CellResult> {
        let text = self.shelf.read(&name(key));
        let text = text.inspect_err(|error| self.trouble(error)).ok()??;
        let (code, json) = text.split_once('\n')?;
        if code != self.secret.code(&key.to_string(), json) {
            return None;
        }
        let result: CellResult = serde_json::from_str(json).ok()?;
        let phases = result.phases.iter().map(|phase| &phase.phase);
        let answers = phases.eq(test.phases.iter().map(|phase| &phase.name));
        answers.then_some(result)
    }

    /// Keeps a result, whole or not at all.
    ///
    /// # Errors
    /// When it cannot be written; nothing is kept then.
    pub fn insert(&self, key: &CellKey, result: &CellResult) -> io::Result<()> {
        let json = serde_json::to_string(result)?;
        let entry = format!("{}\n{json}", self.secret.code(&key.to_string(), &json));
        let kept = self.shelf.put(&name(key), &entry);
        kept.inspect_err(|error| self.trouble(error))
    }

    pub(crate) fn remove(&self, key: &CellKey) -> io::Result<()> {
        self.shelf.remove(&name(key))
    }

    /// Whose turn it is to run a cell.
    pub(crate) fn claim_state(&self, key: &CellKey) -> ClaimState {
        let turn = self.claims.as_ref().map(|claims| claims.take(key));
        match turn {
            None => ClaimState::Unclaimed,
            Some(Ok(turn)) => turn,
            Some(Err(error)) => {
                self.trouble(&error);
                ClaimState::Unclaimed
            }
        }
    }

    /// What is wrong with the cache, though cells run all the same; once, to whoever asks first.
    pub fn take_warning(&self) -> Option<String> {
        self.trouble.take()
    }

    /// Remembers what is to be told; of a user's own cache, which nobody waits for, nothing is.
    fn trouble(&self, error: &io::Error) {
        if self.claims.is_some() {
            self.trouble.set(|| {
                format!(
                    "the cache {} does not work: {error}; cells are run and may not be shared",
                    self.shelf.path_of()
                )
            });
        }
    }
}

/// Whether this is the secret of what is on a shelf; who comes first decides.
fn has_key(shelf: &dyn BlobStore, secret: &CacheKey) -> io::Result<bool> {
    let own = secret.code(KEY_CHECK, "");
    let there = match shelf.read(KEY_CHECK)? {
        None if shelf.create(KEY_CHECK, &own)? => return Ok(true),
        None => shelf.read(KEY_CHECK)?,
        there => there,
    };
    Ok(there.is_some_and(|there| there == own))
}

/// What the entry of a cell is called.
pub(crate) fn name(key: &CellKey) -> String {
    format!("{key}.json")
}
