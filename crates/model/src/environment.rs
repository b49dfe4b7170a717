//! What a campaign ran on.

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// The machine and the tools, as found when a session of a campaign began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Version of fsarena.
    pub program: String,
    /// `uname`: system, release, version, machine.
    pub kernel: String,
    /// The distribution, from `/etc/os-release`.
    pub distribution: String,
    /// Model of the processor.
    pub cpu: String,
    /// Processors that may be used.
    pub cpus: u32,
    /// Main memory.
    pub memory: Bytes,
    /// What the contenders were put on: image or device, and what lies below.
    pub device: String,
    /// How the image was attached and what that means for caching.
    pub attachment: String,
    /// The clock that times are in: `real time`.
    pub clock: String,
    /// Versions of the filesystems' tools.
    pub tools: Vec<Tool>,
}

/// A program of a filesystem and its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// The program.
    pub program: String,
    /// What it says of its version, one line.
    pub version: String,
}
