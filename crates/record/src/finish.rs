//! Return of system calls: creates operations and updates the state of processes.

use std::fs;
use std::ops::RangeInclusive;
use std::rc::Rc;

use model::Nanos;
use nix::unistd::Pid;
use trace::{OpenFlags, SyncEvent, Syscall};

use crate::files::{End, HeldFile, Listing, RecordedOpening};
use crate::recorder::{Caller, Recorder};
use crate::then::{CopyEndpoint, Then};

/// Internal return values of the kernel for calls that it restarts after a signal. Source:
/// include/linux/errno.h.
const BEGUN_AGAIN: RangeInclusive<i64> = -516..=-512;

impl Recorder {
    /// Processes the return value of a call that started at `began`.
    pub fn returns(&mut self, caller: &Caller, began: Nanos, then: Then, returned: i64) {
        if BEGUN_AGAIN.contains(&returned) {
            return self.begun_again(then);
        }
        let number = i32::try_from(returned).ok().filter(|number| *number >= 0);
        match then {
            Then::Record { call, counts } => self.push(caller, began, call, returned, counts),
            Then::Open { path, real, flags, mode, close_on_exec } => {
                let call = |handle| Syscall::Open { path, flags, mode, handle };
                match (number, self.named_pipes.get(&path).copied()) {
                    (Some(number), Some(channel)) => {
                        let end = Rc::new(End::new(Some(channel), Some(channel)));
                        self.insert(caller, number, HeldFile::End(end), close_on_exec);
                    }
                    (Some(number), None) => {
                        let appends = flags.has(OpenFlags::APPEND);
                        let opening = self.new_opening(path, real, appends);
                        self.push(caller, began, call(Some(opening.handle)), 0, false);
                        self.insert(caller, number, HeldFile::Opening(opening), close_on_exec);
                    }
                    (None, _) => self.push(caller, began, call(None), returned, false),
                }
            }
            Then::MakeFile { path, mode } => {
                let handle = (returned == 0).then(|| self.new_handle());
                let call = Syscall::Open {
                    path,
                    flags: OpenFlags(1 | OpenFlags::CREATE | OpenFlags::EXCLUSIVE),
                    mode,
                    handle,
                };
                self.push(caller, began, call, returned, false);
                if let Some(handle) = handle {
                    let now = self.log.now();
                    self.push(caller, now, Syscall::Close { handle }, 0, false);
                }
            }
            Then::MakePipe { path, mode, socket } => {
                self.push(caller, began, Syscall::MakePipe { path, mode }, returned, false);
                match socket {
                    _ if returned != 0 => {}
                    Some((number, name)) => {
                        let held = HeldFile::Listener(Rc::new(name));
                        self.insert(caller, number, held, closes_on_exec(caller, number));
                    }
                    None => {
                        let channel = self.orders.channel();
                        self.named_pipes.insert(path, channel);
                    }
                }
            }
            Then::Bind { descriptor, name } if returned == 0 => {
                let held = HeldFile::Listener(Rc::new(name));
                self.insert(caller, descriptor, held, closes_on_exec(caller, descriptor));
            }
            Then::Seek(opening) => {
                if let Ok(position) = u64::try_from(returned) {
                    opening.position.set(position);
                    if opening.listing.get().is_some() {
                        self.end_listing(caller, &opening);
                    }
                }
            }
            Then::Close(opening) => self.closed(caller, &opening, began, returned),
            Then::Transfer { opening, descriptor, offset, length, writes } => {
                let side = CopyEndpoint { held: None, descriptor, offset };
                self.transferred(caller, began, (&opening, &side), length, (writes, returned));
            }
            Then::Move { from, to, length, in_filesystem } => {
                self.moved_data(caller, began, (&from, &to), length, (in_filesystem, returned))
            }
            Then::List { opening, buffer, old } => {
                self.listed(caller, began, &opening, (buffer, old), returned)
            }
            Then::Copy { held, close_on_exec } => self.copied(caller, number, held, close_on_exec),
            Then::Pair { address, both_ways, close_on_exec } if returned == 0 => {
                self.paired(caller, address, both_ways, close_on_exec)
            }
            Then::Connect { descriptor, ends: (to, back), name } => {
                if returned == 0 || returned == -i64::from(libc::EINPROGRESS) {
                    let end = Rc::new(End::new(Some(to), Some(back)));
                    let close = closes_on_exec(caller, descriptor);
                    self.insert(caller, descriptor, HeldFile::End(end), close);
                } else if let Some(waiting) = self.connections.get_mut(&name) {
                    waiting.retain(|ends| *ends != (to, back));
                }
            }
            Then::Accept { name, close_on_exec } => {
                let Some(number) = number else { return };
                let waiting = self.connections.get_mut(&*name);
                if let Some((from, back)) = waiting.and_then(std::collections::VecDeque::pop_front)
                {
                    let end = Rc::new(End::new(Some(back), Some(from)));
                    self.insert(caller, number, HeldFile::End(end), close_on_exec);
                    self.orders.receive(&mut self.log, caller.who, from);
                }
            }
            Then::Receive(end) => {
                if let Some(channel) = end.receives.filter(|_| returned >= 0) {
                    self.orders.receive(&mut self.log, caller.who, channel);
                }
            }
            Then::Lock { opening, releases } if returned == 0 => {
                self.locked(caller, began, &opening, releases);
            }
            Then::Map { opening, offset, length, modes } => {
                if let Ok(start @ 1..) = u64::try_from(returned) {
                    let range = start..start.saturating_add(length);
                    let mut memory = caller.memory.borrow_mut();
                    memory.add(range, offset, opening, modes);
                }
            }
            Then::Remap(old, old_length, new_length) => {
                if let Ok(start @ 1..) = u64::try_from(returned) {
                    let mut memory = caller.memory.borrow_mut();
                    memory.relocate(&(old..old + old_length), start..start + new_length);
                }
            }
            Then::Removed { call, real } => {
                if returned == 0 {
                    self.resolver.forget(&real);
                }
                self.push(caller, began, call, returned, false);
            }
            Then::Renamed { call, real, is_directory, came } => {
                if let Some(call) = call {
                    self.push(caller, began, call, returned, false);
                }
                if returned != 0 {
                    return;
                }
                if is_directory {
                    self.moves += 1;
                    self.resolver.forget_all();
                }
                if let Some(path) = came {
                    self.resolver.links_below = true;
                    self.came(caller, path, &real[1]);
                }
            }
            Then::Linked(call, is_symbolic) => {
                if returned == 0 && is_symbolic {
                    self.resolver.links_below = true;
                }
                self.push(caller, began, call, returned, false);
            }
            Then::Moved { root } if returned == 0 => {
                let root = root.then(|| caller.link("root")).flatten();
                let mut standing = caller.standing.borrow_mut();
                standing.directory = None;
                if let Some(root) = root {
                    standing.root = if root == b"/" { Vec::new() } else { root };
                }
            }
            Then::Wait(info) if returned >= 0 => self.waited(caller, info, returned),
            Then::Remounted => {
                self.moves += 1;
                self.resolver.forget_all();
            }
            _ => {}
        }
    }

