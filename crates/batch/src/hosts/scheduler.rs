//! Assigns entries to hosts and reassigns them when hosts are lost. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::EntryRange;
use crate::slurm::cells_per_task;

/// Maximum number of losses of a host or worker while running an entry, after which the entry is
/// withdrawn.
pub const MAX_LOSSES: u32 = 5;

/// State of a host: whether the host gets entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostState {
    /// The host is unreachable but may return.
    Unreachable,
    /// The host runs this many tasks at a time.
    Ready(u32),
    /// The host cannot run the planned cells.
    Excluded,
}

/// End of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskEnd {
    /// The worker reported success.
    Done,
    /// The host no longer responds.
    Lost,
    /// The worker reported that it cannot continue on this host.
    Refused,
}

/// A running task.
struct RunningTask {
    host: usize,
    /// Entries of the task without a result.
    left: BTreeSet<u32>,
}

/// Entries and hosts of a session.
pub struct Scheduler {
    /// Number of cells; entries from this index are checks.
    cells: u32,
    /// Maximum number of tasks at a time.
    most: u32,
    hosts: Vec<HostState>,
    /// Entries without a result that are not running.
    waiting: BTreeSet<u32>,
    running: BTreeMap<u64, RunningTask>,
    losses: BTreeMap<u32, u32>,
    tasks: u64,
}

impl Scheduler {
    /// Creates a board for `hosts` hosts, none of them reached yet, and the entries without a
    /// result.
    pub fn new(hosts: usize, cells: u32, missing: BTreeSet<u32>, most: Option<u32>) -> Self {
        Self {
            cells,
            most: most.unwrap_or(u32::MAX),
            hosts: vec![HostState::Unreachable; hosts],
            waiting: missing,
            running: BTreeMap::new(),
            losses: BTreeMap::new(),
            tasks: 0,
        }
    }

    /// Returns the state of a host.
    pub fn standing(&self, host: usize) -> HostState {
        self.hosts[host]
    }

    /// Sets the state of a host.
    pub fn set_host_state(&mut self, host: usize, standing: HostState) {
        self.hosts[host] = standing;
    }

    /// Returns the number of tasks that may run at a time.
    pub fn slots(&self) -> u32 {
        let all = self.hosts.iter().map(|standing| match standing {
            HostState::Ready(slots) => *slots,
            HostState::Unreachable | HostState::Excluded => 0,
        });
        all.fold(0, u32::saturating_add).min(self.most)
    }

    /// Returns true if a task is running.
    pub fn is_busy(&self) -> bool {
        !self.running.is_empty()
    }

    /// Returns the next task: number, host and entries. Prefers the host with the largest share of
    /// free slots. `ran` returns the host that ran the cell of a check; the check goes to another
    /// host and waits until that host is known.
    pub fn next(&mut self, ran: &dyn Fn(u32) -> Option<usize>) -> Option<(u64, usize, EntryRange)> {
        if self.running.len() >= self.most as usize {
            return None;
        }
        let mut free: Vec<(f64, usize)> =
            (0..self.hosts.len()).filter_map(|host| Some((self.load(host)?, host))).collect();
        free.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (host, part) =
            free.into_iter().find_map(|(_, host)| Some((host, self.part_for(host, ran)?)))?;
        let left: BTreeSet<u32> = (part.first..part.first + part.count).collect();
        self.waiting.retain(|entry| !left.contains(entry));
        self.tasks += 1;
        self.running.insert(self.tasks, RunningTask { host, left });
        Some((self.tasks, host, part))
    }

    /// Returns the fraction of a host's slots in use, or `None` if the host has no free slot.
    fn load(&self, host: usize) -> Option<f64> {
        let HostState::Ready(slots) = self.hosts[host] else {
            return None;
        };
        let tasks = self.running.values().filter(|task| task.host == host);
        let tasks = tasks.count();
        (tasks < slots as usize).then(|| tasks as f64 / f64::from(slots))
    }

