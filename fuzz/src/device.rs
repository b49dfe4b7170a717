//! Content of a device that may be erased: a device with any data must not look blank.
//!
//! An input is a list of (place, length, bytes): four bytes for the place, in sectors; one for the
//! length; and the bytes. They are written to a sparse file of one terabyte.

use std::fs::File;
use std::os::unix::fs::FileExt;

use nix::sys::memfd::{MFdFlags, memfd_create};
use storage::{DeviceContent, scan};

const SIZE: u64 = 1 << 40;
const SECTOR: u64 = 512;
/// Sector and first bytes of some formats. `provision` contains the full list.
const MARKS: [(u64, &[u8]); 12] = [
    (0, b"XFSB"),
    (0, b"LUKS\xba\xbe"),
    (0, b"\xeb\x58\x90mkfs.fat"),
    (0, b"\xeb\x52\x90NTFS    "),
    (1, b"EFI PART"),
    (1, b"LABELONE"),
    (2, b"H+\0\x04"),
    (8, b"\xfc\x4e\x2b\xa9"),
    (64, b"\x01CD001"),
    (128, b"_BHRfS_M"),
    (SIZE / SECTOR - 1, b"EFI PART"),
    (SIZE / SECTOR - 8, b"\xfc\x4e\x2b\xa9"),
];

/// Writes pieces of data to an empty device and scans it.
pub fn run(input: &[u8]) {
    let device = memfd_create(c"device", MFdFlags::MFD_CLOEXEC).map(File::from);
    let device = device.expect("the kernel has such files");
    device.set_len(SIZE).expect("it is all hole");
    let first = pieces(input).filter_map(|(place, bytes)| {
        device.write_all_at(bytes, place).expect("there is room");
        let written = bytes.iter().position(|byte| *byte != 0)?;
        Some(place + written as u64)
    });
    let first = first.collect::<Vec<u64>>();
    match scan(&device, SIZE).expect("it can be read") {
        DeviceContent::Data { offset, .. } => {
            let mut byte = [0];
            device.read_exact_at(&mut byte, offset).expect("it is there");
            assert_ne!(byte, [0], "no data at {offset}");
        }
        DeviceContent::Blank(_) => assert!(is_zero(&device, &first), "data was not seen"),
    }
}

/// Returns the signatures of formats.
pub fn seeds() -> Vec<Vec<u8>> {
    let seed = |(sector, bytes): &(u64, &[u8])| {
        let place = u32::try_from(*sector).expect("it fits").to_le_bytes();
        [&place[..], &[bytes.len() as u8], bytes].concat()
    };
    MARKS.iter().map(seed).collect()
}

/// Splits the input into pieces, each with its offset in bytes.
fn pieces(mut rest: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    std::iter::from_fn(move || {
        let (place, behind) = rest.split_first_chunk::<4>()?;
        let (length, behind) = behind.split_first()?;
        let (bytes, behind) = behind.split_at(usize::from(*length).min(behind.len()));
        rest = behind;
        let sectors = u64::from(u32::from_le_bytes(*place)) % (SIZE / SECTOR);
        Some((sectors * SECTOR, bytes))
    })
}

/// Returns true if all of these places were overwritten with zeros.
fn is_zero(device: &File, places: &[u64]) -> bool {
    places.iter().all(|place| {
        let mut byte = [0];
        device.read_exact_at(&mut byte, *place).is_ok() && byte == [0]
    })
}
