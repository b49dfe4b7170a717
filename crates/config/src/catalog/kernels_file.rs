//! `kernels.toml`: series of Debian's kernels that guests can run.

use model::LinuxVersion;

use crate::CatalogError;
use crate::catalog::document::{TomlSource, TomlTable, TomlValue};

const KEYS: [&str; 4] = ["series", "debian", "since", "source"];
/// No release of Debian has a larger number.
const MAX_DEBIAN: u32 = 99;

/// A series of Debian's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelSeries {
    /// Its version, for `--debian-kernel`.
    pub version: LinuxVersion,
    /// The release of Debian whose guests have it by default, if any.
    pub debian: Option<u32>,
    /// The first release of Debian that has it, also in its backports.
    pub since: u32,
}

/// Reads the file.
pub(crate) fn read(source: TomlSource<'_>) -> Result<Vec<KernelSeries>, CatalogError> {
    let document = source.parse()?;
    let top = TomlTable::top(source, &document, &["kernel"])?;
    let all = top.read("kernel", |v| v.list("series of kernels, each under [[kernel]]"))?;
    all.unwrap_or_default().iter().map(series).collect()
}

fn series(value: &TomlValue<'_>) -> Result<KernelSeries, CatalogError> {
    let table = value.table(&KEYS)?;
    table.text("source")?;
    Ok(KernelSeries {
        version: version(&table.required("series")?)?,
        debian: table.read("debian", |v| v.count(1..=MAX_DEBIAN))?,
        since: table.required("since")?.count(1..=MAX_DEBIAN)?,
    })
}

/// Reads a version of Linux.
pub(crate) fn version(value: &TomlValue<'_>) -> Result<LinuxVersion, CatalogError> {
    value.text()?.parse().map_err(|_| value.expected_error("a version of Linux, such as \"6.12\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_has_a_version_and_a_source() {
        let reading = |text: &str| read(TomlSource { file: "kernels.toml", text });
        let whole = "[[kernel]]\nseries = \"6.12\"\ndebian = 13\nsince = 12\nsource = \"a test\"\n";
        let [read] = reading(whole).unwrap().try_into().unwrap();
        assert_eq!((read.version.to_string().as_str(), read.debian), ("6.12", Some(13)));
        for (wrong, expected) in [
            (whole.replace("source", "sauce"), "did you mean `source`"),
            (whole.replace("6.12", "newest"), "a version of Linux"),
        ] {
            let error = reading(&wrong).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
