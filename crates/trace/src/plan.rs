//! The order in which a trace is replayed: which operations a thread does, and for which of other threads it waits.
//!
//! A thread's operations keep their order. Across threads, one waits for another where the program says so
//! ([`Order`]), or where both touch the same thing and one of them changes it: a name or a directory above it, an
//! opening, the names in a directory that is listed, the same bytes of a file, its size. This is the resource-oriented
//! order of ROOT (Weiss, Harter, Arpaci-Dusseau: "ROOT: Replaying multithreaded traces with resource-oriented ordering",
//! SOSP 2013). What follows from earlier waits is left out, which vector clocks tell.

mod clocks;
mod files;
mod lanes;
mod resource;

use std::collections::HashMap;

use crate::paths::PathId;
use crate::trace::{Call, HandleId, OpenFlags, Operation, Order, Outcome, Trace};
use clocks::Clocks;
use files::Files;
use resource::{Resource, Touch, Use};

pub use clocks::Wait;

/// What each thread of a replay does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// A lane for each: as many as threads ran side by side when the trace was made.
    pub lanes: Vec<Lane>,
}

/// What one thread of a replay does, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lane {
    /// Its steps.
    pub steps: Vec<Step>,
    /// What steps wait for, one behind the other.
    waits: Vec<Wait>,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its number in [`Trace::operations`].
    pub operation: u32,
    /// Where its waits end; they begin where those of the step before end.
    waits_end: u32,
}

impl Lane {
    /// What a step waits for, by its place.
    pub fn waits(&self, step: usize) -> &[Wait] {
        let end_of = |step: usize| {
            self.steps
                .get(step)
                .map_or(0, |step| step.waits_end as usize)
        };
        let begin = step.checked_sub(1).map_or(0, end_of);
        self.waits.get(begin..end_of(step)).unwrap_or_default()
    }
}

impl Plan {
    /// The order of a trace. Each wait is for an operation with a lower number, so that replaying always comes to its
    /// end.
    pub fn of(trace: &Trace) -> Self {
        let (lane_of, lanes) = lanes::of(&trace.operations);
        let mut planner = Planner {
            trace,
            clocks: Clocks::new(lanes),
            plan: Self {
                lanes: vec![Lane::default(); lanes],
            },
            pending: vec![Vec::new(); lanes],
            names: vec![Resource::default(); trace.paths.len()],
            listings: vec![Resource::default(); trace.paths.len()],
            openings: HashMap::new(),
            files: Files::new(&trace.paths, &trace.before),
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

    /// How many operations are performed.
    pub fn operations(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.steps.len() as u64).sum()
    }
}

struct Planner<'a> {
    trace: &'a Trace,
    clocks: Clocks,
    plan: Plan,
    /// What the next step of each lane waits for.
    pending: Vec<Vec<Wait>>,
    /// Of each path, its name.
    names: Vec<Resource>,
    /// Of each path, the names in it.
    listings: Vec<Resource>,
    openings: HashMap<HandleId, Opening>,
    files: Files,
    /// How far each thread has come, and what it waits for before it goes on.
    threads: HashMap<u32, Vec<Wait>>,
    /// Where each thread was started, likewise.
    starts: HashMap<u32, Vec<Wait>>,
    messages: HashMap<u32, Vec<Wait>>,
}

struct Opening {
    resource: Resource,
    file: Option<files::File>,
    path: PathId,
}

