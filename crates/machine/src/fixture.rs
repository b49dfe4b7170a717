//! A small campaign for this crate's tests.

use catalog::Catalog;
use model::{Accelerator, Bytes, Campaign, DiskModel, GuestDisk, GuestMachine};

/// Two contenders in three rounds, on a large image.
pub fn campaign() -> Campaign {
    let catalog = Catalog::builtin().expect("the catalog that is compiled in is right");
    let contender = |name| catalog.contender(name).expect("it is in the catalog");
    Campaign {
        size: Bytes::mib(20_000),
        ..orchestrate::in_memory::campaign(["ext4", "xfs"].map(contender).into(), 3)
    }
}

/// A guest in virtual time with a disk after this model.
pub fn guest(model: DiskModel) -> GuestMachine {
    GuestMachine {
        memory: Bytes::mib(1024),
        processors: 1,
        accelerator: Accelerator::Tcg,
        cpu: "max".into(),
        disks: 1,
        disk: GuestDisk::Model { model },
        kernel: "6.1.0".into(),
        made: "guest-1".into(),
    }
}
