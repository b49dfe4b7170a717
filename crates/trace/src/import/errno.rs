//! Errors by name, with their numbers in Linux on x86-64.

use crate::trace::Errno;

/// Errors of filesystems that can occur again during a replay.
const NAMES: [(&str, u16); 33] = [
    ("EPERM", 1),
    ("ENOENT", 2),
    ("EIO", 5),
    ("ENXIO", 6),
    ("ENOMEM", 12),
    ("EACCES", 13),
    ("EBUSY", 16),
    ("EEXIST", 17),
    ("EXDEV", 18),
    ("ENODEV", 19),
    ("ENOTDIR", 20),
    ("EISDIR", 21),
    ("EINVAL", 22),
    ("ENFILE", 23),
    ("EMFILE", 24),
    ("ENOTTY", 25),
    ("ETXTBSY", 26),
    ("EFBIG", 27),
    ("ENOSPC", 28),
    ("ESPIPE", 29),
    ("EROFS", 30),
    ("EMLINK", 31),
    ("ERANGE", 34),
    ("ENAMETOOLONG", 36),
    ("ENOTEMPTY", 39),
    ("ELOOP", 40),
    ("ENODATA", 61),
    ("EOVERFLOW", 75),
    ("EOPNOTSUPP", 95),
    ("ENOTSUP", 95),
    ("ESTALE", 116),
    ("EUCLEAN", 117),
    ("EDQUOT", 122),
];

/// Returns the number of an error. Returns `None` for errors that concern the program rather than
/// the filesystem, such as `EBADF`.
pub fn errno_from_name(name: &str) -> Option<Errno> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, number)| Errno(*number))
}
