//! Values of options that have a form of their own: shares, and one of some words.

use std::fmt::Debug;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use model::percentage;

/// Reads a percentage above 0 and at most 100, as a share.
pub fn percent(text: &str) -> Result<f64, String> {
    let expected = || "expected a percentage above 0 and at most 100, such as 5%".to_owned();
    let share = percentage(text).filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(expected)
}

/// Reads one of the given words, which help and completions then show.
pub fn words<T>(names: impl IntoIterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err: Debug> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).map(|word| {
        word.parse()
            .expect("every word shown is one that its type reads")
    })
}

/// Reads a share such as `5%` or `2.5 %`.
pub fn share(text: &str) -> Result<f64, String> {
    let expected = || "expected a share such as 5%".to_owned();
    let share = percentage(text).filter(|share| *share < 10.0);
    share.ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_per_cent_and_say_so() {
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("2.5 %"), Ok(0.025));
        for wrong in ["5", "", "%", "-1%", "nan%", "inf%", "five%"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_percentage_has_its_sign_and_is_a_share() {
        assert_eq!(percent("5%"), Ok(0.05));
        assert_eq!(percent(" 2.5 % "), Ok(0.025));
        assert_eq!(percent("100%"), Ok(1.0));
        for wrong in ["5", "0%", "-1%", "101%", "%", "x%", "NaN%", "inf%"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}
