//! Reuses results of identical cells if the result of the cell is repeatable.

use std::io;
use std::thread;
use std::time::Instant;

use model::wire::{AbortReason, CellEvent, CellJob};
use model::{CellResult, PhaseResult, Status};

use crate::Executor;
use crate::cache::cell_cache::CellCache;
use crate::cache::cell_claim::{CellClaim, CellClaims, ClaimState, ClaimTimeouts};
use crate::cache::cell_key::CellKey;

/// An executor with some repeatable cells, whose result is the same in every run.
pub trait Cacheable: Executor {
    /// Returns the digest of all inputs of a job. Returns `None` if not all inputs are known.
    ///
    /// # Errors
    /// Returns an error if an input of the cell cannot be read.
    fn key(&self, job: &CellJob) -> io::Result<Option<CellKey>>;

    /// Runs the job and returns whether its result is repeatable. A job killed from outside or
    /// given up is not.
    ///
    /// # Errors
    /// Returns an error only if the user interrupted the job or it was withdrawn.
    fn execute_checked(
        &mut self,
        job: &CellJob,
        observe: &mut dyn FnMut(&CellEvent),
    ) -> Result<(CellResult, bool), AbortReason>;

    /// Returns true if the user asked to stop.
    fn stop_requested(&self) -> bool;
}

/// One in this number of cached cells is run again to check its result.
const CHECKED: u64 = 20;

/// Returns whether a cached cell is run again. The choice is random and depends on the campaign's
/// seed.
fn is_checked(key: &CellKey, seed: u64) -> bool {
    let chance = CellKey::sha256(format!("check {key} {seed}").as_bytes());
    chance.number().is_multiple_of(CHECKED)
}

/// Runs a cell unless the cache has its result. Reruns 1 in 20 as a check.
pub struct CachedExecutor<E> {
    executor: E,
    cache: Option<CellCache>,
    seed: Option<u64>,
    only_its_own: bool,
}

impl<E: Cacheable> CachedExecutor<E> {
    /// Creates an executor for cells that are not in the cache, or for all cells without a cache.
    /// The campaign's seed selects the cached cells that are checked by a rerun; without a seed
    /// none are.
    pub const fn new(executor: E, cache: Option<CellCache>, seed: Option<u64>) -> Self {
        Self { executor, cache, seed, only_its_own: false }
    }

    /// Sets whether a cell that ended for an external reason, such as lack of memory, is withdrawn
    /// instead of reported.
    #[must_use]
    pub const fn ignore_host_faults(mut self, only: bool) -> Self {
        self.only_its_own = only;
        self
    }

    /// Runs a cell and returns whether its result is repeatable.
    fn run(
        &mut self,
        job: &CellJob,
        observe: &mut dyn FnMut(&CellEvent),
    ) -> Result<(CellResult, bool), AbortReason> {
        let (result, repeatable) = self.executor.execute_checked(job, observe)?;
        // A hang is caused by the work of the guest itself.
        if self.only_its_own && !repeatable && result.status != Status::Hung {
            let why = result.failure.map(|failure| failure.reason);
            return Err(AbortReason::EnvironmentFault(
                why.unwrap_or_else(|| "it was ended from outside".to_owned()),
            ));
        }
        Ok((result, repeatable))
    }

    /// Returns the inner executor, to prepare it for the next cell.
    pub const fn executor(&mut self) -> &mut E {
        &mut self.executor
    }
}

