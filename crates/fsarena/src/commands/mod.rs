//! One module for each command and for each group of commands.

pub mod advise;
pub mod agent;
pub mod changes;
pub mod cluster;
pub mod compare;
pub mod disk;
pub mod doctor;
pub mod explain;
pub mod guest;
pub mod history;
pub mod import;
pub mod list;
pub mod regression;
pub mod regression_search;
pub mod report;
pub mod resume;
pub mod run;
pub mod run_on_hosts;
pub mod show;
pub mod study;
pub mod tool;
pub mod trace;
pub mod watch;
