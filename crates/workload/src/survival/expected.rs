//! The states that a sequence of file operations allows after a power cut. A pure model: it opens
//! no file.
//!
//! fsync(2) promises the content, size and attributes of a file, and of a directory the names in
//! it; fdatasync(2) promises content and size, sync_file_range(2) nothing, sync(2) all for all. A name is not promised by the fsync of its file. Whatever was promised
//! stays promised until a later step changes it; a change without a sync may be lost or kept.

use std::collections::{BTreeMap, BTreeSet};

use model::{Expectation, FileStep};

use super::BLOCK;

/// Number of completed steps, from 0.
pub type StepNumber = usize;

/// A block of a file as found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FoundBlock {
    /// Written by a step, at this index of its file.
    Written {
        /// The step.
        step: u32,
        /// The index.
        block: u32,
    },
    /// Only zeros.
    Zeros,
    /// Anything else.
    Other,
}

/// Object of a name after a cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundFile {
    /// A directory.
    Directory,
    /// A symbolic link with its target.
    Symlink(String),
    /// A file.
    File {
        /// Size in bytes, or more than any step wrote.
        size: u64,
        /// The blocks; the last may be shorter.
        blocks: Vec<FoundBlock>,
        /// The step that set its extended attribute, or 0 if it has none.
        attribute: u32,
    },
    /// It exists, but cannot be read.
    Unreadable {
        /// The call that failed.
        call: &'static str,
        /// Name of the error.
        error: String,
    },
}

impl FoundFile {
    /// Returns this file for steps that were counted from `base` on.
    pub fn relative_to(self, base: u32) -> Self {
        let Self::File { size, mut blocks, attribute } = self else { return self };
        for block in &mut blocks {
            if let FoundBlock::Written { step, .. } = block {
                match step.checked_sub(base) {
                    Some(number) => *step = number,
                    None => *block = FoundBlock::Other,
                }
            }
        }
        let attribute = if attribute == 0 { 0 } else { attribute.wrapping_sub(base) };
        Self::File { size, blocks, attribute }
    }
}

/// Found files by name. Names that do not exist are absent.
pub type FoundFiles = BTreeMap<String, FoundFile>;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    /// A directory with its number.
    Directory(usize),
    Symlink(String),
    File(usize),
}

/// Names and contents after a step. A block is the number of the step that wrote it, or 0 if it is a
/// hole.
#[derive(Clone, Debug, Default)]
struct FileTree {
    names: BTreeMap<String, Node>,
    contents: BTreeMap<usize, Vec<u32>>,
    /// The step that set the extended attribute of each file that has one.
    attributes: BTreeMap<usize, u32>,
    /// Directories that were ever made, without the root.
    directories: usize,
}

/// All states of a sequence.
#[derive(Clone, Debug)]
pub struct ExpectedStates {
    /// The state after each number of steps; the first is durable.
    states: Vec<FileTree>,
    /// The steps. `None`: a sync that failed, which promises nothing.
    steps: Vec<Option<FileStep>>,
}

/// Steps when the writing ended.
#[derive(Clone, Copy)]
struct ReachedSteps {
    /// Number of steps that had succeeded.
    done: StepNumber,
    /// Number of steps that may have had an effect.
    last: StepNumber,
}

/// Number of the root directory.
const ROOT: usize = 0;

/// Returns the directory of a path and the name in it.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or((".", path))
}

