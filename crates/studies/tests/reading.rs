//! Tests of user studies: errors are reported in one line with file and line, and measurements are
//! judged by the statistics of every report.

use config::Catalog;
use model::{Environment, ImportedCampaign, ImportedContender, ImportedResult, Metric, Status};
use stats::analyse;
use studies::{CampaignEvidence, PublishedEvidence, Replication, Study, Verdict};

const STUDY: &str = r#"name = "ours"
title = "Ours"
source = "made for a test"
rationale = "One large file."
contenders = ["ext4", "xfs", "jfs"]
suites = ["large-file"]
tests = ["large-read"]
size = "2 GB"
[filesystems]
old-xfs = "xfs"
[phases]
"reading/front_to_back" = "large-read/read-large"
"reading/both" = ["large-read/prepare-file", "large-read/read-large"]
[[doubt]]
figures = ["jfs in reading/*/*"]
why = "It is a test."
[[check]]
what = "rate times time"
product = ["reading/front_to_back/elapsed", "reading/front_to_back/throughput"]
within = "1%"
[[claim]]
id = "a"
text = "ext4 reads faster than XFS, twice as fast."
in = "reading/front_to_back/throughput"
says = ["ext4 < old-xfs", "ext4 is about 2 times old-xfs"]
[[claim]]
id = "b"
text = "JFS crashes."
in = "reading/front_to_back/throughput"
says = ["jfs crashes"]
[[claim]]
id = "c"
text = "Writing and reading take ext4 half the time."
says = ["ext4 is about 0.5 times old-xfs in reading/both/elapsed"]
[[claim]]
id = "d"
text = "Both is longer."
says = ["reading/front_to_back/elapsed < reading/both/elapsed for ext4, old-xfs"]
"#;
const FIGURES: &str = "study,year,os,driver,filesystem,filesystem_version,test,phase,metric,unit,value,censored,status,note
ours,2019,linux,kernel,ext4,,reading,front_to_back,throughput,MB/s,100,,ok,
ours,2019,linux,kernel,old-xfs,,reading,front_to_back,throughput,MB/s,50,,ok,
ours,2019,linux,kernel,jfs,,reading,front_to_back,throughput,MB/s,,,crashed,the machine stood still
ours,2019,linux,kernel,ext4,,reading,front_to_back,elapsed,s,10,,ok,
ours,2019,linux,kernel,old-xfs,,reading,front_to_back,elapsed,s,21,,ok,
ours,2019,linux,kernel,ext4,,reading,both,elapsed,s,20,,ok,
ours,2019,linux,kernel,old-xfs,,reading,both,elapsed,s,40,,ok,
";

fn catalog(study: &str, figures: &str) -> Result<Catalog, config::CatalogError> {
    let builtin = Catalog::builtin().unwrap();
    builtin.from_study("ours/study.toml", study, ("ours/figures.csv", figures))
}

fn read(study: &str, figures: &str) -> Result<Study, String> {
    let catalog = catalog(study, figures).map_err(|e| e.to_string())?;
    let study = catalog.study("ours").map_err(|e| e.to_string())?;
    Study::read(&study).map(Option::unwrap).map_err(|e| e.to_string())
}

#[test]
fn study_errors_have_a_line_number() {
    for (right, wrong, told) in [
        (
            "ext4 < old-xfs",
            "ext4 < xfs",
            "study.toml:25: `xfs` is not a filesystem or group of the study",
        ),
        ("jfs crashes", "jfs crashs", "study.toml:30: `crashs` in `jfs crashs`: expected"),
        (
            "[[claim]]\nid = \"b\"",
            "[[claim]]\nid = \"a\"",
            "study.toml:27: there is a claim `a` already",
        ),
        ("says = [\"jfs crashes\"]", "", "study.toml:26: a claim has either `says`"),
        (
            "old-xfs = \"xfs\"",
            "old-xfs = \"zfs\"",
            "study.toml:10: `zfs` is not in the study's `contenders`",
        ),
        (
            "old-xfs = \"xfs\"",
            "older-xfs = \"xfs\"",
            "study.toml:10: `older-xfs` is not a contender",
        ),
        (
            "= \"large-read/read-large\"",
            "= \"large-read/rad\"",
            "study.toml:12: the study's suites have no phase",
        ),
        ("within = \"1%\"", "within = \"few\"", "study.toml:18: `within` is `few`"),
        (
            "jfs in reading/*/*",
            "jfs of reading",
            "study.toml:15: `of` in `jfs of reading`: expected `in`",
        ),
    ] {
        let text = STUDY.replacen(right, wrong, 1);
        assert_ne!(text, STUDY, "{right}");
        let error = read(&text, FIGURES).unwrap_err();
        assert!(error.starts_with("ours/") && error.contains(told), "{error}");
    }
}

