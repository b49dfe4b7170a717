//! Kernel logs and their expected events. The formats are from the sources named in `patterns.rs`.

use super::*;

/// A warning with its trace, between two unrelated lines. Linux 6.1.
const WARNING: &str = "\
<6>[  100.000001] EXT4-fs (loop0): mounted filesystem with ordered data mode. Quota mode: none.
<4>[  103.200001] ------------[ cut here ]------------
<4>[  103.200004] WARNING: CPU: 1 PID: 4711 at fs/inode.c:341 drop_nlink+0x24/0x40
<4>[  103.200010] Modules linked in: hfsplus cdrom loop ext4 crc16 mbcache jbd2
<4>[  103.200021] CPU: 1 PID: 4711 Comm: fsarena Not tainted 6.1.0-41-amd64 #1  Debian 6.1.158-1
<4>[  103.200023] Hardware name: QEMU Standard PC (i440FX + PIIX, 1996), BIOS 1.16.2-debian-1.16.2-1 04/01/2014
<4>[  103.200025] RIP: 0010:drop_nlink+0x24/0x40
<4>[  103.200030] Code: 0f 1f 84 00 00 00 00 00 0f 1f 44 00 00 8b 47 48 85 c0 74 1a 83 e8 01
<4>[  103.200031] RSP: 0018:ffffa1b0c0a8fd80 EFLAGS: 00010246
<4>[  103.200034] Call Trace:
<4>[  103.200036]  <TASK>
<4>[  103.200038]  hfsplus_unlink+0x1b1/0x1d0 [hfsplus]
<4>[  103.200041]  ? security_inode_permission+0x3a/0x60
<4>[  103.200044]  vfs_unlink+0x110/0x290
<4>[  103.200047]  </TASK>
<4>[  103.200049] ---[ end trace 0000000000000000 ]---
<6>[  103.900000] EXT4-fs (loop0): unmounting filesystem.";

