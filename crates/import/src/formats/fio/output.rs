//! The shape of the JSON output of fio: options, jobs and latencies.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use model::Metric;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::formats::fio_options::Options;
use crate::parse::number::{finite_non_negative, since_1970};

/// Name of the entry with the sum over all hosts.
pub const ALL_CLIENTS: &str = "All clients";

#[derive(Deserialize)]
pub struct FioOutput {
    #[serde(rename = "fio version")]
    pub version: String,
    #[serde(default)]
    pub timestamp: u64,
    #[serde(default, rename = "global options")]
    pub global: GlobalOptions,
    #[serde(default)]
    pub jobs: Vec<FioJob>,
    #[serde(default, rename = "client_stats")]
    pub clients: Vec<FioJob>,
}

/// Options of all jobs, or of all jobs of each host.
pub enum GlobalOptions {
    One(Options),
    PerHost(HashMap<Option<String>, Options>),
}

impl Default for GlobalOptions {
    fn default() -> Self {
        Self::PerHost(HashMap::new())
    }
}

impl<'de> Deserialize<'de> for GlobalOptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrAll;

        impl<'de> Visitor<'de> for OneOrAll {
            type Value = GlobalOptions;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("options, or a list with the options of each host")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<GlobalOptions, A::Error> {
                let options = Options::deserialize(MapAccessDeserializer::new(map))?;
                Ok(GlobalOptions::One(options.into_global()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut hosts: A) -> Result<GlobalOptions, A::Error> {
                let mut all = HashMap::new();
                while let Some(options) = hosts.next_element::<Options>()? {
                    let host = options.get("hostname").map(str::to_owned);
                    all.entry(host).or_insert_with(|| options.into_global());
                }
                Ok(GlobalOptions::PerHost(all))
            }
        }
        deserializer.deserialize_any(OneOrAll)
    }
}

#[derive(Deserialize)]
pub struct FioJob {
    #[serde(rename = "jobname")]
    pub name: String,
    #[serde(default)]
    pub groupid: i64,
    #[serde(default)]
    pub error: i64,
    #[serde(default)]
    pub total_err: u64,
    #[serde(default)]
    pub first_error: i64,
    /// Not printed before version 2.17.
    #[serde(default, rename = "job options")]
    pub options: Option<Options>,
    #[serde(default)]
    pub read: FioDirection,
    #[serde(default)]
    pub write: FioDirection,
    #[serde(default)]
    pub trim: FioDirection,
    #[serde(default)]
    pub mixed: FioDirection,
    #[serde(default)]
    pub sync: Sync,
    #[serde(default)]
    pub usr_cpu: Number,
    #[serde(default)]
    pub sys_cpu: Number,
    /// Seconds since the start of the program, rounded up.
    #[serde(default)]
    pub elapsed: u64,
    /// Milliseconds since 1970; 0 before the start. Since version 3.36.
    #[serde(default)]
    pub job_start: u64,
    pub hostname: Option<String>,
}

/// A number. `null` becomes 0.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct Number(pub f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Option::deserialize(deserializer)?.unwrap_or(0.0)))
    }
}

