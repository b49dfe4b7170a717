//! Mixes in suite files: valid orders of steps, and the resulting state of the filesystem.

use super::*;
use crate::{Bytes, Create, EntryKind, FileSharing, Io, Nanos, TraversalOrder};
use proptest::prelude::*;

fn role(name: &str, steps: &[&str]) -> Role {
    let steps = steps.iter().map(|step| step.parse().unwrap());
    let steps: Vec<MixStep> = steps.collect();
    let uses = |steps: &[MixStep], of: &[&str]| steps.iter().any(|step| of.contains(&step.name()));
    let set = uses(&steps, &["create", "open", "stat", "delete"]);
    let file = uses(&steps, &["random-read", "random-write", "stream"]);
    Role {
        name: name.into(),
        threads: 2,
        cycles: 10,
        rate: None,
        set: set.then(|| "spool".into()),
        file: file.then(|| "table".into()),
        steps,
    }
}

fn mix(roles: &[Role]) -> Mix {
    Mix { roles: roles.to_vec(), until: None, verify: false }
}

/// Returns the state with a set of forty files of 4 KiB and a file of 1 MiB.
fn made() -> FsState {
    let mut files = FsState::default();
    files.apply(&Op::Create(Create {
        set: "spool".into(),
        kind: EntryKind::File,
        entries: 40,
        directories: 1,
        depth: 1,
        size: Bytes::kib(4),
        spread: crate::op::SizeDistribution::Gamma,
        order: TraversalOrder::Random,
        fsync: false,
        fsync_directory: false,
        threads: 1,
        sharing: FileSharing::Shared,
    }));
    files.apply(&Op::Io(Io {
        size: Some(Bytes::mib(1)),
        ..Io::new("table", crate::AccessPattern::Write, Bytes::kib(64))
    }));
    files
}

const VARMAIL: [&str; 5] = ["delete", "create", "write", "fsync", "close"];

#[test]
fn steps_that_cannot_follow_each_other_are_named() {
    for (steps, why) in [
        (&["read"][..], "needs a file that is open"),
        (&["open", "write", "close"], "`create` has just made"),
        (&["open", "read"], "ends with its file closed"),
        (&["open", "delete", "close"], "comes while a file is open: `close`"),
        (&["fsync"], "has nothing to sync"),
        (&["think 2 ms"], "does nothing"),
        (&[], "does nothing"),
    ] {
        let said = mix(&[role("one", steps)]).check().unwrap_err();
        assert!(said.contains("role `one`") && said.contains(why), "{steps:?}: {said}");
    }
    assert_eq!(mix(&[role("one", &VARMAIL)]).check(), Ok(()));
    let mut unused = role("one", &["log 4 KiB", "fdatasync"]);
    assert_eq!(mix(std::slice::from_ref(&unused)).check(), Ok(()));
    unused.set = Some("spool".into());
    let said = mix(&[unused]).check().unwrap_err();
    assert!(said.contains("no step uses its `set`"), "{said}");
}

#[test]
fn endless_roles_may_not_change_the_number_of_files() {
    let until = |steps: &[&str]| Mix {
        until: Some("deliver".into()),
        ..mix(&[role("deliver", &VARMAIL), role("other", steps)])
    };
    assert_eq!(until(&VARMAIL).check(), Ok(()));
    assert_eq!(until(&["stream 1 MiB"]).check(), Ok(()));
    for steps in [&["log 4 KiB"][..], &["create", "write", "close"], &["delete"]] {
        assert!(until(steps).check().unwrap_err().contains("runs until"), "{steps:?}");
    }
    let nobody = Mix { until: Some("who".into()), ..mix(&[role("deliver", &VARMAIL)]) };
    assert!(nobody.check().unwrap_err().contains("names no role: `who`"));
    let twice = mix(&[role("deliver", &VARMAIL), role("deliver", &VARMAIL)]);
    assert!(twice.check().unwrap_err().contains("two roles"));
}

