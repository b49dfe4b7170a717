//! Decides when the hosts of a cell continue. Pure.

use std::path::PathBuf;

use model::wire::rank::{RankOrder, RankReport};

/// RankPlace of a host in the course of a cell. Later places are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RankPlace {
    /// Number of the phase, from 1; 0 is the preparation of the cell.
    phase: u32,
    step: Step,
}

/// Step of a host in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// Before the first system call.
    Preparing,
    /// Waits for the start.
    Ready,
    /// Waits for the end of the others.
    Finished,
}

/// A host of the cell.
#[derive(Debug)]
struct RankState {
    place: RankPlace,
    /// Whether it waits for an order.
    waits: bool,
}

/// The hosts of a cell, by rank.
#[derive(Debug)]
pub struct Rendezvous {
    hosts: Vec<RankState>,
    /// Directory of the first host, once it is known.
    directory: Option<PathBuf>,
    /// Reported operations of the current phase, each with its first thread.
    operations: Vec<(u32, Vec<u64>)>,
}

/// Orders, each with the rank of its host.
pub type Orders = Vec<(usize, RankOrder)>;

impl Rendezvous {
    /// Creates the state before the first report of each host.
    pub fn new(hosts: usize) -> Self {
        let place = RankPlace { phase: 0, step: Step::Preparing };
        let hosts = (0..hosts).map(|_| RankState { place, waits: false }).collect();
        Self { hosts, directory: None, operations: Vec::new() }
    }

    /// Takes a report of a host. Returns the orders that it permits.
    pub fn report(&mut self, rank: usize, report: RankReport) -> Orders {
        let mut orders = Vec::new();
        let place = &mut self.hosts[rank].place;
        match report {
            RankReport::Prepared(directory) => {
                place.step = Step::Ready;
                if rank == 0 {
                    self.directory = Some(directory);
                }
            }
            RankReport::Ready => place.step = Step::Ready,
            RankReport::Finished { first, operations } => {
                place.step = Step::Finished;
                let place = *place;
                if self.operations.is_empty() {
                    orders = self.tell_workers(rank, place.phase);
                }
                self.operations.push((first, operations));
            }
        }
        self.hosts[rank].waits = true;
        orders.extend(self.release());
        orders
    }

    /// A host has a result of its current phase.
    pub fn phase_ended(&mut self, rank: usize) -> Orders {
        let host = &mut self.hosts[rank];
        host.place = RankPlace { phase: host.place.phase + 1, step: Step::Preparing };
        host.waits = false;
        self.release()
    }

    /// A host runs the cell no longer. The others do not wait for it.
    pub fn ended(&mut self, rank: usize) -> Orders {
        let end = RankPlace { phase: u32::MAX, step: Step::Finished };
        self.hosts[rank] = RankState { place: end, waits: false };
        self.release()
    }

    /// Returns orders for the hosts that still work on a phase, because the first one has finished it.
    fn tell_workers(&self, first: usize, phase: u32) -> Orders {
        let working = RankPlace { phase, step: Step::Ready };
        let hosts = self.hosts.iter().enumerate();
        let others = hosts.filter(|(rank, host)| *rank != first && host.place == working);
        others.map(|(rank, _)| (rank, RankOrder::FirstFinished)).collect()
    }

    /// Returns the orders of the hosts for which no other host has to be waited for.
    fn release(&mut self) -> Orders {
        let slowest = self.hosts.iter().map(|host| host.place).min();
        let mut orders = Vec::new();
        for (rank, host) in self.hosts.iter_mut().enumerate() {
            if !host.waits || slowest.is_some_and(|slowest| slowest < host.place) {
                continue;
            }
            host.waits = false;
            let order = match (host.place.step, host.place.phase, &self.directory) {
                (Step::Finished, ..) => RankOrder::Finished(Vec::new()),
                (_, 0, Some(directory)) => RankOrder::Enter(directory.clone()),
                (_, 0, None) => RankOrder::Abandon("the first host has ended".to_owned()),
                _ => RankOrder::Start,
            };
            if matches!(order, RankOrder::Enter(_)) {
                host.place = RankPlace { phase: 1, step: Step::Preparing };
            }
            orders.push((rank, order));
        }
        if orders.iter().any(|(_, order)| matches!(order, RankOrder::Finished(_))) {
            let all = self.take_operations();
            for (_, order) in &mut orders {
                if let RankOrder::Finished(operations) = order {
                    operations.clone_from(&all);
                }
            }
        }
        orders
    }

