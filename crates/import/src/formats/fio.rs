//! Parses the output of `fio --output-format=json` and `json+`: a test `fio` whose phases are the
//! jobs.
//!
//! Source of the format: the output of fio 3.33 and its documentation ("JSON output", "JSON+
//! output"). Bandwidth is `bw_bytes`, or `bw` in KiB/s; latencies are completion latencies
//! (`clat_ns`), in nanoseconds. A bin of json+ is named by a time within it, and contains the
//! number of requests that took about that long; the mean and the maximum are exact. Threads of one
//! job (equal name, group and options) are added up, as `group_reporting` does. Percentiles of
//! several threads cannot be combined, but their bins can. Jobs with the same name but a different
//! group or workload are separate phases. Before fio 3, bandwidth is only in KiB/s, and latencies
//! are not read.

use std::collections::BTreeMap;

use model::{ImportedResult, LatencyBucket, Metric, Nanos, WorkloadCategory};
use serde::Deserialize;

use crate::campaign_builder::{CampaignBuilder, StatedNames, failed_value, ok_value};
use crate::parse::json;
use crate::parse::number::{finite_non_negative, since_1970};
use crate::parse::place::Place;
use crate::{ImportError, InputFormat, NamingOptions, ParsedInput};

#[derive(Deserialize)]
struct FioOutput {
    #[serde(rename = "fio version")]
    version: String,
    #[serde(default)]
    timestamp: u64,
    #[serde(default, rename = "global options")]
    global: Options,
    #[serde(default)]
    jobs: Vec<FioJob>,
}

type Options = BTreeMap<String, serde_json::Value>;

#[derive(Deserialize)]
struct FioJob {
    #[serde(rename = "jobname")]
    name: String,
    #[serde(default)]
    groupid: i64,
    #[serde(default)]
    error: i64,
    #[serde(default, rename = "job options")]
    options: Options,
    #[serde(default)]
    read: FioDirection,
    #[serde(default)]
    write: FioDirection,
    #[serde(default)]
    trim: FioDirection,
    #[serde(default)]
    sync: Sync,
    #[serde(default)]
    usr_cpu: f64,
    #[serde(default)]
    sys_cpu: f64,
}

/// Returns one side of a job: read, write or trim.
type SideOf = fn(&FioJob) -> &FioDirection;

/// Results of the reads, writes or trims of a job.
#[derive(Default, Deserialize)]
#[serde(default)]
struct FioDirection {
    bw_bytes: Option<f64>,
    bw: f64,
    iops: f64,
    /// Milliseconds.
    runtime: f64,
    total_ios: u64,
    /// The only byte count of versions before 2.2.
    io_bytes: f64,
    clat_ns: FioLatency,
    /// Latency in microseconds, as printed by versions before 3.
    clat: Option<serde::de::IgnoredAny>,
}

impl FioDirection {
    const fn did_something(&self) -> bool {
        self.total_ios > 0 || self.io_bytes > 0.0
    }

    /// Returns the bandwidth in bytes per second.
    fn bandwidth(&self) -> f64 {
        self.bw_bytes.unwrap_or(self.bw * 1024.0)
    }

