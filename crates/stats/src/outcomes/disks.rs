//! Splits the results of a campaign by disk. Contenders on different disks differ in more than
//! their filesystem, so an answer over all of them would be meaningless.

use std::collections::{BTreeMap, BTreeSet};

use model::CampaignResults;

use crate::outcomes::resources;

/// Returns the results of the contenders on each disk, with the name of the disk, in the campaign's
/// order. Empty if all contenders are on one disk. A disk with a single contender is omitted.
pub(crate) fn by_disk(results: &CampaignResults) -> Vec<(String, CampaignResults)> {
    let on = resources::disks(results);
    let mut disks: Vec<&String> = Vec::new();
    for disk in on.iter().flatten() {
        if !disks.contains(&disk) {
            disks.push(disk);
        }
    }
    if disks.len() < 2 {
        return Vec::new();
    }
    let of_disk = |disk: &&String| {
        let contenders = results.campaign.contenders.iter().zip(&on);
        let names = contenders.filter(|(_, of)| of.as_ref() == Some(*disk));
        let names: BTreeSet<&str> = names.map(|(c, _)| c.name.as_str()).collect();
        (names.len() > 1).then(|| ((*disk).clone(), only(results, &names)))
    };
    disks.iter().filter_map(of_disk).collect()
}

/// Returns the results of some contenders, with names that omit the common disk.
fn only(results: &CampaignResults, names: &BTreeSet<&str>) -> CampaignResults {
    let mut some = results.clone();
    some.campaign.groups.clear();
    some.campaign.contenders.retain(|contender| names.contains(contender.name.as_str()));
    some.cells.retain(|stored| names.contains(stored.cell.contender.as_str()));
    strip_disk_suffix(&some).unwrap_or(some)
}

/// Returns the disk of each contender, and the contender's name without the disk, in the campaign's
/// order.
pub fn disk_of_each(results: &CampaignResults) -> Vec<(Option<String>, String)> {
    let contenders = results.campaign.contenders.iter();
    let bare = contenders.zip(resources::disks(results)).map(|(c, disk)| {
        let bare = disk.as_ref();
        let bare = bare.map_or_else(|| c.name.clone(), |disk| without(&c.name, disk));
        (disk, bare)
    });
    bare.collect()
}

/// Returns the results with contender names that omit the disk: `ext4` instead of `ext4@sata-ssd`.
/// Returns `None` if two contenders would have the same name.
pub fn strip_disk_suffix(results: &CampaignResults) -> Option<CampaignResults> {
    let contenders = results.campaign.contenders.iter();
    let bare = contenders.zip(disk_of_each(results)).map(|(c, (_, bare))| (c.name.clone(), bare));
    let bare: BTreeMap<String, String> = bare.collect();
    if bare.values().collect::<BTreeSet<_>>().len() < results.campaign.contenders.len() {
        return None;
    }
    let mut renamed = results.clone();
    // Groups refer to the old names of their members.
    renamed.campaign.groups.clear();
    let cells = renamed.cells.iter_mut().map(|c| &mut c.cell.contender);
    let contenders = renamed.campaign.contenders.iter_mut().map(|c| &mut c.name);
    for name in contenders.chain(cells) {
        if let Some(bare) = bare.get(name) {
            name.clone_from(bare);
        }
    }
    Some(renamed)
}

/// Returns `ext4@sata-ssd:data=journal` without `@sata-ssd`.
fn without(name: &str, disk: &str) -> String {
    let (head, options) = name.split_at(name.find(':').unwrap_or(name.len()));
    let head = match head.strip_suffix(disk) {
        Some(rest) => rest.strip_suffix(['@', ',']).unwrap_or(head),
        None => head,
    };
    format!("{head}{options}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn contenders_are_set_against_those_on_the_same_disk() {
        assert!(by_disk(&fixture::plain()).is_empty());
        let results = fixture::on_disks(fixture::plain(), &["slow", "fast", "fast"]);
        let of_disks = by_disk(&results);
        let [(disk, fast)] = &of_disks[..] else { panic!("one disk has two contenders") };
        assert_eq!(disk, "fast");
        let names = fast.campaign.contenders.iter().map(|c| c.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["middle", "slow"]);
        assert_eq!(fast.cells.len(), results.cells.len() / 3 * 2);
        let analysis = crate::analyse(&results);
        let own = |contender| analysis.for_disk_of(contender);
        assert!(own(0).is_none(), "it is alone on its disk");
        let (part, place) = own(2).unwrap();
        assert_eq!(part.contenders[place], "slow");
        assert_eq!(analysis.by_disk[0].analysis.contenders, ["middle", "slow"]);
        assert!(!analysis.by_disk[0].analysis.conclusions.is_empty());
    }

    #[test]
    fn keeps_names_that_would_become_ambiguous() {
        let results = fixture::on_disks(fixture::plain(), &["ssd", "hdd"]);
        let bare = strip_disk_suffix(&results).unwrap();
        let names = bare.campaign.contenders.iter().map(|c| c.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["fast", "middle", "slow"]);
        assert!(bare.cells.iter().any(|c| c.cell.contender == "middle"));
        let mut results = fixture::plain();
        results.campaign.contenders[1].name = "fast".to_owned();
        let results = fixture::on_disks(results, &["ssd", "hdd"]);
        assert!(strip_disk_suffix(&results).is_none());
    }

    #[test]
    fn removes_only_the_disk_from_a_name() {
        for (name, bare) in [
            ("ext4@ssd", "ext4"),
            ("ext4@memory=1GiB,ssd:data=journal", "ext4@memory=1GiB:data=journal"),
            ("ext4@ssd,memory=1GiB", "ext4@ssd,memory=1GiB"),
            ("ssd", "ssd"),
        ] {
            assert_eq!(without(name, "ssd"), bare);
        }
    }
}
