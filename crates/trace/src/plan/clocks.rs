//! Vector clocks: what each lane knows to be done in all others.

/// For what a step waits: that a lane has done so many steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency {
    /// The lane.
    pub lane: u32,
    /// How many of its steps.
    pub steps: u32,
}

/// The clocks of all lanes, and what they were.
#[derive(Debug)]
pub struct VectorClocks {
    /// How many steps of each lane are known to be done, for each lane.
    now: Vec<Vec<u32>>,
    /// What each lane knew when it had done so many steps, where that was more than before.
    past: Vec<Vec<(u32, Box<[u32]>)>>,
    /// Whether a lane has learnt something since its last step.
    learnt: Vec<bool>,
}

impl VectorClocks {
    /// Clocks of lanes that know nothing.
    pub fn new(lanes: usize) -> Self {
        Self {
            now: vec![vec![0; lanes]; lanes],
            past: vec![Vec::new(); lanes],
            learnt: vec![false; lanes],
        }
    }

    /// A lane waits for something; whether it did not know of that already.
    pub fn merge(&mut self, lane: usize, wait: Dependency) -> bool {
        let other = wait.lane as usize;
        if other == lane || self.now[lane][other] >= wait.steps {
            return false;
        }
        let past = &self.past[other];
        let known = past.partition_point(|(steps, _)| *steps <= wait.steps);
        if let Some((_, clock)) = known.checked_sub(1).and_then(|at| past.get(at)) {
            for (mine, theirs) in self.now[lane].iter_mut().zip(clock) {
                *mine = (*mine).max(*theirs);
            }
        }
        self.now[lane][other] = wait.steps;
        self.learnt[lane] = true;
        true
    }

    /// A lane has come so far.
    pub fn done(&mut self, here: Dependency) {
        let lane = here.lane as usize;
        self.now[lane][lane] = here.steps;
        if std::mem::take(&mut self.learnt[lane]) {
            let clock = self.now[lane].clone().into_boxed_slice();
            self.past[lane].push((here.steps, clock));
        }
    }
}
