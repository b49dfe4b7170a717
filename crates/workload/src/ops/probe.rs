//! Probes the features of a filesystem by trying them; no documented claim is trusted.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{
    FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown, symlink,
};
use std::path::Path;
use std::thread;
use std::time::Duration;

use model::{Bytes, Feature, Nanos, ProbeResult};
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, FallocateFlags, OFlag, fallocate};
use nix::sys::stat::{Mode, UtimensatFlags, utimensat};
use nix::sys::statfs::{FUSE_SUPER_MAGIC, statfs};
use nix::sys::time::TimeSpec;
use nix::unistd::mkfifo;
use sys::io::clock;

use crate::OpError;
use crate::error::OpContext;

/// Size and alignment of a block that supports direct I/O on every device.
const PAGE: usize = 4096;

/// Maximum time for a FUSE driver to process a close after it was notified.
const CLOSING: Nanos = Nanos::from_secs(5);

/// Errors of a filesystem that is dead, full or read-only. They give no information about a
/// feature.
const BROKEN: [Errno; 6] = [
    Errno::ENOTCONN,
    Errno::ECONNABORTED,
    Errno::ESHUTDOWN,
    Errno::ENOSPC,
    Errno::EDQUOT,
    Errno::EROFS,
];

/// Probes one feature in a directory and restores the directory.
///
/// # Errors
/// Returns an error if the probe could not run or its error gives no answer.
pub fn probe(feature: Feature, directory: &Path) -> Result<ProbeResult, OpError> {
    let place = directory.join(format!("fsarena-probe-{}", feature.name()));
    fs::create_dir(&place).with_call("mkdir", &place)?;
    let found = attempt(feature, &place);
    let cleared = clear(&place);
    match found.and_then(|found| cleared.map(|()| found)) {
        Ok(support) => Ok(support),
        Err(error) if is_untold(&error) => Err(OpError::Unsupported { reason: error.to_string() }),
        Err(error) if is_broken(&error) => Err(error).with_call("probe", &place),
        Err(error) => Ok(ProbeResult::No(sys::errno::describe(&error))),
    }
}

fn is_broken(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    errno.is_some_and(|errno| BROKEN.contains(&errno))
}

/// Returns true if a probe could not determine the answer.
fn is_untold(error: &io::Error) -> bool {
    error.raw_os_error().is_none() && error.kind() == ErrorKind::Unsupported
}

/// Removes the files of a probe. A FUSE driver may receive a close only after the removal; libfuse
/// then keeps a hidden file, and the directory is not empty until the driver has processed the
/// close.
fn clear(place: &Path) -> io::Result<()> {
    let start = clock::now();
    loop {
        match fs::remove_dir_all(place) {
            Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty && clock::since(start) < CLOSING => {
                thread::sleep(Duration::from_millis(1));
            }
            other => return other,
        }
    }
}

type Seen = io::Result<ProbeResult>;

fn attempt(feature: Feature, place: &Path) -> Seen {
    match feature {
        Feature::HardLinks => hard_links(place),
        Feature::Symlinks => symlinks(place),
        Feature::Permissions => permissions(place),
        Feature::Ownership => ownership(place),
        Feature::SpecialFiles => special_files(place),
        Feature::Xattrs => xattrs(place),
        Feature::SparseFiles => sparse_files(place),
        Feature::CaseSensitive => case_sensitive(place),
        Feature::LongNames => long_names(place),
        Feature::DirectIo => direct_io(place),
        Feature::SharedMmap => shared_mmap(place),
        Feature::Preallocation => preallocation(place),
        Feature::LargestFile => largest_file(place),
        Feature::PosixAcls => posix_acls(place),
        Feature::Timestamps => timestamps(place),
        Feature::Utf8Names => utf8_names(place),
        Feature::XattrSize => xattr_size(place),
        Feature::ManyLinks => many_links(place),
    }
}

/// Returns support, or the observed deviation.
fn unless(works: bool, instead: &str) -> Seen {
    Ok(match works {
        true => ProbeResult::Yes,
        false => ProbeResult::No(instead.to_owned()),
    })
}

