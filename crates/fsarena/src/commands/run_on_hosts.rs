//! `fsarena run --hosts`: runs a campaign in real time on each of several hosts at the same time,
//! or divides its rounds among them.
//!
//! Contenders are compared within a host and then over hosts. A host therefore runs whole rounds
//! with all contenders and tests. If a host is lost in the middle of a round, the completed rounds
//! count, and other hosts run the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{sync::mpsc, thread};

use campaign::run::CampaignEnd;
use config::Settings;
use model::wire::machine::FailureKind;

use crate::args::batch_args::SchedulerArgs;
use crate::args::cli::GlobalArgs;
use crate::args::compare_args::CompareArgs;
use crate::args::run_args::RunArgs;
use crate::commands::compare;
use crate::commands::run::{self, RunOutcome};
use crate::output::exit::{EnvironmentError, ExitReason, UsageError};
use crate::output::text::{line, print_note};
use crate::paths;
use crate::settings::select_campaign;

/// Runs the campaign on all hosts, and compares the contenders over them.
pub fn run(
    args: &RunArgs,
    globals: &GlobalArgs,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<ExitCode> {
    let name = require_sound(args)?;
    // Creates the database, if necessary, before several threads open it.
    paths::store(globals)?;
    let hosts = &args.engine.hosts;
    let mut blocks = match (args.divide, args.settings.rounds) {
        (true, Some(rounds)) => RoundAllocation::divided(hosts.len(), rounds),
        _ => RoundAllocation::on_each(hosts.len(), args.settings.rounds),
    };
    let (say, said) = mpsc::channel();
    let (mut worst, mut gone, mut absent) = (None, Vec::new(), Vec::new());
    thread::scope(|scope| {
        loop {
            while let Some((number, host, rounds)) = blocks.next().filter(|_| !is_raised(stop)) {
                let say = say.clone();
                let host = Host { name: &hosts[host], number: host, rounds };
                scope.spawn(move || {
                    let ran = host.run(args, number, globals, stop);
                    // The receiver outlives this scope.
                    let _ = say.send((host.number, ran));
                });
            }
            if !blocks.is_busy() {
                return;
            }
            let Ok((host, ran)) = said.recv() else { return };
            let begun = ran.begun;
            if let Some(error) = blocks.ended(host, ran) {
                if backend::kind(&error) == FailureKind::Usage {
                    stop.store(true, Ordering::SeqCst);
                    worst = Some(error);
                } else {
                    let list = if begun { &mut gone } else { &mut absent };
                    list.push(hosts[host].as_str());
                    print_note(&format!("{}: {}", hosts[host], backend::error_chain(&error)));
                }
            }
        }
    });
    if let Some(error) = worst {
        return Err(error);
    }
    if is_raised(stop) {
        print_note(
            "interrupted; all hosts were cleaned up. Resume each campaign with: fsarena resume",
        );
        return Ok(ExitReason::Interrupted.into());
    }
    compared(&name, globals)?;
    // With --divide, other hosts have run the missing rounds.
    if (gone.is_empty() && absent.is_empty()) || (args.divide && blocks.left == 0) {
        return Ok(ExitReason::Success.into());
    }
    Err(EnvironmentError(missing(&gone, &absent, &name)).into())
}

/// Returns the hosts with missing rounds, and the commands that run them.
fn missing(gone: &[&str], absent: &[&str], name: &str) -> String {
    let broken_off = (!gone.is_empty()).then(|| {
        format!(
            "{} did not run all rounds, and incomplete rounds are not counted: find the campaign with `fsarena list campaigns`, then `fsarena resume ID`",
            gone.join(", ")
        )
    });
    let none = (!absent.is_empty()).then(|| {
        let absent = absent.join(",");
        format!(
            "{absent} ran nothing: when that is mended, the same command with --hosts {absent} and --name {} adds it",
            line(name)
        )
    });
    let both: Vec<String> = broken_off.into_iter().chain(none).collect();
    both.join("; ")
}

fn is_raised(stop: &AtomicBool) -> bool {
    stop.load(Ordering::SeqCst)
}

/// Validates the options. Returns the name shared by the campaigns of all hosts.
fn require_sound(args: &RunArgs) -> Result<String, UsageError> {
    let refuse = |why: &str| Err(UsageError(why.to_owned()));
    if args.host.is_some()
        || args.sessions.is_some()
        || args.dry_run
        || args.checked.check.is_some()
    {
        return refuse("--hosts takes no --host, --sessions, --dry-run or --check");
    }
    let hosts: BTreeSet<&String> = args.engine.hosts.iter().collect();
    if hosts.len() < args.engine.hosts.len() {
        return refuse("a host is named twice in --hosts: each is one block");
    }
    if args.settings.storage.device.is_some() && args.execution.erase.erase.is_none() {
        return refuse("cannot ask for confirmation on several hosts: add --erase to --device");
    }
    match &args.settings.name {
        Some(name) => Ok(name.clone()),
        None => {
            refuse("--hosts takes --name NAME, by which the campaigns of the hosts are compared")
        }
    }
}

/// A host with the rounds assigned to it.
#[derive(Clone, Copy)]
struct Host<'a> {
    name: &'a str,
    number: usize,
    rounds: Option<u32>,
}

