//! A command line of the user, run in the mounted directory.

use super::keys::{FromKeys, choice, count, flag, keyed, optional, size};
use super::printed::PrintedValue;
use super::{FsState, KeyError, KeySource, Op, OpExecutor, OpInfo, OpName, OpUnit, WorkEstimate};
use crate::{Bytes, CacheState, Metric, Nanos, SyncAtEnd, WorkloadCategory};

keyed! {
    /// Run a command in the root directory of the filesystem. An exit code other than 0 is a
    /// failure.
    pub struct Exec {
        /// The program and its arguments, separated by blanks; `'…'` and `"…"` quote blanks. No
        /// shell is involved.
        command: String = |keys: &dyn KeySource, key| keys.command(key),
        /// Estimate of the bytes that it writes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        writes: Option<Bytes> = |keys, key| optional(keys, key, size),
        /// Estimate of the bytes, written by earlier commands, that it removes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        frees: Option<Bytes> = |keys, key| optional(keys, key, size),
        /// Whether the last program of the command unpacks an archive. If all that it complains of
        /// are owners, modes and times that the filesystem lacks, it succeeds without them.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unpacks: bool = flag,
        /// Estimate of its duration on the machine of the forecast's assumptions, which has two
        /// processors.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        takes: Option<Nanos> = |keys, key| optional(keys, key, |keys, key| keys.duration(key)),
        /// Number of operations in its work, for the rate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        operations: Option<u64> = |keys, key| optional(keys, key, count),
        /// Values in its output. The first one ranks the results.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        prints: Vec<PrintedValue> = printed,
        /// Workload category, if the author of the suite knows it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        group: Option<WorkloadCategory> = |keys, key| optional(keys, key, category),
        /// Packages of the suite that contain its programs, for error messages.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        packages: Vec<String> = |_, _| Ok::<_, KeyError>(Vec::new()),
        /// Standard input; empty by default. Not available in suite files.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        input: String = |_, _| Ok::<_, KeyError>(String::new()),
        /// Estimate of its duration, if its options and not its work decide. Not available in suite
        /// files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lasts: Option<Nanos> = |_, _| Ok::<_, KeyError>(None),
    }
}

/// Reads the values in the output.
fn printed(keys: &dyn KeySource, key: &'static str) -> Result<Vec<PrintedValue>, KeyError> {
    let mut values: Vec<PrintedValue> = Vec::new();
    if keys.has(key) {
        keys.texts(key, &mut |text| {
            let value: PrintedValue = text.parse()?;
            if values.iter().any(|other| other.metric == value.metric) {
                return Err(format!("{} has two patterns", value.metric));
            }
            values.push(value);
            Ok(())
        })?;
    }
    Ok(values)
}

fn category(keys: &dyn KeySource, key: &'static str) -> Result<WorkloadCategory, KeyError> {
    choice(keys, key, &WorkloadCategory::WORDS)
}

/// The environment variable with the directory of the archives.
pub const ARCHIVES: &str = "ARCHIVES";

impl Exec {
    /// Creates a command without estimates.
    pub fn new(command: impl Into<String>) -> Self {
        Self {
            command: command.into(),
            writes: None,
            frees: None,
            unpacks: false,
            takes: None,
            operations: None,
            prints: Vec::new(),
            group: None,
            packages: Vec::new(),
            input: String::new(),
            lasts: None,
        }
    }

    /// Returns the archives used by the command, as `$ARCHIVES/NAME`.
    pub fn archives(&self) -> impl Iterator<Item = &str> {
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
        let names = self.command.split("$ARCHIVES/").skip(1);
        names.map(move |rest| &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())])
    }

    /// Quotes a word of a command, so that [`Self::arguments`] returns it unchanged.
    pub fn quoted(word: &str) -> String {
        let pieces = word.split('\'').map(|piece| format!("'{piece}'"));
        pieces.collect::<Vec<_>>().join("\"'\"")
    }

    /// Returns the program and its arguments. Splits the line like a shell, but supports only
    /// quotes.
    ///
    /// # Errors
    /// Returns an error if a quote is not closed, or if the program is missing.
    pub fn arguments(&self) -> Result<Vec<String>, String> {
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        let mut quote = None;
        for letter in self.command.chars() {
            match quote {
                Some(open) if letter == open => quote = None,
                None if matches!(letter, '\'' | '"') => {
                    quote = Some(letter);
                    word.get_or_insert_default();
                }
                None if letter.is_whitespace() => words.extend(word.take()),
                _ => word.get_or_insert_default().push(letter),
            }
        }
        words.extend(word);
        match quote {
            Some(open) => Err(format!("`command` has a {open} that is not closed")),
            None if words.is_empty() => Err("`command` names no program".into()),
            None => Ok(words),
        }
    }
}

