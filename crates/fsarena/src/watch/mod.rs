//! Display of a running campaign on a terminal: its state, the layout, and the screen.

pub mod draw;
pub mod live;
pub mod progress;
pub mod screen;
pub mod state;
