//! Shared memory from which a guest in virtual time reads its modules, programs and job (see
//! `guest/card.rs`). All such guests boot alike until their agent reads this memory, and most of
//! them start from a snapshot taken just before.
//!
//! The memory contains a cpio archive in the "newc" format, described in the kernel's
//! Documentation/driver-api/early-userspace/buffer-format.rst. It is unpacked here in the same way
//! as the kernel unpacks its initramfs.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use sys::fs::mapping::Mapping;

const DEVICES: &str = "/sys/bus/pci/devices";
/// Vendor and device of the card (docs/specs/ivshmem-spec.rst of QEMU).
const CARD: [(&str, &str); 2] = [("vendor", "0x1af4"), ("device", "0x1110")];
/// Its memory.
const MEMORY: &str = "resource2";

/// I/O ports of this machine, by address.
const PORTS: &str = "/dev/port";
/// Port of the watchdog (ib700) timeout. The shortest timeout stops the machine immediately if a
/// snapshot is requested.
const WATCHDOG: u64 = 0x443;
const AT_ONCE: u8 = 0xf;
/// Maximum time until the machine has stopped. It stops within one timer tick: QEMU checks for a
/// stop request each time it advances the virtual time of an idle guest.
const VM_STOP_TIMEOUT: Duration = Duration::from_millis(200);

const HEADER: usize = 110;
const MAGIC: &[u8] = b"070701";
const END: &str = "TRAILER!!!";
const KIND: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
/// Maximum length of a path, `PATH_MAX` of Linux.
const MAX_TARGET: u64 = 4096;
const FLUSH_CHUNK: usize = 1 << 16;

/// Shared-memory device of this machine.
pub struct SharedMemory {
    memory: PathBuf,
}

impl SharedMemory {
    /// Finds the shared-memory device. Returns `None` if the machine has none.
    ///
    /// # Errors
    /// Returns an error if the devices of the machine cannot be listed.
    pub fn find() -> io::Result<Option<Self>> {
        let is_card = |device: &Path| {
            CARD.iter().all(|(name, value)| {
                fs::read_to_string(device.join(name)).is_ok_and(|text| text.trim_end() == *value)
            })
        };
        for device in fs::read_dir(DEVICES)? {
            let device = device?.path();
            if is_card(&device) {
                let memory = device.join(MEMORY);
                return Ok(Some(Self { memory }));
            }
        }
        Ok(None)
    }

    /// Unpacks the archive below a directory, after the snapshot if one is requested.
    ///
    /// # Errors
    /// Returns an error if the memory contains no archive or a file cannot be created.
    pub fn unpack(&self, below: &Path) -> io::Result<()> {
        let stops = OpenOptions::new().write(true).open(PORTS)?;
        stops.write_all_at(&[AT_ONCE], WATCHDOG)?;
        thread::sleep(VM_STOP_TIMEOUT);
        let file = File::open(&self.memory)?;
        unpack(&Mapping::new(&file, file.metadata()?.len(), false)?, below)
    }
}

/// One entry of an archive.
struct ArchiveEntry {
    mode: u32,
    size: u64,
    name: String,
    /// Offset of the content.
    begin: u64,
}

fn unpack(archive: &Mapping, below: &Path) -> io::Result<()> {
    let mut at = 0;
    loop {
        let entry = entry(archive, at)?;
        if entry.name == END {
            return Ok(());
        }
        let path = below.join(&entry.name);
        match entry.mode & KIND {
            DIRECTORY => match fs::create_dir(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => made?,
            },
            FILE => copy(archive, &entry, &path)?,
            LINK => link(archive, &entry, &path)?,
            kind => return Err(damaged(&format!("{}: kind {kind:o}", entry.name))),
        }
        at = (entry.begin + entry.size).next_multiple_of(4);
    }
}

fn entry(archive: &Mapping, at: u64) -> io::Result<ArchiveEntry> {
    let mut header = [0; HEADER];
    archive.read(at, &mut header)?;
    if !header.starts_with(MAGIC) {
        return Err(damaged(&format!("no entry at {at}")));
    }
    // Fields after the magic, in hexadecimal: number, mode, user, group, links, time, size, four
    // device numbers, length of the name.
    let field = |number: usize| {
        let digits = &header[MAGIC.len() + 8 * number..][..8];
        let number = str::from_utf8(digits).ok();
        let number = number.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        number.ok_or_else(|| damaged(&format!("no number at {at}")))
    };
    let mut name = vec![0; field(11)? as usize];
    archive.read(at + HEADER as u64, &mut name)?;
    name.pop();
    Ok(ArchiveEntry {
        mode: field(1)?,
        size: field(6)?.into(),
        begin: (at + HEADER as u64 + name.len() as u64 + 1).next_multiple_of(4),
        name: String::from_utf8(name).map_err(io::Error::other)?,
    })
}

