//! Tests of each action's effect on a real directory.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use model::{
    Bytes, Create, EntryKind, FileSharing, Metadata, MetadataAction, Nanos, Op, SyncAtEnd,
    TraversalOrder,
};
use tempfile::TempDir;

use crate::files::path_buffer::PathBuffer;
use crate::ops::{perform, undo};
use crate::{CellWorkspace, OpError, PhaseMeter, ThreadStats};

/// A directory, its contents, and the operations on one set.
struct SetScratch {
    directory: TempDir,
    ws: CellWorkspace,
}

const THREADS: u32 = 3;

impl SetScratch {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let ws = CellWorkspace::new(directory.path(), 11);
        Self { directory, ws }
    }

    fn with(create: &Create) -> Self {
        let mut place = Self::new();
        let stats = place.run(&Op::Create(create.clone())).unwrap();
        assert_eq!(stats.operations, create.entries);
        place
    }

    fn run(&mut self, op: &Op) -> Result<ThreadStats, OpError> {
        self.run_within(op, None)
    }

    fn run_within(&mut self, op: &Op, at_most: Option<Nanos>) -> Result<ThreadStats, OpError> {
        let mut stats =
            ThreadStats::new(at_most, Default::default(), PhaseMeter::start(None, None));
        perform(op, SyncAtEnd::Call, &mut self.ws, &mut stats).map(|()| stats)
    }

    fn act(&mut self, action: MetadataAction) -> ThreadStats {
        self.run(&on("set", action)).unwrap()
    }

    fn undo(&mut self, op: &Op) {
        undo(op, &mut self.ws).unwrap();
    }

    fn top(&self, set: &str) -> PathBuf {
        self.directory.path().join(set)
    }

    /// Returns all paths below a set's top that have no entries below them: the set's entries,
    /// unless some are directories.
    fn entries(&self, set: &str) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        walk(&self.top(set), &mut found);
        found
    }

    fn attributes(&self, set: &str) -> Vec<fs::Metadata> {
        let entries = self.entries(set);
        entries.iter().map(|e| fs::metadata(e).unwrap()).collect()
    }

    fn is_empty(&self) -> bool {
        fs::read_dir(self.directory.path()).unwrap().count() == 0
    }
}

fn walk(directory: &Path, found: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if fs::symlink_metadata(&path).unwrap().is_dir() {
            walk(&path, found);
        } else {
            found.insert(path);
        }
    }
}

fn files(entries: u64) -> Create {
    Create {
        set: "set".into(),
        kind: EntryKind::File,
        entries,
        directories: 1,
        depth: 1,
        size: Bytes(0),
        spread: model::op::SizeDistribution::Fixed,
        order: TraversalOrder::Random,
        fsync: false,
        fsync_directory: false,
        threads: THREADS,
        sharing: FileSharing::Shared,
    }
}

/// Returns all layouts of entries in directories.
fn layouts() -> Vec<Create> {
    let mut layouts = Vec::new();
    for sharing in [FileSharing::Shared, FileSharing::Own] {
        for (directories, depth) in [(1, 1), (4, 1), (1, 5), (2, 3)] {
            layouts.push(Create { directories, depth, sharing, size: Bytes(100), ..files(50) });
        }
    }
    layouts
}

fn on(set: &str, action: MetadataAction) -> Op {
    Op::Metadata(Metadata {
        set: set.into(),
        action,
        order: TraversalOrder::Random,
        threads: THREADS,
    })
}

fn names(entries: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let name = |p: &PathBuf| p.file_name().unwrap().into();
    entries.iter().map(name).collect()
}

fn parents(entries: &BTreeSet<PathBuf>) -> BTreeSet<&Path> {
    entries.iter().map(|p| p.parent().unwrap()).collect()
}

#[test]
fn every_layout_is_made_looked_at_and_removed() {
    for create in layouts() {
        let mut place = SetScratch::with(&create);
        let entries = place.entries("set");
        assert_eq!(entries.len(), 50, "{create:?}");
        let threads = match create.sharing {
            FileSharing::Shared => 1,
            FileSharing::Own => THREADS as usize,
        };
        let directories = create.directories as usize * threads;
        assert_eq!(parents(&entries).len(), directories, "{create:?}");
        assert!(place.attributes("set").iter().all(|m| m.len() == 100));
        assert_eq!(place.act(MetadataAction::Open).operations, 50);
        let stat = place.act(MetadataAction::Stat { read: false });
        assert_eq!((stat.operations, stat.bytes), (50, 0));
        let read = place.act(MetadataAction::Stat { read: true });
        assert_eq!((read.operations, read.bytes), (50, 5_000));
        assert_eq!(place.act(MetadataAction::Readdir).operations, 50);
        assert_eq!(place.act(MetadataAction::Remove { fsync: false }).operations, 50);
        assert!(place.is_empty(), "{create:?}");
    }
}

