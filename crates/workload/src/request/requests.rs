//! Requests of each thread in order: equal for all I/O engines, and reproducible for the same seed.
//! Pure; performs no I/O.

use model::{AccessPattern, Bytes, FileSharing, Io, SeededRng};

use crate::files::permutation::Permutation;

/// Direction of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoDirection {
    /// Read the data.
    Read,
    /// Write the data.
    Write,
    /// Read the data, change it and write it back.
    ReadAndWrite,
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoRequest {
    /// Start offset in the file, in bytes.
    pub offset: u64,
    /// Length in bytes; shorter than a block only at the end of the file.
    pub length: usize,
    /// Direction of the request.
    pub turn: IoDirection,
}

/// Requests of all threads of a job.
#[derive(Clone, Debug)]
pub struct IoPlan {
    access: AccessPattern,
    block: u64,
    align: u64,
    /// Start of the part of the file that the job uses; nonzero for appends.
    start: u64,
    /// Size of the part that the job uses.
    extent: u64,
    operations: Option<u64>,
    threads: u64,
    sharing: FileSharing,
    interleaved: bool,
}

impl IoPlan {
    /// Creates a plan for a job on `extent` bytes of each file, starting at `start`.
    pub fn new(job: &Io, start: u64, extent: u64) -> Self {
        let Bytes(block) = job.block;
        Self {
            access: job.access,
            block,
            align: job.align.map_or(block, |align| align.0).max(1),
            start,
            extent,
            operations: job.operations,
            threads: u64::from(job.threads.max(1)),
            sharing: job.sharing,
            interleaved: job.interleaved,
        }
    }

    /// Returns the length of the longest request, in bytes.
    pub fn longest(&self) -> usize {
        self.block.min(self.extent.max(1)) as usize
    }

    /// Returns true if each request, except the last of a file, starts and ends at a multiple of
    /// `to` bytes.
    pub const fn is_aligned(&self, to: u64) -> bool {
        let offsets = if self.access.is_random() { self.align } else { self.block };
        self.block.is_multiple_of(to) && offsets.is_multiple_of(to) && self.start.is_multiple_of(to)
    }

    /// Returns true if the job does the same to the whole part, exactly once.
    pub fn covers_all(&self) -> bool {
        let one_turn = !matches!(self.access, AccessPattern::RandomMix { .. });
        let all_of = |n: u64| n >= self.blocks() * self.files();
        !self.repeats() && one_turn && self.operations.is_none_or(all_of)
    }

    /// Returns the requests of one thread; threads are counted from zero.
    pub fn of_thread(&self, thread: u32, seed: u64) -> RequestStream {
        let part = self.part(u64::from(thread));
        let blocks = part.end - part.start;
        let left = match (self.operations, self.sharing) {
            (None, _) if self.interleaved => share(self.blocks(), u64::from(thread), self.threads),
            (None, _) => blocks,
            (Some(all), _) if self.repeats() => share(all, u64::from(thread), self.threads),
            (Some(all), FileSharing::Own) => {
                share(all, u64::from(thread), self.threads).min(blocks)
            }
            // In proportion to the parts; with few blocks, a thread may have none.
            (Some(all), FileSharing::Shared) => {
                let up_to = |block| proportion(all.min(self.blocks()), block, self.blocks());
                up_to(part.end) - up_to(part.start)
            }
        };
        // Reads use other offsets than the writes before them, except by chance.
        let purpose = format!("{}-{thread}", self.access.name());
        let left = if self.extent == 0 { 0 } else { left };
        RequestStream {
            block: self.block,
            start: self.start,
            end: self.start + self.extent,
            left,
            turns: DirectionMix::of(self.access),
            order: match self.interleaved {
                true => OffsetOrder::Stride {
                    next: thread.into(),
                    step: self.threads,
                    lane: thread.into(),
                    end: self.blocks(),
                },
                false => self.order(part, seed, &purpose),
            },
            rng: SeededRng::substream(seed, &purpose),
        }
    }

    fn order(&self, part: std::ops::Range<u64>, seed: u64, purpose: &str) -> OffsetOrder {
        match self.access {
            AccessPattern::ReadBackward => OffsetOrder::Backward { next: part.end },
            AccessPattern::ReadStride { stride } => OffsetOrder::Stride {
                next: part.start,
                step: stride.0.div_ceil(self.block).max(1),
                lane: part.start,
                end: part.end,
            },
            AccessPattern::RecordRewrite => OffsetOrder::Fixed { block: part.start },
            _ if self.shuffles() => {
                // Threads that share a file share one order; each uses a section of it.
                let purpose = match self.sharing {
                    FileSharing::Own => purpose,
                    FileSharing::Shared => self.access.name(),
                };
                OffsetOrder::Shuffled {
                    order: Permutation::new(seed, purpose, self.blocks()),
                    next: part.start,
                }
            }
            access if access.is_random() => {
                let room = self.extent.saturating_sub(self.block);
                OffsetOrder::Random { draw: Draw::below(room / self.align + 1), align: self.align }
            }
            _ => OffsetOrder::Forward { next: part.start },
        }
    }

