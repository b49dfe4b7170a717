//! Kinds of option values: how each is written on the command line and in a campaign file.

use std::path::PathBuf;

use clap::builder::{
    BoolValueParser, PathBufValueParser, PossibleValuesParser, RangedI64ValueParser,
    TypedValueParser, ValueParser,
};
use model::{Bytes, Nanos, ParseUnitError, percentage};

use crate::catalog::document::TomlValue;
use crate::{Catalog, CatalogError};

/// Parses a percentage above 0 and at most 100. Returns a share.
pub fn percent(text: &str) -> Result<f64, String> {
    match percentage(text).map_err(|error| error.to_string())? {
        share if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("expected a percentage above 0 and at most 100, such as 5%".to_owned()),
    }
}

/// Parses a path. It must be UTF-8, because stored campaigns and JSON output cannot contain other
/// bytes.
pub fn path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.to_str() {
        Some(_) => Ok(path),
        None => Err("the path is not UTF-8"),
    })
}

/// Parses a whole number from 1 to a limit.
pub fn int_up_to(most: u32) -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(most))
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

/// A kind of option: how its value is written on the command line and in a campaign file.
pub(crate) struct Kind<Field> {
    /// Name of the value in help.
    pub name: &'static str,
    /// Parser of the command line.
    pub parser: ValueParser,
    /// Reader of campaign files. `None` if they do not have the key.
    pub read: Option<Reader<Field>>,
}

type Reader<Field> = Box<dyn Fn(&TomlValue<'_>, &Catalog) -> Result<Field, CatalogError>>;

impl<Field> Kind<Field> {
    /// Creates a kind.
    pub fn new(
        name: &'static str,
        parser: impl Into<ValueParser>,
        read: impl Fn(&TomlValue<'_>, &Catalog) -> Result<Field, CatalogError> + 'static,
    ) -> Self {
        Self { name, parser: parser.into(), read: Some(Box::new(read)) }
    }

    /// Removes the key from campaign files.
    pub fn flag_only(self) -> Self {
        Self { read: None, ..self }
    }
}

impl<T: 'static> Kind<Option<T>> {
    /// Returns the kind for one value, or a list of values without duplicates.
    pub fn or_several(self) -> Kind<Vec<T>>
    where
        T: PartialEq,
    {
        let read = self.read.map(|read| -> Reader<Vec<T>> {
            Box::new(move |value, catalog| {
                let is_list = value.is_list();
                let listed = if is_list { value.list("values")? } else { vec![*value] };
                let mut several = Vec::new();
                for value in &listed {
                    let one = read(value, catalog)?;
                    if several.contains(&one) {
                        let key = value.key();
                        return Err(value.error(format!("`{key}` names the same twice")));
                    }
                    several.push(one);
                }
                Ok(several.into_iter().flatten().collect())
            })
        });
        Kind { name: self.name, parser: self.parser, read }
    }
}

/// Returns the kind of texts that are not blank.
pub(crate) fn a_text() -> Kind<Option<String>> {
    Kind::new("NAME", ValueParser::new(text), |value, _| value.text().map(Some))
}

/// Returns the kind of paths.
pub(crate) fn a_path(name: &'static str) -> Kind<Option<PathBuf>> {
    Kind::new(name, ValueParser::new(path()), |value, _| Ok(Some(value.text()?.into())))
}

/// Returns the kind of sizes above 0.
pub(crate) fn a_size() -> Kind<Option<Bytes>> {
    Kind::new("SIZE", ValueParser::new(size), |value, _| value.size().map(Some))
}

/// Returns the kind of limits of time.
pub(crate) fn a_time() -> Kind<Option<Nanos>> {
    Kind::new("TIME", ValueParser::new(time), |value, _| value.limit().map(Some))
}

/// Returns the kind of percentages above 0 and at most 100.
pub(crate) fn a_percentage() -> Kind<Option<f64>> {
    Kind::new("PERCENT", ValueParser::new(percent), |value, _| value.percentage().map(Some))
}

/// Returns the kind of whole numbers from 0.
pub(crate) fn a_number() -> Kind<Option<u64>> {
    Kind::new("N", clap::value_parser!(u64), |value, _| value.count(0..).map(Some))
}

/// Returns the kind of whole numbers from 1 to a limit.
pub(crate) fn up_to(most: u32) -> Kind<Option<u32>> {
    Kind::new("N", int_up_to(most), move |value, _| value.count(1..=most).map(Some))
}

/// Returns the kind of these words with their meanings.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    name: &'static str,
    words: [(&'static str, T); N],
) -> Kind<Option<T>> {
    let meaning = move |word: String| words.iter().find(|(known, _)| *known == word).copied();
    let parser = PossibleValuesParser::new(words.map(|(word, _)| word))
        .map(move |word| meaning(word).expect("only these words are accepted").1);
    Kind::new(name, ValueParser::new(parser), move |value, _| value.one_of(&words).map(Some))
}

/// Returns the kind of options without a value.
pub(crate) fn a_flag() -> Kind<bool> {
    Kind::new("", BoolValueParser::new(), |value, _| value.flag())
}

#[cfg(test)]
mod tests {
    use super::*;

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
