//! Parses the output of `fio --output-format=json` and `json+`: a test `fio` whose phases are the
//! jobs.
//!
//! Source of the format: fio(1) and the source of fio 2.0.10 to 3.42 (`stat.c`, `client.c`).
//!
//! | part | meaning |
//! |---|---|
//! | bandwidth | `bw_bytes`, or `bw` in KiB/s before 3.1 |
//! | latency | `clat_ns` and `lat_ns` in nanoseconds, without `N` before 3.19; `clat` and `lat` in microseconds before 3.0 |
//! | `mixed` | reads and writes together (`unified_rw_reporting`) |
//! | `client_stats` | jobs of several hosts, and their sum `All clients` |
//! | `usr_cpu` | mean of all threads that an entry reports |
//! | `timestamp` | time of the report, after the jobs |
//!
//! A text contains a document for each run. With `--status-interval`, a run has several, and each
//! contains all results so far. A bin of json+ is named by a time within it, and contains the number
//! of requests that took about that long; the mean and the maximum are exact. Threads of one job
//! (equal name, group, place and options) are added up, as `group_reporting` does. Percentiles of
//! several threads cannot be combined, but their bins can. Jobs with the same name but a different
//! group or workload are separate phases.

mod output;

use std::collections::{BTreeMap, BTreeSet};

use model::{ImportedResult, LatencyBucket, Metric, Nanos, errno_name};

use crate::campaign_builder::{CampaignBuilder, StatedNames, failed_value, ok_value};
use crate::formats::fio::output::{
    FioDirection, FioJob, FioLatency, FioOutput, PERCENTILES, SYNCS, job_options,
};
use crate::formats::fio_options::Options;
use crate::parse::number::{finite_non_negative, since_1970};
use crate::parse::place::Place;
use crate::parse::text::{as_utf8, shortened};
use crate::{ImportError, InputFormat, NamingOptions, ParsedInput};

/// Maximum size of the options of all jobs, with the global options of each.
const MAX_OPTIONS_SIZE: usize = 64 << 20;
/// Maximum number of options of a phase in a title.
const MAX_DESCRIBED: usize = 16;
const VERSION: &str = "\"fio version\"";
/// Returns true for a line of fio's terse or normal output.
pub fn is_other_output(line: &str) -> bool {
    is_terse(line) || line.contains(": (groupid=") && line.contains(": err=")
}

/// Returns true for a line of fio's terse output.
fn is_terse(line: &str) -> bool {
    matches!(line.as_bytes(), [b'2'..=b'5', b';', ..])
        && (line[1..].starts_with(";fio-") || line.matches(';').count() > 40)
}

/// Reads the jobs of all runs.
pub fn read(bytes: &[u8], naming: &NamingOptions) -> Result<ParsedInput, ImportError> {
    let text = without_nan(as_utf8(bytes)?);
    let mut gathering = CampaignBuilder::new(InputFormat::Fio, "fio", naming);
    for (before, output) in runs(&text, &mut gathering)? {
        gathering.set_program(&output.version.replacen("fio-", "fio ", 1));
        gathering.set_started(output.began().and_then(since_1970));
        let signal = ["terminating on signal ", "got signal="].iter().find_map(|what| {
            let (_, behind) = before.split_once(what)?;
            behind.split(|c: char| !c.is_ascii_digit()).next()
        });
        run(&mut gathering, &output, signal)?;
    }
    gathering.finish()
}

/// Replaces numbers that JSON does not have.
fn without_nan(text: &str) -> String {
    let mut text = text.to_owned();
    for none in ["-nan", "nan", "-inf", "inf"] {
        for end in [",", "\n", " ", "}"] {
            let found = format!(": {none}{end}");
            if text.contains(&found) {
                text = text.replace(&found, &format!(": null{end}"));
            }
        }
    }
    text
}

