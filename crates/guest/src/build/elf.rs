//! Reads programs, libraries and kernels as ELF files (elf(5), 64 bits, little-endian). Finds their
//! dependencies, the parts that are loaded, and whether QEMU can start a kernel.

use std::mem::offset_of;

use object::elf::{DT_NEEDED, DT_STRSZ, DT_STRTAB, FileHeader64, PT_LOAD, ProgramHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{LittleEndian, StringTable};

type Header = FileHeader64<LittleEndian>;
type Segment = ProgramHeader64<LittleEndian>;

/// Dependencies of a program or library.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ElfDependencies {
    /// Path of the loader, without the leading slash.
    pub loader: Option<String>,
    /// Names of required libraries.
    pub libraries: Vec<String>,
}

/// Returns the dependencies of a file. A damaged file or one in another format than ELF has none.
pub fn dependencies(file: &[u8]) -> ElfDependencies {
    let segments = segments(file);
    let loader = segments
        .iter()
        .find_map(|s| s.interpreter(LittleEndian, file).ok()?)
        .map(|path| text(path).trim_start_matches('/').to_owned());
    ElfDependencies { loader, libraries: libraries(file, segments).unwrap_or_default() }
}

fn libraries(file: &[u8], segments: &[Segment]) -> Option<Vec<String>> {
    let mut dynamic = segments.iter();
    let entries = dynamic.find_map(|s| s.dynamic(LittleEndian, file).ok()?)?;
    let value = |tag: u32| {
        let entry = entries.iter().find(|e| e.tag32(LittleEndian) == Some(tag))?;
        Some(entry.d_val(LittleEndian))
    };
    let (address, length) = (value(DT_STRTAB)?, value(DT_STRSZ)?);
    let mut loaded = segments.iter();
    let names = loaded.find_map(|s| s.data_range(LittleEndian, file, address, length).ok()?)?;
    let names = StringTable::new(names, 0, names.len() as u64);
    let needed = entries.iter().filter(|e| e.tag32(LittleEndian) == Some(DT_NEEDED));
    let names = needed.filter_map(|e| e.string(LittleEndian, names).ok());
    Some(names.map(text).collect())
}

/// Removes the parts of an ELF file that are never loaded: symbols and line numbers for debuggers
/// at the end. Returns other files unchanged.
pub fn strip(file: &[u8]) -> Vec<u8> {
    let segments = segments(file).iter();
    let loaded = segments.filter(|s| s.p_type(LittleEndian) == PT_LOAD);
    let ranges = loaded.map(|s| s.file_range(LittleEndian));
    let end = ranges.map(|(offset, length)| offset.saturating_add(length)).max();
    let end = end.and_then(|end| usize::try_from(end).ok());
    let Some(kept) = end.and_then(|end| file.get(..end)) else {
        return file.to_vec();
    };
    let mut kept = kept.to_vec();
    // Location and number of the section headers, and the index of the section with their names.
    let (table, count) = (offset_of!(Header, e_shoff), offset_of!(Header, e_shnum));
    for field in [table..table + 8, count..count + 4] {
        if let Some(bytes) = kept.get_mut(field) {
            bytes.fill(0);
        }
    }
    kept
}

/// Returns true if a kernel has an entry point for direct boot by QEMU. The entry point is a note
/// of "Xen" of the type PHYS32_ENTRY (include/xen/interface/elfnote.h of the kernel).
pub fn is_startable(kernel: &[u8]) -> bool {
    const KIND_AND_OWNER: [u8; 8] = *b"\x12\0\0\0Xen\0";
    is_elf(kernel) && kernel.windows(KIND_AND_OWNER.len()).any(|bytes| bytes == KIND_AND_OWNER)
}

/// Returns true for an ELF file with 64 bits, little-endian.
pub fn is_elf(file: &[u8]) -> bool {
    file.starts_with(b"\x7fELF\x02\x01")
}

fn segments(file: &[u8]) -> &[Segment] {
    let header = Header::parse(file).ok().filter(|_| is_elf(file));
    header.and_then(|header| header.program_headers(LittleEndian, file).ok()).unwrap_or_default()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::elf::PT_DYNAMIC;
    use std::fs;
    use std::process::Command;

    /// Returns a program of this machine that is dynamically linked with libc.
    fn program() -> Vec<u8> {
        fs::read("/usr/bin/env").unwrap()
    }

    #[test]
    fn a_program_names_its_loader_and_its_libraries() {
        let needs = dependencies(&program());
        assert_eq!(needs.loader.as_deref(), Some("lib64/ld-linux-x86-64.so.2"));
        assert_eq!(needs.libraries, ["libc.so.6"]);
    }

    #[test]
    fn scripts_and_truncated_programs_have_no_dependencies() {
        assert_eq!(dependencies(b"#!/bin/sh\n"), ElfDependencies::default());
        let program = program();
        for length in [0, 6, 40, 64, 100, 700, 5000] {
            let _ = dependencies(&program[..length]);
            let _ = strip(&program[..length]);
        }
        assert_eq!(dependencies(&program[..6]), ElfDependencies::default());
        assert_eq!(strip(b"#!/bin/sh\n"), b"#!/bin/sh\n");
    }

    /// This test executable contains symbols and line numbers, and runs without them.
    #[test]
    fn program_runs_without_its_unloaded_parts() {
        let whole = fs::read(std::env::current_exe().unwrap()).unwrap();
        let kept = strip(&whole);
        assert!(kept.len() < whole.len(), "{} bytes", whole.len());
        assert_eq!(dependencies(&kept), dependencies(&whole));
        let directory = tempfile::tempdir().unwrap();
        let (data, program) = (directory.path().join("data"), directory.path().join("program"));
        fs::write(&data, kept).unwrap();
        // A concurrent test may fork a program at this moment. The child would inherit a file that
        // this test holds open for writing, and the file could not be executed.
        let mut install = Command::new("install");
        assert!(install.args([&data, &program]).status().unwrap().success());
        let output = Command::new(&program).arg("--list").output().unwrap();
        let listed = String::from_utf8(output.stdout).unwrap();
        assert!(listed.contains("program_runs_without_its_unloaded_parts"), "{listed}");
    }

    /// A table and a segment at the end of the address range, as in a damaged file.
    #[test]
    fn places_beyond_all_numbers_are_no_panic() {
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(0x40, 0);
        (file[0x20], file[0x36], file[0x38]) = (0x40, 56, 2);
        let segment = |kind: u32, offset, address, length| {
            [u64::from(kind), offset, address, 0, length, 0, 0].map(u64::to_le_bytes).concat()
        };
        file.extend(segment(PT_LOAD, u64::MAX, 1, u64::MAX));
        file.extend(segment(PT_DYNAMIC, 0x40 + 2 * 56, 0, u64::MAX));
        file.extend([1, u64::MAX, 5, 7].map(u64::to_le_bytes).concat());
        assert_eq!(dependencies(&file), ElfDependencies::default());
        assert_eq!(strip(&file), file);
    }

    #[test]
    fn startable_kernel_has_an_entry_note() {
        let note = b"\x04\0\0\0\x08\0\0\0\x12\0\0\0Xen\0\0\0\0\x01\0\0\0\0";
        let kernel = [&b"\x7fELF\x02\x01"[..], &[0; 90], note].concat();
        assert!(is_startable(&kernel));
        assert!(!is_startable(&kernel[..90]));
        assert!(!is_startable(note));
    }
}
