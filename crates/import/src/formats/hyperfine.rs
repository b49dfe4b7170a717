//! Parses the output of `hyperfine --export-json`: the times of commands, each run a round.
//!
//! Source of the format: the output of hyperfine 1.15.0; `parameters` is present with `-L` and
//! `-P`. A command is a contender. If it has parameters, they name the contender, and the command
//! with the names of its parameters is the phase. If the user names the contender, commands are
//! phases, too.

use std::collections::BTreeMap;

use model::{Campaign, Metric};
use serde::Deserialize;

use crate::campaign_builder::{CampaignBuilder, StatedNames, failed_value, ok_value};
use crate::parse::json;
use crate::parse::number::finite_non_negative;
use crate::{ImportError, InputFormat, NamingOptions, ParsedInput};

#[derive(Deserialize)]
struct HyperfineOutput {
    results: Vec<HyperfineBenchmark>,
}

#[derive(Deserialize)]
struct HyperfineBenchmark {
    command: String,
    mean: Option<f64>,
    #[serde(default)]
    times: Option<Vec<f64>>,
    #[serde(default)]
    exit_codes: Vec<Option<i64>>,
    #[serde(default)]
    parameters: BTreeMap<String, serde_json::Value>,
}

/// Reads all commands.
pub fn read(bytes: &[u8], naming: &NamingOptions) -> Result<ParsedInput, ImportError> {
    let output: HyperfineOutput = json::read(bytes)?;
    let mut gathering = CampaignBuilder::new(InputFormat::Hyperfine, "hyperfine", naming);
    for benchmark in &output.results {
        command(&mut gathering, benchmark)?;
    }
    gathering.finish()
}

fn command(
    gathering: &mut CampaignBuilder<'_>,
    benchmark: &HyperfineBenchmark,
) -> Result<(), ImportError> {
    let (called, phase) = names(benchmark, gathering.is_named());
    let contender = gathering.contender(&StatedNames::title(called.as_deref()))?;
    let test = gathering.test("hyperfine");
    let phase = gathering.phase(&test, &phase);
    let mean = benchmark.mean.into_iter().collect();
    let mut times = benchmark.times.clone().unwrap_or(mean);
    if times.len() > Campaign::MAX_ROUNDS as usize {
        let most = Campaign::MAX_ROUNDS;
        gathering.skip_with_reason(format!("runs after the first {most} of a command"));
        times.truncate(most as usize);
    }
    for (run, time) in times.into_iter().enumerate() {
        let end = benchmark.exit_codes.get(run);
        let reason = match end {
            Some(Some(0)) | None => None,
            Some(Some(code)) => Some(format!("it ended with {code}")),
            Some(None) => Some("a signal ended it".to_owned()),
        };
        let taken = match (reason, finite_non_negative(time)) {
            (Some(reason), _) => failed_value(&contender, &test, &phase, reason),
            (None, Some(time)) => {
                ok_value(&contender, &test, &phase, vec![(Metric::Elapsed, time)])
            }
            (None, None) => {
                return Err(ImportError::in_file(
                    "a time is no number from 0 on: the file is damaged",
                ));
            }
        };
        gathering.add(0, taken)?;
    }
    Ok(())
}

/// Returns the names of the contender and the phase.
fn names(benchmark: &HyperfineBenchmark, is_named: bool) -> (Option<String>, String) {
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if is_named {
        return (None, benchmark.command.clone());
    }
    if benchmark.parameters.is_empty() {
        return (Some(benchmark.command.clone()), "command".to_owned());
    }
    let mut template = benchmark.command.clone();
    let mut values = Vec::new();
    for (name, value) in benchmark.parameters.iter().take(8) {
        let value = text(value);
        if !value.is_empty() && value.len() <= 200 {
            template = template.replace(&value, &format!("{{{name}}}"));
        }
        template = template.chars().take(4096).collect();
        values.push(value);
    }
    (Some(values.join(" ")), template)
}
