//! Tests the built-in studies: their figures, their claims, and the verdicts, which were checked by
//! hand against the figures.

use std::collections::BTreeMap;

use config::Catalog;
use studies::{ClaimVerdict, FigureStatus, HoldsInCount, Study, Verdict};

fn studies() -> Vec<Study> {
    let catalog = Catalog::builtin().unwrap();
    let read = |study: &config::StudySource| Study::read(study).unwrap().unwrap();
    catalog.studies().unwrap().iter().map(read).collect()
}

fn study(name: &str) -> Study {
    studies().into_iter().find(|study| study.name == name).unwrap()
}

fn judged(study: &Study) -> BTreeMap<String, ClaimVerdict> {
    let judged = study.evaluate_claims().into_iter();
    judged.map(|(claim, judgement)| (claim.id.clone(), judgement)).collect()
}

#[test]
fn every_figure_is_present_with_its_status() {
    let counts: Vec<(String, usize, usize, Vec<usize>)> = studies()
        .iter()
        .map(|study| {
            let rows = study.figures.rows;
            let censored = study.figures.cells().filter(|(_, _, cell)| cell.censored).count();
            let count =
                |status| study.figures.cells().filter(|(_, _, c)| c.status == status).count();
            (study.name.clone(), rows, censored, FigureStatus::ALL.map(count).to_vec())
        })
        .collect();
    let row = |name: &str, rows, censored, statuses: [usize; 6]| {
        (name.to_owned(), rows, censored, statuses.to_vec())
    };
    assert_eq!(
        counts,
        [
            row("bonnie-linux-2011", 608, 0, [494, 54, 0, 0, 38, 22]),
            // 56 of the 164 rows are bounds of 28 missing numbers.
            row("debian-file-server-2006", 164, 0, [77, 0, 0, 0, 0, 31]),
            row("emerging-filesystems-2007", 340, 18, [298, 5, 3, 2, 31, 1]),
            row("os2-shootout-2002", 20, 0, [20, 0, 0, 0, 0, 0]),
            row("piszcz-lkml-2004", 48, 0, [48, 0, 0, 0, 0, 0]),
            row("vanninen-wang-2003", 67, 0, [1, 0, 0, 0, 0, 66]),
        ]
    );
}

#[test]
fn every_claim_has_its_verdict() {
    let count = |study: &Study| {
        let judged = judged(study);
        let of = |verdict| judged.values().filter(|judgement| judgement.verdict == verdict).count();
        let counts =
            [Verdict::Supported, Verdict::Partly, Verdict::Contradicted, Verdict::Undecidable]
                .map(of);
        assert_eq!(counts.iter().sum::<usize>(), study.claims.len());
        (study.name.clone(), counts)
    };
    let counts: Vec<_> = studies().iter().map(count).collect();
    let row = |name: &str, counts| (name.to_owned(), counts);
    assert_eq!(
        counts,
        [
            row("bonnie-linux-2011", [12, 5, 1, 4]),
            row("debian-file-server-2006", [26, 11, 0, 3]),
            row("emerging-filesystems-2007", [12, 3, 0, 10]),
            row("os2-shootout-2002", [11, 3, 0, 5]),
            row("piszcz-lkml-2004", [4, 0, 0, 2]),
            row("vanninen-wang-2003", [0, 0, 0, 35]),
        ]
    );
}

fn holds_in(judgement: &ClaimVerdict) -> String {
    let counts = judgement.holds_in.as_ref().map(HoldsInCount::to_string);
    counts.unwrap_or_default()
}

/// Claims that the figures do not support as printed, found by hand.
#[test]
fn deviations_match_those_found_by_hand() {
    let of = |name: &str| judged(&study(name));
    let (os2, bonnie) = (of("os2-shootout-2002"), of("bonnie-linux-2011"));
    let (debian, emerging) = (of("debian-file-server-2006"), of("emerging-filesystems-2007"));
    let partly = |of: &BTreeMap<String, ClaimVerdict>, id: &str, off: &[&str]| {
        let judgement = &of[id];
        assert_eq!(judgement.verdict, Verdict::Partly, "{id}");
        assert_eq!(judgement.off, off, "{id}");
    };
    partly(&os2, "os2-05", &["said about 2 times, is 1.92"]);
    partly(
        &os2,
        "os2-10",
        &["fat (23.30) is ahead of hpfs386 (25.41) in large_file/sequential_read"],
    );
    partly(&bonnie, "bl-03", &["xfs is 4th of 19"]);
    partly(
        &bonnie,
        "bl-06",
        &[
            "btrfs is 13th of 19 in sequential_output_block",
            "xfs is 12th of 19 in sequential_input_block",
        ],
    );
    assert_eq!(bonnie["bl-17"].verdict, Verdict::Contradicted);
    assert_eq!(bonnie["bl-13"].values[0].times.as_deref(), Some("527"));
    assert_eq!(holds_in(&bonnie["bl-21"]), "holds in 2, in part in 1, not in 7");
    partly(&debian, "df-04", &["said at most 2, reiserfs is 2.2"]);
    partly(&debian, "df-05", &["said 5 to 15 times, is 4.60 to 11.5"]);
    partly(&debian, "df-08", &["said about 2 times, is 1.37 to 3.21"]);
    partly(&debian, "df-12", &["said about 100 times, is 75.0 to 125"]);
    partly(&debian, "df-17", &["jfs is 3rd of 4 in recopy"]);
    partly(&debian, "df-20", &["said about 2 times, is 1.76 to 2.68"]);
    partly(&debian, "df-26", &["ext3 is 4th of 4 in remove"]);
    partly(&debian, "df-31", &["said about 3 times, is 2.80 to 2.83"]);
    partly(&debian, "df-36", &["xfs is 3rd of 4 in mount"]);
    for untold in ["df-06", "df-15", "df-25"] {
        assert_eq!(debian[untold].verdict, Verdict::Undecidable, "{untold}");
    }
    let counts = [&debian["df-33"], &emerging["ef-02"], &emerging["ef-05"]].map(holds_in);
    assert_eq!(
        counts,
        ["holds in 5, not in 2, undecided in 4", "holds in 17, not in 5", "holds in 21, not in 1"]
    );
    assert_eq!(emerging["ef-06"].verdict, Verdict::Supported);
}

