//! Writes a trace into columns and reads it from columns. One description serves both, so that they
//! cannot differ.

use std::collections::HashMap;

use model::Nanos;

use super::columns::{ColumnReader, Columns, TraceColumn, Writer};
use super::{DecodeError, EncodeError, MAX_OPERATIONS, calls};
use crate::paths::{PathId, PathInterner};
use crate::trace::{
    Errno, HandleId, OpenFlags, Syscall, SyscallResult, Trace, TraceRecord, TracedKind, TreeEntry,
};

/// Maximum length of a name on all systems, in bytes.
const MAX_NAME: usize = 4096;

/// Columns, and the state of earlier operations that predicts the next operation.
#[derive(Debug)]
pub struct ColumnCoder<C> {
    /// Columns that numbers are written to or read from.
    pub columns: C,
    /// Number of paths in the trace; unlimited while writing.
    paths: u64,
    path: u64,
    handle: u64,
    /// Highest handle number plus one.
    next_handle: u64,
    /// Offset of the next access of each handle if the access is sequential.
    next_offset: HashMap<u64, u64>,
    /// Handles and offsets of the current operation. Its length is added to the offsets for the
    /// next prediction.
    at: [Option<(u64, u64)>; 2],
    thread: u64,
    /// Process of each thread.
    processes: HashMap<u32, u64>,
    process: u64,
    began: u64,
    texts: Texts,
}

/// Distinct texts of symbolic links and names of attributes.
#[derive(Debug, Default)]
struct Texts {
    all: Vec<Vec<u8>>,
    numbers: HashMap<Vec<u8>, u64>,
}

impl Texts {
    fn number(&mut self, text: &[u8]) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.all.len() as u64;
        self.all.push(text.to_vec());
        self.numbers.insert(text.to_vec(), number);
        number
    }
}

impl<C: Columns> ColumnCoder<C> {
    /// Creates a coder at the beginning of a file.
    pub fn new(columns: C) -> Self {
        Self {
            columns,
            paths: u64::MAX,
            path: 0,
            handle: 0,
            next_handle: 0,
            next_offset: HashMap::new(),
            at: [None; 2],
            thread: 0,
            processes: HashMap::new(),
            process: 0,
            began: 0,
            texts: Texts::default(),
        }
    }

    fn operation(&mut self, operation: &mut TraceRecord) -> Result<(), DecodeError> {
        let mut thread = u64::from(operation.thread);
        self.near(TraceColumn::Threads, self.thread, &mut thread)?;
        self.thread = thread;
        operation.thread = narrow(thread)?;
        let usual = self.processes.get(&operation.thread).copied();
        let mut process = u64::from(operation.process);
        self.near(TraceColumn::Processes, usual.unwrap_or(self.process), &mut process)?;
        self.process = process;
        self.processes.insert(operation.thread, process);
        operation.process = narrow(process)?;
        self.near(TraceColumn::Began, self.began, &mut operation.began.0)?;
        self.began = operation.began.0;
        self.columns.number(TraceColumn::Took, &mut operation.duration.0)?;
        self.at = [None; 2];
        calls::visit_fields(&mut operation.call, self)?;
        self.outcome(&operation.call, &mut operation.outcome)
    }

    /// Codes an outcome: 0 if the call returned the expected value, 1 for another value, 2 for an
    /// error.
    fn outcome(&mut self, call: &Syscall, outcome: &mut SyscallResult) -> Result<(), DecodeError> {
        let expected = calls::expected(call);
        let (mut kind, mut value) = match *outcome {
            SyscallResult::Ok(value) if value == expected => (0, value),
            SyscallResult::Ok(value) => (1, value),
            SyscallResult::Err(Errno(number)) => (2, u64::from(number)),
        };
        self.columns.byte(TraceColumn::Outcomes, &mut kind)?;
        if kind > 0 {
            self.columns.number(TraceColumn::Returned, &mut value)?;
        }
        *outcome = match kind {
            0 => SyscallResult::Ok(expected),
            1 => SyscallResult::Ok(value),
            2 => SyscallResult::Err(Errno(narrow(value)?)),
            _ => return Err(DecodeError::Damaged("an outcome is unknown")),
        };
        Ok(())
    }