#[test]
fn figure_errors_have_a_line_number() {
    for (right, wrong, told) in [
        ("study,year", "studie,year", ":1: expected the heading study,year,os"),
        (
            "ours,2019,linux,kernel,jfs",
            "yours,2019,linux,kernel,jfs",
            ":4: `study` is `yours`; expected `ours`",
        ),
        ("MB/s,100,", "MB/s,hundred,", ":2: `value` is `hundred`; expected a number"),
        ("MB/s,100,", "MB/s,NaN,", ":2: `value` is `NaN`"),
        ("MB/s,100,,ok,", "MB/s,100,,fine,", ":2: `status` is `fine`; expected one of: ok, failed"),
        ("MB/s,100,,ok,", "MB/s,100,,failed,", ":2: a number, or `>` in `censored`"),
        ("MB/s,100,,ok,", "MB/s,100,,ok", ":2: expected 14 fields and found 13"),
        (
            "elapsed,s,10,,ok",
            "elapsed,s,,>,ok",
            ":5: `>` without a number means that a rate was above all others",
        ),
        (
            "MB/s,50,",
            "KiB/s,50,",
            ":3: `unit` is `KiB/s`; reading/front_to_back/throughput is in MB/s",
        ),
        (
            "xfs,,reading,front_to_back,elapsed,s,21",
            "xfs,,reading,front_to_back,throughput,MB/s,21",
            ":6: line 3 has this figure already",
        ),
        ("the machine", "\"the machine", ":4: a quote is not closed"),
        ("kernel,jfs", "kernel,J F S", ":4: `filesystem`: "),
    ] {
        let text = FIGURES.replacen(right, wrong, 1);
        assert_ne!(text, FIGURES, "{right}");
        let error = read(STUDY, &text).unwrap_err();
        assert!(error.starts_with("ours/figures.csv") && error.contains(told), "{error}");
        assert!(!error.contains('\n'));
    }
}

#[test]
fn printed_figures_are_judged_as_exact() {
    let study = read(STUDY, FIGURES).unwrap();
    let verdicts: Vec<Verdict> =
        study.evaluate_claims().iter().map(|(_, how)| how.verdict).collect();
    assert_eq!(verdicts, [Verdict::Supported; 4]);
    let off = study.inconsistencies();
    assert_eq!(off.len(), 1, "{off:?}");
    let evidence = PublishedEvidence(&study.figures);
    assert_eq!(
        study.claims[0].judge(&evidence).values[0].to_string(),
        "ext4 100, old-xfs 50 MB/s: 2.00 times"
    );
}

/// "More than 100" may be twice 50, and is more than 1.5 times 50.
#[test]
fn bounds_decide_claims_if_possible() {
    let figures = FIGURES.replacen("MB/s,100,,", "MB/s,100,>,", 1);
    for (said, verdict) in [
        ("ext4 is about 2 times old-xfs", Verdict::Undecidable),
        ("ext4 is about 1.9 times old-xfs", Verdict::Undecidable),
        ("ext4 is at least 1.5 times old-xfs", Verdict::Supported),
        ("ext4 is at least 2.5 times old-xfs", Verdict::Undecidable),
        ("ext4 is at most 1.1 times old-xfs", Verdict::Partly),
        ("ext4 < old-xfs by at least 50%", Verdict::Supported),
        ("ext4 is at least 100", Verdict::Supported),
        ("ext4 is at most 100", Verdict::Partly),
    ] {
        let text = STUDY.replacen("ext4 is about 2 times old-xfs", said, 1);
        let study = read(&text, &figures).unwrap();
        let judged = study.evaluate_claims();
        assert_eq!(judged[0].1.verdict, verdict, "{said}: {judged:?}");
    }
    let study = read(STUDY, &figures).unwrap();
    let why = study.evaluate_claims()[0].1.reasons[0].to_string();
    assert_eq!(why, "ext4 (above 100) beside old-xfs (50)");
}

