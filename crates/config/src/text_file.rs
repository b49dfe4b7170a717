//! Reads text files of limited size.

use std::io;
use std::path::Path;

use sys::fs::plain_file;

use crate::CatalogError;

/// Maximum size of a text file that people write, in bytes.
const MAX_TEXT_FILE_SIZE: u64 = 1 << 20;

/// Reads the text of a file or pipe.
///
/// # Errors
/// Returns an error if the path is no plain file and no pipe, cannot be read, is not UTF-8 text or
/// is longer than 1 MiB.
pub fn read_text(path: &Path) -> Result<String, CatalogError> {
    text(path, plain_file::read_or_wait(path, MAX_TEXT_FILE_SIZE))
}

/// Reads a plain file. In a directory, a pipe is an error, because reading it could block.
pub(crate) fn read_regular_file(path: &Path) -> Result<String, CatalogError> {
    text(path, plain_file::read(path, MAX_TEXT_FILE_SIZE))
}

fn text(path: &Path, read: io::Result<Vec<u8>>) -> Result<String, CatalogError> {
    let text = read.and_then(|bytes| {
        String::from_utf8(bytes).map_err(|_| io::Error::other("it is no text in UTF-8"))
    });
    text.map_err(|error| CatalogError::Unreadable { path: path.to_owned(), error })
}
