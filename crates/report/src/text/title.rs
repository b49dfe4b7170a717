//! Description of a campaign in one line, as the headline of a page: `12 filesystems, Linux 6.18, 1
//! GiB image, 22 Nov 2026, quick`.

use std::collections::BTreeSet;

use model::{BackendKind, Campaign, CampaignResults, Clock, GuestDisk};
use stats::{Analysis, ResultRow};

use crate::text::caveats::{Caveat, has_begun, runs_text};
use crate::text::labels::day;
use crate::text::labels::pluralize;
use crate::text::sanitize::sanitize_line;

/// Returns the contenders, kernel, device, date and profile of a campaign.
pub(crate) fn headline(results: &CampaignResults) -> String {
    let campaign = &results.campaign;
    let here = campaign.measured_by.is_none();
    let parts = [
        Some(contenders(results)),
        here.then(|| kernel(results)).flatten(),
        Some(place(results)),
        (campaign.clock == Clock::Virtual).then(|| "virtual time".to_owned()),
        (results.started.0 > 0).then(|| day(results.started)),
        here.then(|| campaign.profile.to_string()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns the contenders, tests, runs of each test, kernel, device, whether the machine was busy, and the duration of all
/// tests.
pub(crate) fn outline(results: &CampaignResults, analysis: &Analysis) -> String {
    let campaign = &results.campaign;
    let here = campaign.measured_by.is_none();
    let of = |rows: &mut dyn Iterator<Item = &ResultRow>| {
        rows.map(|row| (&row.suite, &row.test)).collect::<BTreeSet<_>>().len() as u64
    };
    let (all, begun) =
        (of(&mut analysis.rows.iter()), of(&mut analysis.rows.iter().filter(|row| has_begun(row))));
    let took = results.total_cell_time();
    // A budget may be too short for some.
    let tests = match (1..all).contains(&begun) {
        true => format!("{begun} of {}", pluralize(all, "test")),
        false => pluralize(all, "test"),
    };
    let parts = [
        Some(contenders(results)),
        Some(format!("{tests} (each run {})", runs_text(analysis))),
        data(campaign),
        here.then(|| kernel(results)).flatten(),
        Some(place(results)),
        (campaign.clock == Clock::Virtual).then(|| "virtual time".to_owned()),
        // Bounds hold for this run, and a quiet machine may give another order.
        Caveat::busy(analysis).map(|_| "busy machine".to_owned()),
        (took.0 > 0).then(|| format!("tests took {took}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns the content of files, if it is not random.
fn data(campaign: &Campaign) -> Option<String> {
    let kinds = campaign.data_kinds();
    let kinds: Vec<&str> =
        kinds.iter().filter(|kind| !kind.is_default()).map(|k| k.name()).collect();
    (!kinds.is_empty()).then(|| format!("data: {}", kinds.join(" and ")))
}

/// Returns the number of filesystems, or of variants if any filesystem has several contenders.
pub(crate) fn contenders(results: &CampaignResults) -> String {
    let all = &results.campaign.contenders;
    let filesystems: BTreeSet<&str> = all.iter().map(|c| c.filesystem.name.as_str()).collect();
    let noun = match filesystems.len() == all.len() {
        true => "filesystem",
        false => "filesystem variant",
    };
    pluralize(all.len() as u64, noun)
}

/// Returns the tested kernel with the first two numbers of its version: `Linux 6.18`.
pub(crate) fn kernel(results: &CampaignResults) -> Option<String> {
    let release = match &results.campaign.guest {
        Some(guest) => format!("Linux {}", guest.kernel),
        None => results.environments.last()?.kernel.clone(),
    };
    let mut words = release.split_whitespace();
    let (system, number) = (words.next()?, words.next()?);
    let short: Vec<&str> = number.splitn(3, ['.', '-']).take(2).collect();
    Some(sanitize_line(&format!("{system} {}", short.join("."))))
}

pub(crate) fn place(results: &CampaignResults) -> String {
    let campaign = &results.campaign;
    let size = campaign.size;
    if let Some(by) = &campaign.measured_by {
        return format!("measured by {}", sanitize_line(&by.program));
    }
    match (&campaign.device, &campaign.guest, campaign.backend) {
        (Some(device), ..) => sanitize_line(&device.display().to_string()),
        (None, Some(guest), _) => match &guest.disk {
            GuestDisk::Model { .. } => format!("{size} of {}", models(campaign).join(" and of ")),
            GuestDisk::Image { .. } | GuestDisk::Device { .. } => format!("guests, {size} image"),
        },
        (None, None, BackendKind::Dir) if !campaign.together.is_empty() => {
            sanitize_line(&format!("{} together", campaign.together.join(", ")))
        }
        (None, None, BackendKind::Dir) => "mounted directories".to_owned(),
        (None, None, BackendKind::Loop | BackendKind::Vm | BackendKind::Imported) => {
            format!("{size} image")
        }
    }
}

/// Returns the names of the simulated disks.
fn models(campaign: &Campaign) -> Vec<String> {
    let disks = campaign.disks().into_iter();
    let names = disks.filter_map(|disk| match disk {
        GuestDisk::Model { model } => Some(sanitize_line(&model.name)),
        GuestDisk::Image { .. } | GuestDisk::Device { .. } => None,
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::fixture;

    #[test]
    fn headline_has_contenders_kernel_device_date_and_profile() {
        let mut results = fixture::plain();
        results.started = model::Nanos(1_795_312_800_000_000_000);
        results.environments[0].kernel = "Linux 6.18.5-1-amd64 #1 SMP x86_64".to_owned();
        results.campaign.size = model::Bytes::mib(1024);
        let profile = results.campaign.profile;
        assert_eq!(
            headline(&results),
            format!("3 filesystems, Linux 6.18, 1 GiB image, 22 Nov 2026, {profile}")
        );
        let model = model::DiskModel::ideal();
        let simulated = fixture::guest(GuestDisk::Model { model });
        let mut on_disks = fixture::on_disks(results.clone(), &["hdd", "ssd", "hdd"]);
        on_disks.campaign.guest = Some(simulated);
        let line = headline(&on_disks);
        assert!(line.contains(", 1 GiB of hdd and of ssd, "), "{line}");
        results.campaign.contenders[1].filesystem.name = "fast".to_owned();
        results.environments.clear();
        results.campaign.backend = BackendKind::Dir;
        assert_eq!(
            headline(&results),
            format!("3 filesystem variants, mounted directories, 22 Nov 2026, {profile}")
        );
    }
}
