//! The machine that a guest is: a command line of QEMU.

use std::path::Path;
use std::process::Command;

use model::{Bytes, Nanos};

use crate::Guest;

/// The name of the serial channel between agent and orchestrator, by which the agent finds it.
pub const CHANNEL: &str = "fsarena";
/// What a guest calls its first disk.
pub const DISK: &str = "/dev/vda";
/// What a guest calls its disk in memory.
pub const MEMORY_DISK: &str = "/dev/nullb0";
/// Where a guest mounts what it measures.
pub const MOUNTPOINT: &str = "/mnt";

const QEMU: &str = "qemu-system-x86_64";
/// Warnings and worse go to the console. An oops ends the guest at once, and so does want of memory, and a
/// panic the machine: what would limp on after it says nothing about the filesystem.
///
/// No program lies at a random place in memory; nor does a kernel that QEMU starts without its loader, which
/// alone knows the word `nokaslr`. No processor's weakness is worked around: what that costs differs from one
/// processor to the next, and newer ones do not have to.
const KERNEL_WORDS: &str = "console=ttyS0 loglevel=5 oops=panic panic=-1 sysctl.vm.panic_on_oom=1 \
                            norandmaps mitigations=off";
/// What the kernel does not know is a word for the agent.
const AGENT_WORDS: &str = "-- agent --guest";
/// The same for a guest in which a person looks around.
const SHELL_WORDS: &str = "-- agent --guest-shell";

/// The processor of model time: one by name, since `max` is another with each QEMU, and without what
/// QEMU does not emulate (vme). Where each instruction takes a nanosecond, what it can do decides what
/// copying and checksums cost:
///
/// - It copies 8 bytes an instruction (`rep movsq`, 8 GB/s), as the kernel does on processors without
///   "enhanced" string operations (erms): with these it would be a byte an instruction, a tenth of what a
///   real processor does.
/// - It has CRC-32C, carry-less multiplication and AES as instructions, as real ones have.
/// - It has no source of random numbers (rdrand, rdseed): nothing comes from this machine's.
const MODEL_PROCESSOR: &str = "Westmere-v1,-vme";

/// How time passes in a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// As outside. What is emulated is slow in its own way, so that figures mean little.
    Real,
    /// An instruction takes a nanosecond and waiting nothing: a model of a machine, on which the same cell
    /// takes the same time whatever else the host does. Nothing may come from outside while it runs.
    Model,
}

/// A disk in the guest's memory (null_blk), as Documentation/block/null_blk.rst of the kernel describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryDisk {
    /// Its size, in whole MiB.
    pub size: Bytes,
    /// How long each request takes.
    pub latency: Nanos,
}

impl MemoryDisk {
    /// What is written into which of its files, a line each, in this order.
    pub fn attributes(&self) -> String {
        const TIMER: u32 = 2;
        format!(
            "size {}\nblocksize 512\nmemory_backed 1\nirqmode {TIMER}\ncompletion_nsec {}\npower 1\n",
            self.size.0 >> 20,
            self.latency.0
        )
    }
}

/// A machine with known parts. It has no network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its memory.
    pub memory: Bytes,
    /// Its processors, emulated; in model time there is one.
    pub processors: u32,
    /// How time passes in it.
    pub clock: Clock,
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
            .args(["-append", &format!("{KERNEL_WORDS} {AGENT_WORDS}")])
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
            .args(["-append", &format!("{KERNEL_WORDS} {SHELL_WORDS}")])
            .args(["-serial", "mon:stdio"]);
        command
    }

    /// The machine without anything that it says or hears.
    fn bare(&self, guest: &Guest, first_filesystem: &Path, disks: &[&Path]) -> Command {
        let mut command = Command::new(QEMU);
        command
            .args(["-nodefaults", "-no-user-config", "-display", "none"])
            .args(["-machine", "q35", "-no-reboot"])
            .args(self.clock_words())
            .args(["-smp", &self.processors().to_string()])
            .args(["-m", &format!("{}k", self.memory.0 >> 10)])
            .arg("-kernel")
            .arg(guest.kernel())
            .arg("-initrd")
            .arg(first_filesystem);
        for (number, disk) in disks.iter().enumerate() {
            command.arg("-drive").arg(format!(
                "file={},format=raw,if=none,id=disk{number}",
                escaped(disk)
            ));
            // Errors are the guest's to see, all of them: QEMU would stop it where this machine's disk is
            // full, and wait for somebody who makes room.
            command.arg("-device").arg(format!(
                "virtio-blk-pci,drive=disk{number},werror=report,rerror=report"
            ));
        }
        command
    }

    const fn processors(&self) -> u32 {
        match self.clock {
            Clock::Real => self.processors,
            Clock::Model => 1,
        }
    }

    const fn clock_words(&self) -> &'static [&'static str] {
        match self.clock {
            Clock::Real => &["-cpu", "max", "-accel", "tcg,thread=multi"],
            Clock::Model => &[
                "-cpu",
                MODEL_PROCESSOR,
                "-accel",
                "tcg,thread=single",
                "-icount",
                "shift=0,sleep=off",
                "-seed",
                "1",
                "-rtc",
                "base=2020-01-01,clock=vm",
                "-uuid",
                "00000000-0000-0000-0000-000000000001",
            ],
        }
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
    fn in_model_time_everything_that_could_vary_is_pinned() {
        let machine = |clock| Machine {
            memory: Bytes::mib(512),
            processors: 4,
            clock,
        };
        let model = machine(Clock::Model);
        assert_eq!(
            (model.processors(), machine(Clock::Real).processors()),
            (1, 4)
        );
        let words = model.clock_words().join(" ");
        for pinned in [
            "-cpu Westmere-v1",
            "-icount shift=0,sleep=off",
            "-seed",
            "-rtc",
            "-uuid",
        ] {
            assert!(words.contains(pinned), "{pinned}");
        }
        assert!(KERNEL_WORDS.split(' ').any(|word| word == "norandmaps"));
    }

    #[test]
    fn a_comma_in_a_path_is_no_end() {
        assert_eq!(escaped(Path::new("/a,b/c")), "/a,,b/c");
    }
}