    /// Selects entries for a host. Checks come first, so that a host with different results is
    /// found early.
    fn part_for(&self, host: usize, ran: &dyn Fn(u32) -> Option<usize>) -> Option<EntryRange> {
        let mut checks = self.waiting.range(self.cells..);
        let check = checks.find(|check| ran(**check).is_some_and(|other| other != host));
        if let Some(&first) = check {
            return Some(EntryRange { first, count: 1 });
        }
        let cells = || self.waiting.range(..self.cells);
        let first = *cells().next()?;
        // Tasks get smaller towards the end, so that all hosts finish at about the same time.
        let waiting = u32::try_from(cells().count()).unwrap_or(u32::MAX);
        let each = cells_per_task(waiting, self.slots());
        let follow = (first..first.saturating_add(each)).zip(cells());
        let follow = follow.take_while(|(wanted, entry)| wanted == *entry);
        let count = u32::try_from(follow.count()).unwrap_or(u32::MAX);
        Some(EntryRange { first, count })
    }

    /// Records that an entry has its result.
    pub fn mark_done(&mut self, entry: u32) {
        self.waiting.remove(&entry);
        for task in self.running.values_mut() {
            task.left.remove(&entry);
        }
    }

    /// Records that an entry lost its result.
    pub fn mark_missing(&mut self, entry: u32) {
        if !self.running.values().any(|task| task.left.contains(&entry)) {
            self.waiting.insert(entry);
        }
    }

    /// Records the end of a task and returns its entries without a result to the queue. Returns the
    /// entries that were lost too often.
    pub fn task_ended(&mut self, task: u64, ending: TaskEnd) -> BTreeSet<u32> {
        let Some(RunningTask { host, left }) = self.running.remove(&task) else {
            return BTreeSet::new();
        };
        match ending {
            TaskEnd::Done if left.is_empty() => {}
            // A worker that reports success with entries missing is not trusted.
            TaskEnd::Done | TaskEnd::Refused => self.hosts[host] = HostState::Excluded,
            TaskEnd::Lost => {
                if self.hosts[host] != HostState::Excluded {
                    self.hosts[host] = HostState::Unreachable;
                }
            }
        }
        let (again, given_up) = left.into_iter().partition::<BTreeSet<u32>, _>(|entry| {
            let losses = self.losses.entry(*entry).or_default();
            *losses += 1;
            *losses < MAX_LOSSES
        });
        self.waiting.extend(again);
        given_up
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An event of a simulated campaign.
    #[derive(Clone, Debug)]
    enum Event {
        /// A host becomes available, possibly again.
        Comes(usize, u32),
        /// The oldest task of a busy host reports a result.
        Result(usize),
        /// A task ends in this way.
        Ends(usize, TaskEnd),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            (0..3usize, 1..4u32).prop_map(|(host, slots)| Event::Comes(host, slots)),
            (0..9usize).prop_map(Event::Result),
            (0..9usize).prop_map(Event::Result),
            (0..9usize).prop_map(|n| Event::Ends(n, TaskEnd::Lost)),
        ]
    }

    /// A campaign, with the host that ran each entry.
    struct ScheduledCampaign {
        board: Scheduler,
        cells: u32,
        running: Vec<(u64, usize, Vec<u32>)>,
        ran: BTreeMap<u32, usize>,
        given_up: BTreeSet<u32>,
    }

    impl ScheduledCampaign {
        fn new(cells: u32, checks: u32) -> Self {
            Self {
                board: Scheduler::new(3, cells, (0..cells + checks).collect(), None),
                cells,
                running: Vec::new(),
                ran: BTreeMap::new(),
                given_up: BTreeSet::new(),
            }
        }

        fn start(&mut self) {
            let (ran, cells) = (self.ran.clone(), self.cells);
            let host_of_first = |check: u32| ran.get(&(check - cells)).copied();
            while let Some((task, host, part)) = self.board.next(&host_of_first) {
                assert!(matches!(self.board.standing(host), HostState::Ready(_)));
                let entries = (part.first..part.first + part.count).collect::<Vec<u32>>();
                for entry in &entries {
                    assert!(!self.ran.contains_key(entry), "{entry} has its result");
                    let twice = self.running.iter().any(|(.., all)| all.contains(entry));
                    assert!(!twice, "{entry} runs twice");
                    if *entry >= cells {
                        assert_ne!(host_of_first(*entry), Some(host), "{entry} checks itself");
                    }
                }
                self.running.push((task, host, entries));
            }
        }

