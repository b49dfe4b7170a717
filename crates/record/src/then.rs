//! Actions on the return of a system call.

use std::rc::Rc;

use trace::{OpenFlags, PathId, Syscall};

use crate::files::{End, Held, Opening};
use crate::orders::Channel;

/// Information from the entry of a call, used when it returns.
#[derive(Debug)]
pub enum Then {
    /// The call is kept as it is.
    Record {
        /// The call.
        call: Syscall,
        /// Whether what it returns counts something.
        counts: bool,
    },
    /// Something was opened.
    Open {
        /// Its path.
        path: PathId,
        /// Real path of the file.
        real: Vec<u8>,
        /// How.
        flags: OpenFlags,
        /// Permissions of a new file.
        mode: u16,
        /// Whether another program does not get it.
        close_on_exec: bool,
    },
    /// An empty file was made and not opened.
    MakeFile {
        /// Its path.
        path: PathId,
        /// Its permissions.
        mode: u16,
    },
    /// A named pipe or a socket was made.
    MakePipe {
        /// Its path.
        path: PathId,
        /// Its permissions.
        mode: u16,
        /// The descriptor of a socket that has this name now.
        socket: Option<(i32, Vec<u8>)>,
    },
    /// Data was read or written, at this place or at the position.
    Transfer {
        /// Where.
        opening: Rc<Opening>,
        /// The descriptor.
        descriptor: i32,
        /// The place.
        offset: Option<u64>,
        /// Requested length in bytes.
        length: u64,
        /// Whether it was written.
        writes: bool,
    },
    /// Data went from one descriptor to another.
    Move {
        /// From where.
        from: Side,
        /// To where.
        to: Side,
        /// Requested length in bytes.
        length: u64,
        /// Whether the filesystem did it by itself.
        in_filesystem: bool,
    },
    /// The position is another one.
    Seek(Rc<Opening>),
    /// Names of a directory were read to this address.
    List {
        /// The directory.
        opening: Rc<Opening>,
        /// The address.
        buffer: u64,
        /// Whether they are in the form of `getdents`, which has other places.
        old: bool,
    },
    /// The last descriptor was closed.
    Close(Rc<Opening>),
    /// A descriptor was copied; what it is a copy of, if that is known.
    Copy {
        /// Target of the descriptor.
        held: Option<Held>,
        /// Whether another program does not get it.
        close_on_exec: bool,
    },
    /// A pipe was made, its descriptors written to this address; or a pair of sockets.
    Pair {
        /// The address.
        address: u64,
        /// Whether both directions go.
        both_ways: bool,
        /// Whether another program does not get it.
        close_on_exec: bool,
    },
    /// A socket got a name that is not in the recorded directory.
    Bind {
        /// Its descriptor.
        descriptor: i32,
        /// Its name.
        name: Vec<u8>,
    },
    /// A socket is connected, or will be.
    Connect {
        /// Its descriptor.
        descriptor: i32,
        /// Channels for sending and receiving.
        ends: (Channel, Channel),
        /// Requested name.
        name: Vec<u8>,
    },
    /// A connection was accepted at this name.
    Accept {
        /// The name.
        name: Rc<Vec<u8>>,
        /// Whether another program does not get it.
        close_on_exec: bool,
    },
    /// Something came from a pipe or socket.
    Receive(Rc<End>),
    /// A file was locked, or released.
    Lock {
        /// Its opening.
        opening: Rc<Opening>,
        /// Whether it was released.
        releases: bool,
    },
    /// A file is in the memory.
    Map {
        /// Its opening.
        opening: Rc<Opening>,
        /// The place in the file.
        offset: u64,
        /// Bytes.
        length: u64,
        /// Whether it shows the file itself, and whether it may be written.
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
    /// Something has another name, or one more.
    Renamed {
        /// The call, if both names are below the recorded directory.
        call: Option<Syscall>,
        /// Both real paths.
        real: [Vec<u8>; 2],
        /// Whether it is a directory.
        is_directory: bool,
        /// Below the recorded directory, the name of a file that came from elsewhere.
        came: Option<PathId>,
    },
    /// A link was made; whether it is a symbolic one.
    Linked(Syscall, bool),
    /// The process may be in another directory, or have another root.
    Moved {
        /// Whether its root is another.
        root: bool,
    },
    /// A child may have ended. `waitid` stores its number at this address.
    Wait(Option<u64>),
    /// Names may lead elsewhere.
    Remounted,
}

impl Then {
    /// A call whose return value counts nothing.
    pub fn record(call: Syscall) -> Self {
        Self::Record {
            call,
            counts: false,
        }
    }
}

/// One side of data that goes from one descriptor to another.
#[derive(Debug)]
pub struct Side {
    /// Target of the descriptor, if known.
    pub held: Option<Held>,
    /// The descriptor.
    pub descriptor: i32,
    /// The offset, unless the call uses the file position.
    pub offset: Option<u64>,
}
