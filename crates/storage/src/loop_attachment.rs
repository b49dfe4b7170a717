//! Whether a file still lies below a loop device: after a kill the kernel may take a while to let go.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::sysfs::{self, DeviceId};

/// How often the kernel is asked.
const INTERVAL: Duration = Duration::from_millis(2);

/// Whether a loop device holds the file after waiting so long for its release.
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

/// What cannot be found out is taken for held.
fn holds(file: DeviceId) -> bool {
    let devices = sysfs::loop_devices();
    devices.map_or(true, |devices| {
        devices.iter().any(|device| device.backing == file)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::LoopDevice;

    #[test]
    fn an_attached_file_is_seen_until_it_is_let_go() {
        let directory = tempfile::tempdir().unwrap();
        let image = directory.path().join("image");
        fs::write(&image, [1; 65_536]).unwrap();
        assert!(!is_loop_attached(&image, Duration::ZERO));
        let device = LoopDevice::attach(&image).unwrap();
        assert!(is_loop_attached(&image, Duration::ZERO));
        drop(device);
        assert!(!is_loop_attached(&image, Duration::from_secs(10)));
    }
}