impl<E: Cacheable> Executor for CachedExecutor<E> {
    fn execute(
        &mut self,
        job: &CellJob,
        observe: &mut dyn FnMut(&CellEvent),
    ) -> Result<CellResult, AbortReason> {
        let Some(cache) = self.cache.clone() else {
            return Ok(self.run(job, observe)?.0);
        };
        let key = match self.executor.key(job) {
            Ok(Some(key)) => key,
            Ok(None) => return Ok(self.run(job, observe)?.0),
            Err(error) => {
                let (mut result, _) = self.run(job, observe)?;
                let remark = format!("its key for the cache could not be made: {error}");
                result.remarks.push(remark);
                return Ok(result);
            }
        };
        let served = |found| CellResult { from_cache: true, ..found };
        let kept = match cache.get(&key, &job.test) {
            Some(found) if !self.seed.is_some_and(|seed| is_checked(&key, seed)) => {
                return Ok(served(found));
            }
            kept => kept,
        };
        let claim = match kept {
            Some(_) => None,
            None => match wait(&cache, &key, job, &self.executor)? {
                CacheWait::Served(found) => return Ok(served(*found)),
                CacheWait::Run(claim) => claim,
            },
        };
        let (mut result, repeatable) = self.run(job, observe)?;
        if let Some(kept) = kept {
            let Some(difference) = difference(&kept, &result) else {
                return Ok(result);
            };
            if !repeatable {
                // A result with an external cause does not contradict the cached result.
                return Ok(served(kept));
            }
            result.remarks.push(difference);
            // If it cannot be removed, it is overwritten.
            let _ = cache.remove(&key);
        }
        if repeatable && let Err(error) = cache.insert(&key, &result) {
            let remark = format!("it could not be kept in the cache: {error}");
            result.remarks.push(remark);
        }
        // Release the claim only after the result is stored, so that waiting hosts find the result.
        drop(claim);
        Ok(result)
    }
}

/// Result of waiting for a cell.
enum CacheWait {
    /// Result of a run on another host.
    Served(Box<CellResult>),
    /// This process must run the cell.
    Run(Option<CellClaim>),
}

/// Waits for the claim or the result of a cell. Returns `Elsewhere` when a claim of another host is
/// first seen, so that other cells run first; later it waits for a limited time.
fn wait(
    cache: &CellCache,
    key: &CellKey,
    job: &CellJob,
    executor: &impl Cacheable,
) -> Result<CacheWait, AbortReason> {
    let begun = Instant::now();
    loop {
        let turn = cache.claim_state(key);
        // The result may have been stored since the last look.
        if !matches!(turn, ClaimState::Unclaimed)
            && let Some(found) = cache.get(key, &job.test)
        {
            return Ok(CacheWait::Served(Box::new(found)));
        }
        let (host, is_news) = match turn {
            ClaimState::Acquired(claim) => return Ok(CacheWait::Run(Some(claim))),
            ClaimState::Unclaimed => return Ok(CacheWait::Run(None)),
            ClaimState::HeldByOther { host, is_news } => (host, is_news),
        };
        if executor.stop_requested() {
            return Err(AbortReason::Interrupted);
        }
        let pace = cache.claims.as_ref().map_or(ClaimTimeouts::DEFAULT_CLAIM, CellClaims::pace);
        if is_news || begun.elapsed() >= pace.wait {
            return Err(AbortReason::OtherHost(host));
        }
        thread::sleep(pace.look);
    }
}

/// Describes the first difference between the cached result and a new run of the same cell. Returns
/// `None` if they are equal to the nanosecond.
fn difference(kept: &CellResult, new: &CellResult) -> Option<String> {
    let what = if kept.status != new.status {
        format!("it was {}, and is {} now", kept.status, new.status)
    } else if let Some((old, new)) = first_difference(&kept.phases, &new.phases) {
        format!("phase {} took {} ns, and takes {} ns now", old.phase, old.elapsed.0, new.elapsed.0)
    } else if kept.features != new.features {
        "other features were found".to_owned()
    } else {
        return None;
    };
    Some(format!(
        "this result differs from an earlier run of an equal cell: {what}; the new result is kept"
    ))
}

fn first_difference<'a>(
    kept: &'a [PhaseResult],
    new: &'a [PhaseResult],
) -> Option<(&'a PhaseResult, &'a PhaseResult)> {
    kept.iter().zip(new).find(|(kept, new)| kept != new)
}

#[cfg(test)]
mod tests;
