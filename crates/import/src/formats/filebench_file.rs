//! Rewrites a filebench workload so that it runs in the measured directory.
//!
//! The workload is rebuilt from accepted tokens only: words, numbers, variables and the signs
//! between them. Filebench's own parser can thus not misread any part of it.
//!
//! Source of the format: `parser_lex.l`, `parser_gram.y` and the workloads of filebench 1.5-alpha3,
//! its last version.

use std::iter::Peekable;
use std::str::Chars;

use crate::ImportError;
use crate::parse::text::lines;

/// Operations that filebench counts in its summary. Operations that synchronise or pace threads are
/// not counted.
const COUNTED: [&str; 18] = [
    "aiowait",
    "aiowrite",
    "appendfile",
    "appendfilerand",
    "closefile",
    "createfile",
    "deletefile",
    "fsync",
    "fsyncset",
    "listdir",
    "makedir",
    "openfile",
    "read",
    "readwholefile",
    "removedir",
    "statfile",
    "write",
    "writewholefile",
];

/// Words that run other programs, or wait for other machines.
const REFUSED: [&str; 3] = ["system", "domultisync", "multi"];

/// Names of the phases for the whole run.
const OF_THE_WHOLE: [&str; 2] = ["run", "all"];

/// Returns a workload without comments and `echo` lines, with `$dir` as the current directory.
///
/// # Errors
/// Returns an error if the workload runs other programs, names a place outside the measured
/// filesystem, or has no end.
pub fn filebench_workload(file: &[u8]) -> Result<String, ImportError> {
    let mut workload = String::new();
    let mut ends = false;
    for (number, line) in lines(file)? {
        let tokens = tokens(line).map_err(|what| ImportError::at_line(number, what))?;
        let words: Vec<&str> = tokens.iter().map(String::as_str).collect();
        let name = operation(&words).filter(|name| OF_THE_WHOLE.contains(name));
        if let Some(name) = name {
            let what =
                format!("an operation is called `{name}`, as the whole is: name it otherwise");
            return Err(ImportError::at_line(number, what));
        }
        ends |= matches!(words.first(), Some(&("run" | "psrun")));
        if !words.is_empty() {
            workload.push_str(&words.join(" "));
            workload.push('\n');
        }
    }
    match ends {
        true => Ok(workload),
        false => Err(ImportError::in_file(
            "not a filebench workload with an end: no line begins with `run`, such as `run 60`",
        )),
    }
}

/// Splits a line into tokens that filebench reads as such if they are separated by blanks. Drops
/// comments and echoed text.
fn tokens(line: &str) -> Result<Vec<String>, String> {
    let mut rest = line.chars().peekable();
    let mut tokens: Vec<String> = Vec::new();
    while let Some(first) = rest.next() {
        match first {
            '#' => break,
            _ if first.is_whitespace() => {}
            '{' | '}' | '(' | ')' | ',' | '=' => tokens.push(first.to_string()),
            '"' => {
                let text: String = rest.by_ref().take_while(|c| *c != '"').collect();
                match tokens.last().is_some_and(|last| last == "echo") {
                    true => _ = tokens.pop(),
                    false => tokens.push(format!("\"{}\"", in_quotes(&text)?)),
                }
            }
            '$' => tokens.push(variable(&mut rest)?),
            '0'..='9' => tokens.push(number(first, &mut rest)?),
            'a'..='z' | 'A'..='Z' if is_value_of(&tokens, "parameters") => {
                tokens.push(parameters(first, &mut rest));
            }
            'a'..='z' | 'A'..='Z' => tokens.push(word(first, &mut rest)?),
            other => return Err(place(other)),
        }
        if tokens.len() > 2 && tokens[tokens.len() - 3] == "set" && is_value_of(&tokens, "$dir") {
            skip_directory(&mut rest);
            tokens.push("\".\"".to_owned());
        }
    }
    if tokens.iter().any(|token| token == "echo") {
        return Err("what is echoed stands in quotes".to_owned());
    }
    Ok(tokens)
}

