//! Samples the processor of a guest during a phase. A separate thread reads the samples from the
//! kernel's buffer and counts equal stacks. The work of this thread is excluded from the profile.

use std::collections::HashMap;
use std::fs;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::path::Path;
use std::thread::{self, JoinHandle};

use model::{CpuProfile, Nanos, USER};
use nix::unistd::gettid;
use sys::process::sampler::{CpuSample, SampleRecord, Sampler};

use crate::observe::kernel_symbols::KernelSymbols;

/// Kernel limit of samples per second. The value written is higher than any requested rate.
const RATE_FILE: &str = "/proc/sys/kernel/perf_event_max_sample_rate";
const RATE: &str = "10000000";
/// Name of this program in a profile, independent of its name in the kernel.
const OWN_NAME: &str = "fsarena";
/// Task name of kernel threads. They belong to no namespace; their outermost function identifies
/// them.
const KERNEL: &str = "kernel";
/// Task name of interrupts by devices and timers.
const INTERRUPT: &str = "interrupt";
/// Functions at the start of the stack of every kernel thread, including kernel workers.
const THREAD_BEGIN: [&str; 5] =
    ["ret_from_fork_asm", "ret_from_fork", "kthread", "worker_thread", "process_one_work"];
/// Function of an idle processor.
const IDLE_FUNCTION: &str = "do_idle";

/// Running CPU sampling of a phase.
pub struct CpuSampler {
    /// Closed at the end of the phase.
    end: PipeWriter,
    thread: JoinHandle<io::Result<CpuSamples>>,
    period: Nanos,
}

/// The samples of a phase.
#[derive(Default)]
struct CpuSamples {
    /// Time and stack number of each sample.
    times: Vec<(Nanos, usize)>,
    /// Stacks with their numbers.
    stacks: HashMap<Stack, usize>,
    lost: u64,
}

/// Sampled location: the name of the thread and the functions of [`CpuSample::stack`].
type Stack = (Option<String>, Vec<u64>);

impl CpuSampler {
    /// Starts sampling. Returns when the first sample can arrive.
    pub fn start(period: Nanos) -> io::Result<Self> {
        // Ignore errors: older kernels have no such limit.
        let _ = fs::write(RATE_FILE, RATE);
        let names = names_of_threads();
        let mut sampler = Sampler::start(period)?;
        let (until, end) = io::pipe()?;
        let thread = thread::Builder::new().spawn(move || take(&mut sampler, &until, names))?;
        Ok(Self { end, thread, period })
    }

    /// Stops sampling and returns the profile of the given time ranges.
    pub fn finish(
        self,
        parts: &[(Nanos, Nanos)],
        symbols: &KernelSymbols,
    ) -> io::Result<CpuProfile> {
        drop(self.end);
        let ended = self.thread.join();
        let samples = ended.map_err(|_| io::Error::other("the thread that samples has died"))??;
        let mut counts = vec![0; samples.stacks.len()];
        for (time, stack) in samples.times {
            if parts.iter().any(|(begin, end)| *begin <= time && time < *end) {
                counts[stack] += 1;
            }
        }
        let stacks = samples.stacks.into_iter();
        let stacks = stacks.filter_map(|((thread, addresses), number)| {
            let functions = names(&addresses, symbols);
            Some((stack(thread, functions)?, counts[number]))
        });
        let stacks = stacks.filter(|(_, samples)| *samples > 0);
        Ok(CpuProfile::from_stacks(self.period, samples.lost, stacks))
    }
}

/// Reads records until the other end of the pipe is closed, then reads the remaining records.
fn take(
    sampler: &mut Sampler,
    until: &PipeReader,
    mut names: HashMap<u32, String>,
) -> io::Result<CpuSamples> {
    let own = gettid().as_raw().cast_unsigned();
    let mut samples = CpuSamples::default();
    loop {
        let more = sampler.wait(until.as_fd())?;
        if !more {
            sampler.stop()?;
        }
        while let Some(record) = sampler.next_record() {
            match record {
                // Kernel threads have no process in this namespace; all of them have the number 0.
                SampleRecord::Comm { thread: 0, .. } | SampleRecord::Begun { thread: 0, .. } => {}
                SampleRecord::Sample(sample) if sample.thread == own => {}
                SampleRecord::Sample(sample) => {
                    let name = names.get(&sample.thread).cloned();
                    samples.add(name, sample);
                }
                SampleRecord::Comm { thread, name } => drop(names.insert(thread, name)),
                SampleRecord::Begun { thread, parent } => {
                    let name = names.get(&parent).cloned();
                    names.extend(name.map(|name| (thread, name)));
                }
                SampleRecord::Lost(count) => samples.lost += count,
            }
        }
        if !more {
            return Ok(samples);
        }
    }
}

