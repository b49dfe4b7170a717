//! Disks as an axis of a campaign: each contender on each of several models, each test over several numbers of
//! disks, so that every combination has cells of its own.

use model::{Backend, Campaign, Contender, DiskModel, OwnSetting, Suite, Test, check_name};

use crate::output::exit::BadInput;

/// The contenders, each of those that need a disk and name none once on each of several models.
pub fn on_each_model(contenders: Vec<Contender>, models: &[DiskModel]) -> Vec<Contender> {
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

/// The contender on disks after a model, called as who names it with its disk.
fn on(contender: &Contender, model: &DiskModel) -> Contender {
    let (head, options) = match contender.name.split_once(':') {
        Some((head, options)) => (head, format!(":{options}")),
        None => (contender.name.as_str(), String::new()),
    };
    let sign = if head.contains('@') { ',' } else { '@' };
    Contender {
        name: format!("{head}{sign}{}{options}", model.name),
        own: OwnSetting {
            disk: Some(model.clone()),
            ..contender.own.clone()
        },
        ..contender.clone()
    }
}

/// The suites, each test of them over each of several numbers of disks; those that say so themselves stay as they are.
///
/// # Errors
/// When the name of a test is too long for one of a point.
pub fn over_each_number(suites: Vec<Suite>, numbers: &[u32]) -> Result<Vec<Suite>, BadInput> {
    if numbers.len() < 2 {
        return Ok(suites);
    }
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    let points = |test: Test| match test.disks() {
        Some(_) => vec![test],
        None => numbers.iter().map(|n| test.over_disks(*n)).collect(),
    };
    let suites = suites.into_iter().map(|suite| {
        let tests: Vec<Test> = suite.tests.into_iter().flat_map(points).collect();
        let mut names = tests.iter().map(|test| check_name(&test.name));
        names.try_for_each(|checked| checked.map_err(|e| BadInput(format!("--disks: {e}"))))?;
        Ok(Suite { tests, ..suite })
    });
    suites.collect()
}

/// Disks of a contender's own, and sweeps over several, are for guests: elsewhere a campaign has the one device or
/// image that it is given, or a directory for each contender.
///
/// # Errors
/// When a campaign on another backend asks for them.
pub fn refuse_outside_guests(campaign: &Campaign) -> Result<(), BadInput> {
    let backend = campaign.backend;
    if backend == Backend::Vm {
        return Ok(());
    }
    let own = campaign.contenders.iter();
    let mut own = own.filter(|c| c.own.disk.is_some() || c.own.disks.is_some());
    if let Some(contender) = own.next() {
        return Err(BadInput(format!(
            "{} has disks of its own, which is for guests (--backend vm): on the {backend} backend mount each disk \
             and compare directories (--dir), or run a campaign on each and `fsarena compare` them",
            contender.name
        )));
    }
    let mut tests = campaign.suites.iter().flat_map(|suite| &suite.tests);
    match tests.find(|test| test.disks().is_some_and(|disks| disks > 1)) {
        Some(test) => Err(BadInput(format!(
            "the test `{}` runs over several disks, which is for guests (--backend vm), not for the {backend} backend",
            test.name
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use catalog::Catalog;
    use model::{Axis, Profile};

    use super::*;
    use crate::fixture;

    fn models(catalog: &Catalog, names: &[&str]) -> Vec<DiskModel> {
        let model = |name: &&str| catalog.disk(name).unwrap().clone();
        names.iter().map(model).collect()
    }

    #[test]
    fn each_contender_that_names_no_disk_competes_on_each() {
        let catalog = Catalog::builtin().unwrap();
        let specs = ["ext4:data=journal", "xfs@ideal", "jfs@disks=2", "tmpfs"];
        let contenders = || specs.map(|spec| catalog.contender(spec).unwrap()).to_vec();
        let on = |names: &[&str]| on_each_model(contenders(), &models(&catalog, names));
        let several = on(&["nvme", "sata-ssd"]);
        let names: Vec<&str> = several.iter().map(|c| c.name.as_str()).collect();
        let expected = [
            "ext4@nvme:data=journal",
            "ext4@sata-ssd:data=journal",
            "xfs@ideal",
            "jfs@disks=2,nvme",
            "jfs@disks=2,sata-ssd",
            "tmpfs",
        ];
        assert_eq!(names, expected);
        assert_eq!(several[1].own.disk.as_ref().unwrap().name, "sata-ssd");
        assert_eq!(several[4].own.disks, Some(2));
        // What it is called is how it would be typed.
        for one in &several {
            let typed = catalog.contender(&one.name).unwrap();
            assert_eq!(typed.own, one.own, "{}", one.name);
        }
        assert_eq!(on(&["nvme"]), contenders(), "one is the campaign's");
    }

    #[test]
    fn each_test_runs_over_each_number_of_disks() {
        let catalog = Catalog::builtin().unwrap();
        let suite = |name| catalog.suite(name, Profile::Smoke).unwrap().clone();
        let suites = over_each_number(vec![suite("tree"), suite("tiobench")], &[4, 1, 2]).unwrap();
        let names: Vec<&str> = suites[0].tests.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["tree-1x", "tree-2x", "tree-4x"]);
        let point = suites[0].tests[2].sweep.as_ref().unwrap();
        assert_eq!((point.of.as_str(), point.at[&Axis::Disks]), ("tree", 4));
        // A sweep has an axis more.
        let swept = suites[1].tests[0].sweep.as_ref().unwrap();
        assert!(swept.at.contains_key(&Axis::Threads) && swept.at[&Axis::Disks] == 1);
        let again = over_each_number(suites.clone(), &[1, 8]).unwrap();
        assert_eq!(again, suites, "they say so themselves");
    }

    #[test]
    fn disks_of_its_own_are_for_guests() {
        let catalog = Catalog::builtin().unwrap();
        let mut campaign = fixture::campaign();
        assert_eq!(campaign.backend, Backend::Loop);
        assert!(refuse_outside_guests(&campaign).is_ok());
        let tree = catalog.suite("tree", Profile::Smoke).unwrap().clone();
        campaign.suites = over_each_number(vec![tree], &[1, 2]).unwrap();
        let error = refuse_outside_guests(&campaign).unwrap_err().to_string();
        assert!(
            error.starts_with("the test `tree-2x` runs over several disks"),
            "{error}"
        );
        campaign
            .contenders
            .push(catalog.contender("ext4@nvme").unwrap());
        let error = refuse_outside_guests(&campaign).unwrap_err().to_string();
        assert!(
            error.starts_with("ext4@nvme has disks of its own"),
            "{error}"
        );
        campaign.backend = Backend::Vm;
        assert!(refuse_outside_guests(&campaign).is_ok());
    }
}
