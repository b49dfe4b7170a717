//! Command line of QEMU for a guest.

use std::path::Path;
use std::process::Command;

use model::{Accelerator, Bytes, Clock, DiskCache};

use crate::Guest;
use crate::boot::memory_disk::GuestMemoryLayout;
use crate::boot::shared_memory::SharedMemoryFile;

/// Name of the serial channel between agent and orchestrator. The agent finds the channel by this
/// name.
pub const CHANNEL: &str = "fsarena";
/// Name of the first disk in a guest.
pub const DISK: &str = "/dev/vda";
/// Mount point of the measured filesystem in a guest.
pub const MOUNTPOINT: &str = "/mnt";

/// Program of the emulator.
pub const QEMU: &str = "qemu-system-x86_64";
/// Kernel command line. Warnings and errors go to the console. An oops or running out of memory
/// stops the guest at once, and a panic ends QEMU: results after such an event are meaningless.
///
/// Programs are not loaded at random addresses. A kernel that QEMU starts without its boot loader
/// is not randomised either, because only the loader knows `nokaslr`. Mitigations of processor bugs
/// are off: their cost differs between processors, and newer ones do not need them. The kernel
/// skips the self-tests of its ciphers, which would take half of the boot time. It does calibrate
/// the processor's timer against the machine's, which takes half of the rest: with `noapictimer`,
/// virtual time differed in a third of the runs in which QEMU's main loop was woken without reason.
const KERNEL_WORDS: &str = "console=ttyS0 loglevel=5 oops=panic panic=-1 sysctl.vm.panic_on_oom=1 \
                            norandmaps mitigations=off cryptomgr.notests";
/// Trusts the instruction counter as a clock in virtual time, without a watchdog. Otherwise the
/// kernel observes the counter for half a second. In that time, timers expire only with the next
/// tick, every 4 ms, and so do requests of a simulated disk: an early mkfs or mount would take one
/// tick per request.
const VIRTUAL_WORDS: &str = " tsc=reliable";
/// Trusts the timer in real time. Otherwise the kernel waits for ten ticks, as long as its delay loop
/// takes, and panics if this machine is too busy to send them (`IO-APIC + timer doesn't work`).
const REAL_WORDS: &str = " no_timer_check";
/// Words that the kernel does not know and passes to the agent.
const AGENT_WORDS: &str = "-- agent --guest";
/// Words for the agent of a guest with an interactive shell.
const SHELL_WORDS: &str = "-- agent --guest-shell";

/// Processor for virtual time. It has a fixed name, because `max` differs between versions of QEMU,
/// and lacks features that QEMU does not emulate (vme). As each instruction takes a nanosecond, its
/// features determine the cost of copies and checksums:
///
/// - It copies 8 bytes per instruction (`rep movsq`, 8 GB/s), as the kernel does on processors
///   without "enhanced" string operations (erms). With erms it would copy one byte per instruction,
///   a tenth of the rate of a real processor.
/// - It has instructions for CRC-32C, carry-less multiplication and AES, like real processors.
/// - It has no source of random numbers (rdrand, rdseed), so the host cannot influence results.
const MODEL_PROCESSOR: &str = "Westmere-v1,-vme";

/// Options of `-icount`: idle time takes no time of the host.
///
/// The recording is never read; it only enables a stricter main loop. QEMU's main loop then waits
/// until the processor has stopped and accounted for its instructions (`replay_mutex_lock` in
/// docs/devel/replay.rst of QEMU). Otherwise the main loop may run just when the guest halts, find
/// an idle processor, and advance the clock to the next timer from a value that lacks the last few
/// hundred instructions, which are then counted twice. That race depends on the host's scheduling
/// of both threads.
const CLOCK_OF_INSTRUCTIONS: &str = "sleep=off,rr=record,rrfile=/dev/null";

/// Initial state of a machine with a card.
#[derive(Clone, Copy, Debug)]
pub enum StartFrom<'a> {
    /// The machine boots a kernel.
    Boot {
        /// Guest whose kernel boots.
        guest: &'a Guest,
        /// The initramfs that all guests share ([`Guest::write_common_initramfs`]).
        first_filesystem: &'a Path,
    },
    /// A snapshot of a machine that differs only in the contents of its card.
    Snapshot {
        /// File with the saved memory. The machine uses this file as its memory and modifies it.
        memory: &'a Path,
        /// File with the rest of the machine's state. The path must not need quotation marks.
        state: &'a Path,
    },
}