impl CpuSamples {
    fn add(&mut self, name: Option<String>, sample: CpuSample) {
        let next = self.stacks.len();
        let number = *self.stacks.entry((name, sample.stack)).or_insert(next);
        self.times.push((sample.time, number));
    }
}

/// Returns the function names of addresses, outermost first. All addresses except the innermost are
/// return addresses, which may be after the end of the calling function.
fn names(addresses: &[u64], symbols: &KernelSymbols) -> Vec<String> {
    let name = |(place, address): (usize, &u64)| {
        let within = address - u64::from(place > 0);
        symbols.name(within).to_owned()
    };
    addresses.iter().enumerate().map(name).rev().collect()
}

/// Builds a stack of the profile: the task, then its functions. Interrupts are not attributed to
/// the interrupted task. Returns `None` if the processor was idle.
fn stack(thread: Option<String>, mut functions: Vec<String>) -> Option<Vec<String>> {
    if let Some(place) = functions.iter().rposition(|name| is_interrupt(name)) {
        functions.drain(..place);
        functions.insert(0, INTERRUPT.to_owned());
        return Some(functions);
    }
    if functions.iter().any(|name| name == IDLE_FUNCTION) {
        return None;
    }
    let task = match thread {
        Some(name) => name,
        None => {
            let begins = |name: &String| THREAD_BEGIN.contains(&name.as_str());
            let within = functions.iter().take_while(|name| begins(name)).count();
            // Keep the last function even if it is a frame: it does the work.
            functions.drain(..within.min(functions.len().saturating_sub(1)));
            KERNEL.to_owned()
        }
    };
    if functions.is_empty() {
        functions.push(USER.to_owned());
    }
    functions.insert(0, task);
    Some(functions)
}

/// Returns true for the kernel's entry functions of interrupts (x86).
fn is_interrupt(function: &str) -> bool {
    function.starts_with("asm_sysvec_") || function == "asm_common_interrupt"
}

/// Returns the name of each thread in this namespace.
fn names_of_threads() -> HashMap<u32, String> {
    let own = name_of(Path::new("/proc/self/comm"));
    let mut names = HashMap::new();
    for process in numbered("/proc") {
        for thread in numbered(process.join("task")) {
            let number = thread.file_name().and_then(|name| name.to_str()?.parse().ok());
            let name = name_of(&thread.join("comm"));
            if let (Some(number), Some(name)) = (number, name) {
                let is_own = Some(&name) == own.as_ref();
                names.insert(number, if is_own { OWN_NAME.to_owned() } else { name });
            }
        }
    }
    names
}

fn name_of(path: &Path) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim_end().to_owned())
}

/// Lists the entries of a directory of `/proc` whose names are numbers.
fn numbered(directory: impl AsRef<Path>) -> impl Iterator<Item = std::path::PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        name.iter().all(u8::is_ascii_digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(thread: Option<&str>, functions: &str) -> Option<String> {
        let functions = functions.split_whitespace().map(str::to_owned).collect();
        Some(stack(thread.map(str::to_owned), functions)?.join(";"))
    }

    #[test]
    fn attributes_each_sample_to_its_task() {
        let found = |thread, functions| found(thread, functions).unwrap_or_default();
        assert_eq!(found(Some("fsarena"), ""), "fsarena;[user]");
        assert_eq!(found(Some("fsarena"), "entry read"), "fsarena;entry;read");
        let worker = "ret_from_fork kthread worker_thread process_one_work wb_workfn copy";
        assert_eq!(found(None, worker), "kernel;wb_workfn;copy");
        assert_eq!(found(None, "ret_from_fork kthread"), "kernel;kthread");
        let interrupted = "entry read asm_sysvec_apic_timer_interrupt do_softirq";
        let interrupt = "interrupt;asm_sysvec_apic_timer_interrupt;do_softirq";
        assert_eq!(found(Some("fsarena"), interrupted), interrupt);
        let idle = "cpu_startup_entry do_idle default_idle";
        assert_eq!(found(None, idle), "");
        assert_eq!(
            found(None, &format!("{idle} asm_common_interrupt end")),
            "interrupt;asm_common_interrupt;end"
        );
    }

    #[test]
    fn equal_stacks_have_one_number() {
        let mut samples = CpuSamples::default();
        let sample =
            |time, address| CpuSample { time: Nanos(time), thread: 1, stack: vec![address] };
        for (time, address) in [(1, 7), (2, 8), (3, 7)] {
            samples.add(None, sample(time, address));
        }
        let times = [(Nanos(1), 0), (Nanos(2), 1), (Nanos(3), 0)];
        assert_eq!((samples.times, samples.stacks.len()), (times.to_vec(), 2));
    }
}
