//! Calls on data: reading, writing, copying and listing, and calls that change the allocation of
//! files.

use super::super::fs_model::InodeType;
use super::super::line::{ParsedCall, number};
use super::super::tasks::pipe;
use super::{ArgPositions, Opened};
use crate::trace::{Syscall, SyscallResult};

/// Flag of `fallocate` that keeps the file size.
const KEEP_SIZE: u8 = 1;

impl ArgPositions<'_, '_> {
    /// Adds a read or write, at the file position unless an offset is given.
    pub(super) fn data(&mut self, writes: bool, place: Option<u64>) {
        let made = self.made;
        let count = self.returned();
        if let Some(pipe) = pipe(made.call.argument(0)) {
            match writes {
                true => self.importer.sent(made.task, made.at, pipe),
                false => self.importer.received(made.task, made.at + made.duration, &pipe),
            }
            return;
        }
        let Some(open) = self.handle(0) else {
            return;
        };
        // Single calls show the requested length. Vectored calls show only the result.
        let vectors = made.call.name.ends_with(b"v") || made.call.name.ends_with(b"v2");
        let asked = made.call.number(2).filter(|_| !vectors).unwrap_or(count);
        self.transfer(&open, writes, place, asked, count);
    }

    pub(super) fn transfer(
        &mut self,
        open: &Opened,
        writes: bool,
        place: Option<u64>,
        length: u64,
        count: u64,
    ) {
        let (handle, node, position, appends) = {
            let open = open.borrow();
            (open.handle, open.node, open.position, open.appends)
        };
        let offset = match place {
            Some(place) => place,
            None if writes && appends => self.importer.world.size(node),
            None => position,
        };
        let call = match writes {
            true => Syscall::Write { handle, offset, length },
            false => Syscall::Read { handle, offset, length },
        };
        match self.errno() {
            Err(Some(errno)) => return self.importer.failed(self.made, call, errno),
            Err(None) => return,
            Ok(()) => {}
        }
        self.importer.done(self.made, call, SyscallResult::Ok(count));
        let end = offset.saturating_add(count);
        match writes {
            true => self.importer.world.grow(node, end),
            false if count > 0 => self.importer.world.observe_size(node, end),
            false => {}
        }
        if place.is_none() {
            open.borrow_mut().position = end;
        }
    }

    pub(super) fn send_file(&mut self) {
        if self.made.call.error.is_some() {
            return;
        }
        let (count, to, from) = (self.returned(), self.handle(0), self.handle(1));
        let place = self.made.call.argument(2).strip_prefix(b"[").map(|text| {
            text.split(|byte| !byte.is_ascii_digit()).next().and_then(number).unwrap_or(0)
        });
        if let Some(from) = from {
            self.transfer(&from, false, place, count, count);
        }
        if let Some(to) = to {
            self.transfer(&to, true, None, count, count);
        }
    }

    pub(super) fn copy_range(&mut self) {
        let (from, to) = (self.handle(0), self.handle(2));
        let (Some(from), Some(to)) = (from, to) else {
            return;
        };
        let length = self.made.call.number(4).unwrap_or(0);
        let place = |text: &[u8], open: &Opened| match text.strip_prefix(b"[") {
            Some(text) => {
                let digits = text.split(|byte| !byte.is_ascii_digit()).next();
                (digits.and_then(number).unwrap_or(0), false)
            }
            None => (open.borrow().position, true),
        };
        let (from_offset, from_moves) = place(self.made.call.argument(1), &from);
        let (to_offset, to_moves) = place(self.made.call.argument(3), &to);
        let count = self.returned();
        let call = Syscall::CopyRange {
            from: from.borrow().handle,
            to: to.borrow().handle,
            from_offset,
            to_offset,
            length,
            clone: false,
        };
        match self.errno() {
            Err(Some(errno)) => return self.importer.failed(self.made, call, errno),
            Err(None) => return,
            Ok(()) => drop(self.importer.done(self.made, call, SyscallResult::Ok(count))),
        }
        let world = &mut self.importer.world;
        world.observe_size(from.borrow().node, if count > 0 { from_offset + count } else { 0 });
        world.grow(to.borrow().node, to_offset + count);
        if from_moves {
            from.borrow_mut().position = from_offset + count;
        }
        if to_moves {
            to.borrow_mut().position = to_offset + count;
        }
    }

