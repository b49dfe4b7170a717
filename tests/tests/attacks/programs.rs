//! Options of a campaign file and programs of a catalog that try to access more than the device of
//! the cell.

use std::fs;
use std::path::Path;

use end_to_end::{DirectoryEntry, Sandbox, TestLoopDevice, cells_of, run};
use model::Status;

const SIZE: u64 = 64 << 20;

/// Returns another device, filled with data that must not be lost.
fn precious(sandbox: &Sandbox) -> TestLoopDevice {
    let device = TestLoopDevice::new(&sandbox.path("precious"), SIZE);
    fs::write(device.path(), vec![7; SIZE as usize]).unwrap();
    device
}

#[track_caller]
fn assert_whole(device: &TestLoopDevice) {
    let bytes = fs::read(device.image()).unwrap();
    assert!(bytes.iter().all(|&byte| byte == 7), "not a byte was changed");
}

fn campaign_file(sandbox: &Sandbox, options: &str) -> std::path::PathBuf {
    let file = sandbox.path("hostile.toml");
    let text = format!(
        "contenders = [{{ name = \"odd\", filesystem = \"ext4\", mkfs_options = {options} }}]\n\
         suites = [\"trial\"]\nprofile = \"smoke\"\nrounds = 1\nseed = 7\nsize = \"64 MiB\"\n"
    );
    fs::write(&file, text).unwrap();
    file
}

#[test]
fn a_word_among_the_options_that_names_a_device() {
    let sandbox = Sandbox::new();
    let device = precious(&sandbox);
    let name = device.path().file_name().unwrap().to_str().unwrap();
    for options in [
        format!("[{name:?}]"),
        format!("[\"-b\", \"1024\", {name:?}]"),
        format!("[\"-q\", {:?}]", device.path()),
        // This could be the value of an option, so mkfs is tried. No file of this name exists in
        // its directory.
        format!("[\"-q\", {name:?}]"),
    ] {
        let mut command = sandbox.fsarena();
        command.arg("run").arg(campaign_file(&sandbox, &options));
        command.arg("--work-dir").arg(sandbox.path("work"));
        // Run as a user whose current directory is `/dev`.
        let ended = run(command.current_dir("/dev")).assert_code(2);
        let errors = ended.stderr.lines().filter(|line| line.starts_with("fsarena: "));
        assert_eq!(errors.count(), 1, "{}", ended.stderr);
    }
    assert_whole(&device);
    drop(device);
    sandbox.assert_clean();
}

/// Programs of a filesystem see only one device, despite their arguments, and cannot write files.
#[test]
fn a_program_that_wants_another_device_or_file() {
    let sandbox = Sandbox::new();
    let device = precious(&sandbox);
    let file = sandbox.path("letter");
    fs::write(&file, "precious").unwrap();
    let numbers = {
        use std::os::unix::fs::MetadataExt;
        let number = device.path().metadata().unwrap().rdev();
        format!("{} {}", nix::sys::stat::major(number), nix::sys::stat::minor(number))
    };
    let attempts = [
        format!("dd if=/dev/zero of={} bs=1M count=1", device.path().display()),
        format!("mknod /run/node b {numbers} && dd if=/dev/zero of=/run/node bs=1M count=1"),
        format!("mknod /dev/node b {numbers} && dd if=/dev/zero of=/dev/node bs=1M count=1"),
        format!("echo lost > {}", file.display()),
        format!("rm {}", file.display()),
        "ls /dev | grep -v -e null -e zero -e full -e random -e tty -e fuse -e btrfs -e zfs -e fd -e std -e shm \
         | wc -l | grep -qv '^1$'".to_owned(),
    ];
    for (number, attempt) in attempts.iter().enumerate() {
        let name = format!("hostile-{number}");
        // The test detects a successful attempt: the filesystem is only created in that case.
        let script = format!("({attempt}) && mke2fs -q -F -t ext4 \"$1\"");
        let line = ["sh", "-c", &script, "sh", "{device}"];
        sandbox.add(&DirectoryEntry::ext4(&name).mkfs(&line));
        run(&mut sandbox.campaign(&[&name], "trial")).assert_code(0);
        let results = sandbox.results();
        let cell = cells_of(&results, &name)[0];
        assert_eq!(cell.status, Status::Failed, "{attempt}: {:?}", cell.failure);
    }
    assert_whole(&device);
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
}

