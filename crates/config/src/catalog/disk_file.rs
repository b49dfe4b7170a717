//! One file of `disks/`: raw TOML → a checked [`DiskModel`], with the source of each number and the
//! published metrics of the real disk.

use std::collections::BTreeMap;

use model::{Bytes, DiskModel, Flash, FlashState, Mechanism, Nanos, Rotating, Zone};

use crate::CatalogError;
use crate::catalog::document::{NameRegistry, TomlSource, TomlTable, TomlValue};

const KEYS: [&str; 13] = [
    "name",
    "title",
    "product",
    "kind",
    "command",
    "link",
    "queue",
    "cache",
    "forced",
    "rotating",
    "flash",
    "sources",
    "published",
];
const ROTATING: [&str; 10] = [
    "turns",
    "seek-next",
    "seek-average",
    "seek-full",
    "head-switch",
    "write-settle",
    "heads",
    "read-ahead",
    "age-weight",
    "zones",
];
const FLASH: [&str; 12] = [
    "read",
    "program",
    "erase",
    "unmap",
    "controller",
    "channel",
    "channels",
    "dies",
    "page",
    "block",
    "spare",
    "protected",
];
/// Numeric keys of the top level. Each needs a source.
const NUMBERS: [&str; 5] = ["command", "link", "queue", "cache", "forced"];
/// Limit of every time: one second. A longer time is a mistake in the unit.
const MAX_DISK_FILE: Nanos = Nanos(1_000_000_000);
/// Default weight of the waiting time of a request, in thousandths.
const AGE_WEIGHT: u32 = 6;
/// Maximum number of commands in a disk at a time.
const MAX_COMMANDS: u32 = 64;
/// Maximum number of dies on all channels of a flash disk.
const MAX_DIES: u32 = 128;
/// Maximum size of a disk cache. Larger caches do not exist, and a guest stores a list of the
/// cached blocks.
const MAX_CACHE: Bytes = Bytes::mib(4096);
/// Minimum rate of a disk in bytes per second, so that a test ends in a reasonable time.
const SLOWEST: Bytes = Bytes::kib(10);
/// Minimum number of pages per block. With fewer pages, or with less spare flash than `MIN_SPARE`,
/// garbage collection would never end.
const FEWEST_PAGES: u32 = 4;
const MIN_SPARE: u32 = 10;
/// The value of `--disk` that selects all disks.
const EVERY_DISK: &str = "all";

/// A disk model and the known facts about the real disk.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskEntry {
    /// The model.
    pub model: DiskModel,
    /// The source of each of its numbers, by key.
    pub sources: BTreeMap<String, String>,
    /// Published metrics of the real disk, for comparison with the model.
    pub published: DataSheet,
}

/// Published metrics of a disk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataSheet {
    /// Where.
    pub source: String,
    /// Each metric with its value: seconds, bytes per second, operations per second, or a factor.
    pub metrics: Vec<(DataSheetMetric, f64)>,
}

/// A metric of a data sheet that a model can be compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DataSheetMetric {
    /// The average seek before a read, in seconds.
    SeekAverageRead,
    /// Sustained rate at the outer edge, in bytes per second.
    SustainedOuter,
    /// Sustained rate at the inner edge, bytes a second.
    SustainedInner,
    /// Random reads of 4 KiB per second, one at a time.
    RandomRead1,
    /// 32 at a time.
    RandomRead32,
    /// 128 at a time.
    RandomRead128,
    /// Random writes of 4 KiB per second, one at a time.
    RandomWrite1,
    /// 32 at a time.
    RandomWrite32,
    /// Random writes of 4 KiB per second, 32 at a time, in the steady state after long random
    /// overwriting.
    RandomWriteSteady,
    /// Sequential reads, in bytes per second.
    SequentialRead,
    /// Sequential writes, in bytes per second.
    SequentialWrite,
    /// Latency of one read of 4 KiB, in seconds.
    ReadLatency1,
    /// Latency of one write of 4 KiB, in seconds.
    WriteLatency1,
    /// Bytes programmed for each byte written, for 32 concurrent random writes of 4 KiB in the
    /// steady state.
    WriteAmplification,
}

