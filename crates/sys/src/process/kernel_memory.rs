//! Memory that is neither free nor page cache: the kernel's object caches, and the private memory
//! of processes.

use std::fs;

use model::Bytes;
use nix::unistd::{Pid, SysconfVar, sysconf};

use crate::process;

/// Shared caches for objects of any kernel component. They also contain the page cache's index and
/// the data of a null_blk disk in a guest's memory, and grow with the data of files.
const SHARED: [&str; 3] = ["kmalloc-", "dma-kmalloc-", "radix_tree_node"];

/// Returns the size of the kernel's named object caches, used or reserved, or `None` if it cannot
/// be read. Covers the machine's whole kernel, not only one filesystem.
pub fn slab_bytes() -> Option<Bytes> {
    let page = sysconf(SysconfVar::PAGE_SIZE).ok()??;
    let pages = slab_pages(&fs::read_to_string("/proc/slabinfo").ok()?);
    Some(Bytes(pages.saturating_mul(page.unsigned_abs())))
}

/// Returns the number of pages of named caches, from the text of `/proc/slabinfo`.
///
/// Format: version 2.1 of slabinfo(5): the name, numbers (the fifth is the pages of a slab) and,
/// after `slabdata`, the slabs in use and all slabs.
pub fn slab_pages(slabinfo: &str) -> u64 {
    let pages = slabinfo.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        if SHARED.iter().any(|shared| name.starts_with(shared)) {
            return None;
        }
        let pages: u64 = words.nth(4)?.parse().ok()?;
        let mut slabs = words.skip_while(|word| *word != "slabdata");
        let all: u64 = slabs.nth(2)?.parse().ok()?;
        Some(pages.saturating_mul(all))
    });
    pages.fold(0, u64::saturating_add)
}

/// Returns the private memory of all other processes in this process's PID namespace, or 0 if this
/// process is not the first of its namespace.
pub fn driver_process_bytes() -> Bytes {
    let me = Pid::this();
    if me.as_raw() != 1 {
        return Bytes(0);
    }
    let others = process::all().into_iter().filter(|p| p.pid != me);
    let sizes = others.filter_map(|process| {
        let status = fs::read_to_string(format!("/proc/{}/status", process.pid)).ok()?;
        Some(anonymous_bytes(&status).0)
    });
    Bytes(sizes.fold(0, u64::saturating_add))
}

/// Returns the memory of a process that is private and cannot be read again from a file, from the
/// text of its `status`. Source: `RssAnon` and `RssShmem` of proc_pid_status(5), in KiB.
pub fn anonymous_bytes(status: &str) -> Bytes {
    let of = |key: &str| {
        let mut lines = status.lines();
        let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        let kib = value.and_then(|v| v.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        kib.unwrap_or(0)
    };
    let kib = of("RssAnon").saturating_add(of("RssShmem"));
    Bytes(kib.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLABINFO: &str = "\
slabinfo - version: 2.1
# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount> <sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>
ext4_inode_cache       54     81   1184   27    8 : tunables    0    0    0 : slabdata      2      3      0
dentry               9000   9009    192   21    1 : tunables    0    0    0 : slabdata    429    430      0
radix_tree_node       700    728    584   28    4 : tunables    0    0    0 : slabdata     26     26      0
kmalloc-32           2048   2048     32  128    1 : tunables    0    0    0 : slabdata     16     16      0
kmalloc-rcl-64        640    640     64   64    1 : tunables    0    0    0 : slabdata     10     10      0
";

    #[test]
    fn slabs_count_with_all_their_pages_and_anybodys_do_not() {
        assert_eq!(slab_pages(SLABINFO), 3 * 8 + 430);
        assert_eq!(slab_pages("nonsense\n\u{0} 1 2"), 0);
        let most = u64::MAX;
        let huge = format!("a 1 1 1 1 {most} : tunables 0 0 0 : slabdata 1 {most} 0");
        assert_eq!(slab_pages(&huge), most);
    }

    #[test]
    fn file_backed_memory_is_not_private() {
        let status = "Name:\tzfs-fuse\nVmRSS:\t   9000 kB\nRssAnon:\t    5000 kB\nRssFile:\t    3900 kB\nRssShmem:\t     100 kB\n";
        assert_eq!(anonymous_bytes(status), Bytes::kib(5100));
        assert_eq!(anonymous_bytes("Name:\tkthreadd\n"), Bytes(0));
        let own = fs::read_to_string("/proc/self/status").unwrap();
        assert!(anonymous_bytes(&own) > Bytes(0), "{own}");
    }
}
