//! Combines the results of the hosts that ran a cell together. Pure.

use std::collections::BTreeMap;

use model::{
    Bytes, CellResult, CpuTime, Failure, HostNoise, LatencyBucket, Nanos, PageFaults, PhaseResult,
    Status,
};

/// Combines the results of all hosts, each with the name of its host. Counts are sums; times are those
/// of the slowest host. A failure of any host is the result.
pub fn merge(hosts: Vec<(String, CellResult)>) -> Option<CellResult> {
    let (first, rest) = hosts.split_first()?;
    let phases = first.1.phases.iter().enumerate();
    let phases = phases.map(|(at, _)| {
        let of_hosts =
            hosts.iter().filter_map(|(name, result)| Some((name, result.phases.get(at)?)));
        merge_phase(of_hosts.map(|(name, phase)| (name.as_str(), phase)))
    });
    let phases: Option<Vec<PhaseResult>> = phases.collect();
    let results = || hosts.iter().map(|(_, result)| result);
    let gravest = hosts.iter().max_by_key(|(_, result)| severity(result.status));
    let gravest = gravest.filter(|(_, gravest)| gravest.status != Status::Ok);
    let mut merged = CellResult {
        phases: phases?,
        status: gravest.map_or(Status::Ok, |(_, gravest)| gravest.status),
        failure: gravest.and_then(|(name, gravest)| Some(on_host(gravest.failure.clone()?, name))),
        elapsed: results().map(|result| result.elapsed).max().unwrap_or_default(),
        kernel_log: results().flat_map(|result| result.kernel_log.clone()).collect(),
        kernel_log_readable: results().all(|result| result.kernel_log_readable),
        disturbance: noisiest(results().filter_map(|result| result.disturbance)),
        ..first.1.clone()
    };
    for (name, result) in rest {
        merged.remarks.extend(result.remarks.iter().map(|remark| format!("{name}: {remark}")));
    }
    Some(merged)
}

/// Rank of a status: the result of a cell or phase is that of the host with the highest.
const fn severity(status: Status) -> u32 {
    match status {
        Status::Ok => 0,
        Status::Unsupported => 1,
        Status::Skipped => 2,
        Status::Invalid => 3,
        Status::Failed => 4,
        Status::Hung => 5,
        Status::Crashed => 6,
    }
}

fn on_host(failure: Failure, host: &str) -> Failure {
    Failure { reason: format!("on {host}: {}", failure.reason), ..failure }
}

fn noisiest(all: impl Iterator<Item = HostNoise>) -> Option<HostNoise> {
    let share = |noise: &HostNoise| noise.other_processes_percent() + noise.steal_percent();
    all.max_by(|a, b| share(a).total_cmp(&share(b)))
}

fn merge_phase<'a>(
    hosts: impl Iterator<Item = (&'a str, &'a PhaseResult)> + Clone,
) -> Option<PhaseResult> {
    let (name, gravest) = hosts.clone().max_by_key(|(_, phase)| severity(phase.status))?;
    if gravest.status != Status::Ok {
        let mut failed = gravest.clone();
        failed.failure = failed.failure.map(|failure| match gravest.status {
            // The reason is the same on every host.
            Status::Unsupported => failure,
            _ => on_host(failure, name),
        });
        return Some(failed);
    }
    let (_, first) = hosts.clone().next()?;
    let phases = || hosts.clone().map(|(_, phase)| phase);
    let sum = |count: fn(&PhaseResult) -> u64| phases().map(count).sum::<u64>();
    let buckets =
        |of: fn(&PhaseResult) -> &[LatencyBucket]| merge_buckets(phases().flat_map(of).copied());
    let work = hosts.clone().flat_map(|(name, phase)| {
        phase.hosts.iter().map(|work| model::HostWork { host: name.to_owned(), ..work.clone() })
    });
    Some(PhaseResult {
        elapsed: phases().map(|phase| phase.elapsed).max().unwrap_or_default(),
        operations: sum(|phase| phase.operations),
        bytes: Bytes(sum(|phase| phase.bytes.0)),
        bytes_written: Bytes(sum(|phase| phase.bytes_written.0)),
        verified: Bytes(sum(|phase| phase.verified.0)),
        time_limited: phases().any(|phase| phase.time_limited),
        cpu: CpuTime {
            user: Nanos(sum(|phase| phase.cpu.user.0)),
            system: Nanos(sum(|phase| phase.cpu.system.0)),
            driver: Nanos(sum(|phase| phase.cpu.driver.0)),
            machine: Nanos(sum(|phase| phase.cpu.machine.0)),
        },
        faults: PageFaults {
            minor: sum(|phase| phase.faults.minor),
            major: sum(|phase| phase.faults.major),
        },
        latency: buckets(|phase| &phase.latency),
        sync: buckets(|phase| &phase.sync),
        open: buckets(|phase| &phase.open),
        close: buckets(|phase| &phase.close),
        // A reader would take the values of one host for those of all.
        timeline: None,
        hosts: work.collect(),
        ..first.clone()
    })
}