/// ext4 is best in the figures with its number, and may be best in those without.
#[test]
fn contender_without_a_figure_may_be_best_everywhere() {
    let said = "says = [\"nobody is best in every reading/front_to_back/throughput, reading/both/elapsed\"]";
    let text = STUDY.replacen(
        "says = [\"ext4 is about 0.5 times old-xfs in reading/both/elapsed\"]",
        said,
        1,
    );
    assert_ne!(text, STUDY);
    let verdict = |figures: &str| read(&text, figures).unwrap().evaluate_claims()[2].1.verdict;
    assert_eq!(verdict(FIGURES), Verdict::Contradicted);
    let lacking =
        FIGURES.replacen("ours,2019,linux,kernel,ext4,,reading,both,elapsed,s,20,,ok,\n", "", 1);
    assert_ne!(lacking, FIGURES);
    assert_eq!(verdict(&lacking), Verdict::Undecidable);
    let other = FIGURES.replacen("elapsed,s,40,", "elapsed,s,2,", 1);
    assert_eq!(verdict(&other), Verdict::Supported);
}

#[test]
fn ranges_that_touch_leave_only_one_side_to_be_better() {
    let range = |name: &str, low: &str, high: &str| {
        let row = |metric: &str, rest: &str| {
            format!("ours,2019,linux,kernel,{name},,cost,all,{metric},percent,{rest}\n")
        };
        row("cpu", ",,missing,")
            + &row("cpu_min_bound", &format!("{low},,ok,"))
            + &row("cpu_max_bound", &format!("{high},,ok,"))
    };
    let one = |name: &str, value: &str| {
        format!("ours,2019,linux,kernel,{name},,cost,all,cpu,percent,{value},,ok,\n")
    };
    let figures =
        FIGURES.to_owned() + &one("ext4", "29") + &range("old-xfs", "29", "45") + &one("jfs", "45");
    for (said, verdict) in [
        ("ext4 is best", Verdict::Supported),
        ("jfs is worst", Verdict::Supported),
        ("old-xfs is best", Verdict::Undecidable),
        ("old-xfs is worst", Verdict::Undecidable),
        ("old-xfs is 2nd", Verdict::Undecidable),
        ("old-xfs < ext4", Verdict::Contradicted),
        ("ext4 < old-xfs", Verdict::Undecidable),
        ("ext4 < jfs", Verdict::Supported),
    ] {
        let text = STUDY.replacen(
            "says = [\"jfs crashes\"]",
            &format!("says = [\"{said} in cost/all/cpu\"]"),
            1,
        );
        let text = text.replacen(
            "in = \"reading/front_to_back/throughput\"\nsays = [\"old",
            "says = [\"old",
            1,
        );
        let study = read(&text, &figures).unwrap();
        assert_eq!(study.evaluate_claims()[1].1.verdict, verdict, "{said}");
    }
}

/// Returns a campaign of these filesystems, measured by another program.
fn reported(names: &[&str], figures: Vec<ImportedResult>, suite: &str) -> model::CampaignResults {
    let catalog = Catalog::builtin().unwrap();
    let contenders = names.iter().map(|name| ImportedContender {
        name: (*name).to_owned(),
        filesystem: catalog.filesystem(name).ok().cloned(),
    });
    let reported = ImportedCampaign {
        name: "again".to_owned(),
        program: "made".to_owned(),
        source: "made".to_owned(),
        started: None,
        environment: Environment::default(),
        contenders: contenders.collect(),
        figures,
    };
    reported.into_results(suite).unwrap()
}

