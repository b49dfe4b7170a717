//! `kernels.toml`: series of Debian's kernels that guests can run.

use model::LinuxVersion;

use crate::CatalogError;
use crate::catalog::document::{TomlSource, TomlTable, TomlValue};

const KEYS: [&str; 4] = ["series", "default_of", "releases", "source"];
/// No release of Debian has a larger number.
const MAX_DEBIAN: u32 = 99;

/// A series of Debian's kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSeries {
    /// The version that `--guest-kernel` takes.
    pub version: LinuxVersion,
    /// The release of Debian whose guests have it by default, if any.
    pub default_of: Option<u32>,
    /// The releases of Debian that have it, also in their backports.
    pub releases: Vec<u32>,
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
    let release = |value: &TomlValue<'_>| value.count(1..=MAX_DEBIAN);
    let releases = table.required("releases")?.list("releases of Debian")?;
    Ok(KernelSeries {
        version: version(&table.required("series")?)?,
        default_of: table.read("default_of", |v| release(&v))?,
        releases: releases.iter().map(release).collect::<Result<_, _>>()?,
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
        let whole = "[[kernel]]\nseries = \"6.12\"\ndefault_of = 13\nreleases = [12, 13]\nsource = \"a test\"\n";
        let [read] = reading(whole).unwrap().try_into().unwrap();
        assert_eq!((read.version.to_string().as_str(), read.default_of), ("6.12", Some(13)));
        assert_eq!(read.releases, [12, 13]);
        for (wrong, expected) in [
            (whole.replace("source", "sauce"), "did you mean `source`"),
            (whole.replace("6.12", "newest"), "a version of Linux"),
        ] {
            let error = reading(&wrong).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
