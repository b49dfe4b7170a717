//! Calibration: harness overhead and raw performance of the device below the filesystem.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::HostSnapshot;
use anyhow::Context;
use model::{Bytes, Calibration, Nanos, RawDevicePerformance, SizeProfile};
use storage::{DeviceMeter, ExclusiveDevice, LoopDevice, MeterSchedule, ProvisionError};
use sys::block::block_claim;
use sys::io::clock;

use crate::error;

/// Subject of the raw device measurement.
pub enum RawDeviceSubject {
    /// A device or a file used as one.
    Device(Box<RawDeviceHandle>),
    /// No storage, for this reason.
    Nothing(String),
}

/// A device without a filesystem.
pub struct RawDeviceHandle {
    /// Path of the device.
    pub path: PathBuf,
    /// The device, claimed.
    pub claim: File,
    /// Its size.
    pub size: Bytes,
    /// Whether every block of the device was written before.
    pub written: bool,
    /// Whether the device must contain only zeros afterwards.
    pub blank_afterwards: bool,
    /// Human-readable description of the device.
    pub description: String,
    /// Keeps the device attached.
    pub _attached: Option<LoopDevice>,
}

impl RawDeviceHandle {
    /// Claims a loop device for the measurement.
    ///
    /// # Errors
    /// Returns an error if another process uses the device.
    pub fn from_loop(attached: LoopDevice, what: &str) -> anyhow::Result<Self> {
        let path = attached.path().to_owned();
        let claim =
            block_claim::claim(&path).with_context(|| format!("cannot open {}", path.display()))?;
        Ok(Self {
            path,
            claim,
            size: attached.state()?.identity.size,
            written: false,
            blank_afterwards: false,
            description: format!("{what}, on a {}", attached.attachment()),
            _attached: Some(attached),
        })
    }

    /// Claims a user's device, or attaches a user's file to a loop device.
    ///
    /// # Errors
    /// Returns an error if the device has changed or another process uses it.
    pub fn from_device(device: &mut ExclusiveDevice, what: String) -> anyhow::Result<Self> {
        let claim = device.claim()?;
        if !device.is_block() {
            let attached = LoopDevice::attach_file(&claim, device.path())?;
            return Self::from_loop(attached, &what);
        }
        Ok(Self {
            path: device.path().to_owned(),
            claim,
            size: device.size(),
            written: false,
            blank_afterwards: false,
            description: what,
            _attached: None,
        })
    }
}

/// Repetitions and duration of each measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalibrationEffort {
    overhead: MeterSchedule,
    device: MeterSchedule,
}

impl CalibrationEffort {
    /// Effort of `fsarena tool calibrate`: a few seconds in total.
    pub const STANDALONE_EFFORT: Self = Self::new(5, 20, 150);

    /// Returns the effort for a campaign: a fraction of a second if its cells take seconds.
    pub const fn for_profile(profile: SizeProfile) -> Self {
        match profile {
            SizeProfile::Smoke => Self::new(3, 2, 10),
            SizeProfile::Quick | SizeProfile::Standard => Self::new(5, 10, 60),
            SizeProfile::Study | SizeProfile::Soak => Self::STANDALONE_EFFORT,
        }
    }

    const fn new(repetitions: u32, overhead: u64, device: u64) -> Self {
        const MILLISECOND: u64 = 1_000_000;
        Self {
            overhead: MeterSchedule { repetitions, duration: Nanos(overhead * MILLISECOND) },
            device: MeterSchedule { repetitions, duration: Nanos(device * MILLISECOND) },
        }
    }
}

/// Runs a calibration. If a device cannot be measured, the result contains the reason instead of
/// values.
///
/// # Errors
/// Returns an error if the user asks to stop, the harness overhead cannot be measured, or a blank
/// device cannot be made blank again.
pub fn calibrate(
    subject: RawDeviceSubject,
    effort: CalibrationEffort,
    stop: &AtomicBool,
) -> Result<Calibration, ProvisionError> {
    let (taken, start, before) = (clock::realtime(), clock::now(), HostSnapshot::take());
    let MeterSchedule { repetitions, duration: each } = effort.overhead;
    let overhead = workload::overhead(repetitions, each);
    let overhead = overhead.map_err(|error| ProvisionError::Io {
        doing: "measure fsarena itself on",
        path: "/dev/null".into(),
        source: io::Error::other(error),
    })?;
    let (raw_device, device) = raw_device(subject, effort.device, stop)?;
    Ok(Calibration {
        taken,
        elapsed: clock::since(start),
        disturbance: Some(before.noise_until(&HostSnapshot::take())),
        overhead,
        raw_device,
        device,
    })
}

fn raw_device(
    subject: RawDeviceSubject,
    pace: MeterSchedule,
    stop: &AtomicBool,
) -> Result<(Option<RawDevicePerformance>, String), ProvisionError> {
    let raw = match subject {
        RawDeviceSubject::Device(raw) => raw,
        RawDeviceSubject::Nothing(why) => return Ok((None, why)),
    };
    let mut device = match DeviceMeter::new(raw.claim, &raw.path, raw.size, raw.written) {
        Ok(device) => device,
        Err(error) => return Ok((None, not_measured(error))),
    };
    let measured = device.measure(pace, &|| stop.load(Ordering::Relaxed));
    if raw.blank_afterwards {
        device.zero_written()?;
    }
    match measured {
        Ok(raw_device) => Ok((Some(raw_device), raw.description)),
        Err(ProvisionError::Interrupted) => Err(ProvisionError::Interrupted),
        Err(error) => Ok((None, not_measured(error))),
    }
}

fn not_measured(error: ProvisionError) -> String {
    format!("could not be measured: {}", error::error_chain(&error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_cannot_be_measured_has_no_values_and_is_no_error() {
        let raw = RawDeviceHandle {
            path: "/dev/null".into(),
            claim: File::open("/dev/null").unwrap(),
            size: Bytes(8),
            written: false,
            blank_afterwards: true,
            description: "a device".into(),
            _attached: None,
        };
        let subject = RawDeviceSubject::Device(Box::new(raw));
        let stop = AtomicBool::new(false);
        let taken =
            calibrate(subject, CalibrationEffort::for_profile(SizeProfile::Smoke), &stop).unwrap();
        assert_eq!(taken.raw_device, None);
        assert!(taken.device.contains("smaller than"), "{}", taken.device);
    }

    #[test]
    fn larger_campaigns_are_calibrated_more_thoroughly() {
        let time = |profile| {
            let MeterSchedule { repetitions, duration: each } =
                CalibrationEffort::for_profile(profile).device;
            u64::from(repetitions) * each.0
        };
        assert!(SizeProfile::ALL.map(time).is_sorted());
    }
}
