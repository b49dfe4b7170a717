//! The agent of a machine: executes the requests of an orchestrator on the same host or a remote
//! one. Removes everything it created when the orchestrator disconnects.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use campaign::run::{CellBackend as _, CellUpdate, StopFlag};
use model::wire::machine::{
    FailureKind, HEARTBEAT_INTERVAL, HostCapabilities, HostReply, HostRequest,
    MAX_MISSED_HEARTBEATS, MAX_REQUEST_SIZE, MountedDirectory,
};
use model::{BackendKind, Bytes, Campaign};
use storage::{DeviceRefusal, HostInfo};
use sys::fs::safe_path::SafeDir;
use sys::io::bounded::{self, StreamLimits};
use sys::mount::mounts;

use crate::compatibility::Incompatibilities;
use crate::error::{self, UsageError, UserInterrupt, not_utf8};
use crate::host::held::{self, AcquiredResources};
use crate::host::local::LocalBackend;
use crate::remote::connection::{STOP_POLL_INTERVAL, start_thread};
use crate::remote::measure;
use crate::remote::user_prompt::{EraseRequest, UserPrompt};
use crate::{archives, source, stale_directories};

/// Limits of the requests of the orchestrator, which is trusted.
const REQUEST_LIMITS: StreamLimits =
    StreamLimits { line: MAX_REQUEST_SIZE, total: Bytes(u64::MAX), lines_per_second: None };

/// Minimum interval between reports of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Answers requests on standard input until it closes or heartbeats are missing for too long.
///
/// # Errors
/// Returns an error if a thread cannot be started or files cannot be removed.
pub fn serve(stop: &StopFlag) -> anyhow::Result<ExitCode> {
    let out = Out(Arc::new(Mutex::new(io::stdout())));
    let requests = match listen(stop, &out) {
        Ok(requests) => requests,
        // The orchestrator reports it.
        Err(error) => {
            out.fail(&error);
            return Ok(ExitCode::SUCCESS);
        }
    };
    out.say(&HostReply::Hello { version: model::wire::VERSION });
    let mut agent = Agent {
        stop: Arc::clone(stop),
        out,
        requests,
        campaign: None,
        held: None,
        local: None,
        told: Cell::default(),
    };
    while let Ok(request) = agent.requests.recv() {
        if let Err(error) = agent.answer(request) {
            agent.out.fail(&error);
        }
    }
    // The connection is closed, but the files created must still be removed.
    agent.clear()?;
    Ok(ExitCode::SUCCESS)
}

/// Standard output, from any thread, one line at a time.
#[derive(Clone)]
struct Out(Arc<Mutex<io::Stdout>>);

impl Out {
    fn say(&self, answer: &HostReply) {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A failed write means that the peer has gone; reading notices that.
        let _ = out.write_all(answer.to_line().as_bytes()).and_then(|()| out.flush());
    }

    fn fail(&self, error: &anyhow::Error) {
        let reason = error::error_chain(error);
        self.say(&HostReply::Failed { kind: error::kind(error), reason });
    }
}

/// Reads requests in a separate thread, so that a stop request takes effect at once. The channel
/// closes when the peer closes its end.
fn listen(stop: &StopFlag, out: &Out) -> anyhow::Result<Receiver<HostRequest>> {
    let (say, requests) = mpsc::channel();
    let (lines, arrived) = mpsc::channel();
    let (stop, out, errors) = (Arc::clone(stop), out.clone(), out.clone());
    let read = move || read(io::stdin().lock(), &lines, |error| errors.say(&error));
    start_thread(read)?;
    start_thread(move || pass_on(&arrived, &stop, &say, &out))?;
    Ok(requests)
}

/// Reads requests until the input ends, the receiver is dropped, or a line is not a request, which
/// is answered with an error.
fn read(input: impl BufRead, lines: &Sender<HostRequest>, error: impl Fn(HostReply)) {
    for line in bounded::lines(input, REQUEST_LIMITS) {
        match line.and_then(|line| Ok(serde_json::from_slice(&line)?)) {
            Ok(request) => {
                if lines.send(request).is_err() {
                    return;
                }
            }
            Err(why) => {
                let reason = format!("cannot read a request: {why}");
                return error(HostReply::Failed { kind: FailureKind::Internal, reason });
            }
        }
    }
}

