//! `fsarena tool format` overwrites existing data only if the device is named twice, and its filesystems
//! are recognised by other programs.

use std::fs;
use std::process::Command;

use end_to_end::{Sandbox, TestLoopDevice, run, succeed};

const SIZE: u64 = 64 << 20;
const FILESYSTEMS: [&str; 3] = ["affs-ffs", "affs-ofs", "hpfs"];

#[test]
fn a_device_with_content_is_refused_unless_it_is_named_twice() {
    let sandbox = Sandbox::new();
    let device = TestLoopDevice::new(&sandbox.path("disk"), SIZE);
    let node = device.path().to_str().unwrap();
    succeed(Command::new("mke2fs").args(["-q", "-t", "ext4", node]));
    for filesystem in FILESYSTEMS {
        succeed(&mut Command::new("sync"));
        let before = fs::read(device.image()).unwrap();
        let format = ["tool", "format", filesystem, node];
        let refused = run(sandbox.fsarena().args(format)).assert_code(3);
        assert_eq!(refused.stderr.trim_end().lines().count(), 1, "{refused:?}");
        assert!(refused.stderr.contains("--erase"), "{}", refused.stderr);
        assert!(fs::read(device.image()).unwrap() == before, "it is untouched");
        let other = sandbox.path("disk");
        run(sandbox.fsarena().args(format).arg("--erase").arg(other)).assert_code(3);
        assert!(fs::read(device.image()).unwrap() == before, "it is untouched");
        run(sandbox.fsarena().args(format).args(["--erase", node])).assert_code(0);
    }
}

#[test]
fn a_blank_device_is_formatted_and_one_in_use_never() {
    let sandbox = Sandbox::new();
    let device = TestLoopDevice::new(&sandbox.path("disk"), SIZE);
    let node = device.path().to_str().unwrap();
    let said = run(sandbox.fsarena().args(["tool", "format", "affs-ffs", node])).assert_code(0);
    assert!(said.stdout.contains("131072 blocks of 512 B"), "{said:?}");
    succeed(Command::new("mke2fs").args(["-q", "-F", "-t", "ext4", node]));
    let mountpoint = sandbox.path("mnt");
    fs::create_dir(&mountpoint).unwrap();
    succeed(Command::new("mount").arg(node).arg(&mountpoint));
    let words = ["tool", "format", "hpfs", node, "--erase", node];
    let asked = run(sandbox.fsarena().args(words)).assert_code(3);
    let unasked = run(sandbox.fsarena().args(words).arg("--yes")).assert_code(3);
    succeed(Command::new("umount").arg(&mountpoint));
    for refused in [asked, unasked] {
        assert!(refused.stderr.contains("mounted"), "{}", refused.stderr);
    }
}

#[test]
fn an_image_is_created_and_an_existing_one_is_not_modified() {
    let sandbox = Sandbox::new();
    let image = sandbox.path("image");
    let format = |filesystem: &str| {
        let mut command = sandbox.fsarena();
        command.args(["--json", "tool", "format", filesystem, "--size", "880KiB"]).arg(&image);
        command
    };
    for filesystem in FILESYSTEMS {
        let said = run(&mut format(filesystem)).assert_code(0).stdout;
        let made: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!((&made["filesystem"], &made["blocks"]), (&filesystem.into(), &1760.into()));
        assert_eq!(fs::metadata(&image).unwrap().len(), 880 << 10);
        run(&mut format(filesystem)).assert_code(3);
        fs::remove_file(&image).unwrap();
    }
}

#[test]
fn a_refused_format_leaves_no_image() {
    let sandbox = Sandbox::new();
    let image = sandbox.path("image");
    for words in [
        &["affs-ofs", "--label", "a:b", "--size", "1MiB"][..],
        &["hpfs", "--label", "a much longer one", "--size", "1MiB"],
        &["hpfs", "--size", "100KiB"],
        &["hpfs", "--international", "--size", "1MiB"],
    ] {
        let refused =
            run(sandbox.fsarena().args(["tool", "format"]).args(words).arg(&image)).assert_code(2);
        assert_eq!(refused.stderr.trim_end().lines().count(), 1, "{refused:?}");
        assert!(!image.exists(), "{words:?}");
    }
}

#[test]
fn blkid_knows_an_hpfs_by_its_label() {
    let sandbox = Sandbox::new();
    let image = sandbox.path("image");
    let words = ["tool", "format", "hpfs", "--label", "Warp 4", "--size", "20MiB"];
    run(sandbox.fsarena().args(words).arg(&image)).assert_code(0);
    let found = succeed(Command::new("blkid").args(["-p", "-o", "export"]).arg(&image));
    for word in ["TYPE=hpfs", "LABEL=WARP\\ 4"] {
        assert!(found.contains(word), "{word}:\n{found}");
    }
}