impl FileTree {
    /// Applies a step that succeeded.
    fn apply(&mut self, step: &FileStep, number: u32) {
        let next = self.contents.keys().last().map_or(0, |last| last + 1);
        match step {
            FileStep::Mkdir(path) => {
                self.directories += 1;
                self.names.insert(path.clone(), Node::Directory(self.directories));
            }
            FileStep::Write(path, blocks) => {
                self.names.insert(path.clone(), Node::File(next));
                self.contents.insert(next, vec![number; *blocks as usize]);
            }
            FileStep::Overwrite(path) | FileStep::MapWrite(path) => {
                self.content_of(path).into_iter().for_each(|content| content.fill(number));
            }
            FileStep::WriteAt(path, first, blocks) => {
                let (first, end) = (*first as usize, (first + blocks) as usize);
                if let Some(content) = self.content_of(path) {
                    content.resize(content.len().max(end), 0);
                    content[first..end].fill(number);
                }
            }
            FileStep::Append(path, blocks) => {
                let new = vec![number; *blocks as usize];
                self.content_of(path).into_iter().for_each(|content| content.extend(&new));
            }
            FileStep::Allocate(path, blocks) => {
                let new = vec![0; *blocks as usize];
                self.content_of(path).into_iter().for_each(|content| content.extend(&new));
            }
            FileStep::Punch(path) => {
                let first = self.content_of(path).and_then(|content| content.first_mut());
                first.into_iter().for_each(|block| *block = 0);
            }
            FileStep::SetAttribute(path) => {
                if let Some(Node::File(inode)) = self.names.get(path) {
                    self.attributes.insert(*inode, number);
                }
            }
            FileStep::Truncate(path, blocks) => {
                let content = self.content_of(path).into_iter();
                content.for_each(|content| content.resize(*blocks as usize, 0));
            }
            FileStep::Rename(from, to) => {
                let below = format!("{from}/");
                let names = std::mem::take(&mut self.names);
                let moves = |name: &str| name == from || name.starts_with(&below);
                let (moved, kept): (Vec<_>, Vec<_>) =
                    names.into_iter().partition(|(name, _)| moves(name));
                let moved = moved.into_iter();
                let moved =
                    moved.map(|(name, node)| (format!("{to}{}", &name[from.len()..]), node));
                self.names = kept.into_iter().chain(moved).collect();
            }
            FileStep::Link(from, to) => {
                if let Some(node) = self.names.get(from).cloned() {
                    self.names.insert(to.clone(), node);
                }
            }
            FileStep::Symlink(target, name) => {
                self.names.insert(name.clone(), Node::Symlink(target.clone()));
            }
            FileStep::Unlink(path) | FileStep::Rmdir(path) => {
                self.names.remove(path);
            }
            FileStep::Fsync(_)
            | FileStep::Fdatasync(_)
            | FileStep::SyncRange(_)
            | FileStep::Sync => {}
        }
    }

    /// Returns the number of a directory.
    fn directory_at(&self, path: &str) -> Option<usize> {
        match self.names.get(path) {
            Some(Node::Directory(number)) => Some(*number),
            _ => (path == ".").then_some(ROOT),
        }
    }

    /// Returns the node of a name in a directory, if the directory exists.
    fn node_in(&self, directory: usize, name: &str) -> Option<Option<Node>> {
        if directory == ROOT {
            return Some(self.names.get(name).cloned());
        }
        let (path, _) = self.names.iter().find(|(_, node)| **node == Node::Directory(directory))?;
        Some(self.names.get(&format!("{path}/{name}")).cloned())
    }

    /// Returns the step that set the extended attribute of a file, or 0 if it has none.
    fn attribute(&self, inode: usize) -> u32 {
        self.attributes.get(&inode).copied().unwrap_or(0)
    }

    fn content_of(&mut self, path: &str) -> Option<&mut Vec<u32>> {
        match self.names.get(path) {
            Some(Node::File(inode)) => self.contents.get_mut(inode),
            _ => None,
        }
    }
}

impl ExpectedStates {
    /// Follows a sequence whose steps all succeed. The steps of `prepare` have the numbers from 1,
    /// and those of `steps` the numbers after them.
    pub fn new(prepare: &[FileStep], steps: &[FileStep]) -> Self {
        let mut tree = FileTree::default();
        for (number, step) in (1..).zip(prepare) {
            tree.apply(step, number);
        }
        let mut states = vec![tree.clone()];
        for (number, step) in (1 + prepare.len() as u32..).zip(steps) {
            tree.apply(step, number);
            states.push(tree.clone());
        }
        Self { states, steps: steps.iter().cloned().map(Some).collect() }
    }

