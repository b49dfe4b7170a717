//! A backend of several hosts that run each cell together.

use std::collections::VecDeque;
use std::time::Duration;

use campaign::run::{CellBackend, CellUpdate, StopFlag};
use model::wire::rank::RankOrder;
use model::wire::{AbortReason, CellEvent};
use model::{
    Calibration, Campaign, CampaignId, Cell, CellId, CellResult, Environment, HostSetting, Test,
};

use crate::error::UserInterrupt;
use crate::remote::agent_backend::{AgentBackend, AgentError};
use crate::remote::connection::AgentTransport;
use crate::remote::user_prompt::{EraseRequest, UserPrompt};
use crate::together::merge::merge;
use crate::together::rendezvous::{Orders, Rendezvous};

/// Time to wait for an update of one host before the next one is asked.
const TURN: Duration = Duration::from_millis(1);

/// Several hosts that run each cell together.
pub struct TogetherBackend<'a> {
    /// The hosts by rank.
    hosts: Vec<(String, AgentBackend<'a>)>,
    running: Option<CommonCell>,
    news: VecDeque<CellUpdate>,
}

/// Ignores notes and refuses every question.
struct IgnoredPrompt;

impl UserPrompt for IgnoredPrompt {
    fn note(&self, _: &str) {}

    fn image_progress(&self, _: u64, _: u64) {}

    fn confirm_erase(&self, _: &EraseRequest<'_>) -> anyhow::Result<()> {
        Err(UserInterrupt.into())
    }
}

/// The cell that all hosts run.
struct CommonCell {
    id: CellId,
    rendezvous: Rendezvous,
    /// End of the cell on each host that has ended it.
    ends: Vec<Option<HostEnd>>,
    /// Host that first ended the cell without a result.
    cause: Option<usize>,
}

/// End of a cell on one host.
enum HostEnd {
    Result(Box<CellResult>),
    Aborted(AbortReason),
    ConnectionLost(String),
}

impl HostEnd {
    const fn is_result(&self) -> bool {
        matches!(self, Self::Result(_))
    }

    /// Returns the reason if there is no result.
    fn reason(&self) -> Option<String> {
        match self {
            Self::Result(_) => None,
            Self::Aborted(AbortReason::EnvironmentFault(reason)) | Self::ConnectionLost(reason) => {
                Some(reason.clone())
            }
            Self::Aborted(AbortReason::Interrupted | AbortReason::OtherHost(_)) => {
                Some("interrupted".to_owned())
            }
        }
    }
}

impl<'a> TogetherBackend<'a> {
    /// Connects to all hosts and acquires the resources of the campaign there. Returns one line for each
    /// combination that does not fit.
    ///
    /// # Errors
    /// Returns an error if a host cannot be reached or refuses.
    pub fn acquire(
        reach: &'a dyn AgentTransport,
        campaign: &Campaign,
        again: bool,
        dialogue: &'a dyn UserPrompt,
        stop: &StopFlag,
    ) -> anyhow::Result<(Self, Vec<String>)> {
        let mut all = Vec::new();
        let mut misfits = Vec::new();
        let transports = std::iter::once(reach).chain(reach.others().iter().map(|other| &**other));
        for (rank, (host, transport)) in campaign.together.iter().zip(transports).enumerate() {
            let own = Campaign {
                host: Some(host.clone()),
                // Two names of one machine must not claim the same directories.
                database: campaign.database.map(|database| database.wrapping_add(rank as u64)),
                ..campaign.clone()
            };
            // The notes of the first host stand for those of all.
            let dialogue = if rank == 0 { dialogue } else { &IgnoredPrompt };
            let (backend, lines) =
                AgentBackend::acquire(transport, &own, None, again, dialogue, stop)?;
            misfits.extend(lines.into_iter().map(|line| format!("{host}: {line}")));
            all.push((host.clone(), backend));
        }
        Ok((Self { hosts: all, running: None, news: VecDeque::new() }, misfits))
    }

    /// Sets the campaign number, which is part of every resource name.
    pub fn prepare(&mut self, id: CampaignId) {
        self.hosts.iter_mut().for_each(|(_, host)| host.prepare(id));
    }

    /// Makes all hosts remove everything they created.
    ///
    /// # Errors
    /// Returns the first error; the other hosts are cleaned up nevertheless.
    pub fn clean_up(self) -> anyhow::Result<()> {
        let cleared: Vec<anyhow::Result<()>> =
            self.hosts.into_iter().map(|(_, host)| host.clean_up()).collect();
        cleared.into_iter().collect()
    }

    fn send(&mut self, orders: Orders) {
        for (rank, order) in orders {
            self.hosts[rank].1.send_order(order);
        }
    }