/// Returns true if the next token is the value of this attribute.
fn is_value_of(tokens: &[String], name: &str) -> bool {
    matches!(tokens, [.., attribute, is] if attribute == name && is == "=")
}

/// Reads the parameters of a distribution: `mean:131072;gamma:1.5`.
fn parameters(first: char, rest: &mut Rest<'_>) -> String {
    let more = while_next(rest, |c| c.is_ascii_alphanumeric() || ".:;".contains(c));
    format!("{first}{more}")
}

type Rest<'a> = Peekable<Chars<'a>>;

/// Reads the following letters that satisfy the condition.
fn while_next(rest: &mut Rest<'_>, is_such: impl Fn(char) -> bool) -> String {
    std::iter::from_fn(|| rest.next_if(|c| is_such(*c))).collect()
}

fn place(letter: char) -> String {
    format!(
        "`{letter}` is not taken: workloads run in the directory that is measured, which `set $dir=` becomes, and name no \
         other place"
    )
}

/// Reads a word. Filebench passes names of file sets to a shell, so words may contain only letters
/// without a meaning in the shell.
fn word(first: char, rest: &mut Rest<'_>) -> Result<String, String> {
    let more = while_next(rest, |c| c.is_ascii_alphanumeric() || ".-".contains(c));
    let word = format!("{first}{more}");
    match rest.peek() {
        // Filebench would end the word here and start another.
        Some(next) if "_:;/".contains(*next) => Err(place(*next)),
        _ if REFUSED.contains(&word.as_str()) => {
            Err(format!("`{word}` is not accepted: workloads cannot start other programs"))
        }
        _ if word.contains("..") => Err(place('.')),
        _ => Ok(word),
    }
}

/// Reads a number: `10`, `4k`. A blank must follow, because filebench would start a word otherwise.
fn number(first: char, rest: &mut Rest<'_>) -> Result<String, String> {
    let digits = while_next(rest, |c| c.is_ascii_digit());
    let unit = rest.next_if(|c| "kmg".contains(*c)).map(String::from);
    let number = format!("{first}{digits}{}", unit.unwrap_or_default());
    match rest.peek() {
        Some(next) if next.is_ascii_alphanumeric() || "._:;/-".contains(*next) => {
            Err(format!("a blank is missing behind `{number}`"))
        }
        _ => Ok(number),
    }
}

/// Parses a variable such as `$nfiles`. Variables in brackets are internal to filebench and
/// refused.
fn variable(rest: &mut Rest<'_>) -> Result<String, String> {
    let name = while_next(rest, |c| c.is_ascii_alphanumeric() || c == '_');
    let is_whole = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
        && name.len() > 1;
    match is_whole {
        true => Ok(format!("${name}")),
        false => Err(format!("`${name}` is not a variable of two or more letters")),
    }
}

fn in_quotes(text: &str) -> Result<&str, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    match text.chars().find(|c| !is_plain(*c)) {
        Some(other) => Err(place(other)),
        None if text.contains("..") => Err(place('.')),
        // A program that filebench starts would read it as an option.
        None if text.starts_with('-') => Err(place('-')),
        None => Ok(text),
    }
}

/// Skips the value of `set $dir=`: a quoted text or all letters to the next blank.
fn skip_directory(rest: &mut Rest<'_>) {
    while_next(rest, char::is_whitespace);
    match rest.next_if_eq(&'"') {
        Some(_) => _ = rest.by_ref().find(|c| *c == '"'),
        None => _ = while_next(rest, |c| !c.is_whitespace()),
    }
}

/// Returns the name of the operation of a line: `flowop read name=read1, …`.
fn operation<'a>(words: &[&'a str]) -> Option<&'a str> {
    let at = words.iter().position(|word| *word == "flowop")?;
    let (kind, attributes) = words[at + 1..].split_first()?;
    let mut attributes = attributes.windows(3);
    let named = attributes.find(|three| three[..2] == ["name", "="])?;
    COUNTED.contains(kind).then(|| named[2].trim_matches('"'))
}