fn hard_links(place: &Path) -> Seen {
    let (first, second) = (place.join("first"), place.join("second"));
    fs::write(&first, "one file")?;
    fs::hard_link(&first, &second)?;
    unless(fs::metadata(&first)?.nlink() == 2, "the link count did not become 2")
}

fn symlinks(place: &Path) -> Seen {
    let link = place.join("link");
    symlink("target", &link)?;
    unless(fs::read_link(&link)? == Path::new("target"), "the link does not hold its target")
}

fn permissions(place: &Path) -> Seen {
    let file = place.join("file");
    fs::write(&file, "")?;
    for mode in [0o640, 0o751] {
        fs::set_permissions(&file, Permissions::from_mode(mode))?;
        if fs::metadata(&file)?.mode() & 0o7777 != mode {
            return Ok(ProbeResult::No("the mode did not stay as set".to_owned()));
        }
    }
    Ok(ProbeResult::Yes)
}

fn ownership(place: &Path) -> Seen {
    let file = place.join("file");
    fs::write(&file, "")?;
    let before = fs::metadata(&file)?;
    // Without root, only the current owner can be set; this still distinguishes EPERM from success.
    let root = nix::unistd::geteuid().is_root();
    let (user, group) = if root { (1234, 4321) } else { (before.uid(), before.gid()) };
    chown(&file, Some(user), Some(group))?;
    let after = fs::metadata(&file)?;
    unless((after.uid(), after.gid()) == (user, group), "the owner did not stay as set")
}

fn special_files(place: &Path) -> Seen {
    let pipe = place.join("pipe");
    mkfifo(&pipe, Mode::S_IRUSR | Mode::S_IWUSR)?;
    unless(
        fs::symlink_metadata(&pipe)?.file_type().is_fifo(),
        "the pipe became another kind of file",
    )
}

fn xattrs(place: &Path) -> Seen {
    let file = place.join("file");
    fs::write(&file, "")?;
    xattr::set(&file, "user.fsarena", b"value")?;
    let value = xattr::get(&file, "user.fsarena")?;
    unless(value.as_deref() == Some(b"value"), "the attribute did not stay as set")
}

fn sparse_files(place: &Path) -> Seen {
    const HOLE: u64 = 8 << 20;
    let path = place.join("file");
    let file = File::create(&path)?;
    file.write_all_at(b"end", HOLE)?;
    file.sync_all()?;
    unless(file.metadata()?.blocks() * 512 < HOLE, "the hole takes space")
}

fn case_sensitive(place: &Path) -> Seen {
    fs::write(place.join("name"), "small")?;
    fs::write(place.join("NAME"), "large")?;
    unless(fs::read_to_string(place.join("name"))? == "small", "both names are one file")
}

fn long_names(place: &Path) -> Seen {
    let name = "n".repeat(255);
    fs::write(place.join(&name), "")?;
    let found = fs::read_dir(place)?.flatten().any(|e| e.file_name() == name.as_str());
    unless(found, "the name was changed")
}

fn direct_io(place: &Path) -> Seen {
    let path = place.join("file");
    let mut memory = vec![b'd'; 2 * PAGE];
    let start = memory.as_ptr().align_offset(PAGE);
    let page = &mut memory[start..start + PAGE];
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(OFlag::O_DIRECT.bits())
        .open(&path)?;
    file.write_all_at(page, 0)?;
    page.fill(0);
    file.read_exact_at(page, 0)?;
    unless(page.iter().all(|&b| b == b'd'), "other bytes came back")
}

fn shared_mmap(place: &Path) -> Seen {
    let path = place.join("file");
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
    file.write_all(&[0; PAGE])?;
    sys::fs::mapping::write_via_mmap(&file, b"mapped")?;
    let mut bytes = [0; 6];
    File::open(&path)?.read_exact(&mut bytes)?;
    unless(&bytes == b"mapped", "other bytes came back")
}

fn preallocation(place: &Path) -> Seen {
    const RESERVED: i64 = 1 << 20;
    let file = File::create(place.join("file"))?;
    fallocate(&file, FallocateFlags::empty(), 0, RESERVED)?;
    unless(file.metadata()?.len() == RESERVED as u64, "the file did not grow")
}