    /// Codes a number as the difference from another number. Small differences of either sign take
    /// few bits (zigzag).
    fn near(&mut self, column: TraceColumn, from: u64, value: &mut u64) -> Result<(), DecodeError> {
        let distance = value.wrapping_sub(from) as i64;
        let mut folded = (distance << 1 ^ distance >> 63) as u64;
        self.columns.number(column, &mut folded)?;
        let distance = (folded >> 1) as i64 ^ -((folded & 1) as i64);
        *value = from.wrapping_add(distance as u64);
        Ok(())
    }

    pub fn path(&mut self, path: &mut PathId) -> Result<(), DecodeError> {
        let mut number = u64::from(path.0);
        self.near(TraceColumn::Paths, self.path, &mut number)?;
        if number >= self.paths {
            return Err(DecodeError::Damaged("a path is unknown"));
        }
        self.path = number;
        path.0 = narrow(number)?;
        Ok(())
    }

    pub fn handle(&mut self, handle: &mut HandleId) -> Result<(), DecodeError> {
        let mut number = u64::from(handle.0);
        self.near(TraceColumn::Handles, self.handle, &mut number)?;
        self.handle = number;
        handle.0 = narrow(number)?;
        Ok(())
    }

    /// Encodes the result of opening a file: a success flag, then the handle, which is usually the
    /// next number.
    pub fn opened(&mut self, handle: &mut Option<HandleId>) -> Result<(), DecodeError> {
        let mut succeeded = handle.is_some();
        self.flag(&mut succeeded)?;
        if !succeeded {
            *handle = None;
            return Ok(());
        }
        let mut number = u64::from(handle.unwrap_or_default().0);
        self.near(TraceColumn::Handles, self.next_handle, &mut number)?;
        self.handle = number;
        *handle = Some(HandleId(narrow(number)?));
        self.next_handle = self.next_handle.max(number + 1);
        Ok(())
    }

    /// Codes an offset in the file of the last handle.
    pub fn offset(&mut self, offset: &mut u64) -> Result<(), DecodeError> {
        let handle = self.handle;
        let usual = self.next_offset.get(&handle).copied().unwrap_or(0);
        self.near(TraceColumn::Offsets, usual, offset)?;
        let free = usize::from(self.at[0].is_some());
        self.at[free] = Some((handle, *offset));
        Ok(())
    }

    pub fn length(&mut self, length: &mut u64) -> Result<(), DecodeError> {
        self.columns.number(TraceColumn::Lengths, length)?;
        for (handle, offset) in self.at.into_iter().flatten() {
            let behind = offset.wrapping_add(*length);
            self.next_offset.insert(handle, behind);
        }
        Ok(())
    }

    pub fn size(&mut self, size: &mut u64) -> Result<(), DecodeError> {
        self.columns.number(TraceColumn::Lengths, size)
    }

    pub fn attribute_length(&mut self, length: &mut u32) -> Result<(), DecodeError> {
        let mut number = u64::from(*length);
        self.columns.number(TraceColumn::Lengths, &mut number)?;
        *length = narrow(number)?;
        Ok(())
    }

    pub fn flags(&mut self, flags: &mut OpenFlags) -> Result<(), DecodeError> {
        self.little(&mut flags.0)
    }

    pub fn mode(&mut self, mode: &mut u16) -> Result<(), DecodeError> {
        self.little(mode)
    }

    pub fn small(&mut self, number: &mut u8) -> Result<(), DecodeError> {
        self.little(number)
    }

    pub fn flag(&mut self, flag: &mut bool) -> Result<(), DecodeError> {
        let mut number = u8::from(*flag);
        self.little(&mut number)?;
        *flag = match number {
            0 => false,
            1 => true,
            _ => return Err(DecodeError::Damaged("a flag is neither set nor clear")),
        };
        Ok(())
    }

    pub fn other(&mut self, number: &mut u32) -> Result<(), DecodeError> {
        let mut wide = u64::from(*number);
        self.columns.number(TraceColumn::Others, &mut wide)?;
        *number = narrow(wide)?;
        Ok(())
    }

