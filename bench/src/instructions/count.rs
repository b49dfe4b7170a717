//! Counts a guest's instructions: the QEMU plugin, its output, and the cost of an operation as the
//! difference between two guests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde::Serialize;

use crate::peers;

const SOURCE: &str = include_str!("count.c");

/// System calls that begin a new part. Each part is counted separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountScope {
    /// A system call with one of these numbers, if the previous one of them had another number.
    Calls(&'static [u32]),
    /// Every system call with this number.
    Each(u32),
}

impl CountScope {
    /// Returns the value of QEMU's `-plugin` option (qemu(1)) for counts that are written to a
    /// file.
    fn words(self, plugin: &Path, to: &Path) -> String {
        let mut words = format!("{},to={}", plugin.display(), to.display());
        match self {
            Self::Calls(calls) => calls.iter().for_each(|call| words += &format!(",call={call}")),
            Self::Each(call) => words += &format!(",each={call}"),
        }
        words
    }
}

/// The compiled plugin.
#[derive(Debug)]
pub struct Counter(PathBuf);

impl Counter {
    /// Compiles the plugin in a directory.
    ///
    /// # Errors
    /// Returns an error if the compiler fails.
    pub fn compile(directory: &Path) -> anyhow::Result<Self> {
        let source = directory.join("count.c");
        let plugin = directory.join("count.so");
        fs::write(&source, SOURCE)?;
        let flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"];
        let mut compile = Command::new("cc");
        peers::run(compile.args(flags).arg("-o").args([&plugin, &source]))?;
        Ok(Self(plugin))
    }

    /// Returns the value of QEMU's `-plugin` option for counts that are written to a file.
    pub fn plugin(&self, parts: CountScope, to: &Path) -> String {
        parts.words(&self.0, to)
    }
}

/// Counts of one part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// Number of instructions in programs.
    programs: u64,
    /// Number of instructions in the kernel.
    kernel: u64,
    /// Number of instructions in programs, by the address of a code block.
    addresses: BTreeMap<u64, u64>,
}

/// Cost of an operation in instructions. Each instruction takes one nanosecond of a guest's virtual
/// time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InstructionCost {
    /// In programs.
    pub user: f64,
    /// Instructions in the kernel.
    pub kernel: f64,
    /// Instructions in programs, by the address of a code block.
    #[serde(skip)]
    pub addresses: BTreeMap<u64, f64>,
}

impl InstructionCost {
    /// In both.
    pub const fn total(&self) -> f64 {
        self.user + self.kernel
    }
}

/// Minimum instructions in programs for which a part counts as part of an operation. A system call
/// and a clock read take more, and incidental differences between two guests take far less.
const MIN_COUNT: f64 = 50.0;

/// Parses the output of the plugin.
///
/// # Errors
/// Returns an error if the output has an unexpected format.
pub fn parse(text: &str) -> anyhow::Result<Vec<Part>> {
    let mut parts: Vec<Part> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word: &str| word.parse::<u64>().with_context(|| line.to_owned());
        match (&words[..], parts.last_mut()) {
            (["part", programs, kernel], _) => parts.push(Part {
                programs: number(programs)?,
                kernel: number(kernel)?,
                addresses: BTreeMap::new(),
            }),
            ([address, count], Some(part)) => {
                let address = u64::from_str_radix(address, 16).with_context(|| line.to_owned())?;
                part.addresses.insert(address, number(count)?);
            }
            _ => anyhow::bail!("the plugin wrote: {line}"),
        }
    }
    anyhow::ensure!(!parts.is_empty(), "the plugin wrote nothing");
    Ok(parts)
}

/// Returns the cost of an operation in each part that grows with the number of operations. The
/// second guest did `operations` more than the first, and everything else is common to both and
/// cancels out.
///
/// # Errors
/// Returns an error if the two guests do not have the same parts.
pub fn costs(
    once: &[Part],
    more: &[Part],
    operations: u64,
) -> anyhow::Result<Vec<InstructionCost>> {
    anyhow::ensure!(
        once.len() == more.len(),
        "two guests that did the same have {} and {} parts",
        once.len(),
        more.len()
    );
    let pairs = once.iter().zip(more);
    let costs = pairs.map(|(once, more)| cost(once, more, operations as f64));
    Ok(costs.filter(|cost| cost.user >= MIN_COUNT).collect())
}

fn cost(once: &Part, more: &Part, operations: f64) -> InstructionCost {
    let each = |once: u64, more: u64| (more as f64 - once as f64) / operations;
    let count = |part: &Part, address| part.addresses.get(address).copied().unwrap_or_default();
    let all = more.addresses.keys();
    InstructionCost {
        user: each(once.programs, more.programs),
        kernel: each(once.kernel, more.kernel),
        addresses: all.map(|a| (*a, each(count(once, a), count(more, a)))).collect(),
    }
}

/// Returns the total cost of several parts.
pub fn sum<'a>(parts: impl Iterator<Item = &'a InstructionCost>) -> InstructionCost {
    let mut sum = InstructionCost { user: 0.0, kernel: 0.0, addresses: BTreeMap::new() };
    for part in parts {
        sum.user += part.user;
        sum.kernel += part.kernel;
        for (address, count) in &part.addresses {
            *sum.addresses.entry(*address).or_default() += count;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_compiles() {
        let directory = tempfile::tempdir().unwrap();
        let counter = Counter::compile(directory.path()).unwrap();
        assert!(counter.0.exists());
        let told = counter.plugin(CountScope::Calls(&[1, 2]), Path::new("/f"));
        assert!(told.ends_with("count.so,to=/f,call=1,call=2"), "{told}");
    }

    #[test]
    fn cost_is_the_growth_per_operation() {
        let once = parse("part 1000 9000\n4000 900\n5000 100\npart 50 10\n").unwrap();
        let more = parse("part 1100 9400\n4000 900\n5000 150\n6000 50\npart 51 12\n").unwrap();
        let costs = costs(&once, &more, 2).unwrap();
        assert_eq!(costs.len(), 1, "the second part does not grow: {costs:?}");
        let cost = &costs[0];
        assert_eq!((cost.user, cost.kernel, cost.total()), (50.0, 200.0, 250.0));
        let addresses: Vec<(u64, f64)> = cost.addresses.clone().into_iter().collect();
        assert_eq!(addresses, [(0x4000, 0.0), (0x5000, 25.0), (0x6000, 25.0)]);
    }

    #[test]
    fn other_words_and_other_parts_are_refused() {
        for text in ["", "4000 1", "part 1", "part 1 2\nx 1", "part 1 2\n10 x"] {
            assert!(parse(text).is_err(), "{text}");
        }
        let part = parse("part 1 2").unwrap();
        assert!(costs(&part, &[part.clone(), part.clone()].concat(), 1).is_err());
    }
}
