//! Tests in guests that need root: cells and campaigns under the emulator.

mod guest;
mod guest_bench;
mod guest_death;
mod guest_virtual_time;
mod many_machines;
mod stopwatch;
mod vm_campaign;
mod vm_disks;
mod vm_explain;
mod vm_false_events;
mod vm_faults;
mod vm_guard;
mod vm_journal;
mod vm_layers;
mod vm_own_kernel;
mod vm_power_cut;
mod vm_real_time;
mod vm_replicate;
mod vm_signals;
mod vm_survival;
