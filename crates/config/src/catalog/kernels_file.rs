//! `kernels.toml`: series of Debian's kernels that guests can run.

use model::LinuxVersion;

use crate::CatalogError;
use crate::catalog::document::{TomlSource, TomlTable, TomlValue};

const KEYS: [&str; 6] = ["series", "default_of", "releases", "suites", "compiler", "source"];
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
    /// For an older release: the suites of the archive with the kernel and its compiler.
    pub suites: Vec<String>,
    /// Package of the compiler that built the kernel.
    pub compiler: Option<String>,
}

impl KernelSeries {
    /// Returns true if guests on a machine with this release of Debian can have the kernel.
    pub fn is_for(&self, debian: u32) -> bool {
        self.releases.contains(&debian) || self.is_of_newer_than(debian)
    }

    /// Returns true if the kernel and its compiler are brought from a newer release.
    pub fn is_of_newer_than(&self, debian: u32) -> bool {
        let has = self.compiler.is_some() && !self.releases.contains(&debian);
        has && self.releases.iter().any(|release| *release > debian)
    }
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
    let suites = table.texts("suites")?;
    let compiler = table.read("compiler", |v| v.text())?;
    if suites.is_empty() != compiler.is_none() {
        return Err(value.error("`suites` and `compiler` belong together: give both".to_owned()));
    }
    Ok(KernelSeries {
        suites,
        compiler,
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
        assert!(read.is_for(12) && !read.is_for(11));
        let newer = whole.replace("[12, 13]", "[13]");
        let newer = format!("{newer}suites = [\"trixie\"]\ncompiler = \"gcc-14\"\n");
        let [read] = reading(&newer).unwrap().try_into().unwrap();
        assert!(read.is_for(12) && read.is_of_newer_than(12) && !read.is_of_newer_than(13));
        assert!(!read.is_for(14), "{read:?}");
        let alone = newer.replace("compiler = \"gcc-14\"\n", "");
        assert!(reading(&alone).unwrap_err().to_string().contains("belong together"));
        for (wrong, expected) in [
            (whole.replace("source", "sauce"), "did you mean `source`"),
            (whole.replace("6.12", "newest"), "a version of Linux"),
        ] {
            let error = reading(&wrong).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
