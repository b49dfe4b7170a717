//! Detects whether guests can run on KVM by booting one. The existence of /dev/kvm is not
//! sufficient: on a virtual machine, an ordinary kernel may hang in its first instruction and use a
//! full processor.

use std::fs::OpenOptions;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::Bytes;
use sys::io::bounded;

use crate::boot::machine::QEMU;
use crate::process_runner::ProcessRunner;
use crate::{Guest, GuestError};

const DEVICE: &str = "/dev/kvm";
/// Limit of the trial boot, in seconds. On KVM, a kernel without an initramfs panics within about a
/// second.
const BOOT_TIMEOUT_SECONDS: &str = "5";
/// Maximum size of the output of the trial boot.
const MAX_CONSOLE_SIZE: Bytes = Bytes::mib(4);
/// Exit codes of timeout(1) after it killed the program.
const KILLED: [Option<i32>; 2] = [None, Some(137)];
/// Last message of a kernel without a root filesystem.
const BOOT_PROOF_MESSAGE: &str = "Unable to mount root fs";

/// Boots only the guest's kernel on KVM and waits a few seconds for it. Returns an inner `Err` with
/// the reason if KVM does not work.
///
/// # Errors
/// Returns an error if `stop` becomes true, or if the boot cannot be tried.
pub fn check_kvm(guest: &Guest, stop: &Arc<AtomicBool>) -> Result<Result<(), String>, GuestError> {
    if let Err(error) = OpenOptions::new().read(true).write(true).open(DEVICE) {
        return Ok(Err(format!("{DEVICE} cannot be used: {error}")));
    }
    let programs = ProcessRunner::new(stop)?;
    let mut emulator = Command::new("timeout");
    emulator
        // Keep QEMU in the process group that ends with this process.
        .args(["--foreground", "--signal=KILL", BOOT_TIMEOUT_SECONDS, QEMU])
        .args(["-nodefaults", "-no-user-config", "-display", "none"])
        .args(["-machine", "q35", "-no-reboot", "-accel", "kvm"])
        .args(["-cpu", "host", "-m", "256", "-kernel"])
        .arg(guest.kernel())
        .args(["-append", "console=ttyS0 panic=-1", "-serial", "stdio"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = programs.start(&mut emulator, "coreutils")?;
    let stopped = || stop.load(Ordering::Relaxed);
    let ended = bounded::output_of(child, MAX_CONSOLE_SIZE, &stopped);
    programs.check_stop()?;
    let ended = ended.map_err(|source| GuestError::Program {
        program: "timeout".to_owned(),
        package: "coreutils",
        source,
    })?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (console, errors) = (text(&ended.stdout), text(&ended.stderr));
    Ok(judge(&console, ended.status.code(), &errors))
}

/// Decides from the console output and the exit of QEMU whether the kernel ran.
fn judge(console: &str, code: Option<i32>, errors: &str) -> Result<(), String> {
    if console.contains(BOOT_PROOF_MESSAGE) {
        return Ok(());
    }
    if KILLED.contains(&code) {
        return Err(format!(
            "{DEVICE} exists, but a kernel did not boot on it within {BOOT_TIMEOUT_SECONDS} s"
        ));
    }
    let last = |text: &str| text.lines().rfind(|l| !l.trim().is_empty()).map(str::to_owned);
    let why = last(errors).or_else(|| last(console));
    let why = why.unwrap_or_else(|| "it said nothing".to_owned());
    Err(format!("{DEVICE} exists, but no kernel boots on it: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kvm_works_only_if_the_kernel_reaches_the_root_mount() {
        let panic =
            "Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)";
        assert_eq!(judge(panic, Some(0), ""), Ok(()));
        let hung = judge("", Some(137), "").unwrap_err();
        assert!(hung.contains("did not boot on it within 5 s"), "{hung}");
        let refused =
            judge("", Some(1), "Could not access KVM kernel module\nfailed\n").unwrap_err();
        assert!(refused.ends_with("no kernel boots on it: failed"), "{refused}");
        assert!(
            judge("Linux version 6.1", Some(0), "").unwrap_err().ends_with("Linux version 6.1")
        );
        assert!(judge("", Some(0), "").unwrap_err().ends_with("it said nothing"));
    }
}