    /// Undoes the effects of a call's entry, because the kernel will restart the call.
    fn begun_again(&mut self, then: Then) {
        if let Then::Connect { ends, name, .. } = then
            && let Some(waiting) = self.connections.get_mut(&name)
        {
            waiting.retain(|other| *other != ends);
        }
    }

    fn insert(&mut self, caller: &Caller, number: i32, held: HeldFile, close_on_exec: bool) {
        let mut files = caller.files.borrow_mut();
        let old = files.insert(number, held, close_on_exec);
        drop(files);
        self.released(caller, old);
    }

    fn transferred(
        &mut self,
        caller: &Caller,
        began: Nanos,
        (opening, side): (&RecordedOpening, &CopyEndpoint),
        length: u64,
        (writes, returned): (bool, i64),
    ) {
        let offset = place(caller, opening, side, writes, returned);
        let handle = opening.handle;
        let call = match writes {
            true => Syscall::Write { handle, offset, length },
            false => Syscall::Read { handle, offset, length },
        };
        self.push(caller, began, call, returned, true);
    }

    fn moved_data(
        &mut self,
        caller: &Caller,
        began: Nanos,
        (from, to): (&CopyEndpoint, &CopyEndpoint),
        length: u64,
        (in_filesystem, returned): (bool, i64),
    ) {
        // Programs request the maximum; the moved length is the relevant one.
        let length = u64::try_from(returned).unwrap_or(length);
        if let (Some(HeldFile::Opening(source)), Some(HeldFile::Opening(target)), true) =
            (&from.held, &to.held, in_filesystem)
        {
            let call = Syscall::CopyRange {
                from: source.handle,
                to: target.handle,
                from_offset: place(caller, source, from, false, returned),
                to_offset: place(caller, target, to, true, returned),
                length,
                clone: false,
            };
            return self.push(caller, began, call, returned, true);
        }
        match &from.held {
            Some(HeldFile::Opening(opening)) => {
                self.transferred(caller, began, (opening, from), length, (false, returned));
            }
            Some(HeldFile::End(end)) if returned >= 0 => {
                if let Some(channel) = end.receives {
                    self.orders.receive(&mut self.log, caller.who, channel);
                }
            }
            _ => {}
        }
        if let Some(HeldFile::Opening(opening)) = &to.held {
            self.transferred(caller, began, (opening, to), length, (true, returned));
        }
    }

    fn listed(
        &mut self,
        caller: &Caller,
        began: Nanos,
        opening: &RecordedOpening,
        (buffer, old): (u64, bool),
        returned: i64,
    ) {
        let handle = opening.handle;
        let Ok(bytes) = usize::try_from(returned) else {
            return self.push(caller, began, Syscall::List { handle }, returned, false);
        };
        let mut listing =
            opening.listing.get().unwrap_or(Listing { began, took: Nanos(0), entries: 0 });
        listing.took.0 += self.log.now().0.saturating_sub(began.0);
        let names = caller.bytes(buffer, bytes).unwrap_or_default();
        listing.entries += count_names(&names, old);
        opening.listing.set(Some(listing));
        if bytes == 0 {
            self.end_listing(caller, opening);
        }
    }

