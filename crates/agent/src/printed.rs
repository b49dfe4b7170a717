//! What the program of a phase has printed, for the phases that are read from it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use import::{Format, Naming};
use model::{Figure, Op, PhaseResult, Stated, Test};

/// The most that is read of an output: what programs print in the forms that are asked for is far less.
const MOST: u64 = 4 << 20;

/// What the last program printed.
#[derive(Debug, Default)]
pub struct Printed {
    /// Whether phases of the test are read from it.
    is_wanted: bool,
    /// By phase.
    figures: Mutex<BTreeMap<String, Vec<Figure>>>,
}

impl Printed {
    /// Nothing yet.
    pub fn of(test: &Test) -> Self {
        let mut phases = test.phases.iter();
        Self {
            is_wanted: phases.any(|phase| matches!(phase.op, Op::Elsewhere(_))),
            figures: Mutex::default(),
        }
    }

    /// Whether phases are read from it.
    pub const fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Reads the output of a program, whose format is called as it is.
    ///
    /// # Errors
    /// When it is none; in one line.
    pub fn take(&self, program: &str, output: &File) -> Result<(), String> {
        let format: Format = program.parse()?;
        let bytes = contents(output).map_err(|error| format!("cannot read its output: {error}"))?;
        let found = import::read(format, &bytes, &Naming::default())
            .map_err(|error| format!("what it printed is not read: {error}"))?;
        let mut phases: BTreeMap<String, Vec<Figure>> = BTreeMap::new();
        for figure in found.reported.figures {
            phases.entry(figure.phase.clone()).or_default().push(figure);
        }
        *self.figures.lock().unwrap_or_else(PoisonError::into_inner) = phases;
        Ok(())
    }

    /// Writes down what was printed of a phase: the means over its repetitions, where there were several.
    ///
    /// # Errors
    /// When nothing was.
    pub fn write(&self, phase: &str, result: &mut PhaseResult) -> Result<(), String> {
        let phases = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        let figures = phases.get(phase).map(Vec::as_slice).unwrap_or_default();
        let [first, others @ ..] = figures else {
            return Err(format!("the program printed nothing of `{phase}`"));
        };
        let mean = |stated: &Stated| {
            let all = figures.iter().flat_map(|figure| &figure.values);
            let all: Vec<f64> = all
                .filter(|value| value.metric == stated.metric)
                .map(|value| value.value)
                .collect();
            Stated {
                value: all.iter().sum::<f64>() / all.len() as f64,
                ..*stated
            }
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
    if length > MOST {
        return Err(io::Error::other(format!(
            "it is longer than {} MiB",
            MOST >> 20
        )));
    }
    let mut bytes = vec![0; length as usize];
    output.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use model::{CacheState, End, Metric, Phase};

    use super::*;

    #[test]
    fn phases_are_read_from_what_a_program_printed() {
        let mut output = crate::command::output_file().unwrap();
        let text = "FSUse% Count Size Files/sec App Overhead\n1 5 0 100.0 3\n1 5 0 300.0 3\n";
        output.write_all(text.as_bytes()).unwrap();
        let printed = Printed::default();
        printed.take("fs_mark", &output).unwrap();
        let mut result = PhaseResult::blank(&Phase {
            name: "create".to_owned(),
            cache: CacheState::Unstated,
            ends: End::Unstated,
            at_most: None,
            scaling: None,
            step: None,
            needs: None,
            op: Op::Elsewhere(model::op::Elsewhere {
                metric: Metric::Rate,
                group: None,
                total: false,
            }),
        });
        printed.write("create", &mut result).unwrap();
        assert_eq!(result.primary_value(), Some(200.0));
        assert!(
            printed
                .write("remove", &mut result)
                .unwrap_err()
                .contains("`remove`")
        );
        let error = printed.take("fio", &output).unwrap_err();
        assert!(error.contains("no JSON"), "{error}");
    }
}
