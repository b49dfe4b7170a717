//! Handling of calls that create and remove names, at entry.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use trace::{OpenFlags, Syscall};

use crate::calls::has;
use crate::recorder::{Caller, Recorder, TracedTarget};
use crate::resolve::Resolved;
use crate::then::Then;

/// Limitation: files moved across the boundary of the recorded directory.
const MOVED: &str = "Files were moved or linked into or out of the recorded directory: moves out are recorded as removals, files moved in as newly written, and other moves in are missing.";
/// Limitation: device nodes.
const DEVICE: &str = "Creation of device nodes is omitted.";

impl Recorder {
    pub(crate) fn opens(
        &mut self,
        caller: &Caller,
        name: (u64, u64),
        flags: u64,
        mode: u64,
    ) -> Option<Then> {
        let exclusive = (libc::O_CREAT | libc::O_EXCL) as u64;
        let follow = !has(flags, libc::O_NOFOLLOW) && flags & exclusive != exclusive;
        let TracedTarget::Path(path, real) = self.target(caller, name, follow, false)? else {
            return None;
        };
        let makes = flags & u64::from(OpenFlags::CREATE | OpenFlags::TEMPORARY) != 0;
        let close_on_exec = has(flags, libc::O_CLOEXEC);
        let flags = OpenFlags(flags as u32 & OpenFlags::KEPT);
        let mode = if makes { caller.without_umask(mode) } else { 0 };
        Some(Then::Open { path, real, flags, mode, close_on_exec })
    }

    pub(crate) fn make_directory(
        &mut self,
        caller: &Caller,
        name: (u64, u64),
        mode: u64,
    ) -> Option<Then> {
        let mode = caller.without_umask(mode);
        self.on_path(caller, name, false, |path| Syscall::MakeDirectory { path, mode })
    }

    pub(crate) fn make_node(
        &mut self,
        caller: &Caller,
        name: (u64, u64),
        mode: u64,
    ) -> Option<Then> {
        let TracedTarget::Path(path, _) = self.target(caller, name, false, false)? else {
            return None;
        };
        let kind = mode as u32 & libc::S_IFMT;
        let mode = caller.without_umask(mode);
        match kind {
            0 | libc::S_IFREG => Some(Then::MakeFile { path, mode }),
            libc::S_IFIFO | libc::S_IFSOCK => Some(Then::MakePipe { path, mode, socket: None }),
            _ => {
                self.log.unseen.insert(DEVICE);
                None
            }
        }
    }

    pub(crate) fn remove_directory(&mut self, caller: &Caller, name: (u64, u64)) -> Option<Then> {
        // A directory elsewhere may later be replaced by a link to the recorded one.
        let text = caller.text(name.1)?;
        let found = self.resolve(caller, name.0, &text, false)?;
        let real = found.real;
        match found.below {
            Some(path) => Some(Then::Removed { call: Syscall::RemoveDirectory { path }, real }),
            None => {
                self.resolver.forget(&real);
                self.elsewhere()
            }
        }
    }

    pub(crate) fn unlink(&mut self, caller: &Caller, name: (u64, u64)) -> Option<Then> {
        self.on_path(caller, name, false, |path| Syscall::Unlink { path })
    }

    /// Resolves two names, at least one of them below the recorded directory.
    fn two(
        &mut self,
        caller: &Caller,
        (from, follow): ((u64, u64), bool),
        to: (u64, u64),
    ) -> Option<(Resolved, Resolved)> {
        let texts = (caller.text(from.1)?, caller.text(to.1)?);
        let from = self.resolve(caller, from.0, &texts.0, follow)?;
        let to = self.resolve(caller, to.0, &texts.1, false)?;
        if from.below.is_none() && to.below.is_none() {
            self.log.elsewhere += 1;
        }
        Some((from, to))
    }

