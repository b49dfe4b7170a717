//! What `fio --output-format=json` and `json+` print: a test `fio`, whose phases are the jobs.
//!
//! Source of the format: the output of fio 3.33 and its documentation ("JSON output", "JSON+ output"). Bandwidth is
//! `bw_bytes`, or `bw` in KiB/s; latencies are those of completion (`clat_ns`), in nanoseconds. A bin of json+ is named
//! by a time within it, and holds how many requests took about that long. Threads of one job (equal name and group)
//! are added up, as `group_reporting` does; percentiles of several cannot be, but their bins can.

use std::collections::BTreeMap;

use model::{Figure, Group, LatencyBucket, Metric, Nanos};
use serde::Deserialize;

use crate::gathering::{Gathering, failed, figure};
use crate::number::{since_1970, sound};
use crate::text::place;
use crate::{Format, Found, ImportError, Naming, json};

#[derive(Deserialize)]
struct Output {
    #[serde(rename = "fio version")]
    version: String,
    #[serde(default)]
    timestamp: u64,
    #[serde(default, rename = "global options")]
    global: Options,
    #[serde(default)]
    jobs: Vec<Job>,
}

type Options = BTreeMap<String, serde_json::Value>;

#[derive(Deserialize)]
struct Job {
    #[serde(rename = "jobname")]
    name: String,
    #[serde(default)]
    groupid: i64,
    #[serde(default)]
    error: i64,
    #[serde(default, rename = "job options")]
    options: Options,
    #[serde(default)]
    read: Side,
    #[serde(default)]
    write: Side,
    #[serde(default)]
    trim: Side,
    #[serde(default)]
    sync: Sync,
    #[serde(default)]
    usr_cpu: f64,
    #[serde(default)]
    sys_cpu: f64,
}

/// One of a job's sides.
type SideOf = fn(&Job) -> &Side;

/// What was read, written or trimmed.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Side {
    bw_bytes: Option<f64>,
    bw: f64,
    iops: f64,
    /// Milliseconds.
    runtime: f64,
    total_ios: u64,
    clat_ns: Latency,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Sync {
    lat_ns: Latency,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Latency {
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

/// Reads all jobs.
pub fn read(bytes: &[u8], naming: &Naming) -> Result<Found, ImportError> {
    let output: Output = json::read(bytes)?;
    let mut gathering = Gathering::new(Format::Fio, "fio", naming);
    gathering.set_program(&output.version.replacen("fio-", "fio ", 1));
    gathering.set_started(since_1970(output.timestamp));
    for threads in of_one_name(&output.jobs) {
        job(&mut gathering, &output.global, &threads)?;
    }
    gathering.finish()
}

/// The threads of each job, in the order of the first of them.
fn of_one_name(jobs: &[Job]) -> Vec<Vec<&Job>> {
    let mut places = BTreeMap::new();
    let mut all: Vec<Vec<&Job>> = Vec::new();
    for job in jobs {
        let place = *places.entry((&job.name, job.groupid)).or_insert(all.len());
        match all.get_mut(place) {
            Some(threads) => threads.push(job),
            None => all.push(vec![job]),
        }
    }
    all
}

fn job(
    gathering: &mut Gathering<'_>,
    global: &Options,
    threads: &[&Job],
) -> Result<(), ImportError> {
    let Some(first) = threads.first() else {
        return Ok(());
    };
    let option = |name: &str| {
        let value = first.options.get(name).or_else(|| global.get(name));
        value.and_then(serde_json::Value::as_str)
    };
    let contender = gathering.contender(worked_in(option).as_deref())?;
    let test = gathering.test("fio");
    let error = threads
        .iter()
        .map(|job| job.error)
        .find(|error| *error != 0);
    if let Some(error) = error {
        let phase = gathering.phase(&test, &first.name);
        return gathering.add(
            0,
            failed(&contender, &test, &phase, format!("fio: error {error}")),
        );
    }
    let direction = option("rw")
        .or_else(|| option("readwrite"))
        .unwrap_or_default();
    let is_random = direction.contains("rand");
    let sides: [(&str, SideOf); 3] = [
        ("read", |job| &job.read),
        ("write", |job| &job.write),
        ("trim", |job| &job.trim),
    ];
    let did = |side: &SideOf| threads.iter().any(|job| side(job).total_ios > 0);
    let several = sides.iter().filter(|(_, side)| did(side)).count() > 1;
    for (name, side) in sides.into_iter().filter(|(_, side)| did(side)) {
        let called = match several {
            true => format!("{}-{name}", first.name),
            false => first.name.clone(),
        };
        let phase = gathering.phase(&test, &called);
        let sides: Vec<&Side> = threads.iter().map(|job| side(job)).collect();
        let mut values = speed(&sides, is_random);
        let latency: Vec<&Latency> = sides.iter().map(|side| &side.clat_ns).collect();
        let buckets = buckets(&latency);
        if buckets.is_empty() {
            let mean = Some(Metric::LatencyMean);
            values.extend(latencies(&latency, &PERCENTILES, mean, Metric::LatencyMax));
        }
        let cpu = threads.iter().map(|job| job.usr_cpu + job.sys_cpu).sum();
        values.extend(sound(cpu).map(|share| (Metric::Cpu, share)));
        if name == "write" {
            let syncs: Vec<&Latency> = threads.iter().map(|job| &job.sync.lat_ns).collect();
            values.extend(latencies(&syncs, &SYNCS, None, Metric::SyncMax));
        }
        let taken = Figure {
            group: group(name, is_random),
            latency: buckets,
            ..figure(&contender, &test, &phase, values)
        };
        gathering.add(0, taken)?;
    }
    Ok(())
}

/// The place where a job worked.
fn worked_in<'a>(option: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    if let Some(directory) = option("directory") {
        return place(directory, false);
    }
    let file = option("filename")?;
    place(file, !file.starts_with("/dev/"))
}

