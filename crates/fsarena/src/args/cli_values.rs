//! Parsers of option values with a special form: shares, and choices from a list of words.

use std::fmt::Debug;
use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{
    PathBufValueParser, PossibleValuesParser, RangedI64ValueParser, TypedValueParser,
};
use model::{AgeingSpec, Bytes, Nanos, ParseUnitError, PerMille, percentage};

/// Parses a percentage above 0 and at most 100. Returns a share.
pub fn percent(text: &str) -> Result<f64, String> {
    match percentage(text).map_err(|error| error.to_string())? {
        share if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("expected a percentage above 0 and at most 100, such as 5%".to_owned()),
    }
}

/// Parses the fill of an aged filesystem.
pub fn fill(text: &str) -> Result<PerMille, String> {
    AgeingSpec::parse_fill(text)
}

/// Parses one of the given words. Help and completions show these words.
pub fn one_of<T>(names: impl IntoIterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: Debug> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names)
        .map(|word| word.parse().expect("every word shown is one that its type reads"))
}

/// Parses a path. It must be UTF-8, because stored campaigns and JSON output cannot contain other
/// bytes.
pub fn path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.to_str() {
        Some(_) => Ok(path),
        None => Err("the path is not UTF-8"),
    })
}

/// Parses a whole number from 1 to a limit, the same limit as in campaign files.
pub fn int_up_to(most: u32) -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(most))
}

/// Parses the number of a campaign.
pub fn campaign_number(text: &str) -> Result<i64, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| {
        "expected the number of a campaign (`fsarena list campaigns` has all)".to_owned()
    })
}

/// Parses the number of a cell.
pub fn cell_number(text: &str) -> Result<u32, String> {
    let expected = || "expected the number of a cell (`fsarena show` has all)".to_owned();
    text.parse().map_err(|_| expected())
}

/// Parses a size above zero.
pub fn size(text: &str) -> Result<Bytes, String> {
    match text.parse::<Bytes>() {
        Ok(Bytes(0)) => Err("expected a size above 0".to_owned()),
        other => other.map_err(|error| error.to_string()),
    }
}

/// Parses a limit of time. Campaign files accept the same values.
pub fn time(text: &str) -> Result<Nanos, ParseUnitError> {
    Nanos::parse_limit(text)
}

/// Parses a text that is not blank.
pub fn text(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("expected a text".to_owned()),
        text => Ok(text.to_owned()),
    }
}

/// Parses the release of a Debian kernel.
pub fn release(text: &str) -> Result<String, String> {
    match guest::is_release(text) {
        true => Ok(text.to_owned()),
        false => Err("expected a release of Debian's kernel, such as 6.12 or 6.1.0-50".to_owned()),
    }
}

/// Parses a share such as `5%` or `2.5 %`.
pub fn share(text: &str) -> Result<f64, String> {
    match percentage(text).map_err(|error| error.to_string())? {
        share if share < 10.0 => Ok(share),
        _ => Err("expected a percentage below 1000, such as 5%".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_percent_sign_is_named_with_the_right_form() {
        assert_eq!(share("120%"), Ok(1.2));
        for told in [share("5").unwrap_err(), percent("5").unwrap_err(), fill("5").unwrap_err()] {
            assert_eq!(told, "`5` has no percent sign; write `5%`");
        }
        assert!(share("1000%").is_err());
    }

    #[test]
    fn invalid_numbers_name_the_list_command() {
        assert_eq!(campaign_number("12"), Ok(12));
        assert_eq!(cell_number("0"), Ok(0));
        for wrong in ["abc", "0", "-1", "1.5", "99999999999999999999"] {
            let told = campaign_number(wrong).unwrap_err();
            assert!(told.contains("fsarena list campaigns"), "{told}");
        }
        for wrong in ["abc", "-1", ""] {
            assert!(cell_number(wrong).unwrap_err().contains("fsarena show"));
        }
    }

    #[test]
    fn a_percentage_is_above_0_and_at_most_100() {
        assert_eq!(percent("100%"), Ok(1.0));
        for wrong in ["0%", "-1%", "101%"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
