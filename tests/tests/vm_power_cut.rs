//! `fsarena survive write` in a machine whose power is cut: QEMU is killed while the filesystem on its disk is in use.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::slice;

use crate::guest_bench::Bench;
use end_to_end::{CommandOutput, Sandbox, program, run};
use guest::InitramfsContents;
use model::{Bytes, SizeProfile};

/// Number of log lines after which the power is cut.
const STEPS: usize = 300;

/// Checks an image by a log, and once more without a synced file. Arguments: program, image, log.
const CHECK: &str = r#"
set -eu
mkdir "$4"
mount -o loop "$2" "$4"
"$1" survive check "$4" "$3"
echo whole
rm "$4"/fsarena-power-cut-*/*-create-fsync/d/second
"$1" survive check "$4" "$3" || echo "damaged: $?"
umount "$4"
"#;

#[test]
fn synced_files_survive_the_kill_of_a_machine() {
    let bench = Bench::new(Bytes::mib(128));
    let executor = bench.real("ext4");
    let job = bench.job("ext4", &executor, &bench.test("tree", "tree", SizeProfile::Smoke));
    let first = bench.directory.path().join("first-filesystem");
    let contents = InitramfsContents {
        agent: &executor.program,
        modules: &executor.modules,
        programs: &executor.programs,
        commands: &executor.commands,
        archives: &[],
        disk: None,
        job: Some(&job.to_line()),
    };
    executor.guest.write_initramfs(&contents, &first).unwrap();
    let disk = executor.disks[0].as_path();
    let mut machine = executor.machine.shell(&executor.guest, &first, slice::from_ref(&disk));
    let mut machine =
        machine.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("QEMU is installed");
    let mut console = machine.stdin.take().unwrap();
    let mut lines = BufReader::new(machine.stdout.take().unwrap()).split(b'\n').map(|line| {
        String::from_utf8_lossy(&line.expect("the console is open")).trim_end().to_owned()
    });
    assert!(lines.any(|line| line.contains("`exit` ends the guest")));
    // The log must not go to a terminal.
    console.write_all(b"/init survive write . | cat\n").unwrap();
    // Messages of the kernel share the console.
    let is_of_log =
        |line: &String| ["fsarena ", "run ", "done "].iter().any(|word| line.starts_with(word));
    let log: Vec<String> = lines.filter(is_of_log).take(STEPS).collect();
    machine.kill().unwrap();
    machine.wait().unwrap();

    let sandbox = Sandbox::new();
    let file = sandbox.path("cut.log");
    fs::write(&file, log.join("\n") + "\n").unwrap();
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", CHECK, "sh"]);
    command.arg(program::fsarena()).arg(disk).arg(&file).arg(sandbox.path("mnt"));
    let CommandOutput { stdout, .. } = run(&mut command).assert_code(0);
    assert!(stdout.contains("Nothing is lost of ") && stdout.contains("whole"), "{stdout}");
    assert!(stdout.contains("d/second is missing") && stdout.contains("damaged: 1"), "{stdout}");
}
