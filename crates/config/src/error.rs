//! Errors in data files and in names that users type, one line each.

use std::fmt::Write as _;
use std::path::PathBuf;

/// An error of the catalog. Its text is one line with the place and the expected value.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// A data file contains an invalid value.
    #[error("{}:{line}: {}", one_line(file), one_line(message))]
    InFile {
        /// The file, as the caller named it.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The problem and the expected value.
        message: String,
    },
    /// A file or directory could not be read.
    #[error("cannot read {}: {error}", one_line(&path.display().to_string()))]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A directory that was named as a catalog contains no catalog files.
    #[error(
        "cannot read the catalog {}: it has no catalog files; expected filesystems/*.toml, suites/*.toml, layers/*.toml, uses/*.toml, disks/*.toml, ages/*.toml, machines/*.toml, studies/*.toml, studies/*/study.toml or *.toml in it",
        one_line(&path.display().to_string())
    )]
    NoCatalog {
        /// The directory.
        path: PathBuf,
    },
    /// A name that is not in the catalog.
    #[error("there is no {kind} `{}` in the catalog; {hint}", one_line(name))]
    Unknown {
        /// The kind of entry: `filesystem`, `suite`.
        kind: &'static str,
        /// The name.
        name: String,
        /// The nearest names, or the command that lists all names.
        hint: String,
    },
    /// A suite or test that is selected twice.
    #[error("`{}` is named twice", one_line(name))]
    Duplicate {
        /// The suite, or `SUITE/TEST`.
        name: String,
    },
    /// A contender whose options are invalid.
    #[error("contender `{}`: {}", one_line(spec), one_line(reason))]
    BadContender {
        /// The contender as written.
        spec: String,
        /// The reason why it is invalid.
        reason: String,
    },
}

impl CatalogError {
    /// Creates the error for an unknown name, with the most similar names as a hint.
    pub(crate) fn unknown<'a>(
        kind: &'static str,
        name: &str,
        known: impl Iterator<Item = &'a str>,
    ) -> Self {
        Self::Unknown { kind, name: name.to_owned(), hint: hint(name, known, kind) }
    }

    /// Creates the error for an unknown name that means one of these.
    pub(crate) fn unknown_but(
        kind: &'static str,
        name: &str,
        meant: impl IntoIterator<Item = String>,
    ) -> Self {
        let meant: Vec<String> = meant.into_iter().take(3).map(|one| format!("`{one}`")).collect();
        let hint = format!("did you mean {}?", join_or(&meant));
        Self::Unknown { kind, name: name.to_owned(), hint }
    }
}

/// Returns `did you mean …?`, the names one by one if they are a list, or the command that lists all
/// names if none is similar.
fn hint<'a>(name: &str, known: impl Iterator<Item = &'a str>, kind: &str) -> String {
    let options = [("filesystem", "-c"), ("suite", "-s"), ("test", "-s")];
    let option = options.iter().find(|(named, _)| *named == kind);
    if let Some((_, option)) = option.filter(|_| name.contains(',')) {
        let each: Vec<String> = name.split(',').map(|one| format!("{option} {one}")).collect();
        return format!("give each by itself: {}", one_line(&each.join(" ")));
    }
    let all = match (kind, kind.strip_suffix('y')) {
        // Tests are listed below their suites.
        ("test", _) => "suites".to_owned(),
        (_, Some(stem)) => format!("{stem}ies"),
        (_, None) => format!("{kind}s"),
    };
    did_you_mean(name, known).unwrap_or_else(|| format!("`fsarena list {all}` shows all"))
}

/// Returns a question with the most similar words, or `None` if no word is similar.
pub fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let name = &name.to_lowercase();
    let mut near: Vec<(f64, &str)> = known
        .map(|k| (strsim::jaro_winkler(name, &k.to_lowercase()), k))
        .filter(|(likeness, _)| *likeness > 0.75)
        .collect();
    // One wrong letter is more likely than a common beginning: `rum` is `run` and not `resume`.
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    near.sort_by_key(|(_, word)| strsim::osa_distance(name, word) > 1);
    let near: Vec<String> = near.iter().take(3).map(|(_, word)| format!("`{word}`")).collect();
    (!near.is_empty()).then(|| format!("did you mean {}?", join_or(&near)))
}

/// Joins words as `a`, `a or b`, `a, b or c`.
pub(crate) fn join_or<T: AsRef<str>>(words: &[T]) -> String {
    match words {
        [] => String::new(),
        [only] => only.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} or {}", first.join(", "), last.as_ref())
        }
    }
}

/// Returns the text without line ends, control characters and marks that change the text direction
/// in a terminal.
pub(crate) fn one_line(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        let reorders = matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || reorders {
            let _ = write!(clean, "{}", c.escape_default());
        } else {
            clean.push(c);
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_suggest_the_nearest_ones() {
        let known = ["ext2", "ext3", "ext4", "xfs", "btrfs"];
        let error = |name| CatalogError::unknown("filesystem", name, known.into_iter()).to_string();
        assert_eq!(
            error("btfs"),
            "there is no filesystem `btfs` in the catalog; did you mean `btrfs`?"
        );
        assert!(error("EXT4").contains("did you mean `ext4`"), "{}", error("EXT4"));
        assert_eq!(
            error("qqq"),
            "there is no filesystem `qqq` in the catalog; `fsarena list filesystems` shows all"
        );
        assert_eq!(
            CatalogError::unknown("suite", "tree,bonnie", known.into_iter()).to_string(),
            "there is no suite `tree,bonnie` in the catalog; give each by itself: -s tree -s bonnie"
        );
    }

    #[test]
    fn errors_are_one_line_despite_line_breaks_in_the_file() {
        let error = CatalogError::InFile {
            file: "a\nb.toml".into(),
            line: 3,
            message: "x\r\n\u{202e}y".into(),
        };
        assert_eq!(error.to_string(), "a\\nb.toml:3: x\\r\\n\\u{202e}y");
    }
}
