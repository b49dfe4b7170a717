//! Checks that the default suites cover the use cases.

use std::collections::BTreeSet;

use config::Catalog;
use model::{SizeProfile, Test, UseCase, WorkloadCategory};

/// Minimum share of a use case's weight that the default suites must test.
const COVERED: f64 = 0.7;

/// Returns the workload categories of the default suites in a profile.
fn tested_by_default(catalog: &Catalog, profile: SizeProfile) -> BTreeSet<WorkloadCategory> {
    let suites = catalog.default_suites(profile);
    let tests = suites.iter().flat_map(|suite| &suite.tests);
    tests.flat_map(Test::categories).collect()
}

/// Returns the tested share of a use case's weight, and the weighted categories that are not
/// tested.
fn coverage(one: &UseCase, tested: &BTreeSet<WorkloadCategory>) -> (f64, Vec<WorkloadCategory>) {
    let weighed = one.weights.iter().filter(|weight| weight.weight > 0.0);
    let groups = weighed.map(|weight| weight.group);
    let (covered, missing): (Vec<WorkloadCategory>, Vec<WorkloadCategory>) =
        groups.partition(|group| tested.contains(group));
    let weight: f64 = covered.iter().map(|group| one.weight(*group)).sum();
    (weight / one.total_weight(), missing)
}

/// Regression test: no default suite had durable writes, which are 45 % of a mail spool.
#[test]
fn default_suites_cover_the_use_cases() {
    let catalog = Catalog::builtin().unwrap();
    let mut lines = String::new();
    let mut short = false;
    for profile in SizeProfile::SIZES {
        let tested = tested_by_default(&catalog, profile);
        for one in catalog.uses() {
            let (share, missing) = coverage(one, &tested);
            let missing: Vec<&str> = missing.into_iter().map(WorkloadCategory::name).collect();
            let missing = match missing.is_empty() {
                true => String::new(),
                false => format!(", without {}", missing.join(", ")),
            };
            let percent = (share * 100.0).round();
            lines += &format!("{profile}: {}: {percent} %{missing}\n", one.name);
            short |= share < COVERED;
        }
    }
    println!("{lines}");
    assert!(!short, "the default suites leave uses unanswered:\n{lines}");
}

/// Tests the coverage itself: it lists the untested categories.
#[test]
fn untested_categories_are_listed_with_their_share() {
    let catalog = Catalog::builtin().unwrap();
    let mail = catalog.use_case("mail-spool").unwrap();
    let mut tested = tested_by_default(&catalog, SizeProfile::Quick);
    tested.remove(&WorkloadCategory::Durable);
    assert_eq!(coverage(mail, &tested), (0.55, vec![WorkloadCategory::Durable]));
}
