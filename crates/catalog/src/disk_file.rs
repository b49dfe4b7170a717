//! One file of `disks/`: raw TOML → a checked [`DiskModel`].

use model::{Bytes, DiskModel, Nanos};

use crate::CatalogError;
use crate::document::{Claims, Source, Table, Value};

const KEYS: [&str; 5] = ["name", "title", "source", "latency", "bandwidth"];
/// A request takes a tenth of a second at most: what is slower is a mistake in the unit.
const SLOWEST: Nanos = Nanos(100_000_000);
/// null_blk gives out what it may move in portions of a fiftieth of a second, and never answers a request
/// that is larger than a portion: requests may be 1280 KiB (fs/null_blk of Linux 6.1).
const LEAST_BANDWIDTH: Bytes = Bytes::mib(64);

/// Reads one model of a disk; it claims its name.
pub(crate) fn read(source: Source<'_>) -> Result<(DiskModel, Claims), CatalogError> {
    let document = source.parse()?;
    let top = Table::top(source, &document, &KEYS)?;
    let name = top.need("name")?;
    let claims = vec![(name.name()?, name.line())];
    let read = DiskModel {
        name: name.name()?,
        title: top.text("title")?,
        source: top.text("source")?,
        latency: top.read("latency", |v| latency(&v))?.unwrap_or_default(),
        bandwidth: top.read("bandwidth", |v| bandwidth(&v))?,
    };
    Ok((read, claims))
}

fn latency(value: &Value<'_>) -> Result<Nanos, CatalogError> {
    let time = value.time_limit()?.filter(|time| *time <= SLOWEST);
    time.ok_or_else(|| value.wrong(&format!("a time of {SLOWEST} at most")))
}

fn bandwidth(value: &Value<'_>) -> Result<Bytes, CatalogError> {
    let bandwidth = value.size()?;
    if bandwidth < LEAST_BANDWIDTH {
        return Err(value.wrong(&format!("{LEAST_BANDWIDTH} (a second) at least")));
    }
    Ok(bandwidth)
}

/// Every key that such a file may hold.
#[cfg(test)]
pub(crate) fn all_keys() -> impl Iterator<Item = &'static str> {
    KEYS.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: &str =
        "name = \"floppy\"\ntitle = \"A floppy\"\nsource = \"a test of this file\"\n";

    fn reading(more: &str) -> Result<DiskModel, String> {
        let text = format!("{DISK}{more}");
        let source = Source {
            file: "floppy.toml",
            text: &text,
        };
        let read = read(source).map(|(disk, _)| disk);
        read.map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_not_said_is_not_modelled() {
        let disk = reading("").unwrap();
        assert_eq!((disk.latency, disk.bandwidth), (Nanos(0), None));
        let disk = reading("latency = \"2 ms\"\nbandwidth = \"100 MB\"").unwrap();
        assert_eq!(disk.latency, Nanos(2_000_000));
        assert_eq!(disk.bandwidth, Some(Bytes(100_000_000)));
    }

    #[test]
    fn what_no_model_could_keep_is_told_with_its_line() {
        for (wrong, expected) in [
            (
                "latency = \"1 s\"",
                "floppy.toml:4: `latency` is `1 s`; expected a time of 100 ms at most",
            ),
            ("latency = \"never\"", "floppy.toml:4: `latency` is `never`"),
            (
                "bandwidth = \"1 MB\"",
                "floppy.toml:4: `bandwidth` is `1 MB`; expected 64 MiB (a second) at least",
            ),
            ("seek = \"4 ms\"", "floppy.toml:4: unknown key `seek`"),
        ] {
            let error = reading(wrong).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
