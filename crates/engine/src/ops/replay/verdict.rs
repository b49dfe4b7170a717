//! Whether an operation went as it did when the trace was made.

use std::io;

use rustix::io::Errno;
use trace::{Call, OpenFlags, Operation, Outcome};

use super::paths::PathTable;
use crate::error::OpError;

/// What a filesystem says to what it does not have.
const REFUSALS: [Errno; 3] = [Errno::PERM, Errno::OPNOTSUPP, Errno::NOSYS];
/// What calls say in addition that a filesystem may know in part.
const PARTIAL: [Errno; 5] = [
    Errno::INVAL,
    Errno::NOTTY,
    Errno::XDEV,
    Errno::NODEV,
    Errno::ISDIR,
];

/// Compares what came of an operation with what came of it then.
///
/// # Errors
/// [`OpError::Unsupported`] where the filesystem has no such thing, [`OpError::Differs`] where it has.
#[inline]
pub fn judge(
    paths: &PathTable,
    number: u32,
    operation: &Operation,
    outcome: Result<u64, Errno>,
) -> Result<(), OpError> {
    match (operation.outcome, outcome) {
        (Outcome::Done(_), Ok(_)) => Ok(()),
        (Outcome::Failed(then), Err(now)) if i32::from(then.0) == now.raw_os_error() => Ok(()),
        _ => differs(paths, number, operation, outcome),
    }
}

#[cold]
fn differs(
    paths: &PathTable,
    number: u32,
    operation: &Operation,
    outcome: Result<u64, Errno>,
) -> Result<(), OpError> {
    let call = &operation.call;
    let then = match operation.outcome {
        Outcome::Failed(errno) => Some(Errno::from_raw_os_error(errno.0.into())),
        Outcome::Done(_) => None,
    };
    match (then, outcome) {
        // Attributes that lay there before are not in the trace.
        (None, Err(Errno::NODATA)) | (Some(Errno::NODATA), Ok(_))
            if matches!(call, Call::GetAttribute { .. }) =>
        {
            return Ok(());
        }
        // The other filesystem could not, and the program went on without; or it is this one that cannot.
        (Some(then), _) if is_refusal(call, then) => return Ok(()),
        (Some(_), Err(now)) if is_refusal(call, now) => return Ok(()),
        (None, Err(now)) if is_refusal(call, now) => {
            let error = io::Error::from(now);
            return Err(OpError::Unsupported {
                reason: format!(
                    "{}: {} ({error})",
                    call.name(),
                    sys::errno::describe(&error)
                ),
            });
        }
        _ => {}
    }
    let shown = |errno: Errno| sys::errno::describe(&errno.into()).to_string();
    let now = outcome.map_or_else(shown, |_| "success".to_owned());
    let then = then.map_or_else(|| "success".to_owned(), shown);
    let named: Vec<String> = call
        .paths()
        .into_iter()
        .flatten()
        .map(|p| paths.shown(p).display().to_string())
        .collect();
    let of = match (named.is_empty(), call.handles()[0]) {
        (false, _) => format!(" of {}", named.join(" to ")),
        (true, Some(handle)) => format!(" of opening {}", handle.0),
        (true, None) => String::new(),
    };
    Err(OpError::Differs {
        call: call.name(),
        reason: format!(
            "operation {} of the trace, {}{of}: {now} instead of {then}",
            u64::from(number) + 1,
            call.name(),
        ),
        error: outcome.err().map(io::Error::from),
    })
}

/// Whether this is how a filesystem says that it has no such thing.
fn is_refusal(call: &Call, errno: Errno) -> bool {
    let optional = match call {
        Call::Link { .. }
        | Call::LinkHandle { .. }
        | Call::Symlink { .. }
        | Call::MakePipe { .. }
        | Call::ChangeMode { .. }
        | Call::ChangeModeHandle { .. }
        | Call::ChangeOwner { .. }
        | Call::ChangeOwnerHandle { .. }
        | Call::SetTimes { .. }
        | Call::SetTimesHandle { .. }
        | Call::SetAttribute { .. }
        | Call::GetAttribute { .. }
        | Call::ListAttributes { .. }
        | Call::RemoveAttribute { .. }
        | Call::Lock { .. }
        | Call::Advise { .. } => false,
        Call::Open { flags, .. } if flags.has(OpenFlags::DIRECT) => true,
        Call::Open { flags, .. } if flags.has(OpenFlags::TEMPORARY | OpenFlags::DIRECTORY) => true,
        Call::Rename { flags: 1.., .. }
        | Call::CopyRange { .. }
        | Call::Allocate { .. }
        | Call::MappedRead { .. }
        | Call::MappedWrite { .. }
        | Call::MappedSync { .. }
        | Call::SyncRange { .. } => true,
        _ => return false,
    };
    REFUSALS.contains(&errno) || (optional && PARTIAL.contains(&errno))
}
