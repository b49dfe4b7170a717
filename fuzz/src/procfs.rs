//! Kernel files about a machine: `/proc`, `/sys` and `/dev/kmsg`.

use std::fs;
use std::os::unix::ffi::OsStrExt;

use backend::cell::memory;
use storage::host::{environment, sysfs};
use storage::swap_files;
use sys::mount::mounts;
use sys::process::usage;
use sys::{block, kmsg, process};

/// Parses one file with each of the parsers.
pub fn run(input: &[u8]) {
    mount_table(input);
    for file in swap_files(input) {
        assert!(!file.as_os_str().is_empty());
    }
    let text = &*String::from_utf8_lossy(input);
    if let Some(line) = kmsg::parse_record(text) {
        assert!(!line.text.contains('\n'), "{line:?}");
    }
    if let Some(one) = block::parse(text) {
        let none = block::difference(one, one);
        assert_eq!(block::sum(one, none), one);
        let _ = block::sum(one, one);
    }
    let _ = process::is_for_writing(text);
    if let Some(found) = process::parse(text) {
        assert!(text.contains(&found.name));
    }
    let _ = (usage::parse_proc_stat(text), sysfs::numbered(text));
    let _ = (sys::memory::parse_available(text), environment::memory(text));
    let _ = (environment::cpu_model(text), environment::distribution(text));
    let _ = (memory::kills(text), memory::current_cgroup(text));
}

/// Returns the files of the machine that runs this program.
pub fn seeds() -> Vec<Vec<u8>> {
    let files = [
        "/proc/self/mountinfo",
        "/proc/swaps",
        "/proc/self/stat",
        "/proc/stat",
        "/proc/meminfo",
        "/proc/self/cgroup",
    ];
    let texts = files.into_iter().filter_map(|file| fs::read(file).ok());
    texts.map(|text| text[..text.len().min(4096)].to_vec()).collect()
}

/// Checks that each line is a mount and that no path is longer than its escaped field.
fn mount_table(table: &[u8]) {
    match mounts::table(table) {
        Err(error) => crate::property::is_one_line(&error),
        Ok(found) => {
            let lines = table.split(|byte| *byte == b'\n');
            assert_eq!(found.len(), lines.filter(|line| !line.is_empty()).count());
            let long: usize = found.iter().map(|mount| mount.on.as_os_str().len()).sum();
            assert!(long <= table.len());
        }
    }
    assert!(mounts::unescape(table).as_os_str().as_bytes().len() <= table.len());
}
