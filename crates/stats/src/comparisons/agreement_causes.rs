//! Finds measured differences between two campaigns in a phase on whose order they disagree:
//! flushes, bytes read and written, and whether a contender was limited by the processor or by the
//! disk.

use model::Metric;
use serde::Serialize;

use crate::{Analysis, ResultRow};

/// Minimum ratio of two values that count as different.
const MIN_CAUSE_RATIO: f64 = 1.5;
/// Number of bytes above which a difference can be a cause. Fewer bytes are only one or a few
/// requests.
const FEW_BYTES: f64 = 65_536.0;
/// Processor time above which a phase is processor-bound, in percent of one processor.
const PROCESSOR: f64 = 80.0;
/// Processor time below which a phase mostly waits, in percent of one processor.
const WAITS: f64 = 50.0;

/// A difference between two campaigns.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DisagreementCause {
    /// A contender flushes the disk's cache in only one of them.
    Flushes {
        /// Name of the contender.
        contender: String,
        /// Number of flushes in each.
        times: [f64; 2],
    },
    /// A contender moves many more bytes in one of them.
    Moved {
        /// Name of the contender.
        contender: String,
        /// The metric: bytes read or bytes written.
        metric: Metric,
        /// Bytes in each.
        bytes: [f64; 2],
    },
    /// A contender is busy computing in one of them, and waits in the other.
    Processor {
        /// Name of the contender.
        contender: String,
        /// Processor time as a share of elapsed time, in percent of one processor, in each.
        share: [f64; 2],
    },
}

/// Returns the differences of two contenders in the phase of a row.
pub(super) fn causes(
    row: &ResultRow,
    contenders: [&str; 2],
    sides: [&Analysis; 2],
) -> Vec<DisagreementCause> {
    contenders.into_iter().flat_map(|contender| of_contender(row, contender, sides)).collect()
}

fn of_contender(row: &ResultRow, contender: &str, sides: [&Analysis; 2]) -> Vec<DisagreementCause> {
    let both = |metric: Metric| {
        let [first, second] = sides.map(|side| median_of(side, row, contender, metric));
        first.zip(second).map(|(a, b)| [a, b])
    };
    let name = || contender.to_owned();
    let flushes = both(Metric::DeviceFlushes)
        .filter(|times| (times[0] == 0.0) != (times[1] == 0.0))
        .map(|times| DisagreementCause::Flushes { contender: name(), times });
    let moved = [Metric::DeviceRead, Metric::DeviceWritten].map(|metric| {
        let bytes = both(metric).filter(|bytes| is_unlike(*bytes))?;
        Some(DisagreementCause::Moved { contender: name(), metric, bytes })
    });
    let processor = both(Metric::Cpu).map(|agent| {
        let driver = both(Metric::CpuDriver).unwrap_or_default();
        [agent[0] + driver[0], agent[1] + driver[1]]
    });
    let processor = processor
        .filter(|[first, second]| first.max(*second) > PROCESSOR && first.min(*second) < WAITS);
    let processor =
        processor.map(|share| DisagreementCause::Processor { contender: name(), share });
    let moved = moved.into_iter().flatten();
    flushes.into_iter().chain(moved).chain(processor).collect()
}

fn is_unlike([first, second]: [f64; 2]) -> bool {
    let (least, most) = (first.min(second), first.max(second));
    most > FEW_BYTES && most > MIN_CAUSE_RATIO * least
}

/// Returns the median of a metric for a contender of a campaign, in the phase of a row.
fn median_of(analysis: &Analysis, row: &ResultRow, contender: &str, metric: Metric) -> Option<f64> {
    let is_same = |other: &&ResultRow| {
        (&other.suite, &other.test, &other.phase) == (&row.suite, &row.test, &row.phase)
            && other.metric == metric
    };
    let row = analysis.rows.iter().find(is_same)?;
    let result = row.results.iter().find(|r| r.contender == contender)?;
    Some(result.estimate?.median)
}
