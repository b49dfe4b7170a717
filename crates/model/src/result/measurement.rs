//! Computes the measurements of a phase from its raw counts. Each is one number with unit and
//! direction.

use serde::{Deserialize, Serialize};

use crate::{
    CacheState, CpuTime, HostWork, LatencyBucket, Metric, Nanos, PhaseResult, SequenceCost, Status,
    Survival, SyncAtEnd,
};

/// Fewest bytes whose compression is a result: with fewer, metadata take more than a few per cent.
const FEWEST_FOR_COMPRESSION: f64 = (1 << 20) as f64;
/// Shortest phase with usable processor time of the machine: twenty clock ticks.
const SHORTEST_FOR_TICKS: Nanos = Nanos(200_000_000);

/// One metric of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measurement {
    /// The metric.
    pub metric: Metric,
    /// The number, in the metric's unit.
    pub value: f64,
    /// Cache state of the phase.
    pub cache: CacheState,
}

impl PhaseResult {
    /// Returns all numbers derived from the counts of the phase. Returns an empty list if the phase
    /// is not `ok`.
    pub fn measurements(&self) -> Vec<Measurement> {
        if self.status != Status::Ok {
            return Vec::new();
        }
        let mut numbers = Vec::with_capacity(20);
        // For imported results, counts of zero are unknown values and not measurements.
        match self.ends == SyncAtEnd::Unknown {
            false => self.follow_from_counts(&mut numbers),
            true => self.latencies(&mut numbers),
        }
        let stated = self.stated.iter().map(|one| (one.metric, one.value));
        // A printed time is that of a part of the command; a rate would be that of the whole.
        let is_part = stated.clone().any(|(metric, _)| metric == Metric::Elapsed);
        numbers.retain(|(metric, _)| {
            stated.clone().all(|(other, _)| other != *metric)
                && !(is_part && matches!(metric, Metric::Rate | Metric::CpuPerOperation))
        });
        numbers.extend(stated);
        numbers
            .into_iter()
            .map(|(metric, value)| Measurement { metric, value, cache: self.cache })
            .collect()
    }

    fn follow_from_counts(&self, numbers: &mut Vec<(Metric, f64)>) {
        self.speed(numbers);
        self.cost(numbers);
        self.latencies(numbers);
        self.over_time(numbers);
        self.until_first_finish(numbers);
        self.device_work(numbers);
        self.memory_held(numbers);
        self.pieces(numbers);
    }

    /// Returns the value of the primary metric, if any.
    pub fn primary_value(&self) -> Option<f64> {
        let wanted = self.primary_metric;
        self.measurements().into_iter().find(|m| m.metric == wanted).map(|m| m.value)
    }

    /// Returns the number of passes over which the counts are summed.
    pub fn iterations_counted(&self) -> f64 {
        self.passes.len().max(1) as f64
    }

    fn speed(&self, numbers: &mut Vec<(Metric, f64)>) {
        let seconds = self.elapsed.as_secs_f64();
        match self.primary_metric {
            Metric::Capacity => {
                if let (Some(space), Some(size)) = (self.space_after, self.device_size)
                    && size.0 > 0
                {
                    numbers
                        .push((Metric::Capacity, 100.0 * space.available.0 as f64 / size.0 as f64));
                }
                return;
            }
            Metric::Survived => {
                let cuts = self.survival.as_ref().map(Survival::share);
                let faults = || self.disk_faults.as_ref()?.share();
                let full = || self.full.as_ref()?.share();
                let share = cuts.or_else(faults).or_else(full);
                numbers.extend(share.map(|share| (Metric::Survived, share)));
                // The cost of the same steps if nothing fails.
                let cost = self.survival.as_ref().and_then(|survival| survival.cost.as_ref());
                if let Some([milliseconds, flushes, written]) = cost.map(SequenceCost::means) {
                    numbers.push((Metric::LatencyMean, milliseconds / 1e3));
                    numbers.push((Metric::DeviceFlushes, flushes));
                    numbers.push((Metric::DeviceWritten, written * 1024.0));
                }
                return;
            }
            Metric::Supported => {
                numbers.push((Metric::Supported, 1.0));
                return;
            }
            _ => {}
        }
        // Totals are per pass; otherwise, a phase with more passes would seem slower. The time of a
        // role equals the time of its mix.
        if self.role_of.is_none() {
            numbers.push((Metric::Elapsed, seconds / self.iterations_counted()));
        }
        if seconds > 0.0 {
            if self.bytes.0 > 0 {
                numbers.push((Metric::Throughput, self.bytes.0 as f64 / seconds));
            }
            if self.operations > 0 {
                numbers.push((Metric::Rate, self.operations as f64 / seconds));
            }
        }
    }

