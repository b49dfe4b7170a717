//! Replay order of a trace: the operations of each thread, and the operations of other threads that
//! it waits for.
//!
//! The operations of a thread keep their order. Across threads, an operation waits for another one
//! if the program requires it ([`SyncEvent`]), or if both touch the same resource and one of them
//! changes it. A resource is a name or a directory above it, a handle, the names in a listed
//! directory, the same bytes of a file, or its size. This is the resource-oriented order of ROOT
//! (Weiss, Harter, Arpaci-Dusseau: "ROOT: Replaying multithreaded traces with resource-oriented
//! ordering", SOSP 2013). Waits that follow from earlier waits are omitted, with the help of vector
//! clocks.

mod clocks;
mod files;
mod resource;
mod threads;

use std::collections::HashMap;

use crate::paths::PathId;
use crate::trace::{HandleId, OpenFlags, SyncEvent, Syscall, SyscallResult, Trace, TraceRecord};
use clocks::VectorClocks;
use files::FileTable;
use resource::{AccessMode, Resource, ResourceAccess};

pub use clocks::Dependency;

/// Operations and waits of all threads of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayPlan {
    /// Lanes of the replay: as many as the maximum number of concurrent threads in the recording.
    pub lanes: Vec<ReplayThread>,
}

/// Operations and waits of one replaying thread, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayThread {
    /// Its steps.
    pub steps: Vec<ReplayStep>,
    /// Waits of all steps, concatenated.
    waits: Vec<Dependency>,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayStep {
    /// Index of the operation in [`Trace::operations`].
    pub operation: u32,
    /// End of the step's waits. They start at the end of the previous step's waits.
    waits_end: u32,
}

impl ReplayThread {
    /// Returns the waits of a step, by its index.
    pub fn waits(&self, step: usize) -> &[Dependency] {
        let end_of = |step: usize| self.steps.get(step).map_or(0, |step| step.waits_end as usize);
        let begin = step.checked_sub(1).map_or(0, end_of);
        self.waits.get(begin..end_of(step)).unwrap_or_default()
    }
}

impl ReplayPlan {
    /// Computes the replay order of a trace. Each wait refers to an operation with a lower number,
    /// so the replay always finishes.
    pub fn build(trace: &Trace) -> Self {
        let (lane_of, lanes) = threads::of(&trace.operations);
        let mut planner = Planner {
            trace,
            clocks: VectorClocks::new(lanes),
            plan: Self { lanes: vec![ReplayThread::default(); lanes] },
            pending: vec![Vec::new(); lanes],
            names: vec![Resource::default(); trace.paths.len()],
            listings: vec![Resource::default(); trace.paths.len()],
            openings: HashMap::new(),
            files: FileTable::new(&trace.paths, &trace.before),
            threads: HashMap::new(),
            starts: HashMap::new(),
            messages: HashMap::new(),
        };
        for (number, operation) in trace.operations.iter().enumerate() {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            planner.take(number, operation, lane_of[&operation.thread]);
        }
        planner.plan
    }

    /// Returns the number of operations to perform.
    pub fn operations(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.steps.len() as u64).sum()
    }
}

struct Planner<'a> {
    trace: &'a Trace,
    clocks: VectorClocks,
    plan: ReplayPlan,
    /// Waits of the next step of each lane.
    pending: Vec<Vec<Dependency>>,
    /// Resource of each path: its name.
    names: Vec<Resource>,
    /// Resource of each path: the names in this directory.
    listings: Vec<Resource>,
    openings: HashMap<HandleId, ReplayOpening>,
    files: FileTable,
    /// Progress of each thread: its last step, and the pending waits of its lane.
    threads: HashMap<u32, Vec<Dependency>>,
    /// Waits that apply to the first operation of a started thread.
    starts: HashMap<u32, Vec<Dependency>>,
    messages: HashMap<u32, Vec<Dependency>>,
}

struct ReplayOpening {
    resource: Resource,
    file: Option<files::FileId>,
    path: PathId,
}

