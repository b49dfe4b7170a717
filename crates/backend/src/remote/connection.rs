//! The connection to the agent of a machine: a child process on this host, or ssh.

use std::io::{self, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use model::wire::machine::{
    HEARTBEAT_INTERVAL, HostReply, HostRequest, MAX_MISSED_HEARTBEATS, MAX_REPLY_SIZE,
};
use sys::io::bounded;

use crate::error::{self, EnvironmentError, UserInterrupt};
use crate::remote::user_prompt::{EraseRequest, UserPrompt};

/// Interval between checks of the stop flag.
pub(crate) const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Timeout for the greeting of an agent, including the ssh login.
const HELLO_TIMEOUT: Duration = Duration::from_secs(60);
/// Time that an agent has for cleanup after the connection is closed.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(30);
/// Time to wait for a killed agent. An agent blocked in the kernel by a hung disk ends later.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);

/// A way to start the agent of a machine.
pub trait AgentTransport {
    /// Returns the command that starts the agent. Requests go to its standard input, and answers
    /// come from its standard output.
    ///
    /// # Errors
    /// Returns an error if the machine cannot be reached.
    fn command(&self) -> anyhow::Result<Command>;

    /// Human-readable name of the machine.
    fn name(&self) -> String;

    /// Returns true if the connection uses a network, which may fail silently.
    fn is_remote(&self) -> bool;
}

/// This machine.
pub struct LocalTransport;

impl AgentTransport for LocalTransport {
    fn command(&self) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["agent", "--machine"]);
        Ok(command)
    }

    fn name(&self) -> String {
        "this machine".to_owned()
    }

    fn is_remote(&self) -> bool {
        false
    }
}

/// The connection to the agent of a machine is lost.
#[derive(Debug, thiserror::Error)]
#[error("the agent of the machine is lost: {0}")]
pub(crate) struct ConnectionLost(String);

pub(crate) fn connection_lost(reason: &str) -> ConnectionLost {
    ConnectionLost(reason.to_owned())
}

/// A connection to the agent of a machine.
pub(crate) struct AgentConnection {
    agent: Child,
    requests: Arc<Mutex<Option<ChildStdin>>>,
    answers: Receiver<Result<HostReply, ConnectionLost>>,
    /// Time without an answer, counted only during waits. `None` for this machine.
    silent: Option<Duration>,
    /// Whether the agent was abandoned: the connection does not wait for its cleanup.
    killed: bool,
}

impl AgentConnection {
    /// Starts the agent and waits for its greeting.
    ///
    /// # Errors
    /// Returns an error if the agent does not start or the user asks to stop.
    pub(crate) fn open(reach: &dyn AgentTransport, stop: &AtomicBool) -> anyhow::Result<Self> {
        let mut command = reach.command()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut agent = command.spawn().map_err(|error| {
            EnvironmentError(format!("cannot start the agent of {}: {error}", reach.name()))
        })?;
        let (stdin, stdout) = (agent.stdin.take(), agent.stdout.take());
        let (say, answers) = mpsc::channel();
        // From here on dropping the connection ends the agent, even if a later step fails.
        let mut connection = Self {
            agent,
            requests: Arc::new(Mutex::new(stdin)),
            answers,
            silent: reach.is_remote().then_some(Duration::ZERO),
            killed: false,
        };
        if let Some(stdout) = stdout {
            thread::Builder::new().spawn(move || read(stdout, &say))?;
        }
        if reach.is_remote() {
            pulse(&connection.requests)?;
        }
        match connection.greet(&reach.name()) {
            // Ctrl-C at the terminal also reaches the agent, and kills an agent that does not
            // handle it yet.
            Err(_) if stop.load(Ordering::Relaxed) => Err(UserInterrupt.into()),
            greeted => greeted.map(|()| connection),
        }
    }

    /// Waits for the greeting of the agent.
    fn greet(&mut self, name: &str) -> anyhow::Result<()> {
        match self.answers.recv_timeout(HELLO_TIMEOUT) {
            Ok(Ok(HostReply::Hello { version })) if version == model::wire::VERSION => Ok(()),
            Ok(Ok(HostReply::Hello { version })) => Err(EnvironmentError(format!(
                "the agent of {name} speaks version {version}, not {}",
                model::wire::VERSION
            ))
            .into()),
            Ok(Err(ConnectionLost(reason))) => {
                Err(EnvironmentError(format!("the agent of {name} did not start: {reason}")).into())
            }
            _ => Err(EnvironmentError(format!("the agent of {name} did not start")).into()),
        }
    }

    pub(crate) fn send(&self, request: &HostRequest) -> Result<(), ConnectionLost> {
        send(&self.requests, request).map_err(|error| connection_lost(&error.to_string()))
    }

    /// Returns the next answer, or `None` if none arrives within this time.
    pub(crate) fn next(&mut self, time: Duration) -> Result<Option<HostReply>, ConnectionLost> {
        match self.answers.recv_timeout(time) {
            Ok(answer) => {
                let answer = answer?;
                self.silent = self.silent.map(|_| Duration::ZERO);
                Ok((answer != HostReply::Heartbeat).then_some(answer))
            }
            Err(RecvTimeoutError::Timeout) => {
                self.silent = self.silent.map(|silent| silent + time);
                match self.silent {
                    Some(silent) if silent > HEARTBEAT_INTERVAL * MAX_MISSED_HEARTBEATS => {
                        Err(connection_lost(&format!("no answer for {} s", silent.as_secs())))
                    }
                    _ => Ok(None),
                }
            }
            Err(RecvTimeoutError::Disconnected) => Err(connection_lost("it has ended")),
        }
    }

