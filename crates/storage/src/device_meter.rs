//! Speed of a device without a filesystem: the raw device that results are compared with.
//!
//! Reads and writes the device directly, bypassing the page cache. Destroys the content of the
//! device, so use it only with an fsarena image or a device that passed the checks. Does not check
//! anything itself.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

use model::{Bytes, Nanos, RawDevicePerformance, RepeatedValue, SeededRng};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use sys::fs::aligned::AlignedBuffer;
use sys::io::clock;
use sys::io::uring::{Completion, Ring};

use crate::ProvisionError;

/// Alignment of memory and offsets that every device accepts.
const ALIGNMENT: usize = 4096;
/// Maximum length of the measured area; a longer one takes more time but does not improve the
/// result.
const MAX_DEVICE_METER_SIZE: u64 = 1 << 30;
const LONG: u64 = RawDevicePerformance::SEQUENTIAL_BLOCK.0;
const SHORT: u64 = RawDevicePerformance::RANDOM_BLOCK.0;

/// Number and duration of measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterSchedule {
    /// How often.
    pub repetitions: u32,
    /// How long.
    pub duration: Nanos,
}

/// Meter for a device without a filesystem.
#[derive(Debug)]
pub struct DeviceMeter<'a> {
    path: &'a Path,
    file: File,
    /// Size of the tested area, a multiple of [`LONG`].
    extent: u64,
    /// Bytes written from the start of the device. Reads beyond this may be answered without device
    /// access.
    written: u64,
    buffer: AlignedBuffer,
    chance: SeededRng,
    /// Offsets of the next sequential read and write.
    next: [u64; 2],
}

/// Kind of a measurement.
#[derive(Clone, Copy)]
struct MeterJob {
    random: bool,
    writes: bool,
}

const JOBS: [MeterJob; 4] = [
    MeterJob { random: false, writes: true },
    MeterJob { random: false, writes: false },
    MeterJob { random: true, writes: false },
    MeterJob { random: true, writes: true },
];

impl<'a> DeviceMeter<'a> {
    /// Creates a meter for a claimed device. `path` is its name. `written` means that every block
    /// was written before, like those of an image.
    ///
    /// # Errors
    /// Returns an error if the device is smaller than a request, or does not support direct I/O.
    pub fn new(
        claim: File,
        path: &'a Path,
        size: Bytes,
        written: bool,
    ) -> Result<Self, ProvisionError> {
        let fail = |doing| ProvisionError::io(doing, path);
        let extent = (size.0 - size.0 % LONG).min(MAX_DEVICE_METER_SIZE);
        if extent == 0 {
            let small = io::Error::other(format!(
                "it is smaller than {}",
                RawDevicePerformance::SEQUENTIAL_BLOCK
            ));
            return Err(fail("measure")(small));
        }
        fcntl(&claim, FcntlArg::F_SETFL(OFlag::O_DIRECT))
            .map_err(|error| fail("use direct I/O on")(error.into()))?;
        let mut buffer = AlignedBuffer::new(LONG as usize, ALIGNMENT);
        let mut chance = SeededRng::substream(size.0, "raw-device");
        // Neither zeros nor repeated data, which a lower layer might compress or deduplicate.
        for word in buffer.chunks_exact_mut(8) {
            word.copy_from_slice(&chance.next_u64().to_le_bytes());
        }
        Ok(Self {
            path,
            file: claim,
            extent,
            written: if written { extent } else { 0 },
            buffer,
            chance,
            next: [0; 2],
        })
    }

    /// Measures the device, each result several times in turn. `stop` is checked before every
    /// request.
    ///
    /// # Errors
    /// Returns an error if a request fails, or if `stop` returns true.
    pub fn measure(
        &mut self,
        pace: MeterSchedule,
        stop: &dyn Fn() -> bool,
    ) -> Result<RawDevicePerformance, ProvisionError> {
        let mut rates: [Vec<f64>; JOBS.len()] = Default::default();
        let mut queued: [Vec<f64>; 2] = Default::default();
        let mut ring = self.ring()?;
        for _ in 0..pace.repetitions {
            for (job, rates) in JOBS.into_iter().zip(&mut rates) {
                rates.push(self.rate(job, pace.duration, stop)?);
            }
            for (writes, rates) in [false, true].into_iter().zip(&mut queued) {
                if let Some(ring) = &mut ring {
                    rates.push(self.queued_rate(ring, writes, pace.duration, stop)?);
                }
            }
        }
        let [queued_read, queued_write] = queued.map(|rates| RepeatedValue::from_values(&rates));
        let [sequential_write, sequential_read, random_read, random_write] =
            rates.map(|rates| RepeatedValue::from_values(&rates));
        Ok(RawDevicePerformance {
            sequential_read,
            sequential_write,
            random_read,
            random_write,
            queued_read,
            queued_write,
        })
    }

