//! Memory, disks and ageing of each contender, and the memory it used in addition to the page
//! cache.

use std::collections::BTreeMap;

use model::{
    BackendKind, Bytes, Campaign, CampaignResults, CellRecord, CellResult, Contender, GuestDisk,
    HostSetting, KernelMemoryUse,
};
use serde::Serialize;

use crate::RobustEstimate;

/// Resource limits of a contender, and its usage.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resources {
    /// Name of the contender.
    pub contender: String,
    /// Memory limit of each cell, including the page cache, or `None` if there is no limit.
    pub memory: Option<Bytes>,
    /// Disk of its guests: the name of a model, `image` or `device`. `None` outside guests.
    pub disk: Option<String>,
    /// Number of disks unless a test specifies another. `None` outside guests.
    pub disks: Option<u32>,
    /// Ageing of the filesystem before a test, such as `agrawal, 80% full`, or `None` if it is
    /// fresh.
    #[serde(default)]
    pub age: Option<String>,
    /// Memory of the kernel's object caches for this filesystem, in bytes, or `None` if not
    /// measured.
    pub kernel: Option<MemoryUsage>,
    /// Private memory of the filesystem's processes, in bytes, or `None` if it has none or if this
    /// was not measured.
    pub driver: Option<MemoryUsage>,
}

/// Memory usage. The round is the replicate.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryUsage {
    /// Memory directly after the first mount: the maximum over all tests of a round.
    pub mounted: Option<RobustEstimate>,
    /// Memory at the end of a phase: the maximum over all phases of a round.
    #[serde(rename = "most")]
    pub max: Option<RobustEstimate>,
}

/// Returns the resources of all contenders, in the campaign's order.
pub(crate) fn resources(results: &CampaignResults) -> Vec<Resources> {
    let campaign = &results.campaign;
    let rounds = rounds(results);
    let none = Rounds::new();
    let contenders = campaign.contenders.iter();
    contenders
        .map(|c| of_contender(campaign, c, rounds.get(c.name.as_str()).unwrap_or(&none)))
        .collect()
}

/// Whether filesystems span several disks that are images on one disk of this machine.
pub(crate) fn disks_are_images(campaign: &Campaign) -> bool {
    campaign.backend == BackendKind::Loop && campaign.max_disks() > 1
}

/// Returns the disk of each contender, in the campaign's order. `None` outside guests and for
/// filesystems in memory.
pub(crate) fn disks(results: &CampaignResults) -> Vec<Option<String>> {
    let campaign = &results.campaign;
    let contenders = campaign.contenders.iter();
    contenders.map(|c| disk_of(campaign, c)).collect()
}

fn disk_of(campaign: &Campaign, contender: &Contender) -> Option<String> {
    let guest = campaign.guest.as_ref();
    // A filesystem in memory is on none of them.
    let guest = guest.filter(|_| contender.filesystem.commands.need_device());
    match (&contender.own.disk, guest.map(|guest| &guest.disk)) {
        (Some(model), _) | (None, Some(GuestDisk::Model { model })) => Some(model.name.clone()),
        (None, Some(GuestDisk::Image { .. })) => Some("image".to_owned()),
        (None, Some(GuestDisk::Device { .. })) => Some("device".to_owned()),
        (None, None) => None,
    }
}

fn of_contender(campaign: &Campaign, contender: &Contender, rounds: &Rounds<'_>) -> Resources {
    let guest = campaign.guest.as_ref();
    let guest = guest.filter(|_| contender.filesystem.commands.need_device());
    Resources {
        contender: contender.name.clone(),
        memory: campaign.memory_for(contender),
        disk: disk_of(campaign, contender),
        disks: contender.own.disks.or(guest.map(|guest| guest.disks)),
        age: contender.own.age.as_ref().map(ToString::to_string),
        kernel: taken(rounds, |memory| memory.kernel),
        driver: taken(rounds, |memory| memory.driver),
    }
}

/// The cells of a contender that have run, by round.
type Rounds<'a> = BTreeMap<u32, Vec<&'a CellResult>>;