    /// Returns true if a block may repeat, so that requests may outnumber blocks.
    const fn repeats(&self) -> bool {
        let drawn = self.access.is_random() && !self.shuffles();
        drawn || matches!(self.access, AccessPattern::RecordRewrite)
    }

    /// Returns true if each block is visited once in random order, like fio's random map and like
    /// IOzone without a number of requests. Seeks are drawn independently, as in bonnie++.
    const fn shuffles(&self) -> bool {
        let random = self.access.is_random() && !matches!(self.access, AccessPattern::Seek { .. });
        random && self.operations.is_none() && self.align == self.block
    }

    const fn files(&self) -> u64 {
        match self.sharing {
            FileSharing::Own => self.threads,
            FileSharing::Shared => 1,
        }
    }

    /// Number of blocks in the used part of the file, including a short last one. If offsets are
    /// drawn, only whole blocks count, but at least one.
    const fn blocks(&self) -> u64 {
        if self.access.is_random() && !self.shuffles() {
            let whole = self.extent / self.block;
            return if whole == 0 { 1 } else { whole };
        }
        self.extent.div_ceil(self.block)
    }

    /// Returns the blocks of a thread: a contiguous range in thread order, or all blocks of a
    /// separate file.
    fn part(&self, thread: u64) -> std::ops::Range<u64> {
        let blocks = self.blocks();
        if self.sharing == FileSharing::Own {
            return 0..blocks;
        }
        let edge = |n| proportion(blocks, n, self.threads);
        edge(thread)..edge(thread + 1)
    }
}

/// Computes `count · part / whole`, rounded down; 0 if the whole is empty.
fn proportion(count: u64, part: u64, whole: u64) -> u64 {
    (u128::from(count) * u128::from(part) / u128::from(whole.max(1))) as u64
}

/// A thread's share of a count; the first threads get one more if it does not divide evenly.
const fn share(all: u64, thread: u64, threads: u64) -> u64 {
    all / threads + if thread < all % threads { 1 } else { 0 }
}

/// Requests of one thread in order.
#[derive(Clone, Debug)]
pub struct RequestStream {
    block: u64,
    start: u64,
    end: u64,
    left: u64,
    turns: DirectionMix,
    order: OffsetOrder,
    rng: SeededRng,
}

#[derive(Clone, Debug)]
enum OffsetOrder {
    Forward { next: u64 },
    Backward { next: u64 },
    Stride { next: u64, step: u64, lane: u64, end: u64 },
    Fixed { block: u64 },
    Shuffled { order: Permutation, next: u64 },
    Random { draw: Draw, align: u64 },
}

#[derive(Clone, Copy, Debug)]
enum DirectionMix {
    All(IoDirection),
    /// The direction `below` if 53 random bits are below the bound, otherwise `else_`.
    Either {
        bound: u64,
        below: IoDirection,
        else_: IoDirection,
    },
}

impl DirectionMix {
    fn of(access: AccessPattern) -> Self {
        let bound = |share: f64| (share.clamp(0.0, 1.0) * (1u64 << 53) as f64) as u64;
        match access {
            AccessPattern::Rewrite => Self::All(IoDirection::ReadAndWrite),
            AccessPattern::RandomMix { read_share } => Self::Either {
                bound: bound(read_share),
                below: IoDirection::Read,
                else_: IoDirection::Write,
            },
            AccessPattern::Seek { write_share } => Self::Either {
                bound: bound(write_share),
                below: IoDirection::ReadAndWrite,
                else_: IoDirection::Read,
            },
            access if access.writes() => Self::All(IoDirection::Write),
            _ => Self::All(IoDirection::Read),
        }
    }
}

impl RequestStream {
    /// Returns the number of remaining requests.
    #[inline]
    pub const fn remaining(&self) -> u64 {
        self.left
    }

