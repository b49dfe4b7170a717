//! Claims of cells in the cache. A host claims a cell that it runs, so that others run other cells
//! and use its result.
//!
//! ```text
//! KEY.claim    the code of the rest, a line; then who runs the cell, how often that was renewed, how long it holds
//! ```
//!
//! A claim never blocks a result forever: it is renewed while the cell runs, and expires unless it
//! is renewed. A waiting host detects a renewal by a changed claim on its own clock, so clocks of
//! two hosts are never compared. If claims fail, the only effect is that a cell may run twice.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sys::io::clock;
use sys::secret_key::SecretKey;

use crate::cache::blob_store::BlobStore;
use crate::cache::cell_key::CellKey;

/// Intervals and timeouts of claims.
#[derive(Clone, Copy, Debug)]
pub struct ClaimTimeouts {
    /// Interval between renewals of a claim.
    pub renewed: Duration,
    /// Lifetime of a claim without renewal.
    pub holds: Duration,
    /// Interval between two checks while waiting.
    pub look: Duration,
    /// Maximum wait for a cell before other cells are tried again.
    pub wait: Duration,
    /// Total wait after which a cell runs despite a claim.
    pub longest_wait: Duration,
}

impl ClaimTimeouts {
    /// Default for the hosts of one cluster.
    pub const DEFAULT_CLAIM: Self = Self {
        renewed: Duration::from_secs(10),
        holds: Duration::from_secs(60),
        look: Duration::from_secs(1),
        wait: Duration::from_secs(10),
        longest_wait: Duration::from_secs(6 * 3600),
    };
}

/// Contents of a claim.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ClaimRecord {
    /// Unique ID of the claim.
    host: String,
    /// Unique identifier of the claim.
    claim: String,
    /// Number of renewals.
    renewed: u64,
    /// Lifetime after the last renewal, in milliseconds.
    holds_ms: u64,
}

/// A claim as seen at some time.
#[derive(Debug)]
struct ObservedClaim {
    text: String,
    /// Time at which this text was first seen.
    since: Instant,
    /// Time at which any claim of the cell was first seen.
    first: Instant,
}

/// The claims in a cache.
#[derive(Clone, Debug)]
pub struct CellClaims {
    shelf: Arc<dyn BlobStore>,
    secret: SecretKey,
    host: String,
    pace: ClaimTimeouts,
    seen: Arc<Mutex<BTreeMap<CellKey, ObservedClaim>>>,
}

/// Host that runs a cell.
#[derive(Debug)]
pub enum ClaimState {
    /// Claimed by this process until the value is dropped.
    Acquired(CellClaim),
    /// Runs on another host.
    HeldByOther {
        /// The host.
        host: String,
        /// Whether the claim was not known before.
        is_news: bool,
    },
    /// This host runs the cell without a claim.
    Unclaimed,
}

impl CellClaims {
    /// Creates the access of this host to the claims on a shelf.
    pub fn new(
        shelf: Arc<dyn BlobStore>,
        secret: SecretKey,
        host: String,
        pace: ClaimTimeouts,
    ) -> Self {
        Self { shelf, secret, host, pace, seen: Arc::default() }
    }

    /// Returns the intervals and timeouts.
    pub const fn pace(&self) -> ClaimTimeouts {
        self.pace
    }

    /// Checks that claims can be written.
    ///
    /// # Errors
    /// Returns an error if claims cannot be written.
    pub fn check_writable(&self) -> io::Result<()> {
        let name = format!(".trial-{}", unique(&self.host));
        self.shelf.put(&name, &name)?;
        self.shelf.remove(&name)
    }

