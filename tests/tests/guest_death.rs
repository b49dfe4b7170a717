//! Guests that die: each cause is distinguished, with the running step and the last messages, and
//! no process outlives the program that started it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use backend::Executor;
use end_to_end::{Sandbox, program};
use model::wire::{CellEvent, CellJob, WorkTarget};
use model::{Bytes, CellResult, Nanos, SizeProfile, Status};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sys::process::Process;

use crate::guest_bench::{Bench, execute};
use crate::stopwatch::Stopwatch;

const SIZE: Bytes = Bytes::mib(64);
const TREE: (&str, &str) = ("tree", "tree");
const LARGE_FILE: (&str, &str) = ("large-file", "large-file");
/// Maximum time until a killed process has ended, on a machine that is busy with other tests.
const SOON: Duration = Duration::from_secs(120);

#[track_caller]
fn assert_died(result: &CellResult, status: Status, step: &str, reason: &[&str]) {
    let failure = result.failure.as_ref().expect("a reason");
    assert_eq!(result.status, status, "{failure:?}");
    assert_eq!(failure.step, step, "{failure:?}");
    for words in reason {
        assert!(failure.reason.contains(words), "{words}: {}", failure.reason);
    }
    // Each missing result needs a reason.
    for phase in &result.phases {
        assert!(phase.status == Status::Ok || phase.failure.is_some(), "{}", phase.phase);
    }
}

/// Replaces one of the filesystem's programs by a shell script; `$0`, `$1` … are its arguments.
fn script(job: &mut CellJob, program: &str, text: &str, arguments: &[&str]) {
    let WorkTarget::Volume(volume) = &mut job.target else {
        panic!("a cell in a guest has a volume");
    };
    let shell = ["sh", "-c", text];
    let words = shell.iter().chain(arguments);
    let words: Vec<String> = words.map(|&word| word.to_owned()).collect();
    match program {
        "mkfs" => volume.commands.mkfs = words,
        "mount" => volume.commands.mount = words,
        other => panic!("{other}"),
    }
}

fn tree(bench: &Bench) -> model::Test {
    bench.test(TREE.0, TREE.1, SizeProfile::Smoke)
}

fn quick_file(bench: &Bench) -> model::Test {
    bench.test(LARGE_FILE.0, LARGE_FILE.1, SizeProfile::Quick)
}

#[test]
fn running_out_of_memory_ends_the_guest_and_names_the_process() {
    let bench = Bench::new(SIZE);
    let mut executor = bench.model("minix");
    // The root of a guest has half of its memory, which holds the program of the tests.
    executor.machine.memory = Bytes::mib(384);
    let mut job = bench.job("minix", &executor, &tree(&bench));
    // It keeps the last lines, and here is only one.
    let eater = "exec tail /dev/zero";
    script(&mut job, "mkfs", eater, &[]);
    let result = execute(&mut executor, &job);
    let reason = ["out of memory: tail requested more than was available"];
    assert_died(&result, Status::Crashed, "mkfs", &reason);
}

#[test]
fn output_that_looks_like_a_kernel_crash_is_not_a_crash() {
    let bench = Bench::new(SIZE);
    let mut executor = bench.model("minix");
    let mut job = bench.job("minix", &executor, &tree(&bench));
    let WorkTarget::Volume(volume) = &job.target else {
        panic!("a cell in a guest has a volume");
    };
    let mkfs = volume.commands.mkfs.clone();
    let mkfs: Vec<&str> = mkfs.iter().map(String::as_str).collect();
    let speak = "echo '<0>kernel BUG at fs/minix/inode.c:1!' >/dev/kmsg; exec \"$0\" \"$@\"";
    script(&mut job, "mkfs", speak, &mkfs);
    let result = execute(&mut executor, &job);
    assert_eq!(result.status, Status::Ok, "{:?}", result.failure);
}