#[test]
fn directories_are_made_looked_at_renamed_and_removed() {
    let create = Create { kind: EntryKind::Directory, depth: 3, ..files(20) };
    let mut place = SetScratch::with(&create);
    let inside = place.top("set").join("d00000/n02");
    let listed = || fs::read_dir(&inside).unwrap().map(|e| e.unwrap());
    assert_eq!(listed().filter(|e| e.path().is_dir()).count(), 20);
    for action in [
        MetadataAction::Open,
        MetadataAction::Stat { read: true },
        MetadataAction::Readdir,
        MetadataAction::Chmod,
        MetadataAction::Rename { across: false },
        MetadataAction::Rename { across: true },
    ] {
        let stats = place.act(action);
        assert_eq!((stats.operations, stats.bytes), (20, 0));
    }
    assert_eq!(listed().count(), 0, "all went to the second directory");
    place.act(MetadataAction::Remove { fsync: false });
    assert!(place.is_empty());
}

#[test]
fn content_is_recognisable_and_longer_than_one_request() {
    let mut place = SetScratch::with(&Create { size: Bytes(150_000), fsync: true, ..files(2) });
    let pattern = place.ws.pattern(150_000);
    let set = place.ws.set("set").unwrap();
    let mut path = PathBuffer::new(&set.top);
    for position in 0..2 {
        let entry = set.entry(position);
        set.write_path(&entry, &mut path);
        let content = fs::read(path.path()).unwrap();
        assert_eq!(content.len(), 150_000);
        pattern.check(set.origin(entry.index), 0, &content).unwrap();
        let other = set.origin(entry.index + 1);
        assert!(pattern.check(other, 0, &content).is_err());
    }
}

#[test]
fn a_file_that_lost_its_end_is_corrupt() {
    let mut place = SetScratch::with(&Create { size: Bytes(100), ..files(5) });
    let one = place.entries("set").pop_first().unwrap();
    let file = fs::File::options().write(true).open(one).unwrap();
    file.set_len(99).unwrap();
    let read = MetadataAction::Stat { read: true };
    let error = place.run(&on("set", read)).unwrap_err();
    assert!(matches!(error, OpError::Corrupt { .. }), "{error}");
}

#[test]
fn a_name_too_many_or_too_few_is_found() {
    for create in layouts() {
        let mut place = SetScratch::with(&create);
        let one = place.entries("set").pop_last().unwrap();
        fs::write(one.with_file_name("guest"), "").unwrap();
        let guest = place.run(&on("set", MetadataAction::Readdir)).unwrap_err();
        assert!(matches!(guest, OpError::WrongEntries { .. }), "{guest}");
        fs::remove_file(one.with_file_name("guest")).unwrap();
        place.act(MetadataAction::Readdir);
        fs::remove_file(one).unwrap();
        let lost = place.run(&on("set", MetadataAction::Readdir)).unwrap_err();
        let one_less = matches!(lost, OpError::WrongEntries { expected, found, .. }
            if found + 1 == expected);
        assert!(one_less, "{lost}");
    }
}

#[test]
fn a_renaming_within_gives_new_names_in_the_same_directories() {
    for create in layouts() {
        let mut place = SetScratch::with(&create);
        let before = place.entries("set");
        let rename = MetadataAction::Rename { across: false };
        assert_eq!(place.act(rename.clone()).operations, 50);
        let after = place.entries("set");
        assert!(before.is_disjoint(&after), "{create:?}");
        assert_eq!(parents(&before), parents(&after));
        assert_eq!(place.act(MetadataAction::Stat { read: true }).bytes, 5_000);
        place.undo(&on("set", rename));
        assert_eq!(place.entries("set"), before);
    }
}

