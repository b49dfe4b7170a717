//! Short sequences of file operations, each operation followed by a sync or none. The operations
//! and syncs are those of ACE, the automatic crash explorer (J. Mohan et al., OSDI 2018, table 3),
//! without direct I/O.

use std::collections::BTreeMap;

use model::{Expectation, FileStep, PowerCut, SeededRng};

/// The files and directories before a sequence.
const PREPARED: [&str; 5] = ["mkdir A", "mkdir B", "write A/foo 2", "write foo 2", "write bar 1"];

/// Operations, each with the object and the directories that a program syncs after it.
const OPERATIONS: [(&str, &str, &[&str]); 20] = [
    ("write new 2", "new", &["."]),
    ("write A/new 2", "A/new", &["A"]),
    ("mkdir C", "C", &["."]),
    ("link foo A/linked", "foo", &["A"]),
    ("link A/foo linked", "A/foo", &["."]),
    ("symlink foo A/symbolic", "A", &["A"]),
    ("rename foo bar", "bar", &["."]),
    ("rename foo A/moved", "A/moved", &["A", "."]),
    ("rename A/foo foo", "foo", &[".", "A"]),
    ("rename A C", "C", &["."]),
    ("unlink foo", ".", &["."]),
    ("rmdir B", ".", &["."]),
    ("overwrite foo", "foo", &["."]),
    ("map-write A/foo", "A/foo", &["A"]),
    ("append foo 1", "foo", &["."]),
    ("truncate foo 1", "foo", &["."]),
    ("truncate A/foo 3", "A/foo", &["A"]),
    ("allocate foo 2", "foo", &["."]),
    ("punch foo", "foo", &["."]),
    ("setxattr A/foo", "A/foo", &["A"]),
];

/// Returns at most `limit` sequences of `operations` operations, always the same for a seed.
pub fn sequences(operations: u32, limit: u32, cuts: u32, seed: u64) -> Vec<PowerCut> {
    let mut all: Vec<Vec<FileStep>> = vec![Vec::new()];
    let mut rng = SeededRng::substream(seed, "sequences of operations");
    for _ in 0..operations {
        let longer = |steps: &Vec<FileStep>| {
            let steps = steps.clone();
            synced_operations().filter_map(move |more| {
                let all: Vec<FileStep> = steps.iter().cloned().chain(more).collect();
                is_possible(&all).then_some(all)
            })
        };
        all = all.iter().flat_map(longer).collect();
        while all.len() > limit as usize {
            all.swap_remove(rng.below(all.len() as u64) as usize);
        }
    }
    let with_cuts = |steps| PowerCut {
        prepare: prepared(),
        steps,
        expect: Expectation::Promise,
        cuts,
        ignores_flushes: false,
        shorten: false,
    };
    all.into_iter().map(with_cuts).collect()
}

fn prepared() -> Vec<FileStep> {
    PREPARED.iter().filter_map(|step| step.parse().ok()).collect()
}

/// Returns each operation with each sync.
fn synced_operations() -> impl Iterator<Item = Vec<FileStep>> {
    OPERATIONS.iter().flat_map(|(operation, object, directories)| {
        let fsync = |path: &&str| FileStep::Fsync((*path).to_owned());
        let mut syncs =
            vec![Vec::new(), directories.iter().map(fsync).collect(), vec![FileStep::Sync]];
        if *directories != [*object] {
            syncs.push(vec![fsync(object)]);
            syncs.push([object].into_iter().chain(*directories).map(fsync).collect());
        }
        if ![".", "A", "C"].contains(object) {
            syncs.push(vec![FileStep::Fdatasync((*object).to_owned())]);
            syncs.push(vec![FileStep::SyncRange((*object).to_owned())]);
        }
        let operation = operation.parse::<FileStep>().ok();
        syncs
            .into_iter()
            .filter_map(move |sync| Some([operation.clone()?].into_iter().chain(sync).collect()))
    })
}

/// Returns true if every step finds the names that it needs, and no others in its way.
fn is_possible(steps: &[FileStep]) -> bool {
    // Names, and whether each is a directory.
    let mut names: BTreeMap<String, bool> = BTreeMap::new();
    let prepared = prepared();
    prepared.iter().chain(steps).all(|step| is_next(&mut names, step))
}