/// Output files of a machine.
#[derive(Clone, Copy, Debug)]
pub struct ConsoleOutput<'a> {
    /// File for the events of the agent.
    pub events: &'a Path,
    /// File to which the console output is appended.
    pub console: &'a Path,
}

/// Returns the names of disks in a guest, at most 26.
pub fn disks(count: u32) -> Vec<String> {
    let letters = ('a'..='z').take(count as usize);
    letters.map(|letter| format!("/dev/vd{letter}")).collect()
}

/// A machine with a fixed configuration and without network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QemuMachine {
    /// Its memory.
    pub memory: Bytes,
    /// Additional memory for disks in memory.
    pub disk_memory: Bytes,
    /// Number of processors; always 1 in virtual time.
    pub processors: u32,
    /// The clock. In virtual time an instruction takes a nanosecond and waiting takes no time: a
    /// model of a machine, on which the same cell takes the same time under any load of the host.
    /// No input may reach the machine while it runs.
    pub clock: Clock,
    /// Accelerator that executes instructions; always emulation in virtual time.
    pub accelerator: Accelerator,
    /// Exponent of the time per instruction in virtual time: an instruction takes 2^`shift`
    /// nanoseconds.
    pub shift: u32,
    /// Cache mode of the host for the disks.
    pub cache: DiskCache,
    /// True if the host accesses the disks through io_uring.
    pub io_uring: bool,
    /// QEMU plugin that observes the guest, as an argument of `-plugin` of qemu(1).
    pub plugin: Option<String>,
}

impl Default for QemuMachine {
    /// Returns an emulated machine with one processor and real time.
    fn default() -> Self {
        Self {
            memory: Bytes::mib(1024),
            disk_memory: Bytes(0),
            processors: 1,
            clock: Clock::Real,
            accelerator: Accelerator::Tcg,
            shift: 0,
            cache: DiskCache::Writeback,
            io_uring: false,
            plugin: None,
        }
    }
}

impl QemuMachine {
    /// Returns the command that starts the machine. Standard input and output are the agent's
    /// channel; the console goes into a file. QEMU ends when the guest powers off or its kernel
    /// panics.
    pub fn command(
        &self,
        guest: &Guest,
        first_filesystem: &Path,
        disks: &[&Path],
        console: &Path,
    ) -> Command {
        let mut command = self.bare(None);
        self.boots(&mut command, guest, first_filesystem, AGENT_WORDS);
        self.has_disks(&mut command, disks);
        speaks(&mut command, "stdio,signal=off", console);
        command
    }

    /// Returns the command for a machine with a card. The card contains the files that are not in
    /// the initramfs. The machine boots or starts from a [snapshot](Self::command_for_snapshot); its
    /// agent cannot tell the difference. Standard input and output are QEMU's control channel
    /// (QMP).
    pub fn command_with_shared_memory(
        &self,
        begin: &StartFrom<'_>,
        card: &SharedMemoryFile<'_>,
        disks: &[&Path],
        says: &ConsoleOutput<'_>,
    ) -> Command {
        let mut command = match begin {
            StartFrom::Boot { guest, first_filesystem } => {
                let mut command = self.bare(None);
                self.boots(&mut command, guest, first_filesystem, AGENT_WORDS);
                command.args(["-action", "watchdog=none"]);
                command
            }
            StartFrom::Snapshot { memory, state } => {
                let mut command = self.bare(Some(memory));
                command
                    .args(["-action", "watchdog=none", "-incoming"])
                    .arg(format!("exec:cat {}", state.display()));
                command
            }
        };
        self.has_disks(&mut command, disks);
        let events = format!("file,path={}", escaped(says.events));
        speaks(&mut command, &events, says.console);
        card.add_to(&mut command);
        takes_commands(&mut command);
        command
    }

    /// Returns the command that starts a machine for a snapshot. The machine stops when its agent
    /// is about to read the card. Its memory is the file `memory`. Standard input and output are
    /// QEMU's control channel (QMP).
    pub fn command_for_snapshot(
        &self,
        guest: &Guest,
        first_filesystem: &Path,
        card: &SharedMemoryFile<'_>,
        memory: &Path,
        console: &Path,
    ) -> Command {
        let mut command = self.bare(Some(memory));
        self.boots(&mut command, guest, first_filesystem, AGENT_WORDS);
        command.args(["-action", "watchdog=pause"]);
        speaks(&mut command, "file,path=/dev/null", console);
        card.add_to(&mut command);
        takes_commands(&mut command);
        command
    }