/// Results of the reads, writes or trims of a job.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct FioDirection {
    pub bw_bytes: Option<f64>,
    pub bw: Number,
    pub iops: Number,
    /// Milliseconds.
    pub runtime: Number,
    pub total_ios: u64,
    /// The only count of versions before 2.2, in KiB before 3.0.
    pub io_bytes: Number,
    pub clat_ns: FioLatency,
    pub lat_ns: FioLatency,
    pub clat: FioLatency,
    pub lat: FioLatency,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Sync {
    pub lat_ns: FioLatency,
    pub total_ios: u64,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub struct FioLatency {
    pub max: Number,
    pub mean: Number,
    #[serde(rename = "N")]
    pub count: Option<u64>,
    pub percentile: BTreeMap<String, Number>,
    pub bins: BTreeMap<String, u64>,
}

pub const PERCENTILES: [(f64, Metric); 6] = [
    (50.0, Metric::LatencyP50),
    (90.0, Metric::LatencyP90),
    (95.0, Metric::LatencyP95),
    (99.0, Metric::LatencyP99),
    (99.9, Metric::LatencyP999),
    (99.99, Metric::LatencyP9999),
];
pub const SYNCS: [(f64, Metric); 3] =
    [(50.0, Metric::SyncP50), (95.0, Metric::SyncP95), (99.0, Metric::SyncP99)];

impl FioJob {
    pub fn sides(&self) -> [(&'static str, &FioDirection); 4] {
        let Self { read, write, trim, mixed, .. } = self;
        [("mixed", mixed), ("read", read), ("write", write), ("trim", trim)]
    }

    pub fn side(&self, name: &str) -> &FioDirection {
        self.sides().into_iter().find(|(known, _)| *known == name).map_or(&self.mixed, |(_, s)| s)
    }

    /// Returns the longest runtime of a side, in seconds.
    pub fn ran(&self) -> f64 {
        self.sides().iter().map(|(_, side)| side.runtime.0).fold(0.0, f64::max) / 1e3
    }

    /// Returns numbers that differ between two runs.
    pub fn results(&self) -> Vec<f64> {
        let each = self.sides().map(|(_, side)| {
            [
                side.io_bytes.0,
                side.runtime.0,
                side.clat_ns.mean.0,
                side.lat_ns.mean.0,
                side.lat.mean.0,
            ]
        });
        each.concat()
    }

    pub fn bytes(&self) -> f64 {
        self.sides().iter().map(|(_, side)| side.io_bytes.0).sum()
    }
}

impl FioDirection {
    pub const fn did_something(&self) -> bool {
        self.total_ios > 0 || self.io_bytes.0 > 0.0
    }

    /// Returns true if requests were done in less than the resolution of the clock.
    pub fn is_too_fast(&self) -> bool {
        self.did_something() && [self.runtime.0, self.bandwidth(), self.iops.0] == [0.0; 3]
    }

    /// Returns the bandwidth in bytes per second.
    pub fn bandwidth(&self) -> f64 {
        self.bw_bytes.unwrap_or(self.bw.0 * 1024.0)
    }

    pub fn thousandfold_bytes(&self) -> f64 {
        match self.bw_bytes {
            Some(_) => self.io_bytes.0 * 1e3,
            None => self.bandwidth() * self.runtime.0,
        }
    }

    pub fn thousandfold_requests(&self) -> f64 {
        match self.total_ios {
            0 => self.iops.0 * self.runtime.0,
            requests => requests as f64 * 1e3,
        }
    }

    /// Returns true if all values are finite and not negative.
    pub fn is_sound(&self) -> bool {
        let all = [self.bandwidth(), self.iops.0, self.runtime.0];
        all.iter().all(|value| finite_non_negative(*value).is_some())
    }

    /// Returns the completion latencies, and the latencies from submission to completion.
    pub fn latencies(&self) -> [FioLatency; 2] {
        let first = |new: &FioLatency, old: &FioLatency| match new.is_present() {
            true => new.counted(self.total_ios),
            false => old.in_nanoseconds().counted(self.total_ios),
        };
        [first(&self.clat_ns, &self.clat), first(&self.lat_ns, &self.lat)]
    }
}

impl FioLatency {
    pub fn is_present(&self) -> bool {
        self.count.map_or(self.mean.0 > 0.0 || self.max.0 > 0.0, |count| count > 0)
    }

    pub fn has_shape(&self) -> bool {
        self.is_present() && !(self.percentile.is_empty() && self.bins.is_empty())
    }

    /// Adds the number of requests, which versions before 3.19 do not print.
    pub fn counted(&self, requests: u64) -> Self {
        let count = self.count.or(self.is_present().then_some(requests.max(1)));
        Self { count, ..self.clone() }
    }

    /// Converts from microseconds. The bins are numbered instead of named by times.
    pub fn in_nanoseconds(&self) -> Self {
        let nanos = |value: Number| Number(value.0 * 1e3);
        let percentile = self.percentile.iter().map(|(name, value)| (name.clone(), nanos(*value)));
        Self {
            max: nanos(self.max),
            mean: nanos(self.mean),
            count: self.count,
            percentile: percentile.collect(),
            bins: BTreeMap::new(),
        }
    }
}

impl FioOutput {
    /// Lists the jobs of all hosts without their sum.
    pub fn unite(&mut self) {
        let is_sum = |job: &FioJob| job.name == ALL_CLIENTS;
        if !self.clients.iter().all(is_sum) {
            self.clients.retain(|job| !is_sum(job));
        }
        self.jobs.append(&mut self.clients);
    }

    /// Returns the time of the start in seconds since 1970, to a second.
    pub fn began(&self) -> Option<u64> {
        let starts = self.jobs.iter().map(|job| job.job_start / 1000);
        let exact = starts.filter(|start| since_1970(*start).is_some()).min();
        let elapsed = self.jobs.iter().map(|job| job.elapsed.max(job.ran() as u64)).max();
        let began = self.timestamp.checked_sub(elapsed.unwrap_or(0));
        exact.or(began.filter(|began| since_1970(*began).is_some()))
    }

    /// Returns true if results start again after a time.
    pub fn has_ramp(&self) -> bool {
        self.jobs.iter().any(|job| job_options(&self.global, job).is_on("ramp_time"))
    }

    /// Returns true if this is a later report of the same run.
    pub fn continues(&self, before: &Self) -> bool {
        let pairs = || self.jobs.iter().zip(&before.jobs);
        let is_same = |(one, other): (&FioJob, &FioJob)| {
            let start = [one.job_start, other.job_start];
            let starts = start[0] == start[1] || start.contains(&0);
            let [own, its] = [job_options(&self.global, one), job_options(&before.global, other)];
            let is_work = own.identity(None) == its.identity(None) && own.places() == its.places();
            one.name == other.name && one.groupid == other.groupid && starts && is_work
        };
        // A job that made no progress has ended, so its results are unchanged.
        let has_grown = |(one, other): (&FioJob, &FioJob)| match one.bytes() > other.bytes() {
            true => one.ran() >= other.ran(),
            false => one.results() == other.results(),
        };
        if self.jobs.len() != before.jobs.len() || !pairs().all(is_same) {
            return false;
        }
        match (self.began(), before.began()) {
            _ if pairs()
                .any(|(one, other)| one.job_start == other.job_start && one.job_start > 0) =>
            {
                true
            }
            (Some(one), Some(other)) => {
                one.abs_diff(other) <= 1 && (self.has_ramp() || pairs().all(has_grown))
            }
            _ => {
                pairs().all(has_grown) && pairs().any(|(one, other)| one.ran() > other.ran() * 1.02)
            }
        }
    }
}

/// Returns the options of a job, with the global ones of its host.
pub fn job_options(global: &GlobalOptions, job: &FioJob) -> Options {
    let own = job.options.clone().unwrap_or_default();
    let global = match global {
        GlobalOptions::One(global) => Some(global),
        GlobalOptions::PerHost(hosts) => hosts.get(&job.hostname),
    };
    let mut all = match global {
        Some(global) => global.with(own),
        None => own,
    };
    // A job without a direction reads.
    if job.options.is_some() && all.get("rw").is_none() && !job.write.did_something() {
        all.insert("rw", "read");
    }
    all
}