    /// Handles an update of one host.
    fn take(&mut self, rank: usize, update: CellUpdate) {
        let name = &self.hosts[rank].0;
        let end = match update {
            CellUpdate::Note(text) => {
                self.news.push_back(CellUpdate::Note(format!("{name}: {text}")));
                return;
            }
            CellUpdate::Event(id, event) => return self.take_event(rank, id, event),
            CellUpdate::Finished(_, result) => HostEnd::Result(result),
            CellUpdate::Aborted(_, reason) => HostEnd::Aborted(match reason {
                AbortReason::EnvironmentFault(reason) => {
                    AbortReason::EnvironmentFault(format!("{name}: {reason}"))
                }
                other => other,
            }),
            CellUpdate::ConnectionLost(_, reason) => {
                HostEnd::ConnectionLost(format!("{name}: {reason}"))
            }
        };
        self.end_on(rank, end);
    }

    fn take_event(&mut self, rank: usize, id: CellId, event: CellEvent) {
        let Some(running) = &mut self.running else { return };
        let orders = match event {
            CellEvent::Rank(report) => running.rendezvous.report(rank, report),
            event => {
                let orders = match event {
                    CellEvent::Phase(_) => running.rendezvous.phase_ended(rank),
                    _ => Vec::new(),
                };
                // The first host stands for all in the progress display.
                if rank == 0 {
                    self.news.push_back(CellUpdate::Event(id, event));
                }
                orders
            }
        };
        self.send(orders);
    }

    /// Records the end of the cell on one host. Reports the end of the cell when all hosts have ended it.
    fn end_on(&mut self, rank: usize, end: HostEnd) {
        let Some(running) = &mut self.running else { return };
        let mut orders = running.rendezvous.ended(rank);
        let cause = end.reason().filter(|_| running.ends.iter().flatten().all(HostEnd::is_result));
        running.ends[rank] = Some(end);
        if let Some(reason) = cause {
            running.cause = Some(rank);
            let others = running.ends.iter().enumerate().filter(|(_, end)| end.is_none());
            orders = others.map(|(rank, _)| (rank, RankOrder::Abandon(reason.clone()))).collect();
        }
        self.send(orders);
        self.finish_if_ended();
    }

    fn finish_if_ended(&mut self) {
        let is_over = |running: &mut CommonCell| running.ends.iter().all(Option::is_some);
        let Some(mut running) = self.running.take_if(is_over) else { return };
        let id = running.id;
        let cause = running.cause.and_then(|rank| running.ends[rank].take());
        self.news.push_back(match cause {
            Some(HostEnd::Aborted(reason)) => CellUpdate::Aborted(id, reason),
            Some(HostEnd::ConnectionLost(reason)) => CellUpdate::ConnectionLost(id, reason),
            Some(HostEnd::Result(_)) | None => {
                let results = self.hosts.iter().zip(running.ends).filter_map(|((name, _), end)| {
                    let Some(HostEnd::Result(result)) = end else { return None };
                    Some((name.clone(), *result))
                });
                match merge(results.collect()) {
                    Some(result) => CellUpdate::Finished(id, Box::new(result)),
                    None => CellUpdate::ConnectionLost(id, "no host has a result".to_owned()),
                }
            }
        });
    }
}

impl CellBackend for TogetherBackend<'_> {
    type Error = AgentError;

    /// Returns the environment of the first host, with the names of all.
    fn environment(&mut self) -> Result<Environment, AgentError> {
        let mut all = Vec::new();
        for (_, host) in &mut self.hosts {
            all.push(host.environment()?);
        }
        let names: Vec<&str> = self.hosts.iter().map(|(name, _)| name.as_str()).collect();
        let mut environment = all.remove(0);
        environment.conditions.push(HostSetting::new("hosts that work together", names.join(", ")));
        for (name, other) in names.iter().skip(1).zip(&all) {
            for (setting, value, first) in [
                ("kernel", &other.kernel, &environment.kernel.clone()),
                ("processor", &other.cpu, &environment.cpu.clone()),
            ] {
                if value != first {
                    environment
                        .conditions
                        .push(HostSetting::new(&format!("{setting} of {name}"), value.as_str()));
                }
            }
        }
        Ok(environment)
    }

    /// Returns `None`: a calibration measures one host only.
    fn calibrate(&mut self) -> Result<Option<Calibration>, AgentError> {
        Ok(None)
    }

    fn start(&mut self, cell: &Cell, test: &Test) {
        let hosts = self.hosts.len();
        self.running = Some(CommonCell {
            id: cell.id,
            rendezvous: Rendezvous::new(hosts),
            ends: (0..hosts).map(|_| None).collect(),
            cause: None,
        });
        for (_, host) in &mut self.hosts {
            host.start(cell, test);
        }
    }

    fn next_update(&mut self) -> CellUpdate {
        loop {
            if let Some(update) = self.news.pop_front() {
                return update;
            }
            for rank in 0..self.hosts.len() {
                let has_ended = |running: &CommonCell| running.ends[rank].is_some();
                if self.running.as_ref().is_some_and(has_ended) {
                    continue;
                }
                if let Some(update) = self.hosts[rank].1.poll_update(TURN) {
                    self.take(rank, update);
                }
            }
        }
    }
}