    /// Creates an I/O ring for the device. Returns `None` if the kernel does not support or permit
    /// rings.
    fn ring(&self) -> Result<Option<Ring>, ProvisionError> {
        let ring = match Ring::new(RawDevicePerformance::DEPTH, SHORT as usize) {
            Err(e) if matches!(e.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied) => {
                return Ok(None);
            }
            other => other.and_then(|ring| ring.register(&self.file).map(|()| ring)),
        };
        ring.map(Some).map_err(ProvisionError::io("make a ring on", self.path))
    }

    /// Measures requests per second once, with many requests in flight.
    fn queued_rate(
        &mut self,
        ring: &mut Ring,
        writes: bool,
        at_least: Nanos,
        stop: &dyn Fn() -> bool,
    ) -> Result<f64, ProvisionError> {
        let doing = if writes { "write" } else { "read" };
        let start = clock::now();
        let mut idle: Vec<usize> = (0..ring.depth()).collect();
        let mut requests = 0_u64;
        let mut done = Vec::new();
        while ring.in_flight() > 0 || !idle.is_empty() {
            let over = requests > 0 && clock::since(start) >= at_least;
            if stop() {
                return Err(ProvisionError::Interrupted);
            }
            for slot in idle.drain(..).filter(|_| !over) {
                self.queue(ring, slot, writes);
            }
            if ring.in_flight() == 0 {
                break;
            }
            ring.submit(1, None).map_err(ProvisionError::io(doing, self.path))?;
            ring.reap(&mut done);
            requests += done.len() as u64;
            for completion in done.drain(..) {
                whole(&completion).map_err(ProvisionError::io(doing, self.path))?;
                idle.push(completion.slot);
            }
        }
        if writes {
            let flushed = self.file.sync_data();
            flushed.map_err(ProvisionError::io("flush", self.path))?;
        }
        Ok(requests as f64 / clock::since(start).as_secs_f64())
    }

    fn queue(&mut self, ring: &mut Ring, slot: usize, writes: bool) {
        let (offset, length) = self.place(MeterJob { random: true, writes });
        let length = length as usize;
        if !writes {
            ring.read(slot, 0, offset, length);
            return;
        }
        // A fresh start makes each block unique: neither zeros nor repeated data.
        let data = &mut ring.buffer(slot)[..length];
        data.copy_from_slice(&self.buffer[..length]);
        data[..8].copy_from_slice(&self.chance.next_u64().to_le_bytes());
        ring.write(slot, 0, offset, length);
    }

    /// Measures bytes or requests per second once.
    fn rate(
        &mut self,
        job: MeterJob,
        at_least: Nanos,
        stop: &dyn Fn() -> bool,
    ) -> Result<f64, ProvisionError> {
        let doing = if job.writes { "write" } else { "read" };
        let start = clock::now();
        let mut requests = 0_u64;
        while requests == 0 || clock::since(start) < at_least {
            if stop() {
                return Err(ProvisionError::Interrupted);
            }
            let request = self.request(job);
            request.map_err(ProvisionError::io(doing, self.path))?;
            requests += 1;
        }
        if job.writes {
            let flushed = self.file.sync_data();
            flushed.map_err(ProvisionError::io("flush", self.path))?;
        }
        let each = if job.random { 1 } else { LONG };
        Ok((requests * each) as f64 / clock::since(start).as_secs_f64())
    }

    fn request(&mut self, job: MeterJob) -> io::Result<()> {
        let (offset, length) = self.place(job);
        let data = &mut self.buffer[..length as usize];
        if !job.writes {
            return self.file.read_exact_at(data, offset);
        }
        // Makes each request unique.
        data[..8].copy_from_slice(&self.chance.next_u64().to_le_bytes());
        self.file.write_all_at(data, offset)?;
        self.written = self.written.max(offset + length);
        Ok(())
    }

    /// Returns offset and length of the next request. Only written blocks are read, and random
    /// writes are limited to them as well.
    fn place(&mut self, job: MeterJob) -> (u64, u64) {
        let filled = if job.writes && !job.random { self.extent } else { self.written };
        if job.random {
            return (self.chance.below(filled / SHORT) * SHORT, SHORT);
        }
        let next = &mut self.next[usize::from(job.writes)];
        let offset = if *next + LONG > filled { 0 } else { *next };
        *next = offset + LONG;
        (offset, LONG)
    }