/// Result of a host: its number of complete rounds, and its error, if it stopped early.
struct HostProgress {
    /// Whether a campaign was started on the host.
    begun: bool,
    whole: u32,
    error: Option<anyhow::Error>,
}

impl Host<'_> {
    /// Runs a campaign on the host. Each host has a different seed; otherwise an order that favours
    /// one contender would be repeated on all hosts.
    fn run(
        self,
        args: &RunArgs,
        number: u32,
        globals: &GlobalArgs,
        stop: &Arc<AtomicBool>,
    ) -> HostProgress {
        let own = RunArgs {
            host: Some(self.name.to_owned()),
            settings: Settings { rounds: self.rounds, ..args.settings.clone() },
            engine: SchedulerArgs::default(),
            ..args.clone()
        };
        let globals = GlobalArgs { of_host: Some(self.name.to_owned()), ..globals.clone() };
        let ran = run::campaign(&own, number, &globals, stop).and_then(|ran| match ran {
            RunOutcome::Campaign { ended, id, store } => Ok((ended, store.load(id)?)),
            RunOutcome::Planned(_) => Err(UsageError("no cells to run".to_owned()).into()),
        });
        match ran {
            Err(error) => HostProgress { begun: false, whole: 0, error: Some(error) },
            Ok((ended, mut results)) => {
                select_campaign::drop_incomplete_rounds(&mut results);
                let whole = results.cells.iter().filter(|cell| cell.result.is_some());
                let whole: BTreeSet<u32> = whole.map(|stored| stored.cell.round).collect();
                let broken_off = match ended {
                    Ok(CampaignEnd::Complete) => None,
                    Ok(CampaignEnd::Interrupted) => Some(backend::UserInterrupt.into()),
                    Err(error) => Some(error),
                };
                HostProgress {
                    begun: true,
                    whole: u32::try_from(whole.len()).unwrap_or(u32::MAX),
                    error: broken_off,
                }
            }
        }
    }
}

/// Compares each contender with the first one over the hosts.
fn compared(name: &str, globals: &GlobalArgs) -> anyhow::Result<()> {
    let hosts = select_campaign::Campaigns::new(globals).by_host(name)?;
    let names = hosts[0].campaign.contenders.iter().map(|contender| &contender.name);
    let (first, others): (Vec<_>, Vec<_>) = names.enumerate().partition(|(place, _)| *place == 0);
    for ((_, before), (_, after)) in first.iter().cycle().zip(&others) {
        let asked = CompareArgs {
            before: (*before).clone(),
            after: (*after).clone(),
            within: Some(name.to_owned()),
            ..CompareArgs::default()
        };
        compare::within(&asked, &hosts, globals)?;
    }
    if others.is_empty() && !globals.quiet {
        let name = line(name);
        print_note(&format!(
            "one contender is compared with none: `fsarena list campaigns` has those of {name}"
        ));
    }
    Ok(())
}

/// Allocation of rounds to hosts. Pure.
struct RoundAllocation {
    /// Whether other hosts run the rounds that a host does not complete.
    divides: bool,
    /// Rounds per host if all hosts run the same number; `None` means the default.
    each: Option<u32>,
    /// Rounds that are not assigned to a host.
    left: u32,
    idle: BTreeSet<usize>,
    running: BTreeMap<usize, u32>,
    begun: u32,
}

impl RoundAllocation {
    fn on_each(hosts: usize, rounds: Option<u32>) -> Self {
        Self {
            divides: false,
            each: rounds,
            left: 0,
            idle: (0..hosts).collect(),
            running: BTreeMap::new(),
            begun: 0,
        }
    }

    fn divided(hosts: usize, rounds: u32) -> Self {
        Self { divides: true, left: rounds, ..Self::on_each(hosts, None) }
    }

