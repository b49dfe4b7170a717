//! Checks whether a file is attached to a loop device; after a kill, the kernel may take a while to
//! release it.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::host::sysfs::{self, DeviceId};

/// Interval between checks.
const INTERVAL: Duration = Duration::from_millis(2);

/// Returns true if a loop device still holds the file after `timeout`.
pub fn is_loop_attached(file: &Path, timeout: Duration) -> bool {
    let Some(file) = DeviceId::from_path(file) else {
        return false;
    };
    let start = Instant::now();
    while holds(file) {
        if start.elapsed() > timeout {
            return true;
        }
        thread::sleep(INTERVAL);
    }
    false
}

/// Returns true if a loop device holds the file, or if that is unknown.
fn holds(file: DeviceId) -> bool {
    let devices = sysfs::loop_devices();
    devices.map_or(true, |devices| devices.iter().any(|device| device.backing == file))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::LoopDevice;

    #[test]
    fn a_file_is_attached_until_its_device_is_detached() {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("image");
        fs::write(&image, [1; 65_536]).unwrap();
        assert!(!is_loop_attached(&image, Duration::ZERO));
        let device = LoopDevice::attach(&image).unwrap();
        assert!(is_loop_attached(&image, Duration::ZERO));
        drop(device);
        assert!(!is_loop_attached(&image, Duration::from_secs(120)));
    }
}
