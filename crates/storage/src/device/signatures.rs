//! Locations of essential structures of formats: primary and backup copies, partition tables.
//!
//! A disk whose first MiB was overwritten still has most of these, and recovery tools search for
//! them. A device is therefore blank only if every byte at these locations is zero. The magic
//! number identifies the format of a location.

/// A format with a magic number on its devices.
#[derive(Debug)]
pub struct SignatureFormat {
    /// Name of the format.
    pub name: &'static str,
    /// Its mark.
    pub mark: &'static [u8],
    /// Offset of the magic number in a copy of the structure.
    pub mark_at: u64,
    /// Locations of the copies.
    pub copies: &'static [SignatureCopies],
}

/// Location of copies, from the start of the volume.
#[derive(Clone, Copy, Debug)]
pub enum SignatureCopies {
    /// There.
    At(u64),
    /// Distance from the end, with the volume size rounded down to a multiple of the second number.
    BeforeEnd(u64, u64),
    /// Middle of the volume, rounded down to a multiple of this number.
    Middle(u64),
    /// At each multiple of the first number, plus the second number.
    Every(u64, u64),
    /// Block groups of ext2 with a superblock copy, for blocks of 1 KiB to 64 KiB.
    ExtGroups,
    /// Start of each allocation group of XFS, for the usual numbers of groups.
    XfsGroups,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const SECTOR: u64 = 512;
const BLOCK: u64 = 4096;

/// Offsets of volumes that start after the first MiB: after a system partition as created by macOS
/// and by Linux installers.
pub const FAR_VOLUMES: [u64; 2] = [(40 + 409_600) * SECTOR, 513 * MIB];

/// Bases of the group numbers that have a superblock copy in ext2 with `sparse_super`: group 1, and
/// powers of 3, 5 and 7.
const SPARSE_BASES: [u64; 3] = [3, 5, 7];
/// Numbers of allocation groups that mkfs.xfs creates. Very large disks are an exception: each
/// group has 1 TiB.
const XFS_GROUPS: [u64; 5] = [4, 2, 8, 16, 32];
/// Maximum number of copies of one kind that are examined on a volume.
const MAX_COPIES: u64 = 64;

/// All known formats, starting with those of the catalog.
pub const FORMATS: &[SignatureFormat] = &[
    // Source: Documentation/filesystems/ext4/super.rst and blockgroup.rst of the kernel.
    SignatureFormat {
        name: "ext2, ext3 or ext4",
        mark: &[0x53, 0xef],
        mark_at: 56,
        copies: &[SignatureCopies::At(KIB), SignatureCopies::ExtGroups],
    },
    // Source: XFS Algorithms & Data Structures, "Allocation Groups"; mkfs.xfs(8).
    SignatureFormat {
        name: "XFS",
        mark: b"XFSB",
        mark_at: 0,
        copies: &[SignatureCopies::At(0), SignatureCopies::XfsGroups],
    },
    // Source: On-disk Format of the btrfs documentation, "Superblock".
    SignatureFormat {
        name: "btrfs",
        mark: b"_BHRfS_M",
        mark_at: 64,
        copies: &[
            SignatureCopies::At(64 * KIB),
            SignatureCopies::At(64 * MIB),
            SignatureCopies::At(256 * GIB),
        ],
    },
    // Source: fs/jfs/jfs_filsys.h of the kernel (SUPER1_OFF, SUPER2_OFF).
    SignatureFormat {
        name: "JFS",
        mark: b"JFS1",
        mark_at: 0,
        copies: &[SignatureCopies::At(32 * KIB), SignatureCopies::At(60 * KIB)],
    },
    // Source: fs/reiserfs/reiserfs.h of Linux 6.1 (REISERFS_DISK_OFFSET_IN_BYTES, bitmaps).
    SignatureFormat {
        name: "ReiserFS",
        mark: b"ReIsEr",
        mark_at: 52,
        // After the superblock, each 128 MiB have a bitmap, in which the bitmap's own block is
        // marked.
        copies: &[
            SignatureCopies::At(64 * KIB),
            SignatureCopies::At(8 * KIB),
            SignatureCopies::Every(128 * MIB, 0),
        ],
    },
    // Source: libblkid/src/superblocks/reiserfs.c of util-linux.
    SignatureFormat {
        name: "Reiser4",
        mark: b"ReIsEr4",
        mark_at: 0,
        copies: &[SignatureCopies::At(64 * KIB)],
    },
    // Source: libblkid/src/superblocks/bcache.c of util-linux.
    SignatureFormat {
        name: "bcachefs",
        mark: &[
            0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9, 0xd9, 0x6a, 0x60, 0xcf, 0x80, 0x3d,
            0xf7, 0xef,
        ],
        mark_at: 24,
        copies: &[
            SignatureCopies::At(4 * KIB),
            SignatureCopies::At(2 * MIB),
            SignatureCopies::BeforeEnd(MIB, MIB),
        ],
    },
    // Source: Documentation/filesystems/f2fs.rst of the kernel, "On-disk Layout".
    SignatureFormat {
        name: "F2FS",
        mark: &[0x10, 0x20, 0xf5, 0xf2],
        mark_at: 0,
        copies: &[
            SignatureCopies::At(KIB),
            SignatureCopies::At(BLOCK + KIB),
            SignatureCopies::At(2 * MIB),
        ],
    },
    // Source: include/uapi/linux/nilfs2_ondisk.h of the kernel (NILFS_SB2_OFFSET_BYTES).
    SignatureFormat {
        name: "NILFS2",
        mark: &[0x34, 0x34],
        mark_at: 6,
        copies: &[SignatureCopies::At(KIB), SignatureCopies::BeforeEnd(BLOCK, BLOCK)],
    },
    // Source: include/uapi/linux/minix_fs.h of the kernel.
    SignatureFormat {
        name: "MINIX",
        mark: &[0x5a, 0x4d],
        mark_at: 24,
        copies: &[SignatureCopies::At(KIB), SignatureCopies::At(BLOCK)],
    },
    // Source: Microsoft FAT specification, "Boot Sector" and BPB_BkBootSec.
    SignatureFormat {
        name: "FAT, or a partition table (MBR)",
        mark: &[0x55, 0xaa],
        mark_at: 510,
        copies: &[
            SignatureCopies::At(0),
            SignatureCopies::At(6 * SECTOR),
            SignatureCopies::At(16 * KIB),
        ],
    },
    // Source: exFAT file system specification, "Main and Backup Boot Regions".
    SignatureFormat {
        name: "exFAT",
        mark: b"EXFAT   ",
        mark_at: 3,
        copies: &[
            SignatureCopies::At(0),
            SignatureCopies::At(12 * SECTOR),
            SignatureCopies::At(12 * BLOCK),
            SignatureCopies::At(MIB),
        ],
    },
    // Source: ntfs-3g's layout.h; mkntfs.c (mft_lcn, mftmirr_lcn).
    SignatureFormat {
        name: "NTFS",
        mark: b"NTFS    ",
        mark_at: 3,
        // Boot sector and its backup; the master file table at the locations of Windows and of
        // mkntfs, and its mirror.
        copies: &[
            SignatureCopies::At(0),
            SignatureCopies::BeforeEnd(SECTOR, SECTOR),
            SignatureCopies::At(16 * KIB),
            SignatureCopies::At(3 * GIB),
            SignatureCopies::Middle(BLOCK),
        ],
    },
    // Source: Inside Macintosh: Files, "Master Directory Blocks".
    SignatureFormat {
        name: "HFS",
        mark: b"BD",
        mark_at: 0,
        copies: &[SignatureCopies::At(KIB), SignatureCopies::BeforeEnd(KIB, SECTOR)],
    },
    // Source: Apple Technical Note TN1150, "Volume Header".
    SignatureFormat {
        name: "HFS+",
        mark: b"H+",
        mark_at: 0,
        copies: &[SignatureCopies::At(KIB), SignatureCopies::BeforeEnd(KIB, SECTOR)],
    },
    // Source: Apple Technical Note TN1150, "HFSX".
    SignatureFormat {
        name: "HFSX",
        mark: b"HX",
        mark_at: 0,
        copies: &[SignatureCopies::At(KIB), SignatureCopies::BeforeEnd(KIB, SECTOR)],
    },
    // Source: fs/hpfs/hpfs.h of the kernel.
    SignatureFormat {
        name: "HPFS",
        mark: &[0x49, 0xe8, 0x95, 0xf9],
        mark_at: 0,
        // Boot block, superblock and spare block; the directory band is in the middle.
        copies: &[
            SignatureCopies::At(16 * SECTOR),
            SignatureCopies::At(17 * SECTOR),
            SignatureCopies::Middle(8 * MIB),
        ],
    },
    // Source: fs/affs/super.c of the kernel, "Root block".
    SignatureFormat {
        name: "AFFS",
        mark: b"DOS",
        mark_at: 0,
        // Boot block and root block.
        copies: &[SignatureCopies::At(0), SignatureCopies::Middle(SECTOR)],
    },
    // Source: sys/ufs/ffs/fs.h of FreeBSD (SBLOCK_UFS1); fsck_ffs(8), "alternate super-block".
    SignatureFormat {
        name: "UFS1",
        mark: &[0x54, 0x19, 0x01, 0x00],
        mark_at: 1372,
        copies: &[
            SignatureCopies::At(8 * KIB),
            SignatureCopies::At(16 * KIB),
            SignatureCopies::At(24 * KIB),
        ],
    },
    // Source: sys/ufs/ffs/fs.h of FreeBSD (SBLOCK_UFS2); fsck_ffs(8), "alternate super-block".
    SignatureFormat {
        name: "UFS2",
        mark: &[0x19, 0x01, 0x54, 0x19],
        mark_at: 1372,
        copies: &[
            SignatureCopies::At(64 * KIB),
            SignatureCopies::At(8 * KIB),
            SignatureCopies::At(80 * KIB),
            SignatureCopies::At(192 * SECTOR),
        ],
    },
    // Source: ECMA-167, 3/8.4.2.1: anchor points at 256, N - 256 and N.
    SignatureFormat {
        name: "UDF",
        mark: b"NSR0",
        mark_at: 1,
        copies: &[
            SignatureCopies::At(34 * KIB),
            SignatureCopies::At(36 * KIB),
            SignatureCopies::At(256 * SECTOR),
            SignatureCopies::At(256 * BLOCK / 2),
            SignatureCopies::At(256 * BLOCK),
            SignatureCopies::BeforeEnd(SECTOR, SECTOR),
            SignatureCopies::BeforeEnd(257 * SECTOR, SECTOR),
            SignatureCopies::BeforeEnd(257 * BLOCK / 2, BLOCK / 2),
        ],
    },
    // Source: ZFS On-Disk Specification, "Vdev Labels and Boot Block".
    SignatureFormat {
        name: "ZFS",
        mark: &[0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0],
        mark_at: 0,
        // Name-value lists and first uberblocks of the four labels.
        copies: &[
            SignatureCopies::At(16 * KIB),
            SignatureCopies::At(128 * KIB),
            SignatureCopies::At(272 * KIB),
            SignatureCopies::At(384 * KIB),
            SignatureCopies::BeforeEnd(512 * KIB - 16 * KIB, 256 * KIB),
            SignatureCopies::BeforeEnd(384 * KIB, 256 * KIB),
            SignatureCopies::BeforeEnd(256 * KIB - 16 * KIB, 256 * KIB),
            SignatureCopies::BeforeEnd(128 * KIB, 256 * KIB),
        ],
    },
    // Source: UEFI Specification, "GUID Partition Table (GPT) Disk Layout".
    SignatureFormat {
        name: "a partition table (GPT)",
        mark: b"EFI PART",
        mark_at: 0,
        copies: &[
            SignatureCopies::At(SECTOR),
            SignatureCopies::At(BLOCK),
            SignatureCopies::BeforeEnd(SECTOR, SECTOR),
            SignatureCopies::BeforeEnd(33 * SECTOR, SECTOR),
            SignatureCopies::BeforeEnd(BLOCK, BLOCK),
        ],
    },
    // Source: block/partitions/mac.h of the kernel.
    SignatureFormat {
        name: "a partition table (Apple)",
        mark: b"PM",
        mark_at: 0,
        copies: &[SignatureCopies::At(SECTOR)],
    },
    // Source: lib/label/label.h of LVM2.
    SignatureFormat {
        name: "LVM",
        mark: b"LABELONE",
        mark_at: 0,
        copies: &[
            SignatureCopies::At(SECTOR),
            SignatureCopies::At(0),
            SignatureCopies::At(2 * SECTOR),
            SignatureCopies::At(BLOCK),
        ],
    },
    // Source: LUKS2 On-Disk Format Specification, "Binary Header".
    SignatureFormat { name: "LUKS", mark: b"LUKS", mark_at: 0, copies: &[SignatureCopies::At(0)] },
    // Source: LUKS2 On-Disk Format Specification, "Secondary Binary Header".
    SignatureFormat {
        name: "LUKS (its second header)",
        mark: b"SKUL",
        mark_at: 0,
        copies: &[
            SignatureCopies::At(16 * KIB),
            SignatureCopies::At(32 * KIB),
            SignatureCopies::At(64 * KIB),
            SignatureCopies::At(128 * KIB),
            SignatureCopies::At(256 * KIB),
            SignatureCopies::At(512 * KIB),
            SignatureCopies::At(MIB),
            SignatureCopies::At(2 * MIB),
            SignatureCopies::At(4 * MIB),
        ],
    },
    // Source: "RAID superblock formats" of the Linux RAID wiki: 0.90, 1.0, 1.1, 1.2.
    SignatureFormat {
        name: "RAID (md)",
        mark: &[0xfc, 0x4e, 0x2b, 0xa9],
        mark_at: 0,
        copies: &[
            SignatureCopies::At(0),
            SignatureCopies::At(BLOCK),
            SignatureCopies::BeforeEnd(8 * KIB, BLOCK),
            SignatureCopies::BeforeEnd(64 * KIB, 64 * KIB),
        ],
    },
    // Source: include/linux/swap.h of the kernel (union swap_header).
    SignatureFormat {
        name: "swap space",
        mark: b"SWAPSPACE2",
        mark_at: BLOCK - 10,
        copies: &[SignatureCopies::At(0)],
    },
    // Source: ECMA-119, "Volume Descriptor Set".
    SignatureFormat {
        name: "ISO 9660",
        mark: b"CD001",
        mark_at: 1,
        copies: &[SignatureCopies::At(32 * KIB)],
    },
    // Source: Documentation/filesystems/squashfs.rst of the kernel.
    SignatureFormat {
        name: "SquashFS",
        mark: b"hsqs",
        mark_at: 0,
        copies: &[SignatureCopies::At(0)],
    },
    // Source: fs/erofs/erofs_fs.h of the kernel.
    SignatureFormat {
        name: "EROFS",
        mark: &[0xe2, 0xe1, 0xf5, 0xe0],
        mark_at: 0,
        copies: &[SignatureCopies::At(KIB)],
    },
    // Source: libblkid/src/superblocks/bitlocker.c of util-linux.
    SignatureFormat {
        name: "BitLocker",
        mark: b"-FVE-FS-",
        mark_at: 3,
        copies: &[SignatureCopies::At(0), SignatureCopies::At(32 * MIB)],
    },
    // Source: Apple File System Reference, "nx_superblock_t".
    SignatureFormat { name: "APFS", mark: b"NXSB", mark_at: 32, copies: &[SignatureCopies::At(0)] },
    // Source: libblkid/src/superblocks/vmfs.c of util-linux.
    SignatureFormat {
        name: "VMFS",
        mark: &[0x0d, 0xd0, 0x01, 0xc0],
        mark_at: 0,
        copies: &[SignatureCopies::At(MIB)],
    },
];

impl SignatureCopies {
    /// Returns the offsets of the copies on a volume of this size.
    pub fn places(self, size: u64) -> Vec<u64> {
        let places = match self {
            Self::At(place) => vec![place],
            Self::BeforeEnd(distance, unit) => {
                (size / unit * unit).checked_sub(distance).into_iter().collect()
            }
            Self::Middle(unit) => vec![size / 2 / unit * unit],
            Self::Every(distance, behind) => {
                (1..=MAX_COPIES.min(size / distance)).map(|n| n * distance + behind).collect()
            }
            Self::ExtGroups => ext_groups(size),
            Self::XfsGroups => xfs_groups(size),
        };
        places.into_iter().filter(|place| *place < size).collect()
    }
}

/// Returns the starts of the block groups with a superblock copy. A group has as many blocks as a
/// bitmap block has bits; with blocks of 1 KiB, block 0 is not part of a group.
fn ext_groups(size: u64) -> Vec<u64> {
    let block_sizes = (10..=16).map(|power| 1_u64 << power);
    let mut places = Vec::new();
    for block in block_sizes {
        let (group, first) = (8 * block * block, if block == KIB { KIB } else { 0 });
        let last = size / group;
        let mut groups = vec![1, last, last.saturating_sub(1)];
        for base in SPARSE_BASES {
            let powers = std::iter::successors(Some(base), |power| power.checked_mul(base));
            groups.extend(powers.take_while(|group| *group <= last));
        }
        places.extend(groups.into_iter().filter(|g| *g > 0).map(|g| g * group + first));
    }
    places
}

/// Returns the starts of allocation groups. All groups have the same size in whole blocks, except
/// that the last one may be smaller.
fn xfs_groups(size: u64) -> Vec<u64> {
    const MAX_PLACES_SIZE: u64 = 1 << 40;
    let blocks = size / BLOCK;
    let of = |count: u64| {
        let group = (blocks.div_ceil(count) * BLOCK).min(MAX_PLACES_SIZE);
        (1..MAX_COPIES).map(move |number| number * group)
    };
    if size / 4 > MAX_PLACES_SIZE {
        return of(blocks * BLOCK / MAX_PLACES_SIZE).collect();
    }
    XFS_GROUPS.into_iter().flat_map(|count| of(count).take(count as usize - 1)).collect()
}

/// Returns the name of the format whose magic number is found in a copy that starts here.
pub fn name(bytes: &[u8]) -> Option<&'static str> {
    let marked = |format: &&SignatureFormat| {
        let at = format.mark_at as usize;
        // Two-byte magic numbers occur by chance too often.
        bytes.get(at..at + format.mark.len()) == Some(format.mark)
    };
    FORMATS.iter().find(marked).map(|format| format.name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn copies_match_the_layout_of_the_formats() {
        let ext = SignatureCopies::ExtGroups.places(10 * GIB);
        // With blocks of 4 KiB, groups 1, 3, 9 and 27; with blocks of 1 KiB, 8193.
        for place in [128 * MIB, 384 * MIB, 1152 * MIB, 3456 * MIB, 8193 * KIB] {
            assert!(ext.contains(&place), "{place}");
        }
        let xfs = SignatureCopies::XfsGroups.places(GIB);
        assert!([1, 2, 3].iter().all(|n| xfs.contains(&(n * 256 * MIB))));
        assert!(SignatureCopies::XfsGroups.places(8 << 40).contains(&(3 << 40)));
        assert_eq!(SignatureCopies::BeforeEnd(KIB, SECTOR).places(10_300), [9216]);
        assert_eq!(SignatureCopies::Middle(SECTOR).places(10 * MIB), [5 * MIB]);
        assert!(SignatureCopies::At(64 * MIB).places(MIB).is_empty());
    }

    /// Format of each filesystem in the catalog that uses a device.
    const FORMAT_OF: &[(&str, &[&str])] = &[
        (
            "ext2, ext3 or ext4",
            &["ext2", "ext3", "ext4", "fuse-ext2", "fuse2fs-ext2", "fuse2fs-ext3", "fuse2fs-ext4"],
        ),
        ("XFS", &["xfs"]),
        ("btrfs", &["btrfs"]),
        ("JFS", &["jfs"]),
        ("ReiserFS", &["reiserfs-3.5", "reiserfs-3.6"]),
        ("Reiser4", &["reiser4"]),
        ("bcachefs", &["bcachefs"]),
        ("F2FS", &["f2fs"]),
        ("NILFS2", &["nilfs2"]),
        ("MINIX", &["minix"]),
        ("FAT, or a partition table (MBR)", &["fat12", "fat16", "fat32", "fusefat"]),
        ("exFAT", &["exfat", "exfat-fuse"]),
        ("NTFS", &["ntfs-3g", "ntfs3", "ntfs-kernel"]),
        ("HFS", &["hfs"]),
        ("HFS+", &["hfsplus"]),
        ("HFSX", &["hfsx"]),
        ("HPFS", &["hpfs", "hpfs386"]),
        ("AFFS", &["affs-ffs", "affs-ofs"]),
        ("UFS1", &["ufs1"]),
        ("UFS2", &["ufs2", "fuse-ufs"]),
        ("UDF", &["udf"]),
        ("ZFS", &["zfs", "zfs-fuse"]),
    ];

    #[test]
    fn every_filesystem_on_a_device_has_known_locations() {
        let catalog = config::Catalog::builtin().unwrap();
        let on_a_device = |f: &&model::Filesystem| f.commands.need_device();
        for filesystem in catalog.filesystems().filter(on_a_device) {
            let name = filesystem.name.as_str();
            let format = FORMAT_OF.iter().find(|(_, names)| names.contains(&name));
            let (format, _) = format.unwrap_or_else(|| panic!("{name} has no format"));
            let places = FORMATS.iter().find(|f| f.name == *format).unwrap().copies;
            assert!(!places.is_empty(), "{format}");
        }
    }

    #[test]
    fn a_mark_names_its_format() {
        let mut copy = vec![0; 4096];
        assert_eq!(name(&copy), None);
        copy[..4].copy_from_slice(b"XFSB");
        assert_eq!(name(&copy), Some("XFS"));
        assert_eq!(name(b"XF"), None);
    }

    proptest! {
        #[test]
        fn locations_are_on_the_volume_and_few(size in 0u64..1 << 60) {
            for copies in FORMATS.iter().flat_map(|f| f.copies) {
                let places = copies.places(size);
                prop_assert!(places.iter().all(|place| *place < size));
                prop_assert!(places.len() < 512, "{copies:?}: {}", places.len());
            }
        }
    }
}
