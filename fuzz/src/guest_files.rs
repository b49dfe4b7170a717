//! External files for guests: programs, libraries, kernels, and a user-defined mirror.

use guest::build::elf;
use guest::{payload, validate_mirror};

/// Parses a file as a program and as a kernel, and its text as a mirror.
pub fn run(input: &[u8]) {
    elf::dependencies(input);
    let loaded = elf::strip(input);
    assert!(loaded.len() <= input.len());
    assert_eq!(elf::is_elf(&loaded), elf::is_elf(input) && loaded.len() >= 6);
    elf::is_startable(input);
    if let Some(payload) = payload(input) {
        assert!(payload.len() < input.len());
    }
    if let Ok(text) = str::from_utf8(input)
        && validate_mirror(text).is_ok()
    {
        assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{text:?}");
    }
}

/// Returns a program that needs a library, and the header of a kernel.
pub fn seeds() -> Vec<Vec<u8>> {
    vec![program(), kernel()]
}

/// Creates a program with one segment, the name of the loader, and a table with one library.
fn program() -> Vec<u8> {
    const LOADER: u64 = 0x40 + 3 * 56;
    const TABLE: u64 = LOADER + 16;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(0x40, 0);
    file[0x20] = 0x40;
    file[0x36] = 56;
    file[0x38] = 3;
    for [kind, offset, length] in [[1, 0, 0x200], [2, TABLE, 48], [3, LOADER, 10]] {
        let header = [kind, offset, offset, offset, length, length, 0];
        file.extend(header.iter().flat_map(|field| field.to_le_bytes()));
    }
    file.extend(b"/lib/ld.so\0\0\0\0\0\0");
    let entries = [1, 1, 5, TABLE + 48, 0, 0];
    file.extend(entries.iter().flat_map(|field: &u64| field.to_le_bytes()));
    file.extend(b"\0libc.so.6\0");
    file.resize(0x200, 0);
    file
}

/// Creates a kernel header: a sector of set-up code, the signature, and 16 packed bytes. Source:
/// Documentation/x86/boot.rst of the kernel.
fn kernel() -> Vec<u8> {
    let mut image = vec![0; 1024 + 32];
    image[0x1f1] = 1;
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[0x24c] = 20;
    image
}
