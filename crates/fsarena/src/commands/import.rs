//! `fsarena import`: imports results of other programs and campaigns of other databases.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use campaign::store::{CampaignId, ImportSource, Store};
use config::Catalog;
use import::{NamingOptions, ParsedInput};
use model::{Campaign, CampaignResults};
use serde_json::{Value, json};
use sys::fs::plain_file;

use crate::args::cli::GlobalArgs;
use crate::args::import_args::ImportArgs;
use crate::output::exit::{ExitReason, UsageError};
use crate::output::text::{line, print, print_json};
use crate::paths;

/// Maximum size of an input file, in bytes. The output of ten thousand runs of a program is
/// smaller.
const MAX_IMPORT_SIZE: u64 = 64 << 20;
/// Standard input.
const STANDARD_INPUT: &str = "-";

/// A file on the command line, with an optional contender name.
struct Input {
    path: PathBuf,
    contender: Option<String>,
}

/// Content of an input.
enum InputKind {
    /// A database of campaigns.
    Database(Store),
    /// A JSON report with a whole campaign.
    Campaign(Box<CampaignResults>),
    /// Output of another program.
    ProgramOutput(Box<ParsedInput>),
}

/// Reads all inputs, and stores them only if all are valid.
pub fn run(args: &ImportArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let mut databases = Vec::new();
    let mut campaigns = Vec::new();
    let mut printed = Vec::new();
    let inputs = inputs(args)?;
    for input in &inputs {
        match read(input, args)? {
            InputKind::Database(store) => databases.push(store),
            InputKind::Campaign(results) => campaigns.push(*results),
            InputKind::ProgramOutput(found) => printed.push(*found),
        }
    }
    let (mut left_out, mut assumed) = (Vec::new(), Vec::new());
    if !printed.is_empty() {
        let found = joined(printed, &inputs, &paths::catalog(globals)?)?;
        left_out.clone_from(&found.skipped);
        assumed = found.assumptions();
        campaigns.insert(0, found.into_results().map_err(|e| UsageError(e.to_string()))?);
    }
    let sources = campaigns.iter().map(ImportSource::Results);
    let sources: Vec<_> = sources.chain(databases.iter().map(ImportSource::Database)).collect();
    let all = match args.dry_run {
        true => described(&campaigns, &databases)?,
        false => {
            let mut store = paths::store(globals)?;
            let taken = store.import(&sources)?;
            let told = taken.iter().map(|row| {
                let campaign = store.definition(row.id)?;
                let of = ImportMetadata::of_campaign(&campaign, row.values);
                Ok(ImportMetadata { campaign: Some(row.id), is_new: row.is_new, ..of })
            });
            told.collect::<anyhow::Result<_>>()?
        }
    };
    tell(&all, &assumed, &left_out, globals)
}

/// Describes campaigns that are not stored.
fn described(
    campaigns: &[CampaignResults],
    databases: &[Store],
) -> anyhow::Result<Vec<ImportMetadata>> {
    let mut all: Vec<ImportMetadata> = campaigns.iter().map(ImportMetadata::of_results).collect();
    for store in databases {
        for known in store.campaigns()? {
            all.push(ImportMetadata::of_results(&store.load(known.id)?));
        }
    }
    Ok(all)
}

/// Returns the files, each with its contender name, if given.
fn inputs(args: &ImportArgs) -> anyhow::Result<Vec<Input>> {
    let mut inputs: Vec<Input> = args.files.iter().map(|word| named(word)).collect();
    let unnamed = inputs.iter().filter(|input| input.contender.is_none()).count();
    let standard = inputs.iter().filter(|i| i.path == Path::new(STANDARD_INPUT));
    if standard.count() > 1 {
        return Err(UsageError("standard input can be read once: give one `-`".to_owned()).into());
    }
    match args.contenders.as_slice() {
        [] => {}
        [one] => inputs
            .iter_mut()
            .for_each(|input| input.contender = input.contender.take().or(Some(one.clone()))),
        several if several.len() == unnamed => {
            let open = inputs.iter_mut().filter(|input| input.contender.is_none());
            for (input, name) in open.zip(several) {
                input.contender = Some(name.clone());
            }
        }
        several => {
            let count = several.len();
            let what = format!(
                "{count} contenders are named for {unnamed} files: give one, or one for each file"
            );
            return Err(UsageError(what).into());
        }
    }
    refuse_twice(&inputs)?;
    Ok(inputs)
}

