//! A backend that is the agent of a machine at the other end of a connection: a child process here, or ssh.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use model::{Calibration, Campaign, CampaignId, Cell, CellId, DiskIdentity, Environment, Test};
use orchestrate::{Backend, News, Stop};
use provision::{FoundPrograms, Machine};
use wire::Stopped;
use wire::machine::{Answer, Facts, MISSING, PULSE, Request};

use crate::dialogue::{Dialogue, Erased};
use crate::error::{self, Interruption, Refused};

/// How often the user's wish to stop is noticed.
const ATTENTION: Duration = Duration::from_millis(50);
/// How long the agent of a machine may take to say its first word, ssh and all.
const FIRST_WORD: Duration = Duration::from_secs(60);
/// How long a machine that was lost is tried again.
const RECONNECTING: Duration = Duration::from_secs(90);
/// How long the agent may take to remove what it has made, once nobody listens.
const CLEARING: Duration = Duration::from_secs(30);
/// How long to wait between two tries.
const PAUSE: Duration = Duration::from_secs(2);

/// How the agent of a machine is started.
pub trait Reach {
    /// The command that is its agent: requests go to its standard input, answers come from its standard output.
    ///
    /// # Errors
    /// When the machine cannot be reached.
    fn command(&self) -> anyhow::Result<Command>;

    /// The machine, in words.
    fn name(&self) -> String;

    /// Whether a network lies between, which may break without a word.
    fn is_far(&self) -> bool;
}

/// This machine.
pub struct Here;

impl Reach for Here {
    fn command(&self) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["agent", "--machine"]);
        Ok(command)
    }

    fn name(&self) -> String {
        "this machine".to_owned()
    }

    fn is_far(&self) -> bool {
        false
    }
}

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

/// What a machine has of these programs, its kernel and so on; and whether a path there is a block device.
///
/// # Errors
/// When it cannot be reached.
pub fn look(
    reach: &dyn Reach,
    programs: BTreeSet<String>,
    device: Option<&Path>,
) -> anyhow::Result<(Machine, bool)> {
    let mut connection = Connection::open(reach)?;
    let device = device.map(Path::to_owned);
    connection.ask(&Request::Look { programs, device })?;
    loop {
        if let Some(Answer::Looked(facts)) = connection.next(ATTENTION)? {
            let is_block = facts.is_block_device;
            return Ok((machine(*facts), is_block));
        }
    }
}

fn machine(facts: Facts) -> Machine {
    Machine {
        root: facts.root,
        kernel: facts.kernel,
        filesystems: facts.filesystems,
        modules: facts.modules,
        loads_modules: facts.loads_modules,
        loop_control: facts.loop_control,
        fuse_device: facts.fuse_device,
        programs: FoundPrograms::These(facts.programs),
        guest: None,
    }
}

