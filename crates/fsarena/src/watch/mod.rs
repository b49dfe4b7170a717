//! A campaign that runs, as it is drawn on a terminal: what is known of it, where that stands, and the terminal.

pub mod draw;
pub mod progress;
pub mod screen;
pub mod state;