/// Creates a campaign in which ext4 takes `ext4` seconds to read, and XFS takes 20.
fn campaign(rounds: u32, ext4: f64, jfs: Option<Status>) -> model::CampaignResults {
    let mut figures = Vec::new();
    for round in 1..=rounds {
        let noise = 1.0 + 0.002 * f64::from(round % 3);
        for (name, seconds) in [("ext4", ext4), ("xfs", 20.0)] {
            for (phase, share) in [("prepare-file", 1.0), ("read-large", 1.0)] {
                let elapsed = seconds * share * noise;
                let mut figure = ImportedResult::single_value(
                    name,
                    "large-read",
                    phase,
                    Metric::Throughput,
                    1e9 / elapsed,
                );
                figure
                    .values
                    .push(model::ReportedValue { metric: Metric::Elapsed, value: elapsed });
                figures.push(ImportedResult { round, ..figure });
            }
        }
        if let Some(status) = jfs {
            figures.push(ImportedResult {
                status,
                values: Vec::new(),
                round,
                ..ImportedResult::single_value(
                    "jfs",
                    "large-read",
                    "read-large",
                    Metric::Throughput,
                    0.0,
                )
            });
        }
    }
    reported(&["ext4", "xfs", "jfs"], figures, "large-file")
}

fn verdicts(results: &model::CampaignResults) -> Vec<Verdict> {
    let study = read(STUDY, FIGURES).unwrap();
    let evidence = CampaignEvidence::new(&study, results, &analyse(results));
    study.claims.iter().map(|claim| claim.judge(&evidence).verdict).collect()
}

#[test]
fn measurements_are_judged_by_their_intervals() {
    use Verdict::{Contradicted, NotEnoughRounds, NotMeasured, Partly, Supported};
    // The campaign confirms the study.
    let again = verdicts(&campaign(8, 10.0, Some(Status::Crashed)));
    assert_eq!(again, [Supported; 4]);
    // ext4 is still ahead, but by less, and JFS did not compete.
    let less = verdicts(&campaign(8, 13.0, None));
    assert_eq!(less[..3], [Partly, NotMeasured, Partly]);
    // The order is reversed, and JFS failed without a crash.
    let turned = verdicts(&campaign(8, 40.0, Some(Status::Failed)));
    assert_eq!(turned[..3], [Contradicted, Contradicted, Contradicted]);
    // One round decides nothing.
    let once = verdicts(&campaign(1, 10.0, None));
    assert_eq!(once[..3], [NotEnoughRounds, NotMeasured, NotEnoughRounds]);
    assert_eq!(once[3], NotEnoughRounds);
}

/// Creates a campaign with the capacity and the mkfs time of ext3 and XFS on an empty volume of
/// this size.
fn lifecycle(size: u64) -> model::CampaignResults {
    let figures = (1..=6).flat_map(|round| {
        let noise = 1.0 + 0.001 * f64::from(round % 3);
        [("ext3", 90.0, 9.0), ("xfs", 80.0, 1.0)].into_iter().flat_map(move |(name, left, mkfs)| {
            let figure = |phase, metric, value| ImportedResult {
                round,
                ..ImportedResult::single_value(name, "lifecycle", phase, metric, value)
            };
            [
                figure("capacity-empty", Metric::Capacity, left),
                figure("mkfs", Metric::Elapsed, mkfs * noise),
            ]
        })
    });
    let mut results = reported(&["ext3", "xfs"], figures.collect(), "lifecycle");
    results.campaign.size = model::Bytes(size);
    results
}

/// The unknown value is one figure of several, not the whole contender.
#[test]
fn unknown_values_are_reported_with_their_figure() {
    let said =
        "says = [\"jfs is worst in reading/front_to_back/throughput, reading/both/elapsed\"]";
    let text = STUDY.replacen(
        "in = \"reading/front_to_back/throughput\"\nsays = [\"jfs crashes\"]",
        said,
        1,
    );
    let study = read(&text, FIGURES).unwrap();
    let why: Vec<String> =
        study.evaluate_claims()[1].1.reasons.iter().map(ToString::to_string).collect();
    assert_eq!(
        why,
        [
            "jfs in front_to_back/throughput: crashed: the machine stood still",
            "jfs in both/elapsed: the study has no such figure"
        ]
    );
    // A contender that takes no part is missing in every figure.
    let study = read(&text, FIGURES).unwrap();
    let results = lifecycle(1 << 30);
    let evidence = CampaignEvidence::new(&study, &results, &analyse(&results));
    let why = study.claims[1].judge(&evidence).reasons;
    assert_eq!(why.len(), 1);
    assert_eq!(why[0].to_string(), "jfs: not part of the campaign");
}

