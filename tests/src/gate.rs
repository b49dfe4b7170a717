//! A contender that waits, so that a test can do something at a known moment of a campaign.

use std::fs::{File, OpenOptions};
use std::path::PathBuf;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::Sandbox;

/// A contender in memory, called `gate`, whose mount begins only when the test lets it.
#[derive(Debug)]
pub struct Gate {
    pipe: PathBuf,
}

impl Gate {
    /// Adds it to the sandbox's catalog.
    ///
    /// # Panics
    /// When it cannot be made.
    pub fn new(sandbox: &Sandbox) -> Self {
        let pipe = sandbox.path("gate");
        mkfifo(&pipe, Mode::S_IRUSR | Mode::S_IWUSR).expect("a sandbox is writable");
        let script = format!(
            "cat {} && mount -t tmpfs -o \"$1\" none \"$2\"",
            pipe.display()
        );
        let entry = format!(
            "name = \"gate\"\ntitle = \"gate\"\nbaseline = true\ndriver = \"kernel\"\n\
             source = \"made for a test\"\n[requires]\nkernel = \"tmpfs\"\nprograms = [\"cat\"]\n\
             smallest = \"1 MiB\"\n[commands]\n\
             mount = [\"sh\", \"-c\", '{script}', \"sh\", \"{{options}}\", \"{{mountpoint}}\"]\n"
        );
        let file = sandbox.path("catalog/filesystems/gate.toml");
        std::fs::write(file, entry).expect("a sandbox is writable");
        Self { pipe }
    }

    /// Waits until the contender waits.
    ///
    /// # Panics
    /// When the pipe cannot be opened.
    pub fn reached(self) -> BlockedContender {
        let pipe = OpenOptions::new().write(true).open(&self.pipe);
        BlockedContender {
            _pipe: pipe.expect("the pipe exists"),
            path: self.pipe,
        }
    }
}

/// A contender that waits.
#[derive(Debug)]
pub struct BlockedContender {
    _pipe: File,
    path: PathBuf,
}

impl BlockedContender {
    /// Lets the contender continue. It never waits again.
    ///
    /// # Panics
    /// Panics if the gate cannot be opened permanently.
    pub fn release(self) {
        std::fs::remove_file(&self.path).expect("the pipe exists");
        std::fs::write(&self.path, "").expect("a sandbox is writable");
    }
}