    pub fn text(&mut self, text: &mut Vec<u8>) -> Result<(), DecodeError> {
        let mut number = match C::READS {
            true => 0,
            false => self.texts.number(text),
        };
        self.columns.number(TraceColumn::TextNumbers, &mut number)?;
        let known = usize::try_from(number).ok();
        let known = known.and_then(|number| self.texts.all.get(number));
        text.clone_from(known.ok_or(DecodeError::Damaged("a text is unknown"))?);
        Ok(())
    }

    fn little<N>(&mut self, number: &mut N) -> Result<(), DecodeError>
    where
        N: Copy + Into<u64> + TryFrom<u64>,
    {
        let mut wide = (*number).into();
        self.columns.number(TraceColumn::Small, &mut wide)?;
        *number = narrow(wide)?;
        Ok(())
    }

    /// Encodes an entry: kind, path, permissions, and the fields of the kind. All of them are in
    /// one column, except for texts and paths.
    fn entry(&mut self, column: TraceColumn, entry: &mut TreeEntry) -> Result<(), DecodeError> {
        let mut kind = match entry.kind {
            TracedKind::File { .. } => 0,
            TracedKind::Directory => 1,
            TracedKind::Symlink(_) => 2,
            TracedKind::Link(_) => 3,
            TracedKind::Pipe => 4,
        };
        self.columns.byte(column, &mut kind)?;
        if C::READS {
            entry.kind = match kind {
                0 => TracedKind::File { size: 0 },
                1 => TracedKind::Directory,
                2 => TracedKind::Symlink(Vec::new()),
                3 => TracedKind::Link(PathId::TOP),
                4 => TracedKind::Pipe,
                _ => return Err(DecodeError::Damaged("an entry is of no known kind")),
            };
        }
        self.path(&mut entry.path)?;
        let mut mode = u64::from(entry.mode);
        self.columns.number(column, &mut mode)?;
        entry.mode = narrow(mode)?;
        match &mut entry.kind {
            TracedKind::File { size } => self.columns.number(column, size),
            TracedKind::Symlink(text) => self.text(text),
            TracedKind::Link(path) => self.path(path),
            TracedKind::Directory | TracedKind::Pipe => Ok(()),
        }
    }
}

impl ColumnCoder<Writer> {
    /// Writes a whole trace. Returns an error if it has a name that no file can have.
    pub fn write(&mut self, trace: &Trace) -> Result<(), EncodeError> {
        let about = serde_json::to_vec(&trace.header).expect("JSON can say texts and numbers");
        self.columns.bytes(TraceColumn::About, &about);
        self.write_paths(&trace.paths)?;
        let nothing_fails = "what is written cannot be damaged";
        for (column, entries) in
            [(TraceColumn::Before, &trace.before), (TraceColumn::After, &trace.after)]
        {
            for entry in entries {
                self.entry(column, &mut entry.clone()).expect(nothing_fails);
            }
        }
        for operation in &trace.operations {
            self.columns.bytes(TraceColumn::Kinds, &[calls::number(&operation.call)]);
            self.operation(&mut operation.clone()).expect(nothing_fails);
        }
        for text in std::mem::take(&mut self.texts.all) {
            self.counted(TraceColumn::TextLengths, TraceColumn::Texts, &text, !text.contains(&0))?;
        }
        Ok(())
    }

    fn write_paths(&mut self, paths: &PathInterner) -> Result<(), EncodeError> {
        for id in paths.ids() {
            let parent = paths.parent(id).unwrap_or_default();
            // The distance is small: most parents precede the path by only a few paths.
            let mut back = u64::from(id.0 - 1 - parent.0);
            self.columns.number(TraceColumn::Parents, &mut back).expect("it is written");
            let name = paths.name(id).unwrap_or_default();
            self.counted(TraceColumn::NameLengths, TraceColumn::Names, name, is_name(name))?;
        }
        Ok(())
    }

    fn counted(
        &mut self,
        lengths: TraceColumn,
        bytes: TraceColumn,
        text: &[u8],
        is_valid: bool,
    ) -> Result<(), EncodeError> {
        const SHOWN: usize = 20;
        if !is_valid {
            let begin = text[..text.len().min(SHOWN)].escape_ascii();
            let name = format!("\"{begin}\" ({} bytes)", text.len());
            return Err(EncodeError::Name(name));
        }
        let mut length = text.len() as u64;
        self.columns.number(lengths, &mut length).expect("it is written");
        self.columns.bytes(bytes, text);
        Ok(())
    }
}