    fn cost(&self, numbers: &mut Vec<(Metric, f64)>) {
        if self.elapsed.0 == 0 || self.role_of.is_some() {
            return;
        }
        let share = |time: Nanos| 100.0 * time.0 as f64 / self.elapsed.0 as f64;
        numbers
            .push((Metric::Cpu, share(Nanos(self.cpu.user.0.saturating_add(self.cpu.system.0)))));
        numbers.push((Metric::CpuDriver, share(self.cpu.driver)));
        // The counter has a resolution of 10 ms, which is too coarse for shorter phases.
        if self.elapsed >= SHORTEST_FOR_TICKS {
            numbers.push((Metric::CpuMachine, share(self.cpu.machine)));
        }
        let CpuTime { user, system, driver, .. } = self.cpu;
        if self.operations > 0 {
            let used = [user, system, driver].map(Nanos::as_secs_f64);
            let used = used.into_iter().sum::<f64>();
            numbers.push((Metric::CpuPerOperation, used / self.operations as f64));
        }
        let passes = self.iterations_counted();
        numbers.push((Metric::MinorFaults, self.faults.minor as f64 / passes));
        numbers.push((Metric::MajorFaults, self.faults.major as f64 / passes));
    }

    fn memory_held(&self, numbers: &mut Vec<(Metric, f64)>) {
        let Some(memory) = self.memory else { return };
        let held = [(Metric::MemoryKernel, memory.kernel), (Metric::MemoryDriver, memory.driver)];
        let held = held.into_iter();
        numbers.extend(held.filter_map(|(metric, bytes)| Some((metric, bytes?.0 as f64))));
    }

    fn pieces(&self, numbers: &mut Vec<(Metric, f64)>) {
        let Some(layout) = self.layout else { return };
        let score = layout.layout_score().map(|score| 100.0 * score);
        let found =
            [(Metric::ExtentsPerFile, layout.extents_per_file()), (Metric::LayoutScore, score)];
        let found = found.into_iter();
        numbers.extend(found.filter_map(|(metric, value)| Some((metric, value?))));
    }

    fn latencies(&self, numbers: &mut Vec<(Metric, f64)>) {
        for (buckets, mean, max) in [
            (&self.open, Metric::OpenMean, Metric::OpenMax),
            (&self.close, Metric::CloseMean, Metric::CloseMax),
        ] {
            if let Some(worst) = buckets.last() {
                numbers.push((mean, mean_of(buckets)));
                numbers.push((max, worst.0.as_secs_f64()));
            }
        }
        if let Some(worst) = self.sync.last() {
            for (metric, quantile) in
                [(Metric::SyncP50, 0.5), (Metric::SyncP95, 0.95), (Metric::SyncP99, 0.99)]
            {
                numbers.push((metric, quantile_of(&self.sync, quantile).as_secs_f64()));
            }
            numbers.push((Metric::SyncMax, worst.0.as_secs_f64()));
        }
        let Some(worst) = self.latency.last() else {
            return;
        };
        for (metric, quantile) in [
            (Metric::LatencyP50, 0.5),
            (Metric::LatencyP90, 0.9),
            (Metric::LatencyP95, 0.95),
            (Metric::LatencyP99, 0.99),
            (Metric::LatencyP999, 0.999),
            (Metric::LatencyP9999, 0.9999),
        ] {
            numbers.push((metric, quantile_of(&self.latency, quantile).as_secs_f64()));
        }
        numbers.push((Metric::LatencyMax, worst.0.as_secs_f64()));
        numbers.push((Metric::LatencyMean, mean_of(&self.latency)));
        for (metric, limit) in [
            (Metric::LatencyAbove2s, Nanos::from_secs(2)),
            (Metric::LatencyAbove10s, Nanos::from_secs(10)),
        ] {
            numbers.push((metric, percent_above(&self.latency, limit)));
        }
    }

    fn over_time(&self, numbers: &mut Vec<(Metric, f64)>) {
        let Some(timeline) = &self.timeline else { return };
        let stall = timeline.stall.map(|stall| (Metric::Stall, stall.length.as_secs_f64()));
        numbers.extend(stall);
        let Some(steady) = timeline.steady else { return };
        numbers.push((Metric::TimeToSteady, steady.from.as_secs_f64()));
        if self.bytes.0 > 0 {
            numbers.push((Metric::SteadyThroughput, steady.throughput));
        }
        numbers.push((Metric::SteadyRate, steady.rate));
    }

