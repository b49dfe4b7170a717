//! Disks in the memory of a guest: their addresses, and the parameters of their driver.

use model::{Bytes, DiskModel, Mechanism};
use simdisk::MechanismParams;

use crate::build::driver::DRIVER;

/// Size of the request log of all disks of a guest: 645,000 requests.
const JOURNAL: Bytes = Bytes::mib(64);
/// Seed of the random properties of a disk, equal in all guests.
const SEED: u64 = 1;

/// Disks in the guest's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryDisk {
    /// Model of each disk.
    pub model: DiskModel,
    /// Size of each disk, in whole MiB.
    pub size: Bytes,
    /// Number of disks.
    pub count: u32,
    /// Whether the driver keeps the bytes of every write, from which power cuts are simulated.
    pub records_writes: bool,
}

impl MemoryDisk {
    /// Returns the memory needed in addition to the memory of the guest's kernel.
    pub fn extra_memory(&self) -> Bytes {
        Bytes(self.size.0 * u64::from(self.count.max(1)) + JOURNAL.0)
    }

    /// Returns the parameters of the driver for a guest whose kernel manages `memory` bytes.
    pub(crate) fn module_parameters(&self, memory: Bytes) -> String {
        let numbers = MechanismParams::new(&self.model, self.size, SEED).bytes();
        let numbers: String = numbers.iter().map(|byte| format!("{byte:02x}")).collect();
        format!(
            "parameters={numbers} base={:#x} disks={} journal_bytes={} forced={}",
            GuestMemoryLayout::of(memory, self.extra_memory()).base,
            self.count.max(1),
            JOURNAL.0,
            u8::from(self.model.forced),
        )
    }

    /// Returns the configuration of disks with the kernel's driver null_blk
    /// (Documentation/block/null_blk.rst of the kernel). Each line contains a file name and a value
    /// to write, in this order; an empty line separates two disks. The driver has no mechanism, so
    /// it can only replace the ideal disk.
    pub fn null_blk_settings(&self) -> String {
        let one = format!(
            "size {}\nblocksize 512\nmemory_backed 1\nirqmode 0\npower 1\n",
            self.size.0 >> 20
        );
        vec![one; self.count.max(1) as usize].join("\n")
    }
}

/// Returns true if the kernel's own driver can provide a disk of this model.
pub fn null_blk_suffices(model: &DiskModel) -> bool {
    model.mechanism == Mechanism::Ideal
}

/// Returns the names of disks in a guest's memory, by driver module.
pub(crate) fn names(driver: &str, count: u32) -> Vec<String> {
    let name = match driver {
        DRIVER => "fsd",
        _ => "nullb",
    };
    (0..count).map(|number| format!("/dev/{name}{number}")).collect()
}

/// Layout of a guest's memory: the part that the kernel manages, and the part for disks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GuestMemoryLayout {
    /// Total memory of the machine.
    pub total: Bytes,
    /// Start address of the memory for disks.
    pub base: u64,
    /// Addresses and lengths that the kernel must not use.
    reserved: Vec<(u64, u64)>,
}

impl GuestMemoryLayout {
    /// End of the memory below the devices of a `q35` machine without memory above 4 GiB
    /// (hw/i386/pc_q35.c of QEMU). A machine with more has 2 GiB below the devices, and the rest
    /// starts at 4 GiB.
    const LOW: u64 = 0xb000_0000;
    const LOW_OF_MORE: u64 = 2 << 30;
    const HIGH: u64 = 4 << 30;
    /// Space at the end of the low memory, where the firmware stores its tables.
    const FIRMWARE: u64 = 16 << 20;

    /// Returns the layout for the kernel's memory and additional memory for disks.
    pub fn of(memory: Bytes, beside: Bytes) -> Self {
        let both = memory.0 + beside.0;
        if beside.0 == 0 {
            return Self { total: memory, base: 0, reserved: Vec::new() };
        }
        if both <= Self::LOW {
            let base = memory.0 - Self::FIRMWARE;
            return Self { total: Bytes(both), base, reserved: vec![(base, beside.0)] };
        }
        if memory.0 >= Self::LOW_OF_MORE {
            let base = Self::HIGH + memory.0 - Self::LOW_OF_MORE;
            return Self { total: Bytes(both), base, reserved: vec![(base, beside.0)] };
        }
        // The rest of the first 2 GiB stays unused.
        let end = memory.0 - Self::FIRMWARE;
        Self {
            total: Bytes(Self::LOW_OF_MORE + beside.0),
            base: Self::HIGH,
            reserved: vec![(end, Self::LOW_OF_MORE - memory.0), (Self::HIGH, beside.0)],
        }
    }

    /// Returns the layout as the kernel parameter `memmap=`
    /// (Documentation/admin-guide/kernel-parameters.txt).
    pub fn memmap_parameter(&self) -> String {
        let words = self.reserved.iter();
        let words = words.filter(|(_, length)| *length > 0);
        words.map(|(base, length)| format!(" memmap={length:#x}${base:#x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::driver::NULL_BLK;

    fn disk() -> MemoryDisk {
        MemoryDisk {
            model: DiskModel::ideal(),
            size: Bytes::mib(8),
            count: 2,
            records_writes: false,
        }
    }

    #[test]
    fn writes_null_blk_settings_for_the_ideal_disk() {
        let one = "size 8\nblocksize 512\nmemory_backed 1\nirqmode 0\npower 1\n";
        assert_eq!(disk().null_blk_settings(), format!("{one}\n{one}"));
        assert!(null_blk_suffices(&disk().model));
    }

    #[test]
    fn driver_gets_its_parameters_and_base_address() {
        let words = disk().module_parameters(Bytes::mib(512));
        let numbers = words.strip_prefix("parameters=").unwrap();
        let (numbers, rest) = numbers.split_once(' ').unwrap();
        // A module parameter has at most 1024 characters.
        assert!(numbers.len() < 1000 && numbers.len() % 16 == 0, "{}", numbers.len());
        assert_eq!(rest, "base=0x1f000000 disks=2 journal_bytes=67108864 forced=0");
        assert_eq!(names(DRIVER, 2), ["/dev/fsd0", "/dev/fsd1"]);
        assert_eq!(names(NULL_BLK, 1), ["/dev/nullb0"]);
    }

    #[test]
    fn kernel_memory_does_not_depend_on_disk_memory() {
        const GIB: u64 = 1 << 30;
        for (memory, beside) in [(1, 1), (1, 3), (2, 1), (3, 4), (1, 20)] {
            let layout = GuestMemoryLayout::of(Bytes(memory * GIB), Bytes(beside * GIB));
            let total = layout.total.0;
            let (low, high) = match total <= GuestMemoryLayout::LOW {
                true => (total, 0),
                false => (GuestMemoryLayout::LOW_OF_MORE, total - GuestMemoryLayout::LOW_OF_MORE),
            };
            let ranges = [(0, low), (GuestMemoryLayout::HIGH, high)];
            let is_inside = |(base, length): (u64, u64)| {
                ranges.iter().any(|(from, all)| base >= *from && base + length <= from + all)
            };
            assert!(layout.reserved.iter().all(|range| is_inside(*range)), "{layout:?}");
            assert!(is_inside((layout.base, beside * GIB)), "{layout:?}");
            let taken: u64 = layout.reserved.iter().map(|(_, length)| length).sum();
            assert_eq!(total - taken, memory * GIB, "{layout:?}");
        }
        assert_eq!(GuestMemoryLayout::of(Bytes(GIB), Bytes(0)).memmap_parameter(), "");
    }
}
