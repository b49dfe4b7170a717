//! Losses of sequences in states that are allowed, and in others.

use super::*;
use Expectation::{Acknowledged, Order, Promise, Replacement};

fn steps(text: &[&str]) -> Vec<FileStep> {
    text.iter().map(|step| step.parse().unwrap()).collect()
}

fn file(step: u32, blocks: u32) -> FoundFile {
    let content = (0..blocks).map(|block| FoundBlock::Written { step, block });
    FoundFile::File {
        size: u64::from(blocks) * BLOCK as u64,
        blocks: content.collect(),
        attribute: 0,
    }
}

fn found(files: &[(&str, FoundFile)]) -> FoundFiles {
    files.iter().map(|(name, file)| ((*name).to_owned(), file.clone())).collect()
}

fn unreadable() -> FoundFile {
    FoundFile::Unreadable { call: "read", error: "EIO".into() }
}

#[test]
fn a_file_that_moves_keeps_one_of_its_names() {
    let prepare = steps(&["mkdir a", "mkdir b", "write a/mail 1", "write a/other 1"]);
    let states = ExpectedStates::new(&prepare, &steps(&["rename a/mail b/mail", "unlink a/other"]));
    let left = |names: &[&str]| {
        let directories = ["a", "b"].map(|name| (name, FoundFile::Directory));
        let files = names.iter().map(|name| (*name, file(3, 1)));
        found(&directories.into_iter().chain(files).collect::<Vec<_>>())
    };
    for names in [&["a/mail"][..], &["b/mail"], &["a/mail", "b/mail"]] {
        assert_eq!(states.lost_of_at_least(0, &left(names)), None, "{names:?}");
    }
    let lost = states.lost_of_at_least(0, &left(&[])).unwrap();
    assert_eq!(lost, "a/mail and b/mail are missing");
}

#[test]
fn a_failed_sync_promises_nothing_and_an_error_is_no_silent_loss() {
    let sequence = steps(&["write a 1", "sync", "append a 1", "fsync a", "overwrite a", "fsync a"]);
    let mut appended = ExpectedStates::new(&[], &sequence[..4]);
    let short = found(&[("a", file(1, 1))]);
    assert_eq!(appended.broken_promise(4, &short).unwrap(), "a has 4096 of 8192 bytes");
    appended.remove_promise(3);
    assert_eq!(appended.broken_promise(4, &short), None, "no sync of the change succeeded");
    let states = ExpectedStates::new(&[], &sequence);
    let lost = found(&[("a", file(1, 2))]);
    assert_eq!(states.broken_promise(4, &lost), None, "a later step changes a");
    assert_eq!(states.broken_promise(6, &lost).unwrap(), "a has older data at byte 0");
    let damaged = found(&[("a", unreadable())]);
    assert_eq!(states.broken_promise(6, &damaged).unwrap(), "a cannot be read: EIO");
    assert_eq!(states.silently_broken(6, &damaged), None);
    assert_eq!(
        states.silently_broken(6, &found(&[("a", file(5, 1))])).unwrap(),
        "a has 4096 of 8192 bytes"
    );
}

#[test]
fn a_new_file_is_promised_after_fsync_of_file_and_directory() {
    let states = ExpectedStates::new(&[], &steps(&["write a 2", "fsync a", "fsync ."]));
    let none = found(&[]);
    assert_eq!(states.lost(Promise, 2, &none), None, "its name is not synced");
    assert_eq!(states.lost(Promise, 3, &none).unwrap(), "a is missing");
    assert_eq!(states.lost(Promise, 3, &found(&[("a", file(1, 2))])), None);
    let empty = found(&[("a", file(1, 0))]);
    assert_eq!(states.lost(Promise, 1, &empty), None);
    assert_eq!(states.lost(Promise, 2, &empty).unwrap(), "a has 0 of 8192 bytes");
    let FoundFile::File { size, .. } = file(1, 2) else { unreachable!() };
    let zeros = FoundFile::File { size, blocks: vec![FoundBlock::Zeros; 2], attribute: 0 };
    let lost = states.lost(Promise, 3, &found(&[("a", zeros)])).unwrap();
    assert_eq!(lost, "a has zeros instead of its data at byte 0");
}

#[test]
fn a_replaced_file_is_old_or_new() {
    let replace = steps(&["write b 2", "fsync b", "rename b a", "fsync ."]);
    let states = ExpectedStates::new(&steps(&["write a 1"]), &replace);
    for (done, files, held) in [
        (0, vec![("a", file(1, 1))], true),
        (0, vec![], false),
        (2, vec![("a", file(1, 1)), ("b", file(2, 2))], true),
        (2, vec![("a", file(2, 2))], true),
        (2, vec![("a", file(2, 0))], false),
        (4, vec![("a", file(1, 1))], false),
        (4, vec![("a", file(2, 2))], true),
        (4, vec![("a", file(2, 2)), ("b", file(2, 2))], false),
    ] {
        let lost = states.lost(Promise, done, &found(&files));
        assert_eq!(lost.is_none(), held, "{done} {files:?}: {lost:?}");
    }
}

