//! Interface to the mechanism, the only file of this crate that calls it. The mechanism is written
//! in C (`c/disk.h`), so the driver of a guest's disk can compile the same code.
#![allow(unsafe_code)]

use std::fmt;

use model::{Bytes, DiskModel, Flash, Mechanism, Nanos, Rotating};

use crate::{
    CompletedRequest, DiskCounters, DiskError, DiskRequest, RequestKind, SECTOR, TimeComponent,
};

const REQUESTS: usize = 128;
const ZONES: usize = 16;
const PARTS: usize = TimeComponent::ALL.len();
const NEVER: u64 = u64::MAX;

/// `struct fsd_zone`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct MechanismZone {
    cylinders: u32,
    sectors: u32,
}

/// `struct fsd_rotating`.
#[repr(C)]
#[derive(Clone, Default)]
struct RotatingNumbers {
    turn: u64,
    seek_track: u64,
    seek_average: u64,
    seek_full: u64,
    head_switch: u64,
    write_settle: u64,
    heads: u32,
    read_ahead: u32,
    zones: u32,
    zone: [MechanismZone; ZONES],
    age_weight: u32,
}

/// `struct fsd_flash`.
#[repr(C)]
#[derive(Clone, Default)]
struct FlashNumbers {
    read: u64,
    program: u64,
    erase: u64,
    unmap: u64,
    controller: u64,
    channel_rate: u64,
    channels: u32,
    dies: u32,
    page: u32,
    block: u32,
    spare: u32,
    protected: u32,
    writes_before: u32,
}

/// `struct fsd_parameters`: parameters of a disk in the format of the mechanism.
#[repr(C)]
#[derive(Clone, Default)]
pub struct MechanismParams {
    kind: u32,
    queue: u32,
    sectors: u64,
    command: u64,
    link_rate: u64,
    cache: u64,
    seed: u64,
    rotating: RotatingNumbers,
    flash: FlashNumbers,
}

/// `struct fsd_request`.
#[repr(C)]
#[derive(Clone, Default)]
struct RawRequest {
    arrived: u64,
    sector: u64,
    tag: u64,
    sectors: u32,
    operation: u32,
    forced: u32,
    state: u32,
    completed: u64,
    part: [u64; PARTS],
}

/// `struct fsd_counts`.
#[repr(C)]
#[derive(Clone, Default)]
struct RawCounts {
    seeks: u64,
    cache_hits: u64,
    slots_written: u64,
    slots_programmed: u64,
    erases: u64,
}

/// `struct fsd_disk`, which only the mechanism accesses.
#[repr(C)]
struct RawDisk {
    _private: [u8; 0],
}

// SAFETY: these are the functions of `c/disk.h`, with the types that it gives them.
unsafe extern "C" {
    fn fsd_size(parameters: *const MechanismParams) -> usize;
    fn fsd_make(memory: *mut u64, parameters: *const MechanismParams) -> *mut RawDisk;
    fn fsd_submit(disk: *mut RawDisk, request: *const RawRequest) -> i32;
    fn fsd_next(disk: *const RawDisk) -> u64;
    fn fsd_step(disk: *mut RawDisk, done: *mut RawRequest) -> i32;
    fn fsd_count(disk: *const RawDisk, counts: *mut RawCounts);
}

