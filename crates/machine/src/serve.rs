//! The agent of a machine: does what an orchestrator asks for, here or at the other end of a connection, and removes
//! everything when that has gone.

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
use std::time::Duration;

use anyhow::Context;
use model::{Backend, Campaign};
use orchestrate::{Backend as _, News, Stop};
use provision::{Machine, Refusal};
use sys::mounts;
use wire::machine::{Answer, Facts, MISSING, MountedDirectory, PULSE, Request};

use crate::dialogue::{Dialogue, Erased};
use crate::error::{self, BadInput, Interruption, not_utf8};
use crate::fit::Misfits;
use crate::held::{self, Held};
use crate::local::Local;
use crate::{archives, leftovers, measure, source};

/// Answers requests on standard input until it closes, or the other side is silent for too long.
///
/// # Errors
/// When no thread can be started, or what was made cannot be removed.
pub fn serve(stop: &Stop) -> anyhow::Result<ExitCode> {
    let out = Out(Arc::new(Mutex::new(io::stdout())));
    out.say(&Answer::Hello {
        version: wire::VERSION,
    });
    let requests = listen(stop, &out)?;
    let mut agent = Agent {
        stop: Arc::clone(stop),
        out,
        requests,
        campaign: None,
        held: None,
        local: None,
    };
    while let Ok(request) = agent.requests.recv() {
        if let Err(error) = agent.answer(request) {
            agent.out.say(&Answer::Failed {
                kind: error::kind(&error),
                reason: error::whole(&error),
            });
        }
    }
    // Nobody listens any more, but what was made has to go.
    agent.clear()?;
    Ok(ExitCode::SUCCESS)
}

/// Standard output, from any thread, one line at a time.
#[derive(Clone)]
struct Out(Arc<Mutex<io::Stdout>>);

impl Out {
    fn say(&self, answer: &Answer) {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever does not listen has gone, which is noticed at the other end.
        let _ = out
            .write_all(answer.to_line().as_bytes())
            .and_then(|()| out.flush());
    }
}

/// Reads requests in a thread of its own, so that the user's wish to stop is heard at once. The channel ends with the
/// other side.
fn listen(stop: &Stop, out: &Out) -> anyhow::Result<Receiver<Request>> {
    let (say, requests) = mpsc::channel();
    let (lines, arrived) = mpsc::channel();
    thread::Builder::new()
        .spawn(move || read(&lines))
        .context("cannot start a thread")?;
    let (stop, out) = (Arc::clone(stop), out.clone());
    thread::Builder::new()
        .spawn(move || pass_on(&arrived, &stop, &say, &out))
        .context("cannot start a thread")?;
    Ok(requests)
}

fn read(lines: &Sender<Request>) {
    for line in io::stdin().lock().lines() {
        let request = line.ok().and_then(|line| serde_json::from_str(&line).ok());
        let Some(request) = request else { return };
        if lines.send(request).is_err() {
            return;
        }
    }
}