    /// Claims a cell unless another host has claimed it.
    ///
    /// # Errors
    /// Returns an error if claims cannot be read or written.
    pub fn take(&self, key: &CellKey) -> io::Result<ClaimState> {
        /// Number of attempts if other hosts interfere.
        const MAX_RACE_RETRIES: usize = 4;
        let name = name(key);
        let words = ClaimRecord {
            host: self.host.clone(),
            claim: unique(&self.host),
            renewed: 0,
            holds_ms: milliseconds(self.pace.holds),
        };
        let text = self.text(&name, &words);
        for _ in 0..MAX_RACE_RETRIES {
            if self.shelf.create(&name, &text)? {
                return Ok(ClaimState::Acquired(self.renew(name, words, text)));
            }
            let Some(there) = self.shelf.read(&name)? else {
                continue;
            };
            // The claim was written, but its confirmation was lost.
            if there == text {
                return Ok(ClaimState::Acquired(self.renew(name, words, text)));
            }
            // Claims without the right key are ignored.
            if let Some(theirs) = self.words(&name, &there)
                && let Some(turn) = self.heed(key, &there, theirs)
            {
                return Ok(turn);
            }
            if self.shelf.compare_and_swap(&name, &there, &text)? {
                return Ok(ClaimState::Acquired(self.renew(name, words, text)));
            }
        }
        Ok(ClaimState::Unclaimed)
    }

    /// Evaluates the claim of another host. Returns `None` if it has expired.
    fn heed(&self, key: &CellKey, there: &str, theirs: ClaimRecord) -> Option<ClaimState> {
        let now = Instant::now();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = !seen.contains_key(key);
        let seen = seen.entry(*key).or_insert_with(|| ObservedClaim {
            text: there.to_owned(),
            since: now,
            first: now,
        });
        if seen.text != there {
            (seen.text, seen.since) = (there.to_owned(), now);
        }
        if now - seen.first >= self.pace.longest_wait {
            return Some(ClaimState::Unclaimed);
        }
        let holds = Duration::from_millis(theirs.holds_ms).min(self.pace.longest_wait);
        (now - seen.since < holds).then_some(ClaimState::HeldByOther { host: theirs.host, is_news })
    }

    fn text(&self, name: &str, words: &ClaimRecord) -> String {
        let json = serde_json::to_string(words).expect("words are JSON");
        format!("{}\n{json}", self.secret.code(name, json.as_bytes()))
    }

    fn words(&self, name: &str, text: &str) -> Option<ClaimRecord> {
        let (code, json) = text.split_once('\n')?;
        let is_believed = code == self.secret.code(name, json.as_bytes());
        is_believed.then(|| serde_json::from_str(json).ok()).flatten()
    }

    /// Renews a claim until it is dropped or another host takes it over.
    fn renew(&self, name: String, words: ClaimRecord, text: String) -> CellClaim {
        let (held, ended) = mpsc::channel();
        let (claims, own) = (self.clone(), name.clone());
        let renewing = thread::Builder::new().spawn(move || {
            let (mut words, mut text) = (words, text);
            while ended.recv_timeout(claims.pace.renewed) == Err(RecvTimeoutError::Timeout) {
                words.renewed += 1;
                let next = claims.text(&own, &words);
                match claims.shelf.read(&own) {
                    Ok(Some(there)) if there == text => {}
                    Ok(_) => return None,
                    // Try again: the next attempt may succeed.
                    Err(_) => continue,
                }
                if claims.shelf.put(&own, &next).is_ok() {
                    text = next;
                }
            }
            Some(text)
        });
        CellClaim {
            shelf: Arc::clone(&self.shelf),
            name,
            held: Some(held),
            // Without a thread the claim is neither renewed nor removed; another host takes it over
            // after its timeout.
            renewing: renewing.ok(),
        }
    }
}

/// A claim of this host, released on drop.
#[derive(Debug)]
pub struct CellClaim {
    shelf: Arc<dyn BlobStore>,
    name: String,
    held: Option<Sender<()>>,
    renewing: Option<JoinHandle<Option<String>>>,
}

impl Drop for CellClaim {
    fn drop(&mut self) {
        drop(self.held.take());
        let last = self.renewing.take().and_then(|thread| thread.join().ok());
        // Remove the claim unless another host has taken it over.
        let is_own = |text: &String| matches!(self.shelf.read(&self.name), Ok(Some(there)) if there == *text);
        if last.flatten().as_ref().is_some_and(is_own) {
            let _ = self.shelf.remove(&self.name);
        }
    }
}

fn name(key: &CellKey) -> String {
    format!("{key}.claim")
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a unique ID.
fn unique(host: &str) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let (process, now) = (std::process::id(), clock::realtime().0);
    CellKey::sha256(format!("{host} {process} {now} {count}").as_bytes()).to_string()
}
