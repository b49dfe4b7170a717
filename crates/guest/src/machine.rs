//! The machine that a guest is: a command line of QEMU.

use std::path::Path;
use std::process::Command;

use model::{Accelerator, Bytes, Clock, DiskCache};

use crate::Guest;
use crate::memory_disk::GuestMemoryLayout;
use crate::shared_memory::SharedMemoryFile;

/// The name of the serial channel between agent and orchestrator, by which the agent finds it.
pub const CHANNEL: &str = "fsarena";
/// What a guest calls its first disk.
pub const DISK: &str = "/dev/vda";
/// Where a guest mounts what it measures.
pub const MOUNTPOINT: &str = "/mnt";

/// The program that emulates.
pub const QEMU: &str = "qemu-system-x86_64";
/// Warnings and worse go to the console. An oops ends the guest at once, and so does want of memory, and a
/// panic the machine: what would limp on after it says nothing about the filesystem.
///
/// No program lies at a random place in memory; nor does a kernel that QEMU starts without its loader, which
/// alone knows the word `nokaslr`. No processor's weakness is worked around: what that costs differs from one
/// processor to the next, and newer ones do not have to.
/// The kernel does not try its ciphers before it uses them, which would be half of the time it takes to boot. It does
/// compare the processor's timer with the machine's, which is half of what is left: with the machine's alone
/// (`noapictimer`), virtual time differed in a third of the runs in which QEMU's main loop was woken for nothing.
const KERNEL_WORDS: &str = "console=ttyS0 loglevel=5 oops=panic panic=-1 sysctl.vm.panic_on_oom=1 \
                            norandmaps mitigations=off cryptomgr.notests";
/// In virtual time the counter of instructions is a clock that needs no second one to watch it. Until that has watched it for
/// half a second, the kernel lets timers end with the next tick, every 4 ms, and requests of a simulated disk with
/// them: whatever a cell did so early (mkfs, mount) took as many ticks as it made requests.
const VIRTUAL_WORDS: &str = " tsc=reliable";
/// What the kernel does not know is a word for the agent.
const AGENT_WORDS: &str = "-- agent --guest";
/// The same for a guest in which a person looks around.
const SHELL_WORDS: &str = "-- agent --guest-shell";

/// The processor of virtual time: one by name, since `max` is another with each QEMU, and without what
/// QEMU does not emulate (vme). Where each instruction takes a nanosecond, what it can do decides what
/// copying and checksums cost:
///
/// - It copies 8 bytes an instruction (`rep movsq`, 8 GB/s), as the kernel does on processors without
///   "enhanced" string operations (erms): with these it would be a byte an instruction, a tenth of what a
///   real processor does.
/// - It has CRC-32C, carry-less multiplication and AES as instructions, as real ones have.
/// - It has no source of random numbers (rdrand, rdseed): nothing comes from this machine's.
const MODEL_PROCESSOR: &str = "Westmere-v1,-vme";

/// An instruction takes a nanosecond, and waiting takes no time of this machine's.
///
/// The recording, which nobody reads, is for what comes with it: QEMU's main loop then waits until the processor has
/// stopped and accounted for what it did (`replay_mutex_lock` in docs/devel/replay.rst of QEMU). Otherwise it may look
/// just when the guest halts, see a processor that is idle, and advance the clock to the next timer from where the
/// clock was before the last few hundred instructions, which are then counted twice. That depends on how this
/// machine's scheduler treats both threads.
const CLOCK_OF_INSTRUCTIONS: &str = "sleep=off,rr=record,rrfile=/dev/null";

/// Where a machine with a card begins.
#[derive(Clone, Copy, Debug)]
pub enum StartFrom<'a> {
    /// At its first moment.
    Boot {
        /// Whose kernel it boots.
        guest: &'a Guest,
        /// What all guests have in common ([`Guest::common_filesystem`]).
        first_filesystem: &'a Path,
    },
    /// Where another, the same but for what its card holds, was saved.
    Snapshot {
        /// A file with the memory as it was. It is the memory of this machine from now on.
        memory: &'a Path,
        /// A file with the state of all else, whose path needs no quotation marks.
        state: &'a Path,
    },
}

/// Where goes what a machine says.
#[derive(Clone, Copy, Debug)]
pub struct ConsoleOutput<'a> {
    /// A file for what its agent says.
    pub events: &'a Path,
    /// A file for its console, which is appended.
    pub console: &'a Path,
}

/// What a guest calls its disks, up to 26 of them.
pub fn disks(count: u32) -> Vec<String> {
    let letters = ('a'..='z').take(count as usize);
    letters.map(|letter| format!("/dev/vd{letter}")).collect()
}

/// A machine with known parts. It has no network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QemuMachine {
    /// Its memory.
    pub memory: Bytes,
    /// Memory beside that, for disks that lie in it.
    pub disk_memory: Bytes,
    /// Its processors; in virtual time there is one.
    pub processors: u32,
    /// How time passes in it. In virtual time an instruction takes a nanosecond and waiting nothing: a model
    /// of a machine, on which the same cell takes the same time whatever else the host does. Nothing may
    /// come from outside while it runs.
    pub clock: Clock,
    /// Who executes its instructions; in virtual time they are always emulated.
    pub accelerator: Accelerator,
    /// In virtual time an instruction takes two to the power of this in nanoseconds.
    pub shift: u32,
    /// How the host caches what its disks hold.
    pub cache: DiskCache,
    /// Whether the host reads and writes its disks through io_uring.
    pub io_uring: bool,
    /// What QEMU loads to watch the guest, as `-plugin` of qemu(1) says it.
    pub plugin: Option<String>,
}

