//! Descriptors of the recorded processes: which open file or pipe each refers to.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::fs_model::Inode;
use super::tasks::StraceImporter;
use crate::paths::PathId;
use crate::trace::{HandleId, Syscall, SyscallResult};

/// An open file, shared by all descriptors that refer to it.
#[derive(Debug)]
pub struct OpenDescription {
    pub handle: HandleId,
    pub path: PathId,
    pub node: Inode,
    pub position: u64,
    pub appends: bool,
    /// Operation that currently lists the directory.
    pub listing: Option<usize>,
}

/// Target of a descriptor.
#[derive(Clone, Debug)]
pub enum Held {
    /// An open file below the directory.
    File(Rc<RefCell<OpenDescription>>),
    /// The writing end of a pipe, by the name of the pipe.
    Pipe(Rc<Vec<u8>>),
}

/// Descriptors of a process, each with its close-on-exec flag.
pub type TaskTable = HashMap<i32, (Held, bool)>;

/// The descriptors of all threads that share them. A new process shares its parent's until one of
/// both changes them.
pub type SharedTable = Rc<RefCell<Rc<TaskTable>>>;

/// Maximum number of descriptors that processes copy from their parents, so that they fit into
/// memory.
const MAX_COPIED: usize = 16_000_000;

impl StraceImporter {
    /// Records that a descriptor refers to an open file or a pipe.
    pub(super) fn install(&mut self, task: u32, descriptor: i32, held: Held, closes: bool) {
        self.change_table(task, |table| _ = table.insert(descriptor, (held, closes)));
    }

    /// Changes the descriptors of a process, after a copy if others share them.
    pub(super) fn change_table<T>(
        &mut self,
        task: u32,
        change: impl FnOnce(&mut TaskTable) -> T,
    ) -> T {
        let shared = Rc::clone(&self.task(task).table);
        let mut table = shared.borrow_mut();
        if Rc::strong_count(&table) > 1 {
            self.copied += table.len();
            if self.copied > MAX_COPIED {
                self.refused =
                    Some("its processes copy more than 16000000 descriptors; record a part");
            }
        }
        change(Rc::make_mut(&mut table))
    }

    /// Returns the next number of an open file.
    pub(super) fn next_handle(&mut self) -> HandleId {
        self.handles += 1;
        HandleId(self.handles - 1)
    }

    /// Creates an open file with the next handle and no descriptor.
    pub(super) fn opening(
        &mut self,
        path: PathId,
        node: Inode,
        appends: bool,
    ) -> Rc<RefCell<OpenDescription>> {
        let handle = self.next_handle();
        Rc::new(RefCell::new(OpenDescription {
            handle,
            path,
            node,
            position: 0,
            appends,
            listing: None,
        }))
    }

    /// Returns the target of a descriptor, if known.
    pub(super) fn held(&self, task: u32, descriptor: i32) -> Option<Held> {
        let table = self.task(task).table.borrow();
        table.get(&descriptor).map(|(held, _)| held.clone())
    }

    /// Closes a descriptor, and the file or the end of the pipe with its last descriptor.
    pub(super) fn close(&mut self, task: u32, at: u64, took: u64, descriptor: i32) {
        if !self.task(task).table.borrow().contains_key(&descriptor) {
            return;
        }
        match self.change_table(task, |table| table.remove(&descriptor)) {
            Some((Held::File(open), _)) if Rc::strong_count(&open) == 1 => {
                let handle = open.borrow().handle;
                self.push(task, at, took, Syscall::Close { handle }, SyscallResult::Ok(0));
            }
            Some((Held::Pipe(pipe), _)) if Rc::strong_count(&pipe) == 1 => {
                self.sent(task, at, pipe.to_vec());
            }
            _ => {}
        }
    }

    /// Closes all descriptors of a thread for which `which` returns true for their number and their
    /// close-on-exec flag.
    pub(super) fn close_all(&mut self, task: u32, at: u64, which: impl Fn(i32, bool) -> bool) {
        let table = self.task(task).table.borrow();
        let chosen = table.iter().filter(|(number, (_, closes))| which(**number, *closes));
        let chosen: BTreeSet<i32> = chosen.map(|(number, _)| *number).collect();
        drop(table);
        for descriptor in chosen {
            self.close(task, at, 0, descriptor);
        }
    }

    /// Handles the execution of another program, which closes all close-on-exec descriptors.
    pub(super) fn exec(&mut self, task: u32, at: u64) {
        let own = Rc::clone(&self.task(task).table.borrow());
        self.task_mut(task).table = Rc::new(RefCell::new(own));
        self.close_all(task, at, |_, closes| closes);
    }

    /// Closes all open files of a process with its last thread. Files stay open if another process
    /// has the same descriptors.
    pub(super) fn leave(&mut self, task: u32, at: u64) {
        let table = &self.task(task).table;
        let (threads, processes) = (Rc::strong_count(table), Rc::strong_count(&table.borrow()));
        match (threads, processes) {
            (1, 1) => self.close_all(task, at, |_, _| true),
            (1, _) => self.task_mut(task).table = Rc::default(),
            _ => {}
        }
    }
}
