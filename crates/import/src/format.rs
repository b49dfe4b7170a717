//! The input formats and their recognition by content.

use std::collections::BTreeSet;

use crate::ImportError;

model::named_enum! {
    /// Output format of a benchmark program.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum InputFormat {
        /// CSV lines of bonnie++.
        Bonnie = "bonnie++",
        /// The table, the spreadsheet or the throughput test of IOzone.
        Iozone = "iozone",
        /// `fio --output-format=json` or `json+`.
        Fio = "fio",
        /// The report of tiobench.pl.
        Tiobench = "tiobench",
        /// The table of fs_mark.
        FsMark = "fs_mark",
        /// The results of IOR: text, JSON or CSV.
        Ior = "ior",
        /// The summary of mdtest.
        Mdtest = "mdtest",
        /// composite.xml of the Phoronix Test Suite.
        Phoronix = "phoronix",
        /// `hyperfine --export-json`.
        Hyperfine = "hyperfine",
        /// The summary of filebench.
        Filebench = "filebench",
        /// The summary of dbench.
        Dbench = "dbench",
        /// `fsarena report --format csv`.
        Csv = "csv",
    }
}

impl InputFormat {
    /// Human-readable name.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Bonnie => "bonnie++ (CSV)",
            Self::Iozone => "IOzone (table or spreadsheet)",
            Self::Fio => "fio (JSON)",
            Self::Tiobench => "tiobench",
            Self::FsMark => "fs_mark",
            Self::Ior => "IOR",
            Self::Mdtest => "mdtest",
            Self::Phoronix => "the Phoronix Test Suite (XML)",
            Self::Hyperfine => "hyperfine (JSON)",
            Self::Filebench => "filebench",
            Self::Dbench => "dbench",
            Self::Csv => "fsarena (CSV)",
        }
    }
}

/// Bytes to search for a sign of a format. A shell or MPI may have printed text before it.
const DETECT_BYTES: usize = 1 << 20;

/// Recognises the format of an input by its content. Returns `None` if no format matches.
pub fn detect_format(bytes: &[u8]) -> Option<InputFormat> {
    let begin = &bytes[..bytes.len().min(DETECT_BYTES)];
    let text = crate::parse::text::decode(begin);
    let text = text.trim_start();
    if text.starts_with('{') {
        return of_json(text);
    }
    if text.starts_with('<') {
        return text.contains("<PhoronixTestSuite").then_some(InputFormat::Phoronix);
    }
    if text.starts_with("campaign,campaign_name,contender,") {
        return Some(InputFormat::Csv);
    }
    // fio prints text before its JSON if its jobs come first on the command line.
    of_json(text).or_else(|| text.lines().find_map(of_line))
}

/// Recognises the format of an input that has output of one program.
///
/// # Errors
/// Returns a one-line error with the way out if no format matches, if the output is of a known
/// program in a form that is not read, or if the input has output of several programs.
pub fn detect_only_format(bytes: &[u8]) -> Result<InputFormat, ImportError> {
    let text = crate::parse::text::decode(bytes);
    let Some(format) = detect_format(bytes) else {
        let known = text.lines().take(MAX_UNKNOWN_LINES).find_map(unread_form);
        return Err(ImportError::in_file(known.map_or_else(
            || {
                let all = InputFormat::ALL.map(InputFormat::name).join(", ");
                format!(
                    "not a database or JSON report of fsarena, and not output of one of: {all}; set the format with --from"
                )
            },
            str::to_owned,
        )));
    };
    let all = formats(&text, format);
    if all.len() > 1 {
        let titles: Vec<&str> = all.iter().map(|format| format.title()).collect();
        return Err(ImportError::in_file(format!(
            "it has output of {}; save the output of each program as a file and import the files together, or read one program with --from {}",
            titles.join(" and of "),
            format.name()
        )));
    }
    Ok(format)
}

/// Returns all formats whose signs a text has, and `format`, which reads it.
pub fn formats(text: &str, format: InputFormat) -> BTreeSet<InputFormat> {
    let mut all = BTreeSet::from([format]);
    if text.trim_start().starts_with('<') || format == InputFormat::Csv {
        return all;
    }
    // Blanks before the brace that begins a document of JSON.
    let mut document: Option<&str> = None;
    for line in text.lines() {
        let content = line.trim_start();
        let blanks = &line[..line.len() - content.len()];
        if let Some(begin) = document {
            document = document.filter(|_| blanks != begin || content.trim_end() != "}");
        } else if content.starts_with('{') {
            document = Some(blanks).filter(|_| !content.trim_end().ends_with('}'));
        } else if is_certain(line) {
            all.extend(of_line(line));
        }
    }
    for (signs, other) in [
        (["\"fio version\"", "\"jobs\""], InputFormat::Fio),
        (["\"results\"", "\"command\""], InputFormat::Hyperfine),
        (["\"tests\"", "\"bwMiB\""], InputFormat::Ior),
    ] {
        if signs.iter().all(|sign| text.contains(sign)) {
            all.insert(other);
        }
    }
    all
}

/// Returns true for a line that no other program or prose has by chance.
fn is_certain(line: &str) -> bool {
    let line = line.trim_start();
    let is_version = line
        .strip_prefix("mdtest-")
        .is_none_or(|version| version.starts_with(|c: char| c.is_ascii_digit()));
    is_version && !line.starts_with("SUMMARY:")
}

/// Lines in which an unread form is searched for.
const MAX_UNKNOWN_LINES: usize = 10_000;

