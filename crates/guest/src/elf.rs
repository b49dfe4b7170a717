//! Reads programs, libraries and kernels as files (elf(5), 64 bits, little-endian): what they need, what of
//! them is ever loaded, and whether QEMU can start one as a kernel.

const LOAD: u64 = 1;
const DYNAMIC: u64 = 2;
const INTERPRETER: u64 = 3;

/// What a program or library names.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The path of its loader, without the slash it begins with.
    pub loader: Option<String>,
    /// Names of libraries.
    pub libraries: Vec<String>,
}

/// What a file needs; one that is no ELF file needs nothing.
pub fn needs(file: &[u8]) -> Needs {
    let segments = segments(file);
    let text = |offset: u64| text(file, offset);
    let interpreter = segments.iter().find(|s| s.kind == INTERPRETER);
    let loader = interpreter.map(|s| text(s.offset).trim_start_matches('/').to_owned());
    let loaded: Vec<&Segment> = segments.iter().filter(|s| s.kind == LOAD).collect();
    let dynamic = segments.iter().find(|s| s.kind == DYNAMIC);
    let libraries = dynamic.map_or_else(Vec::new, |s| {
        let names = library_names(file, s, &loaded);
        names.into_iter().map(text).collect()
    });
    Needs { loader, libraries }
}

/// The file without what is never loaded: names and line numbers for debuggers lie behind all else. What is
/// no ELF file stays as it is.
pub fn loaded(file: &[u8]) -> Vec<u8> {
    /// Where the table of sections lies, how many there are, and which of them holds their names.
    const SECTIONS: [std::ops::Range<usize>; 2] = [0x28..0x30, 0x3c..0x40];
    let segments = segments(file);
    let loaded = segments.iter().filter(|s| s.kind == LOAD);
    let end = loaded.map(|s| s.offset.saturating_add(s.length)).max();
    let end = end.and_then(|end| usize::try_from(end).ok());
    let Some(kept) = end.and_then(|end| file.get(..end)) else {
        return file.to_vec();
    };
    let mut kept = kept.to_vec();
    for field in SECTIONS {
        if let Some(bytes) = kept.get_mut(field) {
            bytes.fill(0);
        }
    }
    kept
}

/// Whether a kernel names the place where QEMU enters it directly: a note of "Xen" of the kind
/// PHYS32_ENTRY, as include/xen/interface/elfnote.h of the kernel describes it.
pub fn is_startable(kernel: &[u8]) -> bool {
    const KIND_AND_OWNER: [u8; 8] = *b"\x12\0\0\0Xen\0";
    is_elf(kernel)
        && kernel
            .windows(KIND_AND_OWNER.len())
            .any(|bytes| bytes == KIND_AND_OWNER)
}

/// Whether it is an ELF file of the kind that is read here.
pub fn is_elf(file: &[u8]) -> bool {
    file.starts_with(b"\x7fELF\x02\x01")
}

fn segments(file: &[u8]) -> Vec<Segment> {
    if !is_elf(file) {
        return Vec::new();
    }
    let (table, size, count) = (
        number(file, 0x20, 8),
        number(file, 0x36, 2),
        number(file, 0x38, 2),
    );
    (0..count)
        .map(|index| Segment::at(file, table.saturating_add(index * size)))
        .collect()
}

/// A part of the file, and where it lies in memory.
struct Segment {
    kind: u64,
    offset: u64,
    address: u64,
    length: u64,
}

impl Segment {
    fn at(file: &[u8], header: u64) -> Self {
        Self {
            kind: number(file, header, 4),
            offset: number(file, header.saturating_add(8), 8),
            address: number(file, header.saturating_add(16), 8),
            length: number(file, header.saturating_add(32), 8),
        }
    }
}

/// Where in the file the names of the needed libraries stand.
fn library_names(file: &[u8], dynamic: &Segment, loaded: &[&Segment]) -> Vec<u64> {
    const END: u64 = 0;
    const NEEDED: u64 = 1;
    const TEXTS: u64 = 5;
    const ENTRY: u64 = 16;
    let entries = (0..dynamic.length / ENTRY).map(|index| {
        let at = dynamic.offset.saturating_add(index * ENTRY);
        (number(file, at, 8), number(file, at.saturating_add(8), 8))
    });
    let entries: Vec<(u64, u64)> = entries.take_while(|(tag, _)| *tag != END).collect();
    let texts = entries.iter().find(|(tag, _)| *tag == TEXTS);
    let Some((_, address)) = texts else {
        return Vec::new();
    };
    let around = |s: &&&Segment| (s.address..s.address.saturating_add(s.length)).contains(address);
    let Some(segment) = loaded.iter().find(around) else {
        return Vec::new();
    };
    let texts = (address - segment.address).saturating_add(segment.offset);
    let needed = entries.iter().filter(|(tag, _)| *tag == NEEDED);
    needed
        .map(|(_, name)| texts.saturating_add(*name))
        .collect()
}