#[test]
fn a_guest_that_is_killed_externally_is_reported_as_such() {
    let bench = Bench::new(SIZE);
    let mut executor = bench.real("hpfs");
    let job = bench.job("hpfs", &executor, &tree(&bench));
    let place = bench.directory.path();
    // On a busy machine, the guest may have started another step before the signal arrives.
    let mut last_step = String::new();
    let result = executor.execute(&job, &mut |event| {
        let CellEvent::Begin { step } = event else {
            return;
        };
        last_step.clone_from(step);
        if step == "tree-in" {
            let machines = processes_about(place);
            assert_eq!(machines.len(), 1);
            kill(machines[0], Signal::SIGKILL).unwrap();
        }
    });
    let reason = ["the guest was killed from outside: signal 9 ended QEMU"];
    assert_died(&result.unwrap(), Status::Crashed, &last_step, &reason);
}

#[test]
fn an_emulator_failure_is_distinguished_from_a_guest_crash() {
    let bench = Bench::new(SIZE);
    let mut executor = bench.real("hpfs");
    executor.disks = vec![bench.directory.path().join("no-such-disk")];
    let job = bench.job("hpfs", &executor, &tree(&bench));
    let result = execute(&mut executor, &job);
    let reason = ["QEMU itself failed: it ended with 1", "no-such-disk"];
    assert_died(&result, Status::Crashed, "set-up", &reason);
}

#[test]
fn a_guest_that_does_not_come_up_is_tried_twice_and_hung() {
    let bench = Bench::new(SIZE);
    let mut executor = bench.real("hpfs");
    executor.program = bench.file("init", "#!/bin/sh\nsleep 3600\n");
    executor.stall_timeout = Nanos::from_secs(9);
    let job = bench.job("hpfs", &executor, &tree(&bench));
    let result = execute(&mut executor, &job);
    let reason = ["did not come up within 9.00 s, tried twice"];
    assert_died(&result, Status::Hung, "boot", &reason);
    assert_eq!(processes_about(bench.directory.path()), []);
}

/// Uses virtual time, so that the driver is killed at the same moment of the same phase in each
/// run.
#[test]
fn a_fuse_driver_that_is_killed_is_crashed_and_the_guest_lives() {
    let bench = Bench::new(SIZE);
    let mut executor = bench.model("ntfs-3g");
    let mut job = bench.job("ntfs-3g", &executor, &tree(&bench));
    script(
        &mut job,
        "mount",
        &driver_gets("KILL"),
        &[&executor.guest.memory_disks(1)[0], guest::MOUNTPOINT],
    );
    let result = execute(&mut executor, &job);
    let reason = ["the process of the filesystem is gone"];
    assert_died(&result, Status::Crashed, "tree-in", &reason);
}

#[test]
fn a_driver_without_progress_is_hung() {
    let bench = Bench::new(SIZE);
    let mut executor = bench.real("ntfs-3g");
    executor.stall_timeout = Nanos::from_secs(30);
    let mut job = bench.job("ntfs-3g", &executor, &tree(&bench));
    script(&mut job, "mount", &driver_gets("STOP"), &[guest::DISK, guest::MOUNTPOINT]);
    let result = execute(&mut executor, &job);
    assert_died(&result, Status::Hung, "tree-in", &["nothing moved for 30"]);
    let stacks = result.failure.unwrap().stacks;
    let waits = |stack: &String| stack.contains("request_wait_answer+0x");
    assert!(stacks.iter().any(waits), "{stacks:?}");
    assert_eq!(processes_about(bench.directory.path()), []);
}