    /// Returns true if all values are finite and not negative.
    fn is_sound(&self) -> bool {
        let all = [self.bandwidth(), self.iops, self.runtime];
        all.iter().all(|value| finite_non_negative(*value).is_some())
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Sync {
    lat_ns: FioLatency,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FioLatency {
    max: f64,
    mean: f64,
    #[serde(rename = "N")]
    count: u64,
    percentile: BTreeMap<String, f64>,
    bins: BTreeMap<String, u64>,
}

const PERCENTILES: [(&str, Metric); 6] = [
    ("50.000000", Metric::LatencyP50),
    ("90.000000", Metric::LatencyP90),
    ("95.000000", Metric::LatencyP95),
    ("99.000000", Metric::LatencyP99),
    ("99.900000", Metric::LatencyP999),
    ("99.990000", Metric::LatencyP9999),
];
const SYNCS: [(&str, Metric); 3] = [
    ("50.000000", Metric::SyncP50),
    ("95.000000", Metric::SyncP95),
    ("99.000000", Metric::SyncP99),
];

/// Options that determine the work of a job, each with all its spellings.
const PARAMETERS: [&[&str]; 22] = [
    &["rw", "readwrite"],
    &["bs", "blocksize"],
    &["bsrange", "blocksize_range"],
    &["bssplit"],
    &["size"],
    &["filesize"],
    &["io_size", "io_limit"],
    &["nrfiles"],
    &["iodepth"],
    &["numjobs"],
    &["ioengine"],
    &["direct"],
    &["sync"],
    &["fsync"],
    &["fdatasync"],
    &["end_fsync"],
    &["rwmixread"],
    &["rwmixwrite"],
    &["rate"],
    &["rate_iops"],
    &["runtime", "timeout"],
    &["time_based"],
];

/// Reads all jobs.
pub fn read(bytes: &[u8], naming: &NamingOptions) -> Result<ParsedInput, ImportError> {
    let output: FioOutput = json::read(bytes)?;
    let mut gathering = CampaignBuilder::new(InputFormat::Fio, "fio", naming);
    gathering.set_program(&output.version.replacen("fio-", "fio ", 1));
    gathering.set_started(since_1970(output.timestamp));
    let jobs = output.jobs.iter().map(|job| {
        let option = |name: &str| option(job, &output.global, name);
        (job.name.as_str(), job.groupid, parameters(option), job)
    });
    for (differs_in, threads) in split_jobs(jobs) {
        job(&mut gathering, &output.global, &threads, &differs_in)?;
    }
    gathering.finish()
}

/// Groups the threads of each job (equal name, group and parameters), in the order of their first
/// threads. Each group comes with the text that distinguishes it from others of the same name.
pub fn split_jobs<'a, T>(
    threads: impl Iterator<Item = (&'a str, i64, String, T)>,
) -> Vec<(String, Vec<T>)> {
    let mut places = BTreeMap::new();
    let mut alike: BTreeMap<(&str, String), u32> = BTreeMap::new();
    let mut all: Vec<(String, Vec<T>)> = Vec::new();
    for (name, group, parameters, thread) in threads {
        let place = *places.entry((name, group, parameters.clone())).or_insert(all.len());
        if let Some((_, known)) = all.get_mut(place) {
            known.push(thread);
            continue;
        }
        // The group number cannot be used: it would differ between files with different preceding
        // jobs.
        let before = alike.entry((name, parameters.clone())).or_insert(0);
        *before += 1;
        all.push((format!("{parameters}, time {before}"), vec![thread]));
    }
    all
}

/// Formats the options of a job that decide its workload.
pub fn parameters<'a>(option: impl Fn(&str) -> Option<&'a str>) -> String {
    let stated = PARAMETERS.iter().filter_map(|names| {
        let value = names.iter().find_map(|name| option(name))?;
        Some(format!("{} {}", names[0], plain(value)))
    });
    stated.collect::<Vec<_>>().join(", ")
}

/// Normalizes a value with several spellings: `4k` becomes `4096`.
fn plain(value: &str) -> String {
    let value: String = value.chars().take(100).collect::<String>().to_lowercase();
    let units = [('k', 10), ('m', 20), ('g', 30), ('t', 40)];
    let number = units.iter().find_map(|(unit, shift)| {
        let number: u64 = value.strip_suffix(*unit)?.parse().ok()?;
        number.checked_mul(1 << shift)
    });
    match (number, value.as_str()) {
        (Some(number), _) => number.to_string(),
        (None, "readwrite") => "rw".to_owned(),
        (None, _) => value,
    }
}

/// Returns an option of a job, from the job or from the global options.
fn option<'a>(job: &'a FioJob, global: &'a Options, name: &str) -> Option<&'a str> {
    let value = job.options.get(name).or_else(|| global.get(name));
    value.and_then(serde_json::Value::as_str)
}

fn job(
    gathering: &mut CampaignBuilder<'_>,
    global: &Options,
    threads: &[&FioJob],
    differs_in: &str,
) -> Result<(), ImportError> {
    let Some(first) = threads.first() else {
        return Ok(());
    };
    let option = |name: &str| option(first, global, name);
    let place = worked_in(option);
    let contender = gathering.contender(&StatedNames { place, ..StatedNames::default() })?;
    let test = gathering.test("fio");
    let error = threads.iter().map(|job| job.error).find(|error| *error != 0);
    if let Some(error) = error {
        let phase = gathering.unique_phase_name(&test, &first.name, differs_in);
        return gathering
            .add(0, failed_value(&contender, &test, &phase, format!("fio: error {error}")));
    }
    let direction = option("rw").or_else(|| option("readwrite")).unwrap_or_default();
    let is_random = direction.contains("rand");
    let sides: [(&str, SideOf); 3] =
        [("read", |job| &job.read), ("write", |job| &job.write), ("trim", |job| &job.trim)];
    let did = |side: &SideOf| threads.iter().any(|job| side(job).did_something());
    let several = sides.iter().filter(|(_, side)| did(side)).count() > 1;
    for (name, side) in sides.into_iter().filter(|(_, side)| did(side)) {
        let called = match several {
            true => format!("{}-{name}", first.name),
            false => first.name.clone(),
        };
        let phase = gathering.unique_phase_name(&test, &called, differs_in);
        let sides: Vec<&FioDirection> = threads.iter().map(|job| side(job)).collect();
        if !sides.iter().all(|side| side.is_sound()) {
            let what = format!("a rate of {phase} is no number from 0 on: the file is damaged");
            return Err(ImportError::in_file(what));
        }
        if sides.iter().any(|side| side.clat.is_some()) {
            gathering.skip_with_reason("latencies as fio before version 3 prints them");
        }
        let mut values = speed(&sides, is_random);
        let latency: Vec<&FioLatency> = sides.iter().map(|side| &side.clat_ns).collect();
        let buckets = buckets(&latency);
        let percentiles: &[_] = if buckets.is_empty() { &PERCENTILES } else { &[] };
        let mean = Some(Metric::LatencyMean);
        values.extend(latencies(&latency, percentiles, mean, Metric::LatencyMax));
        let cpu = threads.iter().map(|job| job.usr_cpu + job.sys_cpu).sum();
        values.extend(finite_non_negative(cpu).map(|share| (Metric::Cpu, share)));
        if name == "write" {
            let syncs: Vec<&FioLatency> = threads.iter().map(|job| &job.sync.lat_ns).collect();
            values.extend(latencies(&syncs, &SYNCS, None, Metric::SyncMax));
        }
        let taken = ImportedResult {
            group: group(name, is_random),
            latency: buckets,
            ..ok_value(&contender, &test, &phase, values)
        };
        gathering.add(0, taken)?;
    }
    Ok(())
}

/// Returns the directory or file that a job used.
fn worked_in<'a>(option: impl Fn(&str) -> Option<&'a str>) -> Option<Place> {
    if let Some(directory) = option("directory") {
        return Place::directory(directory);
    }
    let file = option("filename")?;
    if file.starts_with("/dev/") { Place::directory(file) } else { Place::file(file) }
}

/// Returns the workload category of a side.
pub fn group(side: &str, is_random: bool) -> Option<WorkloadCategory> {
    match (side, is_random) {
        ("read", true) => Some(WorkloadCategory::RandomRead),
        ("read", false) => Some(WorkloadCategory::StreamRead),
        ("write", true) => Some(WorkloadCategory::RandomWrite),
        ("write", false) => Some(WorkloadCategory::StreamWrite),
        _ => None,
    }
}

/// Returns the total rates of all threads, the primary metric first, and the time of the slowest
/// thread.
fn speed(threads: &[&FioDirection], is_random: bool) -> Vec<(Metric, f64)> {
    let sum = |value: fn(&FioDirection) -> f64| {
        finite_non_negative(threads.iter().map(|side| value(side)).sum())
    };
    let bytes = sum(FioDirection::bandwidth);
    let bytes = bytes.map(|rate| (Metric::Throughput, rate));
    let requests = sum(|side| side.iops).map(|rate| (Metric::Rate, rate));
    let rates = if is_random { [requests, bytes] } else { [bytes, requests] };
    let longest = threads.iter().map(|side| side.runtime).fold(0.0, f64::max);
    let time = finite_non_negative(longest / 1e3).map(|time| (Metric::Elapsed, time));
    rates.into_iter().flatten().chain(time).collect()
}

/// Returns the printed latencies, in seconds. Percentiles are available only for a single thread.
fn latencies(
    threads: &[&FioLatency],
    percentiles: &[(&str, Metric)],
    mean: Option<Metric>,
    max: Metric,
) -> Vec<(Metric, f64)> {
    let count: f64 = threads.iter().map(|latency| latency.count as f64).sum();
    if count == 0.0 {
        return Vec::new();
    }
    let mut nanos = Vec::new();
    if let [one] = threads {
        let known = percentiles.iter();
        nanos.extend(
            known.filter_map(|(name, metric)| Some((*metric, *one.percentile.get(*name)?))),
        );
    }
    if let Some(metric) = mean {
        let all: f64 = threads.iter().map(|one| one.mean * one.count as f64).sum();
        nanos.push((metric, all / count));
    }
    nanos.push((max, threads.iter().map(|one| one.max).fold(0.0, f64::max)));
    let seconds = nanos.into_iter();
    seconds
        .filter_map(|(metric, nanos)| Some((metric, finite_non_negative(nanos / 1e9)?)))
        .collect()
}

/// Returns the merged bins of all threads, in ascending order.
fn buckets(threads: &[&FioLatency]) -> Vec<LatencyBucket> {
    let mut all: BTreeMap<u64, u64> = BTreeMap::new();
    for (time, count) in threads.iter().flat_map(|latency| &latency.bins) {
        if let Ok(time) = time.parse() {
            let sum = all.entry(time).or_insert(0);
            *sum = sum.saturating_add(*count);
        }
    }
    let filled = all.into_iter().filter(|(_, count)| *count > 0);
    filled.map(|(time, count)| LatencyBucket(Nanos(time), count)).collect()
}
