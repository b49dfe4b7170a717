//! Shared parts of tests with single guests: a guest, a directory with a disk, cells.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use backend::{
    DiskLocation, Executor, GuestExecutor, SnapshotPool, SnapshotStore, StandaloneGuestCell,
};
use config::Catalog;
use end_to_end::{guest, guest_cache, program};
use guest::{Clock, Guest};
use model::wire::CellJob;
use model::{Bytes, CellResult, SizeProfile, Test};
use tempfile::TempDir;

/// Memory of a guest; less than fsarena's default, so that more tests run in parallel.
const MEMORY: Bytes = Bytes::mib(512);

/// A directory and a disk for one guest.
pub struct Bench {
    /// Directory of all files of the guest.
    pub directory: TempDir,
    size: Bytes,
    catalog: Catalog,
}

impl Bench {
    /// Creates a directory for a guest with a disk of this size.
    pub fn new(size: Bytes) -> Self {
        let directory = tempfile::Builder::new().prefix("fsarena-e2e-").tempdir();
        Self { directory: directory.unwrap(), size, catalog: Catalog::builtin().unwrap() }
    }

    /// Creates a file in the directory.
    pub fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.directory.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// Returns an executor in real time for this contender, with an image as the disk.
    pub fn real(&self, contender: &str) -> GuestExecutor {
        self.real_in(guest(), contender)
    }

    /// Returns an executor in real time for another guest.
    pub fn real_in(&self, guest: Guest, contender: &str) -> GuestExecutor {
        self.executor(guest, contender, DiskLocation::HostFile, Clock::Real)
    }

    /// Returns an executor in virtual time, with the disk in the guest's memory. Its guest starts
    /// from a snapshot, which it shares with other tests and campaigns.
    pub fn model(&self, contender: &str) -> GuestExecutor {
        let mut executor =
            self.executor(guest(), contender, DiskLocation::GuestMemory, Clock::Virtual);
        let store = SnapshotStore::open(&guest_cache().join("snapshots")).unwrap();
        executor.snapshots = Some(Arc::new(SnapshotPool::stored(Some(store))));
        executor
    }

    fn executor(
        &self,
        guest: Guest,
        contender: &str,
        disk: DiskLocation,
        clock: Clock,
    ) -> GuestExecutor {
        let guest = Arc::new(guest);
        let cell = self.cell(contender, disk, &guest);
        let directory = self.directory.path();
        let executor = cell.executor(guest, program::fsarena(), clock, directory);
        let mut executor = executor.unwrap();
        executor.machine.memory = MEMORY;
        executor
    }

    /// Returns the job for a guest with its disk inside or outside.
    pub fn job(&self, contender: &str, executor: &GuestExecutor, test: &Test) -> CellJob {
        let disk = match executor.memory_disk {
            Some(_) => DiskLocation::GuestMemory,
            None => DiskLocation::HostFile,
        };
        let cell = self.cell(contender, disk, &executor.guest);
        cell.job(test.clone())
    }

    fn cell(&self, contender: &str, disk: DiskLocation, guest: &Guest) -> StandaloneGuestCell {
        let contender = self.catalog.contender(contender).unwrap();
        StandaloneGuestCell::new(contender, self.size, disk, guest).unwrap()
    }

    /// Returns a test of the catalog.
    pub fn test(&self, suite: &str, name: &str, profile: SizeProfile) -> Test {
        let suite = self.catalog.suite(suite, profile).unwrap();
        let test = suite.tests.iter().find(|t| t.name == name);
        test.unwrap().clone()
    }
}

/// Runs a cell without interruption.
pub fn execute(executor: &mut impl Executor, job: &CellJob) -> CellResult {
    executor.execute(job, &mut |_| {}).unwrap()
}
