//! Who runs a cell says so in the cache, so that others run other cells meanwhile and are served its result.
//!
//! ```text
//! KEY.claim    the code of the rest, a line; then who runs the cell, how often that was renewed, how long it holds
//! ```
//!
//! A claim keeps nobody from a result for good: it is renewed while the cell runs, and one that was not for as long as it
//! holds is taken over. Whether it was renewed is seen by its changing, on the waiter's own clock, so that clocks of two hosts are never
//! compared. Where claims cannot be kept or go wrong, a cell is run twice, and that is all.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sys::clock;

use crate::blob_store::BlobStore;
use crate::cell_key::CellKey;
use crate::secret::CacheKey;

/// How long things take.
#[derive(Clone, Copy, Debug)]
pub struct ClaimTimeouts {
    /// How often a claim is renewed.
    pub renewed: Duration,
    /// How long it holds when it is not.
    pub holds: Duration,
    /// How often who waits looks.
    pub look: Duration,
    /// How long one waits for a cell before others are tried again.
    pub wait: Duration,
    /// After so long a cell is run whoever claims it.
    pub longest_wait: Duration,
}

impl ClaimTimeouts {
    /// What hosts of one cluster do.
    pub const DEFAULT_CLAIM: Self = Self {
        renewed: Duration::from_secs(10),
        holds: Duration::from_secs(60),
        look: Duration::from_secs(1),
        wait: Duration::from_secs(10),
        longest_wait: Duration::from_secs(6 * 3600),
    };
}

/// What a claim says.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ClaimRecord {
    /// Who runs the cell.
    host: String,
    /// Which claim it is: no other has the same.
    claim: String,
    /// How often it was renewed.
    renewed: u64,
    /// How long it holds from when it was renewed last, in milliseconds.
    holds_ms: u64,
}

/// A claim as somebody saw it.
#[derive(Debug)]
struct ObservedClaim {
    text: String,
    /// When it was first seen so.
    since: Instant,
    /// When any claim of the cell was first seen.
    first: Instant,
}

/// The claims in a cache.
#[derive(Clone, Debug)]
pub struct CellClaims {
    shelf: Arc<dyn BlobStore>,
    secret: CacheKey,
    host: String,
    pace: ClaimTimeouts,
    seen: Arc<Mutex<BTreeMap<CellKey, ObservedClaim>>>,
}

/// Whose turn it is to run a cell.
#[derive(Debug)]
pub enum ClaimState {
    /// One's own, as long as this is held.
    Acquired(CellClaim),
    /// That of this host.
    HeldByOther {
        /// The host.
        host: String,
        /// Whether it was not known before.
        is_news: bool,
    },
    /// One's own, whoever claims the cell.
    Unclaimed,
}

impl CellClaims {
    /// The claims on a shelf, as this host makes them.
    pub fn new(
        shelf: Arc<dyn BlobStore>,
        secret: CacheKey,
        host: String,
        pace: ClaimTimeouts,
    ) -> Self {
        Self {
            shelf,
            secret,
            host,
            pace,
            seen: Arc::default(),
        }
    }

    /// How long things take.
    pub const fn pace(&self) -> ClaimTimeouts {
        self.pace
    }

    /// Whether claims can be written.
    ///
    /// # Errors
    /// When they cannot.
    pub fn check_writable(&self) -> io::Result<()> {
        let name = format!(".trial-{}", unique(&self.host));
        self.shelf.put(&name, &name)?;
        self.shelf.remove(&name)
    }

    /// Claims a cell, unless somebody else has it.
    ///
    /// # Errors
    /// When no claim can be read or written.
    pub fn take(&self, key: &CellKey) -> io::Result<ClaimState> {
        /// So often somebody may come in between.
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
            // One's own, of which only the answer was lost.
            if there == text {
                return Ok(ClaimState::Acquired(self.renew(name, words, text)));
            }
            // What somebody without the key wrote is no claim.
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

    /// What a claim of somebody else's means; nothing where it is not held any more.
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
        (now - seen.since < holds).then_some(ClaimState::HeldByOther {
            host: theirs.host,
            is_news,
        })
    }

    fn text(&self, name: &str, words: &ClaimRecord) -> String {
        let json = serde_json::to_string(words).expect("words are JSON");
        format!("{}\n{json}", self.secret.code(name, &json))
    }

    fn words(&self, name: &str, text: &str) -> Option<ClaimRecord> {
        let (code, json) = text.split_once('\n')?;
        let is_believed = code == self.secret.code(name, json);
        is_believed
            .then(|| serde_json::from_str(json).ok())
            .flatten()
    }

    /// Renews a claim until it is dropped, or is somebody else's.
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
                    // It may work the next time.
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
            // Without a thread it is not renewed, and not removed: it is taken over in its time.
            renewing: renewing.ok(),
        }
    }
}

/// A cell that is one's own to run. Given back when this is dropped.
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
        // Somebody may have taken it over.
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

/// A word that nobody else has.
fn unique(host: &str) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let (process, now) = (std::process::id(), clock::realtime().0);
    CellKey::sha256(format!("{host} {process} {now} {count}").as_bytes()).to_string()
}
