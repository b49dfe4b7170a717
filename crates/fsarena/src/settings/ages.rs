//! Age as an axis of a campaign: each contender runs fresh and aged.

use config::{AgeEntry, Catalog};
use model::{AgeingSpec, BackendKind, Campaign, Contender, PerMille};

use crate::output::exit::UsageError;
use crate::output::progress::ProgressDisplay;

/// Returns the ages at which every contender runs in addition to a fresh one.
///
/// # Errors
/// Returns an error if a fill is given without a profile, if the profile is not in the catalog, or
/// if the backend cannot age filesystems.
pub fn ages(
    age: Option<&AgeEntry>,
    fills: &[PerMille],
    backend: BackendKind,
    catalog: &Catalog,
) -> anyhow::Result<Vec<AgeingSpec>> {
    let ages = match age {
        None if fills.is_empty() => Vec::new(),
        None => return Err(UsageError("--fill needs --age PROFILE".into()).into()),
        Some(AgeEntry::Defined(ages)) => ages.clone(),
        Some(AgeEntry::Profile(name)) => vec![AgeingSpec {
            profile: catalog.age(name)?.clone(),
            fill: AgeingSpec::FILL,
            operations: None,
            layout: None,
        }],
    };
    let ages = match (ages.first(), fills) {
        (Some(first), [_, ..]) => {
            fills.iter().map(|fill| AgeingSpec { fill: *fill, ..first.clone() }).collect()
        }
        _ => ages,
    };
    if backend == BackendKind::Dir && !ages.is_empty() {
        let text = "--age needs images, devices or guests: mounted directories belong to you and remain unchanged";
        return Err(UsageError(text.into()).into());
    }
    Ok(ages)
}

/// Rejects `--keep-aged` without aged contenders, or without an image to restore.
pub fn reject_keep_aged(
    contenders: &[Contender],
    backend: BackendKind,
    is_on_device: bool,
) -> Result<(), UsageError> {
    let why = match backend {
        BackendKind::Vm => {
            "--keep-aged needs images on this machine's kernel: guests repeat the ageing; remove --keep-aged"
        }
        _ if is_on_device => {
            "--keep-aged needs images: a device is always aged again; remove --keep-aged"
        }
        _ if contenders.iter().all(|c| c.own.age.is_none()) => "--keep-aged needs --age PROFILE",
        BackendKind::Loop | BackendKind::Dir | BackendKind::Imported => return Ok(()),
    };
    Err(UsageError(why.into()))
}

/// Rejects `--keep-aged` with several images per filesystem.
pub fn reject_keep_aged_on_images(campaign: &Campaign) -> Result<(), UsageError> {
    match campaign.keep_aged && campaign.max_disks() > 1 {
        true => Err(UsageError(
            "--keep-aged supports only one image per filesystem: remove --keep-aged or --disks"
                .into(),
        )),
        false => Ok(()),
    }
}

/// Returns the contenders, each followed by its aged variants. Contenders with their own age, or
/// that cannot be aged, have no variants.
pub fn expand_ages(
    contenders: Vec<Contender>,
    ages: &[AgeingSpec],
    progress: &ProgressDisplay,
) -> Vec<Contender> {
    if ages.is_empty() {
        return contenders;
    }
    let each = contenders.into_iter().flat_map(|contender| {
        if !contender.filesystem.commands.need_device() {
            let name = &contender.name;
            progress.note(&format!(
                "{name} is on no device that could be aged: it competes fresh alone"
            ));
            return vec![contender];
        }
        let is_plain = contender.own.age.is_none();
        let ages = ages.iter().filter(|_| is_plain);
        let aged: Vec<Contender> =
            ages.clone().map(|age| aged(&contender, age, ages.clone().count() > 1)).collect();
        [vec![contender], aged].concat()
    });
    each.collect()
}

