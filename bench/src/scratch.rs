//! Working directories for both sides of a comparison: a tmpfs, or a filesystem on a loop device.
//! Mounts are private to this process and the image is an unnamed file, so that a killed run leaves
//! no mounts or files.

use std::fmt;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use model::{Bytes, SeededRng};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use serde::{Deserialize, Serialize};
use storage::LoopDevice;
use sys::io::caches;

use crate::peers;

/// Empty mount point, private to the mount namespace of this process.
const MOUNTS: &str = "/run/fsarena-bench";
const CHUNK: usize = 1 << 20;
/// Directory for files in memory.
const MEMORY: &str = "/dev/shm";
const DISK: &str = "/var/tmp";
/// Approximate memory use of a contest without a memory limit.
const USED: Bytes = Bytes::mib(1536);

/// Type of the scratch filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FsType {
    /// Memory.
    Tmpfs,
    /// ext4 on a loop device.
    Ext4,
    /// XFS on a loop device.
    Xfs,
    /// btrfs on a loop device.
    Btrfs,
}

impl FsType {
    /// Returns the kernel's name of the filesystem type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tmpfs => "tmpfs",
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
        }
    }

    /// Returns the mkfs command, with options that disable lazy initialisation. Returns `None` for
    /// tmpfs.
    fn mkfs(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Tmpfs => None,
            Self::Ext4 => Some(&[
                "mkfs.ext4",
                "-q",
                "-F",
                "-E",
                "lazy_itable_init=0,lazy_journal_init=0",
                // Twice the default number of inodes: some comparisons create half a million files.
                "-i",
                "8192",
            ]),
            Self::Xfs => Some(&["mkfs.xfs", "-q", "-f"]),
            Self::Btrfs => Some(&["mkfs.btrfs", "-q", "-f"]),
        }
    }
}

impl fmt::Display for FsType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Returns the best directory for an image: memory, if at least three times the size is available.
/// Disk noise would affect both sides of each pair, and the comparison is between programs, not
/// disks.
pub fn image_path(size: Bytes) -> PathBuf {
    let information = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let enough = available_memory(&information) >= Bytes(3 * size.0);
    PathBuf::from(if enough { MEMORY } else { DISK })
}

/// Returns the memory that can be used without swapping. Format: proc(5), `MemAvailable:   123 kB`,
/// in units of 1024 bytes.
fn available_memory(information: &str) -> Bytes {
    let line = |l: &str| {
        let amount = l.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB")?;
        Some(Bytes::kib(amount.parse().ok()?))
    };
    information.lines().find_map(line).unwrap_or_default()
}

/// An unnamed image file that is deleted when the last descriptor is closed.
#[derive(Debug)]
pub struct ScratchImage(File);

impl ScratchImage {
    /// Writes an image of the given size in a directory, in full, so that no side pays for
    /// allocation below the filesystem.
    ///
    /// # Errors
    /// Returns an error if there is too little space or the directory is not writable.
    pub fn write(directory: &Path, size: Bytes) -> anyhow::Result<Self> {
        storage::require_free_space(directory, size, "give another --work-dir")?;
        let mut file = tempfile::tempfile_in(directory)
            .with_context(|| format!("an image in {}", directory.display()))?;
        let mut rng = SeededRng::substream(size.0, "image");
        let mut chunk = vec![0; CHUNK];
        let mut written = 0;
        while written < size.0 {
            for word in chunk.chunks_exact_mut(8) {
                word.copy_from_slice(&rng.next_u64().to_le_bytes());
            }
            file.write_all(&chunk)?;
            written += CHUNK as u64;
        }
        file.sync_all()?;
        Ok(Self(file))
    }

    fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }
}

/// A new filesystem that is unmounted on drop.
#[derive(Debug)]
pub struct ScratchFs {
    kind: FsType,
    path: PathBuf,
    device: Option<LoopDevice>,
    /// Memory limit for the programs that use the directory.
    memory: Bytes,
}

impl ScratchFs {
    /// Creates and mounts a filesystem. All kinds except tmpfs need the image. `memory` is the
    /// memory limit of the programs that use the directory; `None` means no limit.
    ///
    /// # Errors
    /// Returns an error if a program is missing or a step fails.
    pub fn prepare(
        kind: FsType,
        image: Option<&ScratchImage>,
        memory: Option<Bytes>,
    ) -> anyhow::Result<Self> {
        let path = Path::new(MOUNTS).join(kind.name());
        fs::create_dir_all(&path)?;
        let device = match kind.mkfs() {
            None => None,
            Some(command) => {
                let image = image.context("this filesystem needs an image")?;
                let device = LoopDevice::attach(&image.path())?;
                peers::run(Command::new(command[0]).args(&command[1..]).arg(device.path()))?;
                Some(device)
            }
        };
        let scratch = Self { kind, path, device, memory: memory.unwrap_or(USED) };
        scratch.mount()?;
        Ok(scratch)
    }

    /// Returns the mount point.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Describes how the image is attached.
    pub fn attachment(&self) -> &'static str {
        self.device.as_ref().map_or("memory", LoopDevice::attachment)
    }

    /// Remounts with dropped kernel caches. Has no effect on tmpfs, which is always in memory.
    ///
    /// # Errors
    /// Returns an error if the filesystem is in use or the kernel refuses.
    pub fn make_cold(&self) -> anyhow::Result<()> {
        if self.device.is_none() {
            return Ok(());
        }
        umount2(&self.path, MntFlags::empty()).context("unmounting for a cold cache")?;
        caches::drop_all().context("dropping the caches")?;
        self.mount()?;
        self.fetch_memory();
        Ok(())
    }

    /// Writes all cached data of the machine to the devices, so that one side does not slow down
    /// the next. bonnie++ ends phases with a `sync` of all filesystems. Also frees memory.
    pub fn sync(&self) {
        nix::unistd::sync();
        self.fetch_memory();
    }

    /// Touches memory and returns it to this kernel. A virtual machine returns free memory to its
    /// host within seconds (free page reporting), and the next user fetches it page by page. That
    /// can take longer than the measured work, so that the first side would seem slower than the
    /// second.
    fn fetch_memory(&self) {
        let most = self.memory.0 / 4 * 3;
        drop(black_box(vec![1_u8; most as usize]));
    }

    fn mount(&self) -> anyhow::Result<()> {
        let source = self.device.as_ref().map_or(Path::new("tmpfs"), |d| d.path());
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        // The default limits of tmpfs, half of all memory and a number of inodes, are too small for
        // some comparisons.
        let options = self.device.is_none().then_some("size=80%,nr_inodes=0");
        mount(Some(source), &self.path, Some(self.kind.name()), flags, options)
            .with_context(|| format!("mounting {}", self.kind))
    }
}

impl Drop for ScratchFs {
    fn drop(&mut self) {
        // If a child still uses the mount, it ends with the namespace.
        let _ = umount2(&self.path, MntFlags::MNT_DETACH);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_found_among_the_rest() {
        let information = "MemTotal:       24576 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(available_memory(information), Bytes::mib(2));
        assert_eq!(available_memory("MemTotal: 1 kB\n"), Bytes(0));
    }
}
