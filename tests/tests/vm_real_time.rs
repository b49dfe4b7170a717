//! Campaigns in guests in real time: on a device of this machine and on several images.

use std::process::Command;

use end_to_end::{Sandbox, TestLoopDevice, cells_of, program, run, succeed};
use model::{Bytes, Clock, DiskCache, GuestDisk, Status};

/// Contender that no kernel of the usual test machines supports.
const CONTENDER: &str = "minix";

/// Returns a campaign of one test in a guest that runs in real time.
fn campaign(sandbox: &Sandbox, suite: &str) -> Command {
    let mut command = sandbox.campaign(&[CONTENDER], suite);
    command.args(["--backend", "vm", "--clock", "real"]).env("XDG_CACHE_HOME", program::cache());
    command
}

#[test]
fn a_guest_has_a_device_of_this_machines_which_must_be_empty() {
    let sandbox = Sandbox::new();
    let device = TestLoopDevice::new(&sandbox.path("disk"), 64 << 20);
    let word = device.path().to_str().unwrap();
    run(campaign(&sandbox, "trial").args(["--device", word])).assert_code(0);
    let results = sandbox.results();
    let result = cells_of(&results, CONTENDER)[0];
    assert_eq!(result.status, Status::Ok, "{:?}", result.failure);
    assert!(results.environments[0].device.contains(word));
    let machine = results.campaign.guest.as_ref().unwrap();
    let cache = DiskCache::None;
    assert_eq!(machine.disk, GuestDisk::Device { cache });
    assert_eq!(results.campaign.clock, Clock::Real);

    succeed(Command::new("mke2fs").arg("-q").arg(device.path()));
    let refused = run(campaign(&sandbox, "trial").args(["--device", word])).assert_code(3);
    assert!(refused.stderr.contains("ext2"), "{}", refused.stderr);
    succeed(Command::new("e2fsck").arg("-fn").arg(device.path()));
    drop(device);
    sandbox.assert_clean();
}

/// The file of the suite is larger than one disk.
#[test]
fn a_guest_has_the_requested_disks_processors_and_memory() {
    let sandbox = Sandbox::new();
    let mut command = campaign(&sandbox, "wide");
    command.args(["--disks", "3", "--disk-cache", "writethrough"]).args([
        "--processors",
        "2",
        "--memory",
        "700MiB",
    ]);
    run(&mut command).assert_code(0);
    let results = sandbox.results();
    let result = cells_of(&results, CONTENDER)[0];
    assert_eq!(result.status, Status::Ok, "{:?}", result.failure);
    let machine = results.campaign.guest.as_ref().unwrap();
    let cache = DiskCache::Writethrough;
    assert_eq!(machine.disk, GuestDisk::Image { cache });
    assert_eq!((machine.disks, machine.processors), (3, 2));
    assert_eq!(machine.memory, Bytes::mib(700));
    let storage = &results.environments[0].device;
    assert!(storage.starts_with("3 images of 64 MiB: "), "{storage}");
    sandbox.assert_clean();
}