    /// Overwrites the written area with zeros, so that a blank device is blank again.
    ///
    /// # Errors
    /// Returns an error if a write fails.
    pub fn zero_written(mut self) -> Result<(), ProvisionError> {
        let fail = ProvisionError::io("write zeros to", self.path);
        self.buffer.fill(0);
        let mut offsets = (0..self.written).step_by(LONG as usize);
        let zeroed = offsets.try_for_each(|at| self.file.write_all_at(&self.buffer, at));
        zeroed.and_then(|()| self.file.sync_all()).map_err(fail)
    }
}

/// Returns an error if a request failed or was incomplete.
fn whole(completion: &Completion) -> io::Result<()> {
    match &completion.outcome {
        Ok(moved) if *moved as u64 == SHORT => Ok(()),
        Ok(moved) => Err(io::Error::other(format!("only {moved} bytes"))),
        Err(error) => {
            Err(io::Error::from_raw_os_error(error.raw_os_error().unwrap_or(Errno::EIO as i32)))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    const SIZE: u64 = 4 * LONG + 12_345;
    const QUICK: MeterSchedule = MeterSchedule { repetitions: 3, duration: Nanos(1_000_000) };

    /// Creates a file that replaces a device. The filesystem below must support direct I/O.
    fn file(directory: &Path) -> PathBuf {
        let path = directory.join("device");
        fs::write(&path, vec![0; SIZE as usize]).unwrap();
        path
    }

    fn open(path: &Path, written: bool) -> DeviceMeter<'_> {
        let file = File::options().read(true).write(true).open(path).unwrap();
        DeviceMeter::new(file, path, Bytes(SIZE), written).unwrap()
    }

    fn directory() -> tempfile::TempDir {
        // The file must be on a disk: /tmp may be in memory, for which older kernels have no direct
        // I/O.
        tempfile::tempdir_in("/var/tmp").unwrap()
    }

    #[test]
    fn takes_each_result_the_requested_number_of_times() {
        let directory = directory();
        let path = file(directory.path());
        let mut device = open(&path, false);
        let raw_device = device.measure(QUICK, &|| false).unwrap();
        // The kernel may not support io_uring.
        assert_eq!(raw_device.queued_read.is_some(), raw_device.queued_write.is_some());
        let queued = [raw_device.queued_read, raw_device.queued_write];
        let always = [
            raw_device.sequential_read,
            raw_device.sequential_write,
            raw_device.random_read,
            raw_device.random_write,
        ];
        assert!(always.iter().all(Option::is_some));
        for result in always.into_iter().chain(queued).flatten() {
            assert_eq!(result.repetitions, 3);
            assert!(result.min > 0.0);
        }
        assert!(fs::read(&path).unwrap().iter().any(|&b| b != 0), "it writes");
    }

    #[test]
    fn a_blank_device_is_blank_again_afterwards_and_never_longer() {
        let directory = directory();
        let path = file(directory.path());
        let mut device = open(&path, false);
        device.measure(QUICK, &|| false).unwrap();
        device.zero_written().unwrap();
        assert_eq!(fs::read(&path).unwrap(), vec![0; SIZE as usize]);
    }

    #[test]
    fn reads_only_written_blocks_within_the_device() {
        let directory = directory();
        let path = file(directory.path());
        let mut device = open(&path, false);
        for _ in 0..10 {
            device.request(JOBS[0]).unwrap();
            let end = device.written;
            assert!(end <= SIZE - SIZE % LONG);
            for job in &JOBS[1..] {
                let (offset, length) = device.place(*job);
                assert!(offset + length <= end, "{offset} + {length} > {end}");
            }
        }
        assert_eq!(device.written, 4 * LONG, "wraps around at the end");
    }

    #[test]
    fn stops_on_request() {
        let directory = directory();
        let path = file(directory.path());
        let mut device = open(&path, true);
        let stopped = device.measure(QUICK, &|| true);
        assert!(matches!(stopped, Err(ProvisionError::Interrupted)));
        assert_eq!(fs::read(&path).unwrap(), vec![0; SIZE as usize]);
    }

    #[test]
    fn refuses_a_device_that_is_too_small() {
        let null = Path::new("/dev/null");
        let file = File::open(null).unwrap();
        let error = DeviceMeter::new(file, null, Bytes(LONG - 1), false).unwrap_err();
        assert!(error.to_string().contains("smaller than 1 MiB"), "{error}");
    }
}
