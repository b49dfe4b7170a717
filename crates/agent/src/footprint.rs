//! What the filesystem of a cell holds in memory, compared with the moment before it was made.

use model::{Bytes, Driver, MemoryUse};
use sys::footprint;
use wire::{Job, Target};

/// Looks at the memory of one cell's filesystem.
pub struct Footprint {
    /// What the kernel's caches of objects held before; absent where the kernel is everybody's.
    before: Option<Bytes>,
    has_driver: bool,
}

impl Footprint {
    /// Takes the first look, before anything is made; `own_kernel` says whether the kernel is there for this cell alone.
    pub fn begin(job: &Job, own_kernel: bool) -> Self {
        let has_driver = match &job.target {
            Target::Volume(volume) => volume.driver == Driver::Fuse,
            Target::Directory { .. } => false,
        };
        Self {
            before: own_kernel.then(footprint::object_caches).flatten(),
            has_driver,
        }
    }

    /// What it holds now; nothing where nothing can be known of it.
    pub fn now(&self) -> Option<MemoryUse> {
        let grown = |before: Bytes| {
            let now = footprint::object_caches()?;
            Some(Bytes(now.0.saturating_sub(before.0)))
        };
        let found = MemoryUse {
            kernel: self.before.and_then(grown),
            driver: self.has_driver.then(footprint::drivers),
        };
        (!found.is_empty()).then_some(found)
    }
}
