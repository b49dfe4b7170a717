//! Selects the contenders that can use the campaign's device and have enough space for each test,
//! before any cell runs. A cell that does not fit is `unsupported`; all other cells run.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;

use crate::{CellEnd, CellResultBuilder};
use model::wire::CellEvent;
use model::{
    BackendKind, Bytes, Campaign, CellResult, Contender, Failure, PhaseResult, Status, Test,
};
use storage::{ProvisionError, Raid0Array};

use crate::error::{EnvironmentError, UsageError};
use crate::guests::resources as guests;

/// Step name in the failure of a cell that does not fit.
const STEP: &str = "provision";

/// Reason that a contender cannot run a test on the campaign's storage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Incompatibility(String);

/// Returns the reason if a contender cannot run a test on its storage. `device` is the size of its
/// device, if any.
///
/// # Errors
/// Returns an error if the free space of a directory cannot be read.
pub fn misfit(
    campaign: &Campaign,
    contender: &Contender,
    test: &Test,
    device: Option<Bytes>,
) -> anyhow::Result<Option<Incompatibility>> {
    if let Some(directory) = &contender.directory {
        let advice = "free some, or choose a smaller --profile";
        return match storage::require_free_space(directory, test.space, advice) {
            Ok(()) => Ok(None),
            Err(error @ ProvisionError::NoSpace { .. }) => {
                Ok(Some(Incompatibility(error.to_string())))
            }
            Err(error) => Err(error.into()),
        };
    }
    let size = size(campaign, contender, test, device);
    let requires = &contender.filesystem.requires;
    if let Some(misfit) = of_disk(campaign, contender, test) {
        return Ok(Some(misfit));
    }
    let another = |kind: &str| match campaign.device {
        Some(_) => format!("name a {kind} --device"),
        None => format!("give a {kind} --size"),
    };
    let of_size = || {
        let kind = if size < requires.smallest { "larger" } else { "smaller" };
        Some(format!("{}: {}", requires.check_size(size)?, another(kind)))
    };
    let of_test = || {
        let advice = match requires.largest {
            Some(largest) if size <= largest && size < campaign.size => {
                "which is the most that it takes: choose a smaller --profile".to_owned()
            }
            _ => format!("{} or choose a smaller --profile", another("larger")),
        };
        (test.space > size)
            .then(|| format!("the test `{}` needs {}, not {size}: {advice}", test.name, test.space))
    };
    let aged = || of_age(campaign, contender, test, size);
    Ok(of_size().or_else(of_test).map(Incompatibility).or_else(aged))
}

/// Returns the reason if a contender cannot be aged before a test on a device of this size.
fn of_age(
    campaign: &Campaign,
    contender: &Contender,
    test: &Test,
    size: Bytes,
) -> Option<Incompatibility> {
    let age = contender.own.age.as_ref()?;
    let name = &test.name;
    if test.makes_filesystem() {
        return Some(Incompatibility(format!(
            "the test `{name}` makes its filesystem itself, which is never aged"
        )));
    }
    let left = age.free_space_after(size);
    (test.space > left).then(|| {
        let larger = age.device_size_for(test.space);
        let advice = match campaign.device.is_some() || size < campaign.size {
            true => "choose a smaller --profile or a lower --fill".to_owned(),
            false => format!("give --size {}, a smaller --profile or a lower --fill", spelled(larger)),
        };
        Incompatibility(format!(
            "the test `{name}` needs {} in addition to a fill of {}, which leaves {left} of {size}: {advice}",
            test.space, age.fill
        ))
    })
}

/// Returns the reason if the model of a simulated disk is too small for a test, independent of
/// `--size`.
fn of_disk(campaign: &Campaign, contender: &Contender, test: &Test) -> Option<Incompatibility> {
    let needs_disk = contender.filesystem.commands.need_device();
    let machine = campaign.guest_for(contender, test).filter(|_| needs_disk)?;
    let least = contender.filesystem.least_disks();
    if machine.disks < least {
        return Some(Incompatibility(format!(
            "its layers need {least} disks, and the test `{}` has {}: choose more with --disks",
            test.name, machine.disks
        )));
    }
    let model = machine.model()?;
    let holds = model.capacity()?;
    let all = holds.0.saturating_mul(u64::from(machine.disks));
    let needed = test.space.max(contender.filesystem.requires.smallest);
    (all < needed.0).then(|| {
        Incompatibility(format!(
            "the disk {} holds {holds}, and the test `{}` needs {needed}: choose another with --disk",
            model.name, test.name
        ))
    })
}

/// Formats a size as options take it: `480MiB`.
fn spelled(size: Bytes) -> String {
    format!("{}MiB", size.0 >> 20)
}

