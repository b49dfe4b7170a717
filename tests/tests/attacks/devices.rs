//! Another user uses, replaces or writes to the device of a running campaign, whose data must not
//! be lost.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio, id};

use end_to_end::{BlockedContender, CommandOutput, Gate, Sandbox, TestLoopDevice, run, succeed};
use nix::sys::stat::{Mode, SFlag, mknod};

const SIZE: u64 = 96 << 20;

/// Starts a campaign of two rounds on a device and waits until a contender blocks.
fn campaign(sandbox: &Sandbox, device: &Path) -> (BlockedContender, Child) {
    let gate = Gate::new(sandbox);
    let mut command = sandbox.campaign(&["ext4", "gate"], "trial");
    command.args(["--rounds", "2", "--device"]).arg(device);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    (gate.reached(), child)
}

/// Checks that the campaign ends with the exit code of a refusal, and returns its last line with
/// the reason.
fn refused(child: Child) -> String {
    let ended = CommandOutput::from(child.wait_with_output().unwrap()).assert_code(3);
    let last = ended.stderr.trim_end().lines().next_back().unwrap();
    assert!(last.starts_with("fsarena: "), "{}", ended.stderr);
    assert!(last.contains("fsarena resume 1"), "the message names the command to continue: {last}");
    last.to_owned()
}

fn make_ext4(device: &Path) {
    succeed(Command::new("mke2fs").args(["-q", "-F", "-t", "ext4"]).arg(device));
}

fn bytes(device: &TestLoopDevice) -> Vec<u8> {
    succeed(Command::new("sync").arg(device.path()));
    fs::read(device.image()).unwrap()
}

#[test]
fn another_filesystem_is_created_and_mounted_between_two_cells() {
    let sandbox = Sandbox::new();
    let device = TestLoopDevice::new(&sandbox.path("disk"), SIZE);
    let (waiting, child) = campaign(&sandbox, device.path());
    make_ext4(device.path());
    let mountpoint = sandbox.path("theirs");
    fs::create_dir(&mountpoint).unwrap();
    succeed(Command::new("mount").arg(device.path()).arg(&mountpoint));
    fs::write(mountpoint.join("letter"), "precious").unwrap();
    waiting.release();
    let line = refused(child);
    assert!(line.contains("is mounted on") && line.contains("theirs"), "{line}");
    succeed(Command::new("umount").arg(&mountpoint));
    succeed(Command::new("e2fsck").arg("-fn").arg(device.path()));
    succeed(Command::new("mount").arg(device.path()).arg(&mountpoint));
    assert_eq!(fs::read_to_string(mountpoint.join("letter")).unwrap(), "precious");
    succeed(Command::new("umount").arg(&mountpoint));
}

#[test]
fn other_data_is_written_between_two_cells() {
    let sandbox = Sandbox::new();
    let device = TestLoopDevice::new(&sandbox.path("disk"), SIZE);
    let (waiting, child) = campaign(&sandbox, device.path());
    make_ext4(device.path());
    let before = bytes(&device);
    waiting.release();
    let line = refused(child);
    assert!(line.contains("was written to"), "{line}");
    assert!(bytes(&device) == before, "not a byte was changed");
    // The user may erase the device after inspecting it.
    let word = device.path().to_str().unwrap();
    let mut resume = sandbox.fsarena();
    run(resume.args(["resume", "1"])).assert_code(3);
    assert!(bytes(&device) == before, "nor by resuming");
    let mut resume = sandbox.fsarena();
    run(resume.args(["resume", "1", "--erase", word])).assert_code(0);
}

/// A device without its usual node, as in a container. The node is restored on drop.
struct Renamed<'a> {
    device: &'a TestLoopDevice,
    node: PathBuf,
    own: PathBuf,
}

impl<'a> Renamed<'a> {
    fn new(device: &'a TestLoopDevice) -> Self {
        let named = |what: &str| PathBuf::from(format!("/dev/fsarena-e2e-{}-{what}", id()));
        let (node, own) = (named("node"), named("own"));
        let renamed = Self { device, node, own };
        renamed.lead_to(device);
        fs::rename(device.path(), &renamed.own).unwrap();
        renamed
    }

    fn lead_to(&self, device: &TestLoopDevice) {
        let number = device.path().metadata().unwrap().rdev();
        let mode = Mode::S_IRUSR | Mode::S_IWUSR;
        mknod(&self.node, SFlag::S_IFBLK, mode, number).unwrap();
    }
}

