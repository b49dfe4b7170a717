//! The connection to the agent of a machine: a child process on this host, or ssh.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use campaign::run::StopFlag;
use model::wire::machine::{
    HEARTBEAT_INTERVAL, HostReply, HostRequest, MAX_MISSED_HEARTBEATS, MAX_REPLY_SIZE,
};
use model::{Bytes, Nanos};
use sys::io::bounded::{self, Allowance, BoundedLines, StreamLimits};

use crate::error::{self, EnvironmentError, MAX_MESSAGE_LENGTH, UserInterrupt};
use crate::remote::user_prompt::{EraseRequest, UserPrompt};

/// Interval between checks of the stop flag.
pub(crate) const STOP_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Timeout for the greeting of an agent, including the ssh login.
const HELLO_TIMEOUT: Duration = Duration::from_secs(60);
/// Limits of the answers of an agent to a request.
const REPLY_LIMITS: StreamLimits = StreamLimits {
    line: MAX_REPLY_SIZE,
    total: Bytes(2 * MAX_REPLY_SIZE.0),
    lines_per_second: Some(100),
};
/// Number of answers that wait to be handled.
const MAX_WAITING_REPLIES: usize = 4;
/// Time that an agent has to stop after Ctrl-C, which must take effect within two seconds. An agent
/// on this machine has it again with each answer.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);
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

    /// Returns the ways to the other hosts that run each cell together with this one.
    fn others(&self) -> &[Box<dyn AgentTransport>] {
        &[]
    }
}

/// Several machines that run each cell together. The first one stands for all of them.
pub struct TogetherTransport {
    /// The first machine.
    pub first: Box<dyn AgentTransport>,
    /// The other ones.
    pub others: Vec<Box<dyn AgentTransport>>,
}

impl AgentTransport for TogetherTransport {
    fn command(&self) -> anyhow::Result<Command> {
        self.first.command()
    }

    fn name(&self) -> String {
        self.first.name()
    }

    fn is_remote(&self) -> bool {
        self.first.is_remote()
    }

    fn others(&self) -> &[Box<dyn AgentTransport>] {
        &self.others
    }
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
    /// Requests for the thread that writes them. `None` closes the connection.
    requests: Option<Sender<HostRequest>>,
    answers: Receiver<Result<HostReply, ConnectionLost>>,
    /// Size that the answers to the last request may still have.
    allowance: Allowance,
    /// Whether the agent is on another machine.
    is_remote: bool,
    /// Time without an answer, counted only during waits.
    silent: Duration,
    /// Time without an answer other than heartbeats, counted only during waits.
    unanswered: Duration,
    /// Limit of the time without an answer other than heartbeats.
    answer_timeout: Duration,
    /// Time of the request to stop, or of the last answer of an agent of this machine since then.
    stopping: Option<Instant>,
    /// Whether the agent was abandoned: the connection does not wait for its cleanup.
    killed: bool,
    /// Ends every wait for the agent.
    stop: StopFlag,
}

impl AgentConnection {
    /// Starts the agent and waits for its greeting.
    ///
    /// # Errors
    /// Returns an error if the agent does not start or the user asks to stop.
    pub(crate) fn open(reach: &dyn AgentTransport, stop: &StopFlag) -> anyhow::Result<Self> {
        let mut command = reach.command()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut agent = command.spawn().map_err(|error| {
            error::not_started(&format!("the agent of {}", reach.name()), &error)
        })?;
        let stdin = agent.stdin.take().expect("piped above");
        let lines =
            bounded::lines(BufReader::new(agent.stdout.take().expect("piped above")), REPLY_LIMITS);
        let (say, answers) = mpsc::sync_channel(MAX_WAITING_REPLIES);
        let (requests, asked) = mpsc::channel();
        // From here on dropping the connection ends the agent, even if a later step fails.
        let mut connection = Self {
            agent,
            requests: Some(requests),
            answers,
            allowance: lines.allowance(),
            is_remote: reach.is_remote(),
            silent: Duration::ZERO,
            unanswered: Duration::ZERO,
            answer_timeout: HostRequest::Heartbeat.timeout(),
            stopping: None,
            killed: false,
            stop: StopFlag::clone(stop),
        };
        start_thread(move || read(lines, &say))?;
        let is_remote = connection.is_remote;
        start_thread(move || write(stdin, &asked, is_remote))?;
        if is_remote {
            // From the first heartbeat on, the agent notices a broken connection.
            connection.write(HostRequest::Heartbeat)?;
        }
        if let Err(error) = connection.greet(&reach.name()) {
            // An agent that has not greeted has nothing to clean up.
            connection.abandon();
            // Ctrl-C at the terminal also reaches the agent, and kills an agent that does not
            // handle it yet.
            return match stop.load(Ordering::Relaxed) {
                true => Err(UserInterrupt.into()),
                false => Err(error),
            };
        }
        Ok(connection)
    }