impl<'a> ColumnCoder<ColumnReader<'a>> {
    /// Reads a whole trace.
    pub fn read(&mut self) -> Result<Trace, DecodeError> {
        let about = serde_json::from_slice(self.columns.rest(TraceColumn::About));
        let about = about.map_err(|_| DecodeError::Damaged("its origin is missing or invalid"))?;
        let paths = self.read_paths()?;
        self.paths = paths.len() as u64;
        self.read_texts()?;
        let before = self.read_entries(TraceColumn::Before)?;
        let after = self.read_entries(TraceColumn::After)?;
        let operations = self.read_operations()?;
        Ok(Trace { header: about, paths, before, operations, after })
    }

    fn read_paths(&mut self) -> Result<PathInterner, DecodeError> {
        let mut paths = PathInterner::default();
        while !self.columns.is_at_end(TraceColumn::Parents) {
            let next = paths.len() as u64;
            let mut back = 0;
            self.columns.number(TraceColumn::Parents, &mut back)?;
            let parent = (next - 1).checked_sub(back);
            let parent =
                PathId(narrow(parent.ok_or(DecodeError::Damaged("a path has no parent"))?)?);
            let name = self.read_counted(TraceColumn::NameLengths, TraceColumn::Names)?;
            let id = paths.intern_child(parent, name);
            if !is_name(name) || u64::from(id.0) != next {
                return Err(DecodeError::Damaged("a name is invalid or occurs twice"));
            }
        }
        Ok(paths)
    }

    fn read_texts(&mut self) -> Result<(), DecodeError> {
        while !self.columns.is_at_end(TraceColumn::TextLengths) {
            let text = self.read_counted(TraceColumn::TextLengths, TraceColumn::Texts)?;
            self.texts.all.push(text.to_vec());
        }
        Ok(())
    }

    fn read_counted(
        &mut self,
        lengths: TraceColumn,
        bytes: TraceColumn,
    ) -> Result<&'a [u8], DecodeError> {
        let mut length = 0;
        self.columns.number(lengths, &mut length)?;
        let text = self.columns.bytes(bytes, length)?;
        match text.contains(&0) {
            true => Err(DecodeError::Damaged("a name is none")),
            false => Ok(text),
        }
    }

    fn read_entries(&mut self, column: TraceColumn) -> Result<Vec<TreeEntry>, DecodeError> {
        let mut entries = Vec::new();
        while !self.columns.is_at_end(column) {
            let mut entry = TreeEntry { path: PathId::TOP, kind: TracedKind::Directory, mode: 0 };
            self.entry(column, &mut entry)?;
            entries.push(entry);
        }
        Ok(entries)
    }

    fn read_operations(&mut self) -> Result<Vec<TraceRecord>, DecodeError> {
        let kinds = self.columns.rest(TraceColumn::Kinds);
        if kinds.len() > MAX_OPERATIONS {
            return Err(DecodeError::TooLarge);
        }
        let read = kinds.iter().map(|kind| {
            let call =
                calls::default_for(*kind).ok_or(DecodeError::Damaged("a call is unknown"))?;
            let mut operation = TraceRecord {
                process: 0,
                thread: 0,
                began: Nanos(0),
                duration: Nanos(0),
                call,
                outcome: SyscallResult::Ok(0),
            };
            self.operation(&mut operation)?;
            Ok(operation)
        });
        read.collect()
    }
}

/// Returns true for a name that a file can have on some system.
fn is_name(name: &[u8]) -> bool {
    let is_special = matches!(name, b"" | b"." | b"..");
    !is_special && name.len() <= MAX_NAME && !name.iter().any(|byte| matches!(byte, b'/' | 0))
}

/// Converts a number to a smaller type.
fn narrow<N: TryFrom<u64>>(number: u64) -> Result<N, DecodeError> {
    N::try_from(number).map_err(|_| DecodeError::Damaged("a number is too large"))
}
