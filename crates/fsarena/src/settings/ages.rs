//! Age as an axis of a campaign: each contender fresh, and beside it aged.

use config::Catalog;
use model::{AgeingSpec, BackendKind, Campaign, Contender, PerMille};

use crate::output::exit::UsageError;
use crate::output::progress::Progress;

/// The ages at which every contender competes beside a fresh one: those of the command line, or else of the file.
///
/// # Errors
/// When a fill is given and no profile, the profile is not in the catalog, or there is nothing that could be aged.
pub fn ages(
    profile: Option<&str>,
    fills: &[PerMille],
    of_file: Vec<AgeingSpec>,
    backend: BackendKind,
    catalog: &Catalog,
) -> anyhow::Result<Vec<AgeingSpec>> {
    let ages = match (profile, fills) {
        (None, []) => of_file,
        (None, fills) => match of_file.into_iter().next() {
            Some(age) => at_each(&age, fills),
            None => {
                let text = "--fill says how full an aged filesystem is: give --age PROFILE, too";
                return Err(UsageError(text.into()).into());
            }
        },
        (Some(name), fills) => {
            let age = AgeingSpec {
                profile: catalog.age(name)?.clone(),
                fill: AgeingSpec::FILL,
                operations: None,
                layout: None,
            };
            match fills {
                [] => vec![age],
                fills => at_each(&age, fills),
            }
        }
    };
    if backend == BackendKind::Dir && !ages.is_empty() {
        let text = "--age is for images, devices and guests: what lies in mounted directories is yours, and stays as it is";
        return Err(UsageError(text.into()).into());
    }
    Ok(ages)
}

/// Refuses to keep aged states where there are none, or no image that they could be laid out on.
pub fn reject_keep_aged(
    contenders: &[Contender],
    backend: BackendKind,
    is_on_device: bool,
) -> Result<(), UsageError> {
    let why = match backend {
        BackendKind::Vm => {
            "--keep-aged is for images on this machine's kernel: guests age anew; leave it out"
        }
        _ if is_on_device => {
            "--keep-aged is for images: a device of yours is aged anew; leave it out"
        }
        _ if contenders.iter().all(|c| c.own.age.is_none()) => {
            "--keep-aged keeps what ageing comes to: give --age PROFILE, too"
        }
        BackendKind::Loop | BackendKind::Dir | BackendKind::Imported => return Ok(()),
    };
    Err(UsageError(why.into()))
}

/// Refuses to keep aged states that lie on several images.
pub fn reject_keep_aged_on_images(campaign: &Campaign) -> Result<(), UsageError> {
    match campaign.keep_aged && campaign.max_disks() > 1 {
        true => Err(UsageError(
            "--keep-aged keeps what lies on one image: leave it, or --disks, out".into(),
        )),
        false => Ok(()),
    }
}

fn at_each(age: &AgeingSpec, fills: &[PerMille]) -> Vec<AgeingSpec> {
    let at = |fill: &PerMille| AgeingSpec {
        fill: *fill,
        ..age.clone()
    };
    fills.iter().map(at).collect()
}

/// The contenders, each behind it at each of these ages, but for those that have an age of their own or cannot be aged.
pub fn expand_ages(
    contenders: Vec<Contender>,
    ages: &[AgeingSpec],
    progress: &Progress,
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
        let aged: Vec<Contender> = ages
            .clone()
            .map(|age| aged(&contender, age, ages.clone().count() > 1))
            .collect();
        [vec![contender], aged].concat()
    });
    each.collect()
}

/// The contender at an age: `ext4-aged`, or `ext4-aged-80` where there are several.
fn aged(contender: &Contender, age: &AgeingSpec, several: bool) -> Contender {
    let end = contender.name.find(['@', ':']);
    let (head, rest) = contender.name.split_at(end.unwrap_or(contender.name.len()));
    let which = match several {
        true => format!("-{}", age.fill.to_string().trim_end_matches('%')),
        false => String::new(),
    };
    let mut aged = Contender {
        name: format!("{head}-aged{which}{rest}"),
        ..contender.clone()
    };
    aged.own.age = Some(age.clone());
    aged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(specs: &[&str], fills: &[u32]) -> Vec<String> {
        let catalog = Catalog::builtin().unwrap();
        let fills: Vec<PerMille> = fills.iter().map(|fill| PerMille(*fill)).collect();
        let ages = ages(
            Some("agrawal"),
            &fills,
            Vec::new(),
            BackendKind::Loop,
            &catalog,
        )
        .unwrap();
        let contenders = specs.iter().map(|spec| catalog.contender(spec).unwrap());
        let all = expand_ages(contenders.collect(), &ages, &Progress::Quiet);
        all.into_iter().map(|contender| contender.name).collect()
    }

    #[test]
    fn every_contender_is_there_fresh_and_aged() {
        assert_eq!(
            names(&["ext4", "xfs:noatime", "tmpfs"], &[]),
            [
                "ext4",
                "ext4-aged",
                "xfs:noatime",
                "xfs-aged:noatime",
                "tmpfs"
            ]
        );
        assert_eq!(
            names(&["ext4@sata-ssd"], &[500, 955]),
            [
                "ext4@sata-ssd",
                "ext4-aged-50@sata-ssd",
                "ext4-aged-95.5@sata-ssd"
            ]
        );
        let own = "ext4@age=wang-os,fill=50%";
        assert_eq!(names(&[own], &[]), [own], "it has an age of its own");
    }

    #[test]
    fn a_fill_without_a_profile_and_an_age_of_directories_are_refused() {
        let catalog = Catalog::builtin().unwrap();
        let half = [PerMille(500)];
        let refused = |profile, fills: &[PerMille], backend| {
            let refused = ages(profile, fills, Vec::new(), backend, &catalog);
            refused.unwrap_err().to_string()
        };
        assert!(refused(None, &half, BackendKind::Loop).contains("give --age PROFILE, too"));
        assert!(refused(Some("agrawal"), &[], BackendKind::Dir).contains("stays as it is"));
        let unknown = refused(Some("agrawl"), &[], BackendKind::Loop);
        assert!(unknown.contains("did you mean `agrawal`?"), "{unknown}");
        let age = ages(Some("wang-os"), &[], Vec::new(), BackendKind::Vm, &catalog).unwrap();
        let filled = ages(None, &half, age, BackendKind::Vm, &catalog).unwrap();
        assert_eq!(filled.len(), 1);
        assert_eq!(
            (filled[0].fill, filled[0].profile.name.as_str()),
            (half[0], "wang-os")
        );
    }

    #[test]
    fn what_has_no_image_or_no_age_is_not_kept() {
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
                .contains("guests age anew")
        );
        assert!(
            refused(&aged, BackendKind::Loop, true)
                .unwrap_err()
                .contains("is aged anew")
        );
        assert!(
            refused(&fresh, BackendKind::Loop, false)
                .unwrap_err()
                .contains("--age PROFILE")
        );
    }
}
