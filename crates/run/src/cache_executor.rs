//! Serves cells from the results of equal ones, where equal cells cannot but give equal results.

use std::io;
use std::thread;
use std::time::Instant;

use model::{CellResult, PhaseResult, Status};
use wire::{AbortReason, CellEvent, CellJob};

use crate::Executor;
use crate::cell_cache::CellCache;
use crate::cell_claim::{CellClaim, CellClaims, ClaimState, ClaimTimeouts};
use crate::cell_key::CellKey;

/// An executor some of whose cells give the same result whenever they are run.
pub trait Cacheable: Executor {
    /// The name of all that the result of a job follows from; nothing where not all of it can be named.
    ///
    /// # Errors
    /// When something that goes into the cell cannot be read.
    fn key(&self, job: &CellJob) -> io::Result<Option<CellKey>>;

    /// Does the job, and says whether it would come to the same end again: what was killed from outside, or
    /// given up, would not.
    ///
    /// # Errors
    /// Only when the user interrupted it or it was withdrawn.
    fn execute_checked(
        &mut self,
        job: &CellJob,
        observe: &mut dyn FnMut(&CellEvent),
    ) -> Result<(CellResult, bool), AbortReason>;

    /// Whether the user asked to stop.
    fn stop_requested(&self) -> bool;
}

/// One in so many cells of which an equal one was run is run again, to see whether it comes to the same.
const CHECKED: u64 = 20;

/// Whether a cell is run again though its result is there: by chance, which the campaign's seed decides.
fn is_checked(key: &CellKey, seed: u64) -> bool {
    let chance = CellKey::sha256(format!("check {key} {seed}").as_bytes());
    chance.number().is_multiple_of(CHECKED)
}

/// Runs a cell only where no equal one was run before, and one in twenty in spite of that.
pub struct CachedExecutor<E> {
    executor: E,
    cache: Option<CellCache>,
    seed: Option<u64>,
    only_its_own: bool,
}

impl<E: Cacheable> CachedExecutor<E> {
    /// Runs with this executor what is not in the cache; everything where there is none. The seed, that of the
    /// campaign, decides which cells of the cache are run again; none are without.
    pub const fn new(executor: E, cache: Option<CellCache>, seed: Option<u64>) -> Self {
        Self {
            executor,
            cache,
            seed,
            only_its_own: false,
        }
    }

    /// Whether a cell that ended through what happened outside, such as a lack of memory, is no result but ends the run.
    #[must_use]
    pub const fn ignore_host_faults(mut self, only: bool) -> Self {
        self.only_its_own = only;
        self
    }

    /// Runs a cell, and says whether it would come to the same end again.
    fn run(
        &mut self,
        job: &CellJob,
        observe: &mut dyn FnMut(&CellEvent),
    ) -> Result<(CellResult, bool), AbortReason> {
        let (result, repeatable) = self.executor.execute_checked(job, observe)?;
        // A guest that hangs does so by what it has executed.
        if self.only_its_own && !repeatable && result.status != Status::Hung {
            let why = result.failure.map(|failure| failure.reason);
            return Err(AbortReason::EnvironmentFault(
                why.unwrap_or_else(|| "it was ended from outside".to_owned()),
            ));
        }
        Ok((result, repeatable))
    }

    /// The executor of what is not in the cache, to be made ready for the next cell.
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
        let served = |found| CellResult {
            from_cache: true,
            ..found
        };
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
                // What came of it from outside says nothing about what is kept.
                return Ok(served(kept));
            }
            result.remarks.push(difference);
            // What cannot be removed is written over.
            let _ = cache.remove(&key);
        }
        if repeatable && let Err(error) = cache.insert(&key, &result) {
            let remark = format!("it could not be kept in the cache: {error}");
            result.remarks.push(remark);
        }
        // Only now, so that who waits finds the result.
        drop(claim);
        Ok(result)
    }
}

/// What comes of waiting for a cell.
enum CacheWait {
    /// Somebody else has run it.
    Served(Box<CellResult>),
    /// It is one's own to run.
    Run(Option<CellClaim>),
}

/// Waits until a cell that is not there is somebody's: who hears for the first time that another host runs it does other cells
/// before, who hears it again waits a while.
fn wait(
    cache: &CellCache,
    key: &CellKey,
    job: &CellJob,
    executor: &impl Cacheable,
) -> Result<CacheWait, AbortReason> {
    let begun = Instant::now();
    loop {
        let turn = cache.claim_state(key);
        // It may have been kept since one looked.
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
        let pace = cache
            .claims
            .as_ref()
            .map_or(ClaimTimeouts::DEFAULT_CLAIM, CellClaims::pace);
        if is_news || begun.elapsed() >= pace.wait {
            return Err(AbortReason::OtherHost(host));
        }
        thread::sleep(pace.look);
    }
}

/// What differs first between the result that was kept and that of a new run of the same cell, in words; nothing where
/// they are the same to the nanosecond.
fn difference(kept: &CellResult, new: &CellResult) -> Option<String> {
    let what = if kept.status != new.status {
        format!("it was {}, and is {} now", kept.status, new.status)
    } else if let Some((old, new)) = first_difference(&kept.phases, &new.phases) {
        format!(
            "phase {} took {} ns, and takes {} ns now",
            old.phase, old.elapsed.0, new.elapsed.0
        )
    } else if kept.features != new.features {
        "other features were found".to_owned()
    } else {
        return None;
    };
    Some(format!(
        "an equal cell that was run before came to something else: {what}; the new result is kept"
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
