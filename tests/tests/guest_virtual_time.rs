//! Virtual time: equal numbers on two days and on a busy machine, results from the cache, and
//! detection of a leak of the host's time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use backend::{
    Cacheable, CachedExecutor, CellCache, CellKey, GuestExecutor, SnapshotPool, SnapshotStore,
};
use end_to_end::{guest, program};
use guest::{Guest, InitramfsContents};
use model::wire::CellJob;
use model::{Bytes, CellId, CellResult, Nanos, SizeProfile, Status};
use serde::{Deserialize, Serialize};

use crate::guest_bench::{Bench, execute};

const SIZE: Bytes = Bytes::mib(64);

/// Only programs of Debian, timed by the kernel's clock (`/proc/timer_list` has nanoseconds).
/// fsarena's programs would change the numbers with each build.
const SCRIPT: &str = r#"#!/bin/sh
PATH=/usr/sbin:/sbin:/usr/bin:/bin:/names
/bin/busybox mkdir /names; /bin/busybox --install -s /names
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
exec >/dev/console 2>&1
while read module parameters; do insmod /modules/$module $parameters; done < /modules/order
mount -t configfs config /sys/kernel/config
mkdir /sys/kernel/config/nullb/nullb0
while read name value; do
    [ -n "$name" ] && echo $value > /sys/kernel/config/nullb/nullb0/$name
done < /disk
lap() {
    while read a b c rest; do [ "$a $b" = "now at" ] && break; done < /proc/timer_list
    [ -n "$last" ] && echo "golden $1 $((c - last))"
    last=$c
}
lap
n=0; while [ $n -lt 2000 ]; do n=$((n+1)); done; lap count
dd if=/dev/zero of=/memory bs=64k count=256 2>/dev/null; lap copy-into-memory
cat /memory > /dev/null; lap read-memory
mkfs.minix -3 /dev/nullb0 > /dev/null; lap mkfs
mount -t minix /dev/nullb0 /mnt; lap mount
n=0; while [ $n -lt 100 ]; do : > /mnt/f$n; n=$((n+1)); done; sync; lap create
dd if=/memory of=/mnt/large bs=64k count=64 2>/dev/null; sync; lap write
umount /mnt; echo 3 > /proc/sys/vm/drop_caches; mount -t minix /dev/nullb0 /mnt; lap remount
cat /mnt/large > /dev/null; lap read
umount /mnt; lap unmount
poweroff -f
"#;

/// Durations of a fixed workload, and the versions with which they were measured.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Golden {
    /// QEMU's version string.
    emulator: String,
    /// Release of the kernel.
    kernel: String,
    /// Digest of the initial memory of the guest: the initramfs and the kernel.
    contents: String,
    /// Steps and their durations, in nanoseconds.
    laps: Vec<(String, u64)>,
}

fn golden_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/virtual_time.json")
}

fn take(guest: &Guest, bench: &Bench) -> Golden {
    let executor = bench.model("minix");
    let first = bench.directory.path().join("first");
    let agent = bench.file("init", SCRIPT);
    let contents = InitramfsContents {
        agent: &agent,
        modules: &executor.modules,
        programs: &executor.programs,
        commands: &executor.commands,
        archives: &[],
        disk: executor.disk_in_memory(),
        job: None,
    };
    guest.write_initramfs(&contents, &first).unwrap();
    let console = bench.directory.path().join("console");
    let mut machine = executor.machine.command(guest, &first, &[], &console);
    sys::process::set_pdeathsig(&mut machine);
    let ended = machine.stdin(Stdio::piped()).output().unwrap();
    let emulator = Command::new(machine.get_program()).arg("--version").output();
    let said = fs::read_to_string(&console).unwrap();
    assert!(ended.status.success(), "{said}");
    let laps = said.lines().filter_map(|line| {
        let mut words = line.trim().strip_prefix("golden ")?.split(' ');
        Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
    });
    let laps: Vec<(String, u64)> = laps.collect();
    assert_eq!(laps.len(), 10, "{said}");
    let emulator = String::from_utf8(emulator.unwrap().stdout).unwrap();
    let digests = [&first, &guest.kernel()].map(|path| digest(path));
    Golden {
        emulator: emulator.lines().next().unwrap_or_default().to_owned(),
        kernel: guest.release().to_owned(),
        contents: digests.join(" "),
        laps,
    }
}

