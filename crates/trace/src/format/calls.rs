//! Number of each call in the file, and the columns of its parts.

use super::DecodeError;
use super::coder::ColumnCoder;
use super::columns::Columns;
use crate::trace::{SyncEvent, Syscall};

/// Generates the functions below from one line per call. The line contains the number of the call
/// and its parts in file order. Each part names the method of [`ColumnCoder`] that codes it.
macro_rules! calls {
    ($($number:literal $name:ident { $($part:ident: $coded:ident),* })*) => {
        /// Returns the number of a call. The numbers of [`Syscall::Order`] follow those of all other calls.
        pub fn number(call: &Syscall) -> u8 {
            match call {
                $(Syscall::$name { .. } => $number,)*
                Syscall::Order(SyncEvent::Spawn { .. }) => STARTS,
                Syscall::Order(SyncEvent::Join { .. }) => AWAITS,
                Syscall::Order(SyncEvent::Send { .. }) => SENDS,
                Syscall::Order(SyncEvent::Receive { .. }) => RECEIVES,
            }
        }

        /// Returns the call with this number and empty parts. Returns `None` if the number is
        /// unknown.
        pub fn default_for(number: u8) -> Option<Syscall> {
            Some(match number {
                $($number => Syscall::$name { $($part: Default::default()),* },)*
                STARTS => Syscall::Order(SyncEvent::Spawn { thread: 0 }),
                AWAITS => Syscall::Order(SyncEvent::Join { thread: 0 }),
                SENDS => Syscall::Order(SyncEvent::Send { message: 0 }),
                RECEIVES => Syscall::Order(SyncEvent::Receive { message: 0 }),
                _ => return None,
            })
        }

        /// Writes or reads the parts of a call.
        pub fn visit_fields<C: Columns>(
            call: &mut Syscall,
            coder: &mut ColumnCoder<C>,
        ) -> Result<(), DecodeError> {
            match call {
                $(Syscall::$name { $($part),* } => { $(coder.$coded($part)?;)* })*
                Syscall::Order(
                    SyncEvent::Spawn { thread: other }
                    | SyncEvent::Join { thread: other }
                    | SyncEvent::Send { message: other }
                    | SyncEvent::Receive { message: other },
                ) => coder.other(other)?,
            }
            Ok(())
        }
    };
}

const STARTS: u8 = 60;
const AWAITS: u8 = 61;
const SENDS: u8 = 62;
const RECEIVES: u8 = 63;

calls! {
    0 Open { path: path, flags: flags, mode: mode, handle: opened }
    1 Close { handle: handle }
    2 Read { handle: handle, offset: offset, length: length }
    3 Write { handle: handle, offset: offset, length: length }
    4 MappedRead { handle: handle, offset: offset, length: length }
    5 MappedWrite { handle: handle, offset: offset, length: length }
    6 MappedSync { handle: handle, offset: offset, length: length }
    7 Sync { handle: handle, data_only: flag }
    8 SyncAll {}
    9 SyncRange { handle: handle, offset: offset, length: length }
    10 List { handle: handle }
    11 Stat { path: path, follow: flag }
    12 StatHandle { handle: handle }
    13 Access { path: path, mode: small }
    14 StatFilesystem {}
    15 ReadLink { path: path }
    16 MakeDirectory { path: path, mode: mode }
    17 MakePipe { path: path, mode: mode }
    18 RemoveDirectory { path: path }
    19 Unlink { path: path }
    20 Rename { from: path, to: path, flags: small }
    21 Link { from: path, to: path }
    22 LinkHandle { handle: handle, to: path }
    23 Symlink { text: text, path: path }
    24 Truncate { path: path, size: size }
    25 TruncateHandle { handle: handle, size: size }
    26 Allocate { handle: handle, mode: small, offset: offset, length: length }
    27 CopyRange { from: handle, from_offset: offset, to: handle, to_offset: offset, length: length, clone: flag }
    28 ChangeMode { path: path, mode: mode }
    29 ChangeModeHandle { handle: handle, mode: mode }
    30 ChangeOwner { path: path, follow: flag }
    31 ChangeOwnerHandle { handle: handle }
    32 SetTimes { path: path, follow: flag }
    33 SetTimesHandle { handle: handle }
    34 SetAttribute { path: path, name: text, length: attribute_length }
    35 GetAttribute { path: path, name: text }
    36 ListAttributes { path: path }
    37 RemoveAttribute { path: path, name: text }
    38 Advise { handle: handle, offset: offset, length: length, advice: small }
    39 Lock { handle: handle }
}

/// Returns the return value of a call that succeeds completely. The file omits it.
pub const fn expected(call: &Syscall) -> u64 {
    match call {
        Syscall::Read { length, .. }
        | Syscall::Write { length, .. }
        | Syscall::MappedRead { length, .. }
        | Syscall::MappedWrite { length, .. }
        | Syscall::CopyRange { length, .. } => *length,
        _ => 0,
    }
}
