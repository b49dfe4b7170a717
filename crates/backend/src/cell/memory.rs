//! Limits the memory of a cell, including its page cache, with a control group.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use model::Bytes;
use nix::unistd::Pid;
use sys::process;
use thiserror::Error;

/// Mount points of control groups, newer interface first.
const UNIFIED: &str = "/sys/fs/cgroup";
const VERSION_1: &str = "/sys/fs/cgroup/memory";

/// Reason that memory cannot be limited on this host.
#[derive(Debug, Error)]
pub enum MemoryError {
    /// No memory controller is mounted.
    #[error("memory cannot be limited: no control group with a memory controller is mounted")]
    NoController,
    /// The control group cannot be created.
    #[error("memory cannot be limited: {path}: {error}")]
    Refused {
        /// The affected file or directory.
        path: PathBuf,
        /// Error of the kernel.
        error: io::Error,
    },
}

/// Files that count the processes killed by the kernel because memory ran out, for the newer and
/// the older interface. Format of the line, in both: `oom_kill 3`.
const KILLS: [&str; 2] = ["memory.events", "memory.oom_control"];

/// Number that stands for the writing process in every PID namespace; cgroups(7).
const THIS_PROCESS: &str = "0";

/// A control group with a memory limit; removed when dropped.
#[derive(Debug)]
pub struct MemoryCgroup {
    group: PathBuf,
    limit: Bytes,
}

impl MemoryCgroup {
    /// Creates a group of this name with a limit. Reuses a group left by a killed run.
    ///
    /// # Errors
    /// Returns an error without a memory controller or without root.
    pub fn new(name: &str, limit: Bytes) -> Result<Self, MemoryError> {
        let (parent, limit_file) = hierarchy()?;
        let group = parent.join(name);
        let refused = |path: &Path| {
            let path = path.to_owned();
            |error| MemoryError::Refused { path, error }
        };
        match fs::create_dir(&group) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(refused(&group)(e)),
            _ => {}
        }
        let made = Self { group, limit };
        let limit_file = made.group.join(limit_file);
        fs::write(&limit_file, limit.0.to_string()).map_err(refused(&limit_file))?;
        Ok(made)
    }

    /// Moves a process and its descendants into the group.
    ///
    /// # Errors
    /// Returns an error if one of the processes has already ended.
    pub fn add_process(&self, pid: Pid) -> io::Result<()> {
        process::move_to_cgroup(pid, &self.group.join("cgroup.procs"))
    }
}

impl MemoryCgroup {
    /// Moves this process, and all processes that it starts later, into the group.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses.
    pub fn enter(&self) -> io::Result<()> {
        fs::write(self.group.join("cgroup.procs"), THIS_PROCESS)
    }

    /// Moves this process to the parent group, so that the group with the limit can be removed.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses.
    pub fn move_to_parent(&self) -> io::Result<()> {
        let around = self.group.parent().unwrap_or(&self.group);
        fs::write(around.join("cgroup.procs"), THIS_PROCESS)
    }

    /// Returns the group if it is of version 2, so that its processes are in no other group.
    pub fn cgroup_v2_path(&self) -> Option<&Path> {
        let group = self.group.as_path();
        group.starts_with(UNIFIED).then_some(group).filter(|_| !group.starts_with(VERSION_1))
    }

    /// Its group.
    pub fn group(&self) -> &Path {
        &self.group
    }

    /// The limit.
    pub const fn limit(&self) -> Bytes {
        self.limit
    }

    /// Returns the number of processes killed at the limit.
    pub fn kills(&self) -> u64 {
        let read = |file: &&str| fs::read_to_string(self.group.join(file)).ok();
        let counts = KILLS.iter().filter_map(read);
        counts.filter_map(|text| kills(&text)).next().unwrap_or_default()
    }
}

/// Returns the number of killed processes from the text of such a file.
pub fn kills(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

impl Drop for MemoryCgroup {
    fn drop(&mut self) {
        // A group with an unkillable process stays; the next run reuses it.
        let _ = fs::remove_dir(&self.group);
    }
}

/// Returns the parent directory of groups and the name of the limit's file.
///
/// With version 1 the parent is the group of fsarena, so that an outer limit still applies. With
/// version 2 processes must be in leaf groups, so the parent is the top.
fn hierarchy() -> Result<(PathBuf, &'static str), MemoryError> {
    let version_1 = Path::new(VERSION_1);
    if version_1.join("memory.limit_in_bytes").exists() {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let own = current_cgroup(&groups).map(|group| version_1.join(group)).filter(|p| p.is_dir());
        return Ok((own.unwrap_or_else(|| version_1.to_owned()), "memory.limit_in_bytes"));
    }
    let unified = Path::new(UNIFIED);
    let controllers = fs::read_to_string(unified.join("cgroup.controllers")).unwrap_or_default();
    if !controllers.split_whitespace().any(|c| c == "memory") {
        return Err(MemoryError::NoController);
    }
    let switch = unified.join("cgroup.subtree_control");
    fs::write(&switch, "+memory").map_err(|error| MemoryError::Refused { path: switch, error })?;
    Ok((unified.to_owned(), "memory.max"))
}

/// Returns the memory group of a process, relative to the root, from the text of its `cgroup` file.
/// Format: `4:memory:/path`, cgroups(7).
pub fn current_cgroup(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let memory = controllers.split(',').any(|c| c == "memory");
        memory.then(|| path.trim_start_matches('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_kills_are_counted_in_either_format() {
        let newer = "low 0\nhigh 0\nmax 91\noom 4\noom_kill 2\noom_group_kill 0\n";
        assert_eq!(kills(newer), Some(2));
        assert_eq!(kills("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"), Some(3));
        assert_eq!(kills("oom_kill_disable 0\nunder_oom 0\n"), None);
    }

    #[test]
    fn the_memory_group_is_found_among_others() {
        let groups = "9:name=systemd:/\n4:cpu,memory:/slice/a:b\n0::/unified\n";
        assert_eq!(current_cgroup(groups), Some("slice/a:b"));
        assert_eq!(current_cgroup("0::/unified\n"), None);
    }
}
