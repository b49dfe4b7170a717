//! Whether a virtual machine returns free memory to its host.
//!
//! A returned page must be fetched from the host when it is used again, which costs several times
//! as much as filling it. The phase that pays for this is arbitrary: new files and cold reads are
//! affected first.

use std::fs;
use std::path::Path;

/// `VIRTIO_ID_BALLOON` in the format of sysfs.
const BALLOON: &str = "0x0005";
/// `VIRTIO_BALLOON_F_REPORTING`: free pages are reported to the host, which may reclaim them.
///
/// Source: Virtual I/O Device (VIRTIO) Version 1.2, 5.5.3 "Feature bits".
const REPORTING: usize = 5;
const DEVICES: &str = "/sys/bus/virtio/devices";

/// Returns true if free memory is returned to a host. Always false on physical machines.
pub fn is_ballooned() -> bool {
    reports_free_pages(Path::new(DEVICES))
}

/// Returns true if a device reports free pages. Format: `*/device` is the device type. `*/features`
/// has one character per negotiated feature, bit 0 first
/// (Documentation/ABI/testing/sysfs-bus-virtio-devices of the kernel).
fn reports_free_pages(devices: &Path) -> bool {
    let is_reporting = |device: &Path| {
        let kind = fs::read_to_string(device.join("device")).unwrap_or_default();
        let features = fs::read_to_string(device.join("features")).unwrap_or_default();
        kind.trim() == BALLOON && features.as_bytes().get(REPORTING) == Some(&b'1')
    };
    let mut devices = fs::read_dir(devices).into_iter().flatten().flatten();
    devices.any(|device| is_reporting(&device.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_balloon_that_reports_counts() {
        let place = tempfile::tempdir().unwrap();
        let device = |name: &str, kind: &str, features: &str| {
            let directory = place.path().join(name);
            fs::create_dir(&directory).unwrap();
            fs::write(directory.join("device"), format!("{kind}\n")).unwrap();
            fs::write(directory.join("features"), format!("{features}\n")).unwrap();
        };
        device("virtio0", "0x0002", "1111111111");
        device("virtio1", BALLOON, "0110000000");
        assert!(!reports_free_pages(place.path()));
        device("virtio2", BALLOON, "0110010000");
        assert!(reports_free_pages(place.path()));
        assert!(!reports_free_pages(Path::new("/no/such")));
    }
}
