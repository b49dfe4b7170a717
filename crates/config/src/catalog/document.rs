//! Reads TOML and keeps the position of every key and value, so that each error can name file and
//! line.
//!
//! Independent of filesystems and suites: callers define the keys.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Bound, Range, RangeBounds};

use model::{Bytes, Nanos};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::CatalogError;
use crate::error::{did_you_mean, join_or};
use crate::suite::parameters::Parameters;

/// Maximum number of words that an error lists. If there are more, the error suggests the most
/// similar ones.
const MAX_LISTED_WORDS: usize = 13;

/// A data file in memory.
#[derive(Clone, Copy)]
pub(crate) struct TomlSource<'a> {
    /// The file name in error messages.
    pub file: &'a str,
    /// The text of the file.
    pub text: &'a str,
}

impl<'a> TomlSource<'a> {
    /// Parses the text. Values borrow from it.
    pub fn parse(self) -> Result<Spanned<DeTable<'a>>, CatalogError> {
        DeTable::parse(self.text).map_err(|e| {
            let span = e.span().unwrap_or_default();
            let message = match (e.message(), self.text.get(span.clone())) {
                ("duplicate key", Some(key)) => format!("duplicate key `{key}`"),
                (deep, _) if deep.contains("recurs") => {
                    "its tables and lists are nested too deeply; remove a level".to_owned()
                }
                (message, _) => message.to_owned(),
            };
            self.error(&span, message)
        })
    }

    /// Creates an error for a position in the file.
    pub fn error(self, span: &Range<usize>, message: String) -> CatalogError {
        CatalogError::InFile { file: self.file.to_owned(), line: self.line(span), message }
    }

    /// Returns the line of a position, from 1.
    pub fn line(self, span: &Range<usize>) -> usize {
        let before = span.start.min(self.text.len());
        1 + self.text.as_bytes()[..before].iter().filter(|b| **b == b'\n').count()
    }
}

/// Names that a file defines, each with its line.
pub(crate) type NameRegistry = Vec<(String, usize)>;

/// Maximum number of parameters that use each other in a command.
const MAX_NESTING: u32 = 4;

/// A table whose valid keys are known.
#[derive(Clone)]
pub(crate) struct TomlTable<'a> {
    source: TomlSource<'a>,
    span: Range<usize>,
    entries: &'a DeTable<'a>,
    keys: Vec<&'static str>,
    parameters: Option<&'a Parameters<'a>>,
}