/// Returns the total size of the devices of a contender.
fn size(campaign: &Campaign, contender: &Contender, test: &Test, device: Option<Bytes>) -> Bytes {
    match (campaign.guest_for(contender, test), campaign.backend) {
        (Some(parts), BackendKind::Vm) => {
            let each = guests::disk_size(
                contender,
                guests::simulated_size(&parts, campaign.size),
                parts.disks,
                device,
            );
            Bytes(each.0 * u64::from(parts.disks))
        }
        _ => device.unwrap_or_else(|| {
            let disks = match contender.filesystem.commands.need_device() {
                true => campaign.disk_count_for(contender, test),
                false => 1,
            };
            Bytes(campaign.size.0.saturating_mul(u64::from(disks)))
        }),
    }
}

/// Returns the reason if this machine cannot stripe several images for a contender without pools.
pub fn check_raid0(
    campaign: &Campaign,
    contender: &Contender,
    test: &Test,
) -> Option<Incompatibility> {
    let commands = &contender.filesystem.commands;
    let is_striped = campaign.backend == BackendKind::Loop
        && campaign.disk_count_for(contender, test) > 1
        && commands.need_device()
        && !commands.support_pools();
    let missing = is_striped.then(Raid0Array::missing_support)??;
    Some(Incompatibility(missing.to_owned()))
}

/// Contenders and tests of a campaign that do not fit.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Incompatibilities {
    /// First reason of each contender, and the number of further tests that do not fit.
    by_contender: BTreeMap<String, (Incompatibility, usize)>,
}

impl Incompatibilities {
    /// Checks all contenders and tests of a campaign.
    ///
    /// # Errors
    /// Returns an error if a test fits no contender or not the only contender. Also returns an
    /// error if an aged contender has all the space of the campaign, and its fill leaves too little
    /// room for a test.
    pub fn of(campaign: &Campaign, device: Option<Bytes>) -> anyhow::Result<Self> {
        let mut found = Self::default();
        require_room_beside_ages(campaign, device)?;
        for test in campaign.suites.iter().flat_map(|suite| &suite.tests) {
            let mut fits_any = false;
            for contender in &campaign.contenders {
                match misfit(campaign, contender, test, device)? {
                    Some(misfit) => found.add(contender, misfit),
                    None => {
                        fits_any = true;
                        let misfit = check_raid0(campaign, contender, test);
                        misfit.into_iter().for_each(|m| found.add(contender, m));
                    }
                }
            }
            if !fits_any {
                return Err(found.refusal(campaign));
            }
        }
        Ok(found)
    }

    fn add(&mut self, contender: &Contender, misfit: Incompatibility) {
        let name = contender.name.clone();
        let known = self.by_contender.entry(name);
        known.and_modify(|(_, more)| *more += 1).or_insert((misfit, 0));
    }

    fn refusal(&self, campaign: &Campaign) -> anyhow::Error {
        let reason = self.lines().next().unwrap_or_default();
        match campaign.backend {
            BackendKind::Dir => EnvironmentError(reason).into(),
            BackendKind::Loop | BackendKind::Vm | BackendKind::Imported => {
                UsageError(reason).into()
            }
        }
    }

    /// Returns one line for each contender with a misfit.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.by_contender.iter().map(|(contender, (misfit, more))| {
            let mut line = format!("{contender}: {misfit}");
            if *more > 0 {
                let tests = if *more == 1 { "test" } else { "tests" };
                let _ = write!(line, " (and {more} {tests} more)");
            }
            line
        })
    }
}

/// Refuses a campaign if a fill leaves too little room for a test. The error names the test that
/// needs the largest size.
fn require_room_beside_ages(campaign: &Campaign, device: Option<Bytes>) -> anyhow::Result<()> {
    let tests = || campaign.suites.iter().flat_map(|suite| &suite.tests);
    let pairs = campaign.contenders.iter().flat_map(|contender| {
        let lacks = move |test: &&Test| is_for_want_of_size(campaign, contender, test, device);
        tests().filter(lacks).map(move |test| (contender, test))
    });
    let Some((contender, test)) = pairs.max_by_key(|(contender, test)| {
        let age = contender.own.age.as_ref();
        age.map(|age| age.device_size_for(test.space))
    }) else {
        return Ok(());
    };
    match misfit(campaign, contender, test, device)? {
        Some(misfit) => Err(UsageError(format!("{}: {misfit}", contender.name)).into()),
        None => Ok(()),
    }
}

/// Returns true if only ageing makes the device too small: a fresh contender would have enough
/// space for the test, and the campaign has no larger device.
fn is_for_want_of_size(
    campaign: &Campaign,
    contender: &Contender,
    test: &Test,
    device: Option<Bytes>,
) -> bool {
    let Some(age) = &contender.own.age else {
        return false;
    };
    let size = size(campaign, contender, test, device);
    let fits_fresh = test.space <= size && contender.filesystem.requires.check_size(size).is_none();
    let is_all = size >= device.unwrap_or(campaign.size);
    !test.makes_filesystem() && fits_fresh && is_all && test.space > age.free_space_after(size)
}