    /// Returns the next campaign: its number, host and rounds. Idle hosts share the remaining
    /// rounds.
    fn next(&mut self) -> Option<(u32, usize, Option<u32>)> {
        let host = *self.idle.first()?;
        let rounds = match self.divides {
            true => {
                let hosts = u32::try_from(self.idle.len()).unwrap_or(u32::MAX);
                let share = self.left.div_ceil(hosts);
                self.left -= share;
                Some(share).filter(|share| *share > 0)
            }
            false => self.each,
        };
        if self.divides && rounds.is_none() {
            return None;
        }
        self.idle.remove(&host);
        self.running.insert(host, rounds.unwrap_or(0));
        self.begun += 1;
        Some((self.begun - 1, host, rounds))
    }

    fn is_busy(&self) -> bool {
        !self.running.is_empty()
    }

    /// Records the rounds that a host completed. Returns the error if it stopped early. A lost host
    /// gets no more rounds.
    fn ended(&mut self, host: usize, done: HostProgress) -> Option<anyhow::Error> {
        let rounds = self.running.remove(&host).unwrap_or(0);
        self.left += rounds.saturating_sub(done.whole);
        if self.divides && done.error.is_none() {
            self.idle.insert(host);
        }
        done.error
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lost(whole: u32) -> HostProgress {
        let error = Some(EnvironmentError("it is gone".to_owned()).into());
        HostProgress { begun: true, whole, error }
    }

    proptest! {
        /// However many hosts are lost, and at any time: if one remains, every round is run
        /// completely on one host.
        #[test]
        fn every_round_is_run_whole_on_one_host(
            hosts in 1..6usize,
            rounds in 1..40u32,
            endings in proptest::collection::vec((0..6usize, 0..40u32, any::<bool>()), 0..20),
        ) {
            let mut blocks = RoundAllocation::divided(hosts, rounds);
            let (mut whole, mut gone) = (0, 0);
            let mut endings = endings.into_iter();
            loop {
                while let Some((_, host, rounds)) = blocks.next() {
                    prop_assert!(rounds.is_some_and(|rounds| rounds > 0));
                    prop_assert!(blocks.running.contains_key(&host));
                }
                let Some((place, part, goes)) = endings.next().or_else(|| blocks.is_busy().then_some((0, 0, false))) else {
                    break;
                };
                let place = place.checked_rem(blocks.running.len()).unwrap_or(0);
                let Some((&host, &own)) = blocks.running.iter().nth(place) else {
                    break;
                };
                // The last host is never lost.
                let goes = goes && gone + 1 < hosts;
                gone += usize::from(goes);
                let done = if goes { part % (own + 1) } else { own };
                whole += done;
                blocks.ended(host, if goes { lost(done) } else { HostProgress { begun: true, whole: done, error: None } });
            }
            prop_assert_eq!((whole, blocks.left), (rounds, 0));
        }
    }

    #[test]
    fn suggests_resume_only_for_hosts_that_started() {
        let told = missing(&[], &["n2"], "shop");
        assert!(!told.contains("resume"), "{told}");
        assert!(told.contains("--hosts n2 and --name shop"), "{told}");
        let told = missing(&["n1"], &["n2"], "shop");
        assert!(told.starts_with("n1 did not run all rounds"), "{told}");
        assert!(told.contains("; n2 ran nothing"), "{told}");
    }

    #[test]
    fn divided_rounds_are_reassigned_after_a_failure() {
        let mut blocks = RoundAllocation::divided(3, 7);
        let first: Vec<_> = std::iter::from_fn(|| blocks.next()).collect();
        assert_eq!(first, [(0, 0, Some(3)), (1, 1, Some(2)), (2, 2, Some(2))]);
        assert!(blocks.ended(1, lost(1)).is_some());
        assert_eq!((blocks.next(), blocks.left), (None, 1));
        blocks.ended(2, HostProgress { begun: true, whole: 2, error: None });
        assert_eq!(blocks.next(), Some((3, 2, Some(1))));
    }

    #[test]
    fn rounds_of_a_failed_host_are_not_reassigned_without_divide() {
        let mut blocks = RoundAllocation::on_each(2, Some(5));
        let all: Vec<_> = std::iter::from_fn(|| blocks.next()).collect();
        assert_eq!(all, [(0, 0, Some(5)), (1, 1, Some(5))]);
        blocks.ended(0, lost(2));
        blocks.ended(1, HostProgress { begun: true, whole: 5, error: None });
        assert_eq!((blocks.next(), blocks.left, blocks.is_busy()), (None, 3, false));
    }
}