/// Finds the maximum file size, which is the largest offset that the driver allows for a seek:
/// Linux refuses to seek and to write beyond it (`s_maxbytes` in vfs_setpos() and
/// generic_write_checks() of fs/read_write.c). Writes no data. Not available for FUSE drivers,
/// because the kernel does not know their limit.
fn largest_file(place: &Path) -> Seen {
    if statfs(place)?.filesystem_type() == FUSE_SUPER_MAGIC {
        return Err(io::Error::new(
            ErrorKind::Unsupported,
            "the kernel does not know how large a FUSE driver's files may be",
        ));
    }
    let mut file = File::create(place.join("file"))?;
    let mut reaches = |offset: u64| match file.seek(SeekFrom::Start(offset)) {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(Errno::EINVAL as i32) => Ok(false),
        Err(error) => Err(error),
    };
    let (mut reached, mut refused) = (0, Bytes::MAX_UNITS.0 + 1);
    while refused - reached > 1 {
        let middle = reached + (refused - reached) / 2;
        match reaches(middle)? {
            true => reached = middle,
            false => refused = middle,
        }
    }
    Ok(ProbeResult::UpTo(Bytes(reached)))
}

/// Sets a list that gives one user more rights than others. Its layout is that of `struct posix_acl_xattr_header` and
/// `struct posix_acl_xattr_entry` in linux/posix_acl_xattr.h.
fn posix_acls(place: &Path) -> Seen {
    const NAME: &str = "system.posix_acl_access";
    const VERSION: u32 = 2;
    const NO_ID: u32 = u32::MAX;
    // Owner, one user, group, mask, others: tag, permissions, identifier.
    const ENTRIES: [(u16, u16, u32); 5] =
        [(1, 6, NO_ID), (2, 6, 1234), (4, 4, NO_ID), (16, 6, NO_ID), (32, 4, NO_ID)];
    let file = place.join("file");
    fs::write(&file, "")?;
    let mut list = VERSION.to_le_bytes().to_vec();
    for (tag, permissions, id) in ENTRIES {
        list.extend(tag.to_le_bytes());
        list.extend(permissions.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    xattr::set(&file, NAME, &list)?;
    let found = xattr::get(&file, NAME)?;
    unless(found.as_deref() == Some(&list[..]), "the list did not stay as set")
}

/// Sets times that a 32-bit counter of seconds since 1970 lacks. The kernel changes them at once if the filesystem cannot
/// store them.
fn timestamps(place: &Path) -> Seen {
    const TIMES: [(&str, i64); 2] = [("1950", -631_152_000), ("2100", 4_102_444_800)];
    let path = place.join("file");
    fs::write(&path, "")?;
    for (year, seconds) in TIMES {
        let time = TimeSpec::new(seconds, 0);
        utimensat(AT_FDCWD, &path, &time, &time, UtimensatFlags::NoFollowSymlink)?;
        let found = fs::metadata(&path)?.mtime();
        if found != seconds {
            let found = 1970 + found.div_euclid(SECONDS_OF_YEAR);
            return Ok(ProbeResult::No(format!("{year} became {found}")));
        }
    }
    Ok(ProbeResult::Yes)
}

/// Seconds of a mean year of the Gregorian calendar.
const SECONDS_OF_YEAR: i64 = 31_556_952;

fn utf8_names(place: &Path) -> Seen {
    const NAME: &str = "Grüße-名前-🙂";
    fs::write(place.join(NAME), "")?;
    let found = fs::read_dir(place)?.flatten().any(|entry| entry.file_name() == NAME);
    unless(found, "the name was changed")
}

/// Finds the largest value of an extended attribute. Linux allows 64 KiB (xattr(7)).
fn xattr_size(place: &Path) -> Seen {
    const LARGEST: usize = 64 << 10;
    let path = place.join("file");
    fs::write(&path, "")?;
    let value = vec![b'x'; LARGEST];
    let accepts = |size: usize| match xattr::set(&path, "user.fsarena", &value[..size]) {
        Ok(()) => Ok(true),
        Err(error) if too_large(&error) => Ok(false),
        Err(error) => Err(error),
    };
    if accepts(LARGEST)? {
        return Ok(ProbeResult::UpTo(Bytes(LARGEST as u64)));
    }
    let (mut accepted, mut refused) = (0, LARGEST);
    while refused - accepted > 1 {
        let middle = accepted + (refused - accepted) / 2;
        match accepts(middle)? {
            true => accepted = middle,
            false => refused = middle,
        }
    }
    match accepted {
        0 => Err(Errno::ENOTSUP.into()),
        size => Ok(ProbeResult::UpTo(Bytes(size as u64))),
    }
}

/// Returns true if an attribute has no room. Filesystems tell it in different ways.
fn too_large(error: &io::Error) -> bool {
    const CODES: [Errno; 5] =
        [Errno::E2BIG, Errno::EFBIG, Errno::ENOSPC, Errno::ERANGE, Errno::EINVAL];
    let errno = error.raw_os_error().map(Errno::from_raw);
    errno.is_some_and(|errno| CODES.contains(&errno))
}

/// Maximum time for a probe that makes many links: some drivers search all of them for each.
const LINKING: Nanos = Nanos::from_secs(20);

/// Makes one more link than ext4 allows.
fn many_links(place: &Path) -> Seen {
    const LINKS: u32 = 65_001;
    let file = place.join("1");
    fs::write(&file, "")?;
    let start = clock::now();
    for number in 2..=LINKS {
        if clock::since(start) > LINKING {
            let reason = format!("{} links took {LINKING}", number - 2);
            return Err(io::Error::new(ErrorKind::Unsupported, reason));
        }
        match fs::hard_link(&file, place.join(number.to_string())) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(Errno::EMLINK as i32) => {
                return Ok(ProbeResult::No(format!("EMLINK after {}", number - 1)));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(ProbeResult::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_that_cannot_run_gives_no_answer() {
        let nowhere = Path::new("/proc/self");
        for feature in Feature::ALL {
            let error = probe(feature, nowhere).unwrap_err();
            assert!(error.to_string().starts_with("mkdir of /proc/self/"), "{error}");
        }
    }

    #[test]
    fn a_full_filesystem_is_no_answer_and_a_refusal_is() {
        let of = |errno: Errno| is_broken(&errno.into());
        assert!(of(Errno::ENOSPC) && of(Errno::ENOTCONN) && of(Errno::EROFS));
        assert!(!of(Errno::EOPNOTSUPP) && !of(Errno::EPERM) && !of(Errno::ENOSYS));
    }

    #[test]
    fn the_largest_file_matches_the_limit_of_the_driver() {
        let place = tempfile::tempdir().unwrap();
        let found = probe(Feature::LargestFile, place.path());
        if statfs(place.path()).unwrap().filesystem_type() == FUSE_SUPER_MAGIC {
            assert!(matches!(found, Err(OpError::Unsupported { .. })), "{found:?}");
            return;
        }
        let Ok(ProbeResult::UpTo(largest)) = found else {
            panic!("{found:?}");
        };
        let file = File::create(place.path().join("file")).unwrap();
        let byte_at = |offset: u64| file.write_at(b"b", offset).map(|_| ());
        let beyond = byte_at(largest.0).unwrap_err();
        assert!(
            [Errno::EFBIG as i32, Errno::EINVAL as i32].contains(&beyond.raw_os_error().unwrap()),
            "{beyond}"
        );
    }

    #[test]
    fn a_named_pipe_is_a_special_file() {
        let place = tempfile::tempdir().unwrap();
        let found = probe(Feature::SpecialFiles, place.path()).unwrap();
        assert_eq!(found, ProbeResult::Yes);
    }

    #[test]
    fn probes_restore_the_directory() {
        let place = tempfile::tempdir().unwrap();
        let links = probe(Feature::HardLinks, place.path()).unwrap();
        assert_eq!(links, ProbeResult::Yes);
        for feature in Feature::ALL {
            probe(feature, place.path()).unwrap_or_else(|e| panic!("{feature}: {e}"));
            assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "{feature}");
        }
    }
}