fn merge_buckets(all: impl Iterator<Item = LatencyBucket>) -> Vec<LatencyBucket> {
    let mut counts: BTreeMap<Nanos, u64> = BTreeMap::new();
    for LatencyBucket(latency, count) in all {
        *counts.entry(latency).or_default() += count;
    }
    counts.into_iter().map(|(latency, count)| LatencyBucket(latency, count)).collect()
}

#[cfg(test)]
mod tests {
    use model::HostWork;

    use super::*;
    use crate::cell::fixture::job;

    fn result(elapsed: u64, operations: u64, status: Status) -> CellResult {
        let mut phase = PhaseResult::not_run(&job(1).test.phases[0]);
        phase.elapsed = Nanos(elapsed);
        phase.operations = operations;
        phase.bytes = Bytes(10 * operations);
        phase.status = status;
        phase.latency = vec![LatencyBucket(Nanos(5), operations)];
        phase.hosts = vec![HostWork {
            host: String::new(),
            elapsed: Nanos(elapsed),
            operations,
            bytes: phase.bytes,
            at_first_end: None,
        }];
        let failure = Failure { reason: "full".to_owned(), ..Failure::default() };
        let failure = (status != Status::Ok).then_some(failure);
        phase.failure.clone_from(&failure);
        CellResult { phases: vec![phase], failure, ..CellResult::with_status(status) }
    }

    fn both(one: CellResult, other: CellResult) -> CellResult {
        merge(vec![("n1".to_owned(), one), ("n2".to_owned(), other)]).unwrap()
    }

    #[test]
    fn counts_are_added_and_the_slowest_host_determines_the_time() {
        let merged = both(result(10, 3, Status::Ok), result(12, 4, Status::Ok));
        let phase = &merged.phases[0];
        assert_eq!((phase.elapsed, phase.operations, phase.bytes), (Nanos(12), 7, Bytes(70)));
        assert_eq!(phase.latency, [LatencyBucket(Nanos(5), 7)]);
        let hosts: Vec<_> = phase.hosts.iter().map(|work| (&*work.host, work.elapsed.0)).collect();
        assert_eq!(hosts, [("n1", 10), ("n2", 12)]);
        assert_eq!((merged.status, merged.failure), (Status::Ok, None));
    }

    #[test]
    fn a_failure_of_one_host_is_the_result() {
        let merged = both(result(10, 3, Status::Skipped), result(12, 4, Status::Failed));
        let reason = |failure: Option<Failure>| failure.map(|failure| failure.reason);
        assert_eq!(merged.phases[0].status, Status::Failed);
        assert_eq!(reason(merged.phases[0].failure.clone()).unwrap(), "on n2: full");
        assert_eq!(
            (merged.status, reason(merged.failure).unwrap()),
            (Status::Failed, "on n2: full".into())
        );
    }
}