impl<'a> TomlTable<'a> {
    /// Returns the top level of a file, which may contain only these keys.
    pub fn top(
        source: TomlSource<'a>,
        document: &'a Spanned<DeTable<'a>>,
        keys: &[&'static str],
    ) -> Result<Self, CatalogError> {
        let table = Self {
            source,
            // A key that is missing at the top level is reported on line 1.
            span: 0..0,
            entries: document.get_ref(),
            keys: keys.to_vec(),
            parameters: None,
        };
        table.refuse_unknown_keys()?;
        Ok(table)
    }

    /// Replaces the allowed keys of the table.
    pub fn with_keys(mut self, keys: &[&[&'static str]]) -> Result<Self, CatalogError> {
        self.keys = keys.concat();
        self.refuse_unknown_keys()?;
        Ok(self)
    }

    /// Enables parameters: a value `"$name"` is replaced by the value of the parameter.
    pub fn with_parameters(mut self, parameters: &'a Parameters<'a>) -> Self {
        self.parameters = Some(parameters);
        self
    }

    fn refuse_unknown_keys(&self) -> Result<(), CatalogError> {
        let unknown = self
            .entries
            .keys()
            .filter(|k| !self.keys.contains(&k.get_ref().as_ref()))
            .min_by_key(|k| k.span().start);
        match unknown {
            None => Ok(()),
            Some(key) => {
                let expected = expected_word(key.get_ref(), &self.keys);
                let message = format!("unknown key `{}`; {expected}", key.get_ref());
                Err(self.source.error(&key.span(), message))
            }
        }
    }

    /// Returns the value of a key, or `None` if the table does not contain it.
    pub fn get(&self, key: &'static str) -> Result<Option<TomlValue<'a>>, CatalogError> {
        let Some(value) = self.entries.get(key) else {
            return Ok(None);
        };
        let value = TomlValue {
            source: self.source,
            key,
            value,
            parameters: self.parameters,
            instead: None,
        };
        match self.parameters {
            Some(parameters) => value.meant(parameters).map(Some),
            None => Ok(Some(value)),
        }
    }

    /// Replaces each `$name` and `${name}` of a parameter by its value as it is written. Other names
    /// stay, because they are variables of the shell. Texts of parameters may use other parameters.
    pub fn fill_in(&self, text: &str) -> String {
        self.fill_in_nested(text, MAX_NESTING)
    }

    fn fill_in_nested(&self, text: &str, levels: u32) -> String {
        let (Some(parameters), 1..) = (self.parameters, levels) else {
            return text.to_owned();
        };
        let mut parts = text.split('$');
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            let (name, rest) = match part.strip_prefix('{').and_then(|part| part.split_once('}')) {
                Some(braced) => braced,
                None => part.split_at(part.find(|c| !is_name(c)).unwrap_or(part.len())),
            };
            match parameters.text(name) {
                Some(value) => {
                    filled.push_str(&self.fill_in_nested(&value, levels - 1));
                    filled.push_str(rest);
                }
                None => {
                    filled.push('$');
                    filled.push_str(part);
                }
            }
        }
        filled
    }

    /// Returns true if the table contains a key.
    pub fn contains(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Returns the value of a required key.
    pub fn required(&self, key: &'static str) -> Result<TomlValue<'a>, CatalogError> {
        self.get(key)?.ok_or_else(|| self.error(format!("missing key `{key}`")))
    }

    /// Reads an optional key.
    pub fn read<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(TomlValue<'a>) -> Result<T, CatalogError>,
    ) -> Result<Option<T>, CatalogError> {
        self.get(key)?.map(read).transpose()
    }

    /// Reads a required, non-empty text.
    pub fn text(&self, key: &'static str) -> Result<String, CatalogError> {
        self.required(key)?.text()
    }

    /// Reads a list of texts, which may be empty or missing.
    pub fn texts(&self, key: &'static str) -> Result<Vec<String>, CatalogError> {
        let listed = self.read(key, |v| v.list_or_none("texts"))?.unwrap_or_default();
        listed.iter().map(TomlValue::text).collect()
    }

    /// Returns every key with its value, for tables whose keys are names.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, TomlValue<'a>)> {
        let source = self.source;
        self.entries.iter().map(move |(key, value)| {
            let key = key.get_ref().as_ref();
            let value = TomlValue { source, key, value, parameters: None, instead: None };
            (key, value)
        })
    }

    /// Creates an error for a line of the table's file.
    pub fn error_at_line(&self, line: usize, message: String) -> CatalogError {
        CatalogError::InFile { file: self.source.file.to_owned(), line, message }
    }

    /// Creates an error for the start of the table.
    pub fn error(&self, message: String) -> CatalogError {
        self.source.error(&self.span, message)
    }
}

/// Returns the valid words, and the similar ones among them. Omits a long list if some are similar.
fn expected_word(word: &str, words: &[&str]) -> String {
    let similar = did_you_mean(word, words.iter().copied());
    match similar {
        Some(question) if words.len() > MAX_LISTED_WORDS => question,
        Some(question) => format!("expected {}; {question}", join_or(words)),
        None => format!("expected {}", join_or(words)),
    }
}

/// Returns true if the text is a valid operand of a product or quotient: a single word, which may
/// be a parameter or a number.
fn is_operand(text: &str) -> bool {
    let word = text.strip_prefix('$').unwrap_or(text);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !word.is_empty() && word.chars().all(plain)
}

/// A value with its key and its position.
#[derive(Clone, Copy)]
pub(crate) struct TomlValue<'a> {
    source: TomlSource<'a>,
    key: &'a str,
    value: &'a Spanned<DeValue<'a>>,
    parameters: Option<&'a Parameters<'a>>,
    /// The computed number, if the file contains a range or an expression.
    instead: Option<u64>,
}

impl<'a> TomlValue<'a> {
    /// Returns the line on which the value starts.
    pub fn line(&self) -> usize {
        self.source.line(&self.value.span())
    }

    /// Returns the value under another key, to use a parameter at the place of its reference.
    pub fn under_key(self, key: &'a str) -> Self {
        Self { key, ..self }
    }

    /// The key.
    pub fn key(&self) -> &'a str {
        self.key
    }

    /// Returns a value at the same place with a computed number, such as a point of a range.
    pub fn with_number(self, number: u64) -> Self {
        Self { instead: Some(number), ..self }
    }

    /// Resolves the value: `"$name"` is a parameter; `"17 * $name"` and `"$name / $other"` are a
    /// product and a quotient, rounded down. At least one side must be a parameter.
    fn meant(self, parameters: &Parameters<'a>) -> Result<Self, CatalogError> {
        let Some(text) = self.raw_text().filter(|text| text.contains('$')) else {
            return Ok(self);
        };
        for (sign, combine) in
            [('*', u64::checked_mul as fn(u64, u64) -> Option<u64>), ('/', u64::checked_div)]
        {
            let sides = text.split_once(sign).map(|(l, r)| (l.trim(), r.trim()));
            // Commands may contain `$` together with these signs, too.
            if let Some((left, right)) = sides.filter(|(l, r)| is_operand(l) && is_operand(r)) {
                let left = self.operand(left, parameters)?;
                let right = self.operand(right, parameters)?;
                return combine(left, right)
                    .map(|number| self.with_number(number))
                    .ok_or_else(|| self.expected_error("a result that is a number"));
            }
        }
        match text.strip_prefix('$') {
            Some(name) => parameters.look_up(name, &self),
            None => Ok(self),
        }
    }

    /// Evaluates one side of a product or quotient, as a whole number or as bytes.
    fn operand(self, text: &'a str, parameters: &Parameters<'a>) -> Result<u64, CatalogError> {
        let number = match text.strip_prefix('$') {
            Some(name) => parameters.look_up(name, &self)?.bytes(),
            None => text.parse().ok(),
        };
        number.ok_or_else(|| self.expected_error("a product or quotient of counts and sizes"))
    }

    fn raw_text(&self) -> Option<&'a str> {
        match self.value.get_ref() {
            DeValue::String(text) if self.instead.is_none() => Some(text.as_ref()),
            _ => None,
        }
    }

    /// Returns the value as a whole number, if it is one.
    fn number(&self) -> Option<u64> {
        match (self.instead, self.value.get_ref()) {
            (Some(number), _) => Some(number),
            (None, DeValue::Integer(n)) => u64::from_str_radix(n.as_str(), n.radix()).ok(),
            _ => None,
        }
    }

    /// Returns the value as a word of a command.
    pub fn word(&self) -> Option<String> {
        let number = self.number().map(|number| number.to_string());
        number.or_else(|| match self.value.get_ref() {
            DeValue::Float(number) => Some(number.to_string()),
            DeValue::Boolean(flag) => Some(flag.to_string()),
            _ => self.raw_text().map(str::to_owned),
        })
    }

    /// Returns the value as bytes, if it is a whole number or a size.
    fn bytes(&self) -> Option<u64> {
        let text = || self.raw_text()?.parse().ok();
        self.number().or_else(|| text().map(|bytes: Bytes| bytes.0))
    }

    /// Creates an error for the position of the value.
    pub fn error(&self, message: String) -> CatalogError {
        self.source.error(&self.value.span(), message)
    }

    /// Creates an error that shows the value and the expected kind of value.
    pub fn expected_error(&self, expected: &str) -> CatalogError {
        self.error(format!("`{}` is {}; expected {expected}", self.key, self.shown()))
    }

    /// Formats the value for an error message and shortens long texts.
    fn shown(&self) -> String {
        if let Some(number) = self.instead {
            return format!("`{number}`");
        }
        match self.value.get_ref() {
            DeValue::String(text) => {
                let short: String = text.chars().take(60).collect();
                let dots = if short.len() < text.len() { "…" } else { "" };
                format!("`{short}{dots}`")
            }
            DeValue::Integer(number) => format!("`{number}`"),
            DeValue::Float(number) => format!("`{number}`"),
            DeValue::Boolean(flag) => format!("`{flag}`"),
            DeValue::Datetime(time) => format!("`{time}`"),
            DeValue::Array(list) if list.is_empty() => "an empty list".to_owned(),
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        }
    }

    /// Reads a non-empty text.
    pub fn text(&self) -> Result<String, CatalogError> {
        match self.raw_text() {
            Some(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
            _ => Err(self.expected_error("a text")),
        }
    }

    /// Reads a valid name (see [`model::check_name`]).
    pub fn name(&self) -> Result<String, CatalogError> {
        let name = self.raw_text().ok_or_else(|| self.expected_error("a name"))?;
        model::check_name(name).map_err(|e| self.error(format!("`{}`: {e}", self.key)))?;
        Ok(name.to_owned())
    }

    /// Returns the elements of a list with at least one. Each element has the key of the list.
    pub fn list(&self, of: &str) -> Result<Vec<TomlValue<'a>>, CatalogError> {
        match self.list_or_none(of)? {
            none if none.is_empty() => Err(self.expected_error("at least one entry")),
            list => Ok(list),
        }
    }

    /// Returns the elements of a list, which may be empty.
    pub fn list_or_none(&self, of: &str) -> Result<Vec<TomlValue<'a>>, CatalogError> {
        let (None, DeValue::Array(elements)) = (self.instead, self.value.get_ref()) else {
            return Err(self.expected_error(&format!("a list of {of}")));
        };
        Ok(elements.iter().map(|value| TomlValue { value, ..*self }).collect())
    }