/// Returns the rounds of each contender, by name. Reads all cells in a single pass because there
/// may be a million of them.
fn rounds(results: &CampaignResults) -> BTreeMap<&str, Rounds<'_>> {
    let mut contenders: BTreeMap<&str, Rounds<'_>> = BTreeMap::new();
    for CellRecord { cell, result } in &results.cells {
        if let Some(result) = result {
            let rounds = contenders.entry(&cell.contender).or_default();
            rounds.entry(cell.round).or_default().push(result);
        }
    }
    contenders
}

fn taken(
    rounds: &Rounds<'_>,
    part: impl Fn(&KernelMemoryUse) -> Option<Bytes>,
) -> Option<MemoryUsage> {
    let part = |memory: Option<&KernelMemoryUse>| part(memory?);
    let mounted = |cell: &CellResult| part(cell.mounted.as_ref());
    let most = |cell: &CellResult| {
        let phases = cell.phases.iter();
        phases.filter_map(|phase| part(phase.memory.as_ref())).max()
    };
    let taken = MemoryUsage { mounted: over(rounds, mounted), max: over(rounds, most) };
    (taken.mounted.is_some() || taken.max.is_some()).then_some(taken)
}

/// Returns the estimate of the largest value of each round, over the rounds that have one.
fn over(
    rounds: &Rounds<'_>,
    of_cell: impl Fn(&CellResult) -> Option<Bytes>,
) -> Option<RobustEstimate> {
    let largest = |cells: &Vec<&CellResult>| cells.iter().filter_map(|cell| of_cell(cell)).max();
    let values = rounds.values().filter_map(largest);
    let values: Vec<f64> = values.map(|bytes| bytes.0 as f64).collect();
    RobustEstimate::from_values(&values)
}

/// Returns the circumstances of the storage of the last session that are reasons for caution.
pub(crate) fn circumstances(results: &CampaignResults) -> Vec<HostSetting> {
    let last = results.environments.last();
    let conditions = last.into_iter().flat_map(|environment| &environment.conditions);
    conditions.filter(|condition| condition.is_caution()).cloned().collect()
}

#[cfg(test)]
mod tests {
    use model::{ContenderOverrides, DiskModel};

    use super::*;
    use crate::{analyse, fixture};

    fn memory(kernel: u64, driver: Option<u64>) -> Option<KernelMemoryUse> {
        Some(KernelMemoryUse { kernel: Some(Bytes::mib(kernel)), driver: driver.map(Bytes::mib) })
    }

    #[test]
    fn a_contenders_memory_and_disks_override_the_campaigns() {
        let mut results = fixture::plain();
        results.campaign.contenders[1].own = ContenderOverrides {
            memory: Some(Bytes::mib(32)),
            disk: Some(DiskModel::ideal()),
            disks: Some(4),
            age: None,
        };
        let resources = analyse(&results).resources;
        assert_eq!(resources[0].memory, Some(Bytes::mib(512)));
        assert_eq!((resources[0].disk.as_deref(), resources[0].disks), (None, None));
        assert_eq!(resources[1].memory, Some(Bytes::mib(32)));
        let disks = (resources[1].disk.as_deref(), resources[1].disks);
        assert_eq!(disks, (Some("ideal"), Some(4)));
        assert!(resources.iter().all(|r| r.kernel.is_none() && r.driver.is_none()));
    }

    #[test]
    fn memory_is_the_median_over_rounds_of_each_rounds_maximum() {
        let mut results = fixture::plain();
        let own = results.cells.iter_mut();
        for stored in own.filter(|stored| stored.cell.contender == "slow") {
            let round = u64::from(stored.cell.round);
            let result = stored.result.as_mut().unwrap();
            result.mounted = memory(1, Some(5));
            result.phases[0].memory = memory(10 * round, None);
            result.phases[1].memory = memory(2, Some(7));
        }
        let slow = &analyse(&results).resources[2];
        let median = |estimate: &Option<RobustEstimate>| Bytes(estimate.unwrap().median as u64);
        let kernel = slow.kernel.as_ref().unwrap();
        assert_eq!(median(&kernel.mounted), Bytes::mib(1));
        assert_eq!(median(&kernel.max), Bytes::mib(20));
        let driver = slow.driver.as_ref().unwrap();
        assert_eq!(median(&driver.mounted), Bytes::mib(5));
        assert_eq!(median(&driver.max), Bytes::mib(7));
    }
}
