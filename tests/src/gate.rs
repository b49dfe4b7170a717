//! A contender that blocks, so that a test can act at a known moment of a campaign.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::Sandbox;

/// Timeout for a campaign to reach the gate.
const TIME_LIMIT: Duration = Duration::from_secs(600);
const MOUNT: &str = "mount -t tmpfs -o \"$1\" none \"$2\"";

/// A contender in memory, or a suite, that is named `gate` and waits for the test.
#[derive(Debug)]
pub struct Gate {
    pipe: PathBuf,
}

impl Gate {
    /// Adds a contender that waits before it is mounted.
    ///
    /// # Panics
    /// Panics if the catalog cannot be written.
    pub fn new(sandbox: &Sandbox) -> Self {
        let gate = Self::closed(sandbox);
        gate.add_contender(sandbox, &format!("cat {} && {MOUNT}", gate.pipe.display()));
        gate
    }

    /// Adds a contender that waits when it is mounted.
    ///
    /// # Panics
    /// Panics if the catalog cannot be written.
    pub fn when_mounted(sandbox: &Sandbox) -> Self {
        let gate = Self::closed(sandbox);
        gate.add_contender(sandbox, &format!("{MOUNT} && cat {}", gate.pipe.display()));
        gate
    }

    /// Adds a suite with one test that writes a file and then waits.
    ///
    /// # Panics
    /// Panics if the catalog cannot be written.
    pub fn in_a_test(sandbox: &Sandbox) -> Self {
        let gate = Self::closed(sandbox);
        let suite = format!(
            "name = \"gate\"\ntitle = \"Gate\"\nsource = \"made for a test\"\n[[test]]\nname = \"gate\"\n\
             rationale = \"Made for a test.\"\nspace = \"1 MiB\"\nphase = [\n\
             {{ name = \"write\", op = \"exec\", command = \"sh -c 'echo x >file'\" }},\n\
             {{ name = \"wait\", op = \"exec\", command = \"cat {}\" }},\n]\n",
            gate.pipe.display()
        );
        sandbox.add_suite("gate", &suite);
        gate
    }

    fn closed(sandbox: &Sandbox) -> Self {
        let pipe = sandbox.path("gate");
        mkfifo(&pipe, Mode::S_IRUSR | Mode::S_IWUSR).expect("a sandbox is writable");
        Self { pipe }
    }

    fn add_contender(&self, sandbox: &Sandbox, script: &str) {
        let entry = format!(
            "name = \"gate\"\ntitle = \"gate\"\nbaseline = true\ndriver = \"kernel\"\n\
             source = \"made for a test\"\n[requires]\nkernel = \"tmpfs\"\nprograms = [\"cat\"]\n\
             smallest = \"1 MiB\"\n[commands]\n\
             mount = [\"sh\", \"-c\", '{script}', \"sh\", \"{{options}}\", \"{{mountpoint}}\"]\n"
        );
        let file = sandbox.path("catalog/filesystems/gate.toml");
        fs::write(file, entry).expect("a sandbox is writable");
    }

    /// Waits until the campaign blocks at the gate.
    ///
    /// # Panics
    /// Panics if the campaign does not reach the gate within ten minutes.
    pub fn reached(&self) -> BlockedContender {
        let start = Instant::now();
        let mut options = OpenOptions::new();
        // Opening fails until the pipe has a reader.
        options.write(true).custom_flags(OFlag::O_NONBLOCK.bits());
        loop {
            match options.open(&self.pipe) {
                Ok(pipe) => {
                    return BlockedContender { _pipe: pipe, path: self.pipe.clone() };
                }
                Err(error) => assert!(
                    start.elapsed() < TIME_LIMIT,
                    "the campaign does not reach the gate: {error}"
                ),
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A blocked contender.
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
        fs::remove_file(&self.path).expect("the pipe exists");
        fs::write(&self.path, "").expect("a sandbox is writable");
    }
}