    /// Waits for the greeting of the agent.
    fn greet(&mut self, name: &str) -> anyhow::Result<()> {
        let since = Instant::now();
        let greeting = loop {
            match self.answers.recv_timeout(STOP_POLL_INTERVAL) {
                // The agent may answer the first heartbeat earlier.
                Ok(Ok(HostReply::Heartbeat)) => {}
                Err(RecvTimeoutError::Timeout)
                    if since.elapsed() < HELLO_TIMEOUT && !self.is_stopped() => {}
                other => break other,
            }
        };
        match greeting {
            Ok(Ok(HostReply::Hello { version })) if version == model::wire::VERSION => Ok(()),
            Ok(Ok(HostReply::Hello { version })) => Err(EnvironmentError(format!(
                "the agent of {name} speaks version {version}, not {}",
                model::wire::VERSION
            ))
            .into()),
            Ok(Ok(HostReply::Failed { kind, reason })) => Err(error::from_kind(kind, reason)),
            Ok(Err(ConnectionLost(reason))) => {
                Err(EnvironmentError(format!("the agent of {name} did not start: {reason}")).into())
            }
            _ => Err(EnvironmentError(format!("the agent of {name} did not start")).into()),
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Sends a request. Never waits for the agent to read it.
    pub(crate) fn send(&mut self, request: HostRequest) -> Result<(), ConnectionLost> {
        self.unanswered = Duration::ZERO;
        self.answer_timeout = request.timeout();
        self.write(request)
    }

    /// Gives the agent more time for its next answer.
    pub(crate) const fn extend_timeout(&mut self, by: Duration) {
        self.answer_timeout = self.answer_timeout.saturating_add(by);
    }

    fn write(&self, request: HostRequest) -> Result<(), ConnectionLost> {
        self.allowance.renew();
        let sent = self.requests.as_ref().is_some_and(|requests| requests.send(request).is_ok());
        sent.then_some(()).ok_or_else(|| connection_lost("it has ended"))
    }

    /// Forwards a stop request of the user, once. From then on, an agent that does not stop is lost.
    pub(crate) fn stop(&mut self) -> Result<(), ConnectionLost> {
        if self.stopping.is_some() {
            return Ok(());
        }
        self.stopping = Some(Instant::now());
        self.write(HostRequest::Stop)
    }

    /// Returns an error if the agent has not stopped in time.
    fn check_stop(&self) -> Result<(), ConnectionLost> {
        match self.stopping {
            Some(since) if since.elapsed() > STOP_TIMEOUT => {
                Err(connection_lost("it did not stop"))
            }
            // A living agent of this machine answers.
            Some(_) if !self.is_remote => self.write(HostRequest::Heartbeat),
            _ => Ok(()),
        }
    }

    /// Returns the next answer, or `None` if none arrives within this time.
    pub(crate) fn next(&mut self, time: Duration) -> Result<Option<HostReply>, ConnectionLost> {
        match self.answers.recv_timeout(time) {
            Ok(answer) => {
                let answer = answer?;
                self.silent = Duration::ZERO;
                match self.is_remote {
                    true => self.check_stop()?,
                    false => self.stopping = self.stopping.map(|_| Instant::now()),
                }
                if answer == HostReply::Heartbeat {
                    return Ok(None);
                }
                self.unanswered = Duration::ZERO;
                Ok(Some(answer))
            }
            Err(RecvTimeoutError::Timeout) => {
                self.check_stop()?;
                self.silent += time;
                self.unanswered += time;
                if !self.is_remote {
                    return Ok(None);
                }
                if self.silent > HEARTBEAT_INTERVAL * MAX_MISSED_HEARTBEATS {
                    let silent = self.silent.as_secs();
                    return Err(connection_lost(&format!("no answer for {silent} s")));
                }
                if self.unanswered > self.answer_timeout {
                    let unanswered = Nanos::from(self.unanswered);
                    let reason = format!("it lives, but did not answer for {unanswered}");
                    return Err(connection_lost(&reason));
                }
                Ok(None)
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
        other: &mut dyn FnMut(HostReply),
    ) -> anyhow::Result<HostReply> {
        loop {
            if self.is_stopped() {
                self.stop()?;
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
                    self.send(HostRequest::ConfirmErase)?;
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

    /// Returns true if the agent ends within this time, which a stop request of the user shortens.
    fn ends_within(&mut self, time: Duration) -> bool {
        let (start, mut stopped) = (Instant::now(), None);
        while matches!(self.agent.try_wait(), Ok(None)) {
            if self.is_stopped() {
                stopped.get_or_insert_with(Instant::now);
            }
            let is_over = stopped.is_some_and(|since: Instant| since.elapsed() > KILL_TIMEOUT);
            if is_over || start.elapsed() > time {
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
        self.requests = None;
        let timeout = match (self.killed, self.stopping) {
            (false, None) => CLEANUP_TIMEOUT,
            _ => KILL_TIMEOUT,
        };
        if !self.ends_within(timeout) {
            let _ = self.agent.kill();
            self.ends_within(KILL_TIMEOUT);
        }
    }
}

/// Starts a thread that ends by itself.
///
/// # Errors
/// Returns an error if the limit on processes is reached.
pub(crate) fn start_thread(work: impl FnOnce() + Send + 'static) -> Result<(), EnvironmentError> {
    let started = thread::Builder::new().spawn(work);
    started.map(drop).map_err(|error| error::not_started("a thread", &error))
}

/// Reads answers until the input ends, the receiver is dropped, or a line is not an answer.
fn read(answers: BoundedLines<impl BufRead>, say: &SyncSender<Result<HostReply, ConnectionLost>>) {
    for line in answers {
        let answer = line.and_then(|line| Ok(shortened(serde_json::from_slice(&line)?)));
        let answer = answer.map_err(|error| connection_lost(&format!("no answer: {error}")));
        let is_last = answer.is_err();
        if say.send(answer).is_err() || is_last {
            return;
        }
    }
}

/// Shortens the text of an answer that is shown to the user.
fn shortened(answer: HostReply) -> HostReply {
    let short = |text: &str| error::shorten(text, MAX_MESSAGE_LENGTH);
    match answer {
        HostReply::Note(text) => HostReply::Note(short(&text)),
        HostReply::Failed { kind, reason } => HostReply::Failed { kind, reason: short(&reason) },
        HostReply::ConfirmErase { device, description, content } => HostReply::ConfirmErase {
            device,
            description: short(&description),
            content: short(&content),
        },
        other => other,
    }
}

/// Writes requests until the connection is dropped or the agent has ended. Sends heartbeats to an
/// agent on another machine in between.
fn write(mut to: ChildStdin, requests: &Receiver<HostRequest>, is_remote: bool) {
    loop {
        let request = match requests.recv_timeout(HEARTBEAT_INTERVAL) {
            Ok(request) => request,
            Err(RecvTimeoutError::Timeout) if is_remote => HostRequest::Heartbeat,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if to.write_all(request.to_line().as_bytes()).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use model::wire::machine::FailureKind;

    use super::*;

    /// Answers that arrive before the connection is lost, and the reason for the loss.
    fn answers(input: impl Read) -> (Vec<HostReply>, Option<String>) {
        // The channel holds the whole flood: the test receives after the reader has ended.
        let (say, heard) = mpsc::sync_channel(2 * bounded::BURST as usize + 1);
        read(bounded::lines(BufReader::new(input), REPLY_LIMITS), &say);
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

    /// An agent that sends this line and then neither ends nor reads its input.
    struct Stubborn(String);

    impl AgentTransport for Stubborn {
        fn command(&self) -> anyhow::Result<Command> {
            let mut command = Command::new("sh");
            command.args(["-c", "printf %s \"$0\"; exec sleep 1000", &self.0]);
            Ok(command)
        }

        fn name(&self) -> String {
            "far".to_owned()
        }

        fn is_remote(&self) -> bool {
            true
        }
    }

    /// Maximum time to end an agent: less than an agent has for its cleanup.
    const SOON: Duration = Duration::from_secs(10);

    #[test]
    fn an_agent_with_a_wrong_greeting_is_killed_at_once() {
        let hello =
            |version| format!("{{\"answer\":\"hello\",\"with\":{{\"version\":{version}}}}}\n");
        for (greeting, told) in [
            (hello("4294967295"), "the agent of far speaks version 4294967295"),
            (hello("-1e999"), "the agent of far did not start: no answer: "),
            ("[".repeat(100_000) + "\n", "the agent of far did not start: no answer: "),
        ] {
            let start = Instant::now();
            let refused = AgentConnection::open(&Stubborn(greeting), &StopFlag::default());
            let refused = refused.map(drop).unwrap_err().to_string();
            assert!(refused.starts_with(told) && refused.len() < 500, "{refused}");
            assert!(start.elapsed() < SOON, "{told}");
        }
    }

    #[test]
    fn the_wait_for_the_cleanup_of_an_agent_ends_with_a_stop_request() {
        let hello = HostReply::Hello { version: model::wire::VERSION }.to_line();
        let stop = StopFlag::default();
        let connection = AgentConnection::open(&Stubborn(hello), &stop).unwrap();
        let start = Instant::now();
        let stopper = thread::spawn(move || {
            thread::sleep(STOP_POLL_INTERVAL);
            stop.store(true, Ordering::Relaxed);
        });
        drop(connection);
        stopper.join().unwrap();
        assert!(start.elapsed() < SOON);
    }

    /// An agent that greets and then sends only heartbeats.
    struct OnlyHeartbeats;

    impl AgentTransport for OnlyHeartbeats {
        fn command(&self) -> anyhow::Result<Command> {
            let hello = HostReply::Hello { version: model::wire::VERSION }.to_line();
            let heartbeat = HostReply::Heartbeat.to_line();
            let script = "printf %s \"$1$0\"; while printf %s \"$1\"; do sleep 0.1; done";
            let mut command = Command::new("sh");
            command.args(["-c", script, &hello, &heartbeat]).stderr(Stdio::null());
            Ok(command)
        }

        fn name(&self) -> String {
            "far".to_owned()
        }

        fn is_remote(&self) -> bool {
            true
        }
    }

    #[test]
    fn a_host_that_only_sends_heartbeats_is_lost() {
        let stop = StopFlag::default();
        let mut connection = AgentConnection::open(&OnlyHeartbeats, &stop).unwrap();
        connection.send(HostRequest::CleanUp).unwrap();
        connection.answer_timeout = Duration::from_millis(300);
        let lost = loop {
            match connection.next(STOP_POLL_INTERVAL) {
                Ok(answer) => assert_eq!(answer, None),
                Err(lost) => break lost.to_string(),
            }
        };
        assert!(lost.contains("it lives, but did not answer for 3"), "{lost}");
        connection.abandon();
    }

    #[test]
    fn a_line_without_an_end_ends_the_connection_with_the_reason() {
        let input = HostReply::Cleared.to_line().into_bytes();
        let (said, lost) = answers(input.chain(io::repeat(b' ')));
        assert_eq!(said, [HostReply::Cleared]);
        assert_eq!(lost.as_deref(), Some("no answer: a line is longer than 64 MiB"));
    }

    #[test]
    fn long_texts_of_a_host_are_shortened() {
        let (kind, reason) = (FailureKind::Internal, "x".repeat(100_000));
        let lines = [HostReply::Note(reason.clone()), HostReply::Failed { kind, reason }];
        let lines: String = lines.iter().map(HostReply::to_line).collect();
        for answer in answers(lines.as_bytes()).0 {
            assert!(answer.to_line().len() < 2 * MAX_MESSAGE_LENGTH);
        }
    }

    #[test]
    fn a_flood_of_answers_ends_the_connection_with_the_reason() {
        let line = HostReply::Heartbeat.to_line();
        let flood = line.repeat(2 * bounded::BURST as usize);
        let (said, lost) = answers(flood.as_bytes());
        assert!(said.len() >= bounded::BURST as usize);
        assert_eq!(lost.as_deref(), Some("no answer: it has more than 100 lines per second"));
    }

    #[test]
    fn a_line_that_is_no_answer_ends_the_connection_with_the_reason() {
        let input = format!("{}Welcome!\n", HostReply::Heartbeat.to_line());
        let (said, lost) = answers(input.as_bytes());
        assert_eq!(said, [HostReply::Heartbeat]);
        assert!(lost.unwrap().starts_with("no answer: expected value at line 1 column 1"));
    }
}
