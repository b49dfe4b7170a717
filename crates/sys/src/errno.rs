//! Error numbers by the names that manuals use.

use std::io;

use model::SyscallError;
use nix::errno::Errno;

/// The name of an error number: `ENOSPC`.
pub fn name(errno: i32) -> String {
    format!("{:?}", Errno::from_raw(errno))
}

/// A failed system call as evidence.
pub fn system_error(call: &str, error: &io::Error) -> Option<SyscallError> {
    error.raw_os_error().map(|errno| SyscallError {
        call: call.to_owned(),
        errno,
        name: name(errno),
    })
}

/// The name of the error where the kernel gave one, else the error's text.
pub fn describe(error: &io::Error) -> String {
    error.raw_os_error().map_or_else(|| error.to_string(), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_manuals() {
        assert_eq!(name(28), "ENOSPC");
        assert_eq!(describe(&io::Error::from_raw_os_error(107)), "ENOTCONN");
        assert_eq!(describe(&io::Error::other("no errno")), "no errno");
    }
}
