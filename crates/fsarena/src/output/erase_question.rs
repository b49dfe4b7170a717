//! Asks the user at the terminal before a device with data is erased. Without a terminal, the
//! confirmation on the command line suffices.

use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use backend::{EraseRequest, UserPrompt};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::read;

use crate::output::exit::{EnvironmentError, UserInterrupt};
use crate::output::progress::ProgressDisplay;
use crate::output::text::line;

/// Interval between checks for Ctrl-C, in milliseconds.
const STOP_POLL_INTERVAL_MS: u16 = 100;
/// Maximum length of an answer, in bytes: longer than any path.
const MAX_ANSWER_SIZE: usize = 4096;

/// Data that the user allows to erase.
#[derive(Clone, Debug, Default)]
pub struct EraseConsent {
    /// Device that the user named a second time to confirm that its data may be lost.
    pub erase: Option<PathBuf>,
    /// Whether to skip the question.
    pub yes: bool,
}

/// The user at the terminal, or the program that reads the messages instead.
pub struct EraseConfirmation<'a> {
    /// Destination of notes.
    pub progress: &'a ProgressDisplay,
    /// Whether to skip the question.
    pub yes: bool,
    /// Set to true when the user asks to stop.
    pub stop: &'a AtomicBool,
}

impl UserPrompt for EraseConfirmation<'_> {
    fn note(&self, text: &str) {
        self.progress.note(text);
    }

    fn image_progress(&self, done: u64, total: u64) {
        self.progress.preparing(done, total);
    }

    fn confirm_erase(&self, erased: &EraseRequest<'_>) -> anyhow::Result<()> {
        let content = line(erased.content);
        // A user with redirected messages can still answer.
        if io::stdin().is_terminal() && !self.yes {
            return self.progress.suspend(|| ask(erased, &content, self.stop));
        }
        let path = line(&erased.device.to_string_lossy());
        self.progress.note(&format!("{path} holds {content}; this campaign erases it (--erase)"));
        Ok(())
    }
}

fn ask(erased: &EraseRequest<'_>, content: &str, stop: &AtomicBool) -> anyhow::Result<()> {
    let name = erased.device.file_name().unwrap_or_default().to_string_lossy();
    let terminal = OpenOptions::new().write(true).open("/dev/tty");
    let mut terminal = terminal.map_or_else(
        |_| -> Box<dyn Write> { Box::new(io::stderr()) },
        |terminal| Box::new(terminal),
    );
    write!(
        terminal,
        "{} holds {}. All of it will be lost.\nType `{}` to erase it: ",
        line(erased.description),
        content,
        line(&name),
    )?;
    terminal.flush()?;
    let answer = answer(stop)?;
    if answer.trim() == name || Path::new(answer.trim()) == erased.device {
        return Ok(());
    }
    Err(EnvironmentError(format!(
        "nothing was erased: confirm by typing `{}` (or use -y to skip the question)",
        line(&name)
    ))
    .into())
}

/// Reads a line from the user at the terminal.
pub fn answer(stop: &AtomicBool) -> anyhow::Result<String> {
    let input = io::stdin();
    let (mut answer, mut piece) = (Vec::new(), [0; 256]);
    while !answer.contains(&b'\n') && answer.len() < MAX_ANSWER_SIZE {
        if stop.load(Ordering::Relaxed) {
            return Err(UserInterrupt.into());
        }
        let mut wait = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
        match poll(&mut wait, PollTimeout::from(STOP_POLL_INTERVAL_MS)) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => {}
            // Read without a buffer, and not for a whole line, which may never end.
            Ok(_) => match read(&input, &mut piece)? {
                0 => break,
                length => answer.extend_from_slice(&piece[..length]),
            },
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
    // The input may end together with a signal, as that of a terminal that is closed.
    if stop.load(Ordering::Relaxed) {
        return Err(UserInterrupt.into());
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
