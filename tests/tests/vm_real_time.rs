//! Campaigns in guests in real time: with a device of this machine's, with several disks, from a file's word.

use std::process::Command;

use end_to_end::{LoopDevice, Sandbox, cells_of, program, run, succeed};
use model::{Clock, DiskCache, GuestDisk, Status};

/// No kernel of the machines on which these tests run has it.
const CONTENDER: &str = "minix";

/// A campaign of one test in a guest whose time is this machine's.
fn campaign(sandbox: &Sandbox) -> Command {
    let mut command = sandbox.campaign(&[CONTENDER], "trial");
    command
        .args(["--backend", "vm", "--clock", "real"])
        .env("XDG_CACHE_HOME", program::cache());
    command
}

#[test]
fn a_guest_has_a_device_of_this_machines_which_must_be_empty() {
    let sandbox = Sandbox::new();
    let device = LoopDevice::new(&sandbox.path("disk"), 64 << 20);
    let word = device.path().to_str().unwrap();
    run(campaign(&sandbox).args(["--device", word])).with(0);
    let results = sandbox.results();
    let result = cells_of(&results, CONTENDER)[0];
    assert_eq!(result.status, Status::Ok, "{:?}", result.failure);
    assert!(results.environments[0].device.contains(word));
    let machine = results.campaign.guest.as_ref().unwrap();
    let cache = DiskCache::None;
    assert_eq!(machine.disk, GuestDisk::Device { cache });
    assert_eq!(results.campaign.clock, Clock::Real);

    succeed(Command::new("mke2fs").arg("-q").arg(device.path()));
    let refused = run(campaign(&sandbox).args(["--device", word])).with(3);
    assert!(refused.stderr.contains("ext2"), "{}", refused.stderr);
    succeed(Command::new("e2fsck").arg("-fn").arg(device.path()));
    sandbox.assert_clean();
}

/// A filesystem is made on the first, and what the guest finds is what the result says.
#[test]
fn a_guest_has_as_many_disks_and_processors_and_as_much_memory_as_it_says() {
    let sandbox = Sandbox::new();
    let parts = ["--disks", "3", "--processors", "2", "--memory", "700MiB"];
    let parts = parts.into_iter().chain(["--disk-cache", "writethrough"]);
    run(campaign(&sandbox).args(parts)).with(0);
    let results = sandbox.results();
    let result = cells_of(&results, CONTENDER)[0];
    assert_eq!(result.status, Status::Ok, "{:?}", result.failure);
    let machine = results.campaign.guest.as_ref().unwrap();
    let cache = DiskCache::Writethrough;
    assert_eq!(machine.disk, GuestDisk::Image { cache });
    assert_eq!((machine.disks, machine.processors), (3, 2));
    let said = machine.to_string();
    for part in ["700 MiB", "2 processors", "3 disks", "writethrough"] {
        assert!(said.contains(part), "{said} has {part}");
    }
    sandbox.assert_clean();
}
