//! Cold and warm caches differ: a cold phase reads the device and a warm phase does not.

use std::fs;

use end_to_end::{Sandbox, cells_of, run};
use model::{CacheState, Status};

const SIZE: u64 = 16 << 20;

const SUITE: &str = r#"
name = "temperature"
title = "The same file, warm and cold"
source = "made for a test"

[[test]]
name = "temperature"
title = "The same file, warm and cold"
rationale = "What was just written is in memory; after an unmount it is not."
space = "16 MiB"
phase = [
  { name = "write", op = "write", file = "f", size = "16 MiB", block = "64 KiB", cache = "warm", ends = "fsync" },
  { name = "warm", op = "read", file = "f", block = "64 KiB", cache = "warm", ends = "call" },
  { name = "cold", op = "read", file = "f", block = "64 KiB", verify = true, cache = "cold", ends = "call" },
  { name = "warm-again", op = "read", file = "f", block = "64 KiB", cache = "warm", ends = "call" },
  { name = "advised", op = "read", file = "f", block = "64 KiB", cache = "advised", ends = "call" },
]
"#;

/// Filesystems of the kernel, and one in a process.
const CONTENDERS: [&str; 4] = ["ext4", "xfs", "btrfs", "ntfs-3g"];

/// Returns the number of times that the kernel was asked to drop the page cache of the whole machine.
fn drops() -> String {
    let statistics = fs::read_to_string("/proc/vmstat").expect("the kernel counts");
    let counts = statistics.lines().find_map(|line| line.strip_prefix("drop_pagecache "));
    counts.expect("the kernel counts this").to_owned()
}

/// Needs exclusive use of the machine: a copy from a source in another campaign would drop the page cache.
#[test]
fn the_device_is_read_when_cold_and_not_when_warm() {
    let sandbox = Sandbox::exclusive();
    sandbox.add_suite("temperature", SUITE);
    let mut command = sandbox.campaign(&CONTENDERS, "temperature");
    let before = drops();
    run(command.args(["--size", "320MiB"])).assert_code(0);
    assert_eq!(drops(), before, "files of other programs stay in memory");
    let results = sandbox.results();
    for contender in CONTENDERS {
        let cell = cells_of(&results, contender)[0];
        assert_eq!(cell.status, Status::Ok, "{:?}", cell.failure);
        for phase in &cell.phases[1..] {
            let read = phase.device.expect("it lives on a device").read_bytes.0;
            match phase.cache {
                CacheState::Cold => assert!(read >= SIZE, "{contender} read {read} cold"),
                CacheState::Warm => assert_eq!(read, 0, "{contender} {} phase", phase.phase),
                // The request to the kernel is only advice, but no other process uses these pages.
                CacheState::FadviseDontNeed if contender == "ntfs-3g" => {}
                CacheState::FadviseDontNeed => {
                    assert!(read >= SIZE / 2, "{contender} forgot {read}");
                }
                other => panic!("{contender}: {other} was not requested"),
            }
        }
    }
    sandbox.assert_clean();
}
