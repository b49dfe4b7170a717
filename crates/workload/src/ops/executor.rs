//! Capabilities of operations ([`OpExecutor`]), implemented with a workspace and the counts of a thread.

use model::op::{
    Create, Exec, FallocateMode, FileContent, Io, Metadata, OpExecutor, StreamUnit, TreeSpec,
};
use model::{AccessPattern, Bytes, Mix, Occupy, Replay, SyncAtEnd, Vacate};
use sys::io::caches;

use crate::error::{OpContext, OpError};
use crate::measure::thread_stats::ThreadStats;
use crate::ops::open_file::{self, OpenFile};
use crate::ops::sets::VisitOptions;
use crate::ops::{
    IoMode, copy, copy_in, data, job, mix, occupy, read_files, replay, sets, stream, tree,
};
use crate::workspace::CellWorkspace;

/// Environment in which an operation of a phase runs.
pub struct PhaseExecutor<'a> {
    ws: &'a mut CellWorkspace,
    stats: &'a mut ThreadStats,
    setting: IoMode,
    /// Whether the operation has already ended the timed part, before it closed its files.
    ended: bool,
}

impl<'a> PhaseExecutor<'a> {
    /// Creates an executor for one operation.
    pub const fn new(
        ws: &'a mut CellWorkspace,
        stats: &'a mut ThreadStats,
        setting: IoMode,
    ) -> Self {
        Self { ws, stats, setting, ended: false }
    }

    /// Ends the phase and syncs the filesystem if requested.
    pub fn end(&mut self) -> Result<(), OpError> {
        let syncs = self.setting.ends == SyncAtEnd::Syncfs && !self.ended;
        self.ended = true;
        match syncs {
            true => self.sync(),
            false => Ok(()),
        }
    }
}

