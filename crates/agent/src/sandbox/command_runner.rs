//! Runs the commands of phases ([`model::op::Exec`]) below the directory of the cell and captures
//! their output.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::{fmt, fs};

use model::op::{ARCHIVES, Exec};
use model::wire::CellEvent;
use model::{Bytes, CommandRecord, Nanos, UnsetAttributes};
use nix::errno::Errno;
use sys::io::bounded;
use workload::{CommandFacts, OpError};

use crate::cell::program_output::ProgramOutput;
use crate::observe::event_writer::EventWriter;
use crate::sandbox::SandboxedRunner;
use crate::sandbox::command::{self, record};

/// Step name used for the evidence of a command.
const STEP: &str = "exec";

/// Program loader at the path of the x86-64 ABI.
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// Runner for the commands of a cell.
pub struct CellCommandRunner {
    runner: SandboxedRunner,
    events: EventWriter,
    /// Directory of source archives.
    archives: Option<PathBuf>,
    /// Output of the last command, if phases are read from it.
    printed: Arc<ProgramOutput>,
}

impl CellCommandRunner {
    /// Creates a runner that sends the output of commands to `events`.
    pub const fn new(
        runner: SandboxedRunner,
        events: EventWriter,
        archives: Option<PathBuf>,
        printed: Arc<ProgramOutput>,
    ) -> Self {
        Self { runner, events, archives, printed }
    }
}

impl fmt::Debug for CellCommandRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Programs")
    }
}

impl workload::CommandRunner for CellCommandRunner {
    fn run(
        &self,
        exec: &Exec,
        directory: &Path,
        begin: &mut dyn FnMut(),
    ) -> Result<CommandFacts, OpError> {
        let words = exec.arguments().map_err(failed)?;
        let program = called(&words);
        let output = command::output_file().map_err(|e| failed(format!("no output file: {e}")))?;
        let outputs = output.try_clone().and_then(|out| Ok((out, output.try_clone()?)));
        let (out, errors) = outputs.map_err(|e| failed(format!("no output file: {e}")))?;
        let below = self.runner.below(directory);
        let below = below.map_err(|e| failed(format!("cannot restrict `{program}`: {e}")))?;
        let input = input(&exec.input).map_err(|e| failed(format!("no input: {e}")))?;
        let mut started = Command::new(&words[0]);
        started
            .args(&words[1..])
            .env("PATH", command::search_path())
            .env("LC_ALL", "C")
            .stdin(input)
            .stdout(out)
            .stderr(errors);
        if let Some(archives) = &self.archives {
            started.env(ARCHIVES, archives);
        }
        bring_into_memory(program);
        begin();
        let start = sys::io::clock::now();
        let status = below.status(started).map_err(|error| match error.kind() {
            ErrorKind::NotFound => missing(program, &exec.packages),
            _ => failed(format!("cannot run `{program}`: {error}")),
        })?;
        let record = record(STEP, &words, status, sys::io::clock::since(start), &output);
        let failed_on_its_own = record.exit.is_some_and(|code| code != 0);
        let unset = match exec.unpacks && failed_on_its_own {
            true => unset_attributes(&text_of(&output)),
            false => None,
        };
        let reason = complaint(program, &record, &output).filter(|_| unset.is_none());
        self.events.send(&CellEvent::Step(record));
        if words.iter().any(|word| word.starts_with(LOG_OPTION)) {
            for log in logs(directory) {
                self.events.send(&CellEvent::Step(log));
            }
        }
        if let Some(reason) = reason {
            let lacks = self.printed.is_wanted() && is_lack(&begin_of(&output));
            return Err(match lacks {
                true => OpError::Unsupported { reason },
                false => failed(reason),
            });
        }
        if self.printed.is_wanted() {
            let read = self.printed.read(program, &output);
            read.map_err(|why| failed(format!("`{program}`: {why}")))?;
        }
        let text = if exec.prints.is_empty() { String::new() } else { text_of(&output) };
        let values = exec.prints.iter().map(|value| value.find(&text));
        let values = values.collect::<Result<_, _>>();
        Ok(CommandFacts {
            unset,
            values: values.map_err(|why| failed(format!("`{program}`: {why}")))?,
        })
    }
}

/// Returns the program of a command line, without a leading setarch(8).
fn called(words: &[String]) -> &String {
    const STARTS: [&str; 2] = ["setarch", "-R"];
    let mut words_behind = words.iter();
    words_behind.find(|word| !STARTS.contains(&word.as_str())).unwrap_or(&words[0])
}

