//! A set of files, directories or links: its entries with their names, locations and visit order;
//! pure.
//!
//! A set may have a million entries and more, so no structure here grows with their number. Names
//! are functions of the index. The part that a phase created, renamed or truncated before it ended
//! early is known from the progress of each thread along its order, and the order can be computed
//! in both directions.

use std::ops::Range;
use std::path::{Path, PathBuf};

use model::{Create, EntryKind, FileSharing, TraversalOrder};

use crate::data::pattern::{BlockIdentity, file_id};
use crate::data::sizes::SizeSampler;
use crate::files::names::{NameGenerator, write_digits};
use crate::files::path_buffer::PathBuffer;
use crate::files::visit_order::{VisitOrder, VisitProgress, split_evenly};

/// Change of all or some entries of a set.
#[derive(Clone, Debug)]
struct SetChange {
    what: SetChangeKind,
    /// Changed positions; `None` if all positions changed.
    part: Option<VisitProgress>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SetChangeKind {
    Renamed,
    Moved,
    Truncated(u64),
}

/// Targets of a set's links.
#[derive(Clone, Debug)]
pub struct LinkTargets {
    /// Set to which the links point.
    pub target_set: String,
    /// Order in which the set was visited; links are numbered in this order.
    pub order: TraversalOrder,
    /// Whether the links are symbolic.
    pub symbolic: bool,
}

/// Name, location and size of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetEntry {
    /// Number in the set.
    pub index: u64,
    /// Number of renames within the directory.
    pub renamed: u64,
    /// Number of moves to the next directory.
    pub moved: u64,
    /// Size in bytes.
    pub size: u64,
}

/// A set that phases have created and changed.
#[derive(Clone, Debug)]
pub struct FileSet {
    /// Top directory.
    pub top: PathBuf,
    /// Kind of the entries; links count as files.
    pub kind: EntryKind,
    /// Link targets, if the entries are links.
    pub links: Option<LinkTargets>,
    /// Whether files may have another size than recorded, because links point to them.
    pub sizes_unknown: bool,
    /// Number of permission changes; each one sets a new value.
    pub permissions_changed: u64,
    /// Number of attribute changes; each one sets a new value.
    pub attributes_set: u64,
    name: String,
    seed: u64,
    names: NameGenerator,
    /// Number of directories, or of directories per thread if each thread has separate ones.
    directories: u64,
    depth: u32,
    sharing: FileSharing,
    /// Whether each single directory has a second one, as the target of moves.
    doubled: bool,
    sizes: SizeSampler,
    /// First index of the share of each creating thread, followed by the end of the last share.
    starts: Vec<u64>,
    /// Number of entries created before those of each creating thread, followed by the total.
    before: Vec<u64>,
    changes: Vec<SetChange>,
}

impl FileSet {
    /// Plans a complete set.
    pub fn new_planned(root: &Path, seed: u64, create: &Create) -> Self {
        let shares = split_evenly(create.entries, create.threads);
        Self {
            top: root.join(&create.set),
            kind: create.kind,
            links: None,
            sizes_unknown: false,
            permissions_changed: 0,
            attributes_set: 0,
            names: NameGenerator::new(
                seed,
                &create.set,
                create.entries,
                create.order == TraversalOrder::Random,
            ),
            name: create.set.clone(),
            seed,
            directories: create.directories.max(1),
            depth: create.depth.max(1),
            sharing: create.sharing,
            doubled: false,
            sizes: SizeSampler::new(create.spread, create.size.0, seed, &create.set),
            starts: boundaries(shares.iter().map(|s| s.end - s.start)),
            before: boundaries(shares.iter().map(|s| s.end - s.start)),
            changes: Vec::new(),
        }
    }

    /// Plans a set of links to the entries of this one, created in the given orders, in directories
    /// of the same layout.
    pub fn plan_links(
        &self,
        root: &Path,
        name: &str,
        links: LinkTargets,
        orders: &[VisitOrder],
    ) -> Self {
        Self {
            top: root.join(name),
            kind: EntryKind::File,
            sizes_unknown: true,
            names: NameGenerator::new(
                self.seed,
                name,
                self.len(),
                links.order == TraversalOrder::Random,
            ),
            links: Some(links),
            permissions_changed: 0,
            attributes_set: 0,
            name: name.to_owned(),
            starts: boundaries(orders.iter().map(VisitOrder::len)),
            before: boundaries(orders.iter().map(VisitOrder::len)),
            changes: Vec::new(),
            doubled: false,
            ..self.clone()
        }
    }