impl Planner<'_> {
    fn take(&mut self, number: u32, operation: &Operation, lane: usize) {
        let start = self.starts.remove(&operation.thread);
        for wait in start.unwrap_or_default() {
            self.wait_for(lane, wait);
        }
        let is_step = !matches!(operation.call, Call::Order(_));
        let place = self.plan.lanes[lane].steps.len() + usize::from(is_step);
        let here = Use {
            wait: Wait {
                lane: u32::try_from(lane).unwrap_or(u32::MAX),
                steps: u32::try_from(place).unwrap_or(u32::MAX),
            },
            began: operation.began.0,
            ended: operation.began.0.saturating_add(operation.took.0),
        };
        match operation.call {
            Call::Order(order) => self.follow_order(order, lane, here.wait),
            _ => self.follow(operation, here),
        }
        let so_far = self.so_far(here.wait);
        self.threads.insert(operation.thread, so_far);
        // What was learnt without a step holds from the next step on.
        if is_step {
            let into = &mut self.plan.lanes[lane];
            into.waits.append(&mut self.pending[lane]);
            into.steps.push(Step {
                operation: number,
                waits_end: u32::try_from(into.waits.len()).unwrap_or(u32::MAX),
            });
            self.clocks.done(here.wait);
        }
    }

    /// For what has to be waited to be behind all that a lane has done, and has waited for, until here.
    fn so_far(&self, here: Wait) -> Vec<Wait> {
        let mut waits = self.pending[here.lane as usize].clone();
        waits.push(here);
        waits
    }

    fn wait_for(&mut self, lane: usize, wait: Wait) {
        if self.clocks.learn(lane, wait) {
            self.pending[lane].push(wait);
        }
    }

    fn follow_order(&mut self, order: Order, lane: usize, here: Wait) {
        let met = match order {
            Order::Starts { thread } => {
                self.starts.insert(thread, self.so_far(here));
                None
            }
            Order::Sends { message } => {
                self.messages.insert(message, self.so_far(here));
                None
            }
            Order::Awaits { thread } => self.threads.get(&thread).cloned(),
            Order::Receives { message } => self.messages.get(&message).cloned(),
        };
        for wait in met.unwrap_or_default() {
            self.wait_for(lane, wait);
        }
    }

    /// Waits for all that an operation depends on, and remembers what it touches.
    fn follow(&mut self, operation: &Operation, here: Use) {
        let mut waits = Vec::new();
        match operation.outcome {
            Outcome::Done(_) => self.touch(&operation.call, here, &mut waits),
            Outcome::Failed(_) => self.touch_failing(&operation.call, here, &mut waits),
        }
        // The latest first: it may say what the others do.
        waits.sort_by_key(|wait: &Wait| std::cmp::Reverse((wait.steps, wait.lane)));
        for wait in waits {
            self.wait_for(here.wait.lane as usize, wait);
        }
    }

    /// What failed has changed nothing, and saw what was there.
    fn touch_failing(&mut self, call: &Call, here: Use, waits: &mut Vec<Wait>) {
        for path in call.paths().into_iter().flatten() {
            self.name(path, Touch::Uses, here, waits);
        }
        for handle in call.handles().into_iter().flatten() {
            self.opening(handle, Touch::Uses, here, waits);
        }
        if let Call::RemoveDirectory { path } = call {
            self.listings[path.0 as usize].touch(Touch::Uses, here, waits);
        }
    }

    fn touch(&mut self, call: &Call, here: Use, waits: &mut Vec<Wait>) {
        for handle in call.handles().into_iter().flatten() {
            let touch = match call {
                Call::Close { .. } => Touch::Changes,
                _ => Touch::Uses,
            };
            self.opening(handle, touch, here, waits);
        }
        let change = match *call {
            Call::Open { path, flags, .. } => {
                flags.has(OpenFlags::CREATE) && self.files.of(path).is_none()
            }
            Call::Stat { .. }
            | Call::Access { .. }
            | Call::ReadLink { .. }
            | Call::Truncate { .. }
            | Call::ChangeMode { .. }
            | Call::ChangeOwner { .. }
            | Call::SetTimes { .. }
            | Call::SetAttribute { .. }
            | Call::GetAttribute { .. }
            | Call::ListAttributes { .. }
            | Call::RemoveAttribute { .. } => false,
            _ => true,
        };
        for path in call.paths().into_iter().flatten() {
            match change {
                true => self.change_name(path, here, waits),
                false => self.name(path, Touch::Uses, here, waits),
            }
        }
        self.touch_files(call, here, waits);
    }

    /// What becomes of files and their data.
    fn touch_files(&mut self, call: &Call, here: Use, waits: &mut Vec<Wait>) {
        let paths = &self.trace.paths;
        match *call {
            Call::Open {
                path,
                flags,
                handle,
                ..
            } => {
                let file = match flags.has(OpenFlags::TEMPORARY) {
                    true => self.files.nameless(),
                    false => self.files.at(path),
                };
                if flags.has(OpenFlags::TRUNCATE) {
                    self.files.resize(file, here, waits);
                }
                if let Some(handle) = handle {
                    let mut resource = Resource::default();
                    resource.touch(Touch::Changes, here, waits);
                    self.openings.insert(
                        handle,
                        Opening {
                            resource,
                            file: Some(file),
                            path,
                        },
                    );
                }
            }
            Call::Truncate { path, .. } => {
                let file = self.files.at(path);
                self.files.resize(file, here, waits);
            }
            Call::Unlink { path } | Call::RemoveDirectory { path } => self.files.forget(path),
            Call::Rename { from, to, flags } => self.files.rename(paths, from, to, flags),
            Call::Link { from, to } => self.files.link(from, to),
            Call::LinkHandle { handle, to } => {
                let file = self.openings.get(&handle).and_then(|opening| opening.file);
                self.files.name(to, file);
            }
            Call::List { handle } => {
                if let Some(opening) = self.openings.get(&handle) {
                    let listing = &mut self.listings[opening.path.0 as usize];
                    listing.touch(Touch::Uses, here, waits);
                }
            }
            Call::CopyRange {
                from,
                to,
                from_offset,
                to_offset,
                length,
                ..
            } => {
                self.data(from, from_offset, length, Touch::Uses, here, waits);
                self.data(to, to_offset, length, Touch::Changes, here, waits);
            }
            Call::Read {
                handle,
                offset,
                length,
            }
            | Call::MappedRead {
                handle,
                offset,
                length,
            } => {
                self.data(handle, offset, length, Touch::Uses, here, waits);
            }
            Call::Write {
                handle,
                offset,
                length,
            }
            | Call::MappedWrite {
                handle,
                offset,
                length,
            }
            | Call::Allocate {
                handle,
                offset,
                length,
                ..
            } => {
                self.data(handle, offset, length, Touch::Changes, here, waits);
            }
            Call::SyncRange {
                handle,
                offset,
                length,
            }
            | Call::MappedSync {
                handle,
                offset,
                length,
            } => {
                self.data(handle, offset, length.max(1), Touch::Uses, here, waits);
            }
            Call::Sync { handle, .. } => {
                self.data(handle, 0, u64::MAX, Touch::Uses, here, waits);
            }
            Call::TruncateHandle { handle, .. } => {
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
        touch: Touch,
        here: Use,
        waits: &mut Vec<Wait>,
    ) {
        if let Some(file) = self.openings.get(&handle).and_then(|opening| opening.file) {
            let range = offset..offset.saturating_add(length);
            self.files.touch(file, range, touch, here, waits);
        }
    }

    fn opening(&mut self, handle: HandleId, touch: Touch, here: Use, waits: &mut Vec<Wait>) {
        if let Some(opening) = self.openings.get_mut(&handle) {
            opening.resource.touch(touch, here, waits);
        }
    }

    /// A name is made, removed or renamed.
    fn change_name(&mut self, path: PathId, here: Use, waits: &mut Vec<Wait>) {
        self.name(path, Touch::Changes, here, waits);
        if let Some(parent) = self.trace.paths.parent(path) {
            // Those who change names do not wait for each other, but for those who list them, and the other way.
            self.listings[parent.0 as usize].touch(Touch::Adds, here, waits);
        }
        self.listings[path.0 as usize] = Resource::default();
    }

    /// A name is touched, and used is each directory above it.
    fn name(&mut self, path: PathId, touch: Touch, here: Use, waits: &mut Vec<Wait>) {
        self.names[path.0 as usize].touch(touch, here, waits);
        let mut at = path;
        while let Some(parent) = self.trace.paths.parent(at) {
            self.names[parent.0 as usize].touch(Touch::Uses, here, waits);
            at = parent;
        }
    }
}

#[cfg(test)]
mod tests;
