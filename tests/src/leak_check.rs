//! Finds resources that a run left on this machine: mounts, loop devices, processes.
//!
//! Resources of a sandbox are recognised by its path, which every process that it starts mentions.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::faultfs::HANGING;

/// Timeout for the kernel to clean up after killed processes. Normally the wait ends immediately;
/// the timeout is not part of any measurement.
const TEARDOWN: Duration = Duration::from_secs(120);

/// Returns one line for each mount, loop device and process that refers to this path.
pub fn find(path: &Path) -> Vec<String> {
    let wanted = path.to_str().expect("sandboxes have plain names");
    let mut found = loop_devices(path);
    found.extend(mounts(Path::new("/proc/self"), wanted));
    for process in numbered("/proc") {
        // The agents of other tests have copies of all mounts of their start in their namespaces.
        if let Some(line) = process_line(&process, wanted) {
            found.extend(mounts(&process, wanted));
            found.push(line);
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Returns resources that remain after the kernel had time to clean up.
pub fn find_lasting(path: &Path) -> Vec<String> {
    let start = Instant::now();
    loop {
        let found = find(path);
        if found.is_empty() || start.elapsed() > TEARDOWN {
            return found;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn numbered(directory: impl AsRef<Path>) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok())
        .map(|entry| entry.path())
        .collect()
}

/// Returns the mounts below a path in the namespace of a process.
fn mounts(process: &Path, wanted: &str) -> Vec<String> {
    let table = fs::read_to_string(process.join("mountinfo")).unwrap_or_default();
    table
        .lines()
        .filter(|line| line.contains(wanted))
        .map(|line| format!("mount: {line}"))
        .collect()
}

/// Returns a line for a process whose command line or environment contains the path. An agent has
/// the path only in its environment.
fn process_line(process: &Path, wanted: &str) -> Option<String> {
    let is_this = process.ends_with(std::process::id().to_string());
    let words = |file: &str| {
        let bytes = fs::read(process.join(file)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    };
    let line = words("cmdline");
    let names_it = line.contains(wanted) || words("environ").contains(wanted);
    (!is_this && names_it).then(|| format!("process {}: {line}", process.display()))
}

/// Returns true if a fault driver has reached the call that it never answers.
pub fn hangs(path: &Path) -> bool {
    let wanted = path.to_str().expect("sandboxes have plain names");
    let is_hanging = |thread: &PathBuf| {
        let name = fs::read(thread.join("comm")).unwrap_or_default();
        name.trim_ascii_end() == HANGING.to_bytes()
    };
    numbered("/proc").iter().any(|process| {
        process_line(process, wanted).is_some()
            && numbered(process.join("task")).iter().any(is_hanging)
    })
}

fn loop_devices(wanted: &Path) -> Vec<String> {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    devices
        .filter_map(|device| {
            let backing = fs::read_to_string(device.path().join("loop/backing_file")).ok()?;
            let name = device.file_name().to_string_lossy().into_owned();
            Path::new(backing.trim())
                .starts_with(wanted)
                .then(|| format!("{name}: backed by {}", backing.trim()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_is_found_while_it_lives() {
        let sandbox = tempfile::tempdir().unwrap();
        assert_eq!(find(sandbox.path()), Vec::<String>::new());
        // The child prints a line when it is ready and waits for input that never arrives. Its
        // command line is empty until the program has started.
        let mut child = Command::new("sh")
            .args(["-c", "echo; read line"])
            .arg(sandbox.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = [0];
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut said).unwrap();
        let found = find(sandbox.path());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.iter().any(|line| line.contains("read line")), "{found:?}");
        assert_eq!(find_lasting(sandbox.path()), Vec::<String>::new());
    }
}
