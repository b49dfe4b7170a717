//! The commands, a file each.

pub mod advise;
pub mod agent;
pub mod agree;
pub mod calibrate;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod explain;
pub mod format;
pub mod guard;
pub mod guest;
pub mod history;
pub mod journal;
pub mod list;
pub mod man;
pub mod replay;
pub mod report;
pub mod resume;
pub mod run;
pub mod selftest;
pub mod shell;
pub mod show;
pub mod trace;
pub mod trace_make;
pub mod trace_record;
pub mod validate;
