//! `fsarena disk validate`: compares disk models with the published values of the real disks.

use std::process::ExitCode;

use config::{DataSheetMetric, DiskEntry};
use model::{DiskModel, FlashState, Mechanism, Rotating};
use serde_json::json;
use simdisk::{DiskError, RequestKind, metrics};

use crate::args::cli::GlobalArgs;
use crate::args::disk_args::ValidateArgs;
use crate::output::exit::{ExitReason, UsageError};
use crate::output::text::{print, print_json, print_unwrapped, table};
use crate::paths;

/// One metric of a disk.
struct ValidationRow {
    disk: String,
    metric: &'static str,
    unit: ValidationUnit,
    published: f64,
    model: f64,
}

#[derive(Clone, Copy)]
enum ValidationUnit {
    Seconds,
    BytesASecond,
    PerSecond,
    Times,
}

/// Runs the requested measurements.
pub fn run(args: &ValidateArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let catalog = paths::catalog(globals)?;
    let mut rows = Vec::new();
    for name in &args.disk {
        catalog.disk(name)?;
    }
    let is_asked = |disk: &&DiskEntry| args.disk.is_empty() || args.disk.contains(&disk.model.name);
    for disk in catalog.disks().filter(is_asked) {
        let measured =
            rows_of(disk).map_err(|error| UsageError(format!("{}: {error}", disk.model.name)))?;
        rows.extend(measured);
    }
    if globals.json {
        let rows = rows.iter().map(|row| {
            json!({"disk": row.disk, "metric": row.metric, "published": row.published, "model": row.model})
        });
        print_json(&rows.collect())?;
    } else if args.markdown {
        print_unwrapped(&markdown(&rows))?;
    } else {
        let lines: Vec<[String; 5]> = rows.iter().map(ValidationRow::cells).collect();
        print(&table(HEAD, &lines))?;
    }
    Ok(ExitReason::Success.into())
}

const HEAD: [&str; 5] = ["disk", "metric", "published", "model", "ratio"];

/// Returns the table as Markdown, for the documentation.
fn markdown(rows: &[ValidationRow]) -> String {
    let mut text = format!("| {} |\n|---|---|---|---|---|\n", HEAD.join(" | "));
    for row in rows {
        text += &format!("| {} |\n", row.cells().join(" | "));
    }
    text
}

impl ValidationRow {
    fn cells(&self) -> [String; 5] {
        [
            self.disk.clone(),
            self.metric.to_owned(),
            self.unit.shown(self.published),
            self.unit.shown(self.model),
            format!("{:.2}", self.model / self.published),
        ]
    }
}

impl ValidationUnit {
    fn shown(self, number: f64) -> String {
        match self {
            Self::Seconds if number >= 1e-3 => format!("{:.2} ms", number * 1e3),
            Self::Seconds => format!("{:.1} µs", number * 1e6),
            Self::BytesASecond => format!("{:.0} MB/s", number / 1e6),
            Self::PerSecond => format!("{number:.0}/s"),
            Self::Times => format!("{number:.2}"),
        }
    }
}

fn rows_of(disk: &DiskEntry) -> Result<Vec<ValidationRow>, DiskError> {
    let model = &disk.model;
    let row = |metric, unit, published, model_metric| ValidationRow {
        disk: model.name.clone(),
        metric,
        unit,
        published,
        model: model_metric,
    };
    let mut rows = Vec::new();
    for (metric, published) in &disk.published.metrics {
        let (words, unit) = words(*metric);
        rows.push(row(words, unit, *published, measured(disk, *metric)?));
    }
    match &model.mechanism {
        Mechanism::Rotating(numbers) => {
            let time = metrics::latency(model, RequestKind::Read)?;
            rows.push(row(
                "random read, by its parts",
                ValidationUnit::Seconds,
                by_parts(disk, numbers)?,
                time,
            ));
            if let Some(wait) = longest_wait(model, numbers)? {
                rows.push(row(
                    "longest wait in its queue, against its bound",
                    ValidationUnit::Seconds,
                    wait.bound,
                    wait.seen,
                ));
            }
        }
        Mechanism::Flash(numbers) => {
            let spare = f64::from(numbers.spare) / 1000.0;
            let is_published = |(metric, _): &(DataSheetMetric, f64)| {
                *metric == DataSheetMetric::WriteAmplification
            };
            if disk.published.metrics.iter().any(is_published) {
                return Ok(rows);
            }
            if let Some(amplified) = metrics::write_amplification(model)? {
                let words = "write amplification, random, against Agarwal and Marrow";
                rows.push(row(
                    words,
                    ValidationUnit::Times,
                    (1.0 + spare) / (2.0 * spare),
                    amplified,
                ));
            }
        }
        Mechanism::Ideal => {}
    }
    Ok(rows)
}