    /// Returns the operations of all threads of a phase; 0 for those of a host that failed.
    fn take_operations(&mut self) -> Vec<u64> {
        let reports = std::mem::take(&mut self.operations);
        let each = reports.first().map_or(0, |(_, operations)| operations.len());
        let mut all = vec![0; each * self.hosts.len()];
        for (first, operations) in reports {
            let places = all.iter_mut().skip(first as usize);
            places.zip(operations).for_each(|(place, count)| *place = count);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn finished(first: u32, operations: &[u64]) -> RankReport {
        RankReport::Finished { first, operations: operations.to_vec() }
    }

    fn entered(hosts: usize) -> Rendezvous {
        let mut all = Rendezvous::new(hosts);
        for rank in (0..hosts).rev() {
            let orders = all.report(rank, RankReport::Prepared(format!("/d/{rank}").into()));
            let entered = (0..hosts).map(|rank| (rank, RankOrder::Enter("/d/0".into())));
            let expected = if rank == 0 { entered.collect() } else { Vec::new() };
            assert_eq!(orders, expected);
        }
        all
    }

    #[test]
    fn hosts_start_together_and_learn_the_work_of_all() {
        let mut all = entered(2);
        assert_eq!(all.report(1, RankReport::Ready), []);
        let started = all.report(0, RankReport::Ready);
        assert_eq!(started, [(0, RankOrder::Start), (1, RankOrder::Start)]);
        assert_eq!(all.report(1, finished(2, &[7, 8])), [(0, RankOrder::FirstFinished)]);
        let told = RankOrder::Finished(vec![5, 6, 7, 8]);
        assert_eq!(all.report(0, finished(0, &[5, 6])), [(0, told.clone()), (1, told)]);
    }

    #[test]
    fn a_host_that_fails_or_ends_is_not_waited_for() {
        let mut all = entered(3);
        assert_eq!(all.report(0, RankReport::Ready), []);
        assert_eq!(all.phase_ended(1), []);
        // It is ready for the second phase before the first one has begun.
        assert_eq!(all.report(1, RankReport::Ready), []);
        assert_eq!(all.ended(2), [(0, RankOrder::Start)]);
        let told = RankOrder::Finished(vec![4, 0, 0]);
        assert_eq!(all.report(0, finished(0, &[4])), [(0, told)]);
        assert_eq!(all.phase_ended(0), []);
        let started = all.report(0, RankReport::Ready);
        assert_eq!(started, [(0, RankOrder::Start), (1, RankOrder::Start)]);
    }

    #[test]
    fn without_the_first_host_there_is_no_directory() {
        let mut all = Rendezvous::new(2);
        assert_eq!(all.report(1, RankReport::Prepared("/d/1".into())), []);
        let [(1, RankOrder::Abandon(_))] = &all.ended(0)[..] else { panic!("an order for 1") };
    }

    /// Course of a host in a phase.
    #[derive(Clone, Copy, Debug)]
    enum Course {
        Works,
        FailsBefore,
        FailsWithin,
        Dies,
    }

    proptest! {
        /// Hosts fail at any point, in any order: none waits for ever.
        #[test]
        fn every_host_reaches_its_end(
            courses in proptest::collection::vec(
                proptest::collection::vec(
                    prop_oneof![8 => Just(Course::Works), 1 => Just(Course::FailsBefore),
                        1 => Just(Course::FailsWithin), 1 => Just(Course::Dies)],
                    4,
                ),
                1..5usize,
            ),
            turns in proptest::collection::vec(any::<prop::sample::Index>(), 400),
        ) {
            let hosts = courses.len();
            let mut all = Rendezvous::new(hosts);
            // (phase, step, waits); step 0 prepares, 1 works. Phase 0 enters the directory.
            let mut at: Vec<Option<(usize, u8, bool)>> = vec![Some((0, 0, false)); hosts];
            for turn in turns {
                let able: Vec<usize> =
                    (0..hosts).filter(|&h| at[h].is_some_and(|(_, _, waits)| !waits)).collect();
                if able.is_empty() {
                    break;
                }
                let host = able[turn.index(able.len())];
                let (phase, step, _) = at[host].unwrap();
                let course = phase.checked_sub(1).map_or(Course::Works, |phase| courses[host][phase]);
                let orders = match (phase, step, course) {
                    (0, ..) => {
                        at[host] = Some((0, 0, true));
                        all.report(host, RankReport::Prepared("/d".into()))
                    }
                    (_, 0, Course::Works | Course::FailsWithin) => {
                        at[host] = Some((phase, 0, true));
                        all.report(host, RankReport::Ready)
                    }
                    (_, 1, Course::Works) => {
                        at[host] = Some((phase, 1, true));
                        all.report(host, finished(host as u32, &[1]))
                    }
                    (_, _, Course::Dies) => {
                        at[host] = None;
                        all.ended(host)
                    }
                    _ => {
                        at[host] = Some((phase + 1, 0, false)).filter(|_| phase < 4);
                        let orders = all.phase_ended(host);
                        if at[host].is_none() { [orders, all.ended(host)].concat() } else { orders }
                    }
                };
                let mut orders = std::collections::VecDeque::from(orders);
                while let Some((rank, order)) = orders.pop_front() {
                    match (order, at[rank]) {
                        (RankOrder::FirstFinished, _) => {}
                        (RankOrder::Abandon(_), _) => {
                            at[rank] = None;
                            orders.extend(all.ended(rank));
                        }
                        (RankOrder::Enter(_), Some((0, ..))) => at[rank] = Some((1, 0, false)),
                        (RankOrder::Start, Some((phase, 0, true))) => {
                            at[rank] = Some((phase, 1, false));
                        }
                        (RankOrder::Finished(_), Some((phase, 1, true))) => {
                            at[rank] = Some((phase + 1, 0, false)).filter(|_| phase < 4);
                            orders.extend(all.phase_ended(rank));
                            if at[rank].is_none() {
                                orders.extend(all.ended(rank));
                            }
                        }
                        (order, at) => prop_assert!(false, "{order:?} for {at:?}"),
                    }
                }
            }
            prop_assert!(at.iter().flatten().all(|(_, _, waits)| !waits), "{at:?}");
        }
    }
}