fn sectors(bytes: Bytes) -> u64 {
    bytes.0 / SECTOR
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn rotating(disk: &Rotating) -> RotatingNumbers {
    let mut numbers = RotatingNumbers {
        turn: disk.turn.0,
        seek_track: disk.seek_next.0,
        seek_average: disk.seek_average.0,
        seek_full: disk.seek_full.0,
        head_switch: disk.head_switch.0,
        write_settle: disk.write_settle.0,
        heads: disk.heads,
        read_ahead: narrow(sectors(disk.read_ahead)),
        zones: narrow(disk.zones.len() as u64),
        age_weight: disk.age_weight,
        ..RotatingNumbers::default()
    };
    for (to, zone) in numbers.zone.iter_mut().zip(&disk.zones) {
        *to = MechanismZone { cylinders: zone.cylinders, sectors: zone.sectors };
    }
    numbers
}

fn flash(disk: &Flash) -> FlashNumbers {
    FlashNumbers {
        read: disk.read.0,
        program: disk.program.0,
        erase: disk.erase.0,
        unmap: disk.unmap.0,
        controller: disk.controller.0,
        channel_rate: disk.channel.0,
        channels: disk.channels,
        dies: disk.dies,
        page: narrow(sectors(disk.page)),
        block: disk.block,
        spare: disk.spare,
        protected: u32::from(disk.protected),
        writes_before: disk.state.percent_written(),
    }
}

impl MechanismParams {
    /// Returns the parameters of a disk of this model and size. The seed initialises all random
    /// properties.
    pub fn new(model: &DiskModel, size: Bytes, seed: u64) -> Self {
        let plain = Self {
            queue: model.queue,
            sectors: sectors(size),
            command: model.command.0,
            link_rate: model.link.map_or(0, |rate| rate.0),
            cache: sectors(model.cache),
            seed,
            ..Self::default()
        };
        match &model.mechanism {
            Mechanism::Ideal => plain,
            Mechanism::Rotating(disk) => Self { kind: 1, rotating: rotating(disk), ..plain },
            Mechanism::Flash(disk) => Self { kind: 2, flash: flash(disk), ..plain },
        }
    }

    /// Returns the memory that the mechanism of such a disk needs, in bytes.
    ///
    /// # Errors
    /// Returns an error if the model does not support this size.
    pub fn memory(&self) -> Result<usize, DiskError> {
        // SAFETY: the pointer is that of a reference.
        match unsafe { fsd_size(self) } {
            0 => Err(DiskError::InvalidModel(Bytes(self.sectors * SECTOR))),
            size => Ok(size),
        }
    }

    /// Returns the parameters as bytes for the driver of a guest: `struct fsd_parameters` of a
    /// little-endian machine.
    pub fn bytes(&self) -> Vec<u8> {
        let r = &self.rotating;
        let f = &self.flash;
        let mut bytes = Vec::with_capacity(size_of::<Self>());
        let mut words =
            |list: &[u32]| bytes.extend(list.iter().flat_map(|word| word.to_le_bytes()));
        let wide = |number: u64| [number as u32, (number >> 32) as u32];
        words(&[self.kind, self.queue]);
        for number in [self.sectors, self.command, self.link_rate, self.cache, self.seed] {
            words(&wide(number));
        }
        let times =
            [r.turn, r.seek_track, r.seek_average, r.seek_full, r.head_switch, r.write_settle];
        times.into_iter().for_each(|number| words(&wide(number)));
        words(&[r.heads, r.read_ahead, r.zones]);
        r.zone.iter().for_each(|zone| words(&[zone.cylinders, zone.sectors]));
        words(&[r.age_weight]);
        let times = [f.read, f.program, f.erase, f.unmap, f.controller];
        for number in times.into_iter().chain([f.channel_rate]) {
            words(&wide(number));
        }
        words(&[f.channels, f.dies, f.page, f.block, f.spare, f.protected, f.writes_before, 0]);
        bytes
    }
}

/// A disk simulated from a model.
pub struct SimulatedDisk {
    /// State of the mechanism.
    memory: Box<[u64]>,
}

impl fmt::Debug for SimulatedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a disk that knows {} bytes", self.memory.len() * 8)
    }
}

impl SimulatedDisk {
    /// Creates a disk.
    ///
    /// # Errors
    /// Returns an error if the model does not support this size.
    pub fn new(parameters: &MechanismParams) -> Result<Self, DiskError> {
        let size = parameters.memory()?;
        let mut memory = vec![0_u64; size.div_ceil(8)].into_boxed_slice();
        // SAFETY: the memory is zero, aligned to 8 bytes, and as large as `fsd_size` asks for.
        unsafe { fsd_make(memory.as_mut_ptr(), parameters) };
        Ok(Self { memory })
    }

    fn raw(&self) -> *const RawDisk {
        self.memory.as_ptr().cast()
    }