/// Returns the size of the campaign's device, or `None` if it cannot be read or is no device.
pub fn planned_device_size(campaign: &Campaign) -> Option<Bytes> {
    let mut device = File::open(campaign.device.as_ref()?).ok()?;
    let kind = device.metadata().ok()?.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        return None;
    }
    device.seek(SeekFrom::End(0)).ok().map(Bytes)
}

/// Returns the result of a cell that does not fit.
pub fn unsupported(test: &Test, misfit: &Incompatibility) -> CellResult {
    let mut collector = CellResultBuilder::new(test);
    for phase in &test.phases {
        let failure =
            Failure { step: STEP.into(), reason: misfit.to_string(), ..Failure::default() };
        collector.apply(CellEvent::Phase(Box::new(PhaseResult {
            status: Status::Unsupported,
            failure: Some(failure),
            ..PhaseResult::not_run(phase)
        })));
    }
    collector.finish(CellEnd::Done, Some(Vec::new()))
}

#[cfg(test)]
mod tests {
    use config::Catalog;
    use model::{Clock, SizeProfile};

    use super::*;
    use crate::host::fixture;

    fn campaign(backend: BackendKind, contenders: &[&str], size: Bytes) -> Campaign {
        let catalog = Catalog::builtin().unwrap();
        let guest = campaign::run::in_memory::guest(catalog.disk("nvme-consumer").unwrap());
        let contender = |name: &&str| catalog.contender(name).unwrap();
        Campaign {
            backend,
            contenders: contenders.iter().map(contender).collect(),
            suites: catalog.default_suites(SizeProfile::Smoke).into_iter().cloned().collect(),
            size,
            clock: Clock::Virtual,
            guest: (backend == BackendKind::Vm).then_some(guest),
            ..fixture::campaign()
        }
    }

    fn lines(campaign: &Campaign, device: Option<Bytes>) -> Vec<String> {
        Incompatibilities::of(campaign, device).unwrap().lines().collect()
    }

    /// Regression test: the command shown by `--help` was refused because of FAT12.
    #[test]
    fn contender_that_rejects_the_size_is_unsupported_others_run() {
        let loops = campaign(BackendKind::Loop, &["ext4", "fat12"], Bytes::mib(512));
        assert_eq!(
            lines(&loops, None).iter().map(|l| l.split(": ").nth(1).unwrap()).collect::<Vec<_>>(),
            ["takes 255 MiB at most, not 512 MiB"]
        );
        let device = campaign(BackendKind::Vm, &["ext4", "fat12"], Bytes::mib(64));
        assert_eq!(lines(&device, Some(Bytes::mib(1024))).len(), 1);
    }

    #[test]
    fn default_contenders_of_every_profile_and_backend_can_run() {
        let catalog = Catalog::builtin().unwrap();
        for backend in [BackendKind::Loop, BackendKind::Vm] {
            let asked = catalog.filesystems().filter(|f| f.runs_by_default(backend));
            let names: Vec<&str> = asked.map(|f| f.name.as_str()).collect();
            for profile in SizeProfile::ALL {
                let mut all = campaign(backend, &names, catalog.profile(profile).size);
                all.suites = catalog.default_suites(profile).into_iter().cloned().collect();
                let lines = lines(&all, None);
                assert!(lines.len() < names.len(), "{backend} {profile}: {lines:?}");
                assert!(
                    profile == SizeProfile::Smoke
                        || lines.iter().any(|line| line.starts_with("fat12: ")),
                    "{backend} {profile}: {lines:?}"
                );
            }
        }
    }

    #[test]
    fn a_test_without_room_on_the_largest_disk_is_unsupported_by_itself() {
        let mut guests = campaign(BackendKind::Vm, &["ext4", "fat12"], Bytes::mib(512));
        let test = &mut guests.suites[0].tests[0];
        test.space = Bytes::mib(300);
        let name = test.name.clone();
        let lines = lines(&guests, None);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(
            lines[0].starts_with(&format!("fat12: the test `{name}` needs 300 MiB, not 255 MiB")),
            "{lines:?}"
        );
    }

