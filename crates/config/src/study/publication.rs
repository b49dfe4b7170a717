//! The publication part of a study: the tables of `study.toml` other than the campaign, and the
//! text of `figures.csv`. Only TOML is validated here; the crate `studies` interprets the contents.

use crate::CatalogError;
use crate::catalog::document::{TomlTable, TomlValue};

/// Top-level keys of `study.toml` that describe the publication.
pub(crate) const KEYS: [&str; 9] = [
    "hardware",
    "filesystems",
    "variants",
    "groups",
    "better",
    "phases",
    "doubt",
    "check",
    "claim",
];
const DOUBT: [&str; 2] = ["figures", "why"];
const CHECK: [&str; 7] = ["what", "total", "parts", "product", "bytes", "rates", "within"];
const CLAIM: [&str; 5] = ["id", "text", "says", "in", "undecidable"];

/// A text of a file with its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpannedText {
    /// The text.
    pub text: String,
    /// The line, from 1.
    pub line: usize,
}

/// A named value of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedEntry<T> {
    /// The name.
    pub name: SpannedText,
    /// The value of the name.
    pub means: T,
}

/// The published content of a study, as unparsed text of its files.
#[derive(Clone, Debug, PartialEq)]
pub struct Publication {
    /// The name of `study.toml` in error messages.
    pub file: String,
    /// The name of `figures.csv` in error messages.
    pub figures_file: String,
    /// The text of `figures.csv`.
    pub figures: String,
    /// The machine, the versions and the command lines, in the order of the file.
    pub hardware: Vec<NamedEntry<String>>,
    /// Catalog names of the filesystems in the figures; `none` if the catalog has no equivalent.
    pub filesystems: Vec<NamedEntry<String>>,
    /// Contenders that are versions of one filesystem. Each has the filesystem and the version in
    /// the figures.
    pub variants: Vec<NamedEntry<Vec<String>>>,
    /// Groups of contenders that claims refer to.
    pub groups: Vec<NamedEntry<Vec<String>>>,
    /// Direction of metrics that fsarena lacks: `higher` or `lower` is better.
    pub better: Vec<NamedEntry<String>>,
    /// For each phase of the figures, the phases of the suites that do the same work. Their times
    /// are added.
    pub phases: Vec<NamedEntry<Vec<String>>>,
    /// Unreliable figures, each with a reason.
    pub doubts: Vec<CaveatSource>,
    /// Arithmetic relations that the figures should satisfy.
    pub checks: Vec<ConsistencyCheck>,
    /// The conclusions of the study.
    pub claims: Vec<ClaimSource>,
}

/// Unreliable figures with a reason.
#[derive(Clone, Debug, PartialEq)]
pub struct CaveatSource {
    /// Patterns of the figures.
    pub figures: Vec<SpannedText>,
    /// Why.
    pub reason: String,
}

/// An arithmetic relation that the figures should satisfy.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsistencyCheck {
    /// Description of the check.
    pub description: SpannedText,
    /// How.
    pub sum: SumRuleSource,
    /// Tolerance: an absolute amount, or a share in percent.
    pub within: SpannedText,
}

/// A relation between figures of one contender.
#[derive(Clone, Debug, PartialEq)]
pub enum SumRuleSource {
    /// One figure is the sum of others.
    Total {
        /// The sum.
        total: SpannedText,
        /// The parts, as patterns.
        parts: Vec<SpannedText>,
    },
    /// The product of two figures is the same for all contenders.
    Product(Vec<SpannedText>),
    /// A time equals the time to transfer `bytes` once at each of the rates.
    Time {
        /// The time.
        total: SpannedText,
        /// The bytes.
        bytes: u64,
        /// The rates.
        rates: Vec<SpannedText>,
    },
}

/// A claim as written in `study.toml`.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimSource {
    /// The identifier of the claim.
    pub id: SpannedText,
    /// The claim as a sentence.
    pub text: String,
    /// The claim as statements about figures; all must hold.
    pub statements: Vec<SpannedText>,
    /// Figures for the statements that name none.
    pub figures: Option<SpannedText>,
    /// Reason why no figure decides the claim.
    pub undecidable: Option<String>,
}

