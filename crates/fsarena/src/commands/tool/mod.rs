//! `fsarena tool`: commands that most users need once.

pub mod agree;
pub mod calibrate;
pub mod completions;
pub mod format;
pub mod man;
pub mod site;
