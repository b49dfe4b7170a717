//! `fsarena trace make`: records the traces of the suite `traces`.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Context;
use nix::unistd::geteuid;
use serde_json::json;
use sys::fs::safe_path::{SafeDir, default_mode};
use trace::TraceSummary;

use crate::args::cli::GlobalArgs;
use crate::args::trace_args::MakeArgs;
use crate::output::exit::{EnvironmentError, ExitReason, UsageError};
use crate::output::output_file;
use crate::output::text::{print, print_json, print_unwrapped};
use crate::traces;

/// Shell script with one recording function per trace.
const SCRIPT: &str = include_str!("../../../../../scripts/make-traces.sh");

/// Records the traces, and writes them to the directory in which campaigns find them.
pub fn run(args: &MakeArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let names = traces::traces_of_suite(&args.names)?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let missing = missing(&names)?;
    if args.packages {
        match globals.json {
            true => print_json(&json!(missing))?,
            false => {
                print_unwrapped(&missing.iter().map(|p| format!("{p}\n")).collect::<String>())?;
            }
        }
        return Ok(ExitReason::Success.into());
    }
    if !missing.is_empty() {
        let missing = missing.join(" ");
        return Err(
            EnvironmentError(format!("programs are missing: apt-get install {missing}")).into()
        );
    }
    if !geteuid().is_root() {
        let why = "some traces contain files of several users: needs root, try sudo";
        return Err(EnvironmentError(why.to_owned()).into());
    }
    // Open the destination before the recording, which would otherwise be lost.
    let place = TraceDir::make(args.into.as_deref(), globals)?;
    let made = tempfile::tempdir().context("cannot make a directory for traces")?;
    record(&names, made.path())?;
    let recorded: Vec<Recorded> =
        names.iter().map(|name| Recorded::read(name, made.path())).collect::<Result<_, _>>()?;
    recorded.iter().try_for_each(|one| place.keep(one))?;
    tell(&recorded, globals)
}

/// Returns the Debian packages that are not installed.
fn missing(names: &[&str]) -> anyhow::Result<Vec<String>> {
    let output = script(&["packages"], names, Command::output)?;
    anyhow::ensure!(output.status.success(), "cannot ask for packages");
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().map(str::to_owned).collect())
}

fn record(names: &[&str], into: &Path) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let (program, into) = (program.to_string_lossy(), into.to_string_lossy());
    let status = script(&[&program, &into], names, Command::status)?;
    match status.success() {
        true => Ok(()),
        false => Err(EnvironmentError("recording failed, as said above".to_owned()).into()),
    }
}

/// Runs the script with its first arguments and the names of traces.
fn script<T>(
    first: &[&str],
    names: &[&str],
    run: impl FnOnce(&mut Command) -> std::io::Result<T>,
) -> anyhow::Result<T> {
    let mut file = tempfile::NamedTempFile::new().context("cannot write the script")?;
    file.write_all(SCRIPT.as_bytes())?;
    let mut command = Command::new("bash");
    command.arg(file.path()).args(first).args(names);
    run(&mut command).context("cannot run bash")
}

/// A recorded trace.
struct Recorded {
    name: String,
    bytes: Vec<u8>,
    operations: u64,
}

impl Recorded {
    fn read(name: &str, directory: &Path) -> anyhow::Result<Self> {
        let path = directory.join(format!("{name}.{}", traces::ENDING));
        let (bytes, trace) = traces::read(&path)?;
        Ok(Self {
            name: name.to_owned(),
            bytes,
            operations: TraceSummary::from_trace(&trace).operations,
        })
    }

    fn file(&self) -> String {
        format!("{}.{}", self.name, traces::ENDING)
    }

    fn bytes_each(&self) -> f64 {
        self.bytes.len() as f64 / self.operations.max(1) as f64
    }
}

/// Destination of recorded traces.
enum TraceDir<'a> {
    /// A directory named by the user.
    Named(&'a Path),
    /// Directory in which campaigns find traces.
    Default(SafeDir),
}

impl<'a> TraceDir<'a> {
    fn make(into: Option<&'a Path>, globals: &GlobalArgs) -> anyhow::Result<Self> {
        let Some(directory) = into else {
            return Ok(Self::Default(SafeDir::make(&traces::directory(globals)?)?));
        };
        fs::create_dir_all(directory).map_err(|error| {
            let shown = directory.display();
            UsageError(format!(
                "--into {shown}: cannot make this directory: {error}; name another one"
            ))
        })?;
        Ok(Self::Named(directory))
    }

    fn keep(&self, one: &Recorded) -> anyhow::Result<()> {
        match self {
            Self::Named(directory) => output_file::write(&directory.join(one.file()), &one.bytes),
            Self::Default(kept) => Ok(kept.replace(one.file(), default_mode(), &one.bytes)?),
        }
    }
}

fn tell(recorded: &[Recorded], globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    if globals.json {
        let each = recorded.iter().map(|one| {
            json!({ "name": one.name, "operations": one.operations, "size": one.bytes.len() })
        });
        print_json(&each.collect::<serde_json::Value>())?;
        return Ok(ExitReason::Success.into());
    }
    let mut text = String::from("trace         operations      bytes   each\n");
    for one in recorded {
        let (size, each) = (one.bytes.len(), one.bytes_each());
        text += &format!("{:<12} {:>11} {size:>10} {each:>6.1}\n", one.name, one.operations);
    }
    let suites: Vec<String> = match recorded.len() == traces::traces_of_suite(&[])?.len() {
        true => vec![format!("--suite {}", traces::SUITE)],
        false => {
            recorded.iter().map(|one| format!("--suite {}/{}", traces::SUITE, one.name)).collect()
        }
    };
    text += &format!("`fsarena run {}` replays what was recorded.\n", suites.join(" "));
    print(&text)?;
    Ok(ExitReason::Success.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_records_every_trace_of_the_suite() {
        for name in traces::traces_of_suite(&[]).unwrap() {
            assert!(SCRIPT.contains(&format!("\ntrace_{name}() {{")), "{name}");
            assert!(SCRIPT.contains(&format!("[{name}]=")), "{name}");
        }
        assert_eq!(SCRIPT.matches("\ntrace_").count(), traces::traces_of_suite(&[]).unwrap().len());
        assert!(
            traces::traces_of_suite(&["lau".to_owned()])
                .unwrap_err()
                .to_string()
                .contains("`traces/lua`")
        );
    }
}
