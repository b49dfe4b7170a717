//! State that a recorder knows in addition to the output of strace.

use super::tasks::Standing;
use crate::paths::PathInterner;
use crate::trace::{OpenFlags, TreeEntry};

/// Calls of a recording, in the notation of strace's option `-e`.
pub const STRACE_CALLS: &str =
    "trace=%file,%desc,%process,umask,sync,bind,io_submit,sendto,sendmsg,recvfrom,recvmsg";

/// State at the start of a recording.
#[derive(Clone, Debug, Default)]
pub struct RecordingStart {
    /// Real path of the recorded directory.
    pub below: Vec<u8>,
    /// Entries of the directory.
    pub before: Vec<TreeEntry>,
    /// Paths to which the entries refer.
    pub paths: PathInterner,
    /// Directories and umask of the command.
    pub standing: Standing,
    /// Files that the command inherits.
    pub inherited: Vec<InheritedFile>,
}

/// A file that is open when a command starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InheritedFile {
    /// The descriptor.
    pub descriptor: i32,
    /// Real path.
    pub path: Vec<u8>,
    /// Flags with which the file was opened.
    pub flags: OpenFlags,
    /// Place of the next read or write.
    pub position: u64,
}

/// Access to files outside the recorded directory, while the command runs.
pub trait Surroundings {
    /// Returns the target of a symbolic link. Returns `None` for other files.
    fn link(&mut self, path: &[u8]) -> Option<Vec<u8>>;

    /// Returns the size and the permissions of a file. Returns `None` for other kinds.
    fn file(&self, path: &[u8]) -> Option<(u64, u16)>;
}

/// No access.
impl Surroundings for () {
    fn link(&mut self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn file(&self, _: &[u8]) -> Option<(u64, u16)> {
        None
    }
}
