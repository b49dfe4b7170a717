//! Parser for the output of fio with `write_iolog`: version 2, `FILE ACTION [OFFSET LENGTH]`, and
//! version 3, in which each line starts with the microseconds since the beginning (fio(1), "Trace
//! file format"; unit measured with fio 3.33).

use std::collections::HashMap;

use model::Nanos;

use super::fs_model::{FsModel, Inode, InodeType};
use super::line::number;
use super::{MAX_PATH, MAX_PATHS, TOO_MANY_PATHS, TraceImportError, lines};
use crate::paths::{PathId, PathInterner};
use crate::trace::{HandleId, OpenFlags, Syscall, SyscallResult, Trace, TraceHeader, TraceRecord};

/// A file in the log.
struct IologFile {
    path: PathId,
    node: Inode,
    handle: Option<HandleId>,
}

struct IologReader {
    paths: PathInterner,
    world: FsModel,
    files: HashMap<Vec<u8>, IologFile>,
    operations: Vec<TraceRecord>,
    handles: u32,
    now: u64,
}

/// Reads an iolog. Removes the prefix `below` from file names; other names lose only their first
/// slash.
pub fn import(text: &[u8], below: Option<&[u8]>) -> Result<Trace, TraceImportError> {
    let mut lines = lines(text);
    let timed = match lines.next() {
        Some((_, b"fio version 2 iolog")) => false,
        Some((_, b"fio version 3 iolog")) => true,
        Some((line, other)) if other.starts_with(b"fio version ") => {
            let what = "only iologs of version 2 and 3 are read; record again with fio 2 or newer";
            return Err(wrong(line, what));
        }
        _ => {
            return Err(wrong(1, "`fio version 2 iolog` or `fio version 3 iolog` is missing"));
        }
    };
    let mut log = IologReader {
        paths: PathInterner::default(),
        world: FsModel::new(),
        files: HashMap::new(),
        operations: Vec::new(),
        handles: 0,
        now: 0,
    };
    for (at, line) in lines {
        let words: Vec<&[u8]> =
            line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).collect();
        let words = match (timed, words.split_first()) {
            (true, Some((time, words))) => {
                let microseconds: u64 = number(time).ok_or_else(|| wrong(at, "no microseconds"))?;
                log.now = microseconds.saturating_mul(1000);
                words.to_vec()
            }
            _ => words,
        };
        log.line(&words, below).map_err(|what| wrong(at, what))?;
        if log.paths.len() > MAX_PATHS {
            return Err(wrong(at, TOO_MANY_PATHS));
        }
    }
    let version = if timed { 3 } else { 2 };
    let mut unseen =
        vec!["the duration of each operation; waits are the times between operations".to_owned()];
    if !timed {
        unseen.push("when operations began".into());
    }
    Ok(Trace {
        header: TraceHeader {
            recorder: format!("fio iolog {version}"),
            limitations: unseen,
            ..TraceHeader::default()
        },
        before: log.world.before(),
        after: log.world.after(&mut log.paths),
        paths: log.paths,
        operations: log.operations,
    })
}

fn wrong(line: usize, what: &str) -> TraceImportError {
    TraceImportError { line, message: what.to_owned() }
}

impl IologReader {
    fn line(&mut self, words: &[&[u8]], below: Option<&[u8]>) -> Result<(), &'static str> {
        match *words {
            // In version 2, a wait has no file name.
            [b"wait", time] => {
                let time: u64 = number(time).ok_or("no microseconds to wait")?;
                self.now = self.now.saturating_add(time.saturating_mul(1000));
                Ok(())
            }
            [name, b"add"] => self.add(name, below),
            [name, b"open"] => self.open(name),
            [name, b"close"] => self.close(name),
            [_, b"wait", time, _] => {
                let time: u64 = number(time).ok_or("no microseconds to wait")?;
                self.now = self.now.saturating_add(time.saturating_mul(1000));
                Ok(())
            }
            [name, b"sync" | b"datasync", ..] => {
                let data_only = words[1] == b"datasync";
                let handle = self.opened(name)?;
                self.push(Syscall::Sync { handle, data_only }, 0);
                Ok(())
            }
            [name, action, offset, length] => {
                let offset = number(offset).ok_or("no offset")?;
                let length = number(length).ok_or("no length")?;
                self.access(name, action, offset, length)
            }
            _ => Err("no `FILE ACTION` or `FILE ACTION OFFSET LENGTH`"),
        }
    }

    fn add(&mut self, name: &[u8], below: Option<&[u8]>) -> Result<(), &'static str> {
        if name.len() > MAX_PATH {
            return Err("a path of more than 4096 bytes");
        }
        let inside = below.and_then(|below| name.strip_prefix(below)).unwrap_or(name);
        if inside.split(|byte| *byte == b'/').any(|part| part == b"..") {
            return Err("a path with `..`");
        }
        let path = self.paths.intern(inside);
        let node = self.world.exists(&mut self.paths, path, InodeType::File);
        let node = node.ok_or("a file that is a directory")?;
        if path == PathId::TOP {
            return Err("a file without a name: is it --below itself?");
        }
        self.files.entry(name.to_vec()).or_insert(IologFile { path, node, handle: None });
        Ok(())
    }

    fn file(&mut self, name: &[u8]) -> Result<&mut IologFile, &'static str> {
        self.files.get_mut(name).ok_or("a file that was not added before")
    }

    fn open(&mut self, name: &[u8]) -> Result<(), &'static str> {
        let handle = HandleId(self.handles);
        let file = self.file(name)?;
        let path = file.path;
        if file.handle.replace(handle).is_some() {
            return Err("a file is opened that is open already");
        }
        self.handles += 1;
        let flags = OpenFlags(2);
        self.push(Syscall::Open { path, flags, mode: 0, handle: Some(handle) }, 0);
        Ok(())
    }

    fn close(&mut self, name: &[u8]) -> Result<(), &'static str> {
        let handle = self.file(name)?.handle.take().ok_or("a file is closed that is not open")?;
        self.push(Syscall::Close { handle }, 0);
        Ok(())
    }

    fn opened(&mut self, name: &[u8]) -> Result<HandleId, &'static str> {
        self.file(name)?.handle.ok_or("a file is used that is not open")
    }

    fn access(
        &mut self,
        name: &[u8],
        action: &[u8],
        offset: u64,
        length: u64,
    ) -> Result<(), &'static str> {
        let handle = self.opened(name)?;
        let node = self.file(name)?.node;
        let end = offset.checked_add(length).ok_or("an offset beyond all files")?;
        match action {
            b"read" => {
                self.world.observe_size(node, end);
                self.push(Syscall::Read { handle, offset, length }, length);
            }
            b"write" => {
                // fio creates its files at full size before it writes to them.
                self.world.observe_size(node, end);
                self.push(Syscall::Write { handle, offset, length }, length);
            }
            b"trim" => {
                // Not a sign of data: the file may be empty there.
                self.push(Syscall::Allocate { handle, mode: 3, offset, length }, 0);
            }
            _ => {
                return Err(
                    "an unknown action; expected read, write, trim, sync, datasync or wait",
                );
            }
        }
        Ok(())
    }

    fn push(&mut self, call: Syscall, returned: u64) {
        self.operations.push(TraceRecord {
            process: 0,
            thread: 0,
            began: Nanos(self.now),
            duration: Nanos(0),
            call,
            outcome: SyscallResult::Ok(returned),
        });
    }
}
