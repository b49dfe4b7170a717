//! Messages of a cell that several hosts run together, each with some of the threads of every phase.
//!
//! Each agent reports a [`RankReport`] as an event and waits for the [`RankOrder`] that answers it:
//! a line of JSON on its standard input. The orchestrator answers when all hosts have reported.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::wire::line;

/// Place of a host among those that run a cell together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRank {
    /// Number of the host, from 0. The cell works in the directory of the first host.
    pub number: u32,
    /// Number of hosts.
    pub hosts: u32,
}

/// Report of the agent of one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RankReport {
    /// The cell is prepared, in this directory.
    Prepared(PathBuf),
    /// A phase is prepared, up to its first system call.
    Ready,
    /// The threads of this host have finished the phase.
    Finished {
        /// Number of its first thread.
        first: u32,
        /// Operations of each of its threads.
        operations: Vec<u64>,
    },
}

/// Answer of the orchestrator, when all hosts have sent the same report, or cannot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RankOrder {
    /// Work in this directory.
    Enter(PathBuf),
    /// Start the clock.
    Start,
    /// The first host has finished the phase. Needs no answer.
    FirstFinished,
    /// All hosts have finished: operations of each thread of the phase.
    Finished(Vec<u64>),
    /// The cell must end, for this reason.
    Abandon(String),
}

impl RankOrder {
    /// Formats the order as a line, including the line end.
    pub fn to_line(&self) -> String {
        line(self)
    }
}