/// Creates standard input with this text, from a file in memory.
fn input(text: &str) -> io::Result<Stdio> {
    if text.is_empty() {
        return Ok(Stdio::null());
    }
    let mut file = command::output_file()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file.into())
}

/// Reads a program and its libraries, so that a phase with cold caches waits for its filesystem and
/// not for the disk that contains the program. Child programs are not preloaded.
fn bring_into_memory(program: &str) {
    let path = command::search_path();
    let mut directories = path.split(':').map(Path::new);
    let Some(file) = directories.find_map(|d| Some(d.join(program)).filter(|f| f.is_file())) else {
        return;
    };
    // ld.so(8): `--list` prints the libraries without running the program; it fails for static
    // programs.
    let mut loader = Command::new(LOADER);
    let listed = bounded::output(loader.arg("--list").arg(&file), MAX_LIST_SIZE, &|| false);
    let listed = listed.map(|output| output.stdout).unwrap_or_default();
    for file in [file].into_iter().chain(libraries(&String::from_utf8_lossy(&listed))) {
        // Errors are ignored: the program is then read when it runs.
        let _ = fs::File::open(file).and_then(|mut file| io::copy(&mut file, &mut io::sink()));
    }
}

/// Maximum size of a list of libraries.
const MAX_LIST_SIZE: Bytes = Bytes::kib(64);

/// Finds the files in lines such as `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f…)`.
fn libraries(listed: &str) -> Vec<PathBuf> {
    let words = listed.lines().flat_map(str::split_whitespace);
    words.filter(|word| word.starts_with('/')).map(PathBuf::from).collect()
}

fn failed(reason: String) -> OpError {
    OpError::Command { reason }
}

fn missing(program: &str, packages: &[String]) -> OpError {
    let advice = match packages {
        [] => String::new(),
        packages => format!("; apt-get install {}", packages.join(" ")),
    };
    OpError::Unsupported { reason: format!("there is no program `{program}`{advice}") }
}

/// Beginning of the options with which fio writes logs (`--write_bw_log=NAME`).
const LOG_OPTION: &str = "--write_";
/// Step name used for the evidence of a log.
const LOG_STEP: &str = "log";
/// Maximum number of logs that are kept, and maximum size of the beginning of each, in bytes.
const MAX_LOGS: usize = 32;
const MAX_LOG_SIZE: u64 = 16 << 10;

/// Returns the logs that fio left in a directory (`NAME_bw.1.log`), in the order of their names.
fn logs(directory: &Path) -> Vec<CommandRecord> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let names = files.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".log")).collect();
    names.sort();
    let log = |name: String| {
        let mut text = Vec::new();
        let file = File::open(directory.join(&name)).ok()?;
        file.take(MAX_LOG_SIZE).read_to_end(&mut text).ok()?;
        Some(CommandRecord {
            step: LOG_STEP.to_owned(),
            command: vec![name],
            exit: Some(0),
            signal: None,
            elapsed: Nanos(0),
            output: String::from_utf8_lossy(&text).into_owned(),
        })
    };
    names.into_iter().take(MAX_LOGS).filter_map(log).collect()
}

/// Size of the beginning of an output that is searched for the cause of a failure, in bytes.
const MAX_BEGIN_SIZE: usize = 1 << 16;
/// Final lines of tar that refer to an earlier line with the cause.
const TAR_TRAILER_LINES: [&str; 2] = ["due to previous errors", "is not recoverable: exiting now"];
/// Beginning of the final lines of make, after the name of the program.
const MAKE_TRAILER: &str = ": *** [";
/// First line of tar that is not an error.
const NO_ERROR: &str = "Removing leading";
/// Error numbers that have a message.
const ERRORS: std::ops::RangeInclusive<i32> = 1..=133;

/// Returns the line with the cause: the last line, or, if that is only a closing line or the end of
/// a JSON document, the first one with the text of an error number, or with the name of the program,
/// otherwise the first line.
fn cause<'a>(program: &str, begin: &'a str, end: &'a str) -> Option<&'a str> {
    fn of(text: &str) -> impl DoubleEndedIterator<Item = &str> {
        text.lines().map(str::trim).filter(|line| !line.is_empty())
    }
    let (last, lines) = (of(end).next_back()?, || of(begin));
    let is_bracket = !last.contains(char::is_alphanumeric);
    let is_trailer =
        last.contains(MAKE_TRAILER) || TAR_TRAILER_LINES.iter().any(|words| last.ends_with(words));
    if !is_bracket && !is_trailer {
        return Some(last);
    }
    let prefix = format!("{program}: ");
    let names_program = |line: &&str| is_bracket && line.starts_with(&prefix);
    let texts: Vec<String> = ERRORS
        .map(|number| io::Error::from_raw_os_error(number).to_string())
        .filter_map(|text| Some(text.split_once(" (os error")?.0.to_owned()))
        .collect();
    let names_one = |line: &&str| texts.iter().any(|text| line.ends_with(text));
    let mut others = lines().filter(|line| !line.contains(NO_ERROR));
    lines().find(names_one).or_else(|| lines().find(names_program)).or_else(|| others.next())
}