impl OpExecutor for PhaseExecutor<'_> {
    type Error = OpError;
    type File = OpenFile;

    fn unsupported(&self, reason: &str) -> OpError {
        OpError::Unsupported { reason: reason.to_owned() }
    }

    fn sync(&mut self) -> Result<(), OpError> {
        caches::sync_filesystem(self.ws.root()).with_call("syncfs", self.ws.root())
    }

    fn run(&mut self, exec: &Exec) -> Result<(), OpError> {
        let Some(programs) = self.ws.programs.clone() else {
            return Err(self.unsupported("commands cannot run here"));
        };
        let operations = exec.operations.unwrap_or(1);
        self.stats.output =
            programs.run(exec, self.ws.root(), &mut || self.stats.start_timed(operations))?;
        match exec.operations.is_some() || !exec.prints.is_empty() {
            true => self.stats.count(operations),
            false => self.stats.finish_op(),
        }
        Ok(())
    }

    fn replay(&mut self, replay: &Replay) -> Result<(), OpError> {
        self.ended = true;
        replay::perform(self.ws, self.stats, replay, self.setting.ends)
    }

    fn occupy(&mut self, wanted: &Occupy) -> Result<(), OpError> {
        occupy::occupy(self.ws, self.stats, wanted)
    }

    fn vacate(&mut self, wanted: &Vacate) -> Result<(), OpError> {
        occupy::vacate(self.ws, self.stats, wanted)
    }

    fn job(&mut self, job: &Io) -> Result<(), OpError> {
        self.ended = true;
        job::perform(self.ws, self.stats, job, self.setting)
    }

    fn write_stream(&mut self, file: &str, size: Bytes, unit: StreamUnit) -> Result<(), OpError> {
        self.ended = true;
        stream::write(self.ws, self.stats, file, size, unit, self.setting.ends)
    }

    fn read_stream(&mut self, file: &str, unit: StreamUnit) -> Result<(), OpError> {
        self.ended = true;
        stream::read(self.ws, self.stats, file, unit, self.setting.ends)
    }

    fn copy_file(&mut self, from: &str, to: &str, block: Bytes) -> Result<(), OpError> {
        copy::file(self.ws, self.stats, from, to, block, self.setting.ends)
    }

    fn copy_file_in(&mut self, file: &str, size: Bytes, block: Bytes) -> Result<(), OpError> {
        if self.ws.source.is_none() {
            return self
                .job(&Io { size: Some(size), ..Io::new(file, AccessPattern::Write, block) });
        }
        copy_in::file(self.ws, self.stats, file, block, self.setting.ends)
    }

    fn remove_file(&mut self, file: &str) -> Result<(), OpError> {
        data::remove(self.ws, self.stats, file)
    }

    fn create(&mut self, create: &Create) -> Result<(), OpError> {
        sets::create(self.ws, self.stats, create)
    }

    fn visit(&mut self, metadata: &Metadata) -> Result<(), OpError> {
        let Metadata { ref set, ref action, order, threads } = *metadata;
        sets::run_metadata_op(self.ws, self.stats, set, action, VisitOptions { order, threads })
    }

    fn mix(&mut self, mix: &Mix) -> Result<(), OpError> {
        self.ended = true;
        mix::perform(self.ws, self.stats, mix, self.setting.ends)
    }

    fn generate_tree(&mut self, tree: &str, spec: &TreeSpec) -> Result<(), OpError> {
        tree::plant(self.ws, self.stats, tree, spec)
    }

    fn copy_tree_in(&mut self, tree: &str, spec: &TreeSpec, block: Bytes) -> Result<(), OpError> {
        match self.ws.source.clone() {
            Some(source) => copy_in::tree(&source, self.ws, self.stats, tree, block),
            None => self.generate_tree(tree, spec),
        }
    }

    fn copy_tree(&mut self, from: &str, to: &str, block: Bytes) -> Result<(), OpError> {
        copy::tree(self.ws, self.stats, from, to, block)
    }

    fn list_tree(&mut self, tree: &str) -> Result<(), OpError> {
        tree::list(self.ws, self.stats, tree)
    }

    fn find_in_tree(&mut self, tree: &str) -> Result<(), OpError> {
        tree::find(self.ws, self.stats, tree)
    }

    fn verify_tree(&mut self, tree: &str) -> Result<(), OpError> {
        tree::verify(self.ws, self.stats, tree)
    }

    fn read_files(&mut self, directory: &str) -> Result<(), OpError> {
        read_files::read(self.ws, self.stats, directory)
    }

    fn remove_tree(&mut self, tree: &str) -> Result<(), OpError> {
        tree::remove(self.ws, self.stats, tree)
    }

    fn size_of(&self, file: &str) -> Result<Bytes, OpError> {
        Ok(Bytes(self.ws.file(file)?.size))
    }

    fn size_to_copy(&mut self, from: &str, to: &str) -> Result<Bytes, OpError> {
        Ok(Bytes(self.ws.file_to_copy(from, to)?.size))
    }

    fn start_timing(&mut self, operations: u64) {
        self.stats.start_timed(operations);
    }

    fn open_file(&mut self, file: &str) -> Result<OpenFile, OpError> {
        open_file::open(self.ws, file)
    }

    fn create_file(&mut self, file: &str) -> Result<OpenFile, OpError> {
        open_file::create(self.ws, file)
    }

    fn set_size(&mut self, file: &OpenFile, size: Bytes) -> Result<(), OpError> {
        file.set_size(size)?;
        self.stats.finish_op();
        Ok(())
    }

    fn fallocate(
        &mut self,
        file: &OpenFile,
        mode: FallocateMode,
        offset: u64,
        length: u64,
    ) -> Result<(), OpError> {
        file.fallocate(self.ws, mode, offset, length)?;
        self.stats.finish_op();
        Ok(())
    }

    fn clone_file(&mut self, from: &OpenFile, to: &OpenFile) -> Result<(), OpError> {
        from.clone_to(self.ws, to)?;
        self.stats.finish_op();
        Ok(())
    }

    fn copy_range(
        &mut self,
        from: &OpenFile,
        to: &OpenFile,
        offset: u64,
        length: u64,
    ) -> Result<u64, OpError> {
        let copied = from.copy_to(self.ws, to, offset, length)?;
        self.stats.finish_write(copied);
        Ok(copied as u64)
    }

    fn finish(&mut self, file: OpenFile, holds: FileContent<'_>) -> Result<(), OpError> {
        file.sync(self.setting.ends)?;
        self.end()?;
        self.stats.pause_timed();
        file.record_content(self.ws, holds)
    }
}
