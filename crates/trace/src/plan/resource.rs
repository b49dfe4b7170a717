//! A resource that operations touch, and the resulting waits.

use super::clocks::Dependency;

/// Way of touching a resource. Operations of the same kind do not wait for each other, except for
/// changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessMode {
    /// Reads the resource.
    Read,
    /// Adds to the resource or removes from it; other operations may do so at the same time.
    Add,
    /// Replaces the resource.
    Modify,
}

/// An operation that touches a resource: its position in its lane, and its time during the
/// recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceAccess {
    /// Step whose end is the end of the access.
    pub wait: Dependency,
    /// Start time, in ns.
    pub began: u64,
    /// End time, in ns.
    pub ended: u64,
}

/// A resource. Consecutive operations of the same kind form a group, and each waits for all
/// operations of the previous group.
#[derive(Clone, Debug, Default)]
pub struct Resource {
    /// Last access of each lane in the previous group.
    before: Vec<ResourceAccess>,
    /// Last access of each lane in the current group.
    now: Vec<ResourceAccess>,
    touch: Option<AccessMode>,
}

impl Resource {
    /// Records an operation and adds the waits that it needs.
    pub fn record_access(
        &mut self,
        touch: AccessMode,
        here: ResourceAccess,
        waits: &mut Vec<Dependency>,
    ) {
        self.touch_where(touch, here, waits, |_| true);
    }

    /// Records an operation, without waits for operations that ran concurrently during the
    /// recording, because these had no order.
    pub fn record_access_unless_concurrent(
        &mut self,
        touch: AccessMode,
        here: ResourceAccess,
        waits: &mut Vec<Dependency>,
    ) {
        self.touch_where(touch, here, waits, |other| other.ended <= here.began);
    }

    fn touch_where(
        &mut self,
        touch: AccessMode,
        here: ResourceAccess,
        waits: &mut Vec<Dependency>,
        has_order: impl Fn(&ResourceAccess) -> bool,
    ) {
        if self.touch != Some(touch) || touch == AccessMode::Modify {
            self.before = std::mem::take(&mut self.now);
            self.touch = Some(touch);
            // Later operations may be ordered after operations that ran concurrently with this one.
            let together = self.before.iter().filter(|other| !has_order(other));
            self.now.extend(together);
        }
        let others = self.before.iter().filter(|other| has_order(other));
        let others = others.map(|other| other.wait);
        waits.extend(others.filter(|wait| wait.lane != here.wait.lane));
        self.last(here);
    }

    /// Merges the operations of a part of this resource.
    pub fn join(&mut self, part: Self) {
        part.now.into_iter().for_each(|other| self.last(other));
    }

    /// Records the last access of a lane.
    fn last(&mut self, here: ResourceAccess) {
        let of_lane = |other: &&mut ResourceAccess| other.wait.lane == here.wait.lane;
        match self.now.iter_mut().find(of_lane) {
            Some(last) if last.wait.steps <= here.wait.steps => *last = here,
            Some(_) => {}
            None => self.now.push(here),
        }
    }
}
