//! Disks as an axis of a campaign: each contender on each of several models, each test over several
//! numbers of disks. Every combination has separate cells.

use std::collections::BTreeSet;

use model::{
    BackendKind, Campaign, Contender, ContenderOverrides, DiskModel, Suite, Test, check_name,
};

use crate::output::exit::UsageError;

/// Returns the contenders, with one copy per disk model of each that needs a disk and names none.
pub fn expand_disk_models(contenders: Vec<Contender>, models: &[DiskModel]) -> Vec<Contender> {
    if models.len() < 2 {
        return contenders;
    }
    let each = contenders.into_iter().flat_map(|contender| {
        let needs = contender.filesystem.commands.need_device();
        match needs && contender.own.disk.is_none() {
            true => models.iter().map(|model| on(&contender, model)).collect(),
            false => vec![contender],
        }
    });
    each.collect()
}

/// Rejects disk models that no contender would use.
///
/// # Errors
/// Returns an error if every contender specifies its disk.
pub fn reject_unused_models(
    contenders: &[Contender],
    models: &[DiskModel],
) -> Result<(), UsageError> {
    let Some(model) = models.first() else {
        return Ok(());
    };
    match contenders.iter().all(|c| c.own.disk.is_some()) && !contenders.is_empty() {
        true => Err(UsageError(format!(
            "--disk {}: unused, because every contender specifies its disk; remove --disk",
            model.name
        ))),
        false => Ok(()),
    }
}

/// Returns the contender on disks of a model, named as if the user had given the disk.
fn on(contender: &Contender, model: &DiskModel) -> Contender {
    let (head, options) = match contender.name.split_once(':') {
        Some((head, options)) => (head, format!(":{options}")),
        None => (contender.name.as_str(), String::new()),
    };
    let sign = if head.contains('@') { ',' } else { '@' };
    Contender {
        name: format!("{head}{sign}{}{options}", model.name),
        own: ContenderOverrides { disk: Some(model.clone()), ..contender.own.clone() },
        ..contender.clone()
    }
}

/// Returns the suites with each test over each of these numbers of disks. A single number becomes
/// the number of the guests, or, without guests, of each test. Tests that sweep over disks keep
/// only the points of these numbers.
///
/// # Errors
/// Returns an error if the name of a test becomes too long, or if a suite has no point of these
/// numbers.
pub fn expand_disk_counts(
    suites: Vec<Suite>,
    numbers: &[u32],
    backend: BackendKind,
) -> Result<Vec<Suite>, UsageError> {
    if numbers.is_empty() {
        return Ok(suites);
    }
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    if let Some(double) = numbers.windows(2).find(|two| two[0] == two[1]) {
        return Err(UsageError(format!("--disks: {} is named twice", double[0])));
    }
    let is_plain = numbers == [1] || (numbers.len() == 1 && backend == BackendKind::Vm);
    let points = |test: &Test| match test.disks() {
        Some(own) if numbers.contains(&own) => vec![test.clone()],
        Some(_) => Vec::new(),
        None if is_plain => vec![test.clone()],
        None => numbers.iter().map(|n| test.with_disks(*n)).collect(),
    };
    let suites = suites.into_iter().map(|suite| {
        let tests: Vec<Test> = suite.tests.iter().flat_map(points).collect();
        if tests.is_empty() {
            return Err(UsageError(of_none(&suite)));
        }
        let mut names = tests.iter().map(|test| check_name(&test.name));
        names.try_for_each(|checked| checked.map_err(|e| UsageError(format!("--disks: {e}"))))?;
        Ok(Suite { tests, ..suite })
    });
    suites.collect()
}

/// Returns the error for disk counts without any points in a suite. The error lists the suite's
/// counts.
fn of_none(suite: &Suite) -> String {
    let own: BTreeSet<u32> = suite.tests.iter().filter_map(Test::disks).collect();
    let own: Vec<String> = own.iter().map(u32::to_string).collect();
    format!(
        "--disks: {} has points over {} disks in this profile: name some of these, or leave --disks out",
        suite.name,
        own.join(", ")
    )
}

