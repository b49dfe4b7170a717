//! The changes of a trace as steps of a test that cuts the power ([`model::FileStep`]).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use model::FileStep;

use crate::paths::{PathId, PathInterner};
use crate::trace::{
    FALLOCATE_KEEP_SIZE, FALLOCATE_PUNCH_HOLE, HandleId, OpenFlags, RENAME_EXCHANGE, Syscall,
    SyscallResult, Trace, TracedKind, TreeEntry,
};

/// Longest part of a name that is kept of a name that a step cannot have, in bytes.
const MAX_KEPT_NAME: usize = 64;

/// Steps of a trace. Writes have whole blocks, and neighbouring writes of a file are one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceSteps {
    /// Steps that make the names and files which the others need.
    pub prepare: Vec<FileStep>,
    /// The changes and syncs of the trace.
    pub steps: Vec<FileStep>,
    /// Number of calls without a step, by the name of the call: changes of times, owners and
    /// permissions, and changes of files that have no name.
    pub omitted: BTreeMap<&'static str, u64>,
}

/// Reason why a trace has no steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileStepsError {
    /// Two names were exchanged, which no step does.
    Exchange(String),
    /// A file has more blocks than a step can write.
    TooLarge(String),
    /// The trace has more steps than a sequence, or needs more files.
    TooMany,
    /// A path is longer than that of a step.
    Path(String),
    /// The trace changes nothing.
    NoChange,
}

impl fmt::Display for FileStepsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exchange(name) => write!(
                f,
                "it exchanges `{name}` with another name; record a run that renames one name at a time"
            ),
            Self::TooLarge(name) => write!(
                f,
                "`{name}` has more than {} MiB; record a run with smaller files",
                (u64::from(FileStep::MAX_BLOCKS) * FileStep::BLOCK) >> 20
            ),
            Self::TooMany => write!(
                f,
                "it has more than {} changes and syncs, or existing names that they need; record a shorter run",
                FileStep::MAX_STEPS
            ),
            Self::Path(why) => write!(f, "{why}; record a run with shorter paths"),
            Self::NoChange => f.write_str("it changes no file; record a program that writes"),
        }
    }
}

impl std::error::Error for FileStepsError {}

/// Returns the steps of a trace, in the order in which its calls began.
///
/// # Errors
/// Returns the reason if the trace has a change that no step does.
pub fn file_steps(trace: &Trace) -> Result<TraceSteps, FileStepsError> {
    let names = names(&trace.paths);
    let mut converter = Converter { names: &names, ..Converter::default() };
    for entry in &trace.before {
        converter.exists_before(entry);
    }
    for record in &trace.operations {
        if let SyscallResult::Ok(value) = record.outcome {
            converter.take(&record.call, value)?;
        }
        if converter.steps.len() > FileStep::MAX_STEPS {
            return Err(FileStepsError::TooMany);
        }
    }
    if converter.steps.iter().all(FileStep::is_sync) {
        return Err(FileStepsError::NoChange);
    }
    let prepare = preparation(&trace.before, &names, &converter.steps)?;
    if prepare.len() > FileStep::MAX_STEPS {
        return Err(FileStepsError::TooMany);
    }
    for step in prepare.iter().chain(&converter.steps) {
        step.to_string().parse::<FileStep>().map_err(FileStepsError::Path)?;
    }
    Ok(TraceSteps { prepare, steps: converter.steps, omitted: converter.omitted })
}