/// Forwards requests until the peer has gone, and sets the stop flag then.
///
/// A peer that sends heartbeats is connected through a network, which may break silently. Silence
/// is counted in missing heartbeats, so that a suspended machine does not count as disconnected.
fn pass_on(arrived: &Receiver<HostRequest>, stop: &StopFlag, say: &Sender<HostRequest>, out: &Out) {
    let (mut pulsing, mut missing) = (false, 0);
    while missing <= MAX_MISSED_HEARTBEATS {
        match arrived.recv_timeout(HEARTBEAT_INTERVAL) {
            Ok(HostRequest::Heartbeat) => {
                (pulsing, missing) = (true, 0);
                out.say(&HostReply::Heartbeat);
            }
            Ok(HostRequest::Stop) => stop.store(true, Ordering::Relaxed),
            Ok(request) => {
                missing = 0;
                if say.send(request).is_err() {
                    return;
                }
            }
            Err(RecvTimeoutError::Timeout) => missing += u32::from(pulsing),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    stop.store(true, Ordering::Relaxed);
}

/// Number of further attempts to claim a device in use, and the pause between them.
const MAX_RETRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);

/// Claims resources. Retries while they are in use, unless the user asks to stop.
fn retry<T>(
    mut retries: u32,
    stop: &StopFlag,
    mut claim: impl FnMut() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    loop {
        match claim() {
            Err(error) if retries > 0 && is_in_use(&error) => retries -= 1,
            other => return other,
        }
        if stop.load(Ordering::Relaxed) {
            return Err(UserInterrupt.into());
        }
        thread::sleep(PAUSE);
    }
}

fn is_in_use(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(
            DeviceRefusal::Locked { .. }
                | DeviceRefusal::OpenElsewhere { .. }
                | DeviceRefusal::Mounted { .. }
                | DeviceRefusal::Backing { .. }
                | DeviceRefusal::Busy { .. }
        )
    )
}

/// The agent of a machine, with the state of its campaign.
struct Agent {
    stop: StopFlag,
    out: Out,
    requests: Receiver<HostRequest>,
    campaign: Option<Box<Campaign>>,
    held: Option<AcquiredResources>,
    local: Option<LocalBackend>,
    /// Time of the last report of progress.
    told: Cell<Option<Instant>>,
}

impl Agent {
    fn answer(&mut self, request: HostRequest) -> anyhow::Result<()> {
        match request {
            HostRequest::Inspect { programs, device, directories } => {
                let facts = facts(programs, device.as_deref(), &directories);
                self.out.say(&HostReply::Inspected(Box::new(facts)));
            }
            HostRequest::ScanSource(survey) => {
                let source = source::survey(&survey, &self.stop)?;
                self.out.say(&HostReply::SourceScanned(Box::new(source)));
            }
            HostRequest::FetchArchives(wanted) => {
                let say = &mut |text: &str| self.note(text);
                let held = archives::fetch_local(&wanted, &self.stop, say)?;
                self.out.say(&HostReply::Archives(held));
            }
            HostRequest::Measure(what) => {
                let taken = measure::measure(&what, self, &self.stop)?;
                self.out.say(&HostReply::Calibrated(Some(Box::new(taken))));
            }
            HostRequest::FindStale { places } => {
                self.out.say(&HostReply::StaleDirectories(stale_directories::find_stale(&places)));
            }
            HostRequest::RemoveStale { directory, campaign } => {
                let campaign = campaign.as_ref().map(|(id, campaign)| (*id, &**campaign));
                stale_directories::remove(&directory, campaign)?;
                self.out.say(&HostReply::Cleared);
            }
            HostRequest::Acquire { campaign, erase, again } => {
                require_kernel(&campaign)?;
                let held = self.hold(&campaign, erase.as_deref(), again)?;
                let size = held.device.as_ref().map(storage::ExclusiveDevice::size);
                let misfits = match again {
                    true => Vec::new(),
                    false => {
                        let misfits = Incompatibilities::of(&campaign, size)?;
                        held::check_work_dir(&campaign)?;
                        misfits.lines().collect()
                    }
                };
                let disk = held.device.as_ref().and_then(|device| device.identity().cloned());
                (self.held, self.campaign) = (Some(held), Some(campaign));
                self.out.say(&HostReply::Acquired { disk, misfits });
            }
            HostRequest::Prepare { id } => {
                let held = self.held.take().context("nothing is held")?;
                let campaign = self.campaign.as_ref().context("there is no campaign")?;
                let mut local = LocalBackend::kernel(id, campaign, held, self, &self.stop)?;
                let environment = Box::new(local.environment()?);
                self.forward(&mut local)?;
                self.local = Some(local);
                self.out.say(&HostReply::Prepared(environment));
            }
            HostRequest::Calibrate => {
                let taken = self.local()?.calibrate()?.map(Box::new);
                self.out.say(&HostReply::Calibrated(taken));
            }
            HostRequest::Start { cell, test } => self.local()?.start(&cell, &test),
            HostRequest::Order(order) => self.local()?.send_order(&order),
            HostRequest::CleanUp => {
                self.clear()?;
                self.out.say(&HostReply::Cleared);
            }
            // Handled on arrival; ignored if late.
            HostRequest::Stop | HostRequest::Heartbeat | HostRequest::ConfirmErase => {}
        }
        Ok(())
    }