#[test]
fn a_renaming_across_keeps_names_and_changes_directories() {
    for create in layouts() {
        let mut place = SetScratch::with(&create);
        let before = place.entries("set");
        let rename = MetadataAction::Rename { across: true };
        assert_eq!(place.act(rename.clone()).operations, 50);
        let after = place.entries("set");
        assert!(before.is_disjoint(&after), "{create:?}");
        assert_eq!(names(&before), names(&after));
        place.act(MetadataAction::Readdir);
        place.undo(&on("set", rename.clone()));
        assert_eq!(place.entries("set"), before);
        place.act(rename);
        place.act(MetadataAction::Remove { fsync: false });
        assert!(place.is_empty(), "{create:?}");
    }
}

#[test]
fn hard_links_are_a_set_of_second_names() {
    for create in layouts() {
        let mut place = SetScratch::with(&create);
        let link = MetadataAction::Link { to: "links".into() };
        assert_eq!(place.act(link.clone()).operations, 50);
        assert!(place.attributes("set").iter().all(|m| m.nlink() == 2));
        let inodes = |set: &str| -> BTreeSet<u64> {
            place.attributes(set).iter().map(fs::Metadata::ino).collect()
        };
        assert_eq!(inodes("set"), inodes("links"));
        assert_eq!(parents(&place.entries("links")).len(), parents(&place.entries("set")).len());
        let read = on("links", MetadataAction::Stat { read: true });
        assert_eq!(place.run(&read).unwrap().bytes, 5_000);
        let remove = on("links", MetadataAction::Remove { fsync: false });
        place.run(&remove).unwrap();
        assert!(place.attributes("set").iter().all(|m| m.nlink() == 1));
        place.undo(&remove);
        assert!(place.attributes("set").iter().all(|m| m.nlink() == 2));
        place.undo(&on("set", link));
        assert!(!place.top("links").exists());
    }
}

#[test]
fn symbolic_links_lead_to_each_entry() {
    for create in layouts() {
        let mut place = SetScratch::with(&create);
        let to = "links".to_owned();
        place.act(MetadataAction::Symlink { to });
        let links = place.entries("links");
        let resolved: BTreeSet<PathBuf> = links.iter().map(|l| l.canonicalize().unwrap()).collect();
        let top = place.directory.path().canonicalize().unwrap();
        let entries = place.entries("set");
        let below = |p: &PathBuf| top.join(p.strip_prefix(place.directory.path()).unwrap());
        assert_eq!(resolved, entries.iter().map(below).collect());
        for action in
            [MetadataAction::Stat { read: true }, MetadataAction::Open, MetadataAction::Readdir]
        {
            assert_eq!(place.run(&on("links", action)).unwrap().operations, 50);
        }
        place.run(&on("links", MetadataAction::Remove { fsync: false })).unwrap();
        assert_eq!(place.entries("set").len(), 50, "the files still exist");
    }
}

#[test]
fn permissions_change_each_time() {
    let mut place = SetScratch::with(&files(20));
    let mode = |place: &SetScratch| -> BTreeSet<u32> {
        let attributes = place.attributes("set");
        attributes.iter().map(|m| m.permissions().mode() & 0o777).collect()
    };
    assert_eq!(mode(&place), [0o600].into());
    for expected in [0o640, 0o600, 0o640] {
        assert_eq!(place.act(MetadataAction::Chmod).operations, 20);
        assert_eq!(mode(&place), [expected].into());
    }
}

#[test]
fn attributes_change_each_time_or_are_unsupported() {
    let mut place = SetScratch::with(&files(20));
    let set = || MetadataAction::SetXattr { size: Bytes(40) };
    let value = |place: &SetScratch| -> BTreeSet<Vec<u8>> {
        let entries = place.entries("set");
        let get = |e: &PathBuf| xattr::get(e, "user.fsarena").unwrap().unwrap();
        entries.iter().map(get).collect()
    };
    match place.run(&on("set", set())) {
        Ok(stats) => {
            assert_eq!(stats.operations, 20);
            let first = value(&place);
            place.act(set());
            let second = value(&place);
            assert_eq!((first.len(), second.len()), (1, 1));
            assert!(first.is_disjoint(&second));
        }
        Err(error) => {
            assert!(matches!(error, OpError::Unsupported { .. }), "{error}");
            assert!(error.to_string().contains("setxattr"), "{error}");
        }
    }
}

#[test]
fn truncated_content_is_restored() {
    let mut place = SetScratch::with(&Create { size: Bytes(100_000), ..files(10) });
    let content = |place: &SetScratch| -> Vec<Vec<u8>> {
        let entries = place.entries("set");
        entries.iter().map(|e| fs::read(e).unwrap()).collect()
    };
    let before = content(&place);
    for size in [0, 10, 200_000] {
        let truncate = MetadataAction::Truncate { size: Bytes(size) };
        place.act(truncate.clone());
        assert!(place.attributes("set").iter().all(|m| m.len() == size));
        let read = place.act(MetadataAction::Stat { read: true });
        assert_eq!(read.bytes, 10 * size);
        place.undo(&on("set", truncate));
        assert_eq!(content(&place), before);
    }
}