/// A little-endian number; zero beyond the end.
fn number(file: &[u8], offset: u64, length: usize) -> u64 {
    let begin = usize::try_from(offset).unwrap_or(usize::MAX);
    let bytes = file
        .get(begin..begin.saturating_add(length))
        .unwrap_or_default();
    bytes
        .iter()
        .rev()
        .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// The text that begins there and ends with a zero byte.
fn text(file: &[u8], offset: u64) -> String {
    let begin = usize::try_from(offset).unwrap_or(usize::MAX);
    let bytes = file.get(begin..).unwrap_or_default();
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    /// A program of this machine's that is linked with the library of C, as all but static ones are.
    fn program() -> Vec<u8> {
        fs::read("/usr/bin/env").unwrap()
    }

    #[test]
    fn a_program_names_its_loader_and_its_libraries() {
        let needs = needs(&program());
        assert_eq!(needs.loader.as_deref(), Some("lib64/ld-linux-x86-64.so.2"));
        assert_eq!(needs.libraries, ["libc.so.6"]);
    }

    #[test]
    fn what_is_no_program_or_is_cut_off_needs_nothing_and_is_no_panic() {
        assert_eq!(needs(b"#!/bin/sh\n"), Needs::default());
        let program = program();
        for length in [0, 6, 40, 64, 100, 700, 5000] {
            let _ = needs(&program[..length]);
            let _ = loaded(&program[..length]);
        }
        assert_eq!(needs(&program[..6]), Needs::default());
        assert_eq!(loaded(b"#!/bin/sh\n"), b"#!/bin/sh\n");
    }

    /// This very test has names and line numbers in it, and runs without them.
    #[test]
    fn a_program_runs_without_what_is_never_loaded() {
        let whole = fs::read(std::env::current_exe().unwrap()).unwrap();
        let kept = loaded(&whole);
        assert!(kept.len() < whole.len(), "{} bytes", whole.len());
        assert_eq!(needs(&kept), needs(&whole));
        let directory = tempfile::tempdir().unwrap();
        let (data, program) = (
            directory.path().join("data"),
            directory.path().join("program"),
        );
        fs::write(&data, kept).unwrap();
        // Another test may start a program right now, which would hold a file that this one has open.
        let mut install = Command::new("install");
        assert!(install.args([&data, &program]).status().unwrap().success());
        let output = Command::new(&program).arg("--list").output().unwrap();
        let listed = String::from_utf8(output.stdout).unwrap();
        assert!(listed.contains("a_program_runs_without"), "{listed}");
    }

    /// A table and a segment at the end of all addresses, as a damaged file has them.
    #[test]
    fn places_beyond_all_numbers_are_no_panic() {
        let mut file = b"\x7fELF\x02\x01".to_vec();
        file.resize(0x40, 0);
        (file[0x20], file[0x36], file[0x38]) = (0x40, 56, 2);
        let segment = |kind: u64, offset, address, length| {
            [kind, offset, address, 0, length, 0, 0]
                .map(u64::to_le_bytes)
                .concat()
        };
        file.extend(segment(LOAD, u64::MAX, 1, u64::MAX));
        file.extend(segment(DYNAMIC, 0x40 + 2 * 56, 0, u64::MAX));
        file.extend([1, u64::MAX, 5, 7].map(u64::to_le_bytes).concat());
        assert_eq!(needs(&file).libraries, [""]);
        assert_eq!(loaded(&file), file);
    }

    #[test]
    fn a_kernel_that_qemu_can_start_says_where() {
        let note = b"\x04\0\0\0\x08\0\0\0\x12\0\0\0Xen\0\0\0\0\x01\0\0\0\0";
        let kernel = [&b"\x7fELF\x02\x01"[..], &[0; 90], note].concat();
        assert!(is_startable(&kernel));
        assert!(!is_startable(&kernel[..90]));
        assert!(!is_startable(note));
    }
}