    /// Claims the resources of a campaign. After a reconnect, retries while the previous agent
    /// releases them.
    fn hold(
        &self,
        campaign: &Campaign,
        erase: Option<&Path>,
        again: bool,
    ) -> anyhow::Result<AcquiredResources> {
        let retries = if again { MAX_RETRIES } else { 0 };
        retry(retries, &self.stop, || AcquiredResources::acquire(campaign, erase, self))
    }

    fn local(&mut self) -> anyhow::Result<&mut LocalBackend> {
        self.local.as_mut().context("nothing is prepared")
    }

    /// Forwards news of cells from a separate thread until the backend is dropped.
    fn forward(&self, local: &mut LocalBackend) -> anyhow::Result<()> {
        let (news, out) = (local.take_updates(), self.out.clone());
        let forward = move || {
            for news in news {
                out.say(&answer(news));
            }
        };
        start_thread(forward)?;
        Ok(())
    }

    fn clear(&mut self) -> anyhow::Result<()> {
        self.held = None;
        self.local.take().map_or(Ok(()), LocalBackend::clear)
    }
}

fn facts(
    programs: BTreeSet<String>,
    device: Option<&Path>,
    directories: &[PathBuf],
) -> HostCapabilities {
    let machine = HostInfo::inspect();
    let is_there = |program: &String| machine.programs.have(program);
    let is_block = |path: &Path| fs::metadata(path).is_ok_and(|m| m.file_type().is_block_device());
    HostCapabilities {
        programs: programs.into_iter().filter(is_there).collect(),
        is_block_device: device.is_some_and(is_block),
        directories: directories.iter().map(|path| mounted(path)).collect(),
        root: machine.root,
        kernel: machine.kernel,
        filesystems: machine.filesystems,
        modules: machine.modules,
        loads_modules: machine.loads_modules,
        loop_control: machine.loop_control,
        loop_driver: machine.loop_driver,
        fuse_device: machine.fuse_device,
        available_memory: machine.available_memory,
    }
}

/// Checks a directory for the `dir` backend. Returns the reason if it cannot compete.
fn mounted(path: &Path) -> Result<MountedDirectory, String> {
    let found = SafeDir::open_shared(path).map_err(|error| error.to_string())?;
    let found = found.path().to_owned();
    match found.to_str() {
        Some(_) => Ok(MountedDirectory { filesystem: mounts::fs_type_of(&found), path: found }),
        None => Err(not_utf8("--dir", &found)),
    }
}

/// Refuses campaigns with guests, which must run on the host of the orchestrator.
fn require_kernel(campaign: &Campaign) -> Result<(), UsageError> {
    match campaign.backend {
        BackendKind::Loop | BackendKind::Dir => Ok(()),
        BackendKind::Imported => {
            Err(UsageError("cannot run the campaign: it was measured by another program".into()))
        }
        BackendKind::Vm => Err(UsageError(
            "guests run on the machine of the orchestrator: leave --host out".into(),
        )),
    }
}

