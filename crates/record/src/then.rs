//! Actions on the return of a system call.

use std::rc::Rc;

use trace::{OpenFlags, PathId, Syscall};

use crate::files::{End, HeldFile, RecordedOpening};
use crate::orders::Channel;

/// Information from the entry of a call, used when it returns.
#[derive(Debug)]
pub enum Then {
    /// Records the call unchanged.
    Record {
        /// The call.
        call: Syscall,
        /// True if the return value is a count, which is recorded.
        counts: bool,
    },
    /// A file was opened.
    Open {
        /// Its path.
        path: PathId,
        /// Real path of the file.
        real: Vec<u8>,
        /// How.
        flags: OpenFlags,
        /// Permissions of a new file.
        mode: u16,
        /// True if the descriptor is closed on exec.
        close_on_exec: bool,
    },
    /// An empty file was created and not opened.
    MakeFile {
        /// Its path.
        path: PathId,
        /// Its permissions.
        mode: u16,
    },
    /// A named pipe or a socket was created.
    MakePipe {
        /// Its path.
        path: PathId,
        /// Its permissions.
        mode: u16,
        /// Descriptor of the socket that is bound to this path, and its name.
        socket: Option<(i32, Vec<u8>)>,
    },
    /// Data was read or written at this offset, or at the file position.
    Transfer {
        /// Where.
        opening: Rc<RecordedOpening>,
        /// The descriptor.
        descriptor: i32,
        /// The place.
        offset: Option<u64>,
        /// Requested length in bytes.
        length: u64,
        /// True for a write.
        writes: bool,
    },
    /// Data was transferred from one descriptor to another.
    Move {
        /// From where.
        from: CopyEndpoint,
        /// To where.
        to: CopyEndpoint,
        /// Requested length in bytes.
        length: u64,
        /// True if the filesystem may copy the data itself.
        in_filesystem: bool,
    },
    /// The file position has changed.
    Seek(Rc<RecordedOpening>),
    /// Names of a directory were read into the buffer at this address.
    List {
        /// The directory.
        opening: Rc<RecordedOpening>,
        /// The address.
        buffer: u64,
        /// True if the names have the format of `getdents`, which has other offsets.
        old: bool,
    },
    /// The last descriptor of an open file description was closed.
    Close(Rc<RecordedOpening>),
    /// A descriptor was duplicated.
    Copy {
        /// Target of the descriptor.
        held: Option<HeldFile>,
        /// True if the descriptor is closed on exec.
        close_on_exec: bool,
    },
    /// A pipe or a pair of sockets was created, and its descriptors were stored at this address.
    Pair {
        /// The address.
        address: u64,
        /// True if data can be sent in both directions.
        both_ways: bool,
        /// True if the descriptors are closed on exec.
        close_on_exec: bool,
    },
    /// A socket was bound to a name outside the recorded directory.
    Bind {
        /// Its descriptor.
        descriptor: i32,
        /// Its name.
        name: Vec<u8>,
    },
    /// A socket was connected, or a connection is in progress.
    Connect {
        /// Its descriptor.
        descriptor: i32,
        /// Channels for sending and receiving.
        ends: (Channel, Channel),
        /// Requested name.
        name: Vec<u8>,
    },
    /// A connection to this name was accepted.
    Accept {
        /// The name.
        name: Rc<Vec<u8>>,
        /// True if the descriptor is closed on exec.
        close_on_exec: bool,
    },
    /// Data was received from a pipe or socket.
    Receive(Rc<End>),
    /// A file was locked or unlocked.
    Lock {
        /// Its opening.
        opening: Rc<RecordedOpening>,
        /// True for an unlock.
        releases: bool,
    },
    /// A file was mapped into memory.
    Map {
        /// Its opening.
        opening: Rc<RecordedOpening>,
        /// Offset in the file.
        offset: u64,
        /// Bytes.
        length: u64,
        /// Whether the mapping is shared, and whether it is shared and writable.
        modes: (bool, bool),
    },
    /// Mapped memory may have moved: old address, old length, new length.
    Remap(u64, u64, u64),
    /// A directory was removed.
    Removed {
        /// The call.
        call: Syscall,
        /// Real path of the directory.
        real: Vec<u8>,
    },
    /// A file or directory was renamed or linked.
    Renamed {
        /// The call, if both names are below the recorded directory.
        call: Option<Syscall>,
        /// Real paths before and after.
        real: [Vec<u8>; 2],
        /// True for a directory.
        is_directory: bool,
        /// Path of a file that was moved in from outside the recorded directory.
        came: Option<PathId>,
    },
    /// A link was created. The flag is true for a symbolic link.
    Linked(Syscall, bool),
    /// The process may have changed its working directory or root.
    Moved {
        /// True if the root may have changed.
        root: bool,
    },
    /// A child may have ended. `waitid` stores its number at this address.
    Wait(Option<u64>),
    /// Mounts may have changed, so names may resolve differently.
    Remounted,
}

impl Then {
    /// Creates a record of a call whose return value is not a count.
    pub fn record(call: Syscall) -> Self {
        Self::Record { call, counts: false }
    }
}

/// Source or target of a transfer between two descriptors.
#[derive(Debug)]
pub struct CopyEndpoint {
    /// Target of the descriptor, if known.
    pub held: Option<HeldFile>,
    /// The descriptor.
    pub descriptor: i32,
    /// The offset, unless the call uses the file position.
    pub offset: Option<u64>,
}
