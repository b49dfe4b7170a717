//! One file of `ages/`: raw TOML → a checked [`AgeProfile`], and the age settings of a campaign.

use model::{AgeBin, AgeProfile, AgeingSpec, Bytes, Churn, DepthBin, PerMille, SizeBin};

use crate::catalog::document::{NameRegistry, TomlSource, TomlTable, TomlValue};
use crate::{Catalog, CatalogError};

const KEYS: [&str; 9] =
    ["name", "title", "source", "churn", "turnover", "batch", "sizes", "ages", "depths"];
const BIN: [&str; 2] = ["up_to", "weight"];
const DEPTH: [&str; 3] = ["depth", "directories", "weight"];
/// Keys of an age in a campaign file.
const AGE: [&str; 4] = ["profile", "fill", "operations", "layout"];

/// Maximum weight. Larger values are typing errors, and sums of weights must not overflow.
const MAX_WEIGHT: u32 = 1_000_000;
const MAX_TURNOVER: u32 = 1_000;
const MAX_BATCH: u32 = 1_000_000;
/// Maximum directory depth, because paths have at most 4096 bytes.
const DEEPEST: u32 = 64;
const MAX_DIRECTORIES: u32 = 100_000;

/// Reads an ageing profile and its name.
pub(crate) fn read(source: TomlSource<'_>) -> Result<(AgeProfile, NameRegistry), CatalogError> {
    let document = source.parse()?;
    let top = TomlTable::top(source, &document, &KEYS)?;
    let name = top.required("name")?;
    let claims = vec![(name.name()?, name.line())];
    let read = AgeProfile {
        name: name.name()?,
        title: top.text("title")?,
        source: top.text("source")?,
        churn: top.required("churn")?.one_of(&Churn::WORDS)?,
        turnover: top.required("turnover")?.count(1..=MAX_TURNOVER)?,
        batch: top.required("batch")?.count(1..=MAX_BATCH)?,
        sizes: bins(&top, "sizes", |v| v.size_from(0), size)?,
        ages: bins(&top, "ages", |v| v.count(1..), age)?,
        depths: depths(&top)?,
    };
    Ok((read, claims))
}

const fn size(up_to: Bytes, weight: u32) -> SizeBin {
    SizeBin { up_to, weight }
}

const fn age(up_to: u64, weight: u32) -> AgeBin {
    AgeBin { up_to, weight }
}

/// Reads a list of bins. The bound of each bin must be above the bound of the previous bin.
fn bins<'a, T: PartialOrd + Copy, B>(
    top: &TomlTable<'a>,
    key: &'static str,
    read: impl Fn(&TomlValue<'a>) -> Result<T, CatalogError>,
    bin: impl Fn(T, u32) -> B,
) -> Result<Vec<B>, CatalogError> {
    let (mut last, mut all, mut bins) = (None, 0, Vec::new());
    let listed = top.required(key)?;
    for value in listed.list("bins")? {
        let table = value.table(&BIN)?;
        let up_to = table.required("up_to")?;
        let bound = read(&up_to)?;
        if last.is_some_and(|last| bound <= last) {
            return Err(up_to.expected_error("more than in the bin before"));
        }
        last = Some(bound);
        let weight = weight(&table)?;
        all += weight;
        bins.push(bin(bound, weight));
    }
    require_files(&listed, all)?;
    Ok(bins)
}

/// Reads the directory depths. They must count up from 1 without a gap, because the parent of each
/// directory is one level up.
fn depths(top: &TomlTable<'_>) -> Result<Vec<DepthBin>, CatalogError> {
    let (mut all, mut bins) = (0, Vec::new());
    let listed = top.required("depths")?;
    for (value, next) in listed.list("depths")?.iter().zip(1..) {
        let table = value.table(&DEPTH)?;
        let depth = table.required("depth")?;
        if depth.count(1..)? != next || next > DEEPEST {
            return Err(
                depth.expected_error(&format!("{next}: depths count from 1 to {DEEPEST} at most"))
            );
        }
        let directories = table.required("directories")?;
        let most = if next == 1 { 1 } else { MAX_DIRECTORIES };
        let weight = weight(&table)?;
        all += weight;
        bins.push(DepthBin { depth: next, directories: directories.count(1..=most)?, weight });
    }
    require_files(&listed, all)?;
    Ok(bins)
}

fn weight(table: &TomlTable<'_>) -> Result<u32, CatalogError> {
    table.required("weight")?.count(0..=MAX_WEIGHT)
}

fn require_files(listed: &TomlValue<'_>, weights: u32) -> Result<(), CatalogError> {
    match weights {
        0 => Err(listed.expected_error("at least one bin with a weight")),
        _ => Ok(()),
    }
}