impl Default for QemuMachine {
    /// An emulated machine with one processor, on which time passes as outside.
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
    /// The command that starts it. Standard input and output are the agent's channel; the console goes
    /// into a file. It ends when the guest switches itself off, and when the kernel panics.
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

    /// The same machine with a card on which the guest finds what its first filesystem does not hold. From its first
    /// moment, or from where another was when it was [saved](Machine::to_be_saved): its agent cannot tell which. Standard
    /// input and output take QEMU's own commands (QMP).
    pub fn command_with_shared_memory(
        &self,
        begin: &StartFrom<'_>,
        card: &SharedMemoryFile<'_>,
        disks: &[&Path],
        says: &ConsoleOutput<'_>,
    ) -> Command {
        let mut command = match begin {
            StartFrom::Boot {
                guest,
                first_filesystem,
            } => {
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

    /// The command that starts it to be saved as soon as its agent is about to look at the card: it stops there, its
    /// memory is that file, and standard input and output take QEMU's own commands (QMP).
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

    /// The command that starts it for a person: standard input and output are its console, with QEMU's
    /// own commands behind Ctrl-A.
    pub fn shell(&self, guest: &Guest, first_filesystem: &Path, disks: &[&Path]) -> Command {
        let mut command = self.bare(None);
        self.boots(&mut command, guest, first_filesystem, SHELL_WORDS);
        self.has_disks(&mut command, disks);
        command.args(["-serial", "mon:stdio"]);
        command
    }

    /// The machine without a kernel, a disk, or anything that it says or hears. Its memory is a file where it is, or is
    /// to be, that of a saved one. With a file's memory goes that the state is without it, and without words on how
    /// it is laid out.
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

    /// What it boots.
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
            // Errors are the guest's to see, all of them: QEMU would stop it where this machine's disk is
            // full, and wait for somebody who makes room.
            command.arg("-device").arg(format!(
                "virtio-blk-pci,drive=disk{number},werror=report,rerror=report"
            ));
        }
    }

    /// What its kernel is told, and behind that the agent.
    fn words(&self, guest: &Guest, agent: &str) -> String {
        let layout = match guest.has_disk_driver() {
            true => GuestMemoryLayout::of(self.memory, self.disk_memory).memmap_parameter(),
            false => String::new(),
        };
        let clock = match self.clock {
            Clock::Real => "",
            Clock::Virtual => VIRTUAL_WORDS,
        };
        format!("{KERNEL_WORDS}{clock}{layout} {agent}")
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

    /// Its processor, as `-cpu` of qemu(1) says it.
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

    /// How long an instruction takes, where the clock counts them.
    fn instruction_words(&self) -> Vec<String> {
        match self.clock {
            Clock::Real => Vec::new(),
            Clock::Virtual => vec![
                "-icount".to_owned(),
                format!("shift={},{CLOCK_OF_INSTRUCTIONS}", self.shift),
            ],
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

/// The agent's channel, and the console, which goes into a file behind what that holds already.
fn speaks(command: &mut Command, channel: &str, console: &Path) {
    command
        .arg("-chardev")
        .arg(format!("{channel},id=channel"))
        // Otherwise another thread takes what the guest says, at a moment of its own.
        .args(["-device", "virtio-serial-pci,ioeventfd=off"])
        .arg("-device")
        .arg(format!("virtserialport,chardev=channel,name={CHANNEL}"))
        .arg("-chardev")
        .arg(format!(
            "file,id=console,append=on,path={}",
            escaped(console)
        ))
        .args(["-serial", "chardev:console"]);
}

/// QEMU's own commands come from standard input, and its answers go to standard output.
fn takes_commands(command: &mut Command) {
    command
        .args(["-chardev", "stdio,id=commands,signal=off"])
        .args(["-mon", "chardev=commands,mode=control"]);
}

/// Memory that is a file of this machine's.
pub(crate) fn memory_backend_args(name: &str, file: &Path, size: &str) -> String {
    let path = escaped(file);
    format!("memory-backend-file,id={name},size={size},share=on,mem-path={path}")
}

/// In options of QEMU, a comma that is no end is written twice.
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
        assert_eq!(
            (model.processors(), machine(Clock::Real).processors()),
            (1, 4)
        );
        let words = model.clock_words().join(" ") + &model.instruction_words().join(" ");
        assert_eq!(model.cpu(), MODEL_PROCESSOR);
        for pinned in [
            "-icount shift=0,sleep=off,rr=record",
            "-seed",
            "-rtc",
            "-uuid",
        ] {
            assert!(words.contains(pinned), "{pinned}");
        }
        assert!(KERNEL_WORDS.split(' ').any(|word| word == "norandmaps"));
    }

    #[test]
    fn disks_are_called_as_the_kernel_calls_them() {
        assert_eq!(disks(3), [DISK, "/dev/vdb", "/dev/vdc"]);
    }

    #[test]
    fn in_virtual_time_the_machine_is_emulated_whatever_else_is_asked_for() {
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
    fn disks_are_cached_as_the_machine_says() {
        let machine = QemuMachine {
            cache: DiskCache::None,
            io_uring: true,
            ..QemuMachine::default()
        };
        assert_eq!(machine.disk_words(), "cache=none,aio=io_uring");
        assert_eq!(QemuMachine::default().disk_words(), "cache=writeback");
    }

    #[test]
    fn a_comma_in_a_path_is_no_end() {
        assert_eq!(escaped(Path::new("/a,b/c")), "/a,,b/c");
    }
}