    /// Returns the command that starts an interactive machine. Standard input and output are its
    /// console; Ctrl-A opens QEMU's monitor.
    pub fn shell(&self, guest: &Guest, first_filesystem: &Path, disks: &[&Path]) -> Command {
        let mut command = self.bare(None);
        self.boots(&mut command, guest, first_filesystem, SHELL_WORDS);
        self.has_disks(&mut command, disks);
        command.args(["-serial", "mon:stdio"]);
        command
    }

    /// Returns a command without kernel, disks and channels. If `memory` is given, the memory is a
    /// file that belongs to a snapshot, the saved state does not include the memory, and
    /// descriptions of its layout are off.
    fn bare(&self, memory: Option<&Path>) -> Command {
        let size = format!("{}k", self.all_memory().0 >> 10);
        let machine = match memory {
            None => "q35",
            Some(_) => "q35,memory-backend=memory,suppress-vmdesc=on",
        };
        let mut command = Command::new(QEMU);
        command
            .args(["-nodefaults", "-no-user-config", "-display", "none"])
            .args(["-machine", machine, "-no-reboot"])
            .args(["-cpu", self.cpu()])
            .args(self.clock_words())
            .args(self.instruction_words())
            .args(["-smp", &self.processors().to_string()])
            .args(["-m", &size]);
        if let Some(plugin) = &self.plugin {
            command.args(["-plugin", plugin]);
        }
        if let Some(file) = memory {
            command
                .args(["-global", "migration.send-configuration=off", "-object"])
                .arg(memory_backend_args("memory", file, &size));
        }
        command
    }

    /// Adds the kernel, the initramfs and the kernel command line.
    fn boots(&self, command: &mut Command, guest: &Guest, first_filesystem: &Path, agent: &str) {
        command
            .arg("-kernel")
            .arg(guest.kernel())
            .arg("-initrd")
            .arg(first_filesystem)
            .args(["-append", &self.words(guest, agent)]);
    }

    fn has_disks(&self, command: &mut Command, disks: &[&Path]) {
        for (number, disk) in disks.iter().enumerate() {
            command.arg("-drive").arg(format!(
                "file={},format=raw,if=none,id=disk{number},{}",
                escaped(disk),
                self.disk_words()
            ));
            // Report all errors to the guest. By default QEMU would pause the guest if the host's
            // disk is full and wait for a person to free space.
            command
                .arg("-device")
                .arg(format!("virtio-blk-pci,drive=disk{number},werror=report,rerror=report"));
        }
    }

    /// Returns the kernel command line, followed by the arguments of the agent.
    fn words(&self, guest: &Guest, agent: &str) -> String {
        let layout = match guest.has_disk_driver() {
            true => GuestMemoryLayout::of(self.memory, self.disk_memory).memmap_parameter(),
            false => String::new(),
        };
        format!("{KERNEL_WORDS}{}{layout} {agent}", self.kernel_clock_words())
    }

    /// Returns the kernel parameters of the clock.
    const fn kernel_clock_words(&self) -> &'static str {
        match self.clock {
            Clock::Real => REAL_WORDS,
            Clock::Virtual => VIRTUAL_WORDS,
        }
    }

    fn all_memory(&self) -> Bytes {
        GuestMemoryLayout::of(self.memory, self.disk_memory).total
    }

    const fn processors(&self) -> u32 {
        match self.clock {
            Clock::Real => self.processors,
            Clock::Virtual => 1,
        }
    }

    /// Returns the processor model, as an argument of `-cpu` of qemu(1).
    pub const fn cpu(&self) -> &'static str {
        match (self.clock, self.accelerator) {
            (Clock::Real, Accelerator::Kvm) => "host",
            (Clock::Real, Accelerator::Tcg) => "max",
            (Clock::Virtual, _) => MODEL_PROCESSOR,
        }
    }

    const fn clock_words(&self) -> &'static [&'static str] {
        match (self.clock, self.accelerator) {
            (Clock::Real, Accelerator::Kvm) => &["-accel", "kvm"],
            (Clock::Real, Accelerator::Tcg) => &["-accel", "tcg,thread=multi"],
            (Clock::Virtual, _) => &[
                "-accel",
                "tcg,thread=single",
                "-seed",
                "1",
                "-rtc",
                "base=2020-01-01,clock=vm",
                "-uuid",
                "00000000-0000-0000-0000-000000000001",
            ],
        }
    }

    /// Returns the options for the duration of an instruction in virtual time.
    fn instruction_words(&self) -> Vec<String> {
        match self.clock {
            Clock::Real => Vec::new(),
            Clock::Virtual => {
                vec!["-icount".to_owned(), format!("shift={},{CLOCK_OF_INSTRUCTIONS}", self.shift)]
            }
        }
    }

    fn disk_words(&self) -> String {
        let through = match self.io_uring {
            true => ",aio=io_uring",
            false => "",
        };
        format!("cache={}{through}", self.cache.name())
    }
}

