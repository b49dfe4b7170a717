//! The machine that a guest is: a command line of QEMU.

use std::path::Path;
use std::process::Command;

use model::{Accelerator, Bytes, Clock, DiskCache};

use crate::Guest;
use crate::memory_disk::Layout;

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

/// What a guest calls its disks, up to 26 of them.
pub fn disks(count: u32) -> Vec<String> {
    let letters = ('a'..='z').take(count as usize);
    letters.map(|letter| format!("/dev/vd{letter}")).collect()
}

/// A machine with known parts. It has no network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its memory.
    pub memory: Bytes,
    /// Memory beside that, for disks that lie in it.
    pub beside: Bytes,
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

impl Default for Machine {
    /// An emulated machine with one processor, on which time passes as outside.
    fn default() -> Self {
        Self {
            memory: Bytes::mib(1024),
            beside: Bytes(0),
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

impl Machine {
    /// The command that starts it. Standard input and output are the agent's channel; the console goes
    /// into a file. It ends when the guest switches itself off, and when the kernel panics.
    pub fn command(
        &self,
        guest: &Guest,
        first_filesystem: &Path,
        disks: &[&Path],
        console: &Path,
    ) -> Command {
        let mut command = self.bare(guest, first_filesystem, disks);
        command
            .args(["-append", &self.words(guest, AGENT_WORDS)])
            .args(["-chardev", "stdio,id=channel,signal=off"])
            // Otherwise another thread takes what the guest says, at a moment of its own.
            .args(["-device", "virtio-serial-pci,ioeventfd=off"])
            .arg("-device")
            .arg(format!("virtserialport,chardev=channel,name={CHANNEL}"))
            .arg("-chardev")
            .arg(format!("file,id=console,path={}", escaped(console)))
            .args(["-serial", "chardev:console"]);
        command
    }

    /// The command that starts it for a person: standard input and output are its console, with QEMU's
    /// own commands behind Ctrl-A.
    pub fn shell(&self, guest: &Guest, first_filesystem: &Path, disks: &[&Path]) -> Command {
        let mut command = self.bare(guest, first_filesystem, disks);
        command
            .args(["-append", &self.words(guest, SHELL_WORDS)])
            .args(["-serial", "mon:stdio"]);
        command
    }

    /// The machine without anything that it says or hears.
    fn bare(&self, guest: &Guest, first_filesystem: &Path, disks: &[&Path]) -> Command {
        let mut command = Command::new(QEMU);
        command
            .args(["-nodefaults", "-no-user-config", "-display", "none"])
            .args(["-machine", "q35", "-no-reboot"])
            .args(["-cpu", self.cpu()])
            .args(self.clock_words())
            .args(self.instruction_words())
            .args(["-smp", &self.processors().to_string()])
            .args(["-m", &format!("{}k", self.all_memory().0 >> 10)])
            .arg("-kernel")
            .arg(guest.kernel())
            .arg("-initrd")
            .arg(first_filesystem);
        if let Some(plugin) = &self.plugin {
            command.args(["-plugin", plugin]);
        }
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
        command
    }

    /// What its kernel is told, and behind that the agent.
    fn words(&self, guest: &Guest, agent: &str) -> String {
        let layout = match guest.has_disk_driver() {
            true => Layout::of(self.memory, self.beside).words(),
            false => String::new(),
        };
        format!("{KERNEL_WORDS}{layout} {agent}")
    }

    fn all_memory(&self) -> Bytes {
        Layout::of(self.memory, self.beside).total
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

/// In options of QEMU, a comma that is no end is written twice.
fn escaped(path: &Path) -> String {
    path.to_string_lossy().replace(',', ",,")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_virtual_time_everything_that_could_vary_is_pinned() {
        let machine = |clock| Machine {
            memory: Bytes::mib(512),
            processors: 4,
            clock,
            ..Machine::default()
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
        let machine = Machine {
            clock: Clock::Virtual,
            accelerator: Accelerator::Kvm,
            processors: 4,
            ..Machine::default()
        };
        assert!(machine.clock_words().contains(&"tcg,thread=single"));
        assert_eq!((machine.processors(), machine.cpu()), (1, MODEL_PROCESSOR));
    }

    #[test]
    fn disks_are_cached_as_the_machine_says() {
        let machine = Machine {
            cache: DiskCache::None,
            io_uring: true,
            ..Machine::default()
        };
        assert_eq!(machine.disk_words(), "cache=none,aio=io_uring");
        assert_eq!(Machine::default().disk_words(), "cache=writeback");
    }

    #[test]
    fn a_comma_in_a_path_is_no_end() {
        assert_eq!(escaped(Path::new("/a,b/c")), "/a,,b/c");
    }
}