#[test]
fn an_acknowledged_result_survives_although_no_sync_promises_it() {
    let deliver = steps(&["write t 2", "fsync t", "link t m", "unlink t"]);
    let states = ExpectedStates::new(&[], &deliver);
    for (done, files, lost) in [
        (3, vec![], None),
        (4, vec![], Some("m is missing")),
        (4, vec![("m", file(1, 2))], None),
        (4, vec![("m", file(1, 2)), ("t", file(1, 2))], None),
        (4, vec![("m", file(1, 1))], Some("m has 4096 of 8192 bytes")),
        (4, vec![("m", unreadable())], Some("m cannot be read: EIO")),
    ] {
        assert_eq!(states.lost(Acknowledged, done, &found(&files)).as_deref(), lost, "{files:?}");
        assert_eq!(states.lost(Promise, 3, &found(&[])), None, "the name is not synced");
    }
    let unsynced = ExpectedStates::new(&[], &steps(&["write a 1", "fsync .", "append a 1"]));
    let short = found(&[("a", file(1, 1))]);
    assert_eq!(unsynced.lost(Acknowledged, 3, &short).unwrap(), "a has another size");
    assert_eq!(unsynced.lost(Promise, 3, &short), None);
}

#[test]
fn a_replaced_file_is_the_old_or_the_new_one() {
    let replace = steps(&["write b 2", "rename b a", "write c 1", "fsync c"]);
    let states = ExpectedStates::new(&steps(&["write a 1"]), &replace);
    let lost = |a: FoundFile| states.lost(Replacement, 2, &found(&[("a", a)]));
    assert_eq!(lost(file(1, 1)), None, "the old file");
    assert_eq!(lost(file(2, 2)), None, "the new file");
    assert_eq!(lost(file(2, 0)).unwrap(), "a is neither the old nor the new file");
    assert_eq!(lost(unreadable()).unwrap(), "a cannot be read: EIO");
    let synced = found(&[("a", file(1, 1)), ("c", file(4, 1))]);
    assert_eq!(states.lost(Replacement, 4, &synced), None, "its order is not expected");
    assert!(states.lost(Order, 4, &synced).is_some());
    let unfinished = found(&[("a", file(1, 1)), ("b", file(2, 1))]);
    assert_eq!(states.lost(Replacement, 0, &unfinished), None, "b replaced nothing yet");
}

#[test]
fn order_means_one_moment_and_allows_a_step_in_progress() {
    let replace = steps(&["write b 2", "rename b a"]);
    let states = ExpectedStates::new(&steps(&["write a 1"]), &replace);
    let empty = found(&[("a", file(2, 0))]);
    assert_eq!(states.lost(Promise, 2, &empty), None, "nothing was synced");
    let renamed = states.lost(Order, 2, &empty).unwrap();
    assert_eq!(renamed, "a has 0 bytes, a size that it had at no moment");
    assert_eq!(states.lost(Order, 2, &found(&[("a", file(2, 2))])), None);
    let partial = found(&[("a", file(1, 1)), ("b", file(2, 1))]);
    assert_eq!(states.lost(Order, 0, &partial), None, "the write is in progress");
    let append = ExpectedStates::new(&steps(&["write a 1"]), &steps(&["append a 2"]));
    let grown = |second| {
        let blocks = vec![FoundBlock::Written { step: 1, block: 0 }, second];
        found(&[("a", FoundFile::File { size: 2 * BLOCK as u64, blocks, attribute: 0 })])
    };
    let right = FoundBlock::Written { step: 2, block: 1 };
    assert_eq!(append.lost(Order, 1, &grown(right)), None);
    assert_eq!(append.lost(Promise, 1, &grown(FoundBlock::Zeros)), None);
    let zeros = append.lost(Order, 1, &grown(FoundBlock::Zeros)).unwrap();
    assert_eq!(zeros, "a has zeros instead of its data at byte 4096");
    let damaged = found(&[("a", file(1, 1)), ("b", unreadable())]);
    assert_eq!(states.lost(Promise, 1, &damaged), None, "b was not synced");
    assert_eq!(states.lost(Order, 1, &damaged).unwrap(), "b cannot be read: EIO");
    let lost = found(&[("a", unreadable())]);
    assert_eq!(states.lost(Promise, 0, &lost).unwrap(), "a cannot be read: EIO");
}

#[test]
fn files_of_a_directory_are_promised_only_if_the_directory_is() {
    let states = ExpectedStates::new(
        &[],
        &steps(&["mkdir d", "write d/a 1", "fsync d/a", "fsync d", "fsync ."]),
    );
    assert_eq!(states.lost(Promise, 4, &found(&[])), None);
    assert_eq!(states.lost(Promise, 5, &found(&[])).unwrap(), "d is missing");
    let only = found(&[("d", FoundFile::Directory)]);
    assert_eq!(states.lost(Promise, 4, &only).unwrap(), "d/a is missing");
}

