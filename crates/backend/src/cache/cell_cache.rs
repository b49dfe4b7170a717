//! Cache of cell results in a directory or a bucket. Each result is named by the digest of its
//! inputs.
//!
//! A result is used only if it was stored with the user's own key, because a cache may be shared,
//! restored from a copy or written by others.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use model::{Bytes, CellResult, Test};
use sys::fs::safe_path::UntrustedPath;
use sys::secret_key::SecretKey;

use crate::cache::blob_store::{BlobStore, DirectoryStore, ENTRY};
use crate::cache::cell_claim::{CellClaims, ClaimState, ClaimTimeouts};
use crate::cache::cell_key::CellKey;
use crate::warn_once::WarnOnce;

/// Reason that a shared cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The cache was created with another key.
    #[error("{0} is kept with another key: name that (--cache-key), or another cache (--cache)")]
    KeyMismatch(String),
    /// The cache cannot be read or written.
    #[error(
        "no results can be kept in {place}: {source}; mend that, or name another cache (--cache)"
    )]
    Unwritable {
        /// Location of the cache.
        place: String,
        /// Error of the kernel or the server.
        source: io::Error,
    },
}

/// Cached results, one entry per cell, by the key of the cell. Any number of processes may use the
/// cache at the same time.
#[derive(Clone, Debug)]
pub struct CellCache {
    pub(crate) shelf: Arc<dyn BlobStore>,
    secret: SecretKey,
    /// Claims of cells, if the cache is shared.
    pub(crate) claims: Option<CellClaims>,
    trouble: Arc<WarnOnce>,
}

/// Name of the entry that verifies the key of a cache.
const KEY_CHECK: &str = "key-check";

impl CellCache {
    /// Default limit of a private cache: some thousand cells with their request logs.
    pub const DEFAULT_LIMIT: Bytes = Bytes::mib(10 << 10);

    /// Opens the cache in this directory and creates the directory unless it exists. Ignores
    /// entries stored with another secret. Above the limit, the least recently used entries are
    /// removed.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be created or is not safe from other users.
    pub fn open(directory: &Path, secret: SecretKey, limit: Bytes) -> Result<Self, UntrustedPath> {
        Ok(Self {
            shelf: Arc::new(DirectoryStore::open_private(directory, limit)?),
            secret,
            claims: None,
            trouble: Arc::default(),
        })
    }

    /// Opens a cache on a shelf shared by hosts with the same secret. Without the secret, a writer
    /// can remove results but not forge them. Claims keep two hosts from running the same cell at
    /// once.
    ///
    /// # Errors
    /// Returns an error if the shelf is not writable or was used with another secret.
    pub fn shared(shelf: Arc<dyn BlobStore>, secret: SecretKey) -> Result<Self, CacheError> {
        Self::with_timeouts(shelf, secret, ClaimTimeouts::DEFAULT_CLAIM)
    }

    pub(crate) fn with_timeouts(
        shelf: Arc<dyn BlobStore>,
        secret: SecretKey,
        pace: ClaimTimeouts,
    ) -> Result<Self, CacheError> {
        let unwritable = |source| CacheError::Unwritable { place: shelf.path_of(), source };
        if !has_key(&*shelf, &secret).map_err(unwritable)? {
            return Err(CacheError::KeyMismatch(shelf.path_of()));
        }
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = host.trim().to_owned();
        let claims = CellClaims::new(Arc::clone(&shelf), secret.clone(), host, pace);
        claims.check_writable().map_err(unwritable)?;
        Ok(Self { shelf, secret, claims: Some(claims), trouble: Arc::default() })
    }

    /// Returns the cached result of a cell. Ignores entries that are unreadable, damaged, stored
    /// with another key, or do not match the phases of the test.
    pub fn get(&self, key: &CellKey, test: &Test) -> Option<CellResult> {
        let text = self.shelf.read(&name(key));
        let text = text.inspect_err(|error| self.trouble(error)).ok()??;
        let (code, json) = text.split_once('\n')?;
        if code != self.secret.code(&key.to_string(), json.as_bytes()) {
            return None;
        }
        let result: CellResult = serde_json::from_str(json).ok()?;
        let phases = result.phases.iter().map(|phase| &phase.phase);
        let answers = phases.eq(test.phases.iter().map(|phase| &phase.name));
        answers.then_some(result)
    }

    /// Stores a result atomically.
    ///
    /// # Errors
    /// Returns an error if the result cannot be written. The cache is unchanged then.
    pub fn insert(&self, key: &CellKey, result: &CellResult) -> io::Result<()> {
        let json = serde_json::to_string(result)?;
        let entry = format!("{}\n{json}", self.secret.code(&key.to_string(), json.as_bytes()));
        let kept = self.shelf.put(&name(key), &entry);
        kept.inspect_err(|error| self.trouble(error))
    }

    pub(crate) fn remove(&self, key: &CellKey) -> io::Result<()> {
        self.shelf.remove(&name(key))
    }

    /// Returns which host runs a cell.
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

    /// Takes the pending warning about the cache, if any. Cells also run without a working cache.
    pub fn take_warning(&self) -> Option<String> {
        self.trouble.take()
    }

    /// Records a warning about a shared cache. Errors of a private cache are not reported.
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

/// Returns true if the shelf uses this secret. The first user of a shelf determines its secret.
fn has_key(shelf: &dyn BlobStore, secret: &SecretKey) -> io::Result<bool> {
    let own = secret.code(KEY_CHECK, b"");
    let there = match shelf.read(KEY_CHECK)? {
        None if shelf.create(KEY_CHECK, &own)? => return Ok(true),
        None => shelf.read(KEY_CHECK)?,
        there => there,
    };
    Ok(there.is_some_and(|there| there == own))
}

/// Returns the name of the entry of a cell.
pub(crate) fn name(key: &CellKey) -> String {
    format!("{key}{ENTRY}")
}