    pub(super) fn clone_file(&mut self) {
        if !self.made.call.has_flag(1, "FICLONE") {
            return;
        }
        let (Some(to), Some(from)) = (self.handle(0), self.handle(2)) else {
            return;
        };
        let size = self.importer.world.size(from.borrow().node);
        let call = Syscall::CopyRange {
            from: from.borrow().handle,
            to: to.borrow().handle,
            from_offset: 0,
            to_offset: 0,
            length: size,
            clone: true,
        };
        if self.plain(call) {
            self.importer.world.resize(to.borrow().node, size);
        }
    }

    pub(super) fn map(&mut self) {
        if self.made.call.has_flag(3, "MAP_SHARED") && self.handle(4).is_some() {
            let what = "what was written through shared mappings";
            self.importer.unseen.insert(what);
        }
    }

    pub(super) fn seek(&mut self) {
        if self.made.call.error.is_none()
            && let Some(open) = self.handle(0)
        {
            let place = self.returned();
            let mut open = open.borrow_mut();
            open.position = place;
            open.listing = None;
            if self.made.call.has_flag(2, "SEEK_END") && self.made.call.argument(1) == b"0" {
                self.importer.world.observe_size(open.node, place);
            }
        }
    }

    pub(super) fn allocate(&mut self) {
        let said = &self.made.call;
        let words = [
            ("FALLOC_FL_KEEP_SIZE", KEEP_SIZE),
            ("FALLOC_FL_PUNCH_HOLE", 2),
            ("FALLOC_FL_COLLAPSE_RANGE", 8),
            ("FALLOC_FL_ZERO_RANGE", 16),
            ("FALLOC_FL_INSERT_RANGE", 32),
            ("FALLOC_FL_UNSHARE_RANGE", 64),
        ];
        let mode =
            words.iter().filter(|(word, _)| said.has_flag(1, word)).fold(0, |all, w| all | w.1);
        let [offset, length] = [2, 3].map(|at| said.number(at).unwrap_or(0));
        let Some(open) = self.handle(0) else {
            return;
        };
        let (handle, node) = (open.borrow().handle, open.borrow().node);
        if !self.plain(Syscall::Allocate { handle, mode, offset, length }) {
            return;
        }
        let world = &mut self.importer.world;
        let size = world.size(node);
        match mode {
            8 => world.resize(node, size.saturating_sub(length)),
            32 => world.resize(node, size.saturating_add(length)),
            mode if mode & KEEP_SIZE == 0 => world.grow(node, offset.saturating_add(length)),
            _ => {}
        }
    }

    pub(super) fn advise(&mut self) {
        let said = &self.made.call;
        let words = ["NORMAL", "RANDOM", "SEQUENTIAL", "WILLNEED", "DONTNEED", "NOREUSE"];
        let found = words.iter().position(|word| said.has_flag(3, &format!("POSIX_FADV_{word}")));
        let advice = found.and_then(|at| u8::try_from(at).ok()).unwrap_or(0);
        let [offset, length] = [1, 2].map(|at| said.number(at).unwrap_or(0));
        self.on_handle(|o| Syscall::Advise { handle: o.handle, offset, length, advice });
    }

    /// Imports a listing. Several calls can list one directory.
    pub(super) fn list(&mut self) {
        let Some(open) = self.handle(0) else {
            return;
        };
        let (handle, path, listing) = {
            let open = open.borrow();
            (open.handle, open.path, open.listing)
        };
        let _ = self.found(path, InodeType::Directory);
        let found = entries(&self.made.call);
        let Some(at) = listing else {
            if self.plain(Syscall::List { handle }) {
                let at = self.importer.operations.len() - 1;
                self.importer.operations[at].outcome = SyscallResult::Ok(found);
                open.borrow_mut().listing = (self.returned() > 0).then_some(at);
            }
            return;
        };
        if let SyscallResult::Ok(names) = &mut self.importer.operations[at].outcome {
            *names += found;
        }
        if self.returned() == 0 {
            open.borrow_mut().listing = None;
        }
    }
}

/// Returns the number of entries that a call has listed: `/* 5 entries */`.
fn entries(said: &ParsedCall<'_>) -> u64 {
    let text = said.argument(1);
    let digits = text.split(|byte| !byte.is_ascii_digit()).find(|digits| !digits.is_empty());
    digits.filter(|_| text.starts_with(b"0x")).map_or(0, |_| {
        let words = text.split(u8::is_ascii_whitespace);
        let mut words = words.skip_while(|word| *word != b"/*").skip(1);
        words.next().and_then(number).unwrap_or(0)
    })
}