    #[inline]
    fn offset(&mut self) -> u64 {
        match &mut self.order {
            OffsetOrder::Forward { next } => {
                *next += 1;
                (*next - 1) * self.block
            }
            OffsetOrder::Backward { next } => {
                *next -= 1;
                *next * self.block
            }
            OffsetOrder::Stride { next, step, lane, end } => {
                if *next >= *end {
                    *lane += 1;
                    *next = *lane;
                }
                *next += *step;
                (*next - *step) * self.block
            }
            OffsetOrder::Fixed { block } => *block * self.block,
            OffsetOrder::Shuffled { order, next } => {
                *next += 1;
                order.item(*next - 1) * self.block
            }
            OffsetOrder::Random { draw, align } => draw.next(&mut self.rng) * *align,
        }
    }
}

impl Iterator for RequestStream {
    type Item = IoRequest;

    #[inline]
    fn next(&mut self) -> Option<IoRequest> {
        self.left = self.left.checked_sub(1)?;
        let offset = self.start + self.offset();
        let turn =
            match self.turns {
                DirectionMix::All(turn) => turn,
                DirectionMix::Either { bound, below, else_ } => {
                    if self.rng.next_u64() >> 11 < bound { below } else { else_ }
                }
            };
        Some(IoRequest { offset, length: self.block.min(self.end - offset) as usize, turn })
    }
}

/// Unbiased random numbers below a bound, as from [`SeededRng::below`], but with only one division.
#[derive(Clone, Debug)]
struct Draw {
    bound: u64,
    threshold: u64,
}

impl Draw {
    const fn below(bound: u64) -> Self {
        Self { bound, threshold: bound.wrapping_neg() % bound }
    }