    /// Adds the speed of all hosts until the first of them has finished: the time in which all worked.
    fn until_first_finish(&self, numbers: &mut Vec<(Metric, f64)>) {
        let Some(first) = self.hosts.iter().map(|host| host.elapsed).min() else { return };
        let seconds = first.as_secs_f64();
        numbers.push((Metric::FirstFinish, seconds));
        let operations: f64 = self.hosts.iter().map(HostWork::until_first_finish).sum();
        if first.0 == 0 || operations == 0.0 || self.operations == 0 {
            return;
        }
        if self.bytes.0 > 0 {
            let each = self.bytes.0 as f64 / self.operations as f64;
            numbers.push((Metric::StonewallThroughput, operations * each / seconds));
        }
        numbers.push((Metric::StonewallRate, operations / seconds));
    }

    fn device_work(&self, numbers: &mut Vec<(Metric, f64)>) {
        if let Some(device) = self.device {
            let of_a_pass = |count: u64| count as f64 / self.iterations_counted();
            numbers.push((Metric::DeviceRead, of_a_pass(device.read_bytes.0)));
            numbers.push((Metric::DeviceWritten, of_a_pass(device.write_bytes.0)));
            numbers.push((Metric::DeviceFlushes, of_a_pass(device.flushes)));
            // If the phase ends before the data is on the device, the rest is written later.
            if self.bytes_written.0 > 0 && self.ends != SyncAtEnd::Call {
                let factor = device.write_bytes.0 as f64 / self.bytes_written.0 as f64;
                numbers.push((Metric::WriteAmplification, factor));
            }
        }
        if let (Some(before), Some(after)) = (self.space_before, self.space_after) {
            let taken = before.free.0 as f64 - after.free.0 as f64;
            numbers.push((Metric::SpaceTaken, taken));
            // Each pass replaces the files of the one before.
            let written = self.bytes_written.0 as f64 / self.iterations_counted();
            if self.content.is_some() && taken > 0.0 && written >= FEWEST_FOR_COMPRESSION {
                numbers.push((Metric::Compression, written / taken));
            }
        }
    }
}

/// Returns the number of operations in some buckets. The sum saturates, because imported reports
/// may contain any counts.
fn counted<'a>(buckets: impl Iterator<Item = &'a LatencyBucket>) -> u64 {
    buckets.map(|bucket| bucket.1).fold(0, u64::saturating_add)
}

/// Returns the upper end of the smallest bucket that reaches the given share of all operations.
pub(crate) fn quantile_of(buckets: &[LatencyBucket], quantile: f64) -> Nanos {
    let total = counted(buckets.iter());
    let wanted = ((total as f64 * quantile).ceil() as u64).max(1);
    let mut seen = 0_u64;
    for bucket in buckets {
        seen = seen.saturating_add(bucket.1);
        if seen >= wanted {
            return bucket.0;
        }
    }
    buckets.last().map_or(Nanos(0), |b| b.0)
}

/// Returns the mean of a histogram in seconds, with each operation at the upper end of its bucket.
///
/// The result exceeds the true mean by at most the width of a bucket, one part in a thousand.
fn mean_of(buckets: &[LatencyBucket]) -> f64 {
    let total = counted(buckets.iter());
    let sum: f64 = buckets.iter().map(|b| b.0.as_secs_f64() * b.1 as f64).sum();
    sum / total.max(1) as f64
}

