//! A backend that is the agent of a machine at the other end of a connection.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use model::{Calibration, Campaign, CampaignId, Cell, CellId, DiskIdentity, Environment, Test};
use orchestrate::{Backend, News, Stop};
use wire::Stopped;
use wire::machine::{Answer, Request};

use crate::connection::{ATTENTION, Connection, Lost, Reach, lost};
use crate::dialogue::Dialogue;
use crate::error::{self, Interruption, Refused};

/// How long a machine that was lost is tried again.
const RECONNECTING: Duration = Duration::from_secs(90);
/// How long to wait between two tries.
const PAUSE: Duration = Duration::from_secs(2);

/// Why the agent of a machine does not do what was asked for.
#[derive(Debug)]
pub struct AgentError(anyhow::Error);

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", error::whole(&self.0))
    }
}

impl std::error::Error for AgentError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}

/// A campaign on a machine whose agent is reached by a connection; after a loss it is connected again.
pub struct Remote<'a> {
    reach: &'a dyn Reach,
    dialogue: &'a dyn Dialogue,
    stop: Stop,
    campaign: Box<Campaign>,
    erase: Option<PathBuf>,
    /// The number of the campaign, once its cells may run.
    id: Option<CampaignId>,
    disk: Option<DiskIdentity>,
    connection: Option<Connection>,
    /// Cells that run there.
    running: BTreeMap<CellId, (Cell, Test)>,
    news: VecDeque<News>,
}

impl<'a> Remote<'a> {
    /// Connects, and has what the campaign works on taken; gives what does not fit, a line each, where the campaign has
    /// not run before.
    ///
    /// # Errors
    /// When the machine cannot be reached, or refuses.
    pub fn hold(
        reach: &'a dyn Reach,
        campaign: &Campaign,
        erase: Option<&Path>,
        again: bool,
        dialogue: &'a dyn Dialogue,
        stop: &Stop,
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

    /// The disk that was taken, where it is one of the user's.
    pub const fn disk(&self) -> Option<&DiskIdentity> {
        self.disk.as_ref()
    }

    /// Tells the number of the campaign, which everything that is made for its cells bears.
    pub const fn prepare(&mut self, id: CampaignId) {
        self.id = Some(id);
    }

    /// Has everything removed that was made. An agent that is lost does so by itself.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn clear(mut self) -> anyhow::Result<()> {
        let mut clear = || {
            self.connection()?.ask(&Request::Clear)?;
            self.answer(|answer| matches!(answer, Answer::Cleared))
        };
        match clear() {
            Err(error) if !error.is::<Lost>() => Err(error),
            _ => Ok(()),
        }
    }

    fn connect(&mut self, again: bool) -> anyhow::Result<Vec<String>> {
        self.connection = Some(Connection::open(self.reach, &self.stop)?);
        let hold = Request::Hold {
            campaign: self.campaign.clone(),
            erase: self.erase.clone(),
            again,
        };
        let connection = self.connection()?;
        connection.ask(&hold)?;
        match self.answer(|answer| matches!(answer, Answer::Held { .. }))? {
            Answer::Held { disk, misfits } => {
                self.disk = disk;
                Ok(misfits)
            }
            _ => Ok(Vec::new()),
        }
    }

    fn prepared(&mut self) -> anyhow::Result<Environment> {
        let id = self
            .id
            .ok_or_else(|| anyhow::anyhow!("the campaign has no number"))?;
        self.connection()?.ask(&Request::Prepare { id })?;
        match self.answer(|answer| matches!(answer, Answer::Prepared(_)))? {
            Answer::Prepared(environment) => Ok(*environment),
            _ => Err(lost("it said something else").into()),
        }
    }

    fn calibration(&mut self) -> anyhow::Result<Option<Calibration>> {
        self.connection()?.ask(&Request::Calibrate)?;
        match self.answer(|answer| matches!(answer, Answer::Calibrated(_)))? {
            Answer::Calibrated(taken) => Ok(taken.map(|taken| *taken)),
            _ => Ok(None),
        }
    }

