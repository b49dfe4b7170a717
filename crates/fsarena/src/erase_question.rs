//! Asks the person at the terminal before a device is erased that holds something; who is no person has said it
//! twice already.

use std::fs::OpenOptions;
use std::io::{self, BufRead, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use provision::{HeldDevice, describe_storage};

use crate::exit::{Interruption, Refused};
use crate::output::line;
use crate::progress::Progress;

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
    pub fn take(
        &self,
        path: &Path,
        progress: &Progress,
        stop: &AtomicBool,
    ) -> anyhow::Result<HeldDevice> {
        let device = HeldDevice::take(path, self.erase.as_deref())?;
        let Some(content) = device.erases() else {
            return Ok(device);
        };
        let content = line(content);
        // Whoever sends the messages elsewhere sits there all the same.
        if io::stdin().is_terminal() && !self.yes {
            progress.stand_aside(|| ask(&device, &content, stop))?;
        } else {
            let path = device.path().display();
            progress.note(&format!(
                "{path} held {content}, which is lost now (--erase)"
            ));
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
    let terminal = OpenOptions::new().write(true).open("/dev/tty");
    let mut terminal = terminal.map_or_else(
        |_| -> Box<dyn Write> { Box::new(io::stderr()) },
        |terminal| Box::new(terminal),
    );
    write!(
        terminal,
        "{} holds {}. All of it will be lost.\nType `{}` to erase it: ",
        line(&describe_storage(device.path())),
        content,
        line(&name),
    )?;
    terminal.flush()?;
    let answer = answer(stop)?;
    if answer.trim() == name || Path::new(answer.trim()) == device.path() {
        return Ok(());
    }
    Err(Refused(format!(
        "nothing was erased: that takes the word `{}` (or -y, with which nobody is asked)",
        line(&name)
    ))
    .into())
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
