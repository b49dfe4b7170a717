//! Printed results of a program, for the phases that are read from its output.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use import::{InputFormat, NamingOptions};
use model::{ImportedResult, Op, PhaseResult, ReportedValue, Status, Test};

/// Maximum size of an output, in bytes. Outputs in the requested formats are much smaller.
const MAX_PRINTED_SIZE: u64 = 4 << 20;

/// Results printed by the last program.
#[derive(Debug, Default)]
pub struct ProgramOutput {
    /// Whether phases of the test take results from the output.
    is_wanted: bool,
    /// By phase.
    figures: Mutex<BTreeMap<String, Vec<ImportedResult>>>,
}

impl ProgramOutput {
    /// Nothing yet.
    pub fn new(test: &Test) -> Self {
        let mut phases = test.phases.iter();
        Self {
            is_wanted: phases.any(|phase| matches!(phase.op, Op::External(_))),
            figures: Mutex::default(),
        }
    }

    /// Returns true if phases take results from the output.
    pub const fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Parses the output of a program. The format is named after the program.
    ///
    /// # Errors
    /// Returns a one-line error if the output is not in this format.
    pub fn read(&self, program: &str, output: &File) -> Result<(), String> {
        let format: InputFormat = program.parse()?;
        let bytes = contents(output).map_err(|error| format!("cannot read its output: {error}"))?;
        let found = import::read(format, &bytes, &NamingOptions::default())
            .map_err(|error| format!("what it printed is not read: {error}"))?;
        let mut phases: BTreeMap<String, Vec<ImportedResult>> = BTreeMap::new();
        for figure in found.reported.figures {
            phases.entry(figure.phase.clone()).or_default().push(figure);
        }
        *self.figures.lock().unwrap_or_else(PoisonError::into_inner) = phases;
        Ok(())
    }

    /// Stores the printed values of a phase, averaged over its repetitions.
    ///
    /// # Errors
    /// Returns an error if the program printed no values for this phase.
    pub fn write(&self, phase: &str, result: &mut PhaseResult) -> Result<(), String> {
        let phases = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        let figures = phases.get(phase).map(Vec::as_slice).unwrap_or_default();
        let [first, others @ ..] = figures else {
            return Err(format!("program printed no results for `{phase}`"));
        };
        if let Some(failed) = figures.iter().find(|figure| figure.status != Status::Ok) {
            return Err(failed.reason.clone().unwrap_or_else(|| failed.status.to_string()));
        }
        let mean = |stated: &ReportedValue| {
            let all = figures.iter().flat_map(|figure| &figure.values);
            let all: Vec<f64> = all
                .filter(|value| value.metric == stated.metric)
                .map(|value| value.value)
                .collect();
            ReportedValue { value: all.iter().sum::<f64>() / all.len() as f64, ..*stated }
        };
        result.stated = first.values.iter().map(mean).collect();
        result.too_fast = first.too_fast;
        if others.is_empty() {
            result.latency.clone_from(&first.latency);
        }
        Ok(())
    }
}

fn contents(output: &File) -> io::Result<Vec<u8>> {
    let length = output.metadata()?.len();
    if length > MAX_PRINTED_SIZE {
        return Err(io::Error::other(format!("it is longer than {} MiB", MAX_PRINTED_SIZE >> 20)));
    }
    let mut bytes = vec![0; length as usize];
    output.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use model::{CacheState, Metric, Phase, SyncAtEnd};

    use super::*;

    #[test]
    fn reads_phases_from_program_output() {
        let mut output = crate::sandbox::command::output_file().unwrap();
        let text = "FSUse% Count Size Files/sec App Overhead\n1 5 0 100.0 3\n1 5 0 300.0 3\n";
        output.write_all(text.as_bytes()).unwrap();
        let printed = ProgramOutput::default();
        printed.read("fs_mark", &output).unwrap();
        let mut result = PhaseResult::not_run(&Phase {
            name: "create".to_owned(),
            cache: CacheState::Unknown,
            sync_at_end: SyncAtEnd::Unknown,
            at_most: None,
            scaling: None,
            step: None,
            needs: None,
            from_next_host: false,
            op: Op::External(model::op::External {
                metric: Metric::Rate,
                group: None,
                total: false,
            }),
        });
        printed.write("create", &mut result).unwrap();
        assert_eq!(result.primary_value(), Some(200.0));
        output.write_all(b"100 5 0 0.0 3\n").unwrap();
        printed.read("fs_mark", &output).unwrap();
        assert!(printed.write("create", &mut result).unwrap_err().contains("0.0 files per second"));
        assert!(printed.write("remove", &mut result).unwrap_err().contains("`remove`"));
        let error = printed.read("fio", &output).unwrap_err();
        assert!(error.contains("no JSON"), "{error}");
    }
}