#[test]
fn operations_can_be_repeated_after_undo() {
    for kind in [EntryKind::File, EntryKind::Directory] {
        let create = Create { kind, directories: 2, ..files(30) };
        let mut place = SetScratch::new();
        let make = Op::Create(create);
        for _ in 0..2 {
            place.run(&make).unwrap();
            place.undo(&make);
            assert!(place.is_empty());
        }
        place.run(&make).unwrap();
        place.act(MetadataAction::Rename { across: false });
        let before = place.entries("set");
        let remove = on("set", MetadataAction::Remove { fsync: false });
        for _ in 0..2 {
            place.run(&remove).unwrap();
            assert!(place.is_empty());
            place.undo(&remove);
            assert_eq!(place.entries("set"), before);
            place.act(MetadataAction::Stat { read: true });
        }
    }
}

/// Time limit that some entries can meet, but not all.
const SHORT: Option<Nanos> = Some(Nanos(0));

#[test]
fn a_set_cut_short_is_usable_by_later_phases() {
    for create in layouts() {
        let mut place = SetScratch::new();
        let make = Op::Create(create.clone());
        let made = place.run_within(&make, SHORT).unwrap();
        assert!(made.time_limited);
        let there = u64::from(THREADS);
        assert_eq!(made.operations, there, "one for each thread");
        assert_eq!(place.act(MetadataAction::Stat { read: true }).operations, there);
        assert_eq!(place.act(MetadataAction::Readdir).operations, there);
        place.act(MetadataAction::Remove { fsync: false });
        assert!(place.is_empty(), "{create:?}");
    }
}

#[test]
fn changes_that_were_cut_short_are_known_entry_by_entry() {
    for create in layouts() {
        let mut place = SetScratch::with(&create);
        let before = place.entries("set");
        for action in [
            MetadataAction::Rename { across: false },
            MetadataAction::Rename { across: true },
            MetadataAction::Truncate { size: Bytes(7) },
        ] {
            let op = on("set", action);
            let stats = place.run_within(&op, SHORT).unwrap();
            assert_eq!(stats.operations, u64::from(THREADS));
        }
        assert_ne!(place.entries("set"), before);
        let short = u64::from(THREADS);
        let read = place.act(MetadataAction::Stat { read: true });
        assert_eq!(read.bytes, 7 * short + 100 * (50 - short), "{create:?}");
        place.act(MetadataAction::Readdir);
        let link = MetadataAction::Link { to: "links".into() };
        let linked = place.run_within(&on("set", link), SHORT).unwrap();
        assert_eq!(linked.operations, short);
        assert_eq!(place.entries("links").len() as u64, short);
        assert_eq!(place.run(&on("links", MetadataAction::Open)).unwrap().operations, short);
        let remove = on("set", MetadataAction::Remove { fsync: false });
        let now = place.entries("set");
        place.run_within(&remove, SHORT).unwrap();
        assert_eq!(place.entries("set").len() as u64, 50 - short);
        place.undo(&remove);
        assert_eq!(place.entries("set"), now);
    }
}

#[test]
fn a_set_that_cannot_be_linked_is_unsupported_in_later_phases() {
    // No filesystem makes hard links to directories.
    let mut place = SetScratch::with(&Create { kind: EntryKind::Directory, ..files(5) });
    let link = MetadataAction::Link { to: "links".into() };
    let refused = place.run(&on("set", link)).unwrap_err();
    assert!(matches!(refused, OpError::Unsupported { .. }), "{refused}");
    assert!(refused.to_string().contains("EPERM"), "{refused}");
    let later = place.run(&on("links", MetadataAction::Remove { fsync: false })).unwrap_err();
    assert!(matches!(later, OpError::Unsupported { .. }), "{later}");
    assert!(!place.top("links").exists());
    assert_eq!(place.act(MetadataAction::Remove { fsync: false }).operations, 5);
}

#[test]
fn a_set_never_created_is_missing() {
    let error = SetScratch::new().run(&on("set", MetadataAction::Open)).unwrap_err();
    assert_eq!(error.to_string(), "the set `set` was not made by an earlier phase");
}