    fn raw_mut(&mut self) -> *mut RawDisk {
        self.memory.as_mut_ptr().cast()
    }

    /// Submits a request. The caller must first process all events up to its arrival. A disk holds
    /// at most 128 requests.
    ///
    /// # Errors
    /// Returns an error if the disk is full or cannot serve the request.
    pub fn submit(&mut self, request: &DiskRequest) -> Result<(), DiskError> {
        let raw = RawRequest {
            arrived: request.arrived.0,
            sector: request.sector,
            tag: request.tag,
            sectors: request.sectors,
            operation: request.operation as u32,
            forced: u32::from(request.forced),
            ..RawRequest::default()
        };
        // SAFETY: `new` made the disk; the request is one.
        match unsafe { fsd_submit(self.raw_mut(), &raw) } {
            0 => Ok(()),
            _ => Err(DiskError::Refused),
        }
    }

    /// Returns the time of the next internal event. Returns `None` if no event is pending.
    pub fn next_internal_event(&self) -> Option<Nanos> {
        // SAFETY: `new` made the disk.
        let next = unsafe { fsd_next(self.raw()) };
        (next != NEVER).then_some(Nanos(next))
    }

    /// Processes the next event. Returns a request if the event completes one.
    pub fn step(&mut self) -> Option<CompletedRequest> {
        let mut done = RawRequest::default();
        // SAFETY: `new` made the disk; `done` is a local variable.
        let is_done = unsafe { fsd_step(self.raw_mut(), &mut done) } != 0;
        is_done.then(|| CompletedRequest {
            request: DiskRequest {
                arrived: Nanos(done.arrived),
                operation: RequestKind::ALL[done.operation as usize % RequestKind::ALL.len()],
                sector: done.sector,
                sectors: done.sectors,
                forced: done.forced != 0,
                tag: done.tag,
            },
            completed: Nanos(done.completed),
            parts: done.part.map(Nanos),
        })
    }

    /// Returns the counters since the disk was created.
    pub fn counters(&self) -> DiskCounters {
        let mut raw = RawCounts::default();
        // SAFETY: `new` made the disk; `raw` is a local variable.
        unsafe { fsd_count(self.raw(), &mut raw) };
        DiskCounters {
            seeks: raw.seeks,
            cache_hits: raw.cache_hits,
            slots_written: raw.slots_written,
            slots_programmed: raw.slots_programmed,
            erases: raw.erases,
        }
    }
}

impl SimulatedDisk {
    /// Maximum number of requests in the disk.
    pub const REQUESTS: usize = REQUESTS;
    /// Maximum number of sectors of a read or write.
    pub const MAX_MECHANISM: u32 = 2048;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_bytes_are_those_that_the_mechanism_is_given() {
        let mut parameters = MechanismParams {
            kind: 1,
            queue: 2,
            sectors: 3,
            command: 4,
            link_rate: 5 << 32,
            cache: 6,
            seed: 7,
            ..MechanismParams::default()
        };
        parameters.rotating.zones = 8;
        parameters.rotating.zone[15].sectors = 9;
        parameters.flash.read = 10;
        parameters.flash.writes_before = 11;
        let bytes = parameters.bytes();
        assert_eq!(bytes.len(), size_of::<MechanismParams>());
        let at = |field: *const u8| {
            let start: *const u8 = (&raw const parameters).cast();
            field as usize - start as usize
        };
        let wide = |from: usize| u64::from_le_bytes(bytes[from..from + 8].try_into().unwrap());
        let word = |from: usize| u32::from_le_bytes(bytes[from..from + 4].try_into().unwrap());
        assert_eq!(wide(at((&raw const parameters.link_rate).cast())), 5 << 32);
        assert_eq!(word(at((&raw const parameters.rotating.zones).cast())), 8);
        assert_eq!(word(at((&raw const parameters.rotating.zone[15].sectors).cast())), 9);
        assert_eq!(wide(at((&raw const parameters.flash.read).cast())), 10);
        assert_eq!(word(at((&raw const parameters.flash.writes_before).cast())), 11);
    }
}