impl Planner<'_> {
    fn take(&mut self, number: u32, operation: &TraceRecord, lane: usize) {
        let start = self.starts.remove(&operation.thread);
        for wait in start.unwrap_or_default() {
            self.wait_for(lane, wait);
        }
        let is_step = !matches!(operation.call, Syscall::Order(_));
        let place = self.plan.lanes[lane].steps.len() + usize::from(is_step);
        let here = ResourceAccess {
            wait: Dependency {
                lane: u32::try_from(lane).unwrap_or(u32::MAX),
                steps: u32::try_from(place).unwrap_or(u32::MAX),
            },
            began: operation.began.0,
            ended: operation.began.0.saturating_add(operation.duration.0),
        };
        match operation.call {
            Syscall::Order(order) => self.follow_order(order, lane, here.wait),
            _ => self.follow(operation, here),
        }
        let so_far = self.so_far(here.wait);
        self.threads.insert(operation.thread, so_far);
        // Waits found without a step apply to the next step.
        if is_step {
            let into = &mut self.plan.lanes[lane];
            into.waits.append(&mut self.pending[lane]);
            into.steps.push(ReplayStep {
                operation: number,
                waits_end: u32::try_from(into.waits.len()).unwrap_or(u32::MAX),
            });
            self.clocks.done(here.wait);
        }
    }

    /// Returns the waits for all operations of a lane so far, and for their waits.
    fn so_far(&self, here: Dependency) -> Vec<Dependency> {
        let mut waits = self.pending[here.lane as usize].clone();
        waits.push(here);
        waits
    }

    fn wait_for(&mut self, lane: usize, wait: Dependency) {
        if self.clocks.merge(lane, wait) {
            self.pending[lane].push(wait);
        }
    }

    fn follow_order(&mut self, order: SyncEvent, lane: usize, here: Dependency) {
        let met = match order {
            SyncEvent::Spawn { thread } => {
                self.starts.insert(thread, self.so_far(here));
                None
            }
            SyncEvent::Send { message } => {
                self.messages.insert(message, self.so_far(here));
                None
            }
            SyncEvent::Join { thread } => self.threads.get(&thread).cloned(),
            SyncEvent::Receive { message } => self.messages.get(&message).cloned(),
        };
        for wait in met.unwrap_or_default() {
            self.wait_for(lane, wait);
        }
    }

    /// Waits for all dependencies of an operation and records the resources that it touches.
    fn follow(&mut self, operation: &TraceRecord, here: ResourceAccess) {
        let mut waits = Vec::new();
        match operation.outcome {
            SyscallResult::Ok(_) => self.touch(&operation.call, here, &mut waits),
            SyscallResult::Err(_) => self.touch_failing(&operation.call, here, &mut waits),
        }
        // Latest first: it may imply the others.
        waits.sort_by_key(|wait: &Dependency| std::cmp::Reverse((wait.steps, wait.lane)));
        for wait in waits {
            self.wait_for(here.wait.lane as usize, wait);
        }
    }

    /// Handles a failed call: it changed no resource, but depends on the state that it saw.
    fn touch_failing(&mut self, call: &Syscall, here: ResourceAccess, waits: &mut Vec<Dependency>) {
        for path in call.paths().into_iter().flatten() {
            self.name(path, AccessMode::Read, here, waits);
        }
        for handle in call.handles().into_iter().flatten() {
            self.opening(handle, AccessMode::Read, here, waits);
        }
        if let Syscall::RemoveDirectory { path } = call {
            self.listings[path.0 as usize].record_access(AccessMode::Read, here, waits);
        }
    }

    fn touch(&mut self, call: &Syscall, here: ResourceAccess, waits: &mut Vec<Dependency>) {
        for handle in call.handles().into_iter().flatten() {
            let touch = match call {
                Syscall::Close { .. } => AccessMode::Modify,
                _ => AccessMode::Read,
            };
            self.opening(handle, touch, here, waits);
        }
        let change = match *call {
            Syscall::Open { path, flags, .. } => {
                flags.has(OpenFlags::CREATE) && self.files.file(path).is_none()
            }
            Syscall::Stat { .. }
            | Syscall::Access { .. }
            | Syscall::ReadLink { .. }
            | Syscall::Truncate { .. }
            | Syscall::ChangeMode { .. }
            | Syscall::ChangeOwner { .. }
            | Syscall::SetTimes { .. }
            | Syscall::SetAttribute { .. }
            | Syscall::GetAttribute { .. }
            | Syscall::ListAttributes { .. }
            | Syscall::RemoveAttribute { .. } => false,
            _ => true,
        };
        for path in call.paths().into_iter().flatten() {
            match change {
                true => self.change_name(path, here, waits),
                false => self.name(path, AccessMode::Read, here, waits),
            }
        }
        self.touch_files(call, here, waits);
    }

    /// Tracks the effects of a call on files and their data.
    fn touch_files(&mut self, call: &Syscall, here: ResourceAccess, waits: &mut Vec<Dependency>) {
        let paths = &self.trace.paths;
        match *call {
            Syscall::Open { path, flags, handle, .. } => {
                let file = match flags.has(OpenFlags::TEMPORARY) {
                    true => self.files.new_anonymous(),
                    false => self.files.file_or_new(path),
                };
                if flags.has(OpenFlags::TRUNCATE) {
                    self.files.resize(file, here, waits);
                }
                if let Some(handle) = handle {
                    let mut resource = Resource::default();
                    resource.record_access(AccessMode::Modify, here, waits);
                    self.openings
                        .insert(handle, ReplayOpening { resource, file: Some(file), path });
                }
            }
            Syscall::Truncate { path, .. } => {
                let file = self.files.file_or_new(path);
                self.files.resize(file, here, waits);
            }
            Syscall::Unlink { path } | Syscall::RemoveDirectory { path } => self.files.unlink(path),
            Syscall::Rename { from, to, flags } => self.files.rename(paths, from, to, flags),
            Syscall::Link { from, to } => self.files.link(from, to),
            Syscall::LinkHandle { handle, to } => {
                let file = self.openings.get(&handle).and_then(|opening| opening.file);
                self.files.name(to, file);
            }
            Syscall::List { handle } => {
                if let Some(opening) = self.openings.get(&handle) {
                    let listing = &mut self.listings[opening.path.0 as usize];
                    listing.record_access(AccessMode::Read, here, waits);
                }
            }
            Syscall::CopyRange { from, to, from_offset, to_offset, length, .. } => {
                self.data(from, from_offset, length, AccessMode::Read, here, waits);
                self.data(to, to_offset, length, AccessMode::Modify, here, waits);
            }
            Syscall::Read { handle, offset, length }
            | Syscall::MappedRead { handle, offset, length } => {
                self.data(handle, offset, length, AccessMode::Read, here, waits);
            }
            Syscall::Write { handle, offset, length }
            | Syscall::MappedWrite { handle, offset, length }
            | Syscall::Allocate { handle, offset, length, .. } => {
                self.data(handle, offset, length, AccessMode::Modify, here, waits);
            }
            Syscall::SyncRange { handle, offset, length }
            | Syscall::MappedSync { handle, offset, length } => {
                self.data(handle, offset, length.max(1), AccessMode::Read, here, waits);
            }
            Syscall::Sync { handle, .. } => {
                self.data(handle, 0, u64::MAX, AccessMode::Read, here, waits);
            }
            Syscall::TruncateHandle { handle, .. } => {
                if let Some(file) = self.openings.get(&handle).and_then(|opening| opening.file) {
                    self.files.resize(file, here, waits);
                }
            }
            _ => {}
        }
    }

    fn data(
        &mut self,
        handle: HandleId,
        offset: u64,
        length: u64,
        touch: AccessMode,
        here: ResourceAccess,
        waits: &mut Vec<Dependency>,
    ) {
        if let Some(file) = self.openings.get(&handle).and_then(|opening| opening.file) {
            let range = offset..offset.saturating_add(length);
            self.files.touch(file, range, touch, here, waits);
        }
    }

    fn opening(
        &mut self,
        handle: HandleId,
        touch: AccessMode,
        here: ResourceAccess,
        waits: &mut Vec<Dependency>,
    ) {
        if let Some(opening) = self.openings.get_mut(&handle) {
            opening.resource.record_access(touch, here, waits);
        }
    }

    /// Records the creation, removal or renaming of a name.
    fn change_name(&mut self, path: PathId, here: ResourceAccess, waits: &mut Vec<Dependency>) {
        self.name(path, AccessMode::Modify, here, waits);
        if let Some(parent) = self.trace.paths.parent(path) {
            // Calls that change names do not wait for each other, but they and listings do.
            self.listings[parent.0 as usize].record_access(AccessMode::Add, here, waits);
        }
        self.listings[path.0 as usize] = Resource::default();
    }

    /// Records an access to a name, and a read of each directory above it.
    fn name(
        &mut self,
        path: PathId,
        touch: AccessMode,
        here: ResourceAccess,
        waits: &mut Vec<Dependency>,
    ) {
        self.names[path.0 as usize].record_access(touch, here, waits);
        let mut at = path;
        while let Some(parent) = self.trace.paths.parent(at) {
            self.names[parent.0 as usize].record_access(AccessMode::Read, here, waits);
            at = parent;
        }
    }
}

#[cfg(test)]
mod tests;
