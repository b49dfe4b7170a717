//! Snapshots of guests, so that guests with the same boot process boot only once.
//!
//! In virtual time guests differ only in the contents of their card, which the agent reads after
//! boot. At that point the first guest is stopped and saved: its memory, which is a file, and the
//! state of all devices (`xen-save-devices-state` of QEMU's QMP, which does not need Xen). A guest
//! that starts from a copy takes the same number of nanoseconds as a guest that boots. QEMU cannot
//! `migrate` while it records, which is required (`guest/machine.rs`). QEMU may also advance the
//! clock if a guest stops itself during its work; a timer that stops it, as here, changes nothing.
//!
//! Memory and state are unnamed files, which disappear when this process ends. A
//! [store](SnapshotStore) keeps copies for later campaigns.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use model::Nanos;
use serde_json::{Value, json};
use sys::fs::memfd;
use sys::io::clock;

use crate::cache::cell_key::CellKey;
use crate::guests::monitor::{GuestProgress, QmpMonitor};
use crate::guests::snapshot_store::SnapshotStore;
use crate::warn_once::WarnOnce;

/// Maximum number of snapshots, each some hundred MB. A campaign has one for each disk size.
const KEPT: usize = 4;
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Snapshots of machines, one for all guests that boot identically.
#[derive(Default)]
pub struct SnapshotPool {
    /// `None` for a kind of machine that cannot be saved or resumed.
    known: Mutex<Vec<(CellKey, Option<Arc<Snapshot>>)>>,
    /// Snapshots of earlier campaigns.
    store: Option<SnapshotStore>,
    trouble: WarnOnce,
}

/// A saved machine.
pub struct Snapshot {
    pub(super) memory: File,
    pub(super) state: File,
    /// Console output up to the snapshot.
    pub(super) console: Vec<u8>,
}

impl SnapshotPool {
    /// Returns a pool that also uses the snapshots in a store, and adds its own.
    pub fn stored(store: Option<SnapshotStore>) -> Self {
        Self { store, ..Self::default() }
    }

    /// Returns the snapshot of this kind. Loads it or creates it on first use. Returns `None` if
    /// that fails. Other callers wait, most of them for the same snapshot.
    pub(crate) fn get(
        &self,
        kind: CellKey,
        stop: &AtomicBool,
        make: impl FnOnce() -> io::Result<Snapshot>,
    ) -> Option<Arc<Snapshot>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, snapshot)) = known.iter().find(|(of, _)| *of == kind) {
            return snapshot.clone();
        }
        let loaded = self.store.as_ref().and_then(|store| store.load(kind));
        let made = match loaded {
            Some(snapshot) => Ok(snapshot),
            None => make().inspect(|made| {
                // Without a copy, the next campaign boots a guest.
                let _ = self.store.as_ref().map(|store| store.save(kind, made));
            }),
        };
        let made = made.map(Arc::new);
        if let Err(error) = &made
            && !stop.load(Ordering::Relaxed)
        {
            self.warn(&format!("a guest cannot be saved: {error}"));
        }
        let made = made.ok();
        // After an interruption it is unknown whether this kind can be saved.
        if made.is_some() || !stop.load(Ordering::Relaxed) {
            let most = KEPT - 1;
            let before = known.len().saturating_sub(most);
            known.drain(..before);
            known.push((kind, made.clone()));
        }
        made
    }

    /// Returns the number of stored snapshots.
    pub fn count(&self) -> usize {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().filter(|(_, made)| made.is_some()).count()
    }

    /// Discards a snapshot and records that the kind cannot be resumed.
    pub(crate) fn discard(&self, kind: CellKey) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(of, _)| *of != kind);
        known.push((kind, None));
        self.store.iter().for_each(|store| store.remove(kind));
        self.warn("a guest does not resume from its snapshot");
    }

    /// Records a warning for the user. Only the first one is reported.
    pub(crate) fn warn(&self, why: &str) {
        self.trouble.set(|| why.to_owned());
    }

    /// Takes the pending warning that guests boot although a snapshot could be used, if any.
    pub fn take_warning(&self) -> Option<String> {
        self.trouble.take()
    }
}

impl Snapshot {
    /// Starts a machine and saves it at its stop point. `start` receives the files for its memory
    /// and its console.
    ///
    /// # Errors
    /// Returns an error if the machine does not stop within this amount of work, QEMU cannot save
    /// it, or `stop` is set.
    pub(crate) fn make(
        start: impl FnOnce(&Path, &Path) -> Command,
        within: Nanos,
        stop: &AtomicBool,
    ) -> io::Result<Self> {
        let memory = memfd::memfd("memory")?;
        let state = memfd::memfd("state")?;
        let console = memfd::memfd("console")?;
        let said = memfd::path(&console);
        let mut command = start(&memfd::path(&memory), &said);
        let mut machine = RunningGuest::start(&mut command, within, stop)?;
        machine.wait_for(|said| said["event"] == "STOP")?;
        let to = memfd::path(&state);
        let save = json!({"filename": to, "live": false});
        let monitor = machine.progress.monitor();
        monitor.send(&json!({"execute": "xen-save-devices-state", "arguments": save, "id": 1}))?;
        let answer = machine.wait_for(|said| said["id"] == 1)?;
        if let Some(error) = answer.get("error") {
            return Err(io::Error::other(error.to_string()));
        }
        drop(machine);
        Ok(Self { memory, state, console: fs::read(said)? })
    }