/// Returns an error if a file is given twice, because its rounds would count twice.
fn refuse_twice(inputs: &[Input]) -> anyhow::Result<()> {
    let mut seen = BTreeSet::new();
    for input in inputs {
        let path = fs::canonicalize(&input.path).unwrap_or_else(|_| input.path.clone());
        if !seen.insert((path, &input.contender)) {
            let shown = shown(&input.path);
            return Err(UsageError(format!("{shown} is given twice: give it once")).into());
        }
    }
    Ok(())
}

/// Parses `NAME=FILE`, unless a file with that whole name exists.
fn named(word: &Path) -> Input {
    let text = word.to_str().unwrap_or_default();
    match text.split_once('=') {
        Some((name, file)) if !name.trim().is_empty() && !name.contains('/') && !word.exists() => {
            Input { path: file.into(), contender: Some(name.to_owned()) }
        }
        _ => Input { path: word.to_owned(), contender: None },
    }
}

/// Returns the name of an input for use in a sentence.
fn shown(path: &Path) -> String {
    match path == Path::new(STANDARD_INPUT) {
        true => "standard input".to_owned(),
        false => line(&path.display().to_string()),
    }
}

fn read(input: &Input, args: &ImportArgs) -> anyhow::Result<InputKind> {
    let shown = shown(&input.path);
    let bytes = match input.path == Path::new(STANDARD_INPUT) {
        true => plain_file::read_stream(io::stdin().lock(), MAX_IMPORT_SIZE)
            .map_err(|error| cannot_read(&shown, &error))?,
        false => match contents(&input.path, &shown)? {
            Some(bytes) => bytes,
            None => {
                require_no_name(input)?;
                return Ok(InputKind::Database(paths::foreign_store(&input.path)?));
            }
        },
    };
    let from = args.from;
    if from.is_none() && is_report(&bytes) {
        require_no_name(input)?;
        let results = report::read_json(&bytes).and_then(|results| {
            import::validate(&results)?;
            Ok(results)
        });
        let results = results.map_err(|why| {
            UsageError(format!(
                "{shown} is no whole report of `fsarena report --format json`: {why}"
            ))
        })?;
        return Ok(InputKind::Campaign(Box::new(results)));
    }
    let format = from.map_or_else(|| import::detect_only_format(&bytes), Ok);
    let format = format.map_err(|why| UsageError(format!("cannot import {shown}: {why}")))?;
    let stem = input.path.file_stem().unwrap_or_default().to_string_lossy();
    let naming = NamingOptions {
        given: input.contender.clone(),
        otherwise: match &*stem {
            STANDARD_INPUT => "unnamed".to_owned(),
            stem => stem.to_owned(),
        },
        from: args.contender_from,
    };
    let found = import::read(format, &bytes, &naming)
        .map_err(|error| UsageError(format!("cannot import {shown} as {format}: {error}")))?;
    Ok(InputKind::ProgramOutput(Box::new(found)))
}

/// Rejects a contender's name for campaigns of fsarena, which contain the names.
fn require_no_name(input: &Input) -> Result<(), UsageError> {
    match &input.contender {
        None => Ok(()),
        Some(name) => Err(UsageError(format!(
            "cannot import {} as `{}`: it names its contenders itself; leave the name out",
            shown(&input.path),
            line(name)
        ))),
    }
}

/// Returns the content of a file. Returns `None` for a database, which is not read as a whole.
fn contents(path: &Path, shown: &str) -> anyhow::Result<Option<Vec<u8>>> {
    let read = || match campaign::store::is_sqlite(path)? {
        true => Ok(None),
        false => plain_file::read(path, MAX_IMPORT_SIZE).map(Some),
    };
    Ok(read().map_err(|error| cannot_read(shown, &error))?)
}