/// A job file of fio in a directory overwrote files of the machine and removed device nodes.
#[test]
fn a_program_of_a_suite_in_a_directory() {
    let sandbox = Sandbox::new();
    let (place, file) = (sandbox.path("place"), sandbox.path("letter"));
    fs::create_dir(&place).unwrap();
    fs::write(&file, "precious").unwrap();
    let device = precious(&sandbox);
    let (letter, node) = (file.display(), device.path().display());
    let phases: String = [
        format!("! echo lost >{letter}"),
        format!("! echo lost >/proc/1/root{letter}"),
        format!("! rm {letter}"),
        format!("! echo lost >{node}"),
        format!("! rm {node}"),
        "! rm /dev/full".to_owned(),
        "! mknod node b 7 0".to_owned(),
        format!("! mount --bind . {}", place.display()),
        "echo x >a && mv a b && echo y >$TMPDIR/y && rm $TMPDIR/y".to_owned(),
    ]
    .iter()
    .enumerate()
    .map(|(number, attempt)| {
        format!(
            "[[test.phase]]\nname = \"attempt-{number}\"\nop = \"exec\"\ncommand = \"sh -c '{attempt}'\"\n"
        )
    })
    .collect();
    let test = "name = \"ours\"\ntitle = \"Ours\"\nsource = \"our own\"\n[[test]]\nname = \"ours\"\n\
                rationale = \"Made for a test.\"\nspace = \"1 MiB\"\n";
    sandbox.add_suite("ours", &format!("{test}{phases}"));
    let mut command = sandbox.fsarena();
    command.args(["run", "--rounds", "1", "-s", "ours", "--dir"]).arg(&place);
    run(&mut command).assert_code(0);
    for phase in &sandbox.results().cells[0].result.as_ref().unwrap().phases {
        assert_eq!(phase.status, Status::Ok, "{}: {:?}", phase.phase, phase.failure);
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    assert!(device.path().exists() && Path::new("/dev/full").exists());
    assert_whole(&device);
}

/// The private `/dev` is not enough: a program can name a device by number, without a node.
#[test]
fn a_program_that_mounts_another_device_by_its_number() {
    let sandbox = Sandbox::new();
    let journal = TestLoopDevice::new(&sandbox.path("journal"), SIZE);
    let numbers = {
        use std::os::unix::fs::MetadataExt;
        journal.path().metadata().unwrap().rdev()
    };
    let mut mke2fs = std::process::Command::new("mke2fs");
    end_to_end::succeed(
        mke2fs.args(["-q", "-F", "-b", "4096", "-O", "journal_dev"]).arg(journal.path()),
    );
    let before = fs::read(journal.image()).unwrap();
    let script = format!("mount -o \"$1,journal_dev={numbers}\" \"$2\" \"$3\"");
    let line = ["sh", "-c", &script, "sh", "{options}", "{device}", "{mountpoint}"];
    let mkfs =
        ["mke2fs", "-q", "-F", "-b", "4096", "-O", "has_journal", "-E", "nodiscard", "{device}"];
    sandbox.add(&DirectoryEntry::ext4("far").mkfs(&mkfs).mount(&line));
    run(&mut sandbox.campaign(&["far"], "trial")).assert_code(0);
    assert!(fs::read(journal.image()).unwrap() == before, "not a byte was changed");
}

#[test]
fn programs_do_not_run_in_a_working_directory_full_of_devices() {
    let sandbox = Sandbox::new();
    let script = "pwd && ls -A && mke2fs -q -F -t ext4 \"$1\"";
    sandbox.add(&DirectoryEntry::ext4("where").mkfs(&["sh", "-c", script, "sh", "{device}"]));
    let mut command = sandbox.campaign(&["where"], "trial");
    run(command.current_dir(Path::new("/dev"))).assert_code(0);
    let results = sandbox.results();
    let cell = cells_of(&results, "where")[0];
    assert_eq!(cell.status, Status::Ok, "{:?}", cell.failure);
    let mkfs = cell.steps.iter().find(|step| step.step == "mkfs").unwrap();
    let lines: Vec<&str> = mkfs.output.lines().collect();
    assert_eq!(lines, ["/run/fsarena-empty"], "an empty directory");
}

/// `bonnie++ -p` left a semaphore on the host.
#[test]
fn semaphores_and_host_names_of_programs_stay_in_the_cell() {
    let sandbox = Sandbox::new();
    let file = |name: &str| fs::read_to_string(name).unwrap();
    let (semaphores, host) = ("/proc/sysvipc/sem", "/proc/sys/kernel/hostname");
    let before = [semaphores, host].map(file);
    let script = "ipcmk -S 3 && ipcmk -M 4096 && ipcmk -Q && ipcs && hostname stolen && hostname \
                  && mke2fs -q -F -t ext4 \"$1\"";
    sandbox.add(&DirectoryEntry::ext4("leaves").mkfs(&["sh", "-c", script, "sh", "{device}"]));
    run(&mut sandbox.campaign(&["leaves"], "trial")).assert_code(0);
    let results = sandbox.results();
    let cell = cells_of(&results, "leaves")[0];
    assert_eq!(cell.status, Status::Ok, "{:?}", cell.failure);
    let mkfs = cell.steps.iter().find(|step| step.step == "mkfs").unwrap();
    assert!(mkfs.output.contains("stolen"), "{}", mkfs.output);
    assert_eq!([semaphores, host].map(file), before);
}

/// An error of a compared filesystem must not bring down the machine.
#[test]
fn an_option_that_lets_an_error_end_the_machine() {
    let sandbox = Sandbox::new();
    for contender in ["ext4:errors=panic", "btrfs:fatal_errors=panic"] {
        let refused = run(&mut sandbox.campaign(&[contender], "trial")).assert_code(2);
        assert!(refused.stderr.contains("would end this machine"), "{}", refused.stderr);
    }
    for options in ["[\"-e\", \"panic\"]", "[\"-vepanic\"]"] {
        let contender =
            format!("{{ name = \"e\", filesystem = \"ext4\", mkfs_options = {options} }}");
        let file =
            format!("contenders = [{contender}]\nsuites = [\"trial\"]\nprofile = \"smoke\"\n");
        fs::write(sandbox.path("panic.toml"), file).unwrap();
        let mut command = sandbox.fsarena();
        command.arg("run").arg(sandbox.path("panic.toml"));
        let refused = run(&mut command).assert_code(2);
        assert!(refused.stderr.contains("would end this machine"), "{}", refused.stderr);
    }
}
