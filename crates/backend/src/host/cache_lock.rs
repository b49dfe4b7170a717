//! Allows only one campaign at a time to empty the caches of this machine. Two campaigns would turn
//! each other's warm results cold and slow each other down.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg, OFlag};
use storage::ProvisionError;

use crate::host::lock_holder::LockHolder;

/// Environment variable that replaces `/run` as the directory of the lock. For tests and for
/// containers that share a kernel.
const DIRECTORY: &str = "FSARENA_RUN_DIR";
const NAME: &str = "fsarena-caches.lock";
/// Interval between attempts to lock; the stop flag is checked just as often.
const PAUSE: Duration = Duration::from_millis(100);

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
                    let _ = LockHolder::sign(&mut file, campaign);
                    return Ok(Some(Self { _file: file }));
                }
                Err((mut file, _)) if !has_said => {
                    let LockHolder { process, campaign, age } = LockHolder::read(&mut file);
                    let what = campaign.unwrap_or_else(|| "a campaign".to_owned());
                    say(&format!(
                        "waiting: {process} runs {what}{age}, which empties this machine's caches, and so does this campaign"
                    ));
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
            let own = format!("waiting: process {} (", std::process::id());
            assert!(line.starts_with(&own), "{line}");
            assert!(line.contains(" runs campaign 7 “nightly” for "), "{line}");
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
