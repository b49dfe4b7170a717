//! The input formats and their recognition by content.

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
    fn unknown_content_has_no_format() {
        for other in ["", "hello", "{}", "<html>", "{\"results\": 1}", "1,2,3", "\0\u{1}"] {
            assert_eq!(detect_format(other.as_bytes()), None, "{other}");
        }
    }
}
