//! Vector clocks: the steps of all other lanes that each lane knows to be finished.

/// Condition of a step: a lane has finished a number of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency {
    /// The lane.
    pub lane: u32,
    /// Number of finished steps.
    pub steps: u32,
}

/// Current and past clocks of all lanes.
#[derive(Debug)]
pub struct VectorClocks {
    /// For each lane, the number of steps of every lane that it knows to be finished.
    now: Vec<Vec<u32>>,
    /// For each lane, its knowledge after a number of steps, stored only if it had grown.
    past: Vec<Vec<(u32, Box<[u32]>)>>,
    /// Whether each lane has learnt about other lanes since its last step.
    learnt: Vec<bool>,
}

impl VectorClocks {
    /// Creates clocks of lanes that know nothing about each other.
    pub fn new(lanes: usize) -> Self {
        Self {
            now: vec![vec![0; lanes]; lanes],
            past: vec![Vec::new(); lanes],
            learnt: vec![false; lanes],
        }
    }

    /// Records that a lane waits for a step. Returns false if the lane already knew that the step
    /// was finished.
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

    /// Records that a lane has finished a step.
    pub fn done(&mut self, here: Dependency) {
        let lane = here.lane as usize;
        self.now[lane][lane] = here.steps;
        if std::mem::take(&mut self.learnt[lane]) {
            let clock = self.now[lane].clone().into_boxed_slice();
            self.past[lane].push((here.steps, clock));
        }
    }
}