/// Waiting time of a request in a queue, in seconds.
struct Wait {
    seen: f64,
    bound: f64,
}

/// Returns the longest wait of a disk with a queue. Returns `None` if the queue has no bound on the
/// wait.
fn longest_wait(model: &DiskModel, numbers: &Rotating) -> Result<Option<Wait>, DiskError> {
    let bound = metrics::wait_bound(model.queue, numbers);
    let Some(bound) = bound.filter(|_| model.queue > 1) else {
        return Ok(None);
    };
    let seen = metrics::max_queue_wait(model)?;
    Ok(seen.map(|seen| Wait { seen: seen.as_secs_f64(), bound: bound.as_secs_f64() }))
}

/// Adds up command time, mean seek, half a revolution and the transfer of 4 KiB in the middle zone,
/// in seconds.
fn by_parts(disk: &DiskEntry, numbers: &Rotating) -> Result<f64, DiskError> {
    let turn = numbers.turn.as_secs_f64();
    let sectors: u32 = numbers.zones.iter().map(|zone| zone.sectors).sum();
    let track = f64::from(sectors) / numbers.zones.len() as f64;
    let command = disk.model.command.as_secs_f64();
    Ok(command + metrics::seek(&disk.model)? + turn / 2.0 + 8.0 / track * turn)
}

const fn words(metric: DataSheetMetric) -> (&'static str, ValidationUnit) {
    match metric {
        DataSheetMetric::SeekAverageRead => ("average seek", ValidationUnit::Seconds),
        DataSheetMetric::SustainedOuter => {
            ("sustained rate, outer edge", ValidationUnit::BytesASecond)
        }
        DataSheetMetric::SustainedInner => {
            ("sustained rate, inner edge", ValidationUnit::BytesASecond)
        }
        DataSheetMetric::RandomRead1 => ("random reads, 1 at a time", ValidationUnit::PerSecond),
        DataSheetMetric::RandomRead32 => ("random reads, 32 at a time", ValidationUnit::PerSecond),
        DataSheetMetric::RandomRead128 => {
            ("random reads, 128 at a time", ValidationUnit::PerSecond)
        }
        DataSheetMetric::RandomWrite1 => ("random writes, 1 at a time", ValidationUnit::PerSecond),
        DataSheetMetric::RandomWrite32 => {
            ("random writes, 32 at a time", ValidationUnit::PerSecond)
        }
        DataSheetMetric::RandomWriteSteady => {
            ("random writes, steady state", ValidationUnit::PerSecond)
        }
        DataSheetMetric::SequentialRead => ("reads in order", ValidationUnit::BytesASecond),
        DataSheetMetric::SequentialWrite => ("writes in order", ValidationUnit::BytesASecond),
        DataSheetMetric::ReadLatency1 => ("read of 4 KiB", ValidationUnit::Seconds),
        DataSheetMetric::WriteLatency1 => ("write of 4 KiB", ValidationUnit::Seconds),
        DataSheetMetric::WriteAmplification => {
            ("write amplification, random", ValidationUnit::Times)
        }
    }
}

fn measured(disk: &DiskEntry, metric: DataSheetMetric) -> Result<f64, DiskError> {
    use FlashState::{Fresh, Steady};
    use RequestKind::{Read, Write};
    let model = &disk.model;
    match metric {
        DataSheetMetric::SeekAverageRead => metrics::seek(model),
        DataSheetMetric::SustainedOuter | DataSheetMetric::SequentialRead => {
            metrics::sequential_bandwidth(model, Read, false)
        }
        DataSheetMetric::SustainedInner => metrics::sequential_bandwidth(model, Read, true),
        DataSheetMetric::RandomRead1 => metrics::random_iops(model, Read, 1, Steady),
        DataSheetMetric::RandomRead32 => metrics::random_iops(model, Read, 32, Steady),
        DataSheetMetric::RandomRead128 => metrics::random_iops(model, Read, 128, Steady),
        DataSheetMetric::RandomWrite1 => metrics::random_iops(model, Write, 1, Fresh),
        DataSheetMetric::RandomWrite32 => metrics::random_iops(model, Write, 32, Fresh),
        DataSheetMetric::RandomWriteSteady => metrics::random_iops(model, Write, 32, Steady),
        DataSheetMetric::SequentialWrite => metrics::sequential_bandwidth(model, Write, false),
        DataSheetMetric::ReadLatency1 => metrics::latency(model, Read),
        DataSheetMetric::WriteLatency1 => metrics::latency(model, Write),
        DataSheetMetric::WriteAmplification => {
            Ok(metrics::write_amplification(model)?.unwrap_or_default())
        }
    }
}
