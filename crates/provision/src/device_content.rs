//! Whether a device holds anything: partitions, a signature, a byte that is not zero.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use model::{Bytes, SeededRng};

use crate::sysfs::Identity;
use crate::{Refusal, find_program, sysfs};

/// Both ends are read whole: most formats keep something there.
const END: u64 = 1 << 20;
/// Between the ends, so many blocks are looked at, one in each equal part.
const SAMPLES: u64 = 256;
const SAMPLE: u64 = 4096;
/// Exit codes of blkid(8): something was found, nothing was found, several things contradict.
const FOUND: i32 = 0;
const NOTHING: i32 = 2;
const AMBIVALENT: i32 = 8;

/// Refuses a device that holds anything.
pub fn require_blank(
    path: &Path,
    device: Identity,
    file: &File,
    size: Bytes,
) -> Result<(), Refusal> {
    let partitions = sysfs::partitions(device);
    if !partitions.is_empty() {
        let names: Vec<String> = partitions.into_iter().map(|(name, _)| name).collect();
        return Err(Refusal::Partitions {
            path: path.to_owned(),
            names: names.join(", "),
        });
    }
    require_no_signature(path)?;
    match first_data(file, size.0) {
        Ok(None) => Ok(()),
        Ok(Some(offset)) => Err(Refusal::Data {
            path: path.to_owned(),
            offset,
        }),
        Err(source) => Err(Refusal::Unreadable {
            path: path.to_owned(),
            source,
        }),
    }
}

fn require_no_signature(path: &Path) -> Result<(), Refusal> {
    let not_probed = |reason: String| Refusal::NotProbed {
        path: path.to_owned(),
        reason,
    };
    let blkid = find_program("blkid").ok_or_else(|| not_probed("no blkid".to_owned()))?;
    let output = Command::new(blkid)
        .args(["-p", "-o", "export"])
        .arg(path)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| not_probed(error.to_string()))?;
    match judge(&output) {
        Probe::Nothing => Ok(()),
        Probe::Found(found) => Err(Refusal::Signature {
            path: path.to_owned(),
            found,
        }),
        Probe::Failed(reason) => Err(not_probed(reason)),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Probe {
    Nothing,
    Found(String),
    Failed(String),
}

/// Only the one exit code that means "nothing found" is good news.
fn judge(output: &Output) -> Probe {
    match output.status.code() {
        Some(FOUND) => Probe::Found(describe(&String::from_utf8_lossy(&output.stdout))),
        Some(NOTHING) => Probe::Nothing,
        Some(AMBIVALENT) => Probe::Found("signatures of several kinds".to_owned()),
        _ => {
            let error = String::from_utf8_lossy(&output.stderr);
            let line = error.lines().next().unwrap_or_default();
            Probe::Failed(format!("blkid: {} {line}", output.status))
        }
    }
}

/// From `KEY=value` lines: `a partition table (dos)`, `ext4 (filesystem)`.
fn describe(export: &str) -> String {
    let value = |key: &str| {
        export
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
    };
    match (value("TYPE"), value("PTTYPE")) {
        (Some(kind), _) => match value("USAGE") {
            Some(usage) => format!("{kind} ({usage})"),
            None => kind.to_owned(),
        },
        (None, Some(table)) => format!("a partition table ({table})"),
        (None, None) => "a signature".to_owned(),
    }
}

/// Where the first byte that is not zero was seen: in the first or last MiB or in a sample.
fn first_data(file: &File, size: u64) -> io::Result<Option<u64>> {
    let ends = [(0, size.min(END)), (size - size.min(END), size.min(END))];
    for (offset, length) in ends.into_iter().chain(samples(size)) {
        let mut buffer = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        file.read_exact_at(&mut buffer, offset)?;
        if let Some(position) = buffer.iter().position(|byte| *byte != 0) {
            return Ok(Some(offset + position as u64));
        }
    }
    Ok(None)
}

/// One block at a place of its own in each of 256 equal parts; none where both ends cover it all.
fn samples(size: u64) -> Vec<(u64, u64)> {
    if size <= 2 * END {
        return Vec::new();
    }
    let mut chance = SeededRng::for_purpose(size, "samples of a device");
    let blocks = size / SAMPLE;
    (0..SAMPLES)
        .map(|part| {
            let first = blocks * part / SAMPLES;
            let behind = blocks * (part + 1) / SAMPLES;
            let block = first + chance.below((behind - first).max(1));
            (block * SAMPLE, SAMPLE)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use proptest::prelude::*;

    use super::*;

    fn output(wait_status: i32, stdout: &str) -> Output {
        Output {
            status: ExitStatus::from_raw(wait_status),
            stdout: stdout.into(),
            stderr: b"no such luck\nmore".to_vec(),
        }
    }

    #[test]
    fn only_a_clear_nothing_counts_as_nothing() {
        assert_eq!(judge(&output(2 << 8, "")), Probe::Nothing);
        assert!(matches!(judge(&output(0, "")), Probe::Found(_)));
        assert!(matches!(judge(&output(8 << 8, "")), Probe::Found(_)));
        for wait_status in [1 << 8, 4 << 8, 127 << 8, 9] {
            let judged = judge(&output(wait_status, ""));
            assert!(matches!(judged, Probe::Failed(reason) if reason.contains("no such luck")));
        }
    }

    #[test]
    fn says_what_was_found_in_words() {
        assert_eq!(
            describe("DEVNAME=/dev/x\nTYPE=ext4\nUSAGE=filesystem\n"),
            "ext4 (filesystem)"
        );
        assert_eq!(describe("PTTYPE=gpt\n"), "a partition table (gpt)");
        assert_eq!(describe("UUID=1\n"), "a signature");
    }

    #[test]
    fn a_byte_at_either_end_is_found() {
        let file = tempfile::tempfile().unwrap();
        let size = 8 << 20;
        file.set_len(size).unwrap();
        assert_eq!(first_data(&file, size).unwrap(), None);
        file.write_all_at(b"x", size - 1).unwrap();
        assert_eq!(first_data(&file, size).unwrap(), Some(size - 1));
        file.write_all_at(b"x", 77).unwrap();
        assert_eq!(first_data(&file, size).unwrap(), Some(77));
    }

    #[test]
    fn a_filled_middle_is_found_and_tiny_files_are_read_whole() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8 << 20).unwrap();
        file.write_all_at(&vec![1; 1 << 20], 4 << 20).unwrap();
        let found = first_data(&file, 8 << 20).unwrap().unwrap();
        assert!((4 << 20..5 << 20).contains(&found));
        let tiny = tempfile::tempfile().unwrap();
        tiny.write_all_at(&[0, 0, 3], 0).unwrap();
        assert_eq!(first_data(&tiny, 3).unwrap(), Some(2));
    }

    proptest! {
        #[test]
        fn samples_are_in_order_apart_and_inside(size in 0u64..1 << 50) {
            let samples = samples(size);
            prop_assert!(samples.windows(2).all(|w| w[0].0 + w[0].1 <= w[1].0));
            prop_assert!(samples.iter().all(|(offset, length)| offset + length <= size));
        }

        #[test]
        fn describing_never_panics(text in "(?s).*") {
            let _ = describe(&text);
        }
    }
}