#[test]
fn a_set_that_a_mix_has_changed_is_for_mixes_alone() {
    let mut files = made();
    let before = files.bytes();
    let changing =
        Op::from(mix(&[role("deliver", &["create", "write", "close"]), role("look", &["stat"])]));
    let work = files.apply(&changing);
    assert_eq!(files.violation(), None);
    assert_eq!((work.written.0, work.operations), (10 * 4096, 20));
    assert_eq!(files.bytes().0, before.0 + 10 * 4096, "ten more of the mean size");
    assert!(!changing.is_undoable() && changing.modifies_files());
    files.apply(&changing);
    assert_eq!(files.violation(), None, "another mix knows the files");
    files.apply(&Op::Metadata(crate::Metadata {
        set: "spool".into(),
        action: crate::MetadataAction::Stat { read: false },
        order: TraversalOrder::Random,
        threads: 1,
    }));
    assert!(files.violation().unwrap().contains("a mix has changed"));
}

#[test]
fn read_only_mix_does_not_change_its_set() {
    let mut files = made();
    let reading = Op::from(mix(&[
        role("look", &["open", "read", "close"]),
        role("table", &["random-read 4 KiB"]),
    ]));
    let work = files.apply(&reading);
    assert_eq!(work, WorkEstimate::new(20 * 4096, 0, 20));
    assert!(reading.is_read_only() && !reading.is_undoable());
    let backup = Op::from(mix(&[role("backup", &["stream 1 MiB"])]));
    assert!(!backup.is_read_only(), "the page cache gives up what it reads");
    let mut files = made();
    files.apply(&reading);
    files.apply(&reading);
    assert_eq!(files.violation(), None);
}

#[test]
fn roles_do_not_run_out_of_files() {
    let mut files = made();
    // Forty files over four threads; each cycle of two threads removes one.
    let mut remover = role("expunge", &["delete"]);
    let other = role("look", &["open", "close"]);
    remover.cycles = 20;
    files.apply(&mix(&[remover.clone(), other.clone()]).into());
    assert_eq!(files.violation(), None);
    let mut files = made();
    remover.cycles = 21;
    files.apply(&mix(&[remover, other]).into());
    let said = files.violation().unwrap();
    assert!(said.contains("role `expunge` needs 11 files of `spool`"), "{said}");
}

#[test]
fn primary_metric_of_a_role_depends_on_its_purpose() {
    let closed = role("deliver", &VARMAIL);
    let open = Role { rate: Some(10), ..closed.clone() };
    let backup = role("backup", &["stream 1 MiB"]);
    let primary = [&closed, &open, &backup].map(Role::primary_metric);
    assert_eq!(primary, [Metric::Rate, Metric::LatencyP99, Metric::Throughput]);
    assert_eq!(closed.interference_metric(), Metric::SyncP99);
    assert_eq!(backup.interference_metric(), Metric::Throughput);
    let both = mix(&[closed.clone(), backup]);
    assert_eq!(Op::from(both.clone()).primary_metric(), Metric::Elapsed);
    assert_eq!(Op::from(both.only(&closed)).primary_metric(), Metric::Rate);
    let part = Op::from(RoleResult { mix_phase: "mix".into(), role: "backup".into(), mix: both });
    assert_eq!(part.primary_metric(), Metric::Throughput);
    assert!(!part.is_undoable() && part.changes().is_empty());
}

proptest! {
    #[test]
    fn any_text_is_a_step_that_is_written_again_or_an_error_of_one_line(text in "[a-z-]{0,12}( [0-9]{1,3} ?(KiB|ms|))?") {
        match text.parse::<MixStep>() {
            Ok(step) => prop_assert_eq!(step.to_string().parse::<MixStep>(), Ok(step)),
            Err(why) => prop_assert!(!why.contains('\n')),
        }
    }

    #[test]
    fn every_word_is_a_step(n in 0..MixStep::WORDS.len()) {
        let word = MixStep::WORDS[n];
        let with = |rest: &str| format!("{word} {rest}").parse::<MixStep>();
        let step = word.parse::<MixStep>().or_else(|_| with("4 KiB")).or_else(|_| with("2 ms"));
        prop_assert_eq!(step.unwrap().name(), word);
    }
}

#[test]
fn a_mix_is_stored_and_read() {
    let op = Op::from(mix(&[role("deliver", &["create", "append 5000", "think 2 ms", "close"])]));
    let text = serde_json::to_string(&op).unwrap();
    assert!(text.contains(r#"["create",{"append":5000},{"think":2000000},"close"]"#), "{text}");
    assert_eq!(serde_json::from_str::<Op>(&text).unwrap(), op);
    assert_eq!("think 2 ms".parse(), Ok(MixStep::Sleep(Nanos(2_000_000))));
}
