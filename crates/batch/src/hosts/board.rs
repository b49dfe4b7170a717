//! Which host runs which entries, whatever hosts go away in whatever order. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::Part;
use crate::slurm::cells_of_a_task;

/// After so many hosts or workers that went away with it, an entry is not handed to a further one.
pub const MOST_LOSSES: u32 = 5;

/// Whether a host gets entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is not reached, or no more; it may come back.
    Away,
    /// It runs so many tasks at a time.
    Ready(u32),
    /// It cannot run what is planned.
    Out,
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its worker says that all is done.
    Done,
    /// Nothing is heard of its host any more.
    Lost,
    /// Its worker says that it cannot go on there.
    Refused,
}

/// A task that runs.
struct Running {
    host: usize,
    /// Its entries that have no result.
    left: BTreeSet<u32>,
}

/// Entries and hosts of a session.
pub struct Board {
    /// How many entries are cells; those behind them are checks.
    cells: u32,
    /// Tasks at a time, at most.
    most: u32,
    hosts: Vec<Standing>,
    /// Entries that have no result and that nobody runs.
    waiting: BTreeSet<u32>,
    running: BTreeMap<u64, Running>,
    losses: BTreeMap<u32, u32>,
    tasks: u64,
}

impl Board {
    /// So many hosts, none of which is reached yet, and entries that have no result.
    pub fn new(hosts: usize, cells: u32, missing: BTreeSet<u32>, most: Option<u32>) -> Self {
        Self {
            cells,
            most: most.unwrap_or(u32::MAX),
            hosts: vec![Standing::Away; hosts],
            waiting: missing,
            running: BTreeMap::new(),
            losses: BTreeMap::new(),
            tasks: 0,
        }
    }

    /// Whether a host gets entries.
    pub fn standing(&self, host: usize) -> Standing {
        self.hosts[host]
    }

    /// A host has come, or is not to be asked any more.
    pub fn stands(&mut self, host: usize, standing: Standing) {
        self.hosts[host] = standing;
    }

    /// Tasks that may run at a time.
    pub fn slots(&self) -> u32 {
        let all = self.hosts.iter().map(|standing| match standing {
            Standing::Ready(slots) => *slots,
            Standing::Away | Standing::Out => 0,
        });
        all.fold(0, u32::saturating_add).min(self.most)
    }

    /// Whether some task runs.
    pub fn is_busy(&self) -> bool {
        !self.running.is_empty()
    }

    /// The next task: its number, its host, its entries; the host with the largest share of room gets it. A check goes to
    /// another host than `ran` says of its cell, and waits until that is known.
    pub fn next(&mut self, ran: &dyn Fn(u32) -> Option<usize>) -> Option<(u64, usize, Part)> {
        if self.running.len() >= self.most as usize {
            return None;
        }
        let mut free: Vec<(f64, usize)> = (0..self.hosts.len())
            .filter_map(|host| Some((self.load(host)?, host)))
            .collect();
        free.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (host, part) = free
            .into_iter()
            .find_map(|(_, host)| Some((host, self.part_for(host, ran)?)))?;
        let left: BTreeSet<u32> = (part.first..part.first + part.count).collect();
        self.waiting.retain(|entry| !left.contains(entry));
        self.tasks += 1;
        self.running.insert(self.tasks, Running { host, left });
        Some((self.tasks, host, part))
    }

    /// How much of a host's room is taken; nothing where it has none.
    fn load(&self, host: usize) -> Option<f64> {
        let Standing::Ready(slots) = self.hosts[host] else {
            return None;
        };
        let tasks = self.running.values().filter(|task| task.host == host);
        let tasks = tasks.count();
        (tasks < slots as usize).then(|| tasks as f64 / f64::from(slots))
    }

    /// Checks first: a host that comes to something else is to be found before much is believed.
    fn part_for(&self, host: usize, ran: &dyn Fn(u32) -> Option<usize>) -> Option<Part> {
        let mut checks = self.waiting.range(self.cells..);
        let check = checks.find(|check| ran(**check).is_some_and(|other| other != host));
        if let Some(&first) = check {
            return Some(Part { first, count: 1 });
        }
        let cells = || self.waiting.range(..self.cells);
        let first = *cells().next()?;
        // Fewer of them the nearer the end, so that all hosts end together.
        let waiting = u32::try_from(cells().count()).unwrap_or(u32::MAX);
        let each = cells_of_a_task(waiting, self.slots());
        let follow = (first..first.saturating_add(each)).zip(cells());
        let follow = follow.take_while(|(wanted, entry)| wanted == *entry);
        let count = u32::try_from(follow.count()).unwrap_or(u32::MAX);
        Some(Part { first, count })
    }

    /// An entry has its result.
    pub fn has(&mut self, entry: u32) {
        self.waiting.remove(&entry);
        for task in self.running.values_mut() {
            task.left.remove(&entry);
        }
    }

    /// An entry that had a result has none.
    pub fn lacks(&mut self, entry: u32) {
        if !self.running.values().any(|task| task.left.contains(&entry)) {
            self.waiting.insert(entry);
        }
    }