/// Removes an existing file: it may be a link to a program that other names share.
fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes a link, whose content is the path of its target.
fn link(archive: &Mapping, entry: &ArchiveEntry, to: &Path) -> io::Result<()> {
    if entry.size > MAX_TARGET {
        return Err(damaged(&format!("{}: a target of {} bytes", entry.name, entry.size)));
    }
    let mut target = vec![0; entry.size as usize];
    archive.read(entry.begin, &mut target)?;
    remove(to)?;
    symlink(OsStr::from_bytes(&target), to)
}

fn copy(archive: &Mapping, entry: &ArchiveEntry, to: &Path) -> io::Result<()> {
    remove(to)?;
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(entry.mode & !KIND).open(to)?;
    let mut piece = vec![0; FLUSH_CHUNK];
    let end = entry.begin + entry.size;
    for at in (entry.begin..end).step_by(FLUSH_CHUNK) {
        let length = (end - at).min(FLUSH_CHUNK as u64) as usize;
        archive.read(at, &mut piece[..length])?;
        file.write_all(&piece[..length])?;
    }
    Ok(())
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the card with the guest's contents: {what}"),
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn put(archive: &mut Vec<u8>, name: &str, mode: u32, content: &[u8]) {
        let mut fields = [0; 13];
        fields[1] = mode as usize;
        fields[6] = content.len();
        fields[11] = name.len() + 1;
        archive.extend(MAGIC);
        for field in fields {
            archive.extend(format!("{field:08x}").bytes());
        }
        archive.extend(name.bytes().chain([0]));
        archive.resize(archive.len().next_multiple_of(4), 0);
        archive.extend(content);
        archive.resize(archive.len().next_multiple_of(4), 0);
    }

    fn unpacked(archive: &[u8]) -> io::Result<tempfile::TempDir> {
        unpacked_into(tempfile::tempdir()?, archive)
    }

    fn unpacked_into(
        directory: tempfile::TempDir,
        archive: &[u8],
    ) -> io::Result<tempfile::TempDir> {
        let path = directory.path().join("archive");
        fs::write(&path, archive)?;
        let file = File::open(&path)?;
        unpack(&Mapping::new(&file, archive.len() as u64, false)?, directory.path())?;
        Ok(directory)
    }

    #[test]
    fn unpacks_all_entries() {
        let large: Vec<u8> = (0..200_001_u32).map(|n| n as u8).collect();
        let mut archive = Vec::new();
        put(&mut archive, "bin", DIRECTORY | 0o755, b"");
        put(&mut archive, "bin", DIRECTORY | 0o755, b"");
        put(&mut archive, "bin/large", FILE | 0o755, &large);
        put(&mut archive, "job", FILE | 0o644, b"");
        put(&mut archive, "job", FILE | 0o644, b"{}");
        put(&mut archive, "bin/copy", FILE | 0o755, b"");
        put(&mut archive, "bin/copy", LINK | 0o777, b"large");
        put(&mut archive, END, 0, b"");
        archive.resize(1 << 20, 0);
        let directory = unpacked(&archive).unwrap();
        let at = |name: &str| directory.path().join(name);
        assert_eq!(fs::read(at("bin/large")).unwrap(), large);
        assert_eq!(fs::read(at("job")).unwrap(), b"{}");
        assert_eq!(fs::read(at("bin/copy")).unwrap(), large);
        assert_eq!(fs::read_link(at("bin/copy")).unwrap(), Path::new("large"));
        let mode = fs::metadata(at("bin/large")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
    }

    /// In the initramfs of a guest, most programs are links to one program.
    #[test]
    fn replaces_a_link_and_keeps_its_target() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("many"), "many in one").unwrap();
        std::os::unix::fs::symlink("many", at("sh")).unwrap();
        fs::hard_link(at("many"), at("mkdir")).unwrap();
        let (many, sh, mkdir) = (at("many"), at("sh"), at("mkdir"));
        let mut archive = Vec::new();
        put(&mut archive, "sh", FILE | 0o755, b"a shell");
        put(&mut archive, "mkdir", FILE | 0o755, b"mkdir alone");
        put(&mut archive, END, 0, b"");
        archive.resize(4096, 0);
        let _directory = unpacked_into(directory, &archive).unwrap();
        assert_eq!(fs::read(sh).unwrap(), b"a shell");
        assert_eq!(fs::read(mkdir).unwrap(), b"mkdir alone");
        assert_eq!(fs::read(many).unwrap(), b"many in one");
    }

    #[test]
    fn rejects_an_empty_archive_and_an_unknown_entry_type() {
        let error = unpacked(&[0; 4096]).unwrap_err().to_string();
        assert!(error.ends_with("no entry at 0"), "{error}");
        let mut archive = Vec::new();
        put(&mut archive, "device", 0o020_600, b"");
        let error = unpacked(&archive).unwrap_err().to_string();
        assert!(error.contains("device"), "{error}");
    }
}