    fn copied(
        &mut self,
        caller: &Caller,
        number: Option<i32>,
        held: Option<HeldFile>,
        close_on_exec: bool,
    ) {
        let Some(number) = number else { return };
        match held {
            Some(held) => self.insert(caller, number, held, close_on_exec),
            None => {
                let old = caller.files.borrow_mut().remove(number);
                self.released(caller, old);
            }
        }
    }

    fn paired(&mut self, caller: &Caller, address: u64, both_ways: bool, close_on_exec: bool) {
        let Some([numbers]) = caller.numbers::<1>(address) else {
            return;
        };
        let (first, second) = (numbers as i32, (numbers >> 32) as i32);
        let to_second = both_ways.then(|| self.orders.channel());
        let to_first = Some(self.orders.channel());
        let ends =
            [(first, End::new(to_second, to_first)), (second, End::new(to_first, to_second))];
        for (number, end) in ends {
            self.insert(caller, number, HeldFile::End(Rc::new(end)), close_on_exec);
        }
    }

    fn locked(&mut self, caller: &Caller, began: Nanos, opening: &RecordedOpening, releases: bool) {
        if releases {
            return self.unlocked(caller, opening);
        }
        opening.locks.set(true);
        let handle = opening.handle;
        self.push(caller, began, Syscall::Lock { handle }, 0, false);
        let channel = self.orders.lock(opening.path);
        self.orders.receive(&mut self.log, caller.who, channel);
    }

    fn waited(&mut self, caller: &Caller, info: Option<u64>, returned: i64) {
        let pid = match info {
            None => returned as i32,
            Some(info) => {
                // `si_pid` is the fifth number of `siginfo_t`, after a padding number.
                let bytes = caller.bytes(info, 20).unwrap_or_default();
                let pid = bytes.get(16..).and_then(|pid| pid.try_into().ok());
                pid.map_or(0, i32::from_ne_bytes)
            }
        };
        if let Some(process) = self.ended.remove(&Pid::from_raw(pid)) {
            for thread in process.threads.borrow().iter() {
                let order = SyncEvent::Join { thread: *thread };
                self.log.push_order(caller.who, order);
            }
        }
    }
}

/// Returns the offset of a read or write. If the call uses the file position, advances it.
fn place(
    caller: &Caller,
    opening: &RecordedOpening,
    side: &CopyEndpoint,
    writes: bool,
    returned: i64,
) -> u64 {
    if let Some(offset) = side.offset {
        return offset;
    }
    let moved = u64::try_from(returned).unwrap_or(0);
    let mut offset = opening.position.get();
    if writes
        && moved > 0
        && opening.appends.get()
        && let Some(end) = position(caller, side.descriptor)
    {
        offset = end.saturating_sub(moved);
    }
    opening.position.set(offset + moved);
    offset
}

/// Returns the file position of a descriptor from the kernel.
fn position(caller: &Caller, descriptor: i32) -> Option<u64> {
    info(caller, descriptor, "pos:")?.parse().ok()
}

/// Returns true if the descriptor is closed on exec. Reads the flag from the kernel, because calls
/// that create sockets are not traced.
fn closes_on_exec(caller: &Caller, descriptor: i32) -> bool {
    let flags = info(caller, descriptor, "flags:");
    let flags = flags.and_then(|flags| i32::from_str_radix(&flags, 8).ok());
    flags.is_some_and(|flags| flags & libc::O_CLOEXEC != 0)
}

/// Returns a field of a descriptor's information from the kernel. Format: proc_pid_fdinfo(5).
fn info(caller: &Caller, descriptor: i32, field: &str) -> Option<String> {
    let info = fs::read_to_string(format!("/proc/{}/fdinfo/{descriptor}", caller.tid)).ok()?;
    let line = info.lines().find_map(|line| line.strip_prefix(field))?;
    Some(line.trim().to_owned())
}

/// Counts the names in the buffer of `getdents64` or `getdents`, without `.` and `..`. Format:
/// getdents(2).
fn count_names(mut entries: &[u8], old: bool) -> u64 {
    let name = if old { 18 } else { 19 };
    let mut count = 0;
    while let Some(length) = entries.get(16..18) {
        let length = usize::from(u16::from_ne_bytes([length[0], length[1]]));
        let Some(entry) = entries.get(name..length) else {
            break;
        };
        let is_own = entry.starts_with(b".\0") || entry.starts_with(b"..\0");
        count += u64::from(!is_own);
        entries = &entries[length..];
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_directory_entries_and_stops_at_damage() {
        let mut entries = Vec::new();
        for name in [&b".\0\0\0\0"[..], b"..\0\0\0", b"a\0\0\0\0", b"...\0\0", b".a\0\0\0"] {
            entries.extend([0; 16]);
            entries.extend(24_u16.to_ne_bytes());
            entries.push(4);
            entries.extend(name);
        }
        assert_eq!(count_names(&entries, false), 3);
        assert_eq!(count_names(&entries[..entries.len() - 1], false), 2);
        assert_eq!(count_names(&[0; 24], false), 0);
    }
}