fn digest(path: &Path) -> String {
    let output = Command::new("sha256sum").arg(path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_whitespace().next().unwrap().to_owned()
}

/// With the same packages as in the file, the durations must equal those of the file. With others,
/// the difference is printed and two runs must agree.
#[test]
fn a_fixed_workload_takes_the_same_nanoseconds_as_recorded() {
    let guest = guest();
    let taken = take(&guest, &Bench::new(SIZE));
    let kept: Option<Golden> =
        fs::read(golden_file()).ok().map(|text| serde_json::from_slice(&text).unwrap());
    let of = |golden: &Golden| {
        let Golden { emulator, kernel, contents, .. } = golden;
        format!("{emulator}; Linux {kernel}; {contents}")
    };
    match kept {
        Some(kept) if of(&kept) == of(&taken) => assert_eq!(taken, kept),
        kept => {
            let taken_json = serde_json::to_string_pretty(&taken).unwrap();
            println!(
                "not compared with {}: it is for\n  {}\nand not for\n  {}\nNew content:\n{taken_json}",
                golden_file().display(),
                kept.as_ref().map_or_else(|| "nothing".to_owned(), of),
                of(&taken),
            );
            assert_eq!(take(&guest, &Bench::new(SIZE)), taken);
        }
    }
}

#[test]
fn an_equal_cell_is_served_and_any_other_is_run() {
    let bench = Bench::new(SIZE);
    let test = bench.test("lifecycle", "lifecycle", SizeProfile::Smoke);
    let cells = CellCache::open(
        &bench.directory.path().join("cells"),
        sys::secret_key::SecretKey::new([7; 32]),
        CellCache::DEFAULT_LIMIT,
    )
    .unwrap();
    let executor = bench.model("hpfs");
    let mut job = bench.job("hpfs", &executor, &test);
    let mut cached = CachedExecutor::new(executor, Some(cells), None);
    let run = execute(&mut cached, &job);
    assert!(!run.from_cache && run.failure.is_none(), "{run:?}");
    // The position in a campaign and the directories of this machine are not part of a cell's key.
    job.cell = CellId(99);
    let elsewhere = tempfile::tempdir().unwrap();
    cached.executor().directory = elsewhere.path().to_owned();
    let served = execute(&mut cached, &job);
    let run = CellResult { from_cache: true, ..run };
    assert_eq!(served, run);
    let known = key(&mut cached, &job);
    let mut others = Vec::new();
    job.seed += 1;
    others.push(key(&mut cached, &job));
    job.seed -= 1;
    cached.executor().machine.memory = Bytes::mib(513);
    others.push(key(&mut cached, &job));
    cached.executor().machine.memory = Bytes::mib(512);
    if let Some(disk) = &mut cached.executor().memory_disk {
        disk.model.command = Nanos(1);
    }
    others.push(key(&mut cached, &job));
    if let Some(disk) = &mut cached.executor().memory_disk {
        disk.model.command = Nanos(0);
    }
    cached.executor().program = bench.file("agent", "another");
    others.push(key(&mut cached, &job));
    cached.executor().program = program::fsarena().to_owned();
    assert_eq!(key(&mut cached, &job), known);
    assert!(others.iter().all(|other| other.is_some() && *other != known));
    // Cells in real time or with a disk outside have no key.
    cached.executor().disks = bench.real("hpfs").disks;
    assert_eq!(key(&mut cached, &job), None);
}

/// A guest cannot detect whether it has booted or was restored from a snapshot, nor the age of the
/// snapshot.
#[test]
fn a_restored_snapshot_takes_the_same_nanoseconds_as_a_boot() {
    let bench = Bench::new(SIZE);
    let mut executor = bench.model("ext4");
    let test = bench.test("lifecycle", "lifecycle", SizeProfile::Smoke);
    let job = bench.job("ext4", &executor, &test);
    let mut run = |snapshots: Option<&Arc<SnapshotPool>>| {
        executor.snapshots = snapshots.cloned();
        let result = execute(&mut executor, &job);
        assert_eq!(result.status, Status::Ok, "{:?}", result.failure);
        (result.phases, result.kernel_log)
    };
    let booted = run(None);
    let directory = tempfile::tempdir().unwrap();
    let stored = || {
        let store = SnapshotStore::open(&directory.path().join("snapshots")).unwrap();
        Arc::new(SnapshotPool::stored(Some(store)))
    };
    // The second pool reads what the first one stored. The self-test uses a pool without a store.
    for (snapshots, runs) in [(stored(), 2), (stored(), 1)] {
        for _ in 0..runs {
            assert_eq!(run(Some(&snapshots)), booted);
            assert_eq!(snapshots.count(), 1);
        }
    }
    assert_eq!(directory.path().join("snapshots").read_dir().unwrap().count(), 1);
}

/// Five threads of three roles: one waits for its arrivals, one has think times and one runs until
/// another one finishes. The operations of each and all latencies are equal in the second run.
#[test]
fn a_mix_of_roles_takes_the_same_nanoseconds_twice() {
    let bench = Bench::new(SIZE);
    let mut executor = bench.model("ext4");
    let test = bench.test("mixes", "mail-server", SizeProfile::Smoke);
    let job = bench.job("ext4", &executor, &test);
    let mut run = || {
        let result = execute(&mut executor, &job);
        assert_eq!(result.status, Status::Ok, "{:?}", result.failure);
        result.phases
    };
    let (first, second) = (run(), run());
    let roles = first.iter().filter(|phase| phase.role_of.is_some());
    assert!(roles.clone().count() == 3 && roles.clone().all(|role| role.operations > 0));
    assert_eq!(first, second);
}

/// mkfs.jfs needs random numbers for the name of the volume. Without prepared ones, the program
/// would wait for the kernel to collect randomness, which takes a second or more of virtual time.
#[test]
fn no_program_waits_until_the_kernel_has_gathered_random_numbers() {
    let bench = Bench::new(SIZE);
    let test = bench.test("lifecycle", "lifecycle", SizeProfile::Smoke);
    let mut executor = bench.model("jfs");
    let job = bench.job("jfs", &executor, &test);
    let result = execute(&mut executor, &job);
    let mkfs = result.phases.iter().find(|p| p.phase == "mkfs").unwrap();
    assert_eq!(mkfs.status, Status::Ok, "{:?}", result.failure);
    assert!(mkfs.elapsed < Nanos::from_secs(1), "{:?}", mkfs.elapsed);
}

fn key(cached: &mut CachedExecutor<GuestExecutor>, job: &CellJob) -> Option<CellKey> {
    cached.executor().key(job).unwrap()
}

fn selftest(words: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(program::fsarena())
        .args(["--quiet", "guest", "selftest", "hpfs", "--test", "lifecycle"])
        .args(words)
        .env("XDG_CACHE_HOME", program::cache())
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

/// QEMU's main loop counted some hundred instructions twice if it was woken at the moment when the
/// guest halted.
#[test]
fn self_test_finds_equal_nanoseconds_under_any_load() {
    // All processors are busy with other tests.
    let conditions = ["elsewhere", "woken", "stopped", "memory"];
    let (code, said) = selftest(&conditions.map(|condition| ["--under", condition]).concat());
    assert_eq!(code, Some(0), "{said}");
    let same = said.matches("results to the nanosecond").count();
    assert_eq!(same, conditions.len(), "{said}");
}

#[test]
fn self_test_detects_a_disk_that_depends_on_real_time() {
    let (code, said) = selftest(&["--under", "again", "--runs", "2", "--leak"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("DIFFER, first ") && said.contains("likely: "), "{said}");
    let runs =
        said.lines().filter(|line| line.contains("to the nanosecond") || line.contains("DIFFER"));
    assert_eq!(runs.count(), 2, "{said}");
}
