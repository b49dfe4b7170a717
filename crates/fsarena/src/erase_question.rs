//! Asks the person at the terminal before a device is erased that holds something; who is no person has said it
//! twice already.

use std::io::{self, BufRead, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use provision::{HeldDevice, describe_storage};

use crate::exit::{Interruption, Refused};
use crate::output::line;

/// How often Ctrl-C is noticed, in milliseconds.
const ATTENTION: u16 = 100;

/// What the user gives up.
#[derive(Clone, Debug, Default)]
pub struct Consent {
    /// The device that the user has named a second time, to say that what it holds may be lost.
    pub erase: Option<PathBuf>,
    /// Whether nobody is to be asked.
    pub yes: bool,
}

impl Consent {
    /// Takes a device by the rules of safety, and asks before one is taken that holds something.
    ///
    /// # Errors
    /// When it is refused, or the person at the terminal says no.
    pub fn take(&self, path: &Path, stop: &AtomicBool) -> anyhow::Result<HeldDevice> {
        let device = HeldDevice::take(path, self.erase.as_deref())?;
        let is_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
        if let Some(content) = device.erases().filter(|_| is_terminal && !self.yes) {
            ask(&device, content, stop)?;
        }
        Ok(device)
    }
}

fn ask(device: &HeldDevice, content: &str, stop: &AtomicBool) -> anyhow::Result<()> {
    let name = device
        .path()
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let mut terminal = io::stderr();
    write!(
        terminal,
        "{} holds {}. All of it will be lost.\nType `{}` to erase it: ",
        line(&describe_storage(device.path())),
        line(content),
        line(&name),
    )?;
    terminal.flush()?;
    if answer(stop)?.trim() == name {
        return Ok(());
    }
    let path = device.path().display();
    Err(Refused(format!("nothing was erased: {path} was not confirmed")).into())
}

/// A line of the person at the terminal.
fn answer(stop: &AtomicBool) -> anyhow::Result<String> {
    let input = io::stdin();
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(Interruption.into());
        }
        let mut wait = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
        match poll(&mut wait, PollTimeout::from(ATTENTION)) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => {}
            Ok(_) => break,
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
    let mut answer = String::new();
    input.lock().read_line(&mut answer)?;
    Ok(answer)
}
