//! What the filesystem of a cell holds in memory, compared with the moment before it was made.

use model::{Bytes, DriverKind, KernelMemoryUse};
use sys::kernel_memory;
use wire::{CellJob, WorkTarget};

/// Looks at the memory of one cell's filesystem.
pub struct KernelMemoryProbe {
    /// What the kernel's caches of objects held before; absent where the kernel is everybody's.
    before: Option<Bytes>,
    has_driver: bool,
}

impl KernelMemoryProbe {
    /// Takes the first look, before anything is made; `own_kernel` says whether the kernel is there for this cell alone.
    pub fn baseline(job: &CellJob, own_kernel: bool) -> Self {
        let has_driver = match &job.target {
            WorkTarget::Volume(volume) => volume.driver == DriverKind::Fuse,
            WorkTarget::Directory { .. } => false,
        };
        Self {
            before: own_kernel.then(kernel_memory::slab_bytes).flatten(),
            has_driver,
        }
    }

    /// What it holds now; nothing where nothing can be known of it.
    pub fn now(&self) -> Option<KernelMemoryUse> {
        let grown = |before: Bytes| {
            let now = kernel_memory::slab_bytes()?;
            Some(Bytes(now.0.saturating_sub(before.0)))
        };
        let found = KernelMemoryUse {
            kernel: self.before.and_then(grown),
            driver: self.has_driver.then(kernel_memory::driver_process_bytes),
        };
        (!found.is_empty()).then_some(found)
    }
}
