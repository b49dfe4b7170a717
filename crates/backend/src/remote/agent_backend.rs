//! A backend that uses the agent of a machine through a connection.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use campaign::run::{CellBackend, CellUpdate, StopFlag};
use model::wire::AbortReason;
use model::wire::machine::{HostReply, HostRequest};
use model::wire::rank::RankOrder;
use model::{Calibration, Campaign, CampaignId, Cell, CellId, DiskIdentity, Environment, Test};

use crate::error::{self, EnvironmentError, UserInterrupt};
use crate::remote::connection::{
    AgentConnection, AgentTransport, ConnectionLost, STOP_POLL_INTERVAL, connection_lost,
};
use crate::remote::user_prompt::UserPrompt;

/// Time limit for reconnecting to a lost machine.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(90);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_secs(2);

/// Reason why an agent refuses or fails a request.
#[derive(Debug)]
pub struct AgentError(anyhow::Error);

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", error::error_chain(&self.0))
    }
}

impl std::error::Error for AgentError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}

/// A campaign on a machine with an agent. Connects again after a connection loss.
pub struct AgentBackend<'a> {
    reach: &'a dyn AgentTransport,
    dialogue: &'a dyn UserPrompt,
    stop: StopFlag,
    campaign: Box<Campaign>,
    erase: Option<PathBuf>,
    /// Number of the campaign, or `None` before cells may run.
    id: Option<CampaignId>,
    disk: Option<DiskIdentity>,
    connection: Option<AgentConnection>,
    /// Cells that run on the machine.
    running: BTreeMap<CellId, (Cell, Test)>,
    news: VecDeque<CellUpdate>,
}

impl<'a> AgentBackend<'a> {
    /// Connects and acquires the resources of the campaign on the machine. Returns one line for
    /// each combination that does not fit, unless the campaign ran before.
    ///
    /// # Errors
    /// Returns an error if the machine cannot be reached or refuses.
    pub fn acquire(
        reach: &'a dyn AgentTransport,
        campaign: &Campaign,
        erase: Option<&Path>,
        again: bool,
        dialogue: &'a dyn UserPrompt,
        stop: &StopFlag,
    ) -> anyhow::Result<(Self, Vec<String>)> {
        let mut remote = Self {
            reach,
            dialogue,
            stop: Arc::clone(stop),
            campaign: Box::new(campaign.clone()),
            erase: erase.map(Path::to_owned),
            id: None,
            disk: None,
            connection: None,
            running: BTreeMap::new(),
            news: VecDeque::new(),
        };
        let misfits = remote.connect(again)?;
        Ok((remote, misfits))
    }

    /// Returns the claimed disk if it is a user's device.
    pub const fn disk(&self) -> Option<&DiskIdentity> {
        self.disk.as_ref()
    }

    /// Sets the campaign number, which is part of every resource name.
    pub const fn prepare(&mut self, id: CampaignId) {
        self.id = Some(id);
    }

    /// Passes an order to the running cell. The next update reports a lost connection.
    pub fn send_order(&mut self, order: RankOrder) {
        let phase_limit = self.campaign.phase_limit.to_duration();
        let sent = self.connection().and_then(|connection| {
            connection.send(HostRequest::Order(order))?;
            connection.extend_timeout(phase_limit);
            Ok(())
        });
        if let Err(error) = sent {
            self.lose(&error.to_string());
        }
    }

    /// Returns the next update, or `None` if none arrives within this time.
    pub fn poll_update(&mut self, time: Duration) -> Option<CellUpdate> {
        if self.news.is_empty() {
            self.listen(time);
        }
        let news = self.news.pop_front()?;
        if let CellUpdate::Finished(cell, _) | CellUpdate::Aborted(cell, _) = &news {
            self.running.remove(cell);
        }
        Some(news)
    }

    /// Takes the next answer of the agent, if one arrives within this time.
    fn listen(&mut self, time: Duration) {
        let to_stop = self.stop.load(Ordering::Relaxed);
        let heard = self.connection().and_then(|connection| {
            if to_stop {
                connection.stop()?;
            }
            connection.next(time)
        });
        match heard {
            Ok(None) => {}
            Ok(Some(HostReply::Failed { reason, .. })) => self.lose(&reason),
            Ok(Some(answer)) => match news(answer) {
                // The answer for a cell that runs may never come.
                Some(
                    CellUpdate::Event(cell, _)
                    | CellUpdate::Finished(cell, _)
                    | CellUpdate::Aborted(cell, _),
                ) if !self.running.contains_key(&cell) => {
                    self.lose(&format!("it answered for cell {}, which does not run", cell.0));
                }
                news => self.news.extend(news),
            },
            Err(error) => self.lose(&error.to_string()),
        }
    }

    /// Makes the agent remove everything it created. An agent whose connection is lost does this by
    /// itself.
    ///
    /// # Errors
    /// Returns an error if a removal fails.
    pub fn clean_up(mut self) -> anyhow::Result<()> {
        let mut clear = || {
            self.connection()?.send(HostRequest::CleanUp)?;
            self.answer(|answer| matches!(answer, HostReply::Cleared))
        };
        match clear() {
            Err(error) if !error.is::<ConnectionLost>() => Err(error),
            _ => Ok(()),
        }
    }

    fn connect(&mut self, again: bool) -> anyhow::Result<Vec<String>> {
        self.connection = Some(AgentConnection::open(self.reach, &self.stop)?);
        let hold = HostRequest::Acquire {
            campaign: self.campaign.clone(),
            erase: self.erase.clone(),
            again,
        };
        let connection = self.connection()?;
        connection.send(hold)?;
        match self.answer(|answer| matches!(answer, HostReply::Acquired { .. }))? {
            HostReply::Acquired { disk, misfits } => {
                self.disk = disk;
                Ok(misfits)
            }
            _ => Ok(Vec::new()),
        }
    }