/// Adds the agent's channel, and the console, which is appended to a file.
fn speaks(command: &mut Command, channel: &str, console: &Path) {
    command
        .arg("-chardev")
        .arg(format!("{channel},id=channel"))
        // Without this, another thread receives the guest's output at an unpredictable moment.
        .args(["-device", "virtio-serial-pci,ioeventfd=off"])
        .arg("-device")
        .arg(format!("virtserialport,chardev=channel,name={CHANNEL}"))
        .arg("-chardev")
        .arg(format!("file,id=console,append=on,path={}", escaped(console)))
        .args(["-serial", "chardev:console"]);
}

/// Makes standard input and output QEMU's control channel (QMP).
fn takes_commands(command: &mut Command) {
    command
        .args(["-chardev", "stdio,id=commands,signal=off"])
        .args(["-mon", "chardev=commands,mode=control"]);
}

/// Returns the argument for machine memory that is stored in a file.
pub(crate) fn memory_backend_args(name: &str, file: &Path, size: &str) -> String {
    let path = escaped(file);
    format!("memory-backend-file,id={name},size={size},share=on,mem-path={path}")
}

/// Escapes a path in an option of QEMU: commas are doubled.
pub(crate) fn escaped(path: &Path) -> String {
    path.to_string_lossy().replace(',', ",,")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_virtual_time_everything_that_could_vary_is_pinned() {
        let machine = |clock| QemuMachine {
            memory: Bytes::mib(512),
            processors: 4,
            clock,
            ..QemuMachine::default()
        };
        let model = machine(Clock::Virtual);
        assert_eq!((model.processors(), machine(Clock::Real).processors()), (1, 4));
        let words = model.clock_words().join(" ") + &model.instruction_words().join(" ");
        assert_eq!(model.cpu(), MODEL_PROCESSOR);
        for pinned in ["-icount shift=0,sleep=off,rr=record", "-seed", "-rtc", "-uuid"] {
            assert!(words.contains(pinned), "{pinned}");
        }
        assert!(KERNEL_WORDS.split(' ').any(|word| word == "norandmaps"));
    }

    #[test]
    fn disk_names_match_those_of_the_kernel() {
        assert_eq!(disks(3), [DISK, "/dev/vdb", "/dev/vdc"]);
    }

    #[test]
    fn a_busy_machine_does_not_panic_a_guest_in_real_time() {
        let words = |clock| QemuMachine { clock, ..QemuMachine::default() }.kernel_clock_words();
        assert!(words(Clock::Real).contains("no_timer_check"));
        // Ticks in virtual time do not depend on the machine, and a parameter costs instructions.
        assert_eq!(words(Clock::Virtual), " tsc=reliable");
    }

    #[test]
    fn virtual_time_always_uses_emulation() {
        let machine = QemuMachine {
            clock: Clock::Virtual,
            accelerator: Accelerator::Kvm,
            processors: 4,
            ..QemuMachine::default()
        };
        assert!(machine.clock_words().contains(&"tcg,thread=single"));
        assert_eq!((machine.processors(), machine.cpu()), (1, MODEL_PROCESSOR));
    }

    #[test]
    fn disk_cache_follows_the_machine_settings() {
        let machine =
            QemuMachine { cache: DiskCache::None, io_uring: true, ..QemuMachine::default() };
        assert_eq!(machine.disk_words(), "cache=none,aio=io_uring");
        assert_eq!(QemuMachine::default().disk_words(), "cache=writeback");
    }

    #[test]
    fn a_comma_in_a_path_is_no_end() {
        assert_eq!(escaped(Path::new("/a,b/c")), "/a,,b/c");
    }
}
