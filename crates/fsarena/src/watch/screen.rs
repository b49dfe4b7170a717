//! Full-screen access to the terminal, which is always restored.

use std::io::{self, Stdout};
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use ratatui::layout::Rect;

use crate::watch::draw::{Scroll, draw};
use crate::watch::state::WatchState;

/// Input of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchKey {
    /// To leave.
    Leave,
    /// Scroll by this number of contenders and tests.
    Scroll(isize, isize),
    /// The size of the terminal changed.
    Resized,
}

/// The terminal.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes over the terminal. Its contents are restored at the end.
    ///
    /// # Errors
    /// Returns an error if the terminal cannot be used.
    pub fn enter() -> io::Result<Self> {
        enable_raw_mode()?;
        // From here on, an error restores the terminal.
        let undo = TerminalGuard;
        execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)?;
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        std::mem::forget(undo);
        Ok(Self { terminal })
    }

    /// Draws a state, and limits the scroll position to the available rows and columns.
    ///
    /// # Errors
    /// Returns an error if the terminal is closed.
    pub fn draw(&mut self, state: &WatchState, scroll: Scroll) -> io::Result<Scroll> {
        let mut area = Rect::default();
        self.terminal.draw(|frame| {
            area = frame.area();
            draw(state, scroll, area, frame.buffer_mut());
        })?;
        Ok(scroll.within(state, area))
    }

    /// Waits up to a given time for the next known key.
    ///
    /// # Errors
    /// Returns an error if the terminal is closed.
    pub fn key(&self, within: Duration) -> io::Result<Option<WatchKey>> {
        let begin = Instant::now();
        loop {
            let rest = within.saturating_sub(begin.elapsed());
            match event::poll(rest) {
                Ok(false) => return Ok(None),
                // A signal arrived; its flag is checked by the caller.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(None),
                other => other?,
            };
            if let Some(key) = meaning(&event::read()?) {
                return Ok(Some(key));
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        drop(TerminalGuard);
    }
}

/// Restores the terminal when dropped.
struct TerminalGuard;

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        // A closed terminal does not need to be restored.
        let _ = execute!(io::stdout(), LeaveAlternateScreen, cursor::Show);
        let _ = disable_raw_mode();
    }
}

fn meaning(event: &Event) -> Option<WatchKey> {
    /// Approximate number of contenders on a page.
    const PAGE: isize = 10;
    let key = match event {
        Event::Resize(..) => return Some(WatchKey::Resized),
        Event::Key(key) if key.kind != KeyEventKind::Release => key,
        _ => return None,
    };
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key {
        KeyEvent { code: KeyCode::Char('c' | 'd'), .. } if is_control => Some(WatchKey::Leave),
        _ => match key.code {
            KeyCode::Char('q' | 'Q') | KeyCode::Esc => Some(WatchKey::Leave),
            KeyCode::Up | KeyCode::Char('k') => Some(WatchKey::Scroll(-1, 0)),
            KeyCode::Down | KeyCode::Char('j') => Some(WatchKey::Scroll(1, 0)),
            KeyCode::Left | KeyCode::Char('h') => Some(WatchKey::Scroll(0, -1)),
            KeyCode::Right | KeyCode::Char('l') => Some(WatchKey::Scroll(0, 1)),
            KeyCode::PageUp => Some(WatchKey::Scroll(-PAGE, 0)),
            KeyCode::PageDown => Some(WatchKey::Scroll(PAGE, 0)),
            KeyCode::Home => Some(WatchKey::Scroll(isize::MIN, isize::MIN)),
            KeyCode::End => Some(WatchKey::Scroll(isize::MAX, 0)),
            _ => None,
        },
    }
}
