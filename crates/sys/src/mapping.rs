//! Shared memory mappings of files, as a bounded, safe operation.

use std::fs::File;
use std::io;
use std::num::NonZeroUsize;

use nix::sys::mman::{MapFlags, MsFlags, ProtFlags, mmap, msync, munmap};

/// Writes bytes at the beginning of a file through a shared mapping and writes them back.
///
/// # Errors
/// When the file cannot be mapped shared and writable, or not be written back.
///
/// # Panics
/// When there are no bytes to write.
pub fn write_through_mapping(file: &File, bytes: &[u8]) -> io::Result<()> {
    let length = NonZeroUsize::new(bytes.len()).expect("there is something to write");
    if file.metadata()?.len() < length.get() as u64 {
        return Err(io::Error::other(
            "the file is shorter than the bytes to write",
        ));
    }
    // SAFETY: the mapping covers bytes that the file has (checked above), so that writing them
    // cannot fault; it is used only here, as bytes, and unmapped before it goes out of reach.
    unsafe {
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let address = mmap(None, length, protection, MapFlags::MAP_SHARED, file, 0)?;
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), address.as_ptr().cast::<u8>(), bytes.len());
        let written_back = msync(address, length.get(), MsFlags::MS_SYNC);
        munmap(address, length.get())?;
        Ok(written_back?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn what_is_mapped_is_read() {
        let path = std::env::temp_dir().join(format!("mapping-{}", std::process::id()));
        std::fs::write(&path, [0; 16]).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        write_through_mapping(&file, b"shared").unwrap();
        let mut text = String::new();
        File::open(&path)
            .unwrap()
            .take(6)
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "shared");
        assert!(
            write_through_mapping(&file, &[1; 17]).is_err(),
            "beyond the end"
        );
        std::fs::remove_file(path).unwrap();
    }
}