    #[inline]
    const fn next(&self, rng: &mut SeededRng) -> u64 {
        loop {
            let wide = rng.next_u64() as u128 * self.bound as u128;
            if wide as u64 >= self.threshold {
                return (wide >> 64) as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn accesses() -> impl Strategy<Value = AccessPattern> {
        prop_oneof![
            Just(AccessPattern::Write),
            Just(AccessPattern::Rewrite),
            Just(AccessPattern::Read),
            Just(AccessPattern::ReadBackward),
            (1u64..100_000).prop_map(|s| AccessPattern::ReadStride { stride: Bytes(s) }),
            Just(AccessPattern::RandomRead),
            Just(AccessPattern::RandomWrite),
            (0.0..=1.0).prop_map(|read_share| AccessPattern::RandomMix { read_share }),
            (0.0..=1.0).prop_map(|write_share| AccessPattern::Seek { write_share }),
            Just(AccessPattern::RecordRewrite),
        ]
    }

    prop_compose! {
        fn jobs()(
            access in accesses(),
            block in prop_oneof![Just(512), Just(100), Just(4096), Just(4097), 1u64..200_000],
            align in proptest::option::of(1u64..10_000),
            operations in proptest::option::of(1u64..3_000),
            threads in 1u32..9,
            own: bool,
            interleaved: bool,
        ) -> Io {
            let in_order = matches!(access, AccessPattern::Write | AccessPattern::Rewrite);
            Io {
                interleaved: interleaved && in_order && !own && operations.is_none(),
                align: align.map(Bytes),
                operations,
                threads,
                sharing: if own { FileSharing::Own } else { FileSharing::Shared },
                ..Io::new("f", access, Bytes(block))
            }
        }
    }

    fn all(plan: &IoPlan, job: &Io, seed: u64) -> Vec<Vec<IoRequest>> {
        (0..job.threads).map(|t| plan.of_thread(t, seed).collect()).collect()
    }

    proptest! {
        #[test]
        fn requests_stay_in_bounds_and_come_again_from_the_seed(
            job in jobs(), start in 0u64..10_000, extent in 1u64..500_000, seed: u64,
        ) {
            let plan = IoPlan::new(&job, start, extent);
            let requests = all(&plan, &job, seed);
            prop_assert_eq!(&requests, &all(&plan, &job, seed));
            for (thread, requests) in requests.iter().enumerate() {
                let announced = plan.of_thread(thread as u32, seed).remaining();
                prop_assert_eq!(requests.len() as u64, announced);
            }
            for request in requests.iter().flatten() {
                let end = request.offset + request.length as u64;
                prop_assert!(request.offset >= start && end <= start + extent);
                prop_assert!(request.length > 0 && request.length <= plan.longest());
                prop_assert!(request.length as u64 == job.block.0 || end == start + extent);
                if job.access.is_random() {
                    let align = job.align.unwrap_or(job.block).0;
                    prop_assert!((request.offset - start).is_multiple_of(align));
                }
                match request.turn {
                    IoDirection::Read => prop_assert!(job.access.reads()),
                    IoDirection::Write => prop_assert!(job.access.writes()),
                    IoDirection::ReadAndWrite => {
                        prop_assert!(job.access.reads() && job.access.writes());
                    }
                }
            }
        }

        #[test]
        fn requests_cover_each_byte_exactly_once(
            job in jobs(), start in 0u64..10_000, extent in 1u64..500_000,
        ) {
            // Unaligned random offsets, or a fixed number of offsets, may be drawn twice.
            let job = Io { operations: None, align: None, ..job };
            let plan = IoPlan::new(&job, start, extent);
            let again = matches!(job.access, AccessPattern::Seek { .. } | AccessPattern::RecordRewrite);
            prop_assume!(!again);
            let mixed = matches!(job.access, AccessPattern::RandomMix { .. });
            prop_assert_eq!(plan.covers_all(), !mixed);
            let mut files = all(&plan, &job, 1);
            if job.sharing == FileSharing::Shared {
                files = vec![files.concat()];
            }
            for mut requests in files {
                requests.sort_by_key(|r| r.offset);
                let mut next = start;
                for request in requests {
                    prop_assert_eq!(request.offset, next);
                    next += request.length as u64;
                }
                prop_assert_eq!(next, start + extent);
            }
        }

        #[test]
        fn operations_are_counted_across_threads(job in jobs(), extent in 1u64..500_000) {
            let wanted = job.operations.unwrap_or(1);
            let job = Io { operations: Some(wanted), interleaved: false, ..job };
            let plan = IoPlan::new(&job, 0, extent);
            let made: usize = all(&plan, &job, 1).iter().map(Vec::len).sum();
            let possible = if plan.repeats() { wanted } else { plan.blocks() * plan.files() };
            prop_assert_eq!(made as u64, wanted.min(possible));
        }
    }

    #[test]
    fn the_only_request_is_made_by_the_thread_that_has_the_only_block() {
        let job =
            Io { operations: Some(1), threads: 2, ..Io::new("f", AccessPattern::Read, Bytes(512)) };
        let plan = IoPlan::new(&job, 0, 1);
        let made = [0, 1].map(|thread| plan.of_thread(thread, 1).count());
        assert_eq!(made, [0, 1]);
    }

    #[test]
    fn each_access_has_its_documented_order() {
        let offsets = |access| {
            let job = Io::new("f", access, Bytes(10));
            let requests = IoPlan::new(&job, 0, 65).of_thread(0, 1);
            requests.map(|r| r.offset).collect::<Vec<_>>()
        };
        let stride = Bytes(30);
        assert_eq!(offsets(AccessPattern::Read), [0, 10, 20, 30, 40, 50, 60]);
        assert_eq!(offsets(AccessPattern::ReadBackward), [60, 50, 40, 30, 20, 10, 0]);
        assert_eq!(offsets(AccessPattern::ReadStride { stride }), [0, 30, 60, 10, 40, 20, 50]);
        assert_eq!(offsets(AccessPattern::RecordRewrite), [0; 7]);
        let mut shuffled = offsets(AccessPattern::RandomRead);
        assert_ne!(shuffled, offsets(AccessPattern::RandomWrite));
        assert!(!shuffled.is_sorted());
        shuffled.sort_unstable();
        assert_eq!(shuffled, offsets(AccessPattern::Read));
    }

    #[test]
    fn threads_draw_from_separate_streams() {
        let job = Io {
            threads: 2,
            operations: Some(200),
            ..Io::new("f", AccessPattern::RandomRead, Bytes(1))
        };
        let streams = all(&IoPlan::new(&job, 0, 1 << 40), &job, 1);
        assert!(streams[0].iter().zip(&streams[1]).all(|(a, b)| a.offset != b.offset));
    }

    #[test]
    fn shares_are_kept() {
        let job = Io {
            operations: Some(20_000),
            ..Io::new("f", AccessPattern::RandomMix { read_share: 0.7 }, Bytes(1))
        };
        let requests = IoPlan::new(&job, 0, 1 << 30).of_thread(0, 1);
        let reads = requests.filter(|r| r.turn == IoDirection::Read).count();
        assert!((13_700..14_300).contains(&reads), "{reads}");
    }

    #[test]
    fn draws_are_those_of_the_generator() {
        for bound in [1, 2, 3, 1000, u64::MAX] {
            let (mut ours, mut theirs) = (SeededRng::new(9), SeededRng::new(9));
            for _ in 0..100 {
                assert_eq!(Draw::below(bound).next(&mut ours), theirs.below(bound));
            }
        }
    }
}