    /// Returns all names that ever existed.
    pub fn names(&self) -> BTreeSet<&str> {
        self.states.iter().flat_map(|tree| tree.names.keys().map(String::as_str)).collect()
    }

    /// Returns the number of blocks of the largest file.
    pub fn largest_file(&self) -> u32 {
        let contents = self.states.iter().flat_map(|tree| tree.contents.values());
        contents.map(Vec::len).max().unwrap_or(0) as u32
    }

    /// Returns what is lost if `done` steps had succeeded before the cut, or `None` if the
    /// expectation holds. The step after them may have been in progress.
    pub fn lost(
        &self,
        expect: Expectation,
        done: StepNumber,
        found: &FoundFiles,
    ) -> Option<String> {
        let reached = ReachedSteps { done, last: (done + 1).min(self.steps.len()) };
        let lost = self.lost_between(reached, found);
        match expect {
            Expectation::Promise => lost,
            Expectation::Acknowledged => lost.or_else(|| self.lost_result(done, found)),
            Expectation::Replacement => lost.or_else(|| self.torn_replacement(reached, found)),
            Expectation::Order => lost.or_else(|| self.out_of_order(reached, found)),
        }
    }

    /// Returns what is lost if at least `done` steps had succeeded before the cut. The others may have
    /// succeeded, too, because the message about them can be lost.
    pub fn lost_of_at_least(&self, done: StepNumber, found: &FoundFiles) -> Option<String> {
        self.lost_between(ReachedSteps { done, last: self.steps.len() }, found)
    }

    fn lost_between(&self, reached: ReachedSteps, found: &FoundFiles) -> Option<String> {
        let lost = self.names().into_iter().find_map(|name| self.lost_name(name, reached, found));
        lost.or_else(|| self.file_without_name(reached, found))
    }

    /// Returns the names of a file that had one at each moment, and has none now: a rename removes
    /// the old name only if the new one exists.
    fn file_without_name(&self, reached: ReachedSteps, found: &FoundFiles) -> Option<String> {
        let since = self.durable_since(reached.done, |step, _| *step == FileStep::Sync);
        let states = &self.states[since..=reached.last];
        let names_in = |tree: &FileTree, inode: usize| -> Vec<String> {
            let is_it = |(_, node): &(&String, &Node)| **node == Node::File(inode);
            tree.names.iter().filter(is_it).map(|(name, _)| name.clone()).collect()
        };
        let first = states.first()?;
        first.contents.keys().find_map(|&inode| {
            let mut names = BTreeSet::new();
            for tree in states {
                let here = names_in(tree, inode);
                if here.is_empty() {
                    return None;
                }
                names.extend(here);
            }
            let is_found = names.iter().any(|name| found.contains_key(name));
            let names: Vec<String> = names.into_iter().collect();
            (!is_found).then(|| format!("{} are missing", names.join(" and ")))
        })
    }

    /// Returns what is lost of the result of all steps, if they have succeeded.
    fn lost_result(&self, done: StepNumber, found: &FoundFiles) -> Option<String> {
        let tree = self.states.get(done).filter(|_| done == self.steps.len())?;
        let name = tree.names.keys().find(|name| !self.is_name_of(name, done, done, found))?;
        Some(match found.get(name) {
            None => format!("{name} is missing"),
            Some(FoundFile::Unreadable { error, .. }) => format!("{name} cannot be read: {error}"),
            Some(FoundFile::File { blocks, .. }) => {
                let difference = self.differing_content(name, done, blocks);
                format!("{name} has {}", difference.unwrap_or_else(|| "another size".to_owned()))
            }
            Some(FoundFile::Directory | FoundFile::Symlink(_)) => {
                format!("{name} is not what the last step left")
            }
        })
    }

    /// Removes the promise of a sync that failed.
    pub fn remove_promise(&mut self, step: StepNumber) {
        self.steps[step] = None;
    }

    /// Returns a loss of data that one of the first `done` steps synced and no later step changed.
    pub fn broken_promise(&self, done: StepNumber, found: &FoundFiles) -> Option<String> {
        let reached = ReachedSteps { done, last: self.steps.len() };
        let mut names = self.names().into_iter().filter(|name| self.is_settled(name, done));
        names.find_map(|name| self.lost_name(name, reached, found))
    }