/// Reads `age = { profile = "agrawal", fill = "80%" }`. `fill` may be a list; each value is a
/// separate age.
pub(crate) fn ages(
    value: &TomlValue<'_>,
    catalog: &Catalog,
) -> Result<Vec<AgeingSpec>, CatalogError> {
    let table = value.table(&AGE)?;
    let name = table.required("profile")?;
    let profile = catalog.age(&name.name()?).map_err(|e| name.error(e.to_string()))?;
    let operations = table.read("operations", |v| v.count(0..))?;
    let layout = table.read("layout", |v| share(&v, PerMille(0), PerMille(1000)))?;
    let fills = match table.get("fill")? {
        None => vec![AgeingSpec::FILL],
        Some(value) if value.is_list() => {
            let listed = value.list("percentages")?;
            listed.iter().map(fill).collect::<Result<_, _>>()?
        }
        Some(value) => vec![fill(&value)?],
    };
    let of = |fill| AgeingSpec { profile: profile.clone(), fill, operations, layout };
    Ok(fills.into_iter().map(of).collect())
}

/// Reads the age of one contender.
pub(crate) fn contender_age(
    value: &TomlValue<'_>,
    catalog: &Catalog,
) -> Result<AgeingSpec, CatalogError> {
    match <[AgeingSpec; 1]>::try_from(ages(value, catalog)?) {
        Ok([age]) => Ok(age),
        Err(_) => {
            Err(value.error("a contender has one `fill`; several are for the campaign".into()))
        }
    }
}

fn fill(value: &TomlValue<'_>) -> Result<PerMille, CatalogError> {
    share(value, AgeingSpec::MIN_FILL, AgeingSpec::MAX_FILL)
}

fn share(value: &TomlValue<'_>, least: PerMille, most: PerMille) -> Result<PerMille, CatalogError> {
    let expected = format!("a percentage from {least} to {most}");
    match value.quantity(&expected, str::parse)? {
        share if (least..=most).contains(&share) => Ok(share),
        _ => Err(value.expected_error(&expected)),
    }
}

/// Returns every key of an ageing profile.
#[cfg(test)]
pub(crate) fn all_keys() -> impl Iterator<Item = &'static str> {
    KEYS.into_iter().chain(BIN).chain(DEPTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: [&str; 9] = [
        "name = \"even\"",
        "title = \"Even\"",
        "source = \"a test of this file\"",
        "churn = \"rewrite\"",
        "turnover = 2",
        "batch = 8",
        "sizes = [{ up_to = \"0 B\", weight = 0 }, { up_to = \"4 KiB\", weight = 3 }]",
        "ages = [{ up_to = 1, weight = 1 }, { up_to = 2, weight = 1 }]",
        "depths = [{ depth = 1, directories = 1, weight = 0 }, { depth = 2, directories = 9, weight = 1 }]",
    ];

    fn reading(lines: &[&str]) -> Result<AgeProfile, String> {
        let text = lines.join("\n");
        let source = TomlSource { file: "even.toml", text: &text };
        let read = read(source).map(|(profile, _)| profile);
        read.map_err(|error| error.to_string())
    }

    #[test]
    fn a_profile_is_read_with_all_its_bins() {
        let profile = reading(&PROFILE).unwrap();
        assert_eq!(profile.churn, Churn::Rewrite);
        assert_eq!((profile.turnover, profile.batch), (2, 8));
        assert_eq!(profile.sizes[1], size(Bytes(4096), 3));
        assert_eq!(profile.ages[1], age(2, 1));
        assert_eq!(profile.depths[1].directories, 9);
    }

    #[test]
    fn impossible_distributions_are_rejected_with_their_line() {
        for (line, wrong, expected) in [
            (
                3,
                "churn = \"often\"",
                "even.toml:4: `churn` is `often`; expected turn-over or rewrite",
            ),
            (4, "turnover = 0", "even.toml:5: `turnover` is `0`; expected a whole number from 1"),
            (
                6,
                "sizes = [{ up_to = 2, weight = 1 }, { up_to = 1, weight = 1 }]",
                "even.toml:7: `up_to` is `1`; expected more than in the bin before",
            ),
            (6, "sizes = []", "even.toml:7: `sizes` is an empty list; expected at least one entry"),
            (7, "ages = [{ up_to = 1, weight = -1 }]", "even.toml:8: `weight` is `-1`"),
            (
                8,
                "depths = [{ depth = 2, directories = 1, weight = 1 }]",
                "even.toml:9: `depth` is `2`; expected 1: depths count from 1",
            ),
            (
                8,
                "depths = [{ depth = 1, directories = 2, weight = 1 }]",
                "even.toml:9: `directories` is `2`; expected a whole number from 1 to 1",
            ),
            (8, "", "even.toml:1: missing key `depths`"),
        ] {
            let mut lines = PROFILE;
            lines[line] = wrong;
            let error = reading(&lines).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
