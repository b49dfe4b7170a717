//! Checks that every command in documents, help and messages exists.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use clap::error::{ContextKind, ErrorKind};

use crate::args::cli::{Cli, commands};

/// The program as it is written before its arguments.
const PROGRAMS: [&str; 5] =
    ["fsarena ", "{fsarena} ", "{program} ", "$(FSARENA) ", "\"$fsarena\" "];
/// Texts that end a command in a line.
const ENDS: [&str; 14] =
    ["`", "\\n", "\"", "  ", " | ", " > ", " # ", ";", " && ", "<", ")", " …", ": ", ", "];

/// Returns every file that users read or that contains text for users.
fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let names = [
        "bench",
        "catalog",
        "crates",
        "docs",
        "scripts",
        "web",
        "Makefile",
        "README.md",
        "CHANGELOG.md",
        "SPECIFICATION.md",
        "SECURITY.md",
    ];
    let mut open: Vec<PathBuf> = names.iter().map(|name| root.join(name)).collect();
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let endings = ["Makefile", ".md", ".rs", ".toml", ".sh", ".js", ".html"];
        let is_read = endings.iter().any(|ending| name.ends_with(ending));
        if path.is_file() && is_read && !name.ends_with("tests.rs") {
            found.push(path);
        }
    }
    found
}

/// A space within quotes, while a command is split.
const QUOTED_SPACE: &str = "\u{1}";

/// Splits a command at spaces outside of single quotes.
fn words(command: &str) -> Vec<String> {
    let quoted = command.split('\'').enumerate().map(|(part, text)| match part % 2 {
        0 => text.to_owned(),
        _ => text.replace(' ', QUOTED_SPACE),
    });
    let joined: String = quoted.collect();
    let words = joined.split_whitespace().map(|word| match word.split_once('{') {
        Some((begin, _)) if !begin.is_empty() => begin,
        _ => word,
    });
    let plain = |word: &str| match word.contains(QUOTED_SPACE) {
        true => word.replace(QUOTED_SPACE, " "),
        false => word.trim_matches(['[', ']', '.', '\\']).to_owned(),
    };
    words.map(plain).collect()
}

/// Returns the arguments after each mention of the program in a line, and whether the mention is
/// code, so that it is a complete command.
fn mentions(line: &str) -> Vec<(Vec<String>, bool)> {
    let mut found = Vec::new();
    for program in PROGRAMS {
        for (at, _) in line.match_indices(program) {
            let before = line[..at].trim_end_matches("/shared/it/");
            if before.ends_with(|c: char| c.is_alphanumeric() || "-_./{$".contains(c)) {
                continue;
            }
            let before = before.trim_end_matches("sudo ");
            let is_code = before.ends_with('`') || before.trim().is_empty();
            let rest = &line[at + program.len()..];
            let end = ENDS.iter().filter_map(|end| rest.find(end)).min();
            found.push((words(&rest[..end.unwrap_or(rest.len())]), is_code));
        }
    }
    found
}

/// Returns true for a word that stands for a value, such as `DIR` or `{id}`.
fn is_placeholder(word: &str) -> bool {
    word.contains(['{', '$', '…']) || !word.contains(|c: char| c.is_lowercase() || c.is_numeric())
}

/// Returns the reason that a command does not exist.
fn refusal(words: &[String]) -> Option<String> {
    let has_placeholder = words.iter().any(|word| is_placeholder(word));
    let filled = words.iter().map(|word| match is_placeholder(word) && !word.starts_with('-') {
        true => "1",
        false => word,
    });
    let error = Cli::try_parse_from(std::iter::once("fsarena").chain(filled)).err()?;
    // The line may end in the middle of the command.
    let value = error.get(ContextKind::InvalidValue).map(ToString::to_string).unwrap_or_default();
    let is_wrong = match error.kind() {
        ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument | ErrorKind::ArgumentConflict => {
            true
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            !has_placeholder && !value.is_empty()
        }
        _ => false,
    };
    is_wrong.then(|| error.to_string().lines().next().unwrap_or_default().to_owned())
}

#[test]
fn every_command_in_documents_help_and_messages_exists() {
    let all = commands();
    let names: Vec<&String> = all.iter().filter_map(|path| path.last()).collect();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for path in files() {
        let text = fs::read_to_string(&path).unwrap();
        let production = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        for (number, line) in production.lines().enumerate() {
            for (mut words, is_code) in mentions(line) {
                let Some(first) = words.first() else {
                    continue;
                };
                // Otherwise a sentence about fsarena, if it is not code in backticks.
                let is_marked = is_code && line.contains("`fsarena ");
                let is_name = first.starts_with(|c: char| c.is_lowercase() || c == '-');
                if !names.contains(&first) && (!is_marked || !is_name) {
                    continue;
                }
                if !is_code {
                    let has_group = words.len() > 1 && all.contains(&words[..2].to_vec());
                    words.truncate(if has_group { 2 } else { 1 });
                }
                count += 1;
                let place = format!("{}:{}", path.display(), number + 1);
                wrong.extend(refusal(&words).map(|why| format!("{place}: {words:?}: {why}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 400, "{count}");
}

#[test]
fn earlier_names_of_commands_and_wrong_options_are_found() {
    for (line, is_wrong) in [
        ("| `fsarena plan --backend vm -o it` | write the cells |", true),
        ("  sudo fsarena run --round 3      more rounds", true),
        ("run it once (fsarena claims {name}).", true),
        ("see `fsarena show --cell N`, `fsarena cluster work DIR --index N`", false),
    ] {
        let is_refused = |(words, is_code): &(Vec<String>, bool)| {
            refusal(if *is_code { words } else { &words[..1] }).is_some()
        };
        assert_eq!(mentions(line).iter().any(is_refused), is_wrong, "{line}");
    }
}