    pub(crate) fn rename(
        &mut self,
        caller: &Caller,
        from: (u64, u64),
        to: (u64, u64),
        flags: u64,
    ) -> Option<Then> {
        let (from, to) = self.two(caller, (from, false), to)?;
        let call = match (from.below, to.below) {
            (Some(from), Some(to)) => Some(Syscall::Rename { from, to, flags: flags as u8 }),
            (Some(path), None) => {
                self.log.unseen.insert(MOVED);
                Some(Syscall::Unlink { path })
            }
            _ => None,
        };
        let came = to.below.filter(|_| from.below.is_none());
        let is_directory = |real: &[u8]| {
            fs::symlink_metadata(OsStr::from_bytes(real)).is_ok_and(|found| found.is_dir())
        };
        let exchanges = has(flags, libc::RENAME_EXCHANGE as i32);
        let is_directory = is_directory(&from.real) || exchanges && is_directory(&to.real);
        (call.is_some() || came.is_some() || is_directory).then_some(Then::Renamed {
            call,
            real: [from.real, to.real],
            is_directory,
            came,
        })
    }

    pub(crate) fn link(
        &mut self,
        caller: &Caller,
        from: (u64, u64),
        to: (u64, u64),
        flags: u64,
    ) -> Option<Then> {
        if let Some(handle) = self.linked_opening(caller, from, flags) {
            return self.on_path(caller, to, false, |to| Syscall::LinkHandle { handle, to });
        }
        let follow = has(flags, libc::AT_SYMLINK_FOLLOW);
        let (from, to) = self.two(caller, (from, follow), to)?;
        match (from.below, to.below) {
            (Some(from), Some(to)) => Some(Then::Linked(Syscall::Link { from, to }, false)),
            (None, Some(_)) => Some(Then::Renamed {
                call: None,
                real: [from.real, to.real],
                is_directory: false,
                came: to.below,
            }),
            _ => None,
        }
    }

    /// Returns the open file description that a call links to a name. The call refers to it by its
    /// descriptor, or by its path in `/proc`. Source: `O_TMPFILE` in open(2).
    fn linked_opening(
        &mut self,
        caller: &Caller,
        from: (u64, u64),
        flags: u64,
    ) -> Option<trace::HandleId> {
        let text = caller.text(from.1)?;
        let descriptor = if text.is_empty() && has(flags, libc::AT_EMPTY_PATH) {
            from.0 as i32
        } else {
            let own = format!("/proc/{}/fd/", caller.process.pid);
            let number = text
                .strip_prefix(b"/proc/self/fd/")
                .or_else(|| text.strip_prefix(own.as_bytes()))?;
            std::str::from_utf8(number).ok()?.parse().ok()?
        };
        let opening = caller.files.borrow().opening(descriptor)?;
        Some(opening.handle)
    }

    pub(crate) fn symlink(&mut self, caller: &Caller, text: u64, name: (u64, u64)) -> Option<Then> {
        let TracedTarget::Path(path, _) = self.target(caller, name, false, false)? else {
            return None;
        };
        let text = caller.text(text)?;
        Some(Then::Linked(Syscall::Symlink { text, path }, true))
    }

    /// Records a file that was moved in from elsewhere, as the calls that would have created it.
    pub(crate) fn came(&mut self, caller: &Caller, path: trace::PathId, real: &[u8]) {
        self.log.unseen.insert(MOVED);
        let Ok(found) = fs::symlink_metadata(OsStr::from_bytes(real)) else {
            return;
        };
        if !found.is_file() {
            return;
        }
        let handle = self.new_handle();
        let mode = (found.mode() & 0o7777) as u16;
        let flags = OpenFlags(1 | OpenFlags::CREATE | OpenFlags::TRUNCATE);
        let length = found.len();
        let began = self.log.now();
        let open = Syscall::Open { path, flags, mode, handle: Some(handle) };
        let write = Syscall::Write { handle, offset: 0, length };
        self.push(caller, began, open, 0, false);
        if length > 0 {
            let returned = i64::try_from(length).unwrap_or(i64::MAX);
            self.push(caller, began, write, returned, true);
        }
        self.push(caller, began, Syscall::Close { handle }, 0, false);
    }
}
