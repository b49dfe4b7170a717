//! Parsers of option values with a special form: shares, and choices from a list of words.

use std::fmt::Debug;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
pub use config::settings::values::{int_up_to, path, size, text, time};
use model::percentage;

/// Parses one of the given words. Help and completions show these words.
pub fn one_of<T>(names: impl IntoIterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: Debug> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names)
        .map(|word| word.parse().expect("every word shown is one that its type reads"))
}

/// Parses the number of a cell.
pub fn cell_number(text: &str) -> Result<u32, String> {
    let expected = || "expected the number of a cell (`fsarena show` has all)".to_owned();
    text.parse().map_err(|_| expected())
}

/// Parses the release of a Debian kernel.
pub fn release(text: &str) -> Result<String, String> {
    // Reports print the release with its architecture.
    let text = text.strip_suffix("-amd64").unwrap_or(text);
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
    use config::settings::values::percent;

    use super::*;

    #[test]
    fn a_release_may_have_its_architecture() {
        assert_eq!(release("7.3.4+deb13-amd64").as_deref(), Ok("7.3.4+deb13"));
        assert_eq!(release("6.1").as_deref(), Ok("6.1"));
        assert!(release("abc").is_err());
    }

    #[test]
    fn a_missing_percent_sign_is_named_with_the_right_form() {
        assert_eq!(share("120%"), Ok(1.2));
        let fill = model::AgeingSpec::parse_fill("5").unwrap_err();
        for told in [share("5").unwrap_err(), percent("5").unwrap_err(), fill] {
            assert_eq!(told, "`5` has no percent sign; write `5%`");
        }
        assert!(share("1000%").is_err());
    }

    #[test]
    fn invalid_numbers_name_the_list_command() {
        assert_eq!(cell_number("0"), Ok(0));
        for wrong in ["abc", "-1", ""] {
            assert!(cell_number(wrong).unwrap_err().contains("fsarena show"));
        }
    }
}