    /// Waits for an answer of this kind. Notes and questions go to the dialogue, all other answers
    /// to `other`. Forwards a stop request of the user to the agent.
    pub(crate) fn wait_for(
        &mut self,
        is_it: impl Fn(&HostReply) -> bool,
        dialogue: &dyn UserPrompt,
        stop: &AtomicBool,
        other: &mut dyn FnMut(HostReply),
    ) -> anyhow::Result<HostReply> {
        let mut stopping = false;
        loop {
            if stop.load(Ordering::Relaxed) && !std::mem::replace(&mut stopping, true) {
                self.send(&HostRequest::Stop)?;
            }
            match self.next(STOP_POLL_INTERVAL)? {
                None => {}
                Some(answer) if is_it(&answer) => return Ok(answer),
                Some(HostReply::Note(text)) => dialogue.note(&text),
                Some(HostReply::Preparing { done, total }) => dialogue.image_progress(done, total),
                Some(HostReply::ConfirmErase { device, description, content }) => {
                    dialogue.confirm_erase(&EraseRequest {
                        device: &device,
                        description: &description,
                        content: &content,
                    })?;
                    self.send(&HostRequest::ConfirmErase)?;
                }
                Some(HostReply::Failed { kind, reason }) => {
                    return Err(error::from_kind(kind, reason));
                }
                Some(answer) => other(answer),
            }
        }
    }

    /// Closes this end of the connection immediately. The agent notices and removes everything it
    /// created.
    pub(crate) fn abandon(mut self) {
        let _ = self.agent.kill();
        self.killed = true;
    }

    /// Returns true if the agent ends within this time.
    fn ends_within(&mut self, time: Duration) -> bool {
        let start = Instant::now();
        while matches!(self.agent.try_wait(), Ok(None)) {
            if start.elapsed() > time {
                return false;
            }
            thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

impl Drop for AgentConnection {
    fn drop(&mut self) {
        // At the end of its input the agent removes everything it created and exits. An agent that
        // does not is killed.
        drop(self.requests.lock().unwrap_or_else(PoisonError::into_inner).take());
        if !self.ends_within(if self.killed { KILL_TIMEOUT } else { CLEANUP_TIMEOUT }) {
            let _ = self.agent.kill();
            self.ends_within(KILL_TIMEOUT);
        }
    }
}

/// Reads answers until the input ends, the receiver is dropped, or a line is not an answer.
fn read(answers: impl Read, say: &Sender<Result<HostReply, ConnectionLost>>) {
    for line in bounded::lines(BufReader::new(answers), MAX_REPLY_SIZE) {
        let answer = line.and_then(|line| Ok(serde_json::from_slice(&line)?));
        let answer = answer.map_err(|error| connection_lost(&format!("no answer: {error}")));
        let is_last = answer.is_err();
        if say.send(answer).is_err() || is_last {
            return;
        }
    }
}

fn send(requests: &Mutex<Option<ChildStdin>>, request: &HostRequest) -> io::Result<()> {
    let mut requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
    match requests.as_mut() {
        Some(to) => to.write_all(request.to_line().as_bytes()).and_then(|()| to.flush()),
        None => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

/// Sends heartbeats until the connection is dropped.
fn pulse(requests: &Arc<Mutex<Option<ChildStdin>>>) -> io::Result<()> {
    let requests = Arc::downgrade(requests);
    thread::Builder::new()
        .spawn(move || {
            while let Some(requests) = requests.upgrade() {
                if send(&requests, &HostRequest::Heartbeat).is_err() {
                    return;
                }
                drop(requests);
                thread::sleep(HEARTBEAT_INTERVAL);
            }
        })
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers that arrive before the connection is lost, and the reason for the loss.
    fn answers(input: impl Read) -> (Vec<HostReply>, Option<String>) {
        let (say, heard) = mpsc::channel();
        read(input, &say);
        drop(say);
        let mut answers = Vec::new();
        for answer in heard {
            match answer {
                Ok(answer) => answers.push(answer),
                Err(ConnectionLost(reason)) => return (answers, Some(reason)),
            }
        }
        (answers, None)
    }

    #[test]
    fn a_line_without_an_end_ends_the_connection_with_the_reason() {
        let input = HostReply::Cleared.to_line().into_bytes();
        let (said, lost) = answers(input.chain(io::repeat(b' ')));
        assert_eq!(said, [HostReply::Cleared]);
        assert_eq!(lost.as_deref(), Some("no answer: a line is longer than 64 MiB"));
    }

    #[test]
    fn a_line_that_is_no_answer_ends_the_connection_with_the_reason() {
        let input = format!("{}Welcome!\n", HostReply::Heartbeat.to_line());
        let (said, lost) = answers(input.as_bytes());
        assert_eq!(said, [HostReply::Heartbeat]);
        assert!(lost.unwrap().starts_with("no answer: expected value at line 1 column 1"));
    }
}
