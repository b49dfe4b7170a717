//! Words of a study that a statement may use: contenders, groups of contenders, and figures.

use std::fmt::Write as _;

use config::did_you_mean;

/// Reserved words of the language, which are not allowed as names.
pub const RESERVED: [&str; 33] = [
    "about",
    "above",
    "all",
    "among",
    "are",
    "at",
    "below",
    "best",
    "but",
    "by",
    "complete",
    "completes",
    "crash",
    "crashes",
    "every",
    "fail",
    "fails",
    "for",
    "in",
    "invalid",
    "is",
    "least",
    "mean",
    "most",
    "nobody",
    "none",
    "of",
    "others",
    "the",
    "times",
    "to",
    "within",
    "worst",
];

/// The words of a study.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    /// Names of contenders, in the study's order.
    pub contenders: Vec<String>,
    /// Groups of contenders, by name.
    pub groups: Vec<(String, Vec<String>)>,
    /// Paths of figures, each with its unit.
    pub figures: Vec<(String, String)>,
}

impl Vocabulary {
    /// Returns the contenders of a word, which may be a contender or a group.
    pub(super) fn contenders(&self, word: &str) -> Result<Vec<String>, String> {
        if let Some((_, members)) = self.groups.iter().find(|(name, _)| name == word) {
            return Ok(members.clone());
        }
        if self.contenders.iter().any(|name| name == word) {
            return Ok(vec![word.to_owned()]);
        }
        let groups = self.groups.iter().map(|(name, _)| name.as_str());
        let known = self.contenders.iter().map(String::as_str).chain(groups);
        let mut message = format!("`{word}` is not a filesystem or group of the study");
        match did_you_mean(word, known.clone()) {
            Some(hint) => {
                let _ = write!(message, "; {hint}");
            }
            None => {
                let known: Vec<&str> = known.collect();
                let _ = write!(message, ": it has {}", known.join(", "));
            }
        }
        Err(message)
    }

    /// Returns the paths of the figures that match a pattern: `TEST/PHASE/METRIC`, with `*` for any
    /// letters.
    ///
    /// # Errors
    /// Returns an error with the nearest path if no figure matches.
    pub fn paths(&self, pattern: &str) -> Result<Vec<String>, String> {
        let paths = || self.figures.iter().map(|(path, _)| path.as_str());
        let wanted: Vec<&str> = pattern.split('/').collect();
        let means = |path: &&str| {
            let parts: Vec<&str> = path.split('/').collect();
            parts.len() == wanted.len() && parts.iter().zip(&wanted).all(|(p, w)| matches(w, p))
        };
        let found: Vec<String> = paths().filter(means).map(str::to_owned).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let hint = did_you_mean(pattern, paths());
        Err(format!(
            "the study has no figure `{pattern}`, as TEST/PHASE/METRIC; {}",
            hint.unwrap_or_else(|| "`fsarena show study` shows all".to_owned())
        ))
    }

    /// Returns the unit of a figure.
    pub(super) fn unit(&self, path: &str) -> &str {
        let found = self.figures.iter().find(|(known, _)| known == path);
        found.map_or("", |(_, unit)| unit)
    }
}

/// Returns true if a word matches a pattern, in which `*` stands for any characters.
fn matches(pattern: &str, word: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = word.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_matches_any_letters() {
        for (pattern, word, fits) in [
            ("*", "", true),
            ("*", "abc", true),
            ("a*c", "abbc", true),
            ("a*c", "ac", true),
            ("a*c", "ab", false),
            ("*_stat", "random_stat", true),
            ("a*a", "a", false),
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("*b*", "abc", true),
        ] {
            assert_eq!(matches(pattern, word), fits, "{pattern} {word}");
        }
    }
}