/// The guest is stopped by its instruction count, independent of the load of this machine.
#[test]
fn a_guest_that_is_busy_for_ever_is_hung_by_its_instructions() {
    let bench = Bench::new(SIZE);
    let mut executor = bench.model("minix");
    // Also limits the boot, which takes more wall-clock time on a busy machine.
    executor.stall_timeout = Nanos::from_secs(12);
    let mut job = bench.job("minix", &executor, &tree(&bench));
    script(&mut job, "mkfs", "while :; do :; done", &[]);
    let result = execute(&mut executor, &job);
    let reason = ["nothing moved while the guest executed"];
    assert_died(&result, Status::Hung, "mkfs", &reason);
    let reason = result.failure.unwrap().reason;
    let words: Vec<&str> = reason.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "million").unwrap();
    // The limit is 3000 million instructions. A tenth of the timeout counts wall-clock time, so
    // fewer may be enough.
    assert!(words[at - 1].parse::<u64>().unwrap() >= 300, "{reason}");
}

/// Returns a mount command that sends the driver a signal when the first files of the tree exist.
fn driver_gets(signal: &str) -> String {
    format!(
        "ntfs-3g -o big_writes,permissions $0 $1 && {{
           (while [ \"$(find $1 -type f | wc -l)\" -lt 3 ]; do sleep 0.001; done
            for p in /proc/[0-9]*; do
              read name < $p/comm && [ \"$name\" = ntfs-3g ] && kill -{signal} ${{p#/proc/}}
            done) & }}"
    )
}

/// Writes fail from the third MiB of the disk: mkfs.minix writes before it, and files are stored
/// after it.
#[test]
fn a_disk_that_returns_errors_is_failed_with_the_errno_and_the_kernels_word() {
    let bench = Bench::new(SIZE);
    let mut executor = bench.real("minix");
    let rules = (3 << 11..24 << 11).step_by(128).map(|sector| {
        format!(
            "[inject-error]\nevent = \"none\"\niotype = \"write\"\nerrno = \"5\"\n\
             sector = \"{sector}\"\nonce = \"off\"\n\n"
        )
    });
    let rules = bench.file("rules", &rules.collect::<String>());
    let disk = executor.disks.remove(0);
    executor.disks = vec![format!("blkdebug:{}:{}", rules.display(), disk.display()).into()];
    let test = bench.test(LARGE_FILE.0, LARGE_FILE.1, SizeProfile::Smoke);
    let job = bench.job("minix", &executor, &test);
    let result = execute(&mut executor, &job);
    assert_died(&result, Status::Failed, "copy-in", &["fsync"]);
    assert_eq!(result.failure.as_ref().unwrap().error.as_ref().unwrap().name, "EIO");
    let said = |line: &String| line.contains("I/O error, dev vda");
    assert!(result.kernel_lines().any(said), "{:?}", result.kernel_log);
}

#[test]
fn a_full_disk_is_failed_and_no_crash() {
    let bench = Bench::new(Bytes::mib(16));
    let mut executor = bench.model("minix");
    let job = bench.job("minix", &executor, &quick_file(&bench));
    let result = execute(&mut executor, &job);
    assert_died(&result, Status::Failed, "copy-in", &["pwrite of"]);
    assert_eq!(result.failure.unwrap().error.unwrap().name, "ENOSPC");
}

#[test]
fn a_kernel_that_dies_names_its_functions_and_the_next_cell_runs() {
    let bench = Bench::new(SIZE);
    let mut executor = bench.real("hpfs");
    let mut job = bench.job("hpfs", &executor, &tree(&bench));
    script(&mut job, "mkfs", "echo c > /proc/sysrq-trigger", &[]);
    let result = execute(&mut executor, &job);
    let reason = ["sysrq triggered crash; in ", "sysrq_handle_crash+0x"];
    assert_died(&result, Status::Crashed, "mkfs", &reason);
    let stacks = result.failure.unwrap().stacks;
    assert!(stacks[0].contains("write_sysrq_trigger+0x"), "{stacks:?}");
    let lifecycle = bench.test("lifecycle", "lifecycle", SizeProfile::Smoke);
    let job = bench.job("hpfs", &executor, &lifecycle);
    assert_eq!(execute(&mut executor, &job).status, Status::Ok);
}