/// Returns the reason and the way out for a line of a program or form that is not read.
fn unread_form(line: &str) -> Option<&'static str> {
    const TRACE: &str = "it is a trace of calls and no result; `fsarena trace import` reads it";
    let words: Vec<&str> = line.split_whitespace().take(8).collect();
    let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    let call = match words.as_slice() {
        [process, call, ..] if is_number(process) => *call,
        [call, ..] => *call,
        [] => return None,
    };
    let is_call = call.split_once('(').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    });
    if line.contains("------Sequential Output------") {
        Some(
            "it is the table of bonnie++, which lacks its parameters; import the line of CSV that bonnie++ prints after the table (-q prints only that line)",
        )
    } else if words.first() == Some(&"sysbench") {
        Some("it is output of sysbench, which is not read")
    } else if words.first() == Some(&"pgbench") || line.starts_with("transaction type: ") {
        Some("it is output of pgbench, which is not read")
    } else if line.starts_with("fio version ") && line.contains("iolog")
        || is_call && line.contains(") ") && line.contains(" = ")
    {
        Some(TRACE)
    } else if matches!(words.as_slice(), [device, cpu, sequence, time, process, ..]
        if device.split_once(',').is_some_and(|(major, minor)| is_number(&major) && is_number(&minor))
            && [cpu, sequence, process].into_iter().all(is_number)
            && time.split_once('.').is_some_and(|(_, nanos)| nanos.len() == 9))
    {
        Some(
            "it is output of blktrace, which records requests to a device and no results; fsarena does not read it (`fsarena trace import` reads calls of strace)",
        )
    } else {
        None
    }
}

fn of_json(text: &str) -> Option<InputFormat> {
    if text.contains("\"fio version\"") {
        Some(InputFormat::Fio)
    } else if text.contains("\"results\"") && text.contains("\"command\"") {
        Some(InputFormat::Hyperfine)
    } else if text.contains("\"tests\"") && text.contains("\"bwMiB\"") {
        Some(InputFormat::Ior)
    } else {
        None
    }
}

fn of_line(line: &str) -> Option<InputFormat> {
    let words: Vec<&str> = line.split_whitespace().take(5).collect();
    let begins = |with: &[&str]| words.starts_with(with);
    if crate::formats::bonnie::is_result(line) {
        Some(InputFormat::Bonnie)
    } else if crate::formats::fio::is_other_output(line) {
        Some(InputFormat::Fio)
    } else if begins(&["Iozone:"])
        || begins(&["kB", "reclen"])
        || begins(&["KB", "reclen"])
        || begins(&["Children", "see", "throughput", "for"])
        || begins(&["Excel", "output", "is", "below:"])
        || begins(&["\"Writer", "report\""])
    {
        Some(InputFormat::Iozone)
    } else if begins(&["Identifier", "Size", "Size", "Thr"]) {
        Some(InputFormat::Tiobench)
    } else if begins(&["FSUse%", "Count", "Size"])
        || (words.first() == Some(&"#")
            && words.get(1).is_some_and(|word| word.ends_with("fs_mark")))
    {
        Some(InputFormat::FsMark)
    } else if line.trim_start().starts_with("IOR-")
        || begins(&["access", "bw(MiB/s)"])
        || line.starts_with("access,bw(MiB/s),")
    {
        Some(InputFormat::Ior)
    } else if line.trim_start().starts_with("mdtest-")
        || begins(&["SUMMARY", "rate"])
        || begins(&["SUMMARY", "rate:"])
        || begins(&["SUMMARY:"])
    {
        Some(InputFormat::Mdtest)
    } else if line.contains("IO Summary:") || begins(&["Filebench", "Version"]) {
        Some(InputFormat::Filebench)
    } else if begins(&["dbench", "version"])
        || (begins(&["Throughput"]) && words.get(2) == Some(&"MB/sec"))
    {
        Some(InputFormat::Dbench)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_word_that_reads_back() {
        for format in InputFormat::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        assert!("iozon".parse::<InputFormat>().unwrap_err().contains("iozone"));
    }

    #[test]
    fn a_banner_may_precede_json() {
        let fio = "fio: this platform\n{\n  \"fio version\" : \"fio-3.33\"}";
        assert_eq!(detect_format(fio.as_bytes()), Some(InputFormat::Fio));
    }

    #[test]
    fn forms_that_are_not_read_are_named_with_the_way_out() {
        for (line, way_out) in [
            ("Version 1.97 ------Sequential Output------ --Sequential Input-", "line of CSV"),
            ("sysbench 1.0.20 (using LuaJIT)", "output of sysbench, which is not read"),
            ("pgbench (17.5)", "output of pgbench, which is not read"),
            ("fio version 2 iolog", "`fsarena trace import`"),
            ("17 openat(AT_FDCWD, \"/x\", O_RDONLY) = 3", "`fsarena trace import`"),
            ("8,0 3 1 0.000000000 697 G W 223490 + 8 [x]", "output of blktrace"),
        ] {
            let text = format!("$ a prompt\n{line}\n");
            let error = detect_only_format(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(way_out) && !error.contains("--from"), "{error}");
        }
        let error = detect_only_format(b"hello\n").unwrap_err().to_string();
        assert!(error.contains("set the format with --from"), "{error}");
    }

    #[test]
    fn unknown_content_has_no_format() {
        for other in ["", "hello", "{}", "<html>", "{\"results\": 1}", "1,2,3", "\0\u{1}"] {
            assert_eq!(detect_format(other.as_bytes()), None, "{other}");
        }
    }
}