/// Returns the steps that make each of these entries which a step names, and the directories above
/// it.
fn preparation(
    before: &[TreeEntry],
    names: &[String],
    steps: &[FileStep],
) -> Result<Vec<FileStep>, FileStepsError> {
    let mut needed: BTreeSet<&str> =
        steps.iter().flat_map(FileStep::paths).flat_map(with_directories).collect();
    // The first name of a file that is needed by another name only.
    let linked: Vec<PathId> = before
        .iter()
        .filter(|entry| needed.contains(names[entry.path.0 as usize].as_str()))
        .filter_map(|entry| match entry.kind {
            TracedKind::Link(first) => Some(first),
            _ => None,
        })
        .collect();
    let linked = linked.iter().map(|first| names[first.0 as usize].as_str());
    needed.extend(linked.flat_map(with_directories));
    let mut prepare = Vec::new();
    for entry in before {
        let name = names[entry.path.0 as usize].clone();
        if entry.path == PathId::TOP || !needed.contains(name.as_str()) {
            continue;
        }
        prepare.push(match &entry.kind {
            TracedKind::Directory => FileStep::Mkdir(name),
            TracedKind::File { size } => {
                let count = blocks(*size, &name)?;
                FileStep::Write(name, count)
            }
            TracedKind::Symlink(target) => FileStep::Symlink(target_name(target), name),
            TracedKind::Link(first) => FileStep::Link(names[first.0 as usize].clone(), name),
            TracedKind::Pipe => continue,
        });
    }
    Ok(prepare)
}

/// Returns a path and the directories above it.
fn with_directories(path: &str) -> impl Iterator<Item = &str> {
    let above = path.match_indices('/').map(|(end, _)| &path[..end]);
    above.chain([path])
}

/// Returns the text of each path. A name that no step can have is replaced.
fn names(paths: &PathInterner) -> Vec<String> {
    let mut names = vec![".".to_owned()];
    for path in paths.ids() {
        let name = plain_name(paths.name(path).unwrap_or_default(), path);
        let parent = paths.parent(path).unwrap_or_default();
        names.push(match parent {
            PathId::TOP => name,
            parent => format!("{}/{name}", names[parent.0 as usize]),
        });
    }
    names
}

/// Returns a name that a step can have. A replaced name contains the number of its path, so it is
/// unique.
fn plain_name(name: &[u8], path: PathId) -> String {
    let is_plain = |letter: &char| letter.is_ascii_graphic();
    let text = String::from_utf8_lossy(name);
    if text.chars().all(|letter| is_plain(&letter)) && !text.starts_with('.') {
        return text.into_owned();
    }
    let kept: String = text.chars().filter(is_plain).take(MAX_KEPT_NAME).collect();
    format!("_{}{kept}", path.0)
}

fn target_name(target: &[u8]) -> String {
    let text = String::from_utf8_lossy(target);
    let step = FileStep::Symlink(text.to_string(), "name".to_owned());
    let is_plain = step.to_string().parse() == Ok(step);
    if is_plain { text.into_owned() } else { "target".to_owned() }
}

/// Returns the number of blocks of a file.
fn blocks(size: u64, name: &str) -> Result<u32, FileStepsError> {
    let count = u32::try_from(size.div_ceil(FileStep::BLOCK)).unwrap_or(u32::MAX);
    match count <= FileStep::MAX_BLOCKS {
        true => Ok(count),
        false => Err(FileStepsError::TooLarge(name.to_owned())),
    }
}

/// Object of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Object {
    Directory,
    Symlink,
    /// A file with its number.
    File(usize),
}

/// A file or directory that is open.
#[derive(Clone, Copy, Debug)]
struct Opening {
    file: Option<usize>,
    /// The path of a directory.
    path: PathId,
    flags: OpenFlags,
}

/// The names while the calls of a trace are converted.
#[derive(Default)]
struct Converter<'a> {
    /// Text of each path.
    names: &'a [String],
    objects: BTreeMap<String, Object>,
    /// Number of blocks of each file.
    sizes: Vec<u32>,
    openings: BTreeMap<HandleId, Opening>,
    steps: Vec<FileStep>,
    omitted: BTreeMap<&'static str, u64>,
}