        fn result(&mut self, number: usize) {
            let Some(place) = number.checked_rem(self.running.len()) else {
                return;
            };
            let (task, host, entries) = &mut self.running[place];
            let (task, host) = (*task, *host);
            if !entries.is_empty() {
                let entry = entries.remove(0);
                assert_eq!(self.ran.insert(entry, host), None, "{entry} is taken twice");
                self.board.mark_done(entry);
            }
            if self.running[place].2.is_empty() {
                self.running.remove(place);
                assert!(self.board.task_ended(task, TaskEnd::Done).is_empty());
            }
        }

        fn ends(&mut self, number: usize, ending: TaskEnd) {
            if let Some(place) = number.checked_rem(self.running.len()) {
                let (task, ..) = self.running.remove(place);
                self.given_up.extend(self.board.task_ended(task, ending));
            }
        }

        /// Makes both hosts available and stops causing failures.
        fn calm(&mut self) {
            for host in 0..2 {
                self.board.set_host_state(host, HostState::Ready(2));
            }
            self.start();
            while !self.running.is_empty() {
                self.result(0);
                self.start();
            }
        }
    }

    proptest! {
        /// Checks that hosts may disappear and return at any time. Each entry gets one result, no
        /// entry runs twice at the same time, and no host checks its own result. Only an entry that
        /// was lost with too many hosts is given up, with its check.
        #[test]
        fn each_entry_gets_one_result_although_hosts_are_lost(
            cells in 1..80u32,
            share in 0..3u32,
            events in proptest::collection::vec(event(), 0..120),
        ) {
            let checks = cells * share / 2;
            let checks = checks.min(cells);
            let mut campaign = ScheduledCampaign::new(cells, checks);
            for event in events {
                match event {
                    Event::Comes(host, slots) => campaign.board.set_host_state(host, HostState::Ready(slots)),
                    Event::Result(number) => campaign.result(number),
                    Event::Ends(number, ending) => campaign.ends(number, ending),
                }
                campaign.start();
            }
            campaign.calm();
            let missing = (0..cells + checks).filter(|entry| {
                let of = if *entry < cells { *entry } else { *entry - cells };
                let is_given_up = campaign.given_up.contains(entry) || campaign.given_up.contains(&of);
                !campaign.ran.contains_key(entry) && !is_given_up
            });
            prop_assert_eq!(missing.collect::<Vec<_>>(), Vec::<u32>::new());
        }
    }

    #[test]
    fn a_refusing_host_gets_no_more_entries() {
        let mut campaign = ScheduledCampaign::new(40, 0);
        campaign.board.set_host_state(0, HostState::Ready(1));
        campaign.board.set_host_state(1, HostState::Ready(1));
        campaign.start();
        let (task, host, _) = campaign.running.remove(0);
        campaign.board.task_ended(task, TaskEnd::Refused);
        campaign.board.set_host_state(2, HostState::Ready(1));
        campaign.start();
        assert!(campaign.running.iter().all(|(_, other, _)| *other != host));
        assert_eq!(campaign.board.standing(host), HostState::Excluded);
        while !campaign.running.is_empty() {
            campaign.result(0);
            campaign.start();
        }
        assert_eq!(campaign.ran.len(), 40);
        assert!(!campaign.ran.values().any(|by| *by == host));
    }

    #[test]
    fn gives_up_an_entry_after_too_many_losses() {
        let mut board = Scheduler::new(1, 1, [0].into(), None);
        for round in 1..=MAX_LOSSES {
            board.set_host_state(0, HostState::Ready(1));
            let (task, ..) = board.next(&|_| None).unwrap();
            let given_up = board.task_ended(task, TaskEnd::Lost);
            assert_eq!(given_up.contains(&0), round == MAX_LOSSES);
        }
        board.set_host_state(0, HostState::Ready(1));
        assert!(board.next(&|_| None).is_none());
    }

    #[test]
    fn respects_the_task_limit_and_starts_with_the_largest_task() {
        let mut board = Scheduler::new(2, 1000, (0..1000).collect(), Some(3));
        board.set_host_state(0, HostState::Ready(4));
        board.set_host_state(1, HostState::Ready(4));
        let all: Vec<_> = std::iter::from_fn(|| board.next(&|_| None)).collect();
        assert_eq!(all.len(), 3);
        assert_eq!(all[0].2, EntryRange { first: 0, count: 42 });
        assert!(all[1].2.count < all[0].2.count);
        let hosts: BTreeSet<usize> = all.iter().map(|(_, host, _)| *host).collect();
        assert_eq!(hosts.len(), 2, "both have some");
    }
}