/// Returns the last report of each run, with the text before it.
fn runs<'a>(
    text: &'a str,
    gathering: &mut CampaignBuilder<'_>,
) -> Result<Vec<(&'a str, FioOutput)>, ImportError> {
    let mut all: Vec<(&str, FioOutput)> = Vec::new();
    let (mut from, mut options) = (0, 0);
    while let Some(key) = text[from..].find(VERSION) {
        let before = &text[from..from + key];
        let start = from
            + before.trim_end().strip_suffix('{').map_or_else(|| line_of_brace(before), str::len);
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter();
        match values.next() {
            Some(Ok(mut output)) => {
                FioOutput::unite(&mut output);
                let each = output.jobs.iter().map(|job| job_options(&output.global, job).len());
                options += each.sum::<usize>();
                if options > MAX_OPTIONS_SIZE {
                    let what =
                        "the options of all its jobs have more than 64 MiB: import it in parts";
                    return Err(ImportError::in_file(what));
                }
                let before = &text[from..start];
                from = (start + values.byte_offset()).max(from + key + VERSION.len());
                match all.last_mut() {
                    Some(last) if FioOutput::continues(&output, &last.1) => {
                        gathering.skip_with_reason(
                            "an earlier report of a run (--status-interval): the last one counts",
                        );
                        *last = (before, output);
                    }
                    _ => all.push((before, output)),
                }
            }
            Some(Err(error)) if error.is_eof() && !all.is_empty() => {
                gathering.skip_with_reason("the last report, which is cut off");
                break;
            }
            Some(Err(error)) => {
                let line = text[..start].matches('\n').count() + error.line();
                return Err(ImportError::at_line(line, model::json_error_cause(&error)));
            }
            None => break,
        }
    }
    let other = || text.lines().find(|line| is_other_output(line.trim()));
    match (all.is_empty(), other()) {
        (false, _) => Ok(all),
        (true, Some(line)) => {
            let kind = if is_terse(line.trim()) { "terse" } else { "normal" };
            Err(ImportError::in_file(format!(
                "it is fio's {kind} output, which lacks options of its jobs; run fio with --output-format=json"
            )))
        }
        (true, None) => {
            Err(ImportError::in_file("there is no JSON in it; run fio with --output-format=json"))
        }
    }
}

/// Returns the place of the first brace that begins a line, or the end.
fn line_of_brace(text: &str) -> usize {
    let lines = text.split_inclusive('\n');
    lines.take_while(|line| !line.trim_start().starts_with('{')).map(str::len).sum()
}

/// A thread of a job.
pub struct Thread<'a, T> {
    pub name: &'a str,
    pub group: i64,
    /// Directory or device.
    pub place: String,
    /// Options that decide the work.
    pub identity: String,
    pub of: T,
}

/// Groups the threads of each job, in the order of their first threads. Each group comes with the
/// text that distinguishes it from others of the same name.
pub fn split_jobs<'a, T>(threads: impl Iterator<Item = Thread<'a, T>>) -> Vec<(String, Vec<T>)> {
    let mut places = BTreeMap::new();
    let mut alike: BTreeMap<(&str, String, String), u32> = BTreeMap::new();
    let mut all: Vec<(String, Vec<T>)> = Vec::new();
    for Thread { name, group, place, identity, of } in threads {
        let key = (name, group, place.clone(), identity.clone());
        let at = *places.entry(key).or_insert(all.len());
        if let Some((_, known)) = all.get_mut(at) {
            known.push(of);
            continue;
        }
        // The group number cannot be used: it would differ between files with different preceding
        // jobs.
        let before = alike.entry((name, place, identity.clone())).or_insert(0);
        *before += 1;
        all.push((format!("{identity}, time {before}"), vec![of]));
    }
    all
}

/// Adds the jobs of one run.
fn run(
    gathering: &mut CampaignBuilder<'_>,
    output: &FioOutput,
    signal: Option<&str>,
) -> Result<(), ImportError> {
    let jobs = output.jobs.iter().map(|job| {
        let options = job_options(&output.global, job);
        let requests =
            job.sides().iter().fold(0_u64, |sum, (_, side)| sum.saturating_add(side.total_ios));
        let request = (job.bytes() as u64).checked_div(requests);
        Thread {
            name: &job.name,
            group: job.groupid,
            place: options.places().join(" "),
            identity: options.identity(request),
            of: (job, options),
        }
    });
    let jobs = split_jobs(jobs);
    let is_alone = jobs.len() == 1;
    for (differs_in, threads) in jobs {
        let Some((first, options)) = threads.first() else { continue };
        let entries: Vec<&FioJob> = threads.iter().map(|(job, _)| *job).collect();
        let hosts: BTreeSet<&str> =
            entries.iter().filter_map(|job| job.hostname.as_deref()).collect();
        let differs_in = match hosts.len() {
            0 | 1 => differs_in,
            several => format!("{differs_in}, hosts {several}"),
        };
        let all = (options.number("numjobs").max(1.0) * hosts.len().max(1) as f64)
            .max(entries.len() as f64);
        let job = Job { name: &first.name, entries, options, differs_in, threads: all };
        job.add(gathering, signal, is_alone)?;
    }
    Ok(())
}

