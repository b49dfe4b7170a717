//! Checks that reading any file content returns a valid entry or a one-line error, and never
//! panics.

use model::SizeProfile;
use proptest::prelude::*;

use crate::catalog::document::TomlSource;
use crate::catalog::{age_file, disk_file, filesystem_file, uses_file};
use crate::suite::suite_file;

const FILESYSTEM: &str = include_str!("../../../catalog/filesystems/zfs-fuse.toml");
const SUITE: &str = include_str!("../../../catalog/suites/bonnie.toml");
const USE: &str = include_str!("../../../catalog/uses/removable.toml");
const DISK: &str = include_str!("../../../catalog/disks/sata-ssd.toml");
const AGE: &str = include_str!("../../../catalog/ages/wang-os.toml");
const SWEEP: &str = include_str!("../../../catalog/suites/iozone.toml");

/// Reads a text as every kind of file.
fn read(text: &str) {
    let source = TomlSource { file: "x.toml", text };
    let errors = [
        filesystem_file::read(source).err(),
        suite_file::read(source, SizeProfile::Study, None).err(),
        uses_file::read(source).err(),
        disk_file::read(source).err(),
        age_file::read(source).err(),
    ];
    for error in errors.into_iter().flatten() {
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
}

/// Returns the text with a part of it replaced.
fn damaged(text: &str, at: usize, length: usize, by: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let at = at % chars.len();
    let end = (at + length).min(chars.len());
    let (before, after) = (&chars[..at], &chars[end..]);
    before.iter().chain(&by.chars().collect::<Vec<_>>()).chain(after).collect()
}

#[test]
fn deep_nesting_is_an_error_and_not_an_overflow() {
    for open in ["a = [", "a = {a = ", "[a."] {
        read(&open.repeat(50_000));
    }
}

proptest! {
    #[test]
    fn any_text_can_be_read(text in ".*") {
        read(&text);
    }

    #[test]
    fn a_damaged_file_can_be_read(at: usize, length in 0usize..40, by in "[$\"'=\\[\\]{}#a-z0-9.\n-]{0,12}") {
        read(&damaged(FILESYSTEM, at, length, &by));
        read(&damaged(AGE, at, length, &by));
        read(&damaged(SUITE, at, length, &by));
        read(&damaged(USE, at, length, &by));
        read(&damaged(DISK, at, length, &by));
        read(&damaged(SWEEP, at, length, &by));
    }
}