impl Converter<'_> {
    fn text(&self, path: PathId) -> String {
        self.names[path.0 as usize].clone()
    }

    fn object(&self, path: PathId) -> Option<Object> {
        match path {
            PathId::TOP => Some(Object::Directory),
            path => self.objects.get(&self.names[path.0 as usize]).copied(),
        }
    }

    fn new_file(&mut self, size: u32) -> usize {
        self.sizes.push(size);
        self.sizes.len() - 1
    }

    fn exists_before(&mut self, entry: &TreeEntry) {
        let object = match &entry.kind {
            TracedKind::Directory => Object::Directory,
            TracedKind::Symlink(_) => Object::Symlink,
            TracedKind::File { size } => {
                let count = size.div_ceil(FileStep::BLOCK).min(u64::from(u32::MAX)) as u32;
                Object::File(self.new_file(count))
            }
            TracedKind::Link(first) => match self.object(*first) {
                Some(object) => object,
                None => return,
            },
            TracedKind::Pipe => return,
        };
        let name = self.text(entry.path);
        self.objects.insert(name, object);
    }

    /// Returns a present name of a file.
    fn name_of(&self, file: usize) -> Option<String> {
        let mut objects = self.objects.iter();
        objects.find(|(_, object)| **object == Object::File(file)).map(|(name, _)| name.clone())
    }

    fn omit(&mut self, call: &Syscall) {
        *self.omitted.entry(call.name()).or_default() += 1;
    }

    /// Converts a call that succeeded with this value.
    fn take(&mut self, call: &Syscall, value: u64) -> Result<(), FileStepsError> {
        let done = match call {
            Syscall::Open { path, flags, handle, .. } => {
                self.open(*path, *flags, *handle);
                true
            }
            Syscall::Write { handle, offset, .. } => self.write(*handle, *offset, value)?,
            Syscall::MappedWrite { handle, offset, length } => {
                self.write(*handle, *offset, *length)?
            }
            Syscall::CopyRange { to, to_offset, .. } => self.write(*to, *to_offset, value)?,
            Syscall::Sync { handle, data_only } => self.sync(*handle, *data_only),
            Syscall::MappedSync { handle, .. } => self.sync(*handle, true),
            Syscall::SyncAll => self.push(FileStep::Sync),
            Syscall::SyncRange { handle, .. } => match self.open_name(*handle) {
                Some((_, name)) => self.push(FileStep::SyncRange(name)),
                None => false,
            },
            Syscall::MakeDirectory { path, .. } => {
                let name = self.text(*path);
                self.objects.insert(name.clone(), Object::Directory);
                self.push(FileStep::Mkdir(name))
            }
            Syscall::RemoveDirectory { path } => self.remove(*path, FileStep::Rmdir),
            Syscall::Unlink { path } => self.remove(*path, FileStep::Unlink),
            Syscall::Rename { from, to, flags } if flags & RENAME_EXCHANGE == 0 => {
                self.rename(*from, *to)
            }
            Syscall::Rename { from, .. } => {
                return Err(FileStepsError::Exchange(self.text(*from)));
            }
            Syscall::Link { from, to } => match self.object(*from) {
                Some(object @ Object::File(_)) => {
                    let (from, to) = (self.text(*from), self.text(*to));
                    self.objects.insert(to.clone(), object);
                    self.push(FileStep::Link(from, to))
                }
                _ => false,
            },
            Syscall::LinkHandle { handle, to } => self.link_opening(*handle, *to),
            Syscall::Symlink { text, path } => {
                let name = self.text(*path);
                self.objects.insert(name.clone(), Object::Symlink);
                self.push(FileStep::Symlink(target_name(text), name))
            }
            Syscall::Truncate { path, size } => match self.object(*path) {
                Some(Object::File(file)) => self.truncate(file, *size)?,
                _ => false,
            },
            Syscall::TruncateHandle { handle, size } => {
                match self.openings.get(handle).and_then(|opening| opening.file) {
                    Some(file) => self.truncate(file, *size)?,
                    None => false,
                }
            }
            Syscall::Allocate { handle, mode, offset, length } => {
                self.allocate(*handle, *mode, *offset, *length)?
            }
            Syscall::SetAttribute { path, .. } => match self.object(*path) {
                Some(Object::File(_)) => self.push(FileStep::SetAttribute(self.text(*path))),
                _ => false,
            },
            Syscall::MakePipe { .. }
            | Syscall::ChangeMode { .. }
            | Syscall::ChangeModeHandle { .. }
            | Syscall::ChangeOwner { .. }
            | Syscall::ChangeOwnerHandle { .. }
            | Syscall::SetTimes { .. }
            | Syscall::SetTimesHandle { .. }
            | Syscall::RemoveAttribute { .. } => false,
            // It changes nothing.
            _ => true,
        };
        if !done {
            self.omit(call);
        }
        Ok(())
    }

    fn push(&mut self, step: FileStep) -> bool {
        self.steps.push(step);
        true
    }

    fn open(&mut self, path: PathId, flags: OpenFlags, handle: Option<HandleId>) {
        let file = if flags.has(OpenFlags::TEMPORARY) {
            Some(self.new_file(0))
        } else {
            match self.object(path) {
                Some(Object::File(file)) => {
                    if flags.has(OpenFlags::TRUNCATE) && self.sizes[file] > 0 {
                        self.sizes[file] = 0;
                        self.steps.push(FileStep::Truncate(self.text(path), 0));
                    }
                    Some(file)
                }
                None if flags.has(OpenFlags::CREATE) => {
                    let (name, file) = (self.text(path), self.new_file(0));
                    self.objects.insert(name.clone(), Object::File(file));
                    self.steps.push(FileStep::Write(name, 0));
                    Some(file)
                }
                Some(_) | None => None,
            }
        };
        if let Some(handle) = handle {
            self.openings.insert(handle, Opening { file, path, flags });
        }
    }

    /// Returns the file of an opening with a present name.
    fn open_name(&self, handle: HandleId) -> Option<(usize, String)> {
        let opening = self.openings.get(&handle)?;
        Some((opening.file?, self.name_of_opening(opening)?))
    }

    /// Returns a present name of the file of an opening: the opened one, or another one.
    fn name_of_opening(&self, opening: &Opening) -> Option<String> {
        let opened = &self.names[opening.path.0 as usize];
        match self.objects.get(opened) == Some(&Object::File(opening.file?)) {
            true => Some(opened.clone()),
            false => self.name_of(opening.file?),
        }
    }

    /// Converts a write of bytes. Neighbouring writes of a file are one step.
    fn write(
        &mut self,
        handle: HandleId,
        offset: u64,
        length: u64,
    ) -> Result<bool, FileStepsError> {
        let Some(opening) = self.openings.get(&handle).copied() else { return Ok(false) };
        let (Some(file), true) = (opening.file, length > 0) else { return Ok(length == 0) };
        let name = self.name_of_opening(&opening);
        let shown = name.as_deref().unwrap_or("a file without a name");
        let end = blocks(offset.saturating_add(length), shown)?;
        let first = (offset / FileStep::BLOCK) as u32;
        self.sizes[file] = self.sizes[file].max(end);
        // A file without a name is written when it gets one.
        let Some(name) = name else { return Ok(opening.flags.has(OpenFlags::TEMPORARY)) };
        let before = match self.steps.last() {
            Some(FileStep::WriteAt(path, start, count)) if *path == name => {
                Some((*start, start + count))
                    .filter(|(start, last)| first <= *last && *start <= end)
            }
            Some(FileStep::Write(path, count)) if *path == name && first <= *count => {
                let count = end.max(*count);
                self.steps.pop();
                self.steps.push(FileStep::Write(name, count));
                return Ok(self.sync_if_synchronous(handle, opening));
            }
            _ => None,
        };
        let (start, end) = match before {
            Some((start, last)) => {
                self.steps.pop();
                (start.min(first), last.max(end))
            }
            None => (first, end),
        };
        self.steps.push(FileStep::WriteAt(name, start, end - start));
        Ok(self.sync_if_synchronous(handle, opening))
    }

    /// Adds the sync that a file opened with `O_SYNC` or `O_DSYNC` has after each write.
    fn sync_if_synchronous(&mut self, handle: HandleId, opening: Opening) -> bool {
        match opening.flags.has(OpenFlags::DATA_SYNC) {
            true => self.sync(handle, !opening.flags.has(OpenFlags::SYNC)),
            false => true,
        }
    }

    fn sync(&mut self, handle: HandleId, data_only: bool) -> bool {
        if let Some((_, name)) = self.open_name(handle) {
            return self.push(match data_only {
                true => FileStep::Fdatasync(name),
                false => FileStep::Fsync(name),
            });
        }
        let opening = self.openings.get(&handle).filter(|opening| opening.file.is_none());
        match opening.map(|opening| opening.path) {
            Some(path) if self.object(path) == Some(Object::Directory) => {
                self.push(FileStep::Fsync(self.text(path)))
            }
            _ => false,
        }
    }

    fn remove(&mut self, path: PathId, step: fn(String) -> FileStep) -> bool {
        let name = self.text(path);
        self.objects.remove(&name).is_some() && self.push(step(name))
    }

    fn rename(&mut self, from: PathId, to: PathId) -> bool {
        let (from, to) = (self.text(from), self.text(to));
        let Some(object) = self.objects.get(&from).copied() else { return false };
        // Two names of one file stay as they are.
        if self.objects.get(&to) == Some(&object) && matches!(object, Object::File(_)) {
            return true;
        }
        let below = format!("{from}/");
        let objects = std::mem::take(&mut self.objects);
        self.objects = objects
            .into_iter()
            .filter(|(name, _)| *name != to)
            .map(|(name, object)| match name.strip_prefix(&below) {
                Some(rest) => (format!("{to}/{rest}"), object),
                None if name == from => (to.clone(), object),
                None => (name, object),
            })
            .collect();
        self.push(FileStep::Rename(from, to))
    }

    /// Gives a file without a name one, with all that was written to it.
    fn link_opening(&mut self, handle: HandleId, to: PathId) -> bool {
        let Some(file) = self.openings.get(&handle).and_then(|opening| opening.file) else {
            return false;
        };
        let (old, new) = (self.name_of(file), self.text(to));
        self.objects.insert(new.clone(), Object::File(file));
        self.push(match old {
            Some(old) => FileStep::Link(old, new),
            None => FileStep::Write(new, self.sizes[file]),
        })
    }

    fn truncate(&mut self, file: usize, size: u64) -> Result<bool, FileStepsError> {
        let name = self.name_of(file);
        let count = blocks(size, name.as_deref().unwrap_or("a file without a name"))?;
        let is_same = std::mem::replace(&mut self.sizes[file], count) == count;
        Ok(match name {
            _ if is_same => true,
            Some(name) => self.push(FileStep::Truncate(name, count)),
            None => false,
        })
    }

    fn allocate(
        &mut self,
        handle: HandleId,
        mode: u8,
        offset: u64,
        length: u64,
    ) -> Result<bool, FileStepsError> {
        let Some((file, name)) = self.open_name(handle) else { return Ok(false) };
        let end = blocks(offset.saturating_add(length), &name)?;
        let size = self.sizes[file];
        Ok(match mode {
            0 if end > size => {
                self.sizes[file] = end;
                self.push(FileStep::Allocate(name, end - size))
            }
            // Blocks beyond the end, which no reader sees, and blocks that exist.
            0 | FALLOCATE_KEEP_SIZE => true,
            mode if mode == FALLOCATE_KEEP_SIZE | FALLOCATE_PUNCH_HOLE
                && offset == 0
                && end == 1
                && size > 0 =>
            {
                self.push(FileStep::Punch(name))
            }
            _ => false,
        })
    }
}

#[cfg(test)]
#[path = "file_steps_tests.rs"]
mod tests;
