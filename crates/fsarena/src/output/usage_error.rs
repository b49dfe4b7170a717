//! Errors of the command line parser as one line: the cause, and a fix.

use std::error::Error;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory};

use crate::args::cli::{Cli, commands};
use crate::output::exit::one_line;
use crate::settings::campaign_text::is_builtin_filesystem;

/// Returns the text of an error in these arguments that is not a request for help.
pub fn text(error: &clap::Error, arguments: impl Iterator<Item = OsString>) -> String {
    let arguments: Vec<OsString> = arguments.collect();
    let command = Failed::of(arguments.iter().cloned());
    let path = &command.path;
    let about = |kind| of(error, kind);
    let [argument, value] = [ContextKind::InvalidArg, ContextKind::InvalidValue].map(about);
    let see_help = || format!("see `{path} --help`");
    // The parser takes a negative value for an option, and the value of the option before as missing.
    let is_unclear = match error.kind() {
        ErrorKind::UnknownArgument => argument.starts_with('-'),
        kind => kind == ErrorKind::InvalidValue && value.is_empty(),
    };
    if let Some(number) = arguments.iter().find_map(negative).filter(|_| is_unclear) {
        return format!("cannot use `{number}`: no value is negative; {}", see_help());
    }
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let name = about(ContextKind::InvalidSubcommand);
            if name == "help" {
                return format!("cannot run `help`: this command does not exist; {}", see_help());
            }
            let hint = similar_commands(&name);
            let hint = hint.unwrap_or_else(|| format!("`{path} --help` lists all commands"));
            format!("cannot run `{path} {name}`: this command does not exist; {hint}")
        }
        ErrorKind::UnknownArgument => {
            let kind = if argument.starts_with('-') { "option" } else { "argument" };
            let hint = match about(ContextKind::SuggestedArg) {
                _ if path == "fsarena run" && is_builtin_filesystem(&argument) => {
                    format!("did you mean `-c {argument}`?")
                }
                near if near.is_empty() => see_help(),
                near => format!("did you mean `{near}`?"),
            };
            format!("cannot run `{path}`: it takes no {kind} `{argument}`; {hint}")
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = strings(error);
            let (what, fix) = match &missing[..] {
                [one] if !one.ends_with("...") => {
                    (format!("{one} is missing"), command.purposes(&missing))
                }
                [_] => ("its arguments are missing".to_owned(), command.example()),
                several => (format!("{} are missing", several.join(" and ")), command.example()),
            };
            format!("cannot run `{path}`: {what}; {}", fix.unwrap_or_else(see_help))
        }
        ErrorKind::ArgumentConflict => match about(ContextKind::PriorArg) {
            other if other == argument => {
                format!("cannot use `{argument}` twice: it has one value; remove one")
            }
            other => {
                format!("cannot use `{argument}` with `{other}`: they conflict; remove one")
            }
        },
        ErrorKind::InvalidValue if value.is_empty() => {
            format!("cannot use `{argument}`: its value is missing; {}", see_help())
        }
        ErrorKind::InvalidValue => {
            let valid = about(ContextKind::ValidValue);
            format!("cannot use `{value}` for `{argument}`: unknown value; use one of {valid}")
        }
        ErrorKind::ValueValidation => {
            let cause = error.source().map_or_else(String::new, cause);
            format!("cannot use `{value}` for `{argument}`: {cause}; {}", see_help())
        }
        ErrorKind::InvalidUtf8 => {
            let mut arguments = std::env::args_os();
            let wrong = arguments.find(|argument| argument.to_str().is_none()).unwrap_or_default();
            format!("cannot use `{}`: it is not UTF-8; name another one", wrong.to_string_lossy())
        }
        _ => {
            let text = error.render().to_string();
            let reason = text.split("\n\n").next().unwrap_or(&text);
            format!("{}; {}", one_line(reason.trim_start_matches("error: ")), see_help())
        }
    }
}

/// The command that could not be parsed.
struct Failed {
    /// Names from the program on, such as `fsarena disk replay`.
    path: String,
    command: Command,
}

impl Failed {
    /// Finds the command in the arguments.
    fn of(arguments: impl Iterator<Item = OsString>) -> Self {
        let mut command = Cli::command();
        command.build();
        let mut found = Self { path: "fsarena".to_owned(), command };
        for word in arguments.skip(1) {
            if let Some(command) = found.command.find_subcommand(&word).cloned() {
                found =
                    Self { path: format!("{} {}", found.path, word.to_string_lossy()), command };
            }
        }
        found
    }

    /// Returns the help of the missing arguments.
    fn purposes(&self, missing: &[String]) -> Option<String> {
        let helps = self.command.get_arguments().filter_map(|argument| {
            let is_missing = missing.iter().any(|name| *name == argument.to_string());
            let help = argument.get_help().filter(|_| is_missing)?.to_string();
            let mut letters = help.chars();
            let first = letters.next()?.to_lowercase();
            Some(first.chain(letters).collect::<String>())
        });
        Some(helps.collect::<Vec<_>>().join("; ")).filter(|helps| !helps.is_empty())
    }

    /// Returns the first example of the help.
    fn example(&self) -> Option<String> {
        let helps = [self.command.get_after_help(), self.command.get_after_long_help()];
        let help = helps.into_iter().flatten().next()?.to_string();
        let line = help.lines().map(str::trim).find(|line| line.starts_with(&self.path))?;
        let command = line.split("  ").next()?;
        Some(format!("give them as in `{command}`"))
    }
}