/// Maximum size of an output that is searched for other messages than those about attributes.
const MAX_TEXT_SIZE: u64 = 64 << 20;
/// Messages of tar and unzip about an owner, a mode or a time, which end with the error.
const ATTRIBUTE_ERRORS: [&str; 5] = [
    ": Cannot change mode to ",
    ": Cannot change ownership to ",
    ": Cannot utime: ",
    "chmod (directory attributes) error: ",
    "chmod (file attributes) error: ",
];
/// Further messages of unzip about them; the next line has the error.
const ATTRIBUTE_WARNINGS: [&str; 4] = [
    "warning:  cannot set permissions for ",
    "warning:  cannot set UID ",
    "warning:  cannot set modif./access times",
    "warning:  set times/attribs failed for ",
];
/// Errors of a filesystem that lacks an attribute.
const LACKING: [Errno; 3] = [Errno::ENOSYS, Errno::EPERM, Errno::EOPNOTSUPP];

/// Returns the attributes that an unpacking program could not set, if it complains of nothing else
/// and the filesystem lacks them.
fn unset_attributes(output: &str) -> Option<UnsetAttributes> {
    let lacking = LACKING.map(Errno::desc);
    let (mut messages, mut example) = (0, None);
    for line in output.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let names_one = ATTRIBUTE_ERRORS.iter().any(|words| line.contains(words));
        if names_one && lacking.iter().any(|error| line.ends_with(error)) {
            messages += 1;
            example.get_or_insert(line);
            continue;
        }
        let is_about_it = lacking.contains(&line)
            || line.ends_with(TAR_TRAILER_LINES[0])
            || ATTRIBUTE_WARNINGS.iter().any(|words| line.starts_with(words));
        if !is_about_it {
            return None;
        }
    }
    Some(UnsetAttributes { messages, example: command::cut(example?) })
}

/// Returns the text of an output. It is empty if the output is too long or is not read.
fn text_of(output: &File) -> String {
    let size = output.metadata().map_or(u64::MAX, |data| data.len());
    if size > MAX_TEXT_SIZE {
        return String::new();
    }
    let mut text = vec![0; size as usize];
    match output.read_exact_at(&mut text, 0) {
        Ok(()) => String::from_utf8_lossy(&text).into_owned(),
        Err(_) => String::new(),
    }
}

/// Returns the beginning of an output.
fn begin_of(output: &File) -> String {
    let mut begin = vec![0; MAX_BEGIN_SIZE];
    let read = output.read_at(&mut begin, 0).unwrap_or(0);
    String::from_utf8_lossy(&begin[..read]).into_owned()
}

/// Whether a benchmark program failed because the filesystem lacks the space or the direct I/O that
/// its options ask for.
fn is_lack(output: &str) -> bool {
    let space = io::Error::from_raw_os_error(Errno::ENOSPC as i32).to_string();
    let space = space.split(" (os error").next().unwrap_or_default();
    [space, "not support direct", "not support O_DIRECT"].iter().any(|words| output.contains(words))
}