/// What a side asks of a filesystem.
pub fn group(side: &str, is_random: bool) -> Option<Group> {
    match (side, is_random) {
        ("read", true) => Some(Group::RandomRead),
        ("read", false) => Some(Group::StreamRead),
        ("write", true) => Some(Group::RandomWrite),
        ("write", false) => Some(Group::StreamWrite),
        _ => None,
    }
}

/// Rates of the threads together, first that by which the tables rank, and the time of the longest.
fn speed(threads: &[&Side], is_random: bool) -> Vec<(Metric, f64)> {
    let sum = |value: fn(&Side) -> f64| sound(threads.iter().map(|side| value(side)).sum());
    let bytes = sum(|side| side.bw_bytes.unwrap_or(side.bw * 1024.0));
    let bytes = bytes.map(|rate| (Metric::Throughput, rate));
    let requests = sum(|side| side.iops).map(|rate| (Metric::Rate, rate));
    let rates = if is_random {
        [requests, bytes]
    } else {
        [bytes, requests]
    };
    let longest = threads.iter().map(|side| side.runtime).fold(0.0, f64::max);
    let time = sound(longest / 1e3).map(|time| (Metric::Elapsed, time));
    rates.into_iter().flatten().chain(time).collect()
}

/// Stated latencies, in seconds; percentiles of one thread only.
fn latencies(
    threads: &[&Latency],
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
        .filter_map(|(metric, nanos)| Some((metric, sound(nanos / 1e9)?)))
        .collect()
}

/// The bins of all threads, ascending.
fn buckets(threads: &[&Latency]) -> Vec<LatencyBucket> {
    let mut all: BTreeMap<u64, u64> = BTreeMap::new();
    for (time, count) in threads.iter().flat_map(|latency| &latency.bins) {
        if let Ok(time) = time.parse() {
            let sum = all.entry(time).or_insert(0);
            *sum = sum.saturating_add(*count);
        }
    }
    let filled = all.into_iter().filter(|(_, count)| *count > 0);
    filled
        .map(|(time, count)| LatencyBucket(Nanos(time), count))
        .collect()
}
