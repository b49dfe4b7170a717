//! Allows only one campaign at a time to empty the caches of this machine. Two campaigns would turn
//! each other's warm results cold and slow each other down.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use model::Nanos;
use nix::fcntl::{Flock, FlockArg, OFlag};
use storage::ProvisionError;

/// Environment variable that replaces `/run` as the directory of the lock. For tests and for
/// containers that share a kernel.
const DIRECTORY: &str = "FSARENA_RUN_DIR";
const NAME: &str = "fsarena-caches.lock";
/// Interval between attempts to lock; the stop flag is checked just as often.
const PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of bytes of the lock file that are read.
const MAX_LENGTH: u64 = 512;

/// The exclusive right to empty the caches. The kernel releases it when the process ends.
pub struct CacheLock {
    _file: Flock<File>,
}

impl CacheLock {
    /// Waits until no other process holds the lock, and reports the current holder once: its
    /// campaign, user and age. `campaign` is the name of this campaign. Returns `None` if the lock
    /// file cannot be opened.
    ///
    /// # Errors
    /// Returns an error if the user asks to stop.
    pub fn take(
        campaign: &str,
        say: &dyn Fn(&str),
        stop: &AtomicBool,
    ) -> Result<Option<Self>, ProvisionError> {
        let directory = std::env::var_os(DIRECTORY).map_or_else(|| "/run".into(), PathBuf::from);
        Self::take_file(&directory.join(NAME), campaign, say, stop)
    }

    fn take_file(
        path: &Path,
        campaign: &str,
        say: &dyn Fn(&str),
        stop: &AtomicBool,
    ) -> Result<Option<Self>, ProvisionError> {
        let mut has_said = false;
        loop {
            let Ok(file) = open(path) else {
                return Ok(None);
            };
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(mut file) => {
                    // The lock holds even if the process ID cannot be written.
                    let _ = sign(&mut file, campaign);
                    return Ok(Some(Self { _file: file }));
                }
                Err((mut file, _)) if !has_said => {
                    say(&held_by(&mut file));
                    has_said = true;
                }
                Err(_) => {}
            }
            if stop.load(Ordering::Relaxed) {
                return Err(ProvisionError::Interrupted);
            }
            thread::sleep(PAUSE);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut how = OpenOptions::new();
    how.read(true).write(true).create(true).mode(0o600);
    how.custom_flags(OFlag::O_NOFOLLOW.bits()).open(path)
}

/// Writes the process ID of the holder and its campaign into the lock file, in two lines.
fn sign(file: &mut File, campaign: &str) -> io::Result<()> {
    file.set_len(0)?;
    writeln!(file, "{}\n{campaign}", std::process::id())
}

/// Returns the name of a user of this machine, else the number.
fn user_name(user: u32) -> String {
    let number = user.to_string();
    let table = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut lines = table.lines().map(|line| line.split(':'));
    let found = lines.find_map(|mut fields| {
        let name = fields.next()?;
        (fields.nth(1) == Some(number.as_str())).then(|| name.to_owned())
    });
    found.unwrap_or(number)
}

/// Describes the holder by the content of the lock file and by `/proc`.
fn held_by(file: &mut File) -> String {
    let mut text = String::new();
    let _ = (&*file).take(MAX_LENGTH).read_to_string(&mut text);
    let mut lines = text.lines();
    let number = lines.next().and_then(|line| line.trim().parse::<u32>().ok());
    let campaign = lines.next().filter(|name| !name.is_empty());
    let what = campaign.map_or_else(|| "a campaign".to_owned(), str::to_owned);
    let who = number.map_or_else(|| "another process".to_owned(), |id| format!("process {id}"));
    let process = number.and_then(|id| fs::metadata(format!("/proc/{id}")).ok());
    let owner = process
        .map_or_else(String::new, |process| format!(" of user {}", user_name(process.uid())));
    let since = file.metadata().and_then(|file| file.modified()).ok();
    let age = since.and_then(|since| since.elapsed().ok());
    let age =
        age.map_or_else(String::new, |age| format!(", for {}", Nanos::from_secs(age.as_secs())));
    format!(
        "waiting: {who}{owner} runs {what}{age}, which empties this machine's caches, and so does this campaign"
    )
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn second_campaign_reports_the_holder_and_waits() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(NAME);
        let stop = AtomicBool::new(false);
        let silent = |line: &str| panic!("{line}");
        let first =
            CacheLock::take_file(&path, "campaign 7 “nightly”", &silent, &stop).unwrap().unwrap();
        let (said, lines) = mpsc::channel();
        thread::scope(|scope| {
            let say = move |line: &str| said.send(line.to_owned()).unwrap();
            let second = scope.spawn(|| {
                let say = say;
                CacheLock::take_file(&path, "another", &say, &stop).unwrap().is_some()
            });
            let line = lines.recv().unwrap();
            let own = format!("waiting: process {} of user ", std::process::id());
            assert!(line.starts_with(&own), "{line}");
            assert!(line.contains(" runs campaign 7 “nightly”, for "), "{line}");
            drop(first);
            assert!(second.join().unwrap());
        });
        assert!(lines.try_recv().is_err(), "it was said once");
    }

    #[test]
    fn waiting_can_be_interrupted_and_needs_a_lock_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(NAME);
        let say = |_: &str| {};
        let first = CacheLock::take_file(&path, "another", &say, &AtomicBool::new(false)).unwrap();
        assert!(first.is_some());
        let stopped = CacheLock::take_file(&path, "another", &say, &AtomicBool::new(true));
        assert!(matches!(stopped, Err(ProvisionError::Interrupted)));
        let nowhere = directory.path().join("no/such").join(NAME);
        let free =
            CacheLock::take_file(&nowhere, "another", &say, &AtomicBool::new(false)).unwrap();
        assert!(free.is_none());
    }
}