impl DataSheetMetric {
    /// Every metric with its key.
    pub const ALL: [(&'static str, Self); 14] = [
        ("seek-average-read", Self::SeekAverageRead),
        ("sustained-outer", Self::SustainedOuter),
        ("sustained-inner", Self::SustainedInner),
        ("random-read-1", Self::RandomRead1),
        ("random-read-32", Self::RandomRead32),
        ("random-read-128", Self::RandomRead128),
        ("random-write-1", Self::RandomWrite1),
        ("random-write-32", Self::RandomWrite32),
        ("random-write-steady", Self::RandomWriteSteady),
        ("sequential-read", Self::SequentialRead),
        ("sequential-write", Self::SequentialWrite),
        ("read-latency-1", Self::ReadLatency1),
        ("write-latency-1", Self::WriteLatency1),
        ("write-amplification", Self::WriteAmplification),
    ];

    const fn is_time(self) -> bool {
        matches!(self, Self::SeekAverageRead | Self::ReadLatency1 | Self::WriteLatency1)
    }

    const fn is_rate(self) -> bool {
        matches!(
            self,
            Self::SustainedOuter
                | Self::SustainedInner
                | Self::SequentialRead
                | Self::SequentialWrite
        )
    }
}

/// Reads a disk model and its name.
pub(crate) fn read(source: TomlSource<'_>) -> Result<(DiskEntry, NameRegistry), CatalogError> {
    let document = source.parse()?;
    let top = TomlTable::top(source, &document, &KEYS)?;
    let name = top.required("name")?;
    let claims = vec![(name.name()?, name.line())];
    if name.name()? == EVERY_DISK {
        return Err(name.expected_error("another name: `all` is every disk"));
    }
    let model = DiskModel {
        name: name.name()?,
        title: top.text("title")?,
        product: top.text("product")?,
        command: time(&top, "command")?,
        link: top.read("link", rate)?,
        queue: top.read("queue", |v| v.count(1..=MAX_COMMANDS))?.unwrap_or(1),
        cache: top.read("cache", cache)?.unwrap_or_default(),
        forced: top.read("forced", |v| v.flag())?.unwrap_or_default(),
        mechanism: mechanism(&top)?,
    };
    require_controller_within(&model, &top)?;
    let sources = sources(&top)?;
    let published = top.read("published", |v| published(&v))?;
    let disk = DiskEntry { model, sources, published: published.unwrap_or_default() };
    Ok((disk, claims))
}

fn mechanism(top: &TomlTable<'_>) -> Result<Mechanism, CatalogError> {
    let kinds = [("ideal", ""), ("rotating", "rotating"), ("flash", "flash")];
    let kind = top.required("kind")?.one_of(&kinds)?;
    for other in ["rotating", "flash"].into_iter().filter(|k| *k != kind) {
        if let Some(value) = top.get(other)? {
            return Err(value.error(format!("`{other}` does not apply to a disk of this `kind`")));
        }
    }
    match kind {
        "rotating" => rotating(&top.required("rotating")?).map(Mechanism::Rotating),
        "flash" => flash(&top.required("flash")?).map(Mechanism::Flash),
        _ => Ok(Mechanism::Ideal),
    }
}

/// Checks that the controller time is not longer than the command overhead, which includes it.
fn require_controller_within(model: &DiskModel, top: &TomlTable<'_>) -> Result<(), CatalogError> {
    match &model.mechanism {
        Mechanism::Flash(flash) if flash.controller > model.command => Err(top.error(format!(
            "`flash.controller` is a part of `command`: {} at most",
            model.command
        ))),
        _ => Ok(()),
    }
}

fn rotating(value: &TomlValue<'_>) -> Result<Rotating, CatalogError> {
    let table = value.table(&ROTATING)?;
    let turns = table.required("turns")?.count(60..=100_000)?;
    let read = Rotating {
        turn: Nanos(60_000_000_000 / turns),
        seek_next: needed_time(&table, "seek-next")?,
        seek_average: needed_time(&table, "seek-average")?,
        seek_full: needed_time(&table, "seek-full")?,
        head_switch: time(&table, "head-switch")?,
        write_settle: time(&table, "write-settle")?,
        heads: table.required("heads")?.count(1..=64)?,
        read_ahead: table.read("read-ahead", cache)?.unwrap_or_default(),
        age_weight: table.read("age-weight", |v| v.count(0..=1000))?.unwrap_or(AGE_WEIGHT),
        zones: table
            .required("zones")?
            .list("zones")?
            .iter()
            .map(zone)
            .collect::<Result<_, _>>()?,
    };
    if read.seek_next > read.seek_average || read.seek_average > read.seek_full {
        return Err(table.error("seeks become longer: seek-next, seek-average, seek-full".into()));
    }
    match read.zones.len() {
        1..=16 => Ok(read),
        _ => Err(table.error("expected 1 to 16 zones".into())),
    }
}

fn zone(value: &TomlValue<'_>) -> Result<Zone, CatalogError> {
    let wrong = || value.expected_error("`[cylinders, sectors of a track]`");
    let [cylinders, sectors] = value.list("numbers")?[..] else {
        return Err(wrong());
    };
    Ok(Zone {
        cylinders: cylinders.count(1..=(1 << 24) - 1)?,
        sectors: sectors.count(1..=(1 << 16) - 1)?,
    })
}

fn flash(value: &TomlValue<'_>) -> Result<Flash, CatalogError> {
    let table = value.table(&FLASH)?;
    let page = table.required("page")?;
    let read = Flash {
        read: needed_time(&table, "read")?,
        program: needed_time(&table, "program")?,
        erase: needed_time(&table, "erase")?,
        unmap: time(&table, "unmap")?,
        controller: time(&table, "controller")?,
        channel: rate(table.required("channel")?)?,
        channels: table.required("channels")?.count(1..=MAX_DIES)?,
        dies: table.required("dies")?.count(1..=MAX_DIES)?,
        page: page.size()?,
        block: table.required("block")?.count(FEWEST_PAGES..=65_536)?,
        spare: table.required("spare")?.count(MIN_SPARE..=10_000)?,
        protected: table.read("protected", |v| v.flag())?.unwrap_or_default(),
        state: FlashState::default(),
    };
    if !read.page.0.is_multiple_of(4096) || read.page > Bytes::kib(64) {
        return Err(page.expected_error("a multiple of 4 KiB, 64 KiB at most"));
    }
    if read.channels * read.dies > MAX_DIES {
        return Err(table.error(format!("expected {MAX_DIES} dies on all channels at most")));
    }
    Ok(read)
}

fn cache(value: TomlValue<'_>) -> Result<Bytes, CatalogError> {
    let size = value.size()?;
    match size <= MAX_CACHE {
        true => Ok(size),
        false => Err(value.expected_error(&format!("{MAX_CACHE} at most"))),
    }
}

/// Bytes a second.
fn rate(value: TomlValue<'_>) -> Result<Bytes, CatalogError> {
    let rate = value.size()?;
    match rate >= SLOWEST {
        true => Ok(rate),
        false => Err(value.expected_error(&format!("{SLOWEST} a second at least"))),
    }
}

/// Reads a time; zero if the key is missing.
fn time(table: &TomlTable<'_>, key: &'static str) -> Result<Nanos, CatalogError> {
    let read = |value: TomlValue<'_>| match value.time()? {
        time if time < MAX_DISK_FILE => Ok(time),
        _ => Err(value.expected_error(&format!("a time of less than {MAX_DISK_FILE}"))),
    };
    Ok(table.read(key, read)?.unwrap_or_default())
}

