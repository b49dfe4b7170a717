//! Files and directories: descriptors, attributes, extents, paths without links.

pub mod aligned;
pub mod dir_fd;
pub mod extents;
pub mod mapping;
pub mod memfd;
pub mod plain_file;
pub mod reflink;
pub mod safe_path;
pub mod trim;
pub mod xattr;
pub mod xattr_set;
