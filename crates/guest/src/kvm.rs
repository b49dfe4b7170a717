//! Whether guests run on KVM here: proven by booting one, for that /dev/kvm is there says little. On a machine
//! that is virtual itself, an ordinary kernel may hang in its first instruction and burn a processor.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::machine::QEMU;
use crate::{Guest, GuestError};

const DEVICE: &str = "/dev/kvm";
/// A kernel on KVM comes in a second as far as it can without a first filesystem.
const PATIENCE_SECONDS: &str = "5";
/// What timeout(1) ends with when it had to kill.
const KILLED: [Option<i32>; 2] = [None, Some(137)];
/// How far a kernel comes to which nobody gives a filesystem.
const PROOF: &str = "Unable to mount root fs";

/// Boots the guest's kernel on KVM, alone, and waits a few seconds for it; `Err` says why KVM is not proven.
/// The directory, for a moment, holds its console.
///
/// # Errors
/// When it cannot be tried.
pub fn prove_kvm(guest: &Guest, directory: &Path) -> Result<Result<(), String>, GuestError> {
    if let Err(error) = OpenOptions::new().read(true).write(true).open(DEVICE) {
        return Ok(Err(format!("{DEVICE} cannot be used: {error}")));
    }
    let console = directory.join(format!("fsarena-kvm-{}", std::process::id()));
    fs::write(&console, "").map_err(GuestError::io("write", &console))?;
    // Whatever happens to this process, timeout(1) ends it.
    let ended = Command::new("timeout")
        .args(["--signal=KILL", PATIENCE_SECONDS, QEMU])
        .args(["-nodefaults", "-no-user-config", "-display", "none"])
        .args(["-machine", "q35", "-no-reboot", "-accel", "kvm"])
        .args(["-cpu", "host", "-m", "256", "-kernel"])
        .arg(guest.kernel())
        .args(["-append", "console=ttyS0 panic=-1", "-serial"])
        .arg(format!("file:{}", console.display()))
        .stdin(Stdio::null())
        .output();
    let said = fs::read(&console).map_err(GuestError::io("read", &console))?;
    fs::remove_file(&console).map_err(GuestError::io("remove", &console))?;
    let ended = ended.map_err(|source| GuestError::Program {
        program: "timeout".to_owned(),
        package: "coreutils",
        source,
    })?;
    let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
    Ok(judge(
        &String::from_utf8_lossy(&said),
        ended.status.code(),
        &errors,
    ))
}

/// What the kernel said on its console, and how QEMU ended, say whether it ran.
fn judge(console: &str, code: Option<i32>, errors: &str) -> Result<(), String> {
    if console.contains(PROOF) {
        return Ok(());
    }
    if KILLED.contains(&code) {
        return Err(format!(
            "{DEVICE} is there, but a kernel did not boot on it within {PATIENCE_SECONDS} s"
        ));
    }
    let last = |text: &str| {
        text.lines()
            .rfind(|l| !l.trim().is_empty())
            .map(str::to_owned)
    };
    let why = last(errors).or_else(|| last(console));
    let why = why.unwrap_or_else(|| "it said nothing".to_owned());
    Err(format!(
        "{DEVICE} is there, but no kernel boots on it: {why}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_kernel_that_came_all_the_way_is_a_proof() {
        let panic =
            "Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)";
        assert_eq!(judge(panic, Some(0), ""), Ok(()));
        let hung = judge("", Some(137), "").unwrap_err();
        assert!(hung.contains("did not boot on it within 5 s"), "{hung}");
        let refused =
            judge("", Some(1), "Could not access KVM kernel module\nfailed\n").unwrap_err();
        assert!(
            refused.ends_with("no kernel boots on it: failed"),
            "{refused}"
        );
        assert!(
            judge("Linux version 6.1", Some(0), "")
                .unwrap_err()
                .ends_with("Linux version 6.1")
        );
        assert!(
            judge("", Some(0), "")
                .unwrap_err()
                .ends_with("it said nothing")
        );
    }
}
