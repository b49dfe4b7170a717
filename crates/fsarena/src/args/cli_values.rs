//! Parsers of option values with a special form: shares, and choices from a list of words.

use std::fmt::Debug;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
pub use config::settings::values::{int_up_to, path, size, text};
use model::percentage;

/// Parses one of the given words. Help and completions show these words.
pub fn one_of<T>(names: impl IntoIterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: Debug> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names)
        .map(|word| word.parse().expect("every word shown is one that its type reads"))
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

/// Parses the release of a Debian kernel.
pub fn release(text: &str) -> Result<String, String> {
    match guest::is_release(text) {
        true => Ok(text.to_owned()),
        false => Err("expected a release of Debian's kernel, such as 6.12 or 6.1.0-50".to_owned()),
    }
}

/// Parses a share such as `5%` or `2.5 %`.
pub fn share(text: &str) -> Result<f64, String> {
    let expected = || "expected a share such as 5%".to_owned();
    let share = percentage(text).filter(|share| *share < 10.0);
    share.ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_need_a_percent_sign() {
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("2.5 %"), Ok(0.025));
        for wrong in ["5", "", "%", "-1%", "nan%", "inf%", "five%"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
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
}