/// A job with all its threads.
struct Job<'a> {
    name: &'a str,
    entries: Vec<&'a FioJob>,
    options: &'a Options,
    differs_in: String,
    /// Number of threads. An entry may report several.
    threads: f64,
}

impl Job<'_> {
    fn add(
        &self,
        gathering: &mut CampaignBuilder<'_>,
        signal: Option<&str>,
        is_alone: bool,
    ) -> Result<(), ImportError> {
        let places = self.options.places();
        if places.len() > 1 {
            gathering.skip_with_reason(format!(
                "the places of `{}`, because it used several: {}",
                self.name,
                places.join(", ")
            ));
        }
        let exact = places.join(" ");
        let directory = (places.len() == 1).then(|| exact.clone());
        let place = (!exact.is_empty()).then_some(Place { directory, exact, test: None });
        let contender = gathering.contender(&StatedNames { place, ..StatedNames::default() })?;
        let test = gathering.test("fio");
        let did = |name: &str| self.entries.iter().any(|job| job.side(name).did_something());
        let split = ["read", "write", "trim"].into_iter().filter(|side| did(side));
        let mut sides: Vec<&str> = split.collect();
        if sides.is_empty() && did("mixed") {
            sides.push("mixed");
        }
        let cause = self.failure().or_else(|| self.interruption(signal, is_alone));
        if sides.is_empty() && cause.is_none() {
            gathering.skip_with_reason(format!("job `{}`, which did no request", self.name));
        }
        if sides.is_empty() && cause.is_some() {
            sides.extend(self.options.sides());
        }
        let planned =
            self.options.get("rw").map_or(sides.clone(), |_| self.options.sides().to_vec());
        for side in &sides {
            // A job that verifies its data also reads.
            let called = match planned == [*side] {
                true => self.name.to_owned(),
                false => format!("{}-{side}", self.name),
            };
            let (is_total, latency) = self.latency(side);
            let differs_in =
                format!("{}{}", self.differs_in, if is_total { ", total" } else { "" });
            let phase = gathering.unique_phase_name(&test, &called, &differs_in);
            gathering.describe_phase(&test, &phase, self.described(&differs_in));
            if is_total {
                gathering.skip_with_reason(format!(
                    "completion latencies of {phase}: fio measured them with submission (lat), and these are shown"
                ));
            }
            let (group, ranked_by) = self.options.purpose(side);
            let figure = match &cause {
                Some(cause) => failed_value(&contender, &test, &phase, cause.as_str()),
                None => {
                    let values = self.values(gathering, (side, ranked_by), &phase, &latency)?;
                    let latency = buckets(&latency);
                    ImportedResult { latency, ..ok_value(&contender, &test, &phase, values) }
                }
            };
            let too_fast = cause.is_none() && self.sides(side).all(FioDirection::is_too_fast);
            if too_fast {
                gathering.set_primary_metric(&test, &phase, ranked_by);
            }
            gathering.add(0, ImportedResult { group, too_fast, ..figure })?;
        }
        Ok(())
    }

    /// Returns the options for a title: direction, size of requests, depth, and the others.
    fn described(&self, differs_in: &str) -> Vec<String> {
        const FIRST: [&str; 4] = ["rw ", "bs ", "iodepth ", "numjobs "];
        let parts = differs_in.split(", ").filter(|part| !part.is_empty() && *part != "time 1");
        // fio omits its default size.
        let is_default =
            self.options.get("rw").is_some() && !parts.clone().any(|part| part.starts_with("bs"));
        let parts = parts.chain(is_default.then_some("bs 4096"));
        let rank = |part: &&str| FIRST.iter().position(|name| part.starts_with(name));
        let (mut first, others): (Vec<&str>, Vec<&str>) =
            parts.partition(|part| rank(part).is_some());
        first.sort_by_key(rank);
        let shown = |part: &str| match part.split_once(' ') {
            Some(("rw", direction)) => shortened(direction),
            Some(("bs", size)) => size
                .trim_end_matches('b')
                .parse()
                .map_or_else(|_| shortened(part), |bytes: u64| model::Bytes(bytes).to_string()),
            _ => shortened(part),
        };
        first.into_iter().chain(others).take(MAX_DESCRIBED).map(shown).collect()
    }

    fn sides(&self, name: &str) -> impl Iterator<Item = &FioDirection> {
        self.entries.iter().map(move |job| job.side(name))
    }

    /// Returns the error of a thread, or of a request after which it continued.
    fn failure(&self) -> Option<String> {
        if let Some(error) = self.entries.iter().map(|job| job.error).find(|error| *error != 0) {
            return Some(error_text(error));
        }
        let failed = self.entries.iter().fold(0_u64, |sum, job| sum.saturating_add(job.total_err));
        let first = self.entries.iter().map(|job| job.first_error).find(|error| *error != 0);
        let cause = error_text(first.unwrap_or(0));
        (failed > 0).then(|| format!("{failed} requests failed, the first with: {cause}"))
    }

    /// Returns the reason if the job was stopped before it was done.
    fn interruption(&self, signal: Option<&str>, is_alone: bool) -> Option<String> {
        const NEARLY: f64 = 0.9;
        let ran = self.entries.iter().map(|job| job.ran()).fold(0.0, f64::max);
        let limit = self.options.seconds("runtime");
        let whole = self.options.number("io_size").max(self.options.number("size")) * self.threads;
        let bytes: f64 = self.entries.iter().map(|job| job.bytes()).sum();
        let share = if whole > 0.0 { bytes / whole } else { 0.0 };
        // A job that transferred more than its size runs for a fixed time.
        let is_done = if limit > 0.0 { (0.99..1.01).contains(&share) } else { share >= 0.99 };
        if ran >= limit * NEARLY && limit > 0.0 || is_done && !self.options.is_on("time_based") {
            return None;
        }
        let of = if limit > 0.0 { format!(" of {limit} s") } else { String::new() };
        let ends_early = ["number_ios", "steadystate", "read_iolog", "fill_device", "exitall"];
        let is_cut = self.options.is_on("time_based") && limit > 0.0 && is_alone;
        match signal {
            Some(signal) => Some(format!("interrupted by signal {signal} after {ran} s{of}")),
            None if is_cut && !ends_early.iter().any(|name| self.options.is_on(name)) => {
                Some(format!("ended after {ran} s{of}"))
            }
            None => None,
        }
    }

    /// Returns the latencies of each thread: of completion, or in total if fio printed only these.
    /// Returns true for the latter.
    fn latency(&self, side: &str) -> (bool, Vec<FioLatency>) {
        let both: Vec<[FioLatency; 2]> = self.sides(side).map(FioDirection::latencies).collect();
        let has = |at: usize, what: fn(&FioLatency) -> bool| both.iter().any(|of| what(&of[at]));
        let [known, shaped] = [FioLatency::is_present, FioLatency::has_shape];
        let is_total = has(1, shaped) && !has(0, shaped) || has(1, known) && !has(0, known);
        let chosen = both.into_iter().map(|[completion, total]| match is_total {
            true => total,
            false => completion,
        });
        (is_total, chosen.collect())
    }

    /// Returns the values of a side, the ranking one first.
    fn values(
        &self,
        gathering: &mut CampaignBuilder<'_>,
        (side, ranked_by): (&str, Metric),
        phase: &str,
        latency: &[FioLatency],
    ) -> Result<Vec<(Metric, f64)>, ImportError> {
        if !self.sides(side).all(FioDirection::is_sound) {
            let what = format!("a rate of {phase} is no number from 0 on: the file is damaged");
            return Err(ImportError::in_file(what));
        }
        let mut values = self.speed(side, ranked_by);
        let has_bins = latency.iter().any(|thread| !thread.bins.is_empty());
        if latency.len() > 1 && !has_bins && latency.iter().any(FioLatency::has_shape) {
            gathering.skip_with_reason(
                "percentiles of jobs with several threads, which cannot be combined; use group_reporting or json+",
            );
        }
        let percentiles: &[_] = if has_bins { &[] } else { &PERCENTILES };
        let mean = Some(Metric::LatencyMean);
        values.extend(latencies(latency, percentiles, mean, Metric::LatencyMax));
        let cpu: f64 = self.entries.iter().map(|job| job.usr_cpu.0 + job.sys_cpu.0).sum();
        let cpu = finite_non_negative(cpu * self.threads / self.entries.len() as f64);
        values.extend(cpu.map(|share| (Metric::Cpu, share)));
        if side == "write" || side == "mixed" {
            let syncs: Vec<FioLatency> = self
                .entries
                .iter()
                .map(|job| job.sync.lat_ns.counted(job.sync.total_ios))
                .collect();
            values.extend(latencies(&syncs, &SYNCS, None, Metric::SyncMax));
        }
        Ok(values)
    }

    /// Returns the rates of all threads together, the ranking one first, and the time of the slowest
    /// thread. Returns nothing if the clock was too coarse.
    fn speed(&self, side: &str, ranked_by: Metric) -> Vec<(Metric, f64)> {
        if self.sides(side).all(FioDirection::is_too_fast) {
            return Vec::new();
        }
        let longest = self.sides(side).map(|side| side.runtime.0).fold(0.0, f64::max);
        // All work in the time of the slowest thread, as with `group_reporting`.
        let total = |rate: fn(&FioDirection) -> f64, work: fn(&FioDirection) -> f64| {
            let sides = self.sides(side);
            finite_non_negative(match longest > 0.0 && self.entries.len() > 1 {
                true => sides.map(work).sum::<f64>() / longest,
                false => sides.map(rate).sum(),
            })
        };
        let bytes = total(FioDirection::bandwidth, FioDirection::thousandfold_bytes);
        let bytes = bytes.map(|rate| (Metric::Throughput, rate));
        let requests = total(|side| side.iops.0, FioDirection::thousandfold_requests);
        let requests = requests.map(|rate| (Metric::Rate, rate));
        let rates = match ranked_by {
            Metric::Rate => [requests, bytes],
            _ => [bytes, requests],
        };
        let time = finite_non_negative(longest / 1e3).map(|time| (Metric::Elapsed, time));
        rates.into_iter().flatten().chain(time).collect()
    }
}