    /// Returns a broken promise that no call reported.
    pub fn silently_broken(&self, done: StepNumber, found: &FoundFiles) -> Option<String> {
        let is_error = |file: &FoundFile| matches!(file, FoundFile::Unreadable { .. });
        let reached = ReachedSteps { done, last: self.steps.len() };
        let mut names = self
            .names()
            .into_iter()
            .filter(|name| self.is_settled(name, done) && !found.get(*name).is_some_and(is_error));
        names.find_map(|name| self.lost_name(name, reached, found))
    }

    /// Returns true if no step changes the name or its file after its last sync.
    fn is_settled(&self, name: &str, done: StepNumber) -> bool {
        let since = self.durable_since(done, |step, _| match step {
            FileStep::Fsync(path) | FileStep::Fdatasync(path) => path == name,
            FileStep::Sync => true,
            _ => false,
        });
        let concerns = |path: &str| {
            name.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut changes = self.steps[since..].iter().flatten().filter(|step| !step.is_sync());
        !changes.any(|step| step.paths().any(concerns))
    }

    /// Returns the first state since which the step makes everything durable that `covers` accepts.
    fn durable_since(
        &self,
        done: StepNumber,
        covers: impl Fn(&FileStep, &FileTree) -> bool,
    ) -> usize {
        let is_sync =
            |k: &usize| self.steps[*k].as_ref().is_some_and(|step| covers(step, &self.states[*k]));
        (0..done).rev().find(is_sync).map_or(0, |k| k + 1)
    }

    fn lost_name(&self, name: &str, reached: ReachedSteps, found: &FoundFiles) -> Option<String> {
        let (path, leaf) = split(name);
        if path != "." && !matches!(found.get(path), Some(FoundFile::Directory)) {
            // The missing directory is judged by its own name.
            return None;
        }
        let numbers: BTreeSet<usize> =
            self.states.iter().filter_map(|tree| tree.directory_at(path)).collect();
        let directory = *numbers.first().filter(|_| numbers.len() == 1)?;
        let since = self.durable_since(reached.done, |step, tree| match step {
            FileStep::Fsync(path) => tree.directory_at(path) == Some(directory),
            FileStep::Sync => true,
            _ => false,
        });
        let states = &self.states[since..=reached.last];
        let allowed: BTreeSet<Option<Node>> =
            states.iter().filter_map(|tree| tree.node_in(directory, leaf)).collect();
        let files = allowed.iter().filter_map(|node| match node {
            Some(Node::File(inode)) => Some(*inode),
            _ => None,
        });
        match found.get(name) {
            // A missing name is allowed here, so a damaged one breaks no promise.
            None | Some(FoundFile::Unreadable { .. }) if allowed.contains(&None) => None,
            None => Some(format!("{name} is missing")),
            Some(FoundFile::Unreadable { error, .. }) => {
                Some(format!("{name} cannot be read: {error}"))
            }
            Some(FoundFile::Directory)
                if allowed.iter().flatten().any(|node| matches!(node, Node::Directory(_))) =>
            {
                None
            }
            Some(FoundFile::Directory) => Some(format!("{name} is a directory")),
            Some(FoundFile::Symlink(target)) => {
                let node = Some(Node::Symlink(target.clone()));
                (!allowed.contains(&node)).then(|| format!("{name} is a symbolic link to {target}"))
            }
            Some(FoundFile::File { size, blocks, attribute }) => {
                let mut wrong = files.map(|inode| {
                    self.wrong_content(inode, reached, *size, blocks)
                        .or_else(|| self.wrong_attribute(inode, reached, *attribute))
                });
                match wrong.next() {
                    None if allowed.iter().any(Option::is_some) => {
                        Some(format!("{name} is a file"))
                    }
                    None => Some(format!("{name} is back")),
                    Some(None) => None,
                    Some(Some(_)) if wrong.any(|wrong| wrong.is_none()) => None,
                    Some(Some(wrong)) => Some(format!("{name} {wrong}")),
                }
            }
        }
    }

    /// Returns the difference between a found file and the promised content of a file, if any.
    fn wrong_content(
        &self,
        inode: usize,
        reached: ReachedSteps,
        size: u64,
        blocks: &[FoundBlock],
    ) -> Option<String> {
        let since = self.durable_since(reached.done, |step, tree| match step {
            FileStep::Fsync(path) | FileStep::Fdatasync(path) => {
                tree.names.get(path) == Some(&Node::File(inode))
            }
            FileStep::Sync => true,
            _ => false,
        });
        let states = self.states[since..=reached.last].iter();
        let contents: Vec<&Vec<u32>> =
            states.filter_map(|tree| tree.contents.get(&inode)).collect();
        // Before the first durable state the file may exist without content.
        let existed = self.states[since].contents.contains_key(&inode);
        let least = contents.iter().map(|content| content.len()).min().unwrap_or(0);
        let least = if existed { least } else { 0 };
        let most = contents.iter().map(|content| content.len()).max().unwrap_or(0);
        let bytes = |blocks: usize| (blocks * BLOCK) as u64;
        if size < bytes(least) {
            return Some(format!("has {size} of {} bytes", bytes(least)));
        }
        if size > bytes(most) {
            return Some(format!("has {size} bytes, more than the {} written", bytes(most)));
        }
        (0..least).find_map(|index| {
            let wanted = contents[0][index];
            let is_certain = contents.iter().all(|content| content[index] == wanted);
            let found = blocks.get(index)?;
            (is_certain && *found != expected_block(wanted, index)).then(|| {
                let block = describe(*found, wanted, index);
                format!("has {block} at byte {}", bytes(index))
            })
        })
    }

    /// Returns the difference between the extended attribute of a found file and the promised one,
    /// if any.
    fn wrong_attribute(&self, inode: usize, reached: ReachedSteps, found: u32) -> Option<String> {
        let since = self.durable_since(reached.done, |step, tree| match step {
            FileStep::Fsync(path) => tree.names.get(path) == Some(&Node::File(inode)),
            FileStep::Sync => true,
            _ => false,
        });
        let mut allowed =
            self.states[since..=reached.last].iter().map(|tree| tree.attribute(inode));
        (!allowed.any(|step| step == found)).then(|| describe_attribute(found).to_owned())
    }

    /// Returns a name that a rename replaced, and that has at no moment since the last complete sync
    /// been what it is now.
    fn torn_replacement(&self, reached: ReachedSteps, found: &FoundFiles) -> Option<String> {
        let ReachedSteps { done, last } = reached;
        let since = self.durable_since(done, |step, _| *step == FileStep::Sync);
        let mut replaced = (since..last).filter_map(|k| match self.steps[k].as_ref()? {
            FileStep::Rename(_, to) if self.states[k].names.contains_key(to) => Some(to),
            _ => None,
        });
        let is_torn = |name: &&String| {
            !(since..=last).any(|k| self.is_name_of(name, k, (k + 1).min(last), found))
        };
        replaced.find(is_torn).map(|name| match found.get(name) {
            None => format!("{name} is missing, and a rename replaced it"),
            Some(FoundFile::Unreadable { error, .. }) => format!("{name} cannot be read: {error}"),
            Some(_) => format!("{name} is neither the old nor the new file"),
        })
    }

    /// Returns a description if the files match no single moment since the last complete sync.
    fn out_of_order(&self, reached: ReachedSteps, found: &FoundFiles) -> Option<String> {
        let ReachedSteps { done, last } = reached;
        let since = self.durable_since(done, |step, _| *step == FileStep::Sync);
        let matches = (since..=last).any(|k| self.is_state(k, (k + 1).min(last), found));
        if matches {
            return None;
        }
        // Names the first file that differs from the state before the cut.
        let names = self.names();
        let mut differing = names.iter().filter(|name| !self.is_name_of(name, done, done, found));
        let name = differing.next()?;
        Some(match found.get(*name) {
            None => format!("{name} is missing, but a later change exists"),
            Some(FoundFile::Unreadable { error, .. }) => format!("{name} cannot be read: {error}"),
            Some(FoundFile::File { size, blocks, .. }) => {
                self.differing_content(name, done, blocks).map_or_else(
                    || format!("{name} has {size} bytes, a size that it had at no moment"),
                    |difference| format!("{name} has {difference}"),
                )
            }
            Some(FoundFile::Directory | FoundFile::Symlink(_)) => {
                format!("{name} exists, but an earlier change is missing")
            }
        })
    }

    /// Returns the first block that differs from the state after this number of steps, if any.
    fn differing_content(
        &self,
        name: &str,
        done: StepNumber,
        blocks: &[FoundBlock],
    ) -> Option<String> {
        let tree = &self.states[done];
        let Some(Node::File(inode)) = tree.names.get(name) else { return None };
        let mut both = tree.contents[inode].iter().zip(blocks).enumerate();
        both.find_map(|(index, (wanted, found))| {
            (*found != expected_block(*wanted, index)).then(|| {
                let block = describe(*found, *wanted, index);
                format!("{block} at byte {}", index * BLOCK)
            })
        })
    }

    fn is_state(&self, from: usize, to: usize, found: &FoundFiles) -> bool {
        self.names().into_iter().all(|name| self.is_name_of(name, from, to, found))
    }

    /// Returns true if a name is as in one of two neighbouring states, or between them.
    fn is_name_of(&self, name: &str, from: usize, to: usize, found: &FoundFiles) -> bool {
        let nodes = [from, to].map(|k| self.states[k].names.get(name));
        match found.get(name) {
            None => nodes.contains(&None),
            Some(FoundFile::Directory) => {
                nodes.into_iter().flatten().any(|node| matches!(node, Node::Directory(_)))
            }
            Some(FoundFile::Symlink(target)) => {
                nodes.contains(&Some(&Node::Symlink(target.clone())))
            }
            Some(FoundFile::Unreadable { .. }) => false,
            Some(FoundFile::File { size, blocks, attribute }) => {
                nodes.into_iter().flatten().any(|node| {
                    let Node::File(inode) = node else { return false };
                    let contents = [from, to].map(|k| self.states[k].contents.get(inode));
                    let sizes = contents.map(|content| content.map_or(0, Vec::len) * BLOCK);
                    let range = sizes[0].min(sizes[1]) as u64..=sizes[0].max(sizes[1]) as u64;
                    let is_of = |index: usize, block: &FoundBlock| {
                        let mut wanted = contents.iter().flatten().filter_map(|c| c.get(index));
                        wanted.any(|step| *block == expected_block(*step, index))
                    };
                    let is_set =
                        [from, to].iter().any(|k| self.states[*k].attribute(*inode) == *attribute);
                    is_set
                        && range.contains(size)
                        && blocks.iter().enumerate().all(|(i, block)| is_of(i, block))
                })
            }
        }
    }
}

/// Returns what is wrong with an extended attribute that this step set, or 0 if it is missing.
const fn describe_attribute(found: u32) -> &'static str {
    match found {
        0 => "lacks its extended attribute",
        _ => "has an extended attribute of another step",
    }
}

const fn expected_block(step: u32, index: usize) -> FoundBlock {
    match step {
        0 => FoundBlock::Zeros,
        step => FoundBlock::Written { step, block: index as u32 },
    }
}

fn describe(found: FoundBlock, wanted: u32, index: usize) -> &'static str {
    match found {
        FoundBlock::Zeros => "zeros instead of its data",
        FoundBlock::Other => "bytes that no step wrote",
        FoundBlock::Written { block, .. } if block as usize != index => "data of another place",
        FoundBlock::Written { .. } if wanted == 0 => "data in place of zeros",
        FoundBlock::Written { step, .. } if step < wanted => "older data",
        FoundBlock::Written { .. } => "data of a later step",
    }
}

#[cfg(test)]
#[path = "expected_tests.rs"]
mod tests;
