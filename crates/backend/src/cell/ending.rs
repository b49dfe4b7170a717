//! The end of a cell as observed from outside, and the resulting verdict. Pure.

use model::{Failure, Nanos, Status};

/// End of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CellEnd {
    /// The agent reported that it was done.
    Done,
    /// The agent died before it was done.
    AgentDied {
        /// Exit code or signal, and its standard error.
        how: String,
    },
    /// The agent could not be started.
    NotStarted {
        /// Why.
        why: String,
    },
    /// The guest ended before its agent was done, or never started.
    Guest {
        /// How.
        end: GuestEnd,
        /// Last lines of its console.
        last_words: String,
    },
    /// The agent made no progress or exceeded the limit of a step, and was killed.
    Hung {
        /// The kind of stall.
        stall: StallKind,
        /// Kernel stacks of its processes.
        stacks: Vec<String>,
        /// Whether a process could not be killed and still exists.
        unkillable: bool,
    },
}

/// Reason why a cell counts as hung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StallKind {
    /// No progress for this time.
    Silence(Nanos),
    /// No progress while a guest in virtual time executed this number of instructions.
    Idle(u64),
    /// The step made progress but exceeded its time limit.
    Endless(Nanos),
    /// A phase made progress but took more of the budget than a phase may.
    OverBudget(Nanos),
}

impl StallKind {
    fn words(self) -> String {
        match self {
            Self::Silence(time) => format!("nothing moved for {time}"),
            Self::Idle(executed) => format!(
                "nothing moved while the guest executed {} million instructions",
                executed / 1_000_000
            ),
            Self::OverBudget(limit) => {
                format!(
                    "it took longer than {limit}, the limit of a phase within this budget (--phase-limit)"
                )
            }
            Self::Endless(limit) => {
                format!("it did not end within {limit} (--phase-limit), though something moved")
            }
        }
    }
}

/// End of a guest whose agent was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestEnd {
    /// The guest powered off, which also happens if its kernel panics or its agent ends.
    PoweredOff,
    /// The emulator was killed from outside.
    Killed {
        /// The number of the signal.
        signal: i32,
    },
    /// The emulator itself failed.
    EmulatorFailed {
        /// Exit code of the emulator.
        code: i32,
        /// Standard error of the emulator.
        said: String,
    },
    /// It wrote a line that is not an event, or without end, and did not end.
    ProtocolError,
    /// The guest could not be started.
    NotStarted {
        /// Why.
        why: String,
    },
    /// The guest started, but its agent never sent an event.
    BootTimeout {
        /// Total wait.
        waited: Nanos,
        /// Number of attempts.
        tries: u32,
    },
}

impl GuestEnd {
    /// Returns whether the end is repeatable, that is, without an external cause.
    pub const fn is_reproducible(&self) -> bool {
        matches!(self, Self::PoweredOff)
    }

    fn words(&self) -> String {
        match self {
            Self::PoweredOff => "the guest switched itself off before it was done".to_owned(),
            Self::Killed { signal } => {
                format!("the guest was killed from outside: signal {signal} ended QEMU")
            }
            Self::EmulatorFailed { code, said } if said.is_empty() => {
                format!("QEMU itself failed: it ended with {code}")
            }
            Self::EmulatorFailed { code, said } => {
                format!("QEMU itself failed: it ended with {code}: {said}")
            }
            Self::ProtocolError => {
                "the guest wrote a line that is not an event, or without end".to_owned()
            }
            Self::NotStarted { why } => format!("the guest could not be started: {why}"),
            Self::BootTimeout { waited, tries } => {
                let tries = match tries {
                    1 => "tried once".to_owned(),
                    2 => "tried twice".to_owned(),
                    n => format!("tried {n} times"),
                };
                format!("the guest did not come up within {waited}, {tries}")
            }
        }
    }
}

impl CellEnd {
    /// Returns the status and failure of the running step. Returns `None` if the agent was done.
    pub(crate) fn to_status(&self, step: &str) -> Option<(Status, Failure)> {
        let failure =
            |step: &str, reason| Failure { step: step.to_owned(), reason, ..Failure::default() };
        match self {
            Self::Done => None,
            Self::AgentDied { how } => {
                let reason = format!("the agent died: {how}");
                Some((Status::Crashed, failure(step, reason)))
            }
            // The filesystem was not used yet.
            Self::NotStarted { why } => {
                let reason = format!("the agent could not be started: {why}");
                Some((Status::Failed, failure("provision", reason)))
            }
            Self::Guest { end, last_words } => {
                let mut reason = end.words();
                if !last_words.is_empty() {
                    reason = format!("{reason}; its last words: {last_words}");
                }
                Some(match end {
                    GuestEnd::BootTimeout { .. } => (Status::Hung, failure("boot", reason)),
                    GuestEnd::NotStarted { .. } => (Status::Crashed, failure("boot", reason)),
                    _ => (Status::Crashed, failure(step, reason)),
                })
            }
            Self::Hung { stall, stacks, unkillable } => {
                let mut reason = stall.words();
                if *unkillable {
                    reason.push_str("; it could not be killed and still exists");
                }
                let failure = Failure { stacks: stacks.clone(), ..failure(step, reason) };
                match stall {
                    StallKind::OverBudget(_) => {
                        Some((Status::Failed, Failure { stacks: Vec::new(), ..failure }))
                    }
                    _ => Some((Status::Hung, failure)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(end: GuestEnd) -> (Status, Failure) {
        let last_words = "late".to_owned();
        CellEnd::Guest { end, last_words }.to_status("write").unwrap()
    }

    #[test]
    fn every_guest_end_has_its_own_text_and_step() {
        let waited = Nanos::from_secs(45);
        let ends = [
            (GuestEnd::PoweredOff, "switched itself off", "write"),
            (GuestEnd::Killed { signal: 9 }, "signal 9 ended QEMU", "write"),
            (
                GuestEnd::EmulatorFailed { code: 1, said: "cannot set up guest memory".into() },
                "QEMU itself failed: it ended with 1: cannot set up",
                "write",
            ),
            (GuestEnd::ProtocolError, "not an event", "write"),
            (GuestEnd::NotStarted { why: "ENOENT".into() }, "could not be started: ENOENT", "boot"),
            (
                GuestEnd::BootTimeout { waited, tries: 2 },
                "did not come up within 45.0 s, tried twice",
                "boot",
            ),
        ];
        for (end, words, step) in ends {
            let (status, failure) = verdict(end.clone());
            let hung = matches!(end, GuestEnd::BootTimeout { .. });
            let expected = if hung { Status::Hung } else { Status::Crashed };
            assert_eq!((status, failure.step.as_str()), (expected, step));
            assert!(failure.reason.contains(words), "{}", failure.reason);
            assert!(failure.reason.ends_with("its last words: late"));
        }
    }

    #[test]
    fn a_phase_over_the_limit_of_a_budget_has_failed() {
        let stall = StallKind::OverBudget(Nanos::from_secs(18));
        let stacks = vec!["a stack".to_owned()];
        let end = CellEnd::Hung { stall, stacks, unkillable: false };
        let (status, failure) = end.to_status("write").unwrap();
        assert_eq!(status, Status::Failed);
        assert_eq!(
            failure.reason,
            "it took longer than 18.0 s, the limit of a phase within this budget (--phase-limit)"
        );
        assert!(failure.stacks.is_empty(), "it made progress");
    }

    #[test]
    fn completed_agent_has_no_verdict() {
        assert_eq!(CellEnd::Done.to_status("write"), None);
    }
}