/// An oops with the lines that the kernel adds after its end, and the resulting panic.
const OOPS: &str = "\
<1>[   12.000001] BUG: kernel NULL pointer dereference, address: 0000000000000028
<1>[   12.000002] #PF: supervisor read access in kernel mode
<1>[   12.000003] #PF: error_code(0x0000) - not-present page
<6>[   12.000004] PGD 0 P4D 0 
<4>[   12.000005] Oops: 0000 [#1] PREEMPT SMP PTI
<4>[   12.000006] CPU: 0 PID: 71 Comm: init Not tainted 6.1.0-41-amd64 #1
<4>[   12.000007] RIP: 0010:affs_alloc_extblock+0x4c/0x1d0 [affs]
<4>[   12.000008] Call Trace:
<4>[   12.000009]  <TASK>
<4>[   12.000010]  affs_get_block+0x12a/0x350 [affs]
<4>[   12.000011]  </TASK>
<4>[   12.000012] Modules linked in: affs
<4>[   12.000013] CR2: 0000000000000028
<4>[   12.000014] ---[ end trace 0000000000000000 ]---
<4>[   12.000015] RIP: 0010:affs_alloc_extblock+0x4c/0x1d0 [affs]
<6>[   12.000016] note: init[71] exited with irqs disabled
<0>[   12.000017] Kernel panic - not syncing: Fatal exception
<6>[   12.000018] Kernel Offset: disabled
<0>[   12.000019] ---[ end Kernel panic - not syncing: Fatal exception ]---";

/// Two consecutive kills at the limit of a control group.
const OUT_OF_MEMORY: &str = "\
<4>[  500.100001] rustc invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
<4>[  500.100010] CPU: 1 PID: 9001 Comm: rustc Not tainted 6.1.0-41-amd64 #1
<4>[  500.100020] Call Trace:
<4>[  500.100030]  dump_header+0x4a/0x200
<6>[  500.100040] memory: usage 65536kB, limit 65536kB, failcnt 318
<6>[  500.100050] Memory cgroup stats for /build:
<6>[  500.100060] anon 61865984
<6>[  500.100070] Tasks state (memory values in pages):
<6>[  500.100080] [  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name
<6>[  500.100090] [   9001]     0  9001    20480    15104   163840        0             0 rustc
<6>[  500.100100] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/build,task_memcg=/build,task=rustc,pid=9001,uid=0
<3>[  500.100110] Memory cgroup out of memory: Killed process 9001 (rustc) total-vm:81920kB, anon-rss:60416kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:160kB oom_score_adj:0
<6>[  500.101000] oom_reaper: reaped process 9001 (rustc), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB
<4>[  500.200001] cc1 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
<3>[  500.200010] Memory cgroup out of memory: Killed process 9002 (cc1) total-vm:1kB, anon-rss:1kB";

/// Two blocked tasks, reported by the same check, and a stuck processor.
const STUCK: &str = "\
<3>[  242.000001] INFO: task jfsCommit:81 blocked for more than 120 seconds.
<3>[  242.000002]       Not tainted 6.1.0-41-amd64 #1
<3>[  242.000003] \"echo 0 > /proc/sys/kernel/hung_task_timeout_secs\" disables this message.
<6>[  242.000004] task:jfsCommit       state:D stack:0     pid:81    ppid:2      flags:0x00004000
<6>[  242.000005] Call Trace:
<6>[  242.000006]  <TASK>
<6>[  242.000007]  __schedule+0x34d/0x9e0
<6>[  242.000008]  jfs_flush_journal+0x11a/0x2f0 [jfs]
<6>[  242.000009]  </TASK>
<3>[  242.000010] INFO: task init:70 blocked for more than 120 seconds.
<6>[  242.000011] task:init            state:D stack:0     pid:70    ppid:1      flags:0x00000002
<6>[  242.000012] Call Trace:
<6>[  242.000013]  io_schedule+0x46/0x80
<0>[  268.000001] watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [kworker/1:2:431]
<4>[  268.000002] Modules linked in: jfs
<4>[  268.000003] CPU: 1 PID: 431 Comm: kworker/1:2 Not tainted 6.1.0-41-amd64 #1
<4>[  268.000004] RIP: 0010:txEnd+0x5/0x300 [jfs]
<4>[  268.000005] Call Trace:
<4>[  268.000006]  jfs_lazycommit+0x1a2/0x430 [jfs]";

/// Reports of filesystems, each about one device.
const REPORTS: &str = "\
<3>[   10.000001] I/O error, dev loop0, sector 2048 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2
<3>[   10.000100] Buffer I/O error on dev loop0, logical block 256, lost sync page write
<2>[   10.000200] EXT4-fs error (device loop0): ext4_journal_check_start:83: comm fsarena: Detected aborted journal
<3>[   10.000300] Aborting journal on device loop0-8.
<2>[   10.000400] EXT4-fs (loop0): Remounting filesystem read-only
<3>[   10.050000] I/O error, dev loop0, sector 4096 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2
<1>[   20.000001] XFS (loop1): Metadata CRC error detected at xfs_agf_read_verify+0xb6/0xe0 [xfs], xfs_agf block 0x1
<1>[   20.000002] XFS (loop1): Unmount and run xfs_repair
<1>[   20.000003] XFS (loop1): First 128 bytes of corrupted metadata buffer:
<1>[   20.000004] 00000000: 58 41 47 46 00 00 00 01 00 00 00 00 00 00 ff ff  XAGF............
<1>[   20.000005] 00000010: 00 00 00 01 00 00 00 02 00 00 00 00 00 00 00 01  ................
<1>[   20.000006] XFS (loop1): metadata I/O error in \"xfs_read_agf+0x8e/0x120 [xfs]\" at daddr 0x1 len 1 error 74
<3>[   30.000001] BTRFS error (device nvme0n1p2): parent transid verify failed on logical 30408704 mirror 1
<2>[   30.000002] BTRFS: error (device nvme0n1p2: state A) in btrfs_finish_ordered_io:3326: errno=-5 IO failure
<6>[   30.000003] BTRFS info (device nvme0n1p2: state EA): forced readonly
<4>[   35.000001] BTRFS warning (device nvme0n1p2): csum failed root 5 ino 260 off 0
<4>[   35.000002] BTRFS warning (device sda1): csum failed root 5 ino 260 off 0";

/// Parses `<4>[  100.000001] text`, the format of `dmesg --raw`.
fn log(raw: &str) -> Vec<LogLine> {
    let line = |line: &str| {
        let (level, rest) = line.split_once('[').unwrap();
        let (time, text) = rest.split_once("] ").unwrap();
        let seconds: f64 = time.trim().parse().unwrap();
        LogLine { at: Some(Nanos((seconds * 1e9) as u64)), text: format!("{level} {text}") }
    };
    raw.lines().map(line).collect()
}

/// Returns the number of lines and the title of each event.
fn told(raw: &str) -> Vec<(usize, String)> {
    let events = events(log(raw)).into_iter();
    events.map(|e| (e.lines.len(), e.title)).collect()
}

fn wanted(events: &[(usize, &str)]) -> Vec<(usize, String)> {
    let events = events.iter();
    events.map(|(n, title)| (*n, (*title).to_owned())).collect()
}

#[test]
fn a_warning_is_one_event_between_its_marks() {
    let all = wanted(&[
        (1, "<6> EXT4-fs (loop0): mounted filesystem with ordered data mode. Quota mode: none."),
        (15, "<4> WARNING: CPU: 1 PID: 4711 at fs/inode.c:341 drop_nlink+0x24/0x40"),
        (1, "<6> EXT4-fs (loop0): unmounting filesystem."),
    ]);
    assert_eq!(told(WARNING), all);
    let complaints: Vec<bool> =
        events(log(WARNING)).iter().map(KernelEvent::is_complaint).collect();
    assert_eq!(complaints, [false, true, false]);
}

#[test]
fn oops_and_resulting_panic_are_one_event() {
    let title = "<1> BUG: kernel NULL pointer dereference, address: 0000000000000028";
    assert_eq!(told(OOPS), wanted(&[(19, title)]));
}

#[test]
fn want_of_memory_is_one_event_for_each_kill() {
    let first = "<3> Memory cgroup out of memory: Killed process 9001 (rustc) total-vm:81920kB, \
                 anon-rss:60416kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:160kB oom_score_adj:0";
    let second = "<3> Memory cgroup out of memory: Killed process 9002 (cc1) total-vm:1kB, \
                  anon-rss:1kB";
    assert_eq!(told(OUT_OF_MEMORY), wanted(&[(13, first), (2, second)]));
}

#[test]
fn each_blocked_task_and_stuck_processor_is_one_event() {
    assert_eq!(
        told(STUCK),
        wanted(&[
            (9, "<3> INFO: task jfsCommit:81 blocked for more than 120 seconds."),
            (4, "<3> INFO: task init:70 blocked for more than 120 seconds."),
            (6, "<0> watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [kworker/1:2:431]"),
        ])
    );
}

#[test]
fn device_messages_at_one_moment_are_one_event_until_repeated() {
    let all = [
        (
            5,
            "<2> EXT4-fs error (device loop0): ext4_journal_check_start:83: comm fsarena: Detected aborted journal",
        ),
        (
            1,
            "<3> I/O error, dev loop0, sector 4096 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2",
        ),
        (
            6,
            "<1> XFS (loop1): Metadata CRC error detected at xfs_agf_read_verify+0xb6/0xe0 [xfs], xfs_agf block 0x1",
        ),
        (
            3,
            "<2> BTRFS: error (device nvme0n1p2: state A) in btrfs_finish_ordered_io:3326: errno=-5 IO failure",
        ),
        (1, "<4> BTRFS warning (device nvme0n1p2): csum failed root 5 ino 260 off 0"),
        (1, "<4> BTRFS warning (device sda1): csum failed root 5 ino 260 off 0"),
    ];
    assert_eq!(told(REPORTS), wanted(&all));
}

#[test]
fn events_of_one_kind_differ_only_in_numbers() {
    let kind = |sector: u32| {
        let line = format!("<3> I/O error, dev loop0, sector {sector} op 0x1:(WRITE)");
        KernelEvent::from_line(line).kind()
    };
    assert_eq!(kind(7), kind(2048));
    assert_eq!(kind(7), "# I/O error, dev # sector # op #");
}

#[test]
fn block_devices_are_known_from_other_words() {
    for name in [
        "loop0",
        "loop12",
        "sda",
        "sdb7",
        "vda",
        "nvme0n1",
        "nvme0n1p2",
        "dm-0",
        "mmcblk0p1",
        "nullb0",
    ] {
        assert!(patterns::is_block_device(name), "{name}");
    }
    for word in ["loop", "loopback", "sd", "vdso", "dm", "nvme", "srcu", ""] {
        assert!(!patterns::is_block_device(word), "{word}");
    }
}

#[derive(Deserialize)]
struct Stored {
    #[serde(deserialize_with = "read")]
    kernel_log: Vec<KernelEvent>,
}

/// A database of an older version contains lines. A trace had sixty of them.
#[test]
fn lines_of_an_older_database_are_read_as_events() {
    let lines: Vec<String> = log(WARNING).into_iter().map(|line| line.text).collect();
    let stored = serde_json::json!({ "kernel_log": lines });
    let read: Stored = serde_json::from_value(stored).unwrap();
    let events: Vec<_> = read.kernel_log.iter().map(|e| (e.lines.len(), e.concern)).collect();
    let (cell, unknown) = (Attribution::Cell, Attribution::Unknown);
    assert_eq!(events, [(1, cell), (15, unknown), (1, cell)]);
    let again = serde_json::json!({ "kernel_log": read.kernel_log });
    let read_again: Stored = serde_json::from_value(again).unwrap();
    assert_eq!(read_again.kernel_log, read.kernel_log);
}