    /// A task has ended: what of it has no result is handed to others. Says which entries were lost once too often.
    pub fn ended(&mut self, task: u64, ending: Ending) -> BTreeSet<u32> {
        let Some(Running { host, left }) = self.running.remove(&task) else {
            return BTreeSet::new();
        };
        match ending {
            Ending::Done if left.is_empty() => {}
            // It says that it has done what it has not.
            Ending::Done | Ending::Refused => self.hosts[host] = Standing::Out,
            Ending::Lost => {
                if self.hosts[host] != Standing::Out {
                    self.hosts[host] = Standing::Away;
                }
            }
        }
        let (again, given_up) = left.into_iter().partition::<BTreeSet<u32>, _>(|entry| {
            let losses = self.losses.entry(*entry).or_default();
            *losses += 1;
            *losses < MOST_LOSSES
        });
        self.waiting.extend(again);
        given_up
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What happens to a campaign on hosts.
    #[derive(Clone, Debug)]
    enum Event {
        /// A host comes, or comes back.
        Comes(usize, u32),
        /// The oldest task of a host that runs any gives a result.
        Result(usize),
        /// A task ends in this way.
        Ends(usize, Ending),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            (0..3usize, 1..4u32).prop_map(|(host, slots)| Event::Comes(host, slots)),
            (0..9usize).prop_map(Event::Result),
            (0..9usize).prop_map(Event::Result),
            (0..9usize).prop_map(|n| Event::Ends(n, Ending::Lost)),
        ]
    }

    /// A campaign, with who has run what.
    struct Campaign {
        board: Board,
        cells: u32,
        running: Vec<(u64, usize, Vec<u32>)>,
        ran: BTreeMap<u32, usize>,
        given_up: BTreeSet<u32>,
    }

    impl Campaign {
        fn new(cells: u32, checks: u32) -> Self {
            Self {
                board: Board::new(3, cells, (0..cells + checks).collect(), None),
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
                assert!(matches!(self.board.standing(host), Standing::Ready(_)));
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
                self.board.has(entry);
            }
            if self.running[place].2.is_empty() {
                self.running.remove(place);
                assert!(self.board.ended(task, Ending::Done).is_empty());
            }
        }

        fn ends(&mut self, number: usize, ending: Ending) {
            if let Some(place) = number.checked_rem(self.running.len()) {
                let (task, ..) = self.running.remove(place);
                self.given_up.extend(self.board.ended(task, ending));
            }
        }

        /// Two hosts are there, and nothing more goes wrong.
        fn calm(&mut self) {
            for host in 0..2 {
                self.board.stands(host, Standing::Ready(2));
            }
            self.start();
            while !self.running.is_empty() {
                self.result(0);
                self.start();
            }
        }
    }

    proptest! {
        /// Whichever hosts go away, whenever, and come back: each entry is taken once, none runs at two places, and no host
        /// checks itself. Only what went away with too many hosts is given up, and with it the check of it.
        #[test]
        fn whatever_hosts_go_away_each_entry_is_taken_once(
            cells in 1..80u32,
            share in 0..3u32,
            events in proptest::collection::vec(event(), 0..120),
        ) {
            let checks = cells * share / 2;
            let checks = checks.min(cells);
            let mut campaign = Campaign::new(cells, checks);
            for event in events {
                match event {
                    Event::Comes(host, slots) => campaign.board.stands(host, Standing::Ready(slots)),
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
    fn a_host_that_cannot_run_them_gets_no_more_and_the_others_do() {
        let mut campaign = Campaign::new(40, 0);
        campaign.board.stands(0, Standing::Ready(1));
        campaign.board.stands(1, Standing::Ready(1));
        campaign.start();
        let (task, host, _) = campaign.running.remove(0);
        campaign.board.ended(task, Ending::Refused);
        campaign.board.stands(2, Standing::Ready(1));
        campaign.start();
        assert!(campaign.running.iter().all(|(_, other, _)| *other != host));
        assert_eq!(campaign.board.standing(host), Standing::Out);
        while !campaign.running.is_empty() {
            campaign.result(0);
            campaign.start();
        }
        assert_eq!(campaign.ran.len(), 40);
        assert!(!campaign.ran.values().any(|by| *by == host));
    }

    #[test]
    fn what_takes_every_host_with_it_is_given_up() {
        let mut board = Board::new(1, 1, [0].into(), None);
        for round in 1..=MOST_LOSSES {
            board.stands(0, Standing::Ready(1));
            let (task, ..) = board.next(&|_| None).unwrap();
            let given_up = board.ended(task, Ending::Lost);
            assert_eq!(given_up.contains(&0), round == MOST_LOSSES);
        }
        board.stands(0, Standing::Ready(1));
        assert!(board.next(&|_| None).is_none());
    }

    #[test]
    fn no_more_tasks_run_than_were_asked_for_and_the_first_is_the_largest() {
        let mut board = Board::new(2, 1000, (0..1000).collect(), Some(3));
        board.stands(0, Standing::Ready(4));
        board.stands(1, Standing::Ready(4));
        let all: Vec<_> = std::iter::from_fn(|| board.next(&|_| None)).collect();
        assert_eq!(all.len(), 3);
        assert_eq!(
            all[0].2,
            Part {
                first: 0,
                count: 42
            }
        );
        assert!(all[1].2.count < all[0].2.count);
        let hosts: BTreeSet<usize> = all.iter().map(|(_, host, _)| *host).collect();
        assert_eq!(hosts.len(), 2, "both have some");
    }
}
