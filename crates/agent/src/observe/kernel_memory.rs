//! Memory used by the filesystem of a cell, compared with the state before its creation.

use model::wire::{CellJob, WorkTarget};
use model::{Bytes, DriverKind, KernelMemoryUse};
use sys::process::kernel_memory;

/// Probe of the kernel memory that the filesystem of one cell uses.
pub struct KernelMemoryProbe {
    /// Size of the kernel's object caches at the start. `None` if the kernel is shared with other
    /// programs.
    before: Option<Bytes>,
    has_driver: bool,
}

impl KernelMemoryProbe {
    /// Takes the baseline before the filesystem is created; `own_kernel` is true if the kernel runs
    /// only this cell.
    pub fn baseline(job: &CellJob, own_kernel: bool) -> Self {
        let has_driver = match &job.target {
            WorkTarget::Volume(volume) => volume.driver == DriverKind::Fuse,
            WorkTarget::Directory { .. } => false,
        };
        Self { before: own_kernel.then(kernel_memory::slab_bytes).flatten(), has_driver }
    }

    /// Returns the current memory use. Returns `None` if it cannot be determined.
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