/// Nothing more is heard of the agent of a machine.
#[derive(Debug, thiserror::Error)]
#[error("the agent of the machine is lost: {0}")]
pub(crate) struct Lost(String);

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
        self.connection = Some(Connection::open(self.reach)?);
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

    /// Waits for an answer of this kind; passes on what else is said meanwhile.
    fn answer(&mut self, is_it: impl Fn(&Answer) -> bool) -> anyhow::Result<Answer> {
        let mut stopping = false;
        loop {
            let to_stop = self.stop.load(Ordering::Relaxed);
            let dialogue = self.dialogue;
            let connection = self.connection()?;
            if to_stop && !std::mem::replace(&mut stopping, true) {
                connection.ask(&Request::Stop)?;
            }
            match connection.next(ATTENTION)? {
                None => {}
                Some(answer) if is_it(&answer) => return Ok(answer),
                Some(Answer::Note(text)) => dialogue.note(&text),
                Some(Answer::Preparing { done, total }) => dialogue.preparing(done, total),
                Some(Answer::MayErase {
                    device,
                    description,
                    content,
                }) => {
                    dialogue.allow_erasing(&Erased {
                        device: &device,
                        description: &description,
                        content: &content,
                    })?;
                    connection.ask(&Request::AllowErasing)?;
                }
                Some(Answer::Failed { kind, reason }) => return Err(error::told(kind, reason)),
                Some(other) => self.news.extend(news(other)),
            }
        }
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

fn lost(reason: &str) -> Lost {
    Lost(reason.to_owned())
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

/// A connection to the agent of a machine.
struct Connection {
    agent: Child,
    requests: Arc<Mutex<Option<ChildStdin>>>,
    answers: Receiver<Answer>,
    /// For how long nothing was heard, as far as somebody listened; not counted on this machine.
    silent: Option<Duration>,
}

impl Connection {
    fn open(reach: &dyn Reach) -> anyhow::Result<Self> {
        let mut command = reach.command()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut agent = command.spawn().map_err(|error| {
            Refused(format!(
                "cannot start the agent of {}: {error}",
                reach.name()
            ))
        })?;
        let (stdin, stdout) = (agent.stdin.take(), agent.stdout.take());
        let (say, answers) = mpsc::channel();
        // From here on the agent is ended and waited for, whatever cannot be had.
        let mut connection = Self {
            agent,
            requests: Arc::new(Mutex::new(stdin)),
            answers,
            silent: reach.is_far().then_some(Duration::ZERO),
        };
        if let Some(stdout) = stdout {
            thread::Builder::new().spawn(move || read(stdout, &say))?;
        }
        if reach.is_far() {
            pulse(&connection.requests)?;
        }
        connection.greet(&reach.name())?;
        Ok(connection)
    }

    /// Waits for the first word.
    fn greet(&mut self, name: &str) -> anyhow::Result<()> {
        match self.answers.recv_timeout(FIRST_WORD) {
            Ok(Answer::Hello { version }) if version == wire::VERSION => Ok(()),
            Ok(Answer::Hello { version }) => Err(Refused(format!(
                "the agent of {name} speaks version {version}, not {}",
                wire::VERSION
            ))
            .into()),
            _ => Err(Refused(format!("the agent of {name} did not start")).into()),
        }
    }

    fn ask(&self, request: &Request) -> Result<(), Lost> {
        send(&self.requests, request).map_err(|error| lost(&error.to_string()))
    }

    /// The next answer, where one comes in this time.
    fn next(&mut self, time: Duration) -> Result<Option<Answer>, Lost> {
        match self.answers.recv_timeout(time) {
            Ok(answer) => {
                self.silent = self.silent.map(|_| Duration::ZERO);
                Ok((answer != Answer::Pulse).then_some(answer))
            }
            Err(RecvTimeoutError::Timeout) => {
                self.silent = self.silent.map(|silent| silent + time);
                match self.silent {
                    Some(silent) if silent > PULSE * MISSING => Err(lost(&format!(
                        "nothing was heard for {} s",
                        silent.as_secs()
                    ))),
                    _ => Ok(None),
                }
            }
            Err(RecvTimeoutError::Disconnected) => Err(lost("it has ended")),
        }
    }

    /// Ends this side of it at once: the agent notices by itself, and removes what it has made.
    fn abandon(mut self) {
        let _ = self.agent.kill();
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // At the end of its input the agent removes what it has made, and ends; what does not is killed.
        drop(
            self.requests
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        let start = Instant::now();
        while matches!(self.agent.try_wait(), Ok(None)) {
            if start.elapsed() > CLEARING {
                let _ = self.agent.kill();
                let _ = self.agent.wait();
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Reads answers until there are no more, or nobody hears them.
fn read(answers: impl Read, say: &Sender<Answer>) {
    for line in BufReader::new(answers).lines() {
        let answer = line.ok().and_then(|line| serde_json::from_str(&line).ok());
        if answer.is_none_or(|answer| say.send(answer).is_err()) {
            return;
        }
    }
}

fn send(requests: &Mutex<Option<ChildStdin>>, request: &Request) -> io::Result<()> {
    let mut requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
    match requests.as_mut() {
        Some(to) => to
            .write_all(request.to_line().as_bytes())
            .and_then(|()| to.flush()),
        None => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

/// Says now and then that this side is there, until the connection is dropped.
fn pulse(requests: &Arc<Mutex<Option<ChildStdin>>>) -> io::Result<()> {
    let requests = Arc::downgrade(requests);
    thread::Builder::new()
        .spawn(move || {
            while let Some(requests) = requests.upgrade() {
                if send(&requests, &Request::Pulse).is_err() {
                    return;
                }
                drop(requests);
                thread::sleep(PULSE);
            }
        })
        .map(drop)
}
