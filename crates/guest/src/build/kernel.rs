//! Extracts the kernel, an ELF file, from the image that a boot loader loads. QEMU boots an ELF
//! kernel directly (PVH). This takes half the time, because the emulated processor does not have to
//! decompress it.
//!
//! The header of the image is described in Documentation/x86/boot.rst of the kernel.

use std::path::Path;
use std::process::Command;

use crate::build::elf;
use crate::process_runner::ProcessRunner;
use crate::{GuestError, files};

/// Fields of the header: number of set-up sectors, magic number, version, offset of the compressed
/// kernel (from the end of the set-up code) and its length.
const SETUP_SECTORS: usize = 0x1f1;
const MARK: (usize, &[u8]) = (0x202, b"HdrS");
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;
const SECTOR: usize = 512;
/// Length of the unpacked size, which follows the packed kernel and must not be passed to the
/// unpacker.
const LENGTH_FIELD: usize = 4;

/// Magic numbers of compressed data, each with the program that decompresses them and its package.
const PACKERS: [(&[u8], &str, &str); 2] =
    [(b"\xfd7zXZ\0", "xz", "xz-utils"), (b"\x1f\x8b", "gzip", "gzip")];
/// Magic number of data that zstd compressed. A small machine lacks its program.
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";

/// Returns a kernel that QEMU can start: the unpacked kernel if QEMU can enter it directly,
/// otherwise the image itself.
pub fn startable(image: &Path, programs: &ProcessRunner) -> Result<Vec<u8>, GuestError> {
    let bytes = files::read_of_user(image)?;
    match (elf::is_elf(&bytes), elf::is_startable(&bytes)) {
        (true, true) => Ok(bytes),
        (true, false) => Err(GuestError::Kernel {
            path: image.to_owned(),
            why: "an ELF file built without CONFIG_PVH: give its bzImage",
        }),
        (false, _) => {
            let kernel = unpacked(image, programs)?;
            Ok(if elf::is_startable(&kernel) { kernel } else { bytes })
        }
    }
}

/// Returns the decompressed kernel of an image.
pub fn unpacked(image: &Path, programs: &ProcessRunner) -> Result<Vec<u8>, GuestError> {
    let bytes = files::read_of_user(image)?;
    let wrong = |why| GuestError::Kernel { path: image.to_owned(), why };
    let payload = payload(&bytes).ok_or_else(|| wrong("its header is not that of a boot image"))?;
    let kernel = unpack(payload, programs)?;
    let kernel = kernel.ok_or_else(|| wrong("it is packed in an unknown way"))?;
    match kernel.starts_with(b"\x7fELF") {
        true => Ok(kernel),
        false => Err(wrong("what is packed in it is no ELF file")),
    }
}

/// Decompresses data. Returns `None` if the format is unknown.
pub fn unpack(packed: &[u8], programs: &ProcessRunner) -> Result<Option<Vec<u8>>, GuestError> {
    if packed.starts_with(ZSTD) {
        let unpacked = zstd::stream::decode_all(packed);
        return unpacked.map(Some).map_err(|e| GuestError::UnexpectedOutput(format!("zstd: {e}")));
    }
    let packer = PACKERS.iter().find(|(mark, ..)| packed.starts_with(mark));
    let Some((_, program, package)) = packer else {
        return Ok(None);
    };
    let mut unpack = Command::new(program);
    unpack.args(["--decompress", "--stdout"]);
    programs.filter(&mut unpack, package, packed).map(Some)
}

/// Returns the packed kernel in a boot image. Returns `None` if the header is not that of a boot
/// image.
pub fn payload(image: &[u8]) -> Option<&[u8]> {
    let (at, mark) = MARK;
    if image.get(at..at + mark.len())? != mark {
        return None;
    }
    let sectors = match image[SETUP_SECTORS] {
        // For backward compatibility, 0 means 4.
        0 => 4,
        sectors => usize::from(sectors),
    };
    let field = |at: usize| -> Option<usize> {
        let bytes = image.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    };
    let begin = (sectors + 1) * SECTOR + field(PAYLOAD_OFFSET)?;
    let length = field(PAYLOAD_LENGTH)?.checked_sub(LENGTH_FIELD)?;
    image.get(begin..begin.checked_add(length)?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Returns a boot image with one sector of set-up code and this payload.
    fn image(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 0x400];
        image[SETUP_SECTORS] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        let length = (payload.len() + LENGTH_FIELD) as u32;
        image[PAYLOAD_OFFSET..PAYLOAD_OFFSET + 4].copy_from_slice(&16u32.to_le_bytes());
        image[PAYLOAD_LENGTH..PAYLOAD_LENGTH + 4].copy_from_slice(&length.to_le_bytes());
        image.extend([0; 16]);
        image.extend(payload);
        image.extend(4711u32.to_le_bytes());
        image.extend([9; 100]);
        image
    }

    #[test]
    fn finds_the_payload_of_a_boot_image() {
        assert_eq!(payload(&image(b"packed")), Some(&b"packed"[..]));
        assert_eq!(payload(b"no kernel at all"), None);
        let mut cut = image(b"packed");
        cut.truncate(0x400 + 20);
        assert_eq!(payload(&cut), None);
    }

    #[test]
    fn a_kernel_that_qemu_cannot_start_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("vmlinux");
        let programs = ProcessRunner::default();
        let kernel = b"\x7fELF\x02\x01 without the note of CONFIG_PVH";
        fs::write(&path, kernel).unwrap();
        let error = startable(&path, &programs).unwrap_err().to_string();
        assert!(error.contains("bzImage"), "{error}");
        let note = b"\x12\0\0\0Xen\0";
        fs::write(&path, [&kernel[..], note].concat()).unwrap();
        assert!(startable(&path, &programs).unwrap().ends_with(note));
    }

    #[test]
    fn a_packed_kernel_is_unpacked() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("vmlinuz");
        let kernel = [&b"\x7fELF"[..], &[7; 300_000]].concat();
        let mut gzip = Command::new("gzip");
        gzip.arg("--stdout");
        let programs = ProcessRunner::default();
        let packed = programs.filter(&mut gzip, "gzip", &kernel).unwrap();
        fs::write(&path, image(&packed)).unwrap();
        assert!(unpacked(&path, &programs).unwrap() == kernel);
        // A kernel that QEMU cannot enter directly stays packed.
        assert!(startable(&path, &programs).unwrap() == fs::read(&path).unwrap());
        fs::write(&path, image(&zstd::stream::encode_all(&kernel[..], 0).unwrap())).unwrap();
        assert!(unpacked(&path, &programs).unwrap() == kernel);
        fs::write(&path, image(b"plain")).unwrap();
        let error = unpacked(&path, &programs).unwrap_err().to_string();
        assert!(error.contains("unknown way"), "{error}");
    }
}