/// Returns the operations of the summary, in the order of the workload.
pub fn operations(workload: &str) -> Vec<&str> {
    let mut operations = Vec::new();
    for line in workload.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        operations.extend(operation(&words).filter(|name| !operations.contains(name)));
    }
    operations
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKLOAD: &str = r#"
# A comment: /tmp
set $dir = /tmp/x:y
set $nn=10
set $size=cvar(type=cvar-gamma,parameters=mean:131072;gamma:1.5)
define fileset name=files,path=$dir,size=4k,entries=$nn,prealloc # of system/x
define process name=p,instances=1
{
  thread name=t,memsize=1m
  {
    flowop openfile name=open1,filesetname=files,fd=1
    flowop	read	name=read1, fd=1
    flowop eventlimit name=limit
    flowop read name=read1, fd=1
  }
}
echo "Reading in /tmp: system is loaded"
run 5
"#;

    #[test]
    fn a_workload_runs_in_the_measured_directory() {
        let workload = filebench_workload(WORKLOAD.as_bytes()).unwrap();
        assert!(workload.starts_with("set $dir = \".\"\nset $nn = 10\n"), "{workload}");
        assert!(workload.ends_with("}\nrun 5\n"), "{workload}");
        assert!(workload.contains("entries = $nn , prealloc\n"), "{workload}");
        assert!(workload.contains("parameters = mean:131072;gamma:1.5 )\n"), "{workload}");
        assert_eq!(operations(&workload), ["open1", "read1"]);
    }

    #[test]
    fn other_places_and_programs_are_refused_by_line() {
        for (file, line) in [
            ("set $d1=/etc\nrun 5\n", Some(1)),
            ("run 5\ndefine fileset name=a,path=\"..\"\n", Some(2)),
            ("run 5\ndefine fileset name=a,path=\"~\"\n", Some(2)),
            ("run 5\ndefine fileset name=a,path=\"-rf\"\n", Some(2)),
            ("run 5\ndefine fileset name=a,path=\"\\$HOME\"\n", Some(2)),
            ("run 5\ndefine fileset name=a;reboot,path=b\n", Some(2)),
            ("run 5\nset $aa=$(HOME)\n", Some(2)),
            ("run 5\nset $a=b\n", Some(2)),
            ("run 5 system \"touch x\"\n", Some(1)),
            ("run 5system \"touch x\"\n", Some(1)),
            ("run 5ksystem \"touch x\"\n", Some(1)),
            ("run 5\n}system\"touch x\"\n", Some(2)),
            ("run 5 system_\"touch x\"\n", Some(1)),
            ("run 5 domultisync value=1\n", Some(1)),
            ("echo \"a\" system \"touch x\"\nrun 5\n", Some(1)),
            ("echo x\nrun 5\n", Some(1)),
            ("enable multi\nrun 5\n", Some(1)),
            ("flowop read name=all\nrun 5\n", Some(1)),
            ("set $dir=/tmp\n", None),
        ] {
            let error = filebench_workload(file.as_bytes()).unwrap_err();
            assert_eq!(error.line, line, "{file}: {error}");
        }
    }

    proptest::proptest! {
        /// Any accepted workload contains only tokens without special meaning for a shell or
        /// filebench.
        #[test]
        fn accepted_workloads_contain_only_plain_tokens(text in "(run|set|\\$dir|=|\"|[a-z]|[0-9]|[ \t\n;/~.$_\\\\(){},:-]|system|multi|echo|flowop){0,30}") {
            if let Ok(workload) = filebench_workload(format!("{text}\nrun 5\n").as_bytes()) {
                for token in workload.split_whitespace() {
                    let plain = token.trim_matches('"').trim_start_matches('$');
                    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-{}(),=:;".contains(c);
                    proptest::prop_assert!(plain.chars().all(is_plain), "{workload}");
                    proptest::prop_assert!(!REFUSED.contains(&token) && !plain.contains(".."), "{workload}");
                }
            }
        }
    }
}
