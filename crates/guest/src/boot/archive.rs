//! Writes the archives that a kernel unpacks into its initramfs: the "newc" form of cpio, described
//! in Documentation/driver-api/early-userspace/buffer-format.rst of the kernel. Concatenated
//! archives form one filesystem.
//!
//! Times are zero and inode numbers are consecutive, so that equal files give equal bytes.

use std::io::{self, Write};

const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const PLAIN: u32 = 0o100_644;
const LINK: u32 = 0o120_777;
const CHARACTER_DEVICE: u32 = 0o020_600;

/// An archive being written.
pub struct Archive<W> {
    out: W,
    entries: u32,
}

impl<W: Write> Archive<W> {
    /// Creates an archive that is written to `out`.
    pub const fn new(out: W) -> Self {
        Self { out, entries: 0 }
    }

    /// Adds a directory. Its parent must already have been added.
    pub fn directory(&mut self, name: &str) -> io::Result<()> {
        self.entry(name, DIRECTORY, (0, 0), &[])
    }

    /// A program.
    pub fn program(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.entry(name, PROGRAM, (0, 0), content)
    }

    /// Adds a file that is not executable.
    pub fn file(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.entry(name, PLAIN, (0, 0), content)
    }

    /// A symbolic link.
    pub fn link(&mut self, name: &str, target: &str) -> io::Result<()> {
        self.entry(name, LINK, (0, 0), target.as_bytes())
    }

    /// Adds a character device with its major and minor number.
    pub fn device(&mut self, name: &str, numbers: (u32, u32)) -> io::Result<()> {
        self.entry(name, CHARACTER_DEVICE, numbers, &[])
    }

    /// Writes the trailer of the archive.
    pub fn finish(mut self) -> io::Result<()> {
        self.entries = 0;
        self.entry("TRAILER!!!", 0, (0, 0), &[])?;
        self.out.flush()
    }

    fn entry(
        &mut self,
        name: &str,
        mode: u32,
        device: (u32, u32),
        content: &[u8],
    ) -> io::Result<()> {
        let size = u32::try_from(content.len()).map_err(io::Error::other)?;
        let name_size = name.len() as u32 + 1;
        let links = if mode == 0 { 0 } else { 1 };
        // Inode number, mode, user, group, links, time, size, device of the file (two fields),
        // device number of the node (two fields), length of the name, checksum.
        let fields =
            [self.entries, mode, 0, 0, links, 0, size, 0, 0, device.0, device.1, name_size, 0];
        self.entries += 1;
        let mut header = "070701".to_owned();
        for field in fields {
            header += &format!("{field:08x}");
        }
        self.out.write_all(header.as_bytes())?;
        self.out.write_all(name.as_bytes())?;
        self.out.write_all(&[0])?;
        self.pad(header.len() + name.len() + 1)?;
        self.out.write_all(content)?;
        self.pad(content.len())
    }

    /// Pads a name or content to a multiple of four bytes.
    fn pad(&mut self, length: usize) -> io::Result<()> {
        let missing = length.next_multiple_of(4) - length;
        self.out.write_all(&[0; 3][..missing])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut archive = Archive::new(&mut bytes);
        archive.directory("bin").unwrap();
        archive.program("bin/it", b"#!/bin/sh\n").unwrap();
        archive.link("it", "bin/it").unwrap();
        archive.device("console", (5, 1)).unwrap();
        archive.file("empty", b"").unwrap();
        archive.finish().unwrap();
        bytes
    }

    /// Reads an archive as specified by the format document: names, modes and contents up to the
    /// trailer.
    fn read(mut bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut found = Vec::new();
        loop {
            assert_eq!(&bytes[..6], b"070701");
            let field = |n: usize| {
                let text = std::str::from_utf8(&bytes[6 + 8 * n..14 + 8 * n]).unwrap();
                usize::from_str_radix(text, 16).unwrap()
            };
            let (mode, size, name_size) = (field(1), field(6), field(11));
            let name = String::from_utf8(bytes[110..110 + name_size - 1].to_vec()).unwrap();
            let begin = (110 + name_size).next_multiple_of(4);
            if name == "TRAILER!!!" {
                assert_eq!(bytes.len(), begin);
                return found;
            }
            found.push((name, mode as u32, bytes[begin..begin + size].to_vec()));
            bytes = &bytes[begin + size.next_multiple_of(4)..];
        }
    }

    #[test]
    fn archive_contains_all_added_entries() {
        let found = read(&archive());
        let names: Vec<&str> = found.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["bin", "bin/it", "it", "console", "empty"]);
        assert_eq!(found[1].1, 0o100_755);
        assert_eq!(found[1].2, b"#!/bin/sh\n");
        assert_eq!(found[2].2, b"bin/it");
        assert_eq!(found[3].1 & 0o170_000, 0o020_000);
    }

    #[test]
    fn the_same_files_are_the_same_bytes() {
        assert_eq!(archive(), archive());
    }
}