fn is_next(names: &mut BTreeMap<String, bool>, step: &FileStep) -> bool {
    let kind = |names: &BTreeMap<String, bool>, path: &str| match path {
        "." => Some(true),
        path => names.get(path).copied(),
    };
    let has_parent = |names: &BTreeMap<String, bool>, path: &str| {
        kind(names, path.rsplit_once('/').map_or(".", |(parent, _)| parent)) == Some(true)
    };
    let is_free = |path: &str| has_parent(names, path) && kind(names, path).is_none();
    let is_file = |path: &str| kind(names, path) == Some(false);
    match step {
        FileStep::Mkdir(path) => is_free(path) && names.insert(path.clone(), true).is_none(),
        FileStep::Write(path, _) | FileStep::Symlink(_, path) => {
            is_free(path) && names.insert(path.clone(), false).is_none()
        }
        FileStep::Link(from, to) => {
            is_file(from) && is_free(to) && names.insert(to.clone(), false).is_none()
        }
        FileStep::Rename(from, to) => {
            let Some(is_directory) = kind(names, from) else { return false };
            let is_replaceable = is_free(to) || (!is_directory && is_file(to));
            if !is_replaceable {
                return false;
            }
            let below = format!("{from}/");
            let moved = |name: &String| *name == *from || name.starts_with(&below);
            let old = std::mem::take(names);
            names.extend(old.into_iter().map(|(name, kind)| match moved(&name) {
                true => (format!("{to}{}", &name[from.len()..]), kind),
                false => (name, kind),
            }));
            true
        }
        FileStep::Unlink(path) => is_file(path) && names.remove(path).is_some(),
        FileStep::Rmdir(path) => {
            let below = format!("{path}/");
            let is_empty = !names.keys().any(|name| name.starts_with(&below));
            is_empty && kind(names, path) == Some(true) && names.remove(path).is_some()
        }
        FileStep::Fsync(path) => kind(names, path).is_some(),
        FileStep::Overwrite(path)
        | FileStep::MapWrite(path)
        | FileStep::WriteAt(path, ..)
        | FileStep::Append(path, _)
        | FileStep::Truncate(path, _)
        | FileStep::Allocate(path, _)
        | FileStep::Punch(path)
        | FileStep::SetAttribute(path)
        | FileStep::Fdatasync(path)
        | FileStep::SyncRange(path) => is_file(path),
        FileStep::Sync => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survival::{ExpectedStates, find_files, perform_step};
    use model::Expectation::Promise;
    use std::fs;

    #[test]
    fn sequences_of_one_operation_are_all_and_different() {
        let all = sequences(1, 1000, 5, 1);
        let steps: std::collections::HashSet<String> =
            all.iter().map(|one| format!("{:?}", one.steps)).collect();
        assert_eq!(steps.len(), all.len());
        assert_eq!(all.len(), 124);
        for (operation, ..) in OPERATIONS {
            let first = operation.parse::<FileStep>().unwrap();
            assert!(all.iter().any(|one| one.steps == [first.clone()]), "{operation}");
        }
    }

    #[test]
    fn a_sample_is_the_same_for_a_seed_and_within_its_limit() {
        let sample = sequences(2, 30, 5, 7);
        assert_eq!(sample.len(), 30);
        assert_eq!(sample, sequences(2, 30, 5, 7));
        assert_ne!(sample, sequences(2, 30, 5, 8));
        let operations = |one: &PowerCut| one.steps.iter().filter(|step| !step.is_sync()).count();
        assert!(sample.iter().all(|one| operations(one) == 2), "{sample:?}");
    }

    /// A real filesystem performs each sequence, and the model expects what it then holds.
    #[test]
    fn each_sequence_can_be_performed_and_leaves_what_the_model_expects() {
        let directory = std::env::temp_dir().join(format!("sequences-{}", std::process::id()));
        for (at, one) in sequences(1, 1000, 1, 1).iter().chain(&sequences(2, 200, 1, 1)).enumerate()
        {
            let root = directory.join(at.to_string());
            fs::create_dir_all(&root).unwrap();
            for (number, step) in (1..).zip(one.prepare.iter().chain(&one.steps)) {
                perform_step(&root, step, number).unwrap_or_else(|error| panic!("{step}: {error}"));
            }
            let states = ExpectedStates::new(&one.prepare, &one.steps);
            let found = find_files(&root, states.names().into_iter(), states.largest_file());
            let lost = states.lost(Promise, one.steps.len(), &found);
            fs::remove_dir_all(&root).unwrap();
            assert_eq!(lost, None, "{:?}", one.steps);
        }
        fs::remove_dir_all(&directory).unwrap();
    }
}
