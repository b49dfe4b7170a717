//! Processor profile of a guest during a phase: stacks of functions, sampled at a fixed period of
//! the guest's time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Nanos;

/// Name of the innermost function if a program was running in user mode.
pub const USER: &str = "[user]";

/// Time to take one sample, of a program and of the kernel in stacks of ten functions. Measured in
/// virtual time on Linux 6.1 with a counting loop (120 ms) and with files created and removed on
/// tmpfs (380 ms). After this time is subtracted, periods of 20, 50 and 100 µs give the unsampled
/// time of both, within 1 %.
const SAMPLE_OF_PROGRAM: Nanos = Nanos(2_300);
const SAMPLE_OF_KERNEL: Nanos = Nanos(5_000);

/// Parameters for sampling the processor of a guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    /// Time between two samples.
    pub period: Nanos,
    /// The phase to sample [default: all phases].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
}

impl Sampling {
    /// Returns true if a phase is sampled.
    pub fn covers(&self, phase: &str) -> bool {
        self.phase.as_ref().is_none_or(|name| name == phase)
    }
}

/// Samples of the processor in the timed parts of a phase, as a call tree. Idle time is excluded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuProfile {
    /// Time between two samples.
    pub period: Nanos,
    /// Samples in user mode.
    pub user: u64,
    /// Samples in the kernel.
    pub kernel: u64,
    /// Samples that did not fit into the buffer.
    pub lost: u64,
    /// Names of functions; functions of modules are formatted as `name [module]`, like in perf(1).
    functions: Vec<String>,
    calls: Vec<CallNode>,
}

/// A function called from a given caller. The fields are the index of the caller in the list, from
/// 1, or 0 if it has none; the number of the function; and the samples in which it was the
/// innermost function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CallNode(u32, u32, u64);

impl CpuProfile {
    /// Creates a profile from stacks, each from the outermost function to the innermost and with
    /// its number of samples. The outermost element is the task. The innermost is [`USER`] if the
    /// program was running in user mode.
    pub fn from_stacks(
        period: Nanos,
        lost: u64,
        stacks: impl IntoIterator<Item = (Vec<String>, u64)>,
    ) -> Self {
        let mut sums: BTreeMap<Vec<String>, u64> = BTreeMap::new();
        for (stack, samples) in stacks {
            *sums.entry(stack).or_default() += samples;
        }
        let mut profile = Self { period, lost, ..Self::default() };
        let mut places: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
        for (stack, samples) in sums {
            match is_user_time(&stack) {
                true => profile.user += samples,
                false => profile.kernel += samples,
            }
            let mut caller = 0;
            for name in stack {
                let next = profile.functions.len() as u32;
                let function = *numbers.entry(name).or_insert_with_key(|name| {
                    profile.functions.push(name.clone());
                    next
                });
                let calls = &mut profile.calls;
                caller = *places.entry((caller, function)).or_insert_with(|| {
                    calls.push(CallNode(caller, function, 0));
                    calls.len() as u32
                });
            }
            if let Some(place) = caller.checked_sub(1) {
                profile.calls[place as usize].2 += samples;
            }
        }
        profile
    }

    /// Returns each stack that has samples, from the outermost function to the innermost.
    pub fn stacks(&self) -> impl Iterator<Item = (Vec<&str>, u64)> {
        let mut stacks: Vec<Vec<&str>> = Vec::with_capacity(self.calls.len());
        for CallNode(caller, function, _) in &self.calls {
            let name = self.functions.get(*function as usize);
            // An index that does not refer to an earlier entry is invalid and treated as no caller.
            let caller = caller.checked_sub(1).map(|place| place as usize);
            let above = caller.and_then(|place| stacks.get(place)).cloned();
            let mut stack = above.unwrap_or_default();
            stack.push(name.map_or("", String::as_str));
            stacks.push(stack);
        }
        let samples = self.calls.iter().map(|CallNode(_, _, samples)| *samples);
        stacks.into_iter().zip(samples).filter(|(_, samples)| *samples > 0)
    }

    /// Formats each stack as a line: functions from the outermost to the innermost, separated by
    /// `;`, then a space and the number of samples. Flame graphs use this format
    /// (`stackcollapse-perf.pl`).
    pub fn to_folded(&self) -> String {
        self.stacks().map(|(stack, samples)| format!("{} {samples}\n", stack.join(";"))).collect()
    }

    /// Returns each stack with its share of a total time, in nanoseconds. A sample represents its
    /// period minus the time to take the sample.
    pub fn split_time(&self, time: Nanos) -> impl Iterator<Item = (Vec<&str>, f64)> {
        let weight = |took: Nanos| self.period.0.saturating_sub(took.0).max(1) as f64;
        let (program, kernel) = (weight(SAMPLE_OF_PROGRAM), weight(SAMPLE_OF_KERNEL));
        let all = self.user as f64 * program + self.kernel as f64 * kernel;
        let each = time.0 as f64 / all.max(1.0);
        self.stacks().map(move |(stack, samples)| {
            let weight = match is_user_time(&stack) {
                true => program,
                false => kernel,
            };
            (stack, samples as f64 * weight * each)
        })
    }
}

/// Returns true if a program was running in user mode, rather than the kernel for it.
pub fn is_user_time<T: AsRef<str>>(stack: &[T]) -> bool {
    stack.last().is_some_and(|function| function.as_ref() == USER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(text: &str) -> Vec<String> {
        text.split(';').map(str::to_owned).collect()
    }

    fn profile() -> CpuProfile {
        let stacks = [
            (stack("fsarena;read;copy"), 3),
            (stack("fsarena;[user]"), 2),
            (stack("fsarena;read"), 1),
            (stack("kernel;copy"), 4),
            (stack("fsarena;read;copy"), 5),
        ];
        CpuProfile::from_stacks(Nanos(10), 1, stacks)
    }

    #[test]
    fn stacks_are_folded_and_come_back() {
        let folded = "fsarena;[user] 2\nfsarena;read 1\nfsarena;read;copy 8\nkernel;copy 4\n";
        assert_eq!(profile().to_folded(), folded);
        let stacks = profile()
            .stacks()
            .map(|(names, samples)| {
                let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
                (names, samples)
            })
            .collect::<Vec<_>>();
        assert_eq!(CpuProfile::from_stacks(Nanos(10), 1, stacks), profile());
        let text = serde_json::to_string(&profile()).unwrap();
        assert_eq!(serde_json::from_str::<CpuProfile>(&text).unwrap(), profile());
    }

    #[test]
    fn program_and_kernel_time_are_separated() {
        let profile = CpuProfile { period: Nanos(20_000), ..profile() };
        let all = 2 * 17_700 + 13 * 15_000;
        let divided = profile.split_time(Nanos(all));
        let divided: Vec<_> = divided.map(|(_, time)| time.round() as u64).collect();
        assert_eq!(divided, [2 * 17_700, 15_000, 8 * 15_000, 4 * 15_000]);
    }

    #[test]
    fn a_damaged_profile_is_no_panic() {
        let mut profile = profile();
        profile.calls[0] = CallNode(99, 99, 1);
        assert!(profile.to_folded().starts_with(" 1\n"));
    }

    #[test]
    fn one_phase_or_all_are_sampled() {
        let of =
            |phase: Option<&str>| Sampling { period: Nanos(1), phase: phase.map(str::to_owned) };
        assert!(of(None).covers("a") && of(Some("a")).covers("a") && !of(Some("a")).covers("b"));
    }
}
