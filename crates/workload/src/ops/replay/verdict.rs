//! Checks whether the outcome of an operation is the same as in the recording.

use std::io;

use rustix::io::Errno;
use trace::{OpenFlags, Syscall, SyscallResult, TraceRecord};

use super::paths::PathTable;
use crate::error::OpError;

/// Errors for features that a filesystem does not have.
const REFUSALS: [Errno; 3] = [Errno::PERM, Errno::OPNOTSUPP, Errno::NOSYS];
/// Additional errors of calls that a filesystem may support partially.
const PARTIAL: [Errno; 5] = [Errno::INVAL, Errno::NOTTY, Errno::XDEV, Errno::NODEV, Errno::ISDIR];

/// Compares the result of an operation with the recorded one.
///
/// # Errors
/// Returns [`OpError::Unsupported`] if the filesystem lacks the feature, otherwise
/// [`OpError::Differs`].
#[inline]
pub fn check_result(
    paths: &PathTable,
    number: u32,
    operation: &TraceRecord,
    outcome: Result<u64, Errno>,
) -> Result<(), OpError> {
    match (operation.outcome, outcome) {
        (SyscallResult::Ok(_), Ok(_)) => Ok(()),
        (SyscallResult::Err(then), Err(now)) if i32::from(then.0) == now.raw_os_error() => Ok(()),
        _ => differs(paths, number, operation, outcome),
    }
}

#[cold]
fn differs(
    paths: &PathTable,
    number: u32,
    operation: &TraceRecord,
    outcome: Result<u64, Errno>,
) -> Result<(), OpError> {
    let call = &operation.call;
    let then = match operation.outcome {
        SyscallResult::Err(errno) => Some(Errno::from_raw_os_error(errno.0.into())),
        SyscallResult::Ok(_) => None,
    };
    match (then, outcome) {
        // Attributes that existed before the recording are not in the trace.
        (None, Err(Errno::NODATA)) | (Some(Errno::NODATA), Ok(_))
            if matches!(call, Syscall::GetAttribute { .. }) =>
        {
            return Ok(());
        }
        // Either filesystem may lack the feature: the recorded program worked without it, or the
        // present filesystem does not support it.
        (Some(then), _) if is_refusal(call, then) => return Ok(()),
        (Some(_), Err(now)) if is_refusal(call, now) => return Ok(()),
        (None, Err(now)) if is_refusal(call, now) => {
            let error = io::Error::from(now);
            return Err(OpError::Unsupported {
                reason: format!("{}: {}", call.name(), sys::errno::name_and_text(&error)),
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
        .map(|p| paths.display(p).display().to_string())
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

/// Returns true if the error means that the filesystem lacks the feature.
fn is_refusal(call: &Syscall, errno: Errno) -> bool {
    let optional = match call {
        Syscall::Link { .. }
        | Syscall::LinkHandle { .. }
        | Syscall::Symlink { .. }
        | Syscall::MakePipe { .. }
        | Syscall::ChangeMode { .. }
        | Syscall::ChangeModeHandle { .. }
        | Syscall::ChangeOwner { .. }
        | Syscall::ChangeOwnerHandle { .. }
        | Syscall::SetTimes { .. }
        | Syscall::SetTimesHandle { .. }
        | Syscall::SetAttribute { .. }
        | Syscall::GetAttribute { .. }
        | Syscall::ListAttributes { .. }
        | Syscall::RemoveAttribute { .. }
        | Syscall::Lock { .. }
        | Syscall::Advise { .. } => false,
        Syscall::Open { flags, .. } if flags.has(OpenFlags::DIRECT) => true,
        Syscall::Open { flags, .. } if flags.has(OpenFlags::TEMPORARY | OpenFlags::DIRECTORY) => {
            true
        }
        Syscall::Rename { flags: 1.., .. }
        | Syscall::CopyRange { .. }
        | Syscall::Allocate { .. }
        | Syscall::MappedRead { .. }
        | Syscall::MappedWrite { .. }
        | Syscall::MappedSync { .. }
        | Syscall::SyncRange { .. } => true,
        _ => return false,
    };
    REFUSALS.contains(&errno) || (optional && PARTIAL.contains(&errno))
}
