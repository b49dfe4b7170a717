//! One thing that operations touch, and who has to wait for whom there.

use super::clocks::Dependency;

/// What an operation does with a thing. Those that do the same, but for changes, need not wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessMode {
    /// Looks at it.
    Read,
    /// Adds to it or takes from it: so do others at the same time.
    Add,
    /// Makes another thing of it.
    Modify,
}

/// An operation that touches something: where it is in its lane, and when it ran when the trace was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceAccess {
    /// It is done when this is.
    pub wait: Dependency,
    /// When it began, ns.
    pub began: u64,
    /// When it ended, ns.
    pub ended: u64,
}

/// A thing that operations touch: those that do the same are a group, and each waits for all of the group before.
#[derive(Clone, Debug, Default)]
pub struct Resource {
    /// The last of each lane in the group before.
    before: Vec<ResourceAccess>,
    /// The last of each lane in this group.
    now: Vec<ResourceAccess>,
    touch: Option<AccessMode>,
}

impl Resource {
    /// Lets an operation touch it, and says for what it has to wait.
    pub fn record_access(
        &mut self,
        touch: AccessMode,
        here: ResourceAccess,
        waits: &mut Vec<Dependency>,
    ) {
        self.touch_where(touch, here, waits, |_| true);
    }

    /// The same, but for operations that ran at the same time when the trace was made: they had no order then.
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
            // Whoever comes later may have an order with those that had none with this.
            let together = self.before.iter().filter(|other| !has_order(other));
            self.now.extend(together);
        }
        let others = self.before.iter().filter(|other| has_order(other));
        let others = others.map(|other| other.wait);
        waits.extend(others.filter(|wait| wait.lane != here.wait.lane));
        self.last(here);
    }

    /// Takes in what is known of a thing that is a part of this one.
    pub fn join(&mut self, part: Self) {
        part.now.into_iter().for_each(|other| self.last(other));
    }

    /// Remembers the last of each lane.
    fn last(&mut self, here: ResourceAccess) {
        let of_lane = |other: &&mut ResourceAccess| other.wait.lane == here.wait.lane;
        match self.now.iter_mut().find(of_lane) {
            Some(last) if last.wait.steps <= here.wait.steps => *last = here,
            Some(_) => {}
            None => self.now.push(here),
        }
    }
}
