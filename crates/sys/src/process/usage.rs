//! Processor time and page faults.

use std::fs;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Mutex, PoisonError};

use model::{CpuTime, Nanos, PageFaults};
use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

use crate::process;

/// Duration of a tick of `/proc/stat` in nanoseconds. The kernel's interface to programs fixes the
/// tick rate (`USER_HZ`).
const TICK: u64 = 10_000_000;

/// Processor time and page faults since the start of the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct UsageSample {
    /// Processor time.
    pub cpu: CpuTime,
    /// Page faults.
    pub faults: PageFaults,
}

/// Total usage of the drivers that were waited for by [`reap`].
static ENDED: Mutex<UsageSample> = Mutex::new(UsageSample {
    cpu: CpuTime { user: Nanos(0), system: Nanos(0), driver: Nanos(0), machine: Nanos(0) },
    faults: PageFaults { minor: 0, major: 0 },
});

/// Reads the usage of this process, of the programs it has waited for, of the machine, and, if the
/// reader is the first process of its namespace, of the drivers that run in it or have ended.
///
/// For the start of a measurement: reads this process last, so the cost of the reading itself, more
/// than a millisecond with many processes in `/proc`, is not counted. Use [`sample_end`] for the end.
pub fn sample_start() -> UsageSample {
    let mut reading = of_others();
    add_own(&mut reading);
    reading
}

/// Reads the usage at the end of a measurement, this process first.
pub fn sample_end() -> UsageSample {
    let mut own = UsageSample::default();
    add_own(&mut own);
    let mut reading = of_others();
    reading.cpu.user.0 += own.cpu.user.0;
    reading.cpu.system.0 += own.cpu.system.0;
    reading.faults.minor += own.faults.minor;
    reading.faults.major += own.faults.major;
    reading
}

fn add_own(reading: &mut UsageSample) {
    if let Ok(own) = getrusage(UsageWho::RUSAGE_SELF) {
        add(reading, own.as_ref());
    }
}

fn of_others() -> UsageSample {
    let ended = *ENDED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut reading = programs(&ended);
    reading.cpu.driver = Nanos(drivers().0 + ended.cpu.user.0 + ended.cpu.system.0);
    reading.cpu.machine = machine();
    reading
}

/// Returns the usage of children that were waited for, except drivers: the kernel adds the total
/// usage of a driver at the moment it ends, so it would be counted as part of an unmount.
fn programs(ended: &UsageSample) -> UsageSample {
    let mut children = UsageSample::default();
    if let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) {
        add(&mut children, usage.as_ref());
    }
    difference(ended, &children)
}

/// Waits for one orphaned driver that has ended. Returns false if none has. Must not be called
/// while a program of this process runs, because it would be counted as a driver.
pub fn reap() -> bool {
    wait_for(-1)
}

fn wait_for(pid: libc::pid_t) -> bool {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // Locked until the end, so that no reader sees usage that is already counted among the children
    // but not yet here.
    let mut ended = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the kernel writes one `struct rusage` to the pointer, which is valid for the whole call;
    // a null pointer for the status is allowed.
    let found = unsafe { libc::wait4(pid, ptr::null_mut(), libc::WNOHANG, usage.as_mut_ptr()) };
    if found <= 0 {
        return false;
    }
    // SAFETY: all fields are integers, for which zeros are valid values.
    add(&mut ended, &unsafe { usage.assume_init() });
    true
}

/// Returns the usage between two readings.
pub const fn difference(before: &UsageSample, after: &UsageSample) -> UsageSample {
    const fn less(after: Nanos, before: Nanos) -> Nanos {
        Nanos(after.0.saturating_sub(before.0))
    }
    UsageSample {
        cpu: CpuTime {
            user: less(after.cpu.user, before.cpu.user),
            system: less(after.cpu.system, before.cpu.system),
            driver: less(after.cpu.driver, before.cpu.driver),
            machine: less(after.cpu.machine, before.cpu.machine),
        },
        faults: PageFaults {
            minor: after.faults.minor.saturating_sub(before.faults.minor),
            major: after.faults.major.saturating_sub(before.faults.major),
        },
    }
}

const fn add(reading: &mut UsageSample, usage: &libc::rusage) {
    reading.cpu.user.0 += nanos(usage.ru_utime);
    reading.cpu.system.0 += nanos(usage.ru_stime);
    reading.faults.minor += usage.ru_minflt as u64;
    reading.faults.major += usage.ru_majflt as u64;
}

const fn nanos(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000
}

/// Returns the processor time of every other process in this process's PID namespace, with
/// nanosecond resolution.
///
/// FUSE drivers put themselves into the background and become children of PID 1, that is, of the
/// agent; `getrusage` does not count them until they have ended and were waited for.
fn drivers() -> Nanos {
    let me = Pid::this();
    if me.as_raw() != 1 {
        return Nanos(0);
    }
    let time_of = |pid: Pid| {
        let time = clock_gettime(ClockId::pid_cpu_clock_id(pid).ok()?).ok()?;
        Some(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
    };
    let others = process::all().into_iter().filter(|p| p.pid != me);
    Nanos(others.filter_map(|p| time_of(p.pid)).sum())
}

/// Processor time of the machine since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTotals {
    /// In user mode.
    pub user: Nanos,
    /// In the kernel, including interrupts.
    pub system: Nanos,
    /// Used by other guests of this machine's host.
    pub stolen: Nanos,
}