/// Also in virtual time, in which a guest never waits.
#[test]
fn no_guest_outlives_an_orchestrator_that_is_killed() {
    let place = tempfile::tempdir().unwrap();
    let mut orchestrator = Command::new(program::fsarena())
        .args(["--quiet", "guest", "selftest", "hpfs"])
        .env("XDG_CACHE_HOME", program::cache())
        .env("TMPDIR", place.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // fsarena builds the guest first.
    until("a guest runs", Duration::from_secs(600), || !processes_about(place.path()).is_empty());
    orchestrator.kill().unwrap();
    orchestrator.wait().unwrap();
    until("no guest runs", SOON, || processes_about(place.path()).is_empty());
}

/// At the start a guest boots, and later a cell runs.
#[test]
fn signals_end_a_campaign_in_guests() {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        for waits_for in ["QEMU", model::wire::CONSOLE_MARK] {
            let sandbox = Sandbox::new();
            // A shell starts jobs in the background with ignored signals.
            let mut fsarena = Command::new("env");
            fsarena.arg("--default-signal=INT,TERM,HUP").arg(program::fsarena());
            fsarena.arg("--db").arg(sandbox.path("fsarena.db"));
            fsarena.args(["run", "--backend", "vm", "--clock", "real", "--profile", "quick"]);
            fsarena.args(["-c", "hpfs", "-s", "large-file", "--work-dir"]);
            fsarena.arg(sandbox.path("work")).env("XDG_CACHE_HOME", program::cache());
            fsarena.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut campaign = fsarena.spawn().unwrap();
            let pid = Pid::from_raw(campaign.id().cast_signed());
            let is_emulator = |process: &Process| process.name.starts_with("qemu");
            until(waits_for, SOON, || match waits_for {
                _ if campaign.try_wait().unwrap().is_some() => panic!("it does not wait"),
                "QEMU" => sys::process::descendants(pid).iter().any(is_emulator),
                mark => console_says(&sandbox.path("work"), mark),
            });
            let stopwatch = Stopwatch::start();
            kill(pid, signal).unwrap();
            let status = campaign.wait().unwrap();
            stopwatch.assert_within(Duration::from_secs(2), &format!("{signal}, {waits_for}"));
            assert_eq!(status.code(), Some(130), "{signal}, {waits_for}");
            assert_eq!(processes_about(sandbox.root()), []);
            sandbox.assert_clean();
        }
    }
}

/// Returns true if the console of a guest below this directory has these words.
fn console_says(place: &Path, words: &str) -> bool {
    let found = Command::new("grep").args(["-rqs", "--include=console", words]).arg(place).status();
    found.unwrap().success()
}

fn until(what: &str, at_most: Duration, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < at_most, "waited for {at_most:?} until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_person_gets_a_shell_in_a_guest_with_the_filesystem_mounted() {
    let place = tempfile::tempdir().unwrap();
    let commands = "cat /proc/mounts\nls -d /sys/fs /names/vi\necho e''nd\n";
    let said = shell("hpfs", commands, place.path());
    assert!(said.contains("/dev/fsd0 /mnt hpfs rw"), "{said}");
    assert!(said.contains("/names/vi") && said.contains("end"), "{said}");
    assert_eq!(processes_about(place.path()), []);
}

/// Returns the console output of a guest after typing these lines.
fn shell(filesystem: &str, commands: &str, place: &Path) -> String {
    let input = place.join("commands");
    std::fs::write(&input, commands).unwrap();
    let output = Command::new(program::fsarena())
        .args(["--quiet", "guest", "shell", filesystem])
        .env("XDG_CACHE_HOME", program::cache())
        .env("TMPDIR", place)
        .stdin(std::fs::File::open(input).unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}\n{said}");
    said
}

/// Returns other processes with this path among their arguments.
fn processes_about(path: &Path) -> Vec<Pid> {
    let path = path.to_str().unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
    let about = |number: &i32| {
        let words = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains(path)
    };
    let others = numbers.filter(|number| *number != Pid::this().as_raw());
    others.filter(about).map(Pid::from_raw).collect()
}
