//! Finds contenders whose synced writes never flushed the disk's cache, although those of other
//! contenders did: their durable writes are not durable.

use std::collections::{BTreeMap, BTreeSet};

use model::{CampaignResults, Status, SyncAtEnd, WorkloadCategory};
use serde::Serialize;

use crate::outcomes::resources;
use crate::{MetricResult, ResultRow};

/// A contender whose syncs complete before the disk's cache is flushed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnflushedSync {
    /// Name of the contender.
    pub contender: String,
    /// Number of synced operations.
    pub operations: u64,
}

/// Operations and flushes of a contender in phases of durable writes.
#[derive(Clone, Copy, Default)]
struct DurableWrites {
    operations: u64,
    flushes: u64,
}

/// Returns every contender whose syncs never flushed the disk's cache, in the order of the
/// campaign.
pub(crate) fn unflushed(results: &CampaignResults) -> Vec<UnflushedSync> {
    let durable = durable_phases(results);
    let mut synced: BTreeMap<&str, DurableWrites> = BTreeMap::new();
    for stored in &results.cells {
        let cell = &stored.cell;
        let phases = stored.result.iter().flat_map(|result| &result.phases);
        let done = phases.filter(|phase| phase.status == Status::Ok);
        for phase in done.filter(|phase| durable.contains(&(&*cell.test, &*phase.phase))) {
            if let Some(device) = phase.device {
                let sum = synced.entry(cell.contender.as_str()).or_default();
                sum.operations = sum.operations.saturating_add(phase.operations);
                sum.flushes = sum.flushes.saturating_add(device.flushes);
            }
        }
    }
    // A disk that needs no flush gets none from any contender, so only contenders on the same disk
    // are compared.
    let on = resources::disks(results);
    let contenders = || results.campaign.contenders.iter().zip(&on);
    let flushes = |disk: &Option<String>| {
        let there = contenders().filter(|(c, of)| *of == disk && c.directory.is_none());
        let mut sums = there.filter_map(|(c, _)| synced.get(c.name.as_str()));
        sums.any(|sum| sum.flushes > 0)
    };
    let found = contenders().filter_map(|(contender, disk)| {
        let sum = synced.get(contender.name.as_str())?;
        let is_found = sum.flushes == 0 && sum.operations > 0;
        // Directories may be located on any disk.
        (is_found && contender.directory.is_none() && flushes(disk)).then(|| UnflushedSync {
            contender: contender.name.clone(),
            operations: sum.operations,
        })
    });
    found.collect()
}

/// Excludes such contenders from the ranking of durable writes and of phases that end with a sync
/// that never reached the disk. A contender that does not wait for the disk cannot be compared with
/// contenders that do.
pub(crate) fn mark_unflushed(
    rows: &mut [ResultRow],
    results: &CampaignResults,
    found: &[UnflushedSync],
) {
    let durable = durable_phases(results);
    let flushed = flushed(results);
    for row in rows {
        let (test, phase) = (row.test.as_str(), row.phase.as_str());
        let is_durable = durable.contains(&(test, phase));
        let ends_so = row.ends != SyncAtEnd::Call;
        let of_found = |result: &&mut MetricResult| {
            let name = result.contender.as_str();
            let reached = flushed.contains(&(name, test, phase));
            found.iter().any(|f| f.contender == name) && (is_durable || ends_so && !reached)
        };
        for result in row.results.iter_mut().filter(of_found) {
            result.set_apart = true;
            result.not_durable = true;
        }
    }
}

/// Returns the contenders, tests and phases in which the disk received a flush.
fn flushed(results: &CampaignResults) -> BTreeSet<(&str, &str, &str)> {
    let mut flushed = BTreeSet::new();
    for stored in &results.cells {
        let cell = &stored.cell;
        let phases = stored.result.iter().flat_map(|result| &result.phases);
        let did = phases.filter(|phase| phase.device.is_some_and(|device| device.flushes > 0));
        flushed.extend(did.map(|phase| (&*cell.contender, &*cell.test, &*phase.phase)));
    }
    flushed
}

/// Returns the tests and phases whose writes are synced.
fn durable_phases(results: &CampaignResults) -> BTreeSet<(&str, &str)> {
    let suites = results.campaign.suites.iter();
    let tests = suites.flat_map(|suite| &suite.tests);
    let phases = tests.flat_map(|test| test.phases.iter().map(move |phase| (test, phase)));
    let durable =
        phases.filter(|(_, phase)| phase.op.info().group() == Some(WorkloadCategory::Durable));
    durable.map(|(test, phase)| (&*test.name, &*phase.name)).collect()
}

#[cfg(test)]
mod tests {
    use model::{AccessPattern, Bytes, Io, Op};

    use super::*;
    use crate::fixture;

    #[test]
    fn a_contender_that_never_flushes_is_named_if_others_flush() {
        let mut results = fixture::plain();
        let test = &mut results.campaign.suites[0].tests[0];
        let synced = Io { fsync: 1, ..Io::new("f", AccessPattern::Write, Bytes::mib(1)) };
        test.phases[0].op = Op::Io(synced);
        let (test, phase) = (test.name.clone(), test.phases[0].name.clone());
        let first = results.campaign.contenders[0].name.clone();
        let mut set = |of_first: u64, of_others: u64| {
            for stored in results.cells.iter_mut().filter(|c| c.cell.test == test) {
                let flushes = if stored.cell.contender == first { of_first } else { of_others };
                let phases = stored.result.iter_mut().flat_map(|result| &mut result.phases);
                for result in phases.filter(|result| result.phase == phase) {
                    result.operations = 10;
                    result.device.get_or_insert_default().flushes = flushes;
                }
            }
            unflushed(&results)
        };
        let found = set(0, 7);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contender == first && found[0].operations >= 10);
        assert_eq!(set(0, 0), [], "the device needs none");
        assert_eq!(set(1, 7), []);
        assert_eq!(set(u64::MAX, u64::MAX), [], "an imported report may have any number");
        set(0, 7);
        let cacheless = model::DiskModel { name: "floppy".to_owned(), ..model::DiskModel::ideal() };
        let mut apart = results.clone();
        apart.campaign.contenders[0].own.disk = Some(cacheless);
        assert_eq!(unflushed(&apart), [], "no contender flushes its disk");
        let rows = crate::analyse(&results).rows;
        let of_phase = |row: &&ResultRow| (&row.test, &row.phase) == (&test, &phase);
        let row = rows.iter().find(of_phase).unwrap();
        let apart: Vec<bool> = row.results.iter().map(|r| r.set_apart).collect();
        assert!(apart[0] && !apart[1..].contains(&true), "{apart:?}");
        assert!(row.results[0].estimate.is_some() && row.results[0].place.is_none());
        // A phase that ends with a sync is also not durable if the sync never reached the disk.
        let next = &mut results.campaign.suites[0].tests[0].phases[1];
        next.sync_at_end = SyncAtEnd::Fsync;
        let next = next.name.clone();
        let rows = crate::analyse(&results).rows;
        let row = rows.iter().find(|row| row.phase == next).unwrap();
        assert!(row.results[0].not_durable && !row.results[1].set_apart);
    }
}