impl OpInfo for Exec {
    fn op_names() -> &'static [OpName] {
        &[OpName {
            name: "exec",
            keys: &[
                "command",
                "writes",
                "frees",
                "unpacks",
                "takes",
                "operations",
                "prints",
                "group",
            ],
            read: |keys| Self::read(keys).map(Op::Exec),
        }]
    }

    fn apply(&self, files: &mut FsState) -> WorkEstimate {
        let written = self.writes.unwrap_or_default().0;
        files.change_unknown(written, self.frees.unwrap_or_default().0);
        WorkEstimate::new(0, written, 1)
    }

    fn perform<S: OpExecutor>(&self, executor: &mut S) -> Result<(), S::Error> {
        executor.run(self)
    }

    /// The workload of a command is unknown, unless the suite states it.
    fn group(&self) -> Option<WorkloadCategory> {
        self.group
    }

    fn primary_metric(&self) -> Metric {
        match (self.prints.first(), self.operations) {
            (Some(value), _) => value.metric,
            (None, Some(_)) => Metric::Rate,
            (None, None) => Metric::Elapsed,
        }
    }

    /// A percentile that it prints, if any.
    fn secondary_metrics(&self) -> Option<Metric> {
        let tails = [Metric::SyncP99, Metric::LatencyP99];
        self.prints.iter().skip(1).map(|value| value.metric).find(|metric| tails.contains(metric))
    }

    fn each(&self) -> OpUnit {
        OpUnit::Nothing
    }

    fn allowed_caches(&self) -> &'static [CacheState] {
        &[CacheState::Cold, CacheState::Warm]
    }

    fn default_end(&self) -> Option<(CacheState, SyncAtEnd)> {
        Some((CacheState::Warm, SyncAtEnd::Syncfs))
    }

    fn check(&self) -> Result<(), String> {
        self.arguments().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &str) -> Result<Vec<String>, String> {
        Exec::new(command).arguments()
    }

    #[test]
    fn archives_are_found_in_the_command() {
        let exec = Exec::new("sh -c 'tar -xf $ARCHIVES/sed; cat \"$ARCHIVES/lua-5.4\"'");
        assert_eq!(exec.archives().collect::<Vec<_>>(), ["sed", "lua-5.4"]);
    }

    #[test]
    fn results_are_ranked_by_the_first_printed_value_then_by_the_rate() {
        let mut exec = Exec::new("true");
        assert_eq!(exec.primary_metric(), Metric::Elapsed);
        exec.operations = Some(7);
        assert_eq!((exec.primary_metric(), exec.secondary_metrics()), (Metric::Rate, None));
        exec.prints = [r"elapsed: (?<ms>\d+)", r"latency-p99: (?<us>\d+)"]
            .map(|text| text.parse().unwrap())
            .to_vec();
        assert_eq!(exec.primary_metric(), Metric::Elapsed);
        assert_eq!(exec.secondary_metrics(), Some(Metric::LatencyP99));
    }

    proptest::proptest! {
        #[test]
        fn a_quoted_word_is_one_word_and_the_same(all in proptest::collection::vec("[a' \"\n$/-]{0,9}", 1..5)) {
            let command: Vec<String> = all.iter().map(|word| Exec::quoted(word)).collect();
            proptest::prop_assert_eq!(words(&command.join(" ")).unwrap(), all);
        }
    }

    #[test]
    fn a_line_is_split_at_blanks_and_held_together_by_quotes() {
        assert_eq!(words("tar  xf a.tar").unwrap(), ["tar", "xf", "a.tar"]);
        assert_eq!(words("sh -c 'echo \"a  b\" >f'").unwrap()[2], "echo \"a  b\" >f");
        assert_eq!(words("a=\"b c\" ''").unwrap(), ["a=b c", ""]);
        assert!(words("echo 'a").unwrap_err().contains("not closed"));
        assert!(words("  ").is_err());
    }
}