    /// Returns a copy of the snapshot's memory for one machine.
    pub(crate) fn memory(&self) -> io::Result<File> {
        memfd::copy(&self.memory, "memory")
    }

    /// Returns the path of the device state.
    pub(crate) fn state(&self) -> PathBuf {
        memfd::path(&self.state)
    }

    /// Returns the console output up to the snapshot.
    pub(crate) fn console(&self) -> &[u8] {
        &self.console
    }
}

/// A machine that has not reached its stop point. It ends on drop.
struct RunningGuest<'a> {
    child: Child,
    progress: GuestProgress,
    /// Standard error of the machine.
    complaints: File,
    left: Nanos,
    stop: &'a AtomicBool,
}

impl<'a> RunningGuest<'a> {
    fn start(command: &mut Command, within: Nanos, stop: &'a AtomicBool) -> io::Result<Self> {
        let complaints = memfd::memfd("complaints")?;
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(complaints.try_clone()?)
            .process_group(0)
            .spawn()?;
        let monitor = QmpMonitor::of(&mut child)?;
        Ok(Self { child, progress: GuestProgress::of(monitor), complaints, left: within, stop })
    }

    fn why_it_ended(&self) -> String {
        const ENDED: &str = "QEMU ended before it was saved";
        let complaints = fs::read_to_string(memfd::path(&self.complaints));
        let last = complaints.ok();
        let last = last.as_deref().and_then(|text| text.trim().lines().last());
        last.map_or_else(|| ENDED.to_owned(), |last| format!("{ENDED}: {last}"))
    }

    fn wait_for(&mut self, is_it: impl Fn(&Value) -> bool) -> io::Result<Value> {
        let mut before = clock::now();
        loop {
            match self.progress.monitor().receive(STOP_POLL_INTERVAL) {
                Ok(Some(said)) if is_it(&said) => return Ok(said),
                Ok(_) => {}
                Err(_) => return Err(io::Error::other(self.why_it_ended())),
            }
            let ran = self.progress.pass(clock::since(before));
            before = clock::now();
            self.left.0 = self.left.0.saturating_sub(ran.0);
            if self.left.0 == 0 || self.stop.load(Ordering::Relaxed) {
                return Err(io::Error::other("the guest did not come so far"));
            }
        }
    }
}

impl Drop for RunningGuest<'_> {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> io::Result<Snapshot> {
        Ok(Snapshot {
            memory: memfd::memfd("memory")?,
            state: memfd::memfd("state")?,
            console: Vec::new(),
        })
    }

    fn fails() -> io::Result<Snapshot> {
        Err(io::Error::other("no"))
    }

    fn kind(number: u8) -> CellKey {
        CellKey::sha256(&[number])
    }

    #[test]
    fn each_kind_is_saved_once_and_never_retried_after_failure() {
        let (snapshots, stop) = (SnapshotPool::default(), AtomicBool::new(false));
        assert!(snapshots.get(kind(0), &stop, snapshot).is_some());
        assert!(snapshots.get(kind(0), &stop, || panic!("it is there")).is_some());
        assert!(snapshots.get(kind(1), &stop, fails).is_none());
        assert!(snapshots.get(kind(1), &stop, || panic!("it failed")).is_none());
        assert_eq!(snapshots.take_warning().as_deref(), Some("a guest cannot be saved: no"));
        snapshots.discard(kind(0));
        assert_eq!(snapshots.take_warning(), None, "the user was warned once");
        assert!(snapshots.get(kind(0), &stop, || panic!("given up")).is_none());
        for number in 2..10 {
            snapshots.get(kind(number), &stop, snapshot);
        }
        assert_eq!(snapshots.count(), KEPT);
    }

    #[test]
    fn interruption_does_not_disable_other_snapshots() {
        let (snapshots, stop) = (SnapshotPool::default(), AtomicBool::new(true));
        assert!(snapshots.get(kind(0), &stop, fails).is_none());
        assert!(snapshots.get(kind(0), &stop, snapshot).is_some());
    }

    #[test]
    fn machine_that_ends_early_or_never_stops_gives_no_snapshot() {
        let stop = AtomicBool::new(false);
        let make = |program: &str, words: &[&str], within: Nanos| {
            let start = |_: &Path, _: &Path| {
                let mut command = Command::new(program);
                command.args(words);
                command
            };
            let made = Snapshot::make(start, within, &stop);
            made.err().unwrap().to_string()
        };
        // Allow enough time for a program that ends early to start on a busy machine.
        let long = Nanos::from_secs(120);
        assert_eq!(make("cat", &["/dev/null"], long), "QEMU ended before it was saved");
        assert_eq!(
            make("sh", &["-c", "echo no such machine >&2"], long),
            "QEMU ended before it was saved: no such machine"
        );
        assert_eq!(make("sleep", &["1000"], Nanos(50_000_000)), "the guest did not come so far");
    }
}
