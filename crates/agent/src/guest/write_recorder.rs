//! The write log of a simulated disk, read from its driver.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};

use simdisk::write_log::WriteLog;

/// Device file of the write log.
const WRITES: &str = "/dev/fsarena_writes";
/// Size of the log. What is read makes room again.
const ROOM: u64 = 64 << 20;
/// Maximum bytes per read.
const PIECE: usize = 1 << 20;

/// Recorder of all writes to the simulated disk of this guest.
pub struct WriteRecorder {
    file: File,
    read: Vec<u8>,
}

impl WriteRecorder {
    /// Opens the write log. Returns `None` if the disk has none.
    pub fn open() -> Option<Self> {
        let file = OpenOptions::new().read(true).write(true).open(WRITES).ok()?;
        Some(Self { file, read: Vec::new() })
    }

    /// Starts an empty log.
    pub fn start(&mut self) -> io::Result<()> {
        self.read.clear();
        self.command(&format!("start {ROOM}"))
    }

    /// Marks the end of a step, and makes room for the next one.
    pub fn mark(&mut self, step: usize) -> io::Result<()> {
        self.command(&format!("mark {step}"))?;
        self.drain()
    }

    /// Lets requests fail, or ends this: `read SECTOR COUNT`, `write FROM COUNT`, `flush FROM
    /// COUNT` or `off`.
    pub fn fail(&mut self, requests: &str) -> io::Result<()> {
        self.command(&format!("fail {requests}"))
    }

    /// Stops the log and returns it.
    pub fn finish(&mut self) -> io::Result<WriteLog> {
        self.command("stop")?;
        self.drain()?;
        WriteLog::parse(&std::mem::take(&mut self.read)).map_err(io::Error::other)
    }

    /// Sends a command, in one call.
    fn command(&mut self, text: &str) -> io::Result<()> {
        self.file.write_all(text.as_bytes())
    }

    fn drain(&mut self) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        loop {
            match self.file.read(&mut piece)? {
                0 => return Ok(()),
                count => self.read.extend(&piece[..count]),
            }
        }
    }
}