/// Returns the failure of a command with the line of its cause. Returns `None` for a successful
/// command.
fn complaint(program: &str, record: &CommandRecord, output: &File) -> Option<String> {
    let end = match (record.exit, record.signal) {
        (Some(0), _) => return None,
        (Some(code), _) => format!("ended with {code}"),
        (None, signal) => format!("was killed by signal {}", signal.unwrap_or_default()),
    };
    let cause = begin_of(output);
    let cause = self::cause(program, &cause, &record.output);
    let cause = cause.map(|line| format!(": {}", command::cut(line))).unwrap_or_default();
    Some(format!("`{program}` {end}{cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_names_the_libraries_of_a_program_by_their_files() {
        let output = Command::new(LOADER).args(["--list", "/usr/bin/env"]).output();
        let files = libraries(&String::from_utf8(output.unwrap().stdout).unwrap());
        assert!(files.iter().any(|f| f.ends_with("libc.so.6")), "{files:?}");
        assert!(files.iter().all(|f| f.is_file()), "{files:?}");
    }

    #[test]
    fn extracts_the_cause_from_program_output() {
        let tar = "tar: Removing leading `/' from member names\ntar: a/b: Cannot open: File name too long\ntar: a/c: Cannot \
                   open: No such file or directory\ntar: Exiting with failure status due to previous errors\n";
        let cause = |program: &str, output| cause(program, output, output).map(str::to_owned);
        assert_eq!(cause("tar", tar).as_deref(), Some("tar: a/b: Cannot open: File name too long"));
        let make = "ar: `u' modifier ignored\nar: unable to copy file 'a'; reason: Operation not permitted\n\
                    make: *** [Makefile:60: liblua.a] Error 1\n";
        assert_eq!(
            cause("sh", make).as_deref(),
            Some("ar: unable to copy file 'a'; reason: Operation not permitted")
        );
        let gzip = "gzip: stdin: not in gzip format\ntar: Child returned status 1\ntar: Error is not recoverable: exiting now\n";
        assert_eq!(cause("tar", gzip).as_deref(), Some("gzip: stdin: not in gzip format"));
        assert_eq!(
            cause("sh", "step 1\ncc: no input files\n\n").as_deref(),
            Some("cc: no input files")
        );
        let fio = "fio: engine x not loadable\n{\n  \"jobs\" : [\n  ]\n}\n";
        assert_eq!(cause("fio", fio).as_deref(), Some("fio: engine x not loadable"));
        assert_eq!(cause("fio", "{\n}\n").as_deref(), Some("{"));
        assert_eq!(cause("sh", "\n"), None);
    }

    #[test]
    fn attributes_that_a_filesystem_lacks_are_counted_if_nothing_else_failed() {
        let tar = "tar: doc/a: Cannot change mode to rwxr-xr-x: Function not implemented\n\
                   tar: doc: Cannot change ownership to uid 0, gid 0: Operation not permitted\n\
                   tar: Exiting with failure status due to previous errors\n";
        let unset = unset_attributes(tar).unwrap();
        assert_eq!(unset.messages, 2);
        let first = "tar: doc/a: Cannot change mode to rwxr-xr-x: Function not implemented";
        assert_eq!(unset.example, first);
        let unzip = "fchmod (file attributes) error: Function not implemented\n\
                     warning:  cannot set permissions for files/\n          Function not implemented\n\
                     warning:  set times/attribs failed for files/\n";
        assert_eq!(unset_attributes(unzip).unwrap().messages, 1);
        for other in [
            "tar: doc/l: Cannot create symlink to 'a': Function not implemented\n",
            "tar: doc/b: Cannot open: No space left on device\n",
            "tar: doc/c: Cannot change mode to rwxr-xr-x: Input/output error\n",
            "tar: Error is not recoverable: exiting now\n",
        ] {
            assert_eq!(unset_attributes(&format!("{tar}{other}")), None, "{other}");
            assert_eq!(unset_attributes(other), None, "{other}");
        }
        assert_eq!(unset_attributes(""), None);
    }

    #[test]
    fn too_little_space_and_no_direct_io_are_no_failures_of_the_filesystem() {
        let full =
            "fio: pid=1, err=28/file:io_u.c:1876, func=io_u error, error=No space left on device\n";
        let direct = "fio: looks like your file system does not support direct=1/buffered=0\nfio: destination does not support O_DIRECT\n";
        assert!(is_lack(full) && is_lack(direct));
        assert!(!is_lack("fio: pid=1, err=5/file:io_u.c:1, error=Input/output error\n"));
        let cause = cause("fio", full, "{\n}\n");
        assert!(cause.is_some_and(|line| line.starts_with("fio: pid=1, err=28")), "{cause:?}");
    }

    #[test]
    fn logs_of_a_job_are_evidence() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("job_bw.1.log"), "1, 2, 3\n").unwrap();
        fs::write(place.path().join("job.0.0"), "data").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", place.path().join("x.log")).unwrap();
        let logs = logs(place.path());
        assert_eq!(logs.len(), 1);
        assert_eq!((logs[0].command[0].as_str(), &*logs[0].output), ("job_bw.1.log", "1, 2, 3\n"));
    }

    #[test]
    fn static_and_missing_programs_have_no_libraries() {
        assert!(libraries("\tstatically linked\n").is_empty());
        assert!(libraries("").is_empty());
        bring_into_memory("no-such-program");
    }
}
