//! Samples of the machine and of the device while a phase runs.

use model::{Bytes, DeviceCounters, DeviceSample, MachineSample, Nanos};
use sys::block;

/// Number of readings at which every second one is removed: 14 minutes at five per second.
const MOST: usize = 4096;

/// Readings since the start of a step.
#[derive(Debug)]
pub struct MachineSamples {
    readings: Vec<MachineReading>,
    /// Of this number of readings, the last one is kept.
    stride: usize,
    since_kept: usize,
}

/// A reading of the machine at one time.
#[derive(Clone, Copy, Debug)]
pub struct MachineReading {
    /// Time on the clock of the phase.
    pub at: Nanos,
    /// Data of the page cache that is not on a device yet.
    pub dirty: Option<Bytes>,
    /// Counters of the device.
    pub device: Option<DeviceCounters>,
}

impl Default for MachineSamples {
    fn default() -> Self {
        Self { readings: Vec::new(), stride: 1, since_kept: 0 }
    }
}

impl MachineSamples {
    /// Adds a reading.
    pub fn add(&mut self, reading: MachineReading) {
        self.since_kept += 1;
        if self.since_kept < self.stride {
            return;
        }
        self.since_kept = 0;
        self.readings.push(reading);
        if self.readings.len() == MOST {
            let mut place = 0;
            self.readings.retain(|_| {
                place += 1;
                place % 2 == 0
            });
            self.stride *= 2;
        }
    }

    /// Returns the samples within a timed part. The work of the device before the first of them is
    /// unknown, so the first reading only begins the count.
    pub fn during(&self, begun: Nanos, ended: Nanos) -> Vec<MachineSample> {
        let inside = |one: &&MachineReading| (begun..=ended).contains(&one.at);
        let mut before: Option<DeviceCounters> = None;
        let mut samples = Vec::new();
        for reading in self.readings.iter().filter(inside) {
            let pair = before.zip(reading.device);
            let work = pair.map(|(before, now)| block::difference(before, now));
            samples.push(MachineSample {
                at: Nanos(reading.at.0 - begun.0),
                dirty: reading.dirty,
                device: work.map(|work| DeviceSample {
                    read: work.read_bytes,
                    written: work.write_bytes,
                    flushes: work.flushes,
                }),
            });
            before = reading.device.or(before);
        }
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn readings(count: u64) -> MachineSamples {
        let mut samples = MachineSamples::default();
        for i in 0..count {
            let device = DeviceCounters { write_bytes: Bytes(i * 10), ..DeviceCounters::default() };
            let at = Nanos(i * 200 * MS);
            samples.add(MachineReading { at, dirty: Some(Bytes(i)), device: Some(device) });
        }
        samples
    }

    #[test]
    fn samples_have_the_work_since_the_one_before() {
        let samples = readings(6).during(Nanos(300 * MS), Nanos(900 * MS));
        let of = |one: &MachineSample| (one.at.0 / MS, one.dirty, one.device.map(|d| d.written.0));
        let found: Vec<_> = samples.iter().map(of).collect();
        let expected = [
            (100, Some(Bytes(2)), None),
            (300, Some(Bytes(3)), Some(10)),
            (500, Some(Bytes(4)), Some(10)),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_long_phase_has_fewer_readings_and_loses_no_work() {
        let samples = readings(20_000);
        assert!(samples.readings.len() < MOST);
        let found = samples.during(Nanos(0), Nanos(u64::MAX));
        let written: u64 = found.iter().filter_map(|one| one.device).map(|one| one.written.0).sum();
        let (first, last) = (samples.readings[0].at, samples.readings.last().unwrap().at);
        assert_eq!(written, (last.0 - first.0) / (200 * MS) * 10);
        assert!(last.0 > 19_900 * 200 * MS, "the newest are kept");
    }
}