/// Reads a required time, which must be above zero.
fn needed_time(table: &TomlTable<'_>, key: &'static str) -> Result<Nanos, CatalogError> {
    let value = table.required(key)?;
    match time(table, key)? {
        Nanos(0) => Err(value.expected_error("a time above zero")),
        time => Ok(time),
    }
}

/// Reads the sources. Every number must have a source, and every source a number.
fn sources(top: &TomlTable<'_>) -> Result<BTreeMap<String, String>, CatalogError> {
    let mut numbers: Vec<String> =
        NUMBERS.into_iter().filter(|key| top.contains(key)).map(str::to_owned).collect();
    for part in ["rotating", "flash"] {
        if let Some(table) = top.read(part, |v| v.any_table())? {
            numbers.extend(table.entries().map(|(key, _)| format!("{part}.{key}")));
        }
    }
    let listed = top.read("sources", |v| v.any_table())?;
    let mut sources = BTreeMap::new();
    for (key, value) in listed.iter().flat_map(TomlTable::entries) {
        if !numbers.iter().any(|number| number == key) {
            return Err(value.error(format!("`{key}` has a source and no number")));
        }
        sources.insert(key.to_owned(), value.text()?);
    }
    match numbers.into_iter().find(|number| !sources.contains_key(number)) {
        None => Ok(sources),
        Some(number) => Err(top.error(format!("`{number}` has no source: add it to [sources]"))),
    }
}

fn published(value: &TomlValue<'_>) -> Result<DataSheet, CatalogError> {
    const SOURCE: &str = "published-source";
    let keys: Vec<&'static str> =
        DataSheetMetric::ALL.iter().map(|(key, _)| *key).chain([SOURCE]).collect();
    let table = value.table(&keys)?;
    let mut metrics = Vec::new();
    for (key, metric) in DataSheetMetric::ALL {
        let read = |value: TomlValue<'_>| match metric {
            _ if metric.is_time() => Ok(value.time()?.0 as f64 / 1e9),
            _ if metric.is_rate() => Ok(value.size()?.0 as f64),
            DataSheetMetric::WriteAmplification => value.factor(),
            _ => Ok(value.count(1_u64..)? as f64),
        };
        metrics.extend(table.read(key, read)?.map(|number| (metric, number)));
    }
    let source = table.text(SOURCE)?;
    Ok(DataSheet { source, metrics })
}

