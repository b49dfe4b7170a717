//! Programs that a guest is made with: run, listened to while they run, and told by the reason they give
//! when they fail. Knows nothing of what they do.

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::process::{Command, Stdio};
use std::thread;

use crate::GuestError;

/// Runs a program to its end and returns what it wrote; `package` is what brings it where it is missing.
pub fn run(command: &mut Command, package: &'static str) -> Result<String, GuestError> {
    let mut text = String::new();
    listen(command, package, &mut |line| {
        text += line;
        text.push('\n');
    })?;
    Ok(text)
}

/// Runs a program to its end; each line that it writes is heard as it comes.
pub fn listen(
    command: &mut Command,
    package: &'static str,
    heard: &mut dyn FnMut(&str),
) -> Result<(), GuestError> {
    let piped = command
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = piped
        .spawn()
        .map_err(|source| not_started(command, package, source))?;
    let stdout = child.stdout.take().expect("piped above");
    let mut stderr = child.stderr.take().expect("piped above");
    let complaint = thread::scope(|scope| {
        let complaint = scope.spawn(move || {
            let mut bytes = Vec::new();
            // What cannot be read is not told; the program's end is what counts.
            let _ = stderr.read_to_end(&mut bytes);
            bytes
        });
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            heard(&String::from_utf8_lossy(&line));
        }
        complaint.join().unwrap_or_default()
    });
    let status = child
        .wait()
        .map_err(|source| not_started(command, package, source))?;
    if status.success() {
        return Ok(());
    }
    Err(GuestError::Failed {
        command: line(command),
        complaint: reason(&String::from_utf8_lossy(&complaint)).to_owned(),
    })
}

/// Why a program did not even start.
pub fn not_started(command: &Command, package: &'static str, source: std::io::Error) -> GuestError {
    match source.kind() {
        ErrorKind::NotFound => GuestError::Program {
            program: command.get_program().to_string_lossy().into_owned(),
            package,
            source,
        },
        _ => GuestError::Unexpected(format!("`{}`: {source}", line(command))),
    }
}

/// The command as a person would type it; of very many words the first ones.
fn line(command: &Command) -> String {
    const MOST: usize = 12;
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let mut words: Vec<_> = words.map(|w| w.to_string_lossy()).collect();
    if words.len() > MOST {
        words.truncate(MOST);
        words.push("…".into());
    }
    words.join(" ")
}

/// Of all that a program complained about, the line that says why: the last, unless a compiler or a loader
/// said it before, after which make says only that it failed.
fn reason(complaint: &str) -> &str {
    const MARKS: [&str; 3] = [" error: ", ": not found", "error while loading"];
    let lines = || complaint.lines().filter(|line| !line.trim().is_empty());
    let marked = lines().find(|line| MARKS.iter().any(|mark| line.contains(mark)));
    marked
        .or_else(|| lines().next_back())
        .unwrap_or("it said nothing")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_is_told_with_its_last_word() {
        let mut command = Command::new("sh");
        let error = run(
            command.args(["-c", "echo a >&2; echo b >&2; exit 1"]),
            "dash",
        );
        assert!(error.unwrap_err().to_string().ends_with("failed: b"));
        let error = run(&mut Command::new("no-such-program"), "none").unwrap_err();
        assert!(
            error.to_string().contains("apt-get install none"),
            "{error}"
        );
    }

    #[test]
    fn a_compilers_reason_is_told_and_not_makes_last_word() {
        let said = "make[1]: x\nsuper.c:7:1: error: no such thing\nmake: *** [all] Error 2\n";
        assert_eq!(reason(said), "super.c:7:1: error: no such thing");
        assert_eq!(
            reason("/bin/sh: 1: gcc-12: not found\nmake: *** Error 127"),
            "/bin/sh: 1: gcc-12: not found"
        );
        assert_eq!(reason("\n"), "it said nothing");
    }

    #[test]
    fn what_a_program_writes_is_heard_line_by_line() {
        let mut heard = Vec::new();
        let mut command = Command::new("printf");
        listen(command.arg("one\ntwo"), "coreutils", &mut |line| {
            heard.push(line.to_owned());
        })
        .unwrap();
        assert_eq!(heard, ["one", "two"]);
    }
}