    /// Reduces the set to the entries actually created, given the progress of each thread in its
    /// share.
    pub fn truncate_to_created(&mut self, done: &[u64]) {
        self.before = boundaries(done.iter().copied());
    }

    /// Returns the number of existing entries.
    pub fn len(&self) -> u64 {
        self.before[self.before.len() - 1]
    }

    /// Returns the number of threads that created the set.
    pub fn makers(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the shares of `threads` threads with their visit orders. If each thread created
    /// entries in separate directories, each one visits the entries it created.
    pub fn visit_orders(&self, order: TraversalOrder, threads: u32) -> Vec<VisitOrder> {
        let as_made = self.sharing == FileSharing::Own && self.makers() == threads as usize;
        let ranges = if as_made {
            self.before.windows(2).map(|b| b[0]..b[1]).collect()
        } else {
            split_evenly(self.len(), threads)
        };
        self.ordered(&ranges, order, "order")
    }

    /// Returns visits of the ranges in the requested order.
    pub fn ordered(
        &self,
        ranges: &[Range<u64>],
        order: TraversalOrder,
        purpose: &str,
    ) -> Vec<VisitOrder> {
        let orders = ranges.iter().enumerate();
        orders
            .map(|(i, range)| {
                let visits = VisitOrder::sequential(range);
                match order {
                    TraversalOrder::Sequential => visits,
                    TraversalOrder::Random => {
                        visits.shuffled(self.seed, &format!("{purpose}-{}-{i}", self.name))
                    }
                }
            })
            .collect()
    }

    /// Returns the shares of the creating threads, in index order.
    pub fn creation_orders(&self) -> Vec<VisitOrder> {
        let ranges = self.starts.windows(2).map(|s| s[0]..s[1]);
        ranges.map(|range| VisitOrder::sequential(&range)).collect()
    }

    /// Returns the existing entry at a position.
    pub fn entry(&self, position: u64) -> SetEntry {
        let maker = match self.makers() {
            1 => 0,
            _ => self.before.partition_point(|&b| b <= position) - 1,
        };
        let mut entry = self.planned(self.starts[maker] + position - self.before[maker]);
        for change in &self.changes {
            if change.part.as_ref().is_none_or(|p| p.contains(position)) {
                match change.what {
                    SetChangeKind::Renamed => entry.renamed += 1,
                    SetChangeKind::Moved => entry.moved += 1,
                    SetChangeKind::Truncated(size) => entry.size = size,
                }
            }
        }
        entry
    }

    /// Returns an entry in its state after creation.
    pub fn planned(&self, index: u64) -> SetEntry {
        SetEntry { index, renamed: 0, moved: 0, size: self.entry_size(index, 1) }
    }

    /// Returns the size of an entry in this generation, which counts how often the entry was
    /// created.
    pub fn entry_size(&self, index: u64, generation: u32) -> u64 {
        self.sizes.size_of(index, generation)
    }

    /// Returns the highest planned index plus one.
    pub fn indices(&self) -> u64 {
        self.starts[self.starts.len() - 1]
    }

    /// Returns the origin of an entry's blocks, which is independent of its name and location.
    pub fn origin(&self, index: u64) -> BlockIdentity {
        BlockIdentity { file: file_id(&self.name) ^ index, generation: 1 }
    }

    /// Returns an upper limit of the size of the largest entry.
    pub fn largest(&self) -> u64 {
        let sizes = self.changes.iter().map(|change| match change.what {
            SetChangeKind::Truncated(size) => size,
            SetChangeKind::Renamed | SetChangeKind::Moved => 0,
        });
        sizes.fold(self.sizes.largest(), u64::max)
    }

    /// Returns true if files of the set may have content.
    pub fn has_content(&self) -> bool {
        self.kind == EntryKind::File && self.links.is_none() && self.largest() > 0
    }

    /// Records that entries were renamed or moved to the next directory.
    pub fn was_renamed(&mut self, across: bool, part: VisitProgress) {
        let what = if across { SetChangeKind::Moved } else { SetChangeKind::Renamed };
        self.changed(what, part);
    }

    /// Records that files were set to a new size.
    pub fn was_truncated(&mut self, size: u64, part: VisitProgress) {
        self.changed(SetChangeKind::Truncated(size), part);
    }

    fn changed(&mut self, what: SetChangeKind, part: VisitProgress) {
        let part = (!part.is_whole()).then_some(part);
        self.changes.push(SetChange { what, part });
    }

    /// Removes the last rename or truncation and returns the changed positions.
    pub fn undo_last(&mut self) -> Option<VisitProgress> {
        let change = self.changes.pop()?;
        Some(change.part.unwrap_or_else(|| self.all_positions()))
    }

    /// Returns all positions in sequential order.
    pub fn all_positions(&self) -> VisitProgress {
        let orders = self.visit_orders(TraversalOrder::Sequential, 1);
        let done = orders.iter().map(VisitOrder::len).collect();
        VisitProgress::new(orders, done)
    }

    // Directories.

    const fn is_nested(&self) -> bool {
        self.directories > 1 || self.depth > 1 || matches!(self.sharing, FileSharing::Own)
    }

    /// Number of threads with separate directories; 1 if all share them.
    fn owners(&self) -> u64 {
        match self.sharing {
            FileSharing::Shared => 1,
            FileSharing::Own => self.makers() as u64,
        }
    }

    /// Returns the number of directories with entries.
    pub fn directories(&self) -> u64 {
        let added = if self.doubled { self.owners() } else { 0 };
        self.owners() * self.directories + added
    }

    /// Adds a second directory to each single one, as the target of moves. Returns true if
    /// directories were added.
    pub fn add_second_directory(&mut self) -> bool {
        let needed = self.directories == 1 && !self.doubled;
        self.doubled |= needed;
        needed
    }

    /// Returns the number of the first added directory, if directories were added.
    pub fn first_added(&self) -> u64 {
        self.owners() * self.directories
    }

    /// Returns the directory of an entry.
    pub fn directory(&self, entry: &SetEntry) -> u64 {
        let owner = match self.sharing {
            FileSharing::Shared => 0,
            FileSharing::Own => self.starts.partition_point(|&s| s <= entry.index) - 1,
        };
        // Entries added after the planned ones belong to the last thread.
        let owner = owner.min(self.makers() - 1);
        // Threads without a share start at the same index as the next thread and own no entries.
        let first = (entry.index - self.starts[owner]) % self.directories;
        let count = self.directories + u64::from(self.doubled);
        let owner = owner as u64;
        match (first + entry.moved) % count {
            added if added == self.directories => self.first_added() + owner,
            one => owner * self.directories + one,
        }
    }

    /// Returns the number of names in each directory: its entries and, in a flat top directory, an
    /// added directory.
    pub fn names_in_directories(&self) -> Vec<u32> {
        let mut counts = vec![0; self.directories() as usize];
        for position in 0..self.len() {
            counts[self.directory(&self.entry(position)) as usize] += 1;
        }
        if !self.is_nested() {
            counts[0] += u32::from(self.doubled);
        }
        counts
    }

    /// Returns the number of directory levels below the top for the entries of a directory.
    pub const fn levels(&self, directory: u64) -> u32 {
        match (directory, self.is_nested()) {
            (0, false) => 0,
            (_, false) => 1,
            _ if self.depth < 2 => 1,
            _ => self.depth - 1,
        }
    }

    /// Writes the path of a directory from the top down to a level.
    pub fn write_directory(&self, directory: u64, levels: u32, into: &mut PathBuffer) {
        into.reset();
        push_directory(directory, levels, into.bytes());
        if levels == 0 {
            into.bytes().push(b'.');
        }
        into.end();
    }

    /// Writes the path of an entry.
    pub fn write_path(&self, entry: &SetEntry, into: &mut PathBuffer) {
        into.reset();
        if self.is_nested() || entry.moved > 0 {
            let directory = self.directory(entry);
            push_directory(directory, self.levels(directory), into.bytes());
        }
        self.names.write(entry.index, entry.renamed, into.bytes());
        into.end();
    }
}

fn push_directory(directory: u64, levels: u32, into: &mut Vec<u8>) {
    for level in 1..=levels {
        if level == 1 {
            into.push(b'd');
            write_digits(directory, 5.max(decimal_digits(directory)), into);
        } else {
            into.push(b'n');
            write_digits(u64::from(level), 2, into);
        }
        into.push(b'/');
    }
}

const fn decimal_digits(number: u64) -> usize {
    match number.checked_ilog10() {
        Some(log) => log as usize + 1,
        None => 1,
    }
}

/// Prefix sums: the sum before each length, followed by the total.
fn boundaries(lengths: impl Iterator<Item = u64>) -> Vec<u64> {
    let sums = lengths.scan(0, |sum, length| {
        *sum += length;
        Some(*sum)
    });
    std::iter::once(0).chain(sums).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Bytes;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn create() -> impl Strategy<Value = Create> {
        let counts = (1u64..300, 1u64..6, 1u32..5, 1u32..9);
        let kinds = (any::<bool>(), any::<bool>());
        (counts, kinds).prop_map(|((entries, directories, depth, threads), (random, own))| Create {
            set: "set".into(),
            kind: EntryKind::File,
            entries,
            directories,
            depth,
            size: Bytes(10),
            spread: model::op::SizeDistribution::Fixed,
            order: order(random),
            fsync: false,
            fsync_directory: false,
            threads,
            sharing: if own { FileSharing::Own } else { FileSharing::Shared },
        })
    }

    const fn order(random: bool) -> TraversalOrder {
        if random { TraversalOrder::Random } else { TraversalOrder::Sequential }
    }

    fn plan(create: &Create) -> FileSet {
        FileSet::new_planned(Path::new("/root"), 7, create)
    }

    /// A set in which each thread created only a part of its share.
    fn cut_short(create: &Create, share: f64) -> FileSet {
        let mut set = plan(create);
        let done: Vec<u64> = steps(&set.creation_orders(), share);
        set.truncate_to_created(&done);
        set
    }

    fn steps(orders: &[VisitOrder], share: f64) -> Vec<u64> {
        let steps = |t: &VisitOrder| (t.len() as f64 * share).ceil() as u64;
        orders.iter().map(steps).collect()
    }

    fn part(set: &FileSet, order: TraversalOrder, threads: u32, share: f64) -> VisitProgress {
        let orders = set.visit_orders(order, threads);
        let done = steps(&orders, share);
        VisitProgress::new(orders, done)
    }

    fn path(set: &FileSet, entry: &SetEntry) -> String {
        let mut buffer = PathBuffer::new(&set.top);
        set.write_path(entry, &mut buffer);
        buffer.relative().to_str().unwrap().to_owned()
    }

    fn paths(set: &FileSet) -> Vec<String> {
        (0..set.len()).map(|p| path(set, &set.entry(p))).collect()
    }

    proptest! {
        #[test]
        fn threads_visit_every_position_exactly_once(
            create in create(), made in 0.0f64..=1.0, random: bool, threads in 1u32..9,
        ) {
            let set = cut_short(&create, made);
            let whole = part(&set, order(random), threads, 1.0);
            prop_assert!(whole.is_whole());
            let mut positions: Vec<u64> = whole.visited().map(|(_, p)| p).collect();
            positions.sort_unstable();
            prop_assert_eq!(positions, (0..set.len()).collect::<Vec<_>>());
            let ordinals: Vec<u64> = whole.visited().map(|(o, _)| o).collect();
            prop_assert_eq!(ordinals, (0..set.len()).collect::<Vec<_>>());
        }

        #[test]
        fn visited_positions_are_known(
            create in create(), random: bool, threads in 1u32..9, share in 0.0f64..=1.0,
        ) {
            let set = plan(&create);
            let part = part(&set, order(random), threads, share);
            let visited: HashSet<u64> = part.visited().map(|(_, p)| p).collect();
            for position in 0..set.len() {
                prop_assert_eq!(part.contains(position), visited.contains(&position));
            }
            prop_assert_eq!(part.is_whole(), visited.len() as u64 == set.len());
        }

        #[test]
        fn paths_are_unique_and_have_the_requested_depth(create in create(), made in 0.0f64..=1.0) {
            let set = cut_short(&create, made);
            let paths = paths(&set);
            let different: HashSet<&String> = paths.iter().collect();
            prop_assert_eq!(different.len(), paths.len());
            let nested = create.directories > 1 || create.sharing == FileSharing::Own;
            let directories = create.depth.max(1 + u32::from(nested));
            for path in &paths {
                let below_top = path.matches('/').count();
                prop_assert_eq!(below_top + 1, directories as usize, "{}", path);
            }
        }

        #[test]
        fn each_thread_has_separate_directories(create in create(), made in 0.5f64..=1.0) {
            let create = Create { sharing: FileSharing::Own, ..create };
            let set = cut_short(&create, made);
            let mut owners = vec![None; set.directories() as usize];
            for (thread, order) in set.visit_orders(TraversalOrder::Random, create.threads).iter().enumerate() {
                for step in 0..order.len() {
                    let directory = set.directory(&set.entry(order.position(step))) as usize;
                    prop_assert_eq!(*owners[directory].get_or_insert(thread), thread);
                }
            }
        }

        #[test]
        fn directories_contain_the_counted_entries(
            create in create(), made in 0.0f64..=1.0, moved in 0.0f64..=1.0, random: bool,
        ) {
            let mut set = cut_short(&create, made);
            set.add_second_directory();
            let part = part(&set, order(random), 3, moved);
            set.was_renamed(true, part);
            let counted: u64 = set.names_in_directories().into_iter().map(u64::from).sum();
            let nested = create.directories > 1 || create.depth > 1
                || create.sharing == FileSharing::Own;
            prop_assert_eq!(counted, set.len() + u64::from(!nested));
            let different: HashSet<String> = paths(&set).into_iter().collect();
            prop_assert_eq!(different.len() as u64, set.len());
        }

        #[test]
        fn a_partial_rename_changes_only_its_part_and_can_be_undone(
            create in create(), random: bool, threads in 1u32..9, share in 0.0f64..=1.0, across: bool,
        ) {
            let mut set = plan(&create);
            if across {
                set.add_second_directory();
            }
            let before = paths(&set);
            let part = part(&set, order(random), threads, share);
            set.was_renamed(across, part.clone());
            for (position, after) in paths(&set).into_iter().enumerate() {
                prop_assert_eq!(after != before[position], part.contains(position as u64));
            }
            let back = set.undo_last().unwrap();
            prop_assert_eq!(paths(&set), before);
            prop_assert_eq!(back.visited().count(), part.visited().count());
        }
    }

    #[test]
    fn one_directory_is_the_top_itself_and_several_are_below() {
        let plain = Create {
            set: "set".into(),
            kind: EntryKind::File,
            entries: 4,
            directories: 1,
            depth: 1,
            size: Bytes(0),
            spread: model::op::SizeDistribution::Fixed,
            order: TraversalOrder::Sequential,
            fsync: false,
            fsync_directory: false,
            threads: 1,
            sharing: FileSharing::Shared,
        };
        let first = |create: &Create| path(&plan(create), &plan(create).entry(0));
        assert!(first(&plain).starts_with("0000000"));
        let two = Create { directories: 2, ..plain.clone() };
        assert!(first(&two).starts_with("d00000/0000000"));
        let deep = Create { depth: 4, ..plain.clone() };
        assert!(first(&deep).starts_with("d00000/n02/n03/0000000"));
        let mut set = plan(&plain);
        assert!(set.add_second_directory() && !set.add_second_directory());
        set.was_renamed(true, set.all_positions());
        assert!(path(&set, &set.entry(3)).starts_with("d00001/0000003"));
    }

    #[test]
    fn sizes_follow_truncations() {
        let mut set = plan(&Create {
            set: "set".into(),
            kind: EntryKind::File,
            entries: 4,
            directories: 1,
            depth: 1,
            size: Bytes(10),
            spread: model::op::SizeDistribution::Fixed,
            order: TraversalOrder::Sequential,
            fsync: false,
            fsync_directory: false,
            threads: 1,
            sharing: FileSharing::Shared,
        });
        let half = part(&set, TraversalOrder::Sequential, 1, 0.5);
        set.was_truncated(3, half);
        let sizes = |set: &FileSet| (0..4).map(|p| set.entry(p).size).collect::<Vec<_>>();
        assert_eq!(sizes(&set), [3, 3, 10, 10]);
        set.was_truncated(0, set.all_positions());
        assert_eq!(sizes(&set), [0; 4]);
        assert_eq!(set.largest(), 10);
        set.undo_last();
        assert_eq!(sizes(&set), [3, 3, 10, 10]);
    }
}
