//! Disturbances of the host that must not change the results of a guest: load, memory pressure, and
//! an emulator that is stopped or woken at random moments.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use model::SeededRng;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sys::process;

use crate::args::guest_args::SelftestCondition;

/// Divisor of the free memory: one part of this many is repeatedly allocated and freed.
const SHARE_OF_MEMORY: u64 = 3;
/// Bytes to allocate if the free memory is unknown.
const DEFAULT_STRESS_MEMORY: u64 = 256 << 20;
/// Maximum time for which memory is held, in microseconds.
const HELD: u64 = 1_000_000;
/// Maximum times for which an emulator is stopped, and runs in between, in microseconds.
const STOPPED: u64 = 200_000;
const RUNNING: u64 = 300_000;
/// Maximum time between two signals that wake the emulator's main loop, in microseconds.
const MAX_WAKE_INTERVAL_US: u64 = 60;

/// A disturbance that continues until it is dropped.
pub struct Stressor {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Stressor {
    /// Starts the disturbance of a condition. The emulator to stop or wake is a descendant of the
    /// process `below`.
    ///
    /// # Errors
    /// Returns an error if a thread cannot be started.
    pub fn start(condition: SelftestCondition, below: Pid, seed: u64) -> io::Result<Self> {
        let mut disturbance = Self { stop: Arc::default(), threads: Vec::new() };
        let mut random = SeededRng::substream(seed, "disturbance");
        match condition {
            SelftestCondition::Again | SelftestCondition::OtherHost | SelftestCondition::Cold => {}
            SelftestCondition::Busy => {
                for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
                    disturbance.repeat(std::hint::spin_loop)?;
                }
            }
            SelftestCondition::Memory => disturbance.repeat(move || {
                let filled = memory();
                pause(&mut random, HELD);
                drop(filled);
            })?,
            SelftestCondition::Paused => disturbance.repeat(move || {
                signal(below, Signal::SIGSTOP);
                pause(&mut random, STOPPED);
                signal(below, Signal::SIGCONT);
                pause(&mut random, RUNNING);
            })?,
            SelftestCondition::Suspended => {
                let mut known = None;
                disturbance.repeat(move || {
                    known = known.or_else(|| emulator(below).filter(takes_io));
                    known = known.filter(|&emulator| kill(emulator, Signal::SIGIO).is_ok());
                    let longest = if known.is_some() { MAX_WAKE_INTERVAL_US } else { RUNNING };
                    pause(&mut random, longest);
                })?;
            }
        }
        Ok(disturbance)
    }

    fn repeat(&mut self, mut step: impl FnMut() + Send + 'static) -> io::Result<()> {
        let stop = Arc::clone(&self.stop);
        let repeated = move || {
            while !stop.load(Ordering::Relaxed) {
                step();
            }
        };
        self.threads.push(thread::Builder::new().spawn(repeated)?);
        Ok(())
    }
}

impl Drop for Stressor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // The thread cannot panic.
            let _ = thread.join();
        }
    }
}

fn pause(random: &mut SeededRng, longest: u64) {
    thread::sleep(Duration::from_micros(random.next_u64() % longest));
}

/// Allocates a share of the free memory and writes to all of it.
fn memory() -> Vec<u8> {
    let free =
        sys::memory::available().map_or(DEFAULT_STRESS_MEMORY * SHARE_OF_MEMORY, |free| free.0);
    std::hint::black_box(vec![1; (free / SHARE_OF_MEMORY) as usize])
}

fn signal(below: Pid, signal: Signal) {
    if let Some(emulator) = emulator(below) {
        // The emulator may have exited already.
        let _ = kill(emulator, signal);
    }
}

/// Returns true if QEMU has entered its main loop, which handles SIGIO by ignoring it. Earlier,
/// SIGIO would kill QEMU, except for the moments in which it blocks all signals to start a thread;
/// a blocked SIGPROF reveals these.
fn takes_io(emulator: &Pid) -> bool {
    let survives = |signal| process::ignores_signal(*emulator, signal);
    survives(Signal::SIGIO) && !survives(Signal::SIGPROF)
}

/// Finds the emulator among the descendants of a process.
fn emulator(below: Pid) -> Option<Pid> {
    let family = process::descendants(below);
    // The kernel truncates process names.
    let is_emulator = |name: &str| !name.is_empty() && guest::QEMU.starts_with(name);
    let found = family.iter().find(|process| is_emulator(&process.name));
    found.map(|process| process.pid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::Stdio;

    #[test]
    fn an_emulator_that_blocks_everything_is_not_in_its_main_loop() {
        for (ignored, expected) in [("IO", true), ("IO PROF", false), ("PROF", false)] {
            let script = format!("trap '' {ignored}; echo ready; exec sleep 600");
            let mut command = std::process::Command::new("bash");
            command.args(["-c", &script]).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut ready = [0; 6];
            child.stdout.take().unwrap().read_exact(&mut ready).unwrap();
            let taken = takes_io(&Pid::from_raw(child.id().cast_signed()));
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(taken, expected, "{ignored}");
        }
    }

    #[test]
    fn disturbance_stops_when_dropped() {
        for condition in
            [SelftestCondition::Busy, SelftestCondition::Paused, SelftestCondition::Suspended]
        {
            let disturbance = Stressor::start(condition, Pid::this(), 1).unwrap();
            let stop = Arc::clone(&disturbance.stop);
            assert!(!disturbance.threads.is_empty());
            drop(disturbance);
            assert!(stop.load(Ordering::Relaxed));
            assert_eq!(Arc::strong_count(&stop), 1);
        }
    }

    #[test]
    fn only_an_emulator_is_stopped_or_woken() {
        assert_eq!(emulator(Pid::this()), None);
    }
}