/// Returns the total of all processors, in steps of 10 ms.
pub fn processors() -> CpuTotals {
    parse_proc_stat(&fs::read_to_string("/proc/stat").unwrap_or_default())
}

/// Parses the text of `/proc/stat`. Source: proc(5), first line: user nice system idle iowait irq
/// softirq steal; guest time is already part of user.
pub fn parse_proc_stat(stat: &str) -> CpuTotals {
    let first = stat.lines().next().unwrap_or_default();
    let fields = first.split_whitespace().skip(1);
    let ticks: Vec<u64> = fields.map_while(|f| f.parse().ok()).collect();
    let sum = |places: &[usize]| {
        let found = places.iter().filter_map(|&place| ticks.get(place));
        let ticks = found.fold(0, |sum: u64, ticks| sum.saturating_add(*ticks));
        Nanos(ticks.saturating_mul(TICK))
    };
    CpuTotals { user: sum(&[0, 1]), system: sum(&[2, 5, 6]), stolen: sum(&[7]) }
}

/// Returns the busy time of all processors, without idle time and waiting for I/O.
fn machine() -> Nanos {
    let CpuTotals { user, system, .. } = processors();
    Nanos(user.0.saturating_add(system.0))
}

/// Returns the user-mode time of this process and of all its descendants that were waited for.
pub fn self_user_time() -> Nanos {
    let of = |who| getrusage(who).map_or(0, |usage| nanos(usage.as_ref().ru_utime));
    Nanos(of(UsageWho::RUSAGE_SELF) + of(UsageWho::RUSAGE_CHILDREN))
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::own_process::is_own_process;

    #[test]
    fn driver_usage_is_not_counted_as_that_of_programs() {
        let own = "driver_usage_is_not_counted_as_that_of_programs";
        if !is_own_process(module_path!(), own) {
            return;
        }
        let script = "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done";
        #[expect(clippy::zombie_processes, reason = "waited for below, as the agent does")]
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let before = sample_start();
        let programs_before = programs(&ENDED.lock().unwrap());
        while !wait_for(child.id().cast_signed()) {
            thread::sleep(Duration::from_millis(1));
        }
        let used = difference(&before, &sample_end()).cpu.driver;
        assert!(used > Nanos(1_000_000), "{used}");
        let others = difference(&programs_before, &programs(&ENDED.lock().unwrap()));
        assert!(others.cpu.user.0 * 100 < used.0, "{others:?} of {used}");
    }

    /// Regression test: a phase of 3.4 ms showed 130 % processor use, because `/proc` was read
    /// after the usage and before the clock.
    #[test]
    fn the_cost_of_reading_is_not_counted() {
        if !is_own_process(module_path!(), "the_cost_of_reading_is_not_counted") {
            return;
        }
        let own = || {
            let mut reading = UsageSample::default();
            add_own(&mut reading);
            reading.cpu.user.0 + reading.cpu.system.0
        };
        let (before, mut counted) = (own(), 0);
        for _ in 0..500 {
            let used = difference(&sample_start(), &sample_end());
            counted += used.cpu.user.0 + used.cpu.system.0;
        }
        let whole = own() - before;
        // On a busy machine, the code between the two readings costs more.
        assert!(counted * 2 < whole, "{counted} ns of {whole} ns");
    }

    #[test]
    fn the_kinds_of_processor_time_are_separated() {
        let of = |user, system, stolen| CpuTotals {
            user: Nanos(user * TICK),
            system: Nanos(system * TICK),
            stolen: Nanos(stolen * TICK),
        };
        let stat = "cpu  10 2 30 400 50 6 7 8 9 0\ncpu0 1 1 1\n";
        assert_eq!(parse_proc_stat(stat), of(12, 43, 8));
        assert_eq!(parse_proc_stat("cpu 1 2 3 4"), of(3, 3, 0), "an old kernel");
    }

    #[test]
    fn work_is_seen() {
        let before = sample_start();
        let mut sum = 0u64;
        while difference(&before, &sample_end()).cpu.user.0 < 5_000_000 {
            for i in 0..100_000u64 {
                sum = sum.wrapping_add(std::hint::black_box(i * i));
            }
        }
        assert!(sum > 0);
        let pages = vec![1u8; 64 << 20];
        let used = difference(&before, &sample_end());
        assert!(used.faults.minor >= 1, "{used:?}, {} bytes", pages.len());
    }

    #[test]
    fn ticks_beyond_all_numbers_are_no_panic() {
        let of = parse_proc_stat("cpu 1 2 3 9 9 4 5 9");
        assert_eq!((of.user, of.system), (Nanos(3 * TICK), Nanos(12 * TICK)));
        assert_eq!(parse_proc_stat("cpu 18446744073709551615 1").user, Nanos(u64::MAX));
    }
}