    fn connection(&mut self) -> Result<&mut Connection, Lost> {
        self.connection
            .as_mut()
            .ok_or_else(|| lost("it is not connected"))
    }

    /// Waits for an answer of this kind; what is said of cells meanwhile is kept.
    fn answer(&mut self, is_it: impl Fn(&Answer) -> bool) -> anyhow::Result<Answer> {
        let connection = self.connection.as_mut();
        let connection = connection.ok_or_else(|| lost("it is not connected"))?;
        let kept = &mut self.news;
        connection.answer(is_it, self.dialogue, &self.stop, &mut |other| {
            kept.extend(news(other));
        })
    }

    /// The connection is lost: so is every cell that runs there.
    fn lose(&mut self, reason: &str) {
        if let Some(connection) = self.connection.take() {
            connection.abandon();
        }
        for (id, _) in std::mem::take(&mut self.running) {
            self.news.push_back(News::Lost(id, reason.to_owned()));
        }
    }

    /// The disk has to be the one that was taken at first.
    fn require_disk(&self, before: Option<&DiskIdentity>) -> Result<(), anyhow::Error> {
        let both = before.zip(self.disk());
        match both.and_then(|(before, now)| before.lasting_difference(now)) {
            Some(difference) => Err(Refused(format!("it is another disk: {difference}")).into()),
            None => Ok(()),
        }
    }

    /// Connects again; the agent that was lost may still be cleaning up there.
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
                return Err(Interruption.into());
            }
            if start.elapsed() > RECONNECTING {
                return Err(error);
            }
            thread::sleep(PAUSE);
        }
    }
}

/// What an answer says of the cells.
fn news(answer: Answer) -> Option<News> {
    Some(match answer {
        Answer::Event { cell, event } => News::Event(cell, event),
        Answer::Ended { cell, result } => News::Ended(cell, result),
        Answer::Stopped { cell, stopped } => News::Stopped(cell, stopped),
        Answer::Note(text) => News::Note(text),
        _ => return None,
    })
}

impl Backend for Remote<'_> {
    type Error = AgentError;

    fn environment(&mut self) -> Result<Environment, AgentError> {
        match self.prepared() {
            Err(error) if error.is::<Lost>() => self.reconnect().map_err(AgentError),
            other => other.map_err(AgentError),
        }
    }

    fn calibrate(&mut self) -> Result<Option<Calibration>, AgentError> {
        match self.calibration() {
            Err(error) if error.is::<Lost>() => {
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
            let why = match error.is::<Interruption>() {
                true => Stopped::Interrupted,
                false => Stopped::Withdrawn(format!(
                    "{} cannot be reached again: {}",
                    self.reach.name(),
                    error::whole(&error)
                )),
            };
            self.news.push_back(News::Stopped(cell.id, why));
            return;
        }
        self.running.insert(cell.id, (cell.clone(), test.clone()));
        let request = Request::Start {
            cell: cell.clone(),
            test: Box::new(test.clone()),
        };
        let asked = self.connection().and_then(|c| c.ask(&request));
        if let Err(error) = asked {
            self.lose(&error.to_string());
        }
    }

    fn next(&mut self) -> News {
        let mut stopping = false;
        loop {
            if let Some(news) = self.news.pop_front() {
                if let News::Ended(cell, _) | News::Stopped(cell, _) = &news {
                    self.running.remove(cell);
                }
                return news;
            }
            let to_stop = self.stop.load(Ordering::Relaxed);
            let heard = self.connection().and_then(|connection| {
                if to_stop && !std::mem::replace(&mut stopping, true) {
                    connection.ask(&Request::Stop)?;
                }
                connection.next(ATTENTION)
            });
            match heard {
                Ok(None) => {}
                Ok(Some(Answer::Failed { reason, .. })) => self.lose(&reason),
                Ok(Some(answer)) => self.news.extend(news(answer)),
                Err(error) => self.lose(&error.to_string()),
            }
        }
    }
}