/// JFS read fastest in the study, but has no number in the campaign.
#[test]
fn published_leader_without_a_measurement_is_named() {
    let figures = FIGURES.replacen(",,crashed,the machine stood still", "200,,ok,", 1);
    let study = read(STUDY, &figures.replacen("MB/s,,200", "MB/s,200", 1)).unwrap();
    let results = campaign(8, 10.0, None);
    let twice = Replication::new(&study, &results, &analyse(&results));
    let throughput = &twice.figures[0];
    assert_eq!(throughput.path, "reading/front_to_back/throughput");
    let best = throughput.best_then.as_ref().unwrap();
    assert_eq!((best.name.as_str(), best.times), ("jfs", 2.0));
    assert_eq!(throughput.best_now, None);
}

#[test]
fn equal_settings_are_not_reported_as_differences() {
    let catalog = Catalog::builtin().unwrap();
    let study = catalog.study("bonnie-linux-2011").unwrap();
    let study = Study::read(&study).unwrap().unwrap();
    let differences = |memory: u64, size: u64, profile| {
        let mut results = lifecycle(size);
        let campaign = &mut results.campaign;
        (campaign.measured_by, campaign.profile) = (None, profile);
        campaign.memory = Some(model::Bytes(memory));
        let twice = Replication::new(&study, &results, &analyse(&results));
        let rows = twice.differences.into_iter();
        let rows = rows.filter(|row| ["Memory", "Scale", "Clock"].contains(&row.aspect));
        rows.map(|row| format!("{}: {} → {}", row.aspect, row.published, row.measured))
            .collect::<Vec<_>>()
    };
    let same = differences(3 << 30, 20_000_000_000, model::SizeProfile::Study);
    assert!(same.is_empty(), "{same:?}");
    let other = differences(1 << 30, 20_000_000_000, model::SizeProfile::Quick);
    assert_eq!(
        other,
        [
            "Memory: 3 GiB DDR2-800 (given in a later comment by the author) → 1 GiB",
            "Scale: 20 GB of volume → tests in small: profile quick, as large a volume"
        ]
    );
}

/// Errors were not checked in the campaign, so the absence of failures does not make the claim
/// hold.
#[test]
fn claim_of_two_statements_needs_numbers_for_both() {
    let catalog = Catalog::builtin().unwrap();
    let study = catalog.study("emerging-filesystems-2007").unwrap();
    let study = Study::read(&study).unwrap().unwrap();
    let figures = ["btrfs", "ext2"].map(|name| {
        ImportedResult::single_value(name, "emerging", "kernbench", Metric::Elapsed, 800.0)
    });
    let results = reported(&["btrfs", "ext2"], figures.into(), "emerging");
    let evidence = CampaignEvidence::new(&study, &results, &analyse(&results));
    let claim = study.claims.iter().find(|claim| claim.id == "ef-15").unwrap();
    assert_eq!(claim.judge(&evidence).verdict, Verdict::NotMeasured);
}