/// Returns the percentage of operations whose bucket ends above the limit. The error is at most the
/// width of a bucket, one part in a thousand of the limit.
fn percent_above(buckets: &[LatencyBucket], limit: Nanos) -> f64 {
    let total = counted(buckets.iter());
    let above = counted(buckets.iter().filter(|b| b.0 > limit));
    100.0 * above as f64 / total.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;
    use crate::{
        Bytes, DeviceCounters, Iteration, KernelMemoryUse, Op, Phase, RemoveFile, ReportedValue,
    };

    #[test]
    fn quantiles_of_a_small_histogram() {
        let buckets = [
            LatencyBucket(Nanos(10), 50),
            LatencyBucket(Nanos(20), 49),
            LatencyBucket(Nanos(900), 1),
        ];
        assert_eq!(quantile_of(&buckets, 0.5), Nanos(10));
        assert_eq!(quantile_of(&buckets, 0.51), Nanos(20));
        assert_eq!(quantile_of(&buckets, 0.99), Nanos(20));
        assert_eq!(quantile_of(&buckets, 0.999), Nanos(900));
    }

    #[test]
    fn mean_and_slow_shares_of_a_small_histogram() {
        let buckets = [
            LatencyBucket(Nanos::from_secs(1), 5),
            LatencyBucket(Nanos::from_secs(2), 2),
            LatencyBucket(Nanos::from_secs(3), 2),
            LatencyBucket(Nanos::from_secs(11), 1),
        ];
        assert_eq!(mean_of(&buckets), 2.6);
        assert_eq!(percent_above(&buckets, Nanos::from_secs(2)), 30.0);
        assert_eq!(percent_above(&buckets, Nanos::from_secs(10)), 10.0);
    }

    fn blank() -> PhaseResult {
        PhaseResult::not_run(&Phase {
            name: "write".into(),
            cache: CacheState::Warm,
            sync_at_end: SyncAtEnd::Fsync,
            at_most: None,
            scaling: None,
            step: None,
            needs: None,
            from_next_host: false,
            op: Op::RemoveFile(RemoveFile { file: "f".into() }),
        })
    }

    #[test]
    fn power_cuts_have_the_cost_of_their_steps() {
        let cost =
            SequenceCost { recordings: 2, nanoseconds: 6_000_000, flushes: 8, written: 4096 };
        let mut result = PhaseResult { primary_metric: Metric::Survived, ..blank() };
        result.status = Status::Ok;
        let survival = Survival { cuts: 4, held: 3, cost: Some(cost), ..Survival::default() };
        result.survival = Some(survival);
        let value =
            |metric| result.measurements().iter().find(|m| m.metric == metric).unwrap().value;
        assert_eq!(value(Metric::LatencyMean), 0.003);
        assert_eq!((value(Metric::DeviceFlushes), value(Metric::DeviceWritten)), (4.0, 2048.0));
    }

    /// An imported report may contain any value.
    #[test]
    fn no_count_is_too_large() {
        let most = LatencyBucket(Nanos(u64::MAX), u64::MAX);
        let mut result = blank();
        result.elapsed = Nanos(u64::MAX);
        (result.cpu.user, result.cpu.system) = (Nanos(u64::MAX), Nanos(u64::MAX));
        result.latency = vec![most; 3];
        let numbers = result.measurements();
        assert!(numbers.iter().all(|number| number.value.is_finite()));
        let worst = numbers.iter().find(|n| n.metric == Metric::LatencyP50);
        assert_eq!(worst.unwrap().value, most.0.as_secs_f64());
    }

    #[test]
    fn a_printed_value_replaces_the_one_from_counts_and_leaves_the_others() {
        let mut result = blank();
        (result.elapsed, result.operations) = (Nanos::from_secs(2), 1);
        result.stated = vec![ReportedValue { metric: Metric::Rate, value: 300.0 }];
        let number = |metric| {
            let all = result.measurements();
            all.iter().filter(|m| m.metric == metric).map(|m| m.value).collect::<Vec<_>>()
        };
        assert_eq!(number(Metric::Rate), [300.0]);
        assert_eq!(number(Metric::Elapsed), [2.0]);
    }

    #[test]
    fn totals_are_per_pass_and_rates_over_all_passes() {
        let mut result = blank();
        result.elapsed = Nanos::from_secs(4);
        (result.operations, result.bytes) = (8, Bytes(4000));
        result.bytes_written = Bytes(4000);
        (result.faults.minor, result.faults.major) = (40, 4);
        result.device = Some(DeviceCounters {
            write_bytes: Bytes(8000),
            flushes: 4,
            ..DeviceCounters::default()
        });
        let pass = Iteration { elapsed: Nanos::from_secs(1), operations: 2, bytes: Bytes(1000) };
        result.passes = vec![pass; 4];
        let number = |metric| {
            let all = result.measurements();
            all.iter().find(|m| m.metric == metric).unwrap().value
        };
        assert_eq!(number(Metric::Elapsed), 1.0);
        assert_eq!(number(Metric::Throughput), 1000.0);
        assert_eq!(number(Metric::Rate), 2.0);
        assert_eq!((number(Metric::MinorFaults), number(Metric::MajorFaults)), (10.0, 1.0));
        assert_eq!(number(Metric::DeviceWritten), 2000.0);
        assert_eq!(number(Metric::DeviceFlushes), 1.0);
        assert_eq!(number(Metric::WriteAmplification), 2.0);
    }

    #[test]
    fn opening_and_closing_have_separate_metrics() {
        let mut result = blank();
        result.open =
            vec![LatencyBucket(Nanos::from_secs(1), 1), LatencyBucket(Nanos::from_secs(3), 1)];
        let number = |metric| {
            let all = result.measurements();
            all.iter().find(|m| m.metric == metric).map(|m| m.value)
        };
        assert_eq!(number(Metric::OpenMean), Some(2.0));
        assert_eq!(number(Metric::OpenMax), Some(3.0));
        assert_eq!((number(Metric::CloseMean), number(Metric::LatencyMax)), (None, None));
    }

    #[test]
    fn roles_have_only_rates_and_syncs() {
        let mut result = blank();
        result.elapsed = Nanos::from_secs(2);
        result.operations = 10;
        result.sync = vec![
            LatencyBucket(Nanos::from_secs(1), 94),
            LatencyBucket(Nanos::from_secs(2), 5),
            LatencyBucket(Nanos::from_secs(9), 1),
        ];
        let number = |result: &PhaseResult, metric| {
            let all = result.measurements();
            all.iter().find(|m| m.metric == metric).map(|m| m.value)
        };
        let syncs = [Metric::SyncP50, Metric::SyncP95, Metric::SyncP99, Metric::SyncMax];
        let values = syncs.map(|metric| number(&result, metric));
        assert_eq!(values, [1.0, 2.0, 2.0, 9.0].map(Some));
        assert!(number(&result, Metric::Elapsed).is_some());
        result.role_of = Some("mix".into());
        assert_eq!(number(&result, Metric::Rate), Some(5.0));
        for metric in [Metric::Elapsed, Metric::Cpu, Metric::MinorFaults] {
            assert_eq!(number(&result, metric), None);
        }
    }

    #[test]
    fn metrics_without_enough_data_are_omitted() {
        let phase = Phase {
            name: "write".into(),
            cache: CacheState::Warm,
            sync_at_end: SyncAtEnd::Call,
            at_most: None,
            scaling: None,
            step: None,
            needs: None,
            from_next_host: false,
            op: Op::RemoveFile(RemoveFile { file: "f".into() }),
        };
        let mut result = PhaseResult::not_run(&phase);
        result.elapsed = Nanos(150_000_000);
        result.bytes_written = Bytes(4096);
        result.device = Some(DeviceCounters::default());
        let has =
            |result: &PhaseResult, metric| result.measurements().iter().any(|m| m.metric == metric);
        assert!(!has(&result, Metric::CpuMachine), "fifteen ticks");
        assert!(!has(&result, Metric::WriteAmplification), "data need not be written yet");
        result.elapsed = Nanos::from_secs(1);
        result.ends = SyncAtEnd::Fsync;
        assert!(has(&result, Metric::CpuMachine));
        assert!(has(&result, Metric::WriteAmplification));
    }

    #[test]
    fn processor_time_of_an_operation_holds_the_drivers() {
        let mut result = blank();
        result.elapsed = Nanos::from_secs(9);
        result.cpu = CpuTime {
            user: Nanos::from_secs(1),
            system: Nanos::from_secs(2),
            driver: Nanos::from_secs(3),
            machine: Nanos::from_secs(8),
        };
        let cost = |result: &PhaseResult| {
            let all = result.measurements();
            let found = all.iter().find(|m| m.metric == Metric::CpuPerOperation);
            found.map(|m| m.value)
        };
        result.operations = 0;
        assert_eq!(cost(&result), None);
        result.operations = 1000;
        assert_eq!(cost(&result), Some(0.006));
        assert_eq!(Metric::CpuPerOperation.direction(), Direction::Lower);
    }

    #[test]
    fn memory_is_reported_if_measured_and_is_neutral() {
        let of = |memory| {
            let result = PhaseResult { memory, ..blank() };
            let all = result.measurements();
            let memory = [Metric::MemoryKernel, Metric::MemoryDriver];
            memory.map(|metric| all.iter().find(|m| m.metric == metric).map(|m| m.value))
        };
        assert_eq!(of(None), [None, None]);
        let held = KernelMemoryUse { kernel: Some(Bytes(4096)), driver: None };
        assert_eq!(of(Some(held)), [Some(4096.0), None]);
        assert_eq!(Metric::MemoryDriver.direction(), Direction::Neutral);
    }
}
