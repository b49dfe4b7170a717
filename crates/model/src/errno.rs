//! Errors by name, with their numbers in Linux on x86-64.

/// Errors of filesystems, which can occur again during a replay.
const NAMES: [(&str, u16); 34] = [
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
    ("EILSEQ", 84),
    ("EOPNOTSUPP", 95),
    ("ENOTSUP", 95),
    ("ESTALE", 116),
    ("EUCLEAN", 117),
    ("EDQUOT", 122),
];

/// Returns the number of an error. Returns `None` for errors that concern the program rather than
/// the filesystem, such as `EBADF`.
pub fn errno_number(name: &str) -> Option<u16> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
}

/// Returns the name of an error of a filesystem.
pub fn errno_name(number: i64) -> Option<&'static str> {
    NAMES.iter().find(|(_, known)| i64::from(*known) == number).map(|(name, _)| *name)
}
