//! What tests of single guests share: a guest, a place with a disk, cells.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use catalog::{Catalog, Place};
use end_to_end::{guest, program};
use guest::{Clock, DISK, MEMORY_DISK, MOUNTPOINT, Machine, MemoryDisk};
use model::{Bytes, CellId, CellResult, Nanos, Profile, Test};
use run::{Executor, GuestExecutor};
use tempfile::TempDir;
use wire::{Job, Target, Volume};

/// A place with a disk for one guest.
pub struct Bench {
    /// Everything of the guest's that lies outside of it.
    pub directory: TempDir,
    /// The size of its disk.
    pub size: Bytes,
    catalog: Catalog,
}

impl Bench {
    /// A place with a disk of this size.
    pub fn new(size: Bytes) -> Self {
        let directory = tempfile::Builder::new().prefix("fsarena-e2e-").tempdir();
        Self {
            directory: directory.unwrap(),
            size,
            catalog: Catalog::builtin().unwrap(),
        }
    }

    /// A file in this place.
    pub fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// An empty image.
    pub fn image(&self) -> PathBuf {
        let path = self.directory.path().join("disk");
        File::create(&path).unwrap().set_len(self.size.0).unwrap();
        path
    }

    /// A guest with this contender's filesystem, on which time passes as outside, and whose disk is an image.
    pub fn real(&self, contender: &str) -> GuestExecutor {
        let requires = self
            .catalog
            .contender(contender)
            .unwrap()
            .filesystem
            .requires;
        GuestExecutor {
            guest: Arc::new(guest()),
            machine: Machine {
                memory: Bytes::mib(512),
                ..Machine::default()
            },
            program: program::fsarena().to_owned(),
            modules: requires.modules,
            programs: requires.programs,
            disks: vec![self.image()],
            memory_disk: None,
            directory: self.directory.path().to_owned(),
            patience: Nanos::from_secs(120),
            stop: Arc::new(AtomicBool::new(false)),
        }
    }

    /// The same in model time, with its disk in its memory.
    pub fn model(&self, contender: &str) -> GuestExecutor {
        let real = self.real(contender);
        GuestExecutor {
            machine: Machine {
                clock: Clock::Model,
                ..real.machine
            },
            disks: Vec::new(),
            memory_disk: Some(MemoryDisk {
                size: self.size,
                latency: Nanos(50_000),
                bandwidth: None,
                count: 1,
            }),
            ..real
        }
    }

    /// What is to be done in a guest that has its disk inside, or outside.
    pub fn job(&self, contender: &str, executor: &GuestExecutor, test: &Test) -> Job {
        let contender = self.catalog.contender(contender).unwrap();
        let device = match executor.memory_disk {
            Some(_) => MEMORY_DISK,
            None => DISK,
        };
        let place = Place {
            device: Some(device),
            mountpoint: MOUNTPOINT,
            size: self.size,
            fsarena: "/init",
        };
        let volume = Volume {
            device: Some(device.into()),
            size: self.size,
            mountpoint: MOUNTPOINT.into(),
            driver: contender.filesystem.driver,
            commands: catalog::resolve(&contender, &place),
        };
        Job {
            version: wire::VERSION,
            cell: CellId(1),
            target: Target::Volume(Box::new(volume)),
            test: test.clone(),
            seed: 7,
        }
    }

    /// A test of the catalog's.
    pub fn test(&self, suite: &str, name: &str, profile: Profile) -> Test {
        let suite = self.catalog.suite(suite, profile).unwrap();
        let test = suite.tests.iter().find(|t| t.name == name);
        test.unwrap().clone()
    }
}

/// Runs a cell; nothing interrupts it.
pub fn execute(executor: &mut impl Executor, job: &Job) -> CellResult {
    executor.execute(job, &mut |_| {}).unwrap()
}
