//! Measures the metrics of a data sheet on a simulated disk.

use model::{Bytes, DiskModel, FlashState, Mechanism, Nanos, Rotating};

use crate::{
    CompletedRequest, DiskError, DiskRequest, MechanismParams, RequestKind, SECTOR, SimulatedDisk,
    TimeComponent,
};

/// Size of measured flash disks. The block size is that of the model.
const FLASH: Bytes = Bytes(4 << 30);
/// Sectors of a random request: 4 KiB.
const RANDOM_REQUEST_SECTORS: u32 = 8;
/// Sectors of a sequential request: 128 KiB.
const SEQUENTIAL_REQUEST_SECTORS: u32 = 256;
/// Number of requests per random measurement.
const REQUESTS: u64 = 20_000;
/// Number of writes after which the contents of the cache are negligible compared with the flash.
const STEADY_STATE_WRITES: u64 = 400_000;
/// Bytes of a stream on a rotating disk: some tracks.
const STREAM: u64 = 128 << 20;
const SEED: u64 = 1;

/// A simulated disk in a prepared state.
struct PreconditionedDisk {
    disk: SimulatedDisk,
    sectors: u64,
    now: Nanos,
}

impl PreconditionedDisk {
    fn new(model: &DiskModel, state: FlashState) -> Result<Self, DiskError> {
        let mut model = model.clone();
        if let Mechanism::Flash(flash) = &mut model.mechanism {
            flash.state = state;
        }
        let size = model.capacity().unwrap_or(FLASH);
        let sectors =
            size.0 / SECTOR / u64::from(RANDOM_REQUEST_SECTORS) * u64::from(RANDOM_REQUEST_SECTORS);
        let parameters = MechanismParams::new(&model, Bytes(sectors * SECTOR), SEED);
        Ok(Self { disk: SimulatedDisk::new(&parameters)?, sectors, now: Nanos(0) })
    }

    /// Serves requests with a constant queue depth: each completion submits the next request.
    fn serve(
        &mut self,
        depth: usize,
        requests: impl IntoIterator<Item = DiskRequest>,
    ) -> Result<Vec<CompletedRequest>, DiskError> {
        let mut done = Vec::new();
        let mut held = 0;
        for request in requests {
            while held == depth {
                if let Some(served) = self.disk.step() {
                    self.now = served.completed;
                    held -= 1;
                    done.push(served);
                }
            }
            while self.disk.next_internal_event().is_some_and(|next| next <= self.now) {
                if let Some(served) = self.disk.step() {
                    held -= 1;
                    done.push(served);
                }
            }
            self.disk.submit(&DiskRequest { arrived: self.now, ..request })?;
            held += 1;
        }
        while held > 0 {
            if let Some(served) = self.disk.step() {
                self.now = served.completed;
                held -= 1;
                done.push(served);
            }
        }
        Ok(done)
    }

    fn scattered(
        &self,
        operation: RequestKind,
        count: u64,
    ) -> impl Iterator<Item = DiskRequest> + use<> {
        let blocks = self.sectors / u64::from(RANDOM_REQUEST_SECTORS);
        (1..=count).map(move |i| {
            request(
                operation,
                mixed(i) % blocks * u64::from(RANDOM_REQUEST_SECTORS),
                RANDOM_REQUEST_SECTORS,
            )
        })
    }
}

