//! A cell in a guest outside of any campaign: for the self-test, and for a person who looks around.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use catalog::{Catalog, Place};
use guest::{Clock, DISK, Guest, MEMORY_DISK, MOUNTPOINT, Machine, MemoryDisk};
use model::{Bytes, CellId, Contender, Nanos, Test};
use run::GuestExecutor;
use wire::{Job, Target, Volume};

use crate::exit::Refused;

/// Enough for the kernel, the programs and what a test at `smoke` writes.
const MEMORY: Bytes = Bytes::mib(1024);
const LATENCY: Nanos = Nanos(50_000);
const PATIENCE: Nanos = Nanos::from_secs(120);

/// Where a guest's disk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disk {
    /// In its own memory.
    Inside,
    /// A file of this machine's.
    Outside,
}

/// A contender in a guest.
pub struct GuestCell {
    contender: Contender,
    size: Bytes,
    disk: Disk,
}

impl GuestCell {
    /// A contender on a disk of about this size, as it takes it; refused where the guest cannot drive it.
    pub fn new(
        catalog: &Catalog,
        contender: &str,
        size: Bytes,
        disk: Disk,
        guest: &Guest,
    ) -> anyhow::Result<Self> {
        let contender = catalog.contender(contender)?;
        let filesystem = &contender.filesystem;
        let name = &filesystem.name;
        if let Some(why) = guest.lacks(filesystem) {
            return Err(Refused(format!("{name} cannot be run in the guest: {why}")).into());
        }
        let needs = &filesystem.requires;
        let largest = needs.largest.unwrap_or(size);
        let size = size.min(largest).max(needs.smallest);
        // Disks in memory are so many whole MiB.
        let size = Bytes::mib(size.0.div_ceil(1 << 20).max(1));
        Ok(Self {
            contender,
            size,
            disk,
        })
    }

    /// What the agent does.
    pub fn job(&self, test: Test) -> Job {
        let device = match self.disk {
            Disk::Inside => MEMORY_DISK,
            Disk::Outside => DISK,
        };
        let place = Place {
            device: Some(device),
            mountpoint: MOUNTPOINT,
            size: self.size,
            fsarena: "/init",
        };
        let volume = Volume {
            device: catalog::needs_device(&self.contender.filesystem).then(|| device.into()),
            size: self.size,
            mountpoint: MOUNTPOINT.into(),
            driver: self.contender.filesystem.driver,
            commands: catalog::resolve(&self.contender, &place),
        };
        Job {
            version: wire::VERSION,
            cell: CellId(0),
            target: Target::Volume(Box::new(volume)),
            test,
            seed: 1,
        }
    }

    /// What runs it, with files in this directory.
    pub fn executor(
        &self,
        guest: Guest,
        clock: Clock,
        directory: &Path,
    ) -> anyhow::Result<GuestExecutor> {
        let requires = &self.contender.filesystem.requires;
        let disks = match self.disk {
            Disk::Inside => Vec::new(),
            Disk::Outside => vec![image(directory, self.size)?],
        };
        let memory_disk = MemoryDisk {
            size: self.size,
            latency: LATENCY,
            bandwidth: None,
            count: 1,
        };
        Ok(GuestExecutor {
            guest: Arc::new(guest),
            machine: Machine {
                memory: MEMORY,
                clock,
                ..Machine::default()
            },
            program: std::env::current_exe().context("cannot find this program")?,
            modules: requires.modules.clone(),
            programs: requires.programs.clone(),
            disks,
            memory_disk: (self.disk == Disk::Inside).then_some(memory_disk),
            directory: directory.to_owned(),
            patience: PATIENCE,
            stop: Arc::new(AtomicBool::new(false)),
        })
    }
}

fn image(directory: &Path, size: Bytes) -> anyhow::Result<PathBuf> {
    let path = directory.join("disk");
    File::create(&path)?.set_len(size.0)?;
    Ok(path)
}
