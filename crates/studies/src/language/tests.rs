//! Tests of valid and invalid statements.

use proptest::prelude::*;

use super::*;

fn vocabulary() -> Vocabulary {
    let words = |all: &[&str]| all.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    Vocabulary {
        contenders: words(&["ext2", "ext3", "jfs", "reiserfs-3.6", "xfs"]),
        groups: vec![("journaling".to_owned(), words(&["ext3", "jfs", "xfs"]))],
        figures: [
            ("file/read/throughput", "MB/s"),
            ("file/write/throughput", "MB/s"),
            ("tree/remove/elapsed", "s"),
            ("tree/remove/cpu", "percent"),
        ]
        .map(|(path, unit)| (path.to_owned(), unit.to_owned()))
        .to_vec(),
    }
}

fn read(text: &str) -> Statement {
    parse(text, &vocabulary(), Some("file/read/throughput")).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(text: &str) -> String {
    parse(text, &vocabulary(), None).unwrap_err()
}

#[test]
fn places_are_parted_by_less_than_and_alike_by_equals() {
    let statement = read("ext2 < ext3 = jfs < xfs, reiserfs-3.6 within 10% by at least 2 times");
    let Predicate::Order { places, by } = statement.predicate else { panic!("{statement:?}") };
    assert_eq!(by, 2.0);
    let places: Vec<(usize, Option<f64>)> =
        places.iter().map(|place| (place.members.len(), place.tolerance)).collect();
    assert_eq!(places, [(1, None), (2, Some(0.1)), (2, None)]);
    assert_eq!(statement.scope.names, ["file/read/throughput"]);
}

#[test]
fn others_are_all_that_are_not_named() {
    let Predicate::Order { places, .. } = read("journaling < others but ext2").predicate else {
        panic!()
    };
    assert_eq!(places[1].members, ["reiserfs-3.6"]);
    let Predicate::Ratio { than, .. } = read("xfs is about 2 times others").predicate else {
        panic!()
    };
    assert_eq!(than.len(), 4);
}

#[test]
fn numbers_are_ranges() {
    let amount = |text: &str| match read(text).predicate {
        Predicate::Ratio { times, .. } => (times.low, times.high, times.text),
        Predicate::Bound { amount, .. } => (amount.low, amount.high, amount.text),
        what => panic!("{what:?}"),
    };
    assert_eq!(amount("xfs is 5 to 8 times jfs"), (5.0, 8.0, "5 to 8".into()));
    assert_eq!(amount("xfs is about 2 within 50% times jfs"), (1.0, 3.0, "about 2".into()));
    let (low, high, _) = amount("xfs is about 100 MB/s");
    assert!((low - 95.0).abs() < 1e-9 && (high - 105.0).abs() < 1e-9);
    assert_eq!(amount("xfs is at least 2").1, f64::INFINITY);
    assert_eq!(amount("xfs is at most 1_000").1, 1000.0);
    let (low, _, said) = amount("xfs is above 2 MB/s");
    assert!(low > 2.0 && said == "above 2");
}

#[test]
fn ranks_count_from_either_end_and_among_some() {
    let rank = |text: &str| match read(text).predicate {
        Predicate::Rank { rank, .. } | Predicate::NoneOf(rank) => {
            (rank.from_worst, rank.first, rank.last, rank.among.len())
        }
        what => panic!("{what:?}"),
    };
    assert_eq!(rank("xfs is best"), (false, 1, 1, 5));
    assert_eq!(rank("xfs, jfs are the worst 2"), (true, 1, 2, 5));
    assert_eq!(rank("xfs is among the best 3 of journaling"), (false, 1, 3, 3));
    assert_eq!(rank("xfs is 2nd"), (false, 2, 2, 5));
    assert_eq!(rank("nobody is worst in every file/*/throughput"), (true, 1, 1, 5));
}

#[test]
fn scope_is_every_figure_or_some_figures() {
    let how = |text: &str| read(text).scope.quantifier;
    assert_eq!(how("xfs is best in file/*/throughput"), Quantifier::Every);
    assert_eq!(how("xfs is best in most of */*/elapsed, file/*/*"), Quantifier::Most);
    assert_eq!(how("xfs is best in at least 2 of file/*/*"), Quantifier::AtLeast(2));
    assert_eq!(how("xfs is best in the mean of file/*/*"), Quantifier::Mean);
    let all_but = read("xfs is best in every file/*/* but file/read/throughput");
    assert_eq!(all_but.scope.names, ["file/write/throughput"]);
}

#[test]
fn figures_are_set_against_each_other_for_contenders() {
    let statement = read("file/read/throughput < file/write/throughput for every journaling");
    assert_eq!(statement.subjects, Subject::Figures);
    assert_eq!(statement.scope.names, ["ext3", "jfs", "xfs"]);
}

#[test]
fn invalid_statements_are_reported_in_one_line() {
    let told: Vec<String> = [
        "",
        "xfs",
        "xfss is best in file/read/throughput",
        "xfs is best in file/rede/throughput",
        "xfs is best",
        "xfs is best in nothing/at/all",
        "xfs is 5 in file/read/throughput",
        "xfs is about two times jfs in file/read/throughput",
        "xfs is 3 to 2 times jfs in file/read/throughput",
        "xfs is among the best in file/read/throughput",
        "xfs is at least 2 MB/s in tree/remove/elapsed",
        "xfs < jfs by at least 50% in file/read/throughput and more",
        "xfs = jfs within 5 in file/read/throughput",
        "others but ext2, ext3, jfs, reiserfs-3.6, xfs < ext2 in file/read/throughput",
        "xfs fails in the mean of file/*/throughput",
        "file/read/throughput is best",
        "xfs < in file/read/throughput",
    ]
    .map(refused)
    .into();
    assert!(told.iter().all(|text| !text.contains('\n')));
    insta::assert_snapshot!(told.join("\n"));
}

/// Generates words of the language and of the study, in any order.
fn soup() -> impl Strategy<Value = String> {
    let mut words: Vec<&str> = RESERVED.to_vec();
    words.extend([
        "<",
        "=",
        ",",
        "%",
        "2",
        "5",
        "1.5",
        "2nd",
        "ext2",
        "xfs",
        "journaling",
        "MB/s",
        "/",
        "file/read/throughput",
        "*/*/*",
        "tree/*/elapsed",
        "-1",
        "1e999",
        "é",
    ]);
    prop::collection::vec(prop::sample::select(words), 0..16).prop_map(|words| words.join(" "))
}

/// Generates valid statements.
fn statement() -> impl Strategy<Value = String> {
    let who = prop::sample::select(vec!["ext2", "xfs", "jfs, ext3", "journaling", "all but jfs"]);
    let what = prop::sample::select(vec![
        "< reiserfs-3.6",
        "< reiserfs-3.6 by at least 20%",
        "is best",
        "are among the worst 3",
        "is 2nd of all",
        "is about 2 times reiserfs-3.6",
        "is 2 to 3 times reiserfs-3.6",
        "is at most 10",
        "fails",
        "is invalid",
    ]);
    let of = prop::sample::select(vec![
        "",
        " in every */*/*",
        " in most of file/*/*",
        " in at least 1 of file/*/* but file/read/throughput",
    ]);
    (who, what, of).prop_map(|(who, what, of)| format!("{who} {what}{of}"))
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_rejected_in_one_line(text in soup()) {
        if let Err(told) = parse(&text, &vocabulary(), Some("file/*/*")) {
            prop_assert!(!told.is_empty() && !told.contains('\n'), "{}", told);
        }
    }

    #[test]
    fn any_letters_are_read_or_refused(text in "\\PC{0,60}") {
        let _ = parse(&text, &vocabulary(), Some(&text));
    }

    #[test]
    fn spaces_are_of_no_matter(text in statement()) {
        let read = |text: &str| {
            let statement = parse(text, &vocabulary(), Some("file/*/*")).map_err(TestCaseError::fail)?;
            Ok::<_, TestCaseError>((statement.predicate, statement.scope))
        };
        let spaced = text.replace(',', " , ").replace('<', " <  ");
        prop_assert_eq!(read(&text)?, read(&spaced)?);
    }
}
