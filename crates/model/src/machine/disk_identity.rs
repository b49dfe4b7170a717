//! Identity of the disk of a device node: a name or a number can later refer to another disk.

use serde::{Deserialize, Serialize};

use crate::{Bytes, DeviceCounters};

/// The disk, or the part of one, that a device node refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiskIdentity {
    /// Major and minor number of the device.
    pub number: (u64, u64),
    /// Start on the disk; 0 for a whole disk.
    pub start: Bytes,
    /// Its size.
    pub size: Bytes,
    /// The kernel's number of this attachment of the disk (`diskseq`), unique until reboot. Absent
    /// before Linux 5.15.
    pub sequence: Option<u64>,
    /// The serial number, if the disk has one.
    pub serial: Option<String>,
    /// The worldwide identifier (WWN, EUI-64, NGUID), if the disk has one.
    pub wwid: Option<String>,
}

/// State of a disk when fsarena released it. Before a disk is claimed again, this state is used to
/// check that it is the same disk and that it has not been written since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskWriteState {
    /// Which disk.
    pub identity: DiskIdentity,
    /// I/O counters of the kernel for this disk.
    pub counters: DeviceCounters,
}

impl DiskIdentity {
    /// Returns the reason why `later` is another disk or was disconnected in between. Valid for two
    /// readings within one boot.
    pub fn explain_change(&self, later: &Self) -> Option<String> {
        let replaced = || {
            let was_away = self.number != later.number || self.sequence != later.sequence;
            was_away.then(|| "it was detached and attached again, or replaced".to_owned())
        };
        self.explain_permanent_change(later).or_else(replaced)
    }

    /// Returns the reason why `later` is another disk. The machine may have been restarted between
    /// the two readings.
    pub fn explain_permanent_change(&self, later: &Self) -> Option<String> {
        if (self.start, self.size) != (later.start, later.size) {
            return Some(format!("it has {} and had {}", later.size, self.size));
        }
        let numbers =
            [("serial number", &self.serial, &later.serial), ("WWN", &self.wwid, &later.wwid)];
        numbers.into_iter().find_map(|(what, before, after)| {
            let (before, after) = (before.as_ref()?, after.as_ref()?);
            (before != after).then(|| format!("its {what} is {after} and was {before}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> DiskIdentity {
        DiskIdentity {
            number: (8, 16),
            start: Bytes(0),
            size: Bytes::mib(64),
            sequence: Some(7),
            serial: Some("A1".into()),
            wwid: None,
        }
    }

    #[test]
    fn every_sign_of_another_disk_is_reported() {
        let signs = [
            (DiskIdentity { size: Bytes::mib(65), ..disk() }, "65 MiB"),
            (DiskIdentity { serial: Some("B2".into()), ..disk() }, "is B2 and was A1"),
            (DiskIdentity { sequence: Some(8), ..disk() }, "attached again"),
            (DiskIdentity { number: (8, 32), ..disk() }, "attached again"),
        ];
        for (later, words) in signs {
            let told = disk().explain_change(&later).unwrap();
            assert!(told.contains(words), "{told}");
        }
        assert_eq!(disk().explain_change(&disk()), None);
    }

    #[test]
    fn a_restart_changes_numbers_and_no_disk() {
        let restarted = DiskIdentity {
            number: (8, 0),
            sequence: Some(2),
            wwid: Some("naa.5".into()),
            ..disk()
        };
        assert_eq!(disk().explain_permanent_change(&restarted), None);
        assert!(disk().explain_change(&restarted).is_some());
    }
}