/// Rejects disk models without guests, and several disks without guests or images. Other campaigns
/// have a single device, or a directory per contender.
///
/// # Errors
/// Returns an error if a campaign requests unavailable disks.
pub fn reject_multi_disk_outside_guests(campaign: &Campaign) -> Result<(), UsageError> {
    let backend = campaign.backend;
    if backend == BackendKind::Vm {
        return Ok(());
    }
    let mut own = campaign.contenders.iter();
    if let Some(contender) = own.find(|c| c.own.disk.is_some()) {
        return Err(UsageError(format!(
            "{}: per-contender disks need --backend vm; on the {backend} backend mount each disk and compare directories (--dir), or run a campaign on each and use `fsarena compare`",
            contender.name
        )));
    }
    let one = match (backend, &campaign.device) {
        (BackendKind::Dir, _) => "a mounted directory has a fixed number of disks",
        (_, Some(_)) => "--device is one disk",
        (_, None) => return Ok(()),
    };
    let tests = || campaign.suites.iter().flat_map(|suite| &suite.tests);
    let several = |c: &Contender| tests().find(|test| campaign.disk_count_for(c, test) > 1);
    match campaign.contenders.iter().find_map(several) {
        Some(test) => Err(UsageError(format!(
            "the test `{}` runs over several disks, and {one}: that is for images (--backend loop without --device) and \
             guests (--backend vm)",
            test.name
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use config::Catalog;
    use model::{SizeProfile, SweepAxis};

    use super::*;
    use crate::fixture;

    fn models(catalog: &Catalog, names: &[&str]) -> Vec<DiskModel> {
        let model = |name: &&str| catalog.disk(name).unwrap().clone();
        names.iter().map(model).collect()
    }

    #[test]
    fn a_number_of_disks_is_named_once() {
        let refused = expand_disk_counts(Vec::new(), &[2, 1, 2], BackendKind::Loop).unwrap_err();
        assert_eq!(refused.0, "--disks: 2 is named twice");
    }

    #[test]
    fn each_contender_that_names_no_disk_competes_on_each() {
        let catalog = Catalog::builtin().unwrap();
        let specs = ["ext4:data=journal", "xfs@ideal", "jfs@disks=2", "tmpfs"];
        let contenders = || specs.map(|spec| catalog.contender(spec).unwrap()).to_vec();
        let on = |names: &[&str]| expand_disk_models(contenders(), &models(&catalog, names));
        let several = on(&["nvme-consumer", "sata-ssd"]);
        let names: Vec<&str> = several.iter().map(|c| c.name.as_str()).collect();
        let expected = [
            "ext4@nvme-consumer:data=journal",
            "ext4@sata-ssd:data=journal",
            "xfs@ideal",
            "jfs@disks=2,nvme-consumer",
            "jfs@disks=2,sata-ssd",
            "tmpfs",
        ];
        assert_eq!(names, expected);
        assert_eq!(several[1].own.disk.as_ref().unwrap().name, "sata-ssd");
        assert_eq!(several[4].own.disks, Some(2));
        // The name of a contender is also its specification on the command line.
        for one in &several {
            let typed = catalog.contender(&one.name).unwrap();
            assert_eq!(typed.own, one.own, "{}", one.name);
        }
        assert_eq!(on(&["nvme-consumer"]), contenders(), "one is the campaign's");
    }

    #[test]
    fn unused_disk_is_refused() {
        let catalog = Catalog::builtin().unwrap();
        let of = |specs: &[&str], names: &[&str]| {
            let contenders = specs.iter().map(|spec| catalog.contender(spec).unwrap());
            reject_unused_models(&contenders.collect::<Vec<_>>(), &models(&catalog, names))
        };
        assert!(of(&["xfs@ideal", "ext4"], &["sata-ssd"]).is_ok());
        assert!(of(&["xfs@ideal"], &[]).is_ok());
        let refused = of(&["xfs@ideal"], &["sata-ssd"]).unwrap_err().0;
        assert!(refused.ends_with("remove --disk"), "{refused}");
    }

    #[test]
    fn each_test_runs_over_each_number_of_disks() {
        let catalog = Catalog::builtin().unwrap();
        let suite = |name| catalog.suite(name, SizeProfile::Smoke).unwrap().clone();
        let suites =
            expand_disk_counts(vec![suite("tree"), suite("tiobench")], &[4, 1, 2], BackendKind::Vm)
                .unwrap();
        let names: Vec<&str> = suites[0].tests.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["tree-1x", "tree-2x", "tree-4x"]);
        let point = suites[0].tests[2].sweep.as_ref().unwrap();
        assert_eq!((point.sweep.as_str(), point.at[&SweepAxis::Disks]), ("tree", 4));
        // A sweep gets an additional axis.
        let swept = suites[1].tests[0].sweep.as_ref().unwrap();
        assert!(swept.at.contains_key(&SweepAxis::Threads) && swept.at[&SweepAxis::Disks] == 1);
        // Tests that define their disk counts keep them.
        let again = expand_disk_counts(suites, &[1, 8], BackendKind::Vm).unwrap();
        let names: Vec<&str> = again[0].tests.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["tree-1x"]);
        let error = expand_disk_counts(again, &[8], BackendKind::Loop).unwrap_err();
        let expected = "--disks: tree has points over 1 disks in this profile: name some of these, or leave --disks out";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn one_number_is_the_guests_or_else_that_of_each_test() {
        let catalog = Catalog::builtin().unwrap();
        let tree = || vec![catalog.suite("tree", SizeProfile::Smoke).unwrap().clone()];
        let over = |numbers: &[u32], backend| {
            let suites = expand_disk_counts(tree(), numbers, backend).unwrap();
            suites[0].tests[0].name.clone()
        };
        assert_eq!(over(&[2], BackendKind::Vm), "tree");
        assert_eq!(over(&[2], BackendKind::Loop), "tree-2x");
        assert_eq!(over(&[1], BackendKind::Loop), "tree");
    }

    #[test]
    fn several_disks_are_for_guests_and_images_and_models_for_guests() {
        let catalog = Catalog::builtin().unwrap();
        let mut campaign = fixture::campaign();
        assert_eq!(campaign.backend, BackendKind::Loop);
        let refused = |campaign: &Campaign| {
            let error = reject_multi_disk_outside_guests(campaign).unwrap_err().to_string();
            assert_eq!(error.lines().count(), 1);
            error
        };
        let tree = catalog.suite("tree", SizeProfile::Smoke).unwrap().clone();
        campaign.suites = expand_disk_counts(vec![tree], &[1, 2], BackendKind::Loop).unwrap();
        assert!(reject_multi_disk_outside_guests(&campaign).is_ok());
        campaign.device = Some("/dev/none".into());
        let error = refused(&campaign);
        assert!(error.contains("`tree-2x` runs over several disks, and --device"));
        campaign.device = None;
        campaign.backend = BackendKind::Dir;
        let error = refused(&campaign);
        assert!(error.contains("a mounted directory has a fixed number of disks"));
        campaign.backend = BackendKind::Loop;
        campaign.contenders.push(catalog.contender("ext4@nvme-consumer").unwrap());
        let error = refused(&campaign);
        assert!(error.starts_with("ext4@nvme-consumer: per-contender disks"));
        campaign.backend = BackendKind::Vm;
        assert!(reject_multi_disk_outside_guests(&campaign).is_ok());
    }
}