/// Passes requests on until the other side has gone; then everything that runs is stopped.
///
/// Whoever sends pulses is at the other end of a network, which may break without a word. Silence is counted in
/// pulses that are missing, so that a machine that was suspended has not been left.
fn pass_on(arrived: &Receiver<Request>, stop: &Stop, say: &Sender<Request>, out: &Out) {
    let (mut pulsing, mut missing) = (false, 0);
    while missing <= MISSING {
        match arrived.recv_timeout(PULSE) {
            Ok(Request::Pulse) => {
                (pulsing, missing) = (true, 0);
                out.say(&Answer::Pulse);
            }
            Ok(Request::Stop) => stop.store(true, Ordering::Relaxed),
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

/// How often, and after which pause, a device is tried again that somebody has.
const ATTEMPTS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(100);

fn is_in_use(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(
            Refusal::Locked { .. }
                | Refusal::Opened { .. }
                | Refusal::Mounted { .. }
                | Refusal::Backing { .. }
                | Refusal::Busy { .. }
        )
    )
}

/// A machine, and what it does for a campaign.
struct Agent {
    stop: Stop,
    out: Out,
    requests: Receiver<Request>,
    campaign: Option<Box<Campaign>>,
    held: Option<Held>,
    local: Option<Local>,
}

impl Agent {
    fn answer(&mut self, request: Request) -> anyhow::Result<()> {
        match request {
            Request::Look {
                programs,
                device,
                directories,
            } => {
                let facts = facts(programs, device.as_deref(), &directories);
                self.out.say(&Answer::Looked(Box::new(facts)));
            }
            Request::Survey(survey) => {
                let source = source::survey(&survey, &self.stop)?;
                self.out.say(&Answer::Surveyed(Box::new(source)));
            }
            Request::BringArchives(wanted) => {
                let say = &mut |text: &str| self.note(text);
                let held = archives::bring_here(&wanted, &self.stop, say)?;
                self.out.say(&Answer::Archives(held));
            }
            Request::Measure(what) => {
                let taken = measure::measure(&what, self, &self.stop)?;
                self.out.say(&Answer::Calibrated(Some(Box::new(taken))));
            }
            Request::FindLeft { places } => {
                self.out.say(&Answer::Left(leftovers::find(&places)));
            }
            Request::RemoveLeft {
                directory,
                campaign,
            } => {
                let campaign = campaign.as_ref().map(|(id, campaign)| (*id, &**campaign));
                leftovers::remove(&directory, campaign)?;
                self.out.say(&Answer::Cleared);
            }
            Request::Hold {
                campaign,
                erase,
                again,
            } => {
                require_kernel(&campaign)?;
                let held = self.hold(&campaign, erase.as_deref(), again)?;
                let size = held.device.as_ref().map(provision::HeldDevice::size);
                let misfits = match again {
                    true => Vec::new(),
                    false => {
                        let misfits = Misfits::of(&campaign, size)?;
                        held::inspect_place(&campaign)?;
                        misfits.lines().collect()
                    }
                };
                let disk = held
                    .device
                    .as_ref()
                    .and_then(|device| device.identity().cloned());
                (self.held, self.campaign) = (Some(held), Some(campaign));
                self.out.say(&Answer::Held { disk, misfits });
            }
            Request::Prepare { id } => {
                let held = self.held.take().context("nothing is held")?;
                let campaign = self.campaign.as_ref().context("there is no campaign")?;
                let mut local = Local::kernel(id, campaign, held, self, &self.stop)?;
                let environment = Box::new(local.environment()?);
                self.forward(&mut local)?;
                self.local = Some(local);
                self.out.say(&Answer::Prepared(environment));
            }
            Request::Calibrate => {
                let taken = self.local()?.calibrate()?.map(Box::new);
                self.out.say(&Answer::Calibrated(taken));
            }
            Request::Start { cell, test } => self.local()?.start(&cell, &test),
            Request::Clear => {
                self.clear()?;
                self.out.say(&Answer::Cleared);
            }
            // Heard where they come in, or too late.
            Request::Stop | Request::Pulse | Request::AllowErasing => {}
        }
        Ok(())
    }

    /// Takes what a campaign works on. Where it has run before, the agent that it had then may be about to let go.
    fn hold(&self, campaign: &Campaign, erase: Option<&Path>, again: bool) -> anyhow::Result<Held> {
        let mut tries = if again { ATTEMPTS } else { 0 };
        loop {
            match Held::take(campaign, erase, self) {
                Err(error) if tries > 0 && is_in_use(&error) => tries -= 1,
                other => return other,
            }
            thread::sleep(PAUSE);
        }
    }

    fn local(&mut self) -> anyhow::Result<&mut Local> {
        self.local.as_mut().context("nothing is prepared")
    }

    /// Says what is heard of cells, from a thread of its own, until the backend is dropped.
    fn forward(&self, local: &mut Local) -> anyhow::Result<()> {
        let (news, out) = (local.take_news(), self.out.clone());
        let forward = move || {
            for news in news {
                out.say(&answer(news));
            }
        };
        thread::Builder::new()
            .spawn(forward)
            .context("cannot start a thread")?;
        Ok(())
    }

    fn clear(&mut self) -> anyhow::Result<()> {
        self.held = None;
        self.local.take().map_or(Ok(()), Local::clear)
    }
}

fn facts(programs: BTreeSet<String>, device: Option<&Path>, directories: &[PathBuf]) -> Facts {
    let machine = Machine::look();
    let is_there = |program: &String| machine.programs.have(program);
    let is_block = |path: &Path| fs::metadata(path).is_ok_and(|m| m.file_type().is_block_device());
    Facts {
        programs: programs.into_iter().filter(is_there).collect(),
        is_block_device: device.is_some_and(is_block),
        directories: directories.iter().map(|path| mounted(path)).collect(),
        root: machine.root,
        kernel: machine.kernel,
        filesystems: machine.filesystems,
        modules: machine.modules,
        loads_modules: machine.loads_modules,
        loop_control: machine.loop_control,
        fuse_device: machine.fuse_device,
        available_memory: machine.available_memory,
    }
}

/// A directory that is to compete, or why it cannot.
fn mounted(path: &Path) -> Result<MountedDirectory, String> {
    let shown = path.display();
    let found = path
        .canonicalize()
        .map_err(|error| format!("{shown}: {error}"))?;
    if found.to_str().is_none() {
        return Err(not_utf8("--dir", &found));
    }
    match found.is_dir() {
        true => Ok(MountedDirectory {
            filesystem: mounts::kind_of(&found),
            path: found,
        }),
        false => Err(format!("{shown} is no directory")),
    }
}

/// Guests run where the orchestrator is.
fn require_kernel(campaign: &Campaign) -> Result<(), BadInput> {
    match campaign.backend {
        Backend::Loop | Backend::Dir => Ok(()),
        Backend::Elsewhere => Err(BadInput(
            "the campaign was measured elsewhere: there is nothing to run".into(),
        )),
        Backend::Vm => Err(BadInput(
            "guests run on the machine of the orchestrator: leave --host out".into(),
        )),
    }
}

fn answer(news: News) -> Answer {
    match news {
        News::Event(cell, event) => Answer::Event { cell, event },
        News::Ended(cell, result) => Answer::Ended { cell, result },
        News::Stopped(cell, stopped) => Answer::Stopped { cell, stopped },
        News::Lost(cell, reason) => Answer::Stopped {
            cell,
            stopped: wire::Stopped::Withdrawn(reason),
        },
        News::Note(text) => Answer::Note(text),
    }
}

impl Dialogue for Agent {
    fn note(&self, text: &str) {
        self.out.say(&Answer::Note(text.to_owned()));
    }

    fn preparing(&self, done: u64, total: u64) {
        self.out.say(&Answer::Preparing { done, total });
    }

    fn allow_erasing(&self, erased: &Erased<'_>) -> anyhow::Result<()> {
        self.out.say(&Answer::MayErase {
            device: erased.device.to_owned(),
            description: erased.description.to_owned(),
            content: erased.content.to_owned(),
        });
        match self.requests.recv() {
            Ok(Request::AllowErasing) => Ok(()),
            _ => Err(Interruption.into()),
        }
    }
}