fn answer(news: CellUpdate) -> HostReply {
    match news {
        CellUpdate::Event(cell, event) => HostReply::Event { cell, event },
        CellUpdate::Finished(cell, result) => HostReply::Ended { cell, result },
        CellUpdate::Aborted(cell, stopped) => HostReply::Stopped { cell, stopped },
        CellUpdate::ConnectionLost(cell, reason) => {
            HostReply::Stopped { cell, stopped: model::wire::AbortReason::EnvironmentFault(reason) }
        }
        CellUpdate::Note(text) => HostReply::Note(text),
    }
}

impl UserPrompt for Agent {
    fn note(&self, text: &str) {
        self.out.say(&HostReply::Note(text.to_owned()));
    }

    fn image_progress(&self, done: u64, total: u64) {
        let now = Instant::now();
        let is_due = |last: Instant| now.duration_since(last) >= PROGRESS_INTERVAL;
        if done < total && !self.told.get().is_none_or(is_due) {
            return;
        }
        self.told.set(Some(now));
        self.out.say(&HostReply::Preparing { done, total });
    }

    fn confirm_erase(&self, erased: &EraseRequest<'_>) -> anyhow::Result<()> {
        self.out.say(&HostReply::ConfirmErase {
            device: erased.device.to_owned(),
            description: erased.description.to_owned(),
            content: erased.content.to_owned(),
        });
        // A request to stop sets only the flag.
        while !self.stop.load(Ordering::Relaxed) {
            match self.requests.recv_timeout(STOP_POLL_INTERVAL) {
                Ok(HostRequest::ConfirmErase) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
                _ => break,
            }
        }
        Err(UserInterrupt.into())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn in_use() -> anyhow::Error {
        DeviceRefusal::Busy { path: "/dev/x".into() }.into()
    }

    #[test]
    fn a_stop_request_ends_the_retries() {
        let (stop, mut claims) = (StopFlag::default(), 0);
        let outcome: anyhow::Result<()> = retry(MAX_RETRIES, &stop, || {
            claims += 1;
            stop.store(true, Ordering::Relaxed);
            Err(in_use())
        });
        assert!(outcome.unwrap_err().is::<UserInterrupt>());
        assert_eq!(claims, 1);
    }

    #[test]
    fn a_claim_is_retried_only_while_the_device_is_in_use() {
        let stop = StopFlag::default();
        let mut outcomes = vec![Ok(7), Err(in_use())];
        assert_eq!(retry(1, &stop, || outcomes.pop().unwrap()).unwrap(), 7);
        let mut claims = 0;
        let outcome: anyhow::Result<()> = retry(MAX_RETRIES, &stop, || {
            claims += 1;
            Err(anyhow::anyhow!("another error"))
        });
        assert_eq!((outcome.unwrap_err().to_string().as_str(), claims), ("another error", 1));
    }

    #[test]
    fn a_line_that_is_no_request_is_answered_and_ends_the_requests() {
        let (lines, requests) = mpsc::channel();
        let answers = RefCell::new(Vec::new());
        let input = format!("{}GET / HTTP/1.1\n", HostRequest::CleanUp.to_line());
        read(input.as_bytes(), &lines, |answer| answers.borrow_mut().push(answer));
        drop(lines);
        assert_eq!(requests.iter().collect::<Vec<_>>(), [HostRequest::CleanUp]);
        let [HostReply::Failed { reason, .. }] = &answers.take()[..] else { panic!("one answer") };
        assert!(reason.starts_with("cannot read a request: expected value"), "{reason}");
    }

    #[test]
    fn a_stop_request_ends_the_question_about_a_device() {
        let (_say, requests) = mpsc::channel();
        let stop = StopFlag::default();
        stop.store(true, Ordering::Relaxed);
        let out = Out(Arc::new(Mutex::new(io::stdout())));
        let told = Cell::default();
        let agent = Agent { stop, out, requests, campaign: None, held: None, local: None, told };
        let erased =
            EraseRequest { device: Path::new("/dev/x"), description: "a disk", content: "ext4" };
        assert!(agent.confirm_erase(&erased).unwrap_err().is::<UserInterrupt>());
    }
}