/// Reads the tables. `figures` is the name and the text of the CSV file in the same directory.
pub(crate) fn read(
    top: &TomlTable<'_>,
    file: &str,
    figures: (&str, &str),
) -> Result<Publication, CatalogError> {
    let list_of = |value: TomlValue<'_>| list(&value);
    Ok(Publication {
        file: file.to_owned(),
        figures_file: figures.0.to_owned(),
        figures: figures.1.to_owned(),
        hardware: named(top, "hardware", |v| v.text())?,
        filesystems: named(top, "filesystems", |v| v.text())?,
        variants: named(top, "variants", |v| v.texts())?,
        groups: named(top, "groups", |v| v.texts())?,
        better: named(top, "better", |v| {
            Ok(v.one_of(&[("higher", "higher"), ("lower", "lower")])?.to_owned())
        })?,
        phases: named(
            top,
            "phases",
            |v| {
                if v.is_list() { v.texts() } else { Ok(vec![v.text()?]) }
            },
        )?,
        doubts: each(top, "doubt", &DOUBT, |table| {
            Ok(CaveatSource {
                figures: list_of(table.required("figures")?)?,
                reason: table.text("why")?,
            })
        })?,
        checks: each(top, "check", &CHECK, check)?,
        claims: each(top, "claim", &CLAIM, claim)?,
    })
}

/// Reads a table whose keys are names, in the order of the file.
pub(crate) fn named<T>(
    top: &TomlTable<'_>,
    key: &'static str,
    read: impl Fn(TomlValue<'_>) -> Result<T, CatalogError>,
) -> Result<Vec<NamedEntry<T>>, CatalogError> {
    let Some(table) = top.read(key, |v| v.any_table())? else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for (name, value) in table.entries() {
        all.push(NamedEntry {
            name: SpannedText { text: name.to_owned(), line: value.line() },
            means: read(value)?,
        });
    }
    all.sort_by_key(|one| one.name.line);
    Ok(all)
}

fn each<T>(
    top: &TomlTable<'_>,
    key: &'static str,
    keys: &[&'static str],
    read: impl Fn(&TomlTable<'_>) -> Result<T, CatalogError>,
) -> Result<Vec<T>, CatalogError> {
    let Some(value) = top.get(key)? else {
        return Ok(Vec::new());
    };
    let tables = value.list("tables")?;
    tables.iter().map(|value| read(&value.table(keys)?)).collect()
}

fn said(value: &TomlValue<'_>) -> Result<SpannedText, CatalogError> {
    Ok(SpannedText { text: value.text()?, line: value.line() })
}

fn list(value: &TomlValue<'_>) -> Result<Vec<SpannedText>, CatalogError> {
    value.list("texts")?.iter().map(said).collect()
}

fn check(table: &TomlTable<'_>) -> Result<ConsistencyCheck, CatalogError> {
    let sum = if let Some(product) = table.get("product")? {
        SumRuleSource::Product(list(&product)?)
    } else if let Some(rates) = table.get("rates")? {
        SumRuleSource::Time {
            total: said(&table.required("total")?)?,
            bytes: table.required("bytes")?.size()?.0,
            rates: list(&rates)?,
        }
    } else {
        SumRuleSource::Total {
            total: said(&table.required("total")?)?,
            parts: list(&table.required("parts")?)?,
        }
    };
    Ok(ConsistencyCheck {
        description: said(&table.required("what")?)?,
        sum,
        within: said(&table.required("within")?)?,
    })
}

fn claim(table: &TomlTable<'_>) -> Result<ClaimSource, CatalogError> {
    let claim = ClaimSource {
        id: said(&table.required("id")?)?,
        text: table.text("text")?,
        statements: table.read("says", |v| list(&v))?.unwrap_or_default(),
        figures: table.read("in", |v| said(&v))?,
        undecidable: table.read("undecidable", |v| v.text())?,
    };
    match claim.statements.is_empty() == claim.undecidable.is_some() {
        true => Ok(claim),
        false => Err(table.error(
            "a claim has either `says`, statements about figures, or `undecidable`, the reason why no figure decides it"
                .to_owned(),
        )),
    }
}

/// Returns every key of a publication.
#[cfg(test)]
pub(crate) fn all_keys() -> impl Iterator<Item = &'static str> {
    KEYS.into_iter().chain(DOUBT).chain(CHECK).chain(CLAIM)
}
