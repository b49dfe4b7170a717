//! Calls on data: reading, writing, copying and listing, and calls that change the allocation of
//! files.

use super::super::descriptors::Held;
use super::super::fs_model::InodeType;
use super::super::line::{ParsedCall, descriptor, number};
use super::names::field;
use super::{ArgPositions, CONTROL, Opened};
use crate::trace::{FALLOCATE_KEEP_SIZE, FALLOCATE_PUNCH_HOLE, Syscall, SyscallResult};

impl ArgPositions<'_, '_> {
    /// Adds a read or write, at the file position unless an offset is given.
    pub(super) fn data(&mut self, writes: bool, place: Option<u64>) {
        let made = self.made;
        let count = self.returned();
        if self.message(writes) {
            return;
        }
        let Some(open) = self.handle(0) else {
            return;
        };
        let vectors = made.call.name.ends_with(b"v") || made.call.name.ends_with(b"v2");
        let asked = match vectors {
            true => lengths(made.call.argument(1)),
            false => made.call.number(2),
        };
        let asked = asked.unwrap_or(count);
        self.transfer(&open, writes, place, asked, count);
    }

    /// Adds a message if the first descriptor is a pipe or a local socket. Returns true if it is.
    pub(super) fn message(&mut self, sends: bool) -> bool {
        let made = self.made;
        let Some(channel) = self.importer.channel(made.call.argument(0), sends) else {
            return false;
        };
        match sends {
            true => self.importer.sent(made.task, made.at, channel),
            false => self.importer.received(made.task, made.end, &channel),
        }
        true
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
        if self.counted(call, count) {
            self.moved(open, writes, offset.saturating_add(count), place.is_none());
        }
    }

    /// Adds data that was moved from one descriptor to another. Each is given by its argument and the
    /// argument of its offset.
    pub(super) fn move_data(
        &mut self,
        from: (usize, Option<usize>),
        to: (usize, Option<usize>),
        length_at: usize,
    ) {
        let made = self.made;
        let in_filesystem = made.call.name == b"copy_file_range";
        if let Some(channel) = self.importer.channel(made.call.argument(to.0), true) {
            self.importer.sent(made.task, made.at, channel);
        }
        if let Some(channel) = self.importer.channel(made.call.argument(from.0), false) {
            self.importer.received(made.task, made.end, &channel);
        }
        let place = |at: Option<usize>| {
            let digits = made.call.argument(at?).strip_prefix(b"[")?;
            digits.split(|byte| !byte.is_ascii_digit()).next().and_then(number)
        };
        let (from_place, to_place) = (place(from.1), place(to.1));
        let (from, to) = (self.handle(from.0), self.handle(to.0));
        let count = self.returned();
        match (from, to) {
            (Some(from), Some(to)) if in_filesystem => {
                // Programs request the maximum; the moved length is the relevant one.
                let asked = made.call.number(length_at).unwrap_or(0);
                let length = if self.failed() { asked } else { count };
                let from_offset = from_place.unwrap_or(from.borrow().position);
                let to_offset = to_place.unwrap_or(to.borrow().position);
                let (from_handle, to_handle) = (from.borrow().handle, to.borrow().handle);
                let call = Syscall::CopyRange {
                    from: from_handle,
                    to: to_handle,
                    from_offset,
                    to_offset,
                    length,
                    clone: false,
                };
                if self.counted(call, count) {
                    self.moved(&from, false, from_offset + count, from_place.is_none());
                    self.moved(&to, true, to_offset + count, to_place.is_none());
                }
            }
            _ if self.failed() => {}
            (from, to) => {
                if let Some(from) = from {
                    self.transfer(&from, false, from_place, count, count);
                }
                if let Some(to) = to {
                    self.transfer(&to, true, to_place, count, count);
                }
            }
        }
    }

    /// Updates size and position of a file after a transfer that ended at an offset.
    fn moved(&mut self, open: &Opened, writes: bool, end: u64, moves: bool) {
        let node = open.borrow().node;
        match writes {
            true => self.importer.world.grow(node, end),
            false if self.returned() > 0 => self.importer.world.observe_size(node, end),
            false => {}
        }
        if moves {
            open.borrow_mut().position = end;
        }
    }

    /// Handles `ioctl` requests for data or attributes of files.
    pub(super) fn control(&mut self) {
        let said = &self.made.call;
        if said.has_flag(1, "FIOCLEX") || said.has_flag(1, "FIONCLEX") {
            self.mark(said.has_flag(1, "FIOCLEX"));
        } else if said.has_flag(1, "FICLONE") {
            self.clone_file(said.argument(2), [0; 3]);
        } else if said.has_flag(1, "FICLONERANGE") {
            let text = said.argument(2);
            let value = |name| field(text, name).and_then(number).unwrap_or(0);
            let range = [value(b"src_offset="), value(b"src_length="), value(b"dest_offset=")];
            self.clone_file(field(text, b"src_fd=").unwrap_or_default(), range);
        } else if self.known_handle(0).is_some() && !self.failed() {
            self.importer.unseen.insert(CONTROL);
        }
    }

    /// Adds a copy that shares its blocks. The range is the offset, the length, or 0 for the whole
    /// file, and the offset of the copy.
    fn clone_file(&mut self, from: &[u8], [from_offset, length, to_offset]: [u64; 3]) {
        let from = descriptor(from).and_then(|(from, _)| self.importer.held(self.made.task, from));
        let (Some(to), Some(Held::File(from))) = (self.handle(0), from) else { return };
        let size = self.importer.world.size(from.borrow().node);
        let length = if length == 0 { size.saturating_sub(from_offset) } else { length };
        let call = Syscall::CopyRange {
            from: from.borrow().handle,
            to: to.borrow().handle,
            from_offset,
            to_offset,
            length,
            clone: true,
        };
        if self.plain(call) {
            self.importer.world.grow(to.borrow().node, to_offset.saturating_add(length));
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
            ("FALLOC_FL_KEEP_SIZE", FALLOCATE_KEEP_SIZE),
            ("FALLOC_FL_PUNCH_HOLE", FALLOCATE_PUNCH_HOLE),
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
            mode if mode & FALLOCATE_KEEP_SIZE == 0 => {
                world.grow(node, offset.saturating_add(length));
            }
            _ => {}
        }
    }

    pub(super) fn advise(&mut self, name: &str) {
        let said = &self.made.call;
        let words = ["NORMAL", "RANDOM", "SEQUENTIAL", "WILLNEED", "DONTNEED", "NOREUSE"];
        let found = words.iter().position(|word| said.has_flag(3, &format!("POSIX_FADV_{word}")));
        let found = found.filter(|_| name != "readahead").or((name == "readahead").then_some(3));
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
            // The first names are `.` and `..`.
            if self.counted(Syscall::List { handle }, found.saturating_sub(2)) {
                let at = self.importer.operations.len() - 1;
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

/// Returns the sum of the lengths in a printed list of buffers. Returns `None` if the list is
/// abbreviated.
fn lengths(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok().filter(|text| !text.ends_with("...]"))?;
    let lengths = text.split("iov_len=").skip(1);
    let length = |text: &str| text.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok();
    lengths.map(length).try_fold(0_u64, |sum, length| Some(sum.saturating_add(length?)))
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