    #[test]
    fn a_study_that_has_no_room_is_unsupported_or_refused_with_the_reason() {
        let catalog = Catalog::builtin().unwrap();
        let mut study = catalog.study("emerging-filesystems-2007").unwrap();
        // This suite needs md, and some kernels do not have it.
        study.suites.retain(|suite| suite.name != "disk-scaling");
        let campaign = Campaign {
            suites: study.suites,
            ..campaign(BackendKind::Loop, &["ext4", "fat16"], study.size)
        };
        let lines = lines(&campaign, None);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with("fat16: takes 4095 MiB at most"), "{lines:?}");
        let small = Incompatibilities::of(&campaign, Some(Bytes::mib(4 << 10))).unwrap_err();
        assert!(small.is::<UsageError>(), "{small}");
        let text = small.to_string();
        assert!(text.contains("`bonnie-block` needs 17 GiB, not 4 GiB"), "{text}");
    }

    fn over_two_images(contenders: &[&str], size: u64) -> Campaign {
        let mut campaign = campaign(BackendKind::Loop, contenders, Bytes::mib(size));
        campaign.suites.truncate(1);
        for test in &mut campaign.suites[0].tests {
            *test = test.with_disks(2);
            test.space = Bytes::mib(100);
        }
        campaign
    }

    #[test]
    fn size_of_several_images_is_their_sum() {
        assert!(Incompatibilities::of(&over_two_images(&["btrfs"], 64), None).is_ok());
        let refused = Incompatibilities::of(&over_two_images(&["btrfs"], 48), None).unwrap_err();
        assert!(refused.to_string().contains("not 96 MiB"), "{refused}");
        // Filesystems in memory use no disks.
        assert!(Incompatibilities::of(&over_two_images(&["tmpfs"], 64), None).is_err());
    }

    #[test]
    fn want_of_md_keeps_no_campaign_from_beginning() {
        let campaign = over_two_images(&["ext4"], 64);
        let lines = lines(&campaign, None);
        assert_eq!(lines.is_empty(), Raid0Array::missing_support().is_none(), "{lines:?}");
        assert!(lines.iter().all(|line| line.starts_with("ext4: no md")));
        let unstriped = |name: &str, backend| {
            let campaign = Campaign { backend, ..over_two_images(&[name], 64) };
            check_raid0(&campaign, &campaign.contenders[0], &campaign.suites[0].tests[0])
        };
        assert_eq!(unstriped("btrfs", BackendKind::Loop), None);
        assert_eq!(unstriped("tmpfs", BackendKind::Loop), None);
        assert_eq!(unstriped("ext4", BackendKind::Vm), None);
    }

    #[test]
    fn test_that_fits_no_contender_is_refused() {
        let refused = |contenders: &[&str], size| {
            let campaign = campaign(BackendKind::Loop, contenders, size);
            let error = Incompatibilities::of(&campaign, None).unwrap_err();
            assert!(error.is::<UsageError>(), "{error}");
            error.to_string()
        };
        let only = refused(&["fat12"], Bytes::mib(512));
        assert!(only.contains("255 MiB at most"), "{only}");
        let nobody = refused(&["ext4", "xfs"], Bytes::mib(1));
        assert!(nobody.contains("larger --size"), "{nobody}");
    }

    #[test]
    fn fill_without_room_for_a_test_is_refused_with_a_size_hint() {
        let aged = "ext4@age=agrawal,fill=75%";
        let with = |contenders: &[&str], size| {
            let mut campaign = campaign(BackendKind::Loop, contenders, Bytes::mib(size));
            for test in &mut campaign.suites[0].tests {
                test.space = Bytes::mib(20);
            }
            campaign.suites.truncate(1);
            campaign
        };
        let all = &["ext4", aged];
        let refused = Incompatibilities::of(&with(all, 64), None).unwrap_err();
        assert!(refused.is::<UsageError>(), "{refused}");
        let text = refused.to_string();
        assert!(
            text.contains("needs 20 MiB in addition to a fill of 75%, which leaves 16 MiB of 64 MiB: give --size 80MiB"),
            "{text}"
        );
        // Only the test that creates its filesystem is excluded, with any size.
        let fits = with(all, 80);
        let lines = lines(&fits, None);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("makes its filesystem itself, which is never aged"));
        // The size of a device is fixed, so the hint names no size.
        let mut device = with(all, 64);
        device.device = Some("/dev/none".into());
        let text = Incompatibilities::of(&device, Some(Bytes::mib(64))).unwrap_err().to_string();
        assert!(text.ends_with("choose a smaller --profile or a lower --fill"), "{text}");
    }

    #[test]
    fn a_cell_that_does_not_fit_has_the_reason_in_each_phase() {
        let test = campaign(BackendKind::Loop, &[], Bytes(0)).suites.remove(0).tests.remove(0);
        let result = unsupported(&test, &Incompatibility("too small".into()));
        assert_eq!(result.status, Status::Unsupported);
        assert_eq!(result.phases.len(), test.phases.len());
        assert!(result.phases.iter().all(|phase| phase.status == Status::Unsupported
            && phase.failure.as_ref().unwrap().reason == "too small"));
    }
}