    fn prepared(&mut self) -> anyhow::Result<Environment> {
        let id = self.id.ok_or_else(|| anyhow::anyhow!("the campaign has no number"))?;
        self.connection()?.send(HostRequest::Prepare { id })?;
        match self.answer(|answer| matches!(answer, HostReply::Prepared(_)))? {
            HostReply::Prepared(environment) => Ok(*environment),
            _ => Err(connection_lost("it said something else").into()),
        }
    }

    fn calibration(&mut self) -> anyhow::Result<Option<Calibration>> {
        self.connection()?.send(HostRequest::Calibrate)?;
        match self.answer(|answer| matches!(answer, HostReply::Calibrated(_)))? {
            HostReply::Calibrated(taken) => Ok(taken.map(|taken| *taken)),
            _ => Ok(None),
        }
    }

    fn connection(&mut self) -> Result<&mut AgentConnection, ConnectionLost> {
        self.connection.as_mut().ok_or_else(|| connection_lost("it is not connected"))
    }

    /// Waits for an answer of this kind and keeps the cell news received before it.
    fn answer(&mut self, is_it: impl Fn(&HostReply) -> bool) -> anyhow::Result<HostReply> {
        let connection = self.connection.as_mut();
        let connection = connection.ok_or_else(|| connection_lost("it is not connected"))?;
        let kept = &mut self.news;
        connection.wait_for(is_it, self.dialogue, &mut |other| {
            kept.extend(news(other));
        })
    }

    /// Closes a lost connection and reports every running cell as lost.
    fn lose(&mut self, reason: &str) {
        if let Some(connection) = self.connection.take() {
            connection.abandon();
        }
        let is_stopped = self.stop.load(Ordering::Relaxed);
        for (id, _) in std::mem::take(&mut self.running) {
            self.news.push_back(match is_stopped {
                true => CellUpdate::Aborted(id, AbortReason::Interrupted),
                false => CellUpdate::ConnectionLost(id, reason.to_owned()),
            });
        }
    }

    /// Returns an error if the disk differs from the one claimed first.
    fn require_disk(&self, before: Option<&DiskIdentity>) -> Result<(), anyhow::Error> {
        let both = before.zip(self.disk());
        match both.and_then(|(before, now)| before.explain_permanent_change(now)) {
            Some(difference) => {
                Err(EnvironmentError(format!("it is another disk: {difference}")).into())
            }
            None => Ok(()),
        }
    }

    /// Connects again. Retries, because the previous agent may still be cleaning up.
    fn reconnect(&mut self) -> anyhow::Result<Environment> {
        let (start, disk) = (Instant::now(), self.disk.clone());
        loop {
            let tried = self.connect(true);
            let tried = tried.and_then(|_| self.require_disk(disk.as_ref()));
            let tried = tried.and_then(|()| self.prepared());
            let Err(error) = tried else {
                return tried;
            };
            if let Some(connection) = self.connection.take() {
                connection.abandon();
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(UserInterrupt.into());
            }
            if start.elapsed() > RECONNECT_TIMEOUT {
                return Err(error);
            }
            let since = Instant::now();
            while since.elapsed() < PAUSE && !self.stop.load(Ordering::Relaxed) {
                thread::sleep(STOP_POLL_INTERVAL);
            }
        }
    }
}

/// Converts an answer about a cell into news.
fn news(answer: HostReply) -> Option<CellUpdate> {
    Some(match answer {
        HostReply::Event { cell, event } => CellUpdate::Event(cell, event),
        HostReply::Ended { cell, result } => CellUpdate::Finished(cell, result),
        HostReply::Stopped { cell, stopped } => CellUpdate::Aborted(cell, stopped),
        HostReply::Note(text) => CellUpdate::Note(text),
        _ => return None,
    })
}

impl CellBackend for AgentBackend<'_> {
    type Error = AgentError;

    fn environment(&mut self) -> Result<Environment, AgentError> {
        match self.prepared() {
            Err(error) if error.is::<ConnectionLost>() => self.reconnect().map_err(AgentError),
            other => other.map_err(AgentError),
        }
    }

    fn calibrate(&mut self) -> Result<Option<Calibration>, AgentError> {
        match self.calibration() {
            Err(error) if error.is::<ConnectionLost>() => {
                let again = self.reconnect().and_then(|_| self.calibration());
                again.map_err(AgentError)
            }
            other => other.map_err(AgentError),
        }
    }

    fn start(&mut self, cell: &Cell, test: &Test) {
        if self.connection.is_none()
            && let Err(error) = self.reconnect()
        {
            let why = match error.is::<UserInterrupt>() {
                true => AbortReason::Interrupted,
                false => AbortReason::EnvironmentFault(format!(
                    "{} cannot be reached again: {}",
                    self.reach.name(),
                    error::error_chain(&error)
                )),
            };
            self.news.push_back(CellUpdate::Aborted(cell.id, why));
            return;
        }
        self.running.insert(cell.id, (cell.clone(), test.clone()));
        let request = HostRequest::Start { cell: cell.clone(), test: Box::new(test.clone()) };
        let phase_limit = self.campaign.phase_limit.to_duration();
        let asked = self.connection().and_then(|connection| {
            connection.send(request)?;
            connection.extend_timeout(phase_limit);
            Ok(())
        });
        if let Err(error) = asked {
            self.lose(&error.to_string());
        }
    }

    fn next_update(&mut self) -> CellUpdate {
        loop {
            if let Some(update) = self.poll_update(STOP_POLL_INTERVAL) {
                return update;
            }
        }
    }
}
