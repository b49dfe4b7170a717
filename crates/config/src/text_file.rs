//! Reads text files of limited size.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::CatalogError;

/// Maximum size of a text file, in bytes.
const MAX_TEXT_FILE_SIZE: u64 = 1 << 20;

/// Reads the text of a file or pipe. The size limit prevents `fsarena run /dev/sdX` from reading a
/// whole disk into memory.
///
/// # Errors
/// Returns an error if the file cannot be read, is not UTF-8 text or is longer than 1 MiB.
pub fn read_text(path: &Path) -> Result<String, CatalogError> {
    read(path).map_err(|error| CatalogError::Unreadable { path: path.to_owned(), error })
}

fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_TEXT_FILE_SIZE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_TEXT_FILE_SIZE {
        return Err(io::Error::other("too large: what people write has 1 MiB at most"));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is no text in UTF-8"))
}

/// Reads a plain file. In a directory, a pipe is an error, because reading it could block.
pub(crate) fn read_regular_file(path: &Path) -> Result<String, CatalogError> {
    match path.metadata() {
        Ok(found) if !found.is_file() => Err(CatalogError::Unreadable {
            path: path.to_owned(),
            error: io::Error::other("it is no file"),
        }),
        _ => read_text(path),
    }
}