/// Returns an argument that is a negative number, with or without a unit.
fn negative(argument: &OsString) -> Option<&str> {
    let text = argument.to_str()?;
    let digits = text.strip_prefix('-')?;
    digits.starts_with(|first: char| first.is_ascii_digit() || first == '.').then_some(text)
}

/// Returns the missing arguments.
fn strings(error: &clap::Error) -> Vec<String> {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(all)) => all.clone(),
        _ => Vec::new(),
    }
}

/// Returns a part of the error, or an empty text.
fn of(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::Strings(all)) => all.join(", "),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}

/// Returns the reason that a value was refused. The parsers of numbers do not name what they expect.
fn cause(error: &(dyn Error + 'static)) -> String {
    let text = error.to_string();
    let range = text.split_once(" is not in ").and_then(|(_, range)| range.split_once("..="));
    match range {
        Some((from, to)) => format!("expected a whole number from {from} to {to}"),
        None if error.is::<std::num::ParseIntError>() => "expected a whole number".to_owned(),
        None => text,
    }
}

/// Returns the commands at any level with an equal name, else with the most similar one.
fn similar_commands(name: &str) -> Option<String> {
    let all = commands();
    let names = || all.iter().filter_map(|path| path.last()).map(String::as_str);
    let question = || config::did_you_mean(name, names());
    let nearest = match names().any(|other| other == name) {
        true => name.to_owned(),
        false => question()?.split('`').nth(1)?.to_owned(),
    };
    let near = all.iter().filter(|path| path.last() == Some(&nearest));
    let near: Vec<String> = near.map(|path| format!("`fsarena {}`", path.join(" "))).collect();
    Some(format!("did you mean {}?", near.join(" or ")))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn told(line: &str) -> String {
        text(
            &Cli::try_parse_from(line.split(' ')).unwrap_err(),
            line.split(' ').map(OsString::from),
        )
    }

    #[test]
    fn options_of_sbatch_are_values() {
        let line = "fsarena run --backend vm -c xfs --on slurm --plan it --sbatch --account=fs";
        assert!(Cli::try_parse_from(line.split(' ')).is_ok());
    }

    #[test]
    fn parser_errors_have_a_cause_and_a_fix() {
        for (line, expected) in [
            (
                "fsarena calibrate",
                "cannot run `fsarena calibrate`: this command does not exist; did you mean `fsarena tool calibrate`?",
            ),
            (
                "fsarena replay",
                "cannot run `fsarena replay`: this command does not exist; did you mean `fsarena disk replay` or `fsarena trace replay`?",
            ),
            (
                "fsarena disk requets",
                "cannot run `fsarena disk requets`: this command does not exist; did you mean `fsarena disk requests`?",
            ),
            (
                "fsarena xyzzy",
                "cannot run `fsarena xyzzy`: this command does not exist; `fsarena --help` lists all commands",
            ),
            (
                "fsarena run --round 3",
                "cannot run `fsarena run`: it takes no option `--round`; did you mean `--rounds`?",
            ),
            (
                "fsarena rum",
                "cannot run `fsarena rum`: this command does not exist; did you mean `fsarena run`?",
            ),
            (
                "fsarena compare",
                "cannot run `fsarena compare`: <A> and <B> are missing; give them as in `fsarena compare 3 4`",
            ),
            (
                "fsarena explain",
                "cannot run `fsarena explain`: its arguments are missing; give them as in `fsarena explain tree/tree-within xfs ext4`",
            ),
            (
                "fsarena show 7 12",
                "cannot run `fsarena show`: it takes no argument `12`; see `fsarena show --help`",
            ),
            (
                "fsarena run ext4 xfs",
                "cannot run `fsarena run`: it takes no argument `xfs`; did you mean `-c xfs`?",
            ),
            (
                "fsarena help",
                "cannot run `help`: this command does not exist; see `fsarena --help`",
            ),
            (
                "fsarena run --rounds many",
                "cannot use `many` for `--rounds <N>`: expected a whole number; see `fsarena run --help`",
            ),
            (
                "fsarena guest selftest --runs 0",
                "cannot use `0` for `--runs <N>`: expected a whole number from 1 to 100000; see `fsarena guest selftest --help`",
            ),
            (
                "fsarena report --format papyrus",
                "cannot use `papyrus` for `--format <FORMAT>`: unknown value; use one of table, html, csv, json, markdown, bonnie-csv, iozone, parquet",
            ),
            (
                "fsarena report --format",
                "cannot use `--format <FORMAT>`: its value is missing; see `fsarena report --help`",
            ),
            (
                "fsarena report --schema --format csv",
                "cannot use `--schema` with `--format <FORMAT>`: they conflict; remove one",
            ),
            (
                "fsarena advise --relevant -1% 3",
                "cannot use `-1%`: no value is negative; see `fsarena advise --help`",
            ),
            (
                "fsarena run -r -5",
                "cannot use `-5`: no value is negative; see `fsarena run --help`",
            ),
            (
                "fsarena list --db a --db b",
                "cannot use `--db <FILE>` twice: it has one value; remove one",
            ),
            (
                "fsarena study show",
                "cannot run `fsarena study show`: <STUDY> is missing; study to show (see `fsarena list studies`)",
            ),
        ] {
            assert_eq!(told(line), expected);
        }
    }

    #[test]
    fn comparing_one_campaign_tells_what_is_missing_and_how_to_list_campaigns() {
        let told = told("fsarena compare 3");
        assert!(told.starts_with("cannot run `fsarena compare`: <B> is missing; "), "{told}");
        assert!(told.contains("`fsarena list campaigns`"), "{told}");
    }
}