fn cannot_read(shown: &str, error: &io::Error) -> UsageError {
    let why = error.to_string();
    let hint = match why.contains("; ") {
        true => "",
        false => "; `-` reads standard input, and several files can be imported together",
    };
    UsageError(format!("cannot read {shown}: {why}{hint}"))
}

/// Returns true if the bytes are a JSON report, complete or truncated.
fn is_report(bytes: &[u8]) -> bool {
    let begin = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    begin.trim_start().starts_with('{') && begin.contains("\"fsarena-report/")
}

/// Combines all program outputs into one campaign. Contenders that the catalog knows get its
/// filesystem data.
fn joined(
    printed: Vec<ParsedInput>,
    inputs: &[Input],
    catalog: &Catalog,
) -> anyhow::Result<ParsedInput> {
    let mut found = import::merge(printed)
        .map_err(|error| UsageError(format!("cannot import the files together: {error}")))?;
    let names: Vec<String> = inputs.iter().map(|input| shown(&input.path)).collect();
    found.reported.source = names.join(", ");
    for contender in &mut found.reported.contenders {
        contender.filesystem = catalog.filesystem(&contender.name).ok().cloned();
    }
    Ok(found)
}

/// Prints one line for each campaign, with the command that shows it.
fn tell(
    all: &[ImportMetadata],
    assumed: &[String],
    left_out: &[String],
    globals: &GlobalArgs,
) -> anyhow::Result<ExitCode> {
    if globals.json {
        let values: Vec<Value> = all.iter().map(ImportMetadata::json).collect();
        print_json(&json!({ "campaigns": values, "assumed": assumed, "left_out": left_out }))?;
        return Ok(ExitReason::Success.into());
    }
    let mut text: String = all.iter().map(|told| told.text() + "\n").collect();
    if !globals.quiet {
        for what in assumed {
            text += &format!("assumed: {}\n", line(what));
        }
        for what in left_out {
            text += &format!("left out: {}\n", line(what));
        }
    }
    print(&text)?;
    Ok(ExitReason::Success.into())
}

/// Report on an imported campaign.
struct ImportMetadata {
    campaign: Option<CampaignId>,
    is_new: bool,
    name: String,
    program: String,
    contenders: Vec<String>,
    tests: usize,
    rounds: u32,
    values: usize,
}

impl ImportMetadata {
    fn of_results(results: &CampaignResults) -> Self {
        let phases = results.cells.iter().filter_map(|cell| cell.result.as_ref());
        let phases = phases.flat_map(|result| &result.phases);
        let values = phases.map(|phase| phase.measurements().len()).sum();
        Self::of_campaign(&results.campaign, values)
    }

    fn of_campaign(campaign: &Campaign, values: usize) -> Self {
        let measured_by = campaign.measured_by.as_ref().map(|by| by.program.clone());
        Self {
            campaign: None,
            is_new: true,
            name: campaign.name.clone(),
            program: measured_by.unwrap_or_else(|| "fsarena".to_owned()),
            contenders: campaign.contenders.iter().map(|c| c.name.clone()).collect(),
            tests: campaign.suites.iter().map(|suite| suite.tests.len()).sum(),
            rounds: campaign.rounds,
            values,
        }
    }

    fn text(&self) -> String {
        let count = |n: usize, what: &str| match n {
            1 => format!("1 {what}"),
            n => format!("{n} {what}s"),
        };
        let name = line(&self.name);
        let what = format!(
            "“{name}” of {}: {}, {}, {}, {}",
            line(&self.program),
            count(self.contenders.len(), "contender"),
            count(self.tests, "test"),
            count(self.rounds as usize, "round"),
            count(self.values, "value"),
        );
        match self.campaign {
            None => format!("would import {what}"),
            Some(id) if self.is_new => {
                format!("campaign {id} {what}; `fsarena report {id}` shows it")
            }
            Some(id) => format!("campaign {id} is here already: {what}"),
        }
    }

    fn json(&self) -> Value {
        json!({
            "campaign": self.campaign,
            "new": self.is_new,
            "name": self.name,
            "program": self.program,
            "contenders": self.contenders,
            "tests": self.tests,
            "rounds": self.rounds,
            "values": self.values,
        })
    }
}