    /// Reads a list of at least one text.
    pub fn texts(&self) -> Result<Vec<String>, CatalogError> {
        self.list("texts")?.iter().map(TomlValue::text).collect()
    }

    /// Reads a whole number in a range such as `1..=64` or `1..`.
    pub fn count<T>(&self, allowed: impl RangeBounds<T>) -> Result<T, CatalogError>
    where
        T: TryFrom<u64> + PartialOrd + fmt::Display,
    {
        let number = self.number().and_then(|number| T::try_from(number).ok());
        number.filter(|number| allowed.contains(number)).ok_or_else(|| {
            let bound = |word, bound: Bound<&T>| match bound {
                Bound::Included(number) => format!(" {word} {number}"),
                _ => String::new(),
            };
            let (from, to) = (allowed.start_bound(), allowed.end_bound());
            let expected = format!("a whole number{}{}", bound("from", from), bound("to", to));
            self.expected_error(&expected)
        })
    }

    /// Reads a whole number from 0 to 255, such as an exit code.
    pub fn exit_code(&self) -> Result<i32, CatalogError> {
        self.count(0..=u8::MAX).map(i32::from)
    }

    /// Reads a number from 0 to 1.
    pub fn share(&self) -> Result<f64, CatalogError> {
        let share = self.decimal().filter(|n| (0.0..=1.0).contains(n));
        share.ok_or_else(|| self.expected_error("a share from 0 to 1"))
    }