/// If the range of another contender begins at the best number, no contender can be better: JFS
/// takes 29 percent, and Ext3 29 to 45.
#[test]
fn contender_that_cannot_be_beaten_is_best() {
    let debian = judged(&study("debian-file-server-2006"));
    assert_eq!(debian["df-23"].verdict, Verdict::Supported);
    assert!(
        !format!("{:?}", debian["df-23"].reasons).contains("in recopy"),
        "{:?}",
        debian["df-23"].reasons
    );
}

/// The printed total is not another step in addition to its parts.
#[test]
fn a_printed_total_is_not_added_to_its_parts() {
    let catalog = Catalog::builtin().unwrap();
    let reported = study("emerging-filesystems-2007").reported(&catalog);
    let results = reported.unwrap().into_results("published").unwrap();
    let totals = stats::analyse(&results).totals;
    let total = totals.iter().find(|total| total.test == "mixed_suite");
    let total = total.unwrap();
    assert_eq!(total.steps.len(), 11);
    assert!(!total.steps.contains(&"total".to_owned()));
    let ext2 = &total.contenders[0];
    assert_eq!(ext2.contender, "ext2");
    let seconds = ext2.estimate.unwrap().median;
    assert!((seconds - 3232.9).abs() < 0.5, "{seconds}");
}

#[test]
fn wrong_sums_are_reported() {
    let off = study("emerging-filesystems-2007").inconsistencies();
    assert_eq!(
        off[0],
        "Total of the eleven steps, s: jfs is printed as 3064.5, but its parts add up to 3014.4 (+50.1)"
    );
    assert!(
        off[1].contains("ext2 is printed as 629.1, but its parts add up to 218.3 (+410.8)"),
        "{off:?}"
    );
    assert_eq!(off.len(), 2);
    assert!(study("os2-shootout-2002").inconsistencies().is_empty());
}

/// If all tests of a study have counterparts, its figures can be compared with results of fsarena.
#[test]
fn figures_are_a_campaign() {
    let catalog = Catalog::builtin().unwrap();
    let reported = study("bonnie-linux-2011").reported(&catalog).unwrap();
    let results = reported.into_results("published").unwrap();
    let tests: Vec<&str> =
        results.campaign.suites[0].tests.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(tests, ["bonnie-block", "bonnie-files"]);
    assert_eq!(results.campaign.contenders.len(), 19);
    assert_eq!(results.campaign.contenders[0].filesystem.name, "affs-ffs");
    let analysis = stats::analyse(&results);
    let row = analysis.rows.iter().find(|row| row.phase == "write").unwrap();
    let ext4 = row.results.iter().find(|result| result.contender == "ext4").unwrap();
    assert_eq!(ext4.rounds[0].value, Some(28_852.0 * 1024.0));
    assert!(study("vanninen-wang-2003").reported(&catalog).is_none());
    for study in studies() {
        if let Some(reported) = study.reported(&catalog) {
            reported.into_results("published").unwrap();
        }
    }
}

/// An empty cell of a table may also be a failure.
#[test]
fn only_printed_marks_count_as_too_fast() {
    let catalog = Catalog::builtin().unwrap();
    let too_fast = |name: &str, contender: &str, phase: &str| {
        let reported = study(name).reported(&catalog).unwrap();
        let figures = reported.figures.iter();
        let mut found = figures.filter(|f| f.contender == contender && f.phase == phase);
        found.next().unwrap().too_fast
    };
    assert!(too_fast("emerging-filesystems-2007", "ext2", "stat-seq"));
    assert!(!too_fast("emerging-filesystems-2007", "ext2", "create-seq"));
    assert!(!too_fast("bonnie-linux-2011", "hfs", "create-seq"));
}