/// Returns every key of a disk file.
#[cfg(test)]
pub(crate) fn all_keys() -> impl Iterator<Item = &'static str> {
    KEYS.into_iter().chain(ROTATING).chain(FLASH)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: &str = "name = \"it\"\ntitle = \"It\"\nproduct = \"a test\"\n";
    const FLASH_DISK: &str = "kind = \"flash\"\n[flash]\nread = \"50 us\"\nprogram = \"1 ms\"\nerase = \"5 ms\"\n\
        channel = \"400 MB\"\nchannels = 2\ndies = 2\npage = \"16 KiB\"\nblock = 64\nspare = 70\n";

    fn reading(more: &str) -> Result<DiskEntry, String> {
        let text = format!("{DISK}{more}");
        let source = TomlSource { file: "it.toml", text: &text };
        let read = read(source).map(|(disk, _)| disk);
        read.map_err(|error| error.to_string())
    }

    fn sources_of(keys: &[&str]) -> String {
        let lines = keys.iter().map(|key| format!("\"flash.{key}\" = \"a test\"\n"));
        format!("[sources]\n{}", lines.collect::<String>())
    }

    #[test]
    fn a_disk_without_a_mechanism_needs_no_number() {
        let disk = reading("kind = \"ideal\"").unwrap().model;
        assert_eq!((disk.command, disk.link, disk.queue), (Nanos(0), None, 1));
        assert_eq!(disk.mechanism, Mechanism::Ideal);
    }

    #[test]
    fn every_number_has_a_source() {
        let keys =
            ["read", "program", "erase", "channel", "channels", "dies", "page", "block", "spare"];
        let disk = reading(&format!("{FLASH_DISK}{}", sources_of(&keys))).unwrap();
        assert_eq!(disk.sources.len(), 9);
        let error = reading(&format!("{FLASH_DISK}{}", sources_of(&keys[1..]))).unwrap_err();
        assert_eq!(error, "it.toml:1: `flash.read` has no source: add it to [sources]");
        let error =
            reading(&format!("{FLASH_DISK}{}", sources_of(&[&keys[..], &["cells"]].concat())));
        let error = error.unwrap_err();
        assert!(error.ends_with("`flash.cells` has a source and no number"), "{error}");
    }

    #[test]
    fn times_of_zero_may_be_omitted() {
        let keys = [
            "read",
            "program",
            "erase",
            "channel",
            "channels",
            "dies",
            "page",
            "block",
            "spare",
            "controller",
        ];
        let zero = format!("{FLASH_DISK}controller = \"0 us\"\n{}", sources_of(&keys));
        assert_eq!(reading(&zero).unwrap().model, {
            let without = format!("{FLASH_DISK}{}", sources_of(&keys[..9]));
            reading(&without).unwrap().model
        });
        let error = reading(&FLASH_DISK.replace("50 us", "0 us")).unwrap_err();
        let told = "it.toml:6: `read` is `0 us`; expected a time above zero";
        assert_eq!(error, told);
    }

    #[test]
    fn impossible_models_are_rejected_with_their_line() {
        for (wrong, expected) in [
            (
                "kind = \"ideal\"\ncache = \"7 EiB\"",
                "it.toml:5: `cache` is `7 EiB`; expected 4 GiB at most",
            ),
            (
                "kind = \"ideal\"\nlink = \"1 B\"",
                "it.toml:5: `link` is `1 B`; expected 10 KiB a second at least",
            ),
            (
                "kind = \"ideal\"\ncommand = \"never\"",
                "it.toml:5: `command`: `never` is not a time such as",
            ),
            ("kind = \"rotating\"\n[rotating]\nturns = 7200", "it.toml:5: missing key `seek-next`"),
            ("kind = \"tape\"", "it.toml:4: `kind` is `tape`"),
            (
                "kind = \"ideal\"\ncommand = 40",
                "it.toml:5: `command`: `40` has no unit; write `40s`, `40min` or `40h`, in quotes",
            ),
            (
                "kind = \"ideal\"\ncommand = \"2 s\"",
                "it.toml:5: `command` is `2 s`; expected a time of less than 1.00 s",
            ),
            (
                "kind = \"ideal\"\n[flash]\nread = \"1 us\"",
                "it.toml:5: `flash` does not apply to a disk of this `kind`",
            ),
            ("kind = \"ideal\"\nseek = \"4 ms\"", "it.toml:5: unknown key `seek`"),
        ] {
            let error = reading(wrong).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