    /// Reads a number above 0 and at most 1000.
    pub fn factor(&self) -> Result<f64, CatalogError> {
        let factor = self.decimal().filter(|n| *n > 0.0 && *n <= 1000.0);
        factor.ok_or_else(|| self.expected_error("a number above 0 and at most 1000"))
    }

    fn decimal(&self) -> Option<f64> {
        match self.value.get_ref() {
            DeValue::Float(n) => n.as_str().parse().ok(),
            DeValue::Integer(n) => n.as_str().parse().ok(),
            _ => None,
        }
    }

    /// Reads a quantity with a unit. A number without one is an error that shows the correct form.
    pub fn quantity<T, E: fmt::Display>(
        &self,
        expected: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, CatalogError> {
        let (text, advice) = match (self.instead, self.value.get_ref()) {
            (None, DeValue::String(text)) => (text.as_ref(), ""),
            (None, DeValue::Integer(n)) => (n.as_str(), ", in quotes"),
            (None, DeValue::Float(n)) => (n.as_str(), ", in quotes"),
            _ => return Err(self.expected_error(expected)),
        };
        read(text).map_err(|error| self.error(format!("`{}`: {error}{advice}", self.key)))
    }

    /// Reads a percentage above 0 and at most 100 and returns it as a share.
    pub fn percentage(&self) -> Result<f64, CatalogError> {
        let expected = "a percentage above 0 and at most 100, such as `5%`";
        match self.quantity(expected, model::percentage)? {
            share if share > 0.0 && share <= 1.0 => Ok(share),
            _ => Err(self.expected_error(expected)),
        }
    }

    /// Reads `true` or `false`.
    pub fn flag(&self) -> Result<bool, CatalogError> {
        match self.value.get_ref() {
            DeValue::Boolean(flag) => Ok(*flag),
            _ => Err(self.expected_error("true or false")),
        }
    }

    /// Reads a size above zero.
    pub fn size(&self) -> Result<Bytes, CatalogError> {
        self.size_from(1)
    }

    /// Reads a size of at least `least` bytes.
    pub fn size_from(&self, least: u64) -> Result<Bytes, CatalogError> {
        self.bytes()
            .filter(|bytes| (least..=Bytes::MAX_UNITS.0).contains(bytes))
            .map(Bytes)
            .ok_or_else(|| {
                self.expected_error(
                    "a size below 8 EiB such as `64 KiB`, `2 GiB`, `512M` or `700 MB`",
                )
            })
    }

    /// Reads a time, which may be zero.
    pub fn time(&self) -> Result<Nanos, CatalogError> {
        self.quantity("a time such as `40 us`, `4 ms` or `2 s`", str::parse)
    }

    /// Reads a time above zero. Returns `None` for the word `never`.
    pub fn time_limit(&self) -> Result<Option<Nanos>, CatalogError> {
        if self.raw_text() == Some("never") {
            return Ok(None);
        }
        match self.time()? {
            Nanos(0) => Err(self.expected_error("a time above zero, or `never`")),
            time => Ok(Some(time)),
        }
    }

    /// Reads a limit of a campaign, with the same values as on the command line.
    pub fn limit(&self) -> Result<Nanos, CatalogError> {
        self.quantity("a time such as `30s`, `10min` or `1h30m`", Nanos::parse_limit)
    }

    /// Reads one of the given words and returns its meaning.
    pub fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, CatalogError> {
        self.raw_text()
            .and_then(|text| words.iter().find(|(word, _)| *word == text))
            .map(|(_, meaning)| *meaning)
            .ok_or_else(|| {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                let expected = expected_word(self.raw_text().unwrap_or_default(), &words);
                self.error(format!("`{}` is {}; {expected}", self.key, self.shown()))
            })
    }

    /// Returns true if the value is a table that contains this key.
    pub fn contains_key(&self, key: &str) -> bool {
        match self.value.get_ref() {
            DeValue::Table(entries) => entries.contains_key(key),
            _ => false,
        }
    }

    /// Returns true if the value is a table.
    pub fn is_table(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Table(_))
    }

    /// Returns true if the value is a list.
    pub fn is_list(&self) -> bool {
        matches!(self.value.get_ref(), DeValue::Array(_))
    }

    /// Reads a table that may contain any key.
    pub fn any_table(&self) -> Result<TomlTable<'a>, CatalogError> {
        let (None, DeValue::Table(entries)) = (self.instead, self.value.get_ref()) else {
            return Err(self.expected_error("a table"));
        };
        Ok(TomlTable {
            source: self.source,
            span: self.value.span(),
            entries,
            keys: Vec::new(),
            parameters: self.parameters,
        })
    }

    /// Reads a table that may contain only these keys.
    pub fn table(&self, keys: &[&'static str]) -> Result<TomlTable<'a>, CatalogError> {
        self.any_table()?.with_keys(&[keys])
    }

    /// Reads a table that contains a value for each of these words, and no other key.
    pub fn table_by_key(
        &self,
        words: &[&'static str],
    ) -> Result<BTreeMap<&'a str, TomlValue<'a>>, CatalogError> {
        let table = self.table(words)?;
        words.iter().try_for_each(|w| table.required(w).map(|_| ()))?;
        Ok(table.entries().collect())
    }
}