#[test]
fn files_of_a_renamed_directory_stay_promised() {
    let prepare = steps(&["mkdir d", "write d/a 1"]);
    let states = ExpectedStates::new(&prepare, &steps(&["rename d e", "fsync ."]));
    let empty = found(&[("e", FoundFile::Directory)]);
    assert_eq!(states.lost(Promise, 2, &empty).unwrap(), "e/a is missing");
    let whole = found(&[("e", FoundFile::Directory), ("e/a", file(2, 1))]);
    assert_eq!(states.lost(Promise, 2, &whole), None);
    assert_eq!(states.lost(Promise, 2, &found(&[])).unwrap(), "e is missing");
    let both = found(&[("d", FoundFile::Directory), ("d/a", file(2, 1))]);
    assert_eq!(states.lost(Promise, 1, &both), None, "the rename was not synced");
}

#[test]
fn a_symbolic_link_is_promised_with_its_target() {
    let states = ExpectedStates::new(&[], &steps(&["symlink target s", "fsync ."]));
    let link = |target: &str| found(&[("s", FoundFile::Symlink(target.into()))]);
    assert_eq!(states.lost(Promise, 2, &link("target")), None);
    assert_eq!(states.lost(Promise, 2, &link("")).unwrap(), "s is a symbolic link to ");
    assert_eq!(states.lost(Promise, 2, &found(&[])).unwrap(), "s is missing");
    assert_eq!(states.lost(Promise, 1, &found(&[])), None);
}

#[test]
fn an_attribute_is_promised_by_fsync_and_by_neither_fdatasync_nor_sync_file_range() {
    let prepare = steps(&["write a 1"]);
    let with = |attribute: u32| {
        let FoundFile::File { size, blocks, .. } = file(1, 1) else { unreachable!() };
        found(&[("a", FoundFile::File { size, blocks, attribute })])
    };
    for (sync, is_promised) in [
        ("fsync a", true),
        ("sync", true),
        ("fdatasync a", false),
        ("sync-file-range a", false),
        ("fsync .", false),
    ] {
        let states = ExpectedStates::new(&prepare, &steps(&["setxattr a", sync]));
        assert_eq!(states.lost(Promise, 2, &with(2)), None, "{sync}");
        assert_eq!(states.lost(Promise, 1, &with(0)), None, "{sync} has not ended");
        let lost = states.lost(Promise, 2, &with(0));
        let wanted = is_promised.then_some("a lacks its extended attribute");
        assert_eq!(lost.as_deref(), wanted, "{sync}");
    }
    let twice = steps(&["setxattr a", "setxattr a", "fsync a"]);
    let states = ExpectedStates::new(&prepare, &twice);
    let old = states.lost(Promise, 3, &with(2)).unwrap();
    assert_eq!(old, "a has an extended attribute of another step");
    let order = ExpectedStates::new(&prepare, &steps(&["setxattr a", "append a 1"]));
    let FoundFile::File { size, mut blocks, .. } = file(1, 1) else { unreachable!() };
    blocks.push(FoundBlock::Written { step: 3, block: 1 });
    let later = FoundFile::File { size: 2 * size, blocks, attribute: 0 };
    assert!(order.lost(Order, 2, &found(&[("a", later)])).is_some(), "no moment has both");
}

#[test]
fn a_synced_hole_reads_as_zeros() {
    let prepare = steps(&["write a 2"]);
    let states = ExpectedStates::new(&prepare, &steps(&["punch a", "fsync a"]));
    let whole = found(&[("a", file(1, 2))]);
    assert_eq!(states.lost(Promise, 1, &whole), None);
    assert_eq!(states.lost(Promise, 2, &whole).unwrap(), "a has data in place of zeros at byte 0");
}

#[test]
fn every_state_at_a_step_is_expected_after_it() {
    let prepare = steps(&["mkdir d", "write a 2", "write d/b 1"]);
    let sequence = steps(&[
        "append a 1",
        "link a c",
        "rename d e",
        "fsync c",
        "truncate a 1",
        "unlink c",
        "sync",
        "overwrite a",
        "allocate a 2",
        "map-write a",
        "setxattr a",
        "punch a",
        "sync-file-range a",
        "symlink a s",
        "unlink e/b",
        "rmdir e",
    ]);
    let states = ExpectedStates::new(&prepare, &sequence);
    for (done, tree) in states.states.iter().enumerate() {
        let now = tree.names.iter().map(|(name, node)| {
            let file = match node {
                Node::Directory(_) => FoundFile::Directory,
                Node::File(inode) => {
                    let content = &tree.contents[inode];
                    let blocks = content.iter().enumerate();
                    let blocks = blocks.map(|(i, step)| expected_block(*step, i)).collect();
                    let size = (content.len() * BLOCK) as u64;
                    FoundFile::File { size, blocks, attribute: tree.attribute(*inode) }
                }
                Node::Symlink(target) => FoundFile::Symlink(target.clone()),
            };
            (name.clone(), file)
        });
        let now: FoundFiles = now.collect();
        for expect in [Promise, Order] {
            assert_eq!(states.lost(expect, done, &now), None, "after {done} steps");
        }
    }
}