/// Describes an error number: `No space left on device (ENOSPC)`.
fn error_text(number: i64) -> String {
    const EILSEQ: i64 = 84;
    if number == EILSEQ {
        return "data read back was not what was written (EILSEQ)".to_owned();
    }
    let known = i32::try_from(number).ok().zip(errno_name(number));
    known.map_or_else(
        || format!("fio: error {number}"),
        |(number, name)| {
            let text = std::io::Error::from_raw_os_error(number).to_string();
            format!("{} ({name})", text.split(" (os error").next().unwrap_or_default())
        },
    )
}

/// Returns the printed latencies, in seconds. Percentiles are available only for a single thread.
fn latencies(
    threads: &[FioLatency],
    percentiles: &[(f64, Metric)],
    mean: Option<Metric>,
    max: Metric,
) -> Vec<(Metric, f64)> {
    let count = |latency: &FioLatency| latency.count.unwrap_or(0) as f64;
    let total: f64 = threads.iter().map(count).sum();
    if total == 0.0 {
        return Vec::new();
    }
    let longest = threads.iter().map(|one| one.max.0).fold(0.0, f64::max);
    let mut nanos = Vec::new();
    if let [one] = threads {
        let value = |share: f64| {
            let mut known = one.percentile.iter();
            let is_it =
                |name: &str| name.parse::<f64>().is_ok_and(|one| (one - share).abs() < 1e-6);
            known.find(|(name, _)| is_it(name)).map(|(_, value)| value.0)
        };
        // A percentile is the end of a bin, which may be beyond the longest latency.
        nanos.extend(
            percentiles
                .iter()
                .filter_map(|(share, metric)| Some((*metric, value(*share)?.min(longest)))),
        );
    }
    if let Some(metric) = mean {
        let all: f64 = threads.iter().map(|one| one.mean.0 * count(one)).sum();
        nanos.push((metric, all / total));
    }
    nanos.push((max, longest));
    let seconds = nanos.into_iter();
    seconds
        .filter_map(|(metric, nanos)| Some((metric, finite_non_negative(nanos / 1e9)?)))
        .collect()
}

/// Returns the merged bins of all threads, in ascending order.
fn buckets(threads: &[FioLatency]) -> Vec<LatencyBucket> {
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
