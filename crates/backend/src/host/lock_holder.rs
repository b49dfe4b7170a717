//! Holder of a lock file: the process that wrote its number into the file.

use std::fs::File;
use std::io::{self, Read, Write};

use model::Nanos;
use sys::process;

/// Maximum number of bytes of a lock file that are read.
const MAX_LENGTH: u64 = 512;

/// Holder of a lock file, for messages.
pub struct LockHolder {
    /// The process, with program and user.
    pub process: String,
    /// The campaign, if the file names it.
    pub campaign: Option<String>,
    /// Time since it took the lock, such as ` for 3 s`. Empty if it is unknown.
    pub age: String,
}

impl Default for LockHolder {
    fn default() -> Self {
        Self { process: "another process".to_owned(), campaign: None, age: String::new() }
    }
}

impl LockHolder {
    /// Writes the number of this process and the name of its campaign into a lock file, in two
    /// lines.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn sign(file: &mut File, campaign: &str) -> io::Result<()> {
        file.set_len(0)?;
        writeln!(file, "{}\n{campaign}", std::process::id())
    }

    /// Describes the holder by the content of its lock file and by `/proc`.
    pub fn read(file: &mut File) -> Self {
        let mut text = String::new();
        let _ = (&*file).take(MAX_LENGTH).read_to_string(&mut text);
        let mut lines = text.lines();
        let Some(number) = lines.next().and_then(|line| line.trim().parse::<u32>().ok()) else {
            return Self::default();
        };
        let since = file.metadata().and_then(|file| file.modified()).ok();
        let age = since.and_then(|since| since.elapsed().ok());
        Self {
            process: process::describe(number),
            campaign: lines.next().filter(|name| !name.is_empty()).map(str::to_owned),
            age: age.map_or_else(String::new, |age| {
                format!(" for {}", Nanos::from_secs(age.as_secs().max(1)))
            }),
        }
    }
}