/// Mixes the bits of a number with SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom
/// number generators", 2014).
const fn mixed(number: u64) -> u64 {
    let z = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

const fn request(operation: RequestKind, sector: u64, sectors: u32) -> DiskRequest {
    DiskRequest { arrived: Nanos(0), operation, sector, sectors, forced: false, tag: 0 }
}

fn in_order(operation: RequestKind, from: u64, bytes: u64) -> impl Iterator<Item = DiskRequest> {
    let count = bytes / SECTOR / u64::from(SEQUENTIAL_REQUEST_SECTORS);
    (0..count).map(move |i| {
        request(
            operation,
            from + i * u64::from(SEQUENTIAL_REQUEST_SECTORS),
            SEQUENTIAL_REQUEST_SECTORS,
        )
    })
}

/// Returns requests and bytes per second of the second half of the served requests. The first half
/// fills the caches.
fn rates(served: &[CompletedRequest]) -> (f64, f64) {
    let (first, rest) = served.split_at(served.len() / 2);
    let begin = first.iter().map(|s| s.completed).max().unwrap_or_default();
    let end = rest.iter().map(|s| s.completed).max().unwrap_or_default();
    let seconds = (end.0.saturating_sub(begin.0)).max(1) as f64 / 1e9;
    let sectors: u64 = rest.iter().map(|s| u64::from(s.request.sectors)).sum();
    (rest.len() as f64 / seconds, (sectors * SECTOR) as f64 / seconds)
}

/// Measures random 4 KiB accesses with a constant queue depth, in operations per second. Reads find
/// every sector written; writes start from the given state of the flash.
///
/// # Errors
/// Returns an error if the model is invalid.
pub fn random_iops(
    model: &DiskModel,
    operation: RequestKind,
    depth: usize,
    state: FlashState,
) -> Result<f64, DiskError> {
    let mut bench = PreconditionedDisk::new(model, state)?;
    let count = match (state, operation) {
        (FlashState::Steady, RequestKind::Write) => STEADY_STATE_WRITES,
        _ => REQUESTS,
    };
    let requests = bench.scattered(operation, count);
    Ok(rates(&bench.serve(depth, requests)?).0)
}

/// Returns the mean latency of random 4 KiB requests, in seconds.
///
/// # Errors
/// Returns an error if the model is invalid.
pub fn latency(model: &DiskModel, operation: RequestKind) -> Result<f64, DiskError> {
    let state = match operation {
        RequestKind::Read => FlashState::Steady,
        _ => FlashState::Fresh,
    };
    random_iops(model, operation, 1, state).map(|rate| 1.0 / rate)
}

/// Returns the mean seek time of random reads, in seconds.
///
/// # Errors
/// Returns an error if the model is invalid.
pub fn seek(model: &DiskModel) -> Result<f64, DiskError> {
    let mut bench = PreconditionedDisk::new(model, FlashState::default())?;
    let requests = bench.scattered(RequestKind::Read, REQUESTS);
    let served = bench.serve(1, requests)?;
    let all: u64 = served.iter().map(|s| s.part(TimeComponent::Seek).0).sum();
    Ok(all as f64 / served.len() as f64 / 1e9)
}

/// Returns the sequential rate with requests of 128 KiB, in bytes per second. The queue depth is 32
/// on flash and 2 on a rotating disk. Measures at the end of the disk if `at_end` is true, and at
/// the start otherwise.
///
/// # Errors
/// Returns an error if the model is invalid.
pub fn sequential_bandwidth(
    model: &DiskModel,
    operation: RequestKind,
    at_end: bool,
) -> Result<f64, DiskError> {
    let rotates = matches!(model.mechanism, Mechanism::Rotating(_));
    let state = match operation {
        RequestKind::Read => FlashState::Half,
        _ => FlashState::Fresh,
    };
    let mut bench = PreconditionedDisk::new(model, state)?;
    let whole = bench.sectors * SECTOR;
    let bytes = match (rotates, operation) {
        (true, _) => STREAM.min(whole),
        (false, RequestKind::Read) => whole / 2,
        (false, _) => whole,
    };
    let from = if at_end { bench.sectors - bytes / SECTOR } else { 0 };
    let depth = if rotates { 2 } else { 32 };
    Ok(rates(&bench.serve(depth, in_order(operation, from, bytes))?).1)
}

/// Measures the write amplification of random 4 KiB overwrites in the steady state. Returns `None`
/// if the disk is not flash.
///
/// # Errors
/// Returns an error if the model is invalid.
pub fn write_amplification(model: &DiskModel) -> Result<Option<f64>, DiskError> {
    if !matches!(model.mechanism, Mechanism::Flash(_)) {
        return Ok(None);
    }
    let mut bench = PreconditionedDisk::new(model, FlashState::Steady)?;
    let mut requests = bench.scattered(RequestKind::Write, STEADY_STATE_WRITES);
    bench.serve(32, requests.by_ref().take(STEADY_STATE_WRITES as usize / 2))?;
    let before = bench.disk.counters();
    bench.serve(32, requests)?;
    let after = bench.disk.counters();
    let written = (after.slots_written - before.slots_written).max(1);
    let programmed = after.slots_programmed - before.slots_programmed;
    Ok(Some(programmed as f64 / written as f64))
}

/// Measures the queue time of a read at the far end of the disk while each completed read near the
/// beginning is followed by another one. Returns `None` if the far read waits until the near reads
/// end.
///
/// # Errors
/// Returns an error if the model is invalid.
pub fn max_queue_wait(model: &DiskModel) -> Result<Option<Nanos>, DiskError> {
    /// Number of sectors in the near region.
    const LOCALITY_SECTORS: u64 = 8000;
    let PreconditionedDisk { mut disk, sectors, .. } =
        PreconditionedDisk::new(model, FlashState::default())?;
    let far = sectors - u64::from(RANDOM_REQUEST_SECTORS);
    let submit = |disk: &mut SimulatedDisk, arrived, number: u64| {
        let sector = if number == 0 { far } else { mixed(number) % LOCALITY_SECTORS.min(far) };
        disk.submit(&DiskRequest {
            arrived,
            tag: number,
            ..request(RequestKind::Read, sector, RANDOM_REQUEST_SECTORS)
        })
    };
    // Moves the head away from the far end before the far read arrives.
    submit(&mut disk, Nanos(0), 1)?;
    let first = serve_one(&mut disk).map_or(Nanos(0), |served| served.completed);
    let next = 1 + u64::from(model.queue).max(4);
    (2..next).try_for_each(|number| submit(&mut disk, first, number))?;
    submit(&mut disk, first, 0)?;
    for number in next..REQUESTS {
        let Some(served) = serve_one(&mut disk) else {
            break;
        };
        if served.request.tag == 0 {
            return Ok(Some(served.time()));
        }
        submit(&mut disk, served.completed, number)?;
    }
    Ok(None)
}

fn serve_one(disk: &mut SimulatedDisk) -> Option<CompletedRequest> {
    while disk.next_internal_event().is_some() {
        if let Some(served) = disk.step() {
            return Some(served);
        }
    }
    None
}

/// Returns an upper bound of the queue time on a rotating disk, not counting requests that were
/// already in the queue. A request wins once its age outweighs the longest positioning; the bound
/// adds one positioning per command of the queue. Returns `None` if the age weight is 0.
pub fn wait_bound(queue: u32, disk: &Rotating) -> Option<Nanos> {
    let longest = disk.seek_full.0 + disk.write_settle.0 + disk.turn.0;
    let aged = (longest * 1000).checked_div(u64::from(disk.age_weight))?;
    Some(Nanos(aged + u64::from(queue) * longest))
}
