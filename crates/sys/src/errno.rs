//! Names of error numbers, as in man pages.

use std::io;

use model::SyscallError;
use nix::errno::Errno;

/// Returns the name of an error number, such as `ENOSPC`.
pub fn name(errno: i32) -> String {
    format!("{:?}", Errno::from_raw(errno))
}

/// Returns a failed system call as evidence.
pub fn system_error(call: &str, error: &io::Error) -> Option<SyscallError> {
    error.raw_os_error().map(|errno| SyscallError {
        call: call.to_owned(),
        errno,
        name: name(errno),
    })
}

/// Returns the name of the error if it is from the kernel, otherwise its text.
pub fn describe(error: &io::Error) -> String {
    error.raw_os_error().map_or_else(|| error.to_string(), name)
}

/// Returns the name of the error and its text: `ENOSPC (No space left on device)`.
pub fn name_and_text(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error ").next().unwrap_or_default();
    format!("{} ({text})", describe(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_manuals() {
        assert_eq!(name(28), "ENOSPC");
        assert_eq!(describe(&io::Error::from_raw_os_error(107)), "ENOTCONN");
        assert_eq!(describe(&io::Error::other("no errno")), "no errno");
        let full = io::Error::from_raw_os_error(28);
        assert_eq!(name_and_text(&full), "ENOSPC (No space left on device)");
    }
}