/// The space reserved by a filesystem on a small volume does not apply to a large one.
#[test]
fn capacity_claims_are_judged_only_on_the_studys_volume_size() {
    let catalog = Catalog::builtin().unwrap();
    let study = catalog.study("debian-file-server-2006").unwrap();
    let study = Study::read(&study).unwrap().unwrap();
    let judged = |size: u64| {
        let results = lifecycle(size);
        let evidence = CampaignEvidence::new(&study, &results, &analyse(&results));
        let claim = |id: &str| {
            let claim = study.claims.iter().find(|claim| claim.id == id).unwrap();
            claim.judge(&evidence)
        };
        ["df-01", "df-03", "df-35", "df-04"].map(claim)
    };
    let small = judged(1 << 30);
    for capacity in &small[..3] {
        assert_eq!(capacity.verdict, Verdict::Undecidable);
        assert_eq!(
            capacity.reasons[0].to_string(),
            "the size of the volume decides it, which is 1 GiB here and was 20 GB in the study"
        );
    }
    assert_eq!(small[3].verdict, Verdict::Undecidable);
    assert_eq!(small[3].reasons, small[0].reasons, "mkfs writes more on a larger one");
    let unknown = judged(0)[0].reasons[0].to_string();
    assert!(unknown.contains("which is not known here"), "{unknown}");
    let same = judged(20_000_000_000);
    let same = same.map(|one| one.verdict);
    assert_eq!(same[..3], [Verdict::Contradicted; 3]);
    assert_eq!(same[3], Verdict::Supported);
}

#[test]
fn interpretation_of_a_claim_is_reported_briefly() {
    let vocabulary = studies::language::Vocabulary {
        contenders: ["ext4", "xfs"].map(str::to_owned).into(),
        groups: Vec::new(),
        figures: vec![("file/read/cpu".to_owned(), "percent".to_owned())],
    };
    for (statement, taken_as) in [
        ("ext4 = xfs", "the same within 5 %"),
        ("ext4 = xfs within 12.5%", "the same within 12.5 %"),
        ("ext4 < xfs by at least 10%", "better by at least 10 %"),
        ("ext4 < xfs by at least 2 times", "at least 2 times better"),
        ("ext4 is about 2 times xfs", "1.90 to 2.10 times"),
        ("ext4 is about 2 within 10% times xfs", "1.80 to 2.20 times"),
        ("ext4 is 5 to 15 times xfs", "5 to 15 times"),
        ("ext4 is at least 95 percent", "at least 95"),
        ("ext4 < xfs", ""),
        ("ext4 is best", ""),
    ] {
        let read = studies::language::parse(statement, &vocabulary, Some("file/read/cpu"));
        assert_eq!(read.unwrap().taken_as().join("; "), taken_as, "{statement}");
    }
}

/// Returns the text between fences of a page.
fn block<'a>(page: &'a str, behind: &str, fence: &str) -> &'a str {
    let (_, rest) = page.split_once(behind).unwrap();
    let (_, rest) = rest.split_once(fence).unwrap();
    rest.split_once("```").unwrap().0
}

#[test]
fn the_example_of_the_page_is_a_study() {
    let page = include_str!("../../../docs/adding-a-study.md");
    let toml = block(page, "## A complete example", "```toml\n");
    let csv = block(page, "## A complete example", "```csv\n");
    let catalog = catalog(toml, csv).unwrap();
    let study = catalog.study("archive-2019").unwrap();
    let study = Study::read(&study).unwrap().unwrap();
    let verdicts: Vec<Verdict> =
        study.evaluate_claims().iter().map(|(_, how)| how.verdict).collect();
    assert_eq!(verdicts, [Verdict::Partly, Verdict::Supported, Verdict::Undecidable]);
    let off = study.inconsistencies();
    assert_eq!(
        off,
        [
            "Writing and reading together, s: ext4 is printed as 90.0, but its parts add up to 84.4 (+5.6)"
        ]
    );
}

#[test]
fn every_statement_of_the_page_is_understood() {
    let page = include_str!("../../../docs/claims.md");
    let words = |all: &[&str]| all.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let vocabulary = studies::language::Vocabulary {
        contenders: words(&["ext4", "xfs", "jfs", "ext3", "btrfs"]),
        groups: vec![("native".to_owned(), words(&["ext4", "ext3"]))],
        figures: vec![("file/read/cpu".to_owned(), "percent".to_owned())],
    };
    let statements = block(page, "## Statements", "```\n").lines();
    for line in statements {
        let (statement, _) = line.split_once("  ").unwrap();
        studies::language::parse(statement, &vocabulary, Some("file/read/cpu")).unwrap();
    }
}
