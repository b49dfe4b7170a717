//! The same campaign disk by disk: contenders on different disks differ by more than their filesystem, and an answer over
//! all of them together says little about either.

use std::collections::BTreeSet;

use model::{CampaignResults, Withheld};

use crate::evidence::resources;
use crate::inference::Margin;
use crate::{Analysis, analyse_with};

/// What is found of the contenders on one disk, set against each other alone.
#[derive(Clone, Debug, PartialEq)]
pub struct OfDisk {
    /// The name of the disk.
    pub disk: String,
    /// What is found of them.
    pub analysis: Analysis,
}

/// For each of several disks those contenders alone, in the campaign's order; nothing where all are on one, and of a disk
/// that has one contender.
pub(crate) fn by_disk(
    results: &CampaignResults,
    margin: Margin,
    withheld: &[Withheld],
) -> Vec<OfDisk> {
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
        let is_here = |of: &Option<String>| of.as_ref() == Some(*disk);
        let names = contenders.filter(|(_, of)| is_here(of));
        let names: BTreeSet<&str> = names.map(|(c, _)| c.name.as_str()).collect();
        (names.len() > 1).then(|| OfDisk {
            disk: (*disk).clone(),
            analysis: analyse_with(&only(results, &names, disk), margin, withheld),
        })
    };
    disks.iter().filter_map(of_disk).collect()
}

/// The results of some contenders, called without the disk that they are all on.
fn only(results: &CampaignResults, names: &BTreeSet<&str>, disk: &str) -> CampaignResults {
    let mut some = results.clone();
    // Their members are called otherwise.
    some.campaign.groups.clear();
    some.campaign
        .contenders
        .retain(|contender| names.contains(contender.name.as_str()));
    some.cells
        .retain(|stored| names.contains(stored.cell.contender.as_str()));
    let bare: BTreeSet<String> = names.iter().map(|name| without(name, disk)).collect();
    if bare.len() == names.len() {
        for contender in &mut some.campaign.contenders {
            contender.name = without(&contender.name, disk);
        }
        for stored in &mut some.cells {
            stored.cell.contender = without(&stored.cell.contender, disk);
        }
    }
    some
}

/// `ext4@sata-ssd:data=journal` without `@sata-ssd`.
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
    use crate::{analyse, fixture};

    #[test]
    fn contenders_are_set_against_those_on_the_same_disk() {
        let mut results = fixture::plain();
        assert!(by_disk(&results, Margin::default(), &[]).is_empty());
        let model = |name: &str| model::DiskModel {
            name: name.to_owned(),
            ..model::DiskModel::ideal()
        };
        let contenders = &mut results.campaign.contenders;
        for (contender, disk) in contenders.iter_mut().zip(["slow", "fast", "fast"]) {
            contender.own.disk = Some(model(disk));
            contender.name += &format!("@{disk}");
        }
        for stored in &mut results.cells {
            let disk = match stored.cell.contender.as_str() {
                "fast" => "slow",
                _ => "fast",
            };
            stored.cell.contender += &format!("@{disk}");
        }
        let [fast] = &analyse(&results).by_disk[..] else {
            panic!("one disk has two contenders")
        };
        assert_eq!(fast.disk, "fast");
        assert_eq!(fast.analysis.contenders, ["middle", "slow"]);
        assert!(!fast.analysis.conclusions.is_empty());
    }

    #[test]
    fn a_name_loses_the_disk_and_nothing_else() {
        for (name, bare) in [
            ("ext4@ssd", "ext4"),
            (
                "ext4@memory=1GiB,ssd:data=journal",
                "ext4@memory=1GiB:data=journal",
            ),
            ("ext4@ssd,memory=1GiB", "ext4@ssd,memory=1GiB"),
            ("ssd", "ssd"),
        ] {
            assert_eq!(without(name, "ssd"), bare);
        }
    }
}