impl Drop for Renamed<'_> {
    fn drop(&mut self) {
        fs::rename(&self.own, self.device.path()).unwrap();
        fs::remove_file(&self.node).unwrap();
    }
}

#[test]
fn another_disk_under_the_same_name() {
    let sandbox = Sandbox::new();
    let own = TestLoopDevice::new(&sandbox.path("own"), SIZE);
    let other = TestLoopDevice::new(&sandbox.path("other"), SIZE);
    make_ext4(other.path());
    let before = bytes(&other);
    let renamed = Renamed::new(&own);
    let (waiting, child) = campaign(&sandbox, &renamed.node);
    fs::remove_file(&renamed.node).unwrap();
    renamed.lead_to(&other);
    waiting.release();
    let line = refused(child);
    assert!(line.contains("no longer the same disk"), "{line}");
    assert!(bytes(&other) == before, "not a byte was changed");
}

/// A disk keeps its name while a campaign runs: the kernel does not give the name to another disk.
#[test]
fn a_device_that_is_detached_in_the_middle() {
    let sandbox = Sandbox::new();
    let device = TestLoopDevice::new(&sandbox.path("disk"), SIZE);
    let (waiting, child) = campaign(&sandbox, device.path());
    let mut losetup = Command::new("losetup");
    // The kernel defers the detach until the last user closes the device.
    succeed(losetup.arg("--detach").arg(device.path()));
    let other = sandbox.path("other");
    fs::write(&other, vec![7; 1 << 20]).unwrap();
    let mut losetup = Command::new("losetup");
    let attached = losetup.arg(device.path()).arg(&other).status().unwrap();
    assert!(!attached.success(), "the device is still the campaign's");
    waiting.release();
    CommandOutput::from(child.wait_with_output().unwrap()).assert_code(0);
    assert!(fs::read(&other).unwrap().iter().all(|&byte| byte == 7));
}

#[test]
fn a_second_campaign_on_the_same_device() {
    let sandbox = Sandbox::new();
    let device = TestLoopDevice::new(&sandbox.path("disk"), SIZE);
    let (waiting, child) = campaign(&sandbox, device.path());
    let word = device.path().to_str().unwrap();
    for more in [&["--device", word][..], &["--device", word, "--erase", word, "--backend", "loop"]]
    {
        let mut second = sandbox.campaign(&["ext4"], "trial");
        let ended = run(second.args(more)).assert_code(3);
        assert!(ended.stderr.contains("locked by another fsarena"), "{}", ended.stderr);
    }
    for command in [&["tool", "calibrate"][..], &["tool", "format", "hpfs"]] {
        let mut second = sandbox.fsarena();
        second.args(command);
        match command[1] {
            "format" => second.arg(word),
            _ => second.args(["--device", word]),
        };
        run(second.args(["--erase", word])).assert_code(3);
    }
    waiting.release();
    CommandOutput::from(child.wait_with_output().unwrap()).assert_code(0);
}

/// On a terminal, the user must confirm. A script confirms with two options.
#[test]
fn a_terminal_asks_before_data_is_erased() {
    let sandbox = Sandbox::new();
    let device = TestLoopDevice::new(&sandbox.path("disk"), SIZE);
    let mut label = Command::new("mke2fs");
    succeed(label.args(["-q", "-F", "-L", "photos"]).arg(device.path()));
    let word = device.path().to_str().unwrap();
    let name = device.path().file_name().unwrap().to_str().unwrap();
    let before = bytes(&device);
    let command = |answer: &str| {
        let mut fsarena = sandbox.campaign(&["ext4"], "trial");
        fsarena.args(["--device", word, "--erase", word]);
        let words: Vec<String> = std::iter::once(fsarena.get_program())
            .chain(fsarena.get_args())
            .map(|word| format!("'{}'", word.to_str().unwrap()))
            .collect();
        // script(1) provides a terminal.
        let line =
            format!("printf '%s\\n' {answer} | script -qec \"{}\" /dev/null", words.join(" "));
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).env("XDG_DATA_HOME", sandbox.path("data"));
        run(&mut shell)
    };
    let ended = command("yes").assert_code(3);
    for words in ["photos", "96 MiB", "All of it will be lost", "nothing was erased"] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
    assert!(bytes(&device) == before, "not a byte was changed");
    command(name).assert_code(0);
}