/// Returns the contender at an age: `ext4-aged`, or `ext4-aged-80` if there are several ages.
fn aged(contender: &Contender, age: &AgeingSpec, several: bool) -> Contender {
    let end = contender.name.find(['@', ':']);
    let (head, rest) = contender.name.split_at(end.unwrap_or(contender.name.len()));
    let which = match several {
        true => format!("-{}", age.fill.to_string().trim_end_matches('%')),
        false => String::new(),
    };
    let mut aged = Contender { name: format!("{head}-aged{which}{rest}"), ..contender.clone() };
    aged.own.age = Some(age.clone());
    aged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(specs: &[&str], fills: &[u32]) -> Vec<String> {
        let catalog = Catalog::builtin().unwrap();
        let fills: Vec<PerMille> = fills.iter().map(|fill| PerMille(*fill)).collect();
        let age = AgeEntry::Profile("agrawal".into());
        let ages = ages(Some(&age), &fills, BackendKind::Loop, &catalog).unwrap();
        let contenders = specs.iter().map(|spec| catalog.contender(spec).unwrap());
        let all = expand_ages(contenders.collect(), &ages, &ProgressDisplay::Quiet);
        all.into_iter().map(|contender| contender.name).collect()
    }

    #[test]
    fn every_contender_is_added_fresh_and_aged() {
        assert_eq!(
            names(&["ext4", "xfs:noatime", "tmpfs"], &[]),
            ["ext4", "ext4-aged", "xfs:noatime", "xfs-aged:noatime", "tmpfs"]
        );
        assert_eq!(
            names(&["ext4@sata-ssd"], &[500, 955]),
            ["ext4@sata-ssd", "ext4-aged-50@sata-ssd", "ext4-aged-95.5@sata-ssd"]
        );
        let own = "ext4@age=wang-os,fill=50%";
        assert_eq!(names(&[own], &[]), [own], "its spec already sets an age");
    }

    #[test]
    fn a_fill_without_a_profile_and_an_age_of_directories_are_refused() {
        let catalog = Catalog::builtin().unwrap();
        let half = [PerMille(500)];
        let profile = |name: &str| AgeEntry::Profile(name.into());
        let refused = |name: Option<&str>, fills: &[PerMille], backend| {
            let refused = ages(name.map(profile).as_ref(), fills, backend, &catalog);
            refused.unwrap_err().to_string()
        };
        assert!(refused(None, &half, BackendKind::Loop).contains("needs --age PROFILE"));
        assert!(refused(Some("agrawal"), &[], BackendKind::Dir).contains("remain unchanged"));
        let unknown = refused(Some("agrawl"), &[], BackendKind::Loop);
        assert!(unknown.contains("did you mean `agrawal`?"), "{unknown}");
        let age = ages(Some(&profile("wang-os")), &[], BackendKind::Vm, &catalog).unwrap();
        let age = AgeEntry::Defined(age);
        let filled = ages(Some(&age), &half, BackendKind::Vm, &catalog).unwrap();
        assert_eq!(filled.len(), 1);
        assert_eq!((filled[0].fill, filled[0].profile.name.as_str()), (half[0], "wang-os"));
    }

    #[test]
    fn keep_aged_needs_an_image_and_an_age() {
        let catalog = Catalog::builtin().unwrap();
        let aged = [catalog.contender("ext4@age=agrawal").unwrap()];
        let fresh = [catalog.contender("ext4").unwrap()];
        let refused = |contenders: &[Contender], backend, is_on_device| {
            reject_keep_aged(contenders, backend, is_on_device).map_err(|error| error.0)
        };
        assert_eq!(refused(&aged, BackendKind::Loop, false), Ok(()));
        assert!(
            refused(&aged, BackendKind::Vm, false)
                .unwrap_err()
                .contains("guests repeat the ageing")
        );
        assert!(
            refused(&aged, BackendKind::Loop, true).unwrap_err().contains("is always aged again")
        );
        assert!(refused(&fresh, BackendKind::Loop, false).unwrap_err().contains("--age PROFILE"));
    }
}
