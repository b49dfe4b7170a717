//! Parses the output of `hyperfine --export-json`: the times of commands, each run a round.
//!
//! Source of the format: the output of hyperfine 1.15.0; `parameters` is present with `-L` and
//! `-P`. A command is a contender. If it has parameters, they name the contender, and the command
//! with the names of its parameters is the phase. If the user names the contender, commands are
//! phases, too. Commands with the same name (`-n`) are different ones. A time of 0 means that a
//! run was too short to be measured.

use std::collections::BTreeMap;

use model::{Campaign, ImportedResult, Metric};
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
    let mut templates = Vec::new();
    let mut named: BTreeMap<(Option<String>, String), u32> = BTreeMap::new();
    for (at, benchmark) in output.results.iter().enumerate() {
        let template = template(&mut templates, benchmark, &output.results[at + 1..]);
        let (mut called, mut phase) = names(benchmark, template, gathering.is_named());
        let times = named.entry((called.clone(), phase.clone())).or_insert(0);
        *times += 1;
        if *times > 1 {
            let of = called.as_mut().unwrap_or(&mut phase);
            *of += &format!("-{times}");
        }
        command(&mut gathering, benchmark, called.as_deref(), &phase)?;
    }
    gathering.finish()
}

fn command(
    gathering: &mut CampaignBuilder<'_>,
    benchmark: &HyperfineBenchmark,
    called: Option<&str>,
    phase: &str,
) -> Result<(), ImportError> {
    let contender = gathering.contender(&StatedNames::title(called))?;
    let test = gathering.test("hyperfine");
    let phase = gathering.phase(&test, phase);
    gathering.set_primary_metric(&test, &phase, Metric::Elapsed);
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
            (None, Some(0.0)) => {
                ImportedResult { too_fast: true, ..ok_value(&contender, &test, &phase, Vec::new()) }
            }
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
fn names(
    benchmark: &HyperfineBenchmark,
    template: Option<String>,
    is_named: bool,
) -> (Option<String>, String) {
    match template {
        _ if is_named => (None, benchmark.command.clone()),
        None => (Some(benchmark.command.clone()), "command".to_owned()),
        Some(template) => {
            let values = benchmark.values().into_iter().map(|(_, value)| value);
            (Some(values.collect::<Vec<_>>().join(" ")), template)
        }
    }
}

impl HyperfineBenchmark {
    /// Returns names and values of the parameters. A long value is not searched for in commands, so
    /// that its end is not needed.
    fn values(&self) -> Vec<(&str, String)> {
        const MAX_PARAMETERS: usize = 8;
        let text = |value: &serde_json::Value| match value {
            serde_json::Value::String(text) => text.chars().take(MAX_VALUE + 1).collect(),
            other => other.to_string(),
        };
        let all = self.parameters.iter().filter(|(name, _)| name.len() <= MAX_VALUE);
        all.take(MAX_PARAMETERS).map(|(name, value)| (name.as_str(), text(value))).collect()
    }

    /// Returns the command that a template gives with the parameters of this benchmark. Parameters
    /// that would make it longer than a template can be stay unfilled.
    fn fill(&self, template: &str) -> String {
        let fill = |text: String, (name, value): (&str, String)| {
            let name = format!("{{{name}}}");
            let added = text.matches(&name).count() * value.len();
            if text.len() + added > MAX_TEMPLATE { text } else { text.replace(&name, &value) }
        };
        self.values().into_iter().fold(template.to_owned(), fill)
    }
}

/// Returns the command with the names of its parameters. A value may also occur elsewhere in the
/// command: the other benchmarks show which occurrences are the parameter.
fn template(
    known: &mut Vec<String>,
    benchmark: &HyperfineBenchmark,
    others: &[HyperfineBenchmark],
) -> Option<String> {
    const MAX_KNOWN: usize = 32;
    const MAX_OTHERS: usize = 32;
    const MAX_COMMAND: usize = 4096;
    if benchmark.parameters.is_empty() {
        return None;
    }
    let command: String = benchmark.command.chars().take(MAX_COMMAND).collect();
    let values = benchmark.values();
    if let Some(template) = known.iter().find(|template| benchmark.fill(template) == command) {
        return Some(template.clone());
    }
    if known.len() == MAX_KNOWN {
        return Some(command);
    }
    let mut templates = vec![command];
    for (name, value) in &values {
        let all = templates.iter().flat_map(|text| replaced(text, value, &format!("{{{name}}}")));
        templates = all.take(MAX_TEMPLATES).collect();
    }
    let is_same =
        |other: &&HyperfineBenchmark| other.parameters.keys().eq(benchmark.parameters.keys());
    let others: Vec<_> = others.iter().take(MAX_OTHERS).filter(is_same).collect();
    let fitting = |template: &String| {
        others.iter().filter(|other| other.fill(template) == other.command).count()
    };
    // The first template, which replaces most words, wins a tie.
    let best = templates.into_iter().rev().max_by_key(fitting)?;
    known.push(best.clone());
    Some(best)
}

/// Maximum number of possible templates of a command.
const MAX_TEMPLATES: usize = 64;
/// Maximum length of a template in bytes.
const MAX_TEMPLATE: usize = 16 * 1024;
/// Maximum length of the name or the value of a parameter, in bytes.
const MAX_VALUE: usize = 200;

/// Returns the text with each choice of occurrences of `value` replaced by `name`: first all whole
/// words, last none.
fn replaced(text: &str, value: &str, name: &str) -> Vec<String> {
    if value.is_empty() || value.len() > MAX_VALUE {
        return vec![text.to_owned()];
    }
    let is_word = |at: usize| {
        let before = text[..at].chars().next_back();
        let after = text[at + value.len()..].chars().next();
        ![before, after].into_iter().flatten().any(char::is_alphanumeric)
    };
    let all: Vec<usize> = text.match_indices(value).map(|(at, _)| at).collect();
    let words: Vec<usize> = all.iter().copied().filter(|at| is_word(*at)).collect();
    let count = all.len().min(MAX_TEMPLATES.ilog2() as usize);
    let subsets = (0..1_usize << count).rev().map(|set| {
        let chosen = all.iter().take(count).enumerate().filter(|(at, _)| set >> at & 1 == 1);
        chosen.map(|(_, at)| *at).collect()
    });
    let first = Some(words).filter(|words| !words.is_empty());
    let fits = |places: &Vec<usize>| text.len() + places.len() * name.len() <= MAX_TEMPLATE;
    let sets = first.into_iter().chain(subsets).filter(fits);
    let sets: Vec<Vec<usize>> = sets.take(MAX_TEMPLATES).collect();
    let replace = |places: &Vec<usize>| {
        let (mut done, mut from) = (String::new(), 0);
        for at in places {
            done += &text[from..*at];
            done += name;
            from = at + value.len();
        }
        done + &text[from..]
    };
    sets.iter().map(replace).collect()
}
