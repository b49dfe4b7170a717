//! Tests of the mechanisms against closed formulas, general properties of disks, and published
//! formulas for write amplification.

use model::{Bytes, DiskModel, Flash, FlashState, Mechanism, Nanos, Rotating, Zone};
use proptest::prelude::*;
use simdisk::{
    CompletedRequest, DiskCounters, DiskRequest, LoadModel, MechanismParams, RequestKind,
    SimulatedDisk, TimeComponent, metrics, replay,
};

const MS: u64 = 1_000_000;
const US: u64 = 1_000;
/// An arbitrary seed.
const SEED: u64 = 20_030_721;

fn model(mechanism: Mechanism) -> DiskModel {
    DiskModel {
        name: "it".into(),
        title: "It".into(),
        product: "a test".into(),
        command: Nanos(100 * US),
        link: Some(Bytes(100_000_000)),
        queue: 1,
        cache: Bytes(0),
        forced: true,
        mechanism,
    }
}

/// Returns a disk with 8 heads and tracks of 1000 and 500 sectors: 6 million sectors.
fn rotating() -> DiskModel {
    model(Mechanism::Rotating(Rotating {
        turn: Nanos(8 * MS),
        seek_next: Nanos(MS),
        seek_average: Nanos(8 * MS),
        seek_full: Nanos(16 * MS),
        head_switch: Nanos(MS),
        write_settle: Nanos(500 * US),
        heads: 8,
        read_ahead: Bytes(0),
        age_weight: 6,
        zones: vec![Zone { cylinders: 500, sectors: 1000 }, Zone { cylinders: 500, sectors: 500 }],
    }))
}

fn flash(spare: u32, state: FlashState) -> DiskModel {
    model(Mechanism::Flash(Flash {
        read: Nanos(50 * US),
        program: Nanos(500 * US),
        erase: Nanos(3 * MS),
        unmap: Nanos(20 * US),
        controller: Nanos(0),
        channel: Bytes(400_000_000),
        channels: 2,
        dies: 2,
        page: Bytes::kib(16),
        block: 64,
        spare,
        protected: false,
        state,
    }))
}

fn disk(model: &DiskModel, size: Bytes) -> SimulatedDisk {
    SimulatedDisk::new(&MechanismParams::new(model, size, SEED)).unwrap()
}

fn request(arrived: u64, operation: RequestKind, sector: u64, sectors: u32) -> DiskRequest {
    DiskRequest { arrived: Nanos(arrived), operation, sector, sectors, forced: false, tag: 0 }
}

fn read(arrived: u64, sector: u64) -> DiskRequest {
    request(arrived, RequestKind::Read, sector, 8)
}

/// Serves requests one at a time, each after completion of the previous one.
fn one_by_one(
    disk: &mut SimulatedDisk,
    requests: impl IntoIterator<Item = DiskRequest>,
) -> Vec<CompletedRequest> {
    let mut now = Nanos(0);
    let serve = |request: DiskRequest| {
        now = now.max(request.arrived);
        while disk.next_internal_event().is_some_and(|next| next <= now) {
            assert!(disk.step().is_none());
        }
        let request = DiskRequest { arrived: now, ..request };
        disk.submit(&request).unwrap();
        let served = loop {
            if let Some(served) = disk.step() {
                break served;
            }
        };
        now = served.completed;
        served
    };
    requests.into_iter().map(serve).collect()
}

/// Returns pseudorandom numbers from SplitMix64 (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", 2014).
fn scattered(count: u64, below: u64) -> impl Iterator<Item = u64> {
    (1..=count).map(move |i| {
        let z = i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ z >> 31) % below
    })
}

#[test]
fn a_random_read_is_command_seek_rotation_and_transfer() {
    let model = rotating();
    let mut disk = disk(&model, model.capacity().unwrap());
    // From sector 0 to cylinder 500, the start of the second zone, after half of all cylinders.
    let second_zone = 500 * 8 * 1000;
    let [first, second] = one_by_one(&mut disk, [read(0, 0), read(0, second_zone)])[..] else {
        panic!("two requests")
    };
    // The arm does not move. After 0.1 ms for the command, the head waits for the rest of the
    // revolution.
    assert_eq!(first.part(TimeComponent::Seek), Nanos(0));
    assert_eq!(first.part(TimeComponent::Rotation), Nanos(8 * MS - 100 * US));
    assert_eq!(first.part(TimeComponent::Transfer), Nanos(8 * 8 * MS / 1000));
    assert_eq!(first.completed, Nanos(8 * MS + 64 * US));
    // The seek time is linear from 8 ms at a third of all cylinders to 16 ms at all of them; 1000 /
    // 3 is 333.
    let seek = 8 * MS + 8 * MS * (500 - 333) / (1000 - 333);
    assert_eq!(second.part(TimeComponent::Seek), Nanos(seek));
    // Tracks are skewed by the time of a track change before a write: 1.5 ms for each head and each
    // cylinder.
    let skew = (500 * 7 + 500) * 1500 * US % (8 * MS);
    let head_over_track = first.completed.0 + 100 * US + seek;
    let rotation = (skew + 8 * MS - head_over_track % (8 * MS)) % (8 * MS);
    assert_eq!(second.part(TimeComponent::Rotation), Nanos(rotation));
    assert_eq!(second.part(TimeComponent::Transfer), Nanos(8 * 8 * MS / 500));
    let time = 100 * US + seek + rotation + 8 * 8 * MS / 500;
    assert_eq!(second.time(), Nanos(time));
}

#[test]
fn random_reads_take_the_average_seek_and_half_a_revolution() {
    let model = rotating();
    let capacity = model.capacity().unwrap();
    let mut disk = disk(&model, capacity);
    let reads = scattered(4000, capacity.0 / 4096).map(|block| read(0, block * 8));
    let served = one_by_one(&mut disk, reads);
    let mean = |part: TimeComponent| {
        let all: u64 = served.iter().map(|s| s.part(part).0).sum();
        all as f64 / served.len() as f64 / MS as f64
    };
    // The mean distance is a third of the cylinders. The curve is concave below that, and outer
    // tracks hold more.
    assert!((7.0..8.6).contains(&mean(TimeComponent::Seek)), "{}", mean(TimeComponent::Seek));
    assert!(
        (3.8..4.2).contains(&mean(TimeComponent::Rotation)),
        "{}",
        mean(TimeComponent::Rotation)
    );
}

#[test]
fn stream_rate_equals_the_rate_of_its_zone() {
    let model = rotating();
    let mut disk = disk(&model, model.capacity().unwrap());
    // 80 tracks in one stream: one rotation and one head switch per track. Every eighth switch is
    // to the next cylinder.
    let reads = (0..80 * 5).map(|i| request(0, RequestKind::Read, i * 200, 200));
    let journal: Vec<_> = reads.map(|r| (r, Nanos(0))).collect();
    let served = replay(&mut disk, &journal, LoadModel::Open).unwrap();
    let last = served.iter().map(|s| s.completed).max().unwrap();
    let track = 8 * MS + 1500 * US;
    let first = served[0].part(TimeComponent::Rotation).0 + 100 * US;
    assert_eq!(last.0, first + 80 * track - 1500 * US);
}

/// The disk reads ahead after a read, but the arm reaches distant sectors sooner.
#[test]
fn a_read_far_ahead_does_not_wait_for_the_track_buffer() {
    let mut model = rotating();
    if let Mechanism::Rotating(numbers) = &mut model.mechanism {
        numbers.read_ahead = Bytes::mib(8);
    }
    let mut disk = disk(&model, model.capacity().unwrap());
    let far = 15_000;
    let served = one_by_one(&mut disk, [read(0, 0), read(0, 8), read(0, far)]);
    assert_eq!(served[1].part(TimeComponent::Rotation), Nanos(0), "it follows: {:?}", served[1]);
    // Without a seek, 15 tracks would pass under the head first.
    assert!(served[2].time().0 < 30 * MS, "{:?}", served[2]);
    assert!(served[2].part(TimeComponent::Seek).0 > 0, "{:?}", served[2]);
}

#[test]
fn disk_with_a_queue_serves_near_requests_first() {
    let near = |queue| {
        let model = DiskModel { queue, ..rotating() };
        let capacity = model.capacity().unwrap();
        let mut disk = disk(&model, capacity);
        let reads = scattered(1024, capacity.0 / 4096).map(|block| (read(0, block * 8), Nanos(0)));
        let served = replay(&mut disk, &reads.collect::<Vec<_>>(), LoadModel::Open).unwrap();
        served.iter().map(|s| s.completed.0).max().unwrap()
    };
    // Worthington, Ganger and Patt, "Scheduling algorithms for modern disk drives" (1994): about
    // half at queue depth 32.
    let ratio = near(32) as f64 / near(1) as f64;
    assert!((0.3..0.65).contains(&ratio), "{ratio}");
}

/// Maximum positioning time of this rotating disk.
const LONGEST: u64 = 16 * MS + 500 * US + 8 * MS;

#[test]
fn serves_old_requests_before_near_ones() {
    let waits = |age_weight: u32| {
        let mut model = DiskModel { queue: 32, ..rotating() };
        if let Mechanism::Rotating(disk) = &mut model.mechanism {
            disk.age_weight = age_weight;
            let bound = metrics::wait_bound(32, disk);
            let wait = metrics::max_queue_wait(&model).unwrap();
            assert!(bound.is_none() || wait <= bound, "{wait:?} {bound:?}");
            return wait;
        }
        None
    };
    let wait = waits(6).unwrap();
    assert!(wait.0 > 20 * LONGEST, "a little nearer is no reason: {wait:?}");
    assert!(waits(60).unwrap() < wait, "a larger weight, a shorter wait");
    assert_eq!(waits(0), None, "without it a request waits as long as others come");
}

#[test]
fn a_flush_waits_for_the_cache_and_a_forced_write_for_the_platter() {
    let model = DiskModel { cache: Bytes::mib(2), ..rotating() };
    let size = model.capacity().unwrap();
    let writes = |forced| {
        let write = move |block: u64| DiskRequest {
            forced,
            ..request(0, RequestKind::Write, block * 8, 8)
        };
        scattered(20, size.0 / 4096).map(write)
    };
    let flush = request(0, RequestKind::Flush, 0, 0);
    let mut cached = disk(&model, size);
    let served = one_by_one(&mut cached, writes(false).chain([flush]));
    let (flush, writes_served) = served.split_last().unwrap();
    assert!(writes_served.iter().all(|w| w.time().0 == 100 * US + 40_960));
    assert!(flush.part(TimeComponent::CacheDestage).0 > 19 * 2 * MS, "{flush:?}");
    let mut bare = disk(&model, size);
    let served = one_by_one(&mut bare, writes(true).chain([request(0, RequestKind::Flush, 0, 0)]));
    let (flush, forced) = served.split_last().unwrap();
    assert!(forced.iter().all(|w| w.part(TimeComponent::Seek).0 > 0));
    assert_eq!(flush.time(), Nanos(100 * US));
}

#[test]
fn a_read_of_flash_is_command_cells_and_both_buses() {
    let model = flash(100, FlashState::Half);
    let mut disk = disk(&model, Bytes::mib(64));
    let bus = 4096 * 1_000_000_000 / 400_000_000;
    let link = 4096 * 1_000_000_000 / 100_000_000;
    let served = one_by_one(&mut disk, [read(0, 4096), read(0, 120_000)]);
    assert_eq!(served[0].time(), Nanos(100 * US + 50 * US + bus + link));
    assert_eq!(served[0].part(TimeComponent::FlashProgram), Nanos(50 * US));
    // These sectors were never written, so no cells are read.
    assert_eq!(served[1].time(), Nanos(100 * US + link));
}

#[test]
fn a_controller_turns_to_one_command_at_a_time() {
    let mut model = flash(100, FlashState::Half);
    model.link = None;
    let alone = one_by_one(&mut disk(&model, Bytes::mib(64)), [read(0, 4096)])[0].time();
    let Mechanism::Flash(numbers) = &mut model.mechanism else { panic!("it is flash") };
    numbers.controller = Nanos(80 * US);
    let mut disk = disk(&model, Bytes::mib(64));
    // These sectors were never written, so the reads wait only for the controller.
    for number in 0..10 {
        disk.submit(&read(0, 120_000 + 8 * number)).unwrap();
    }
    let mut ends = Vec::new();
    while disk.next_internal_event().is_some() {
        ends.extend(disk.step().map(|served| served.completed));
    }
    let expected: Vec<Nanos> = (1..=10).map(|turn| Nanos((80 * turn + 20) * US)).collect();
    assert_eq!(ends, expected);
    // A single command takes as long as without this limit.
    let later = read(10 * MS, 4096);
    assert_eq!(one_by_one(&mut disk, [later])[0].time(), alone);
}

#[test]
fn a_flush_of_flash_programs_a_page_that_is_not_full_unless_the_cache_is_protected() {
    let flush_after_one_write = |protected| {
        let mut model = flash(100, FlashState::Fresh);
        model.cache = Bytes::mib(4);
        if let Mechanism::Flash(flash) = &mut model.mechanism {
            flash.protected = protected;
        }
        let mut disk = disk(&model, Bytes::mib(64));
        let requests = [request(0, RequestKind::Write, 0, 8), request(0, RequestKind::Flush, 0, 0)];
        let served = one_by_one(&mut disk, requests);
        (served[0].time(), served[1].time(), disk.counters())
    };
    let bus = 4096 * 1_000_000_000 / 400_000_000;
    let (write, flush, counts) = flush_after_one_write(false);
    assert_eq!(write, Nanos(100 * US + 40_960));
    assert_eq!(flush, Nanos(100 * US + bus + 500 * US));
    assert_eq!((counts.slots_written, counts.slots_programmed), (1, 4));
    let (_, flush, counts) = flush_after_one_write(true);
    assert_eq!(flush, Nanos(100 * US));
    assert_eq!(counts.slots_programmed, 0);
}

/// Returns the write amplification of random 4 KiB overwrites on a disk in the steady state, until
/// as many bytes as its capacity were written.
fn amplification(spare: u32) -> f64 {
    let mut model = flash(spare, FlashState::Steady);
    model.cache = Bytes::mib(1);
    // The formulas hold for a large number of blocks, so the blocks are small.
    if let Mechanism::Flash(disk) = &mut model.mechanism {
        disk.block = 8;
    }
    let size = Bytes::mib(256);
    let mut disk = disk(&model, size);
    let slots = size.0 / 4096;
    let writes = scattered(slots, slots).map(|slot| request(0, RequestKind::Write, slot * 8, 8));
    one_by_one(&mut disk, writes);
    disk.counters().write_amplification().unwrap()
}

/// Computes Lambert's W with Newton's method.
fn lambert(x: f64) -> f64 {
    let mut w = -0.5_f64;
    for _ in 0..100 {
        w -= (w * w.exp() - x) / (w.exp() * (1.0 + w));
    }
    w
}

#[test]
fn overwrite_amplification_matches_published_formulas() {
    for spare in [100, 200, 400] {
        let measured = amplification(spare);
        let alpha = 1.0 + f64::from(spare) / 1000.0;
        // Desnoyers, "Analytic modeling of SSD write performance" (SYSTOR 2012): cleaning the
        // oldest block first. Greedy collection does not exceed this.
        let oldest_first = alpha / (alpha + lambert(-alpha * (-alpha).exp()));
        // Agarwal and Marrow, "A closed-form expression for write amplification in NAND flash" (2010), greedy.
        let rho = alpha - 1.0;
        let greedy = (1.0 + rho) / (2.0 * rho);
        println!(
            "{spare}: measured {measured:.3}, oldest first {oldest_first:.3}, greedy {greedy:.3}"
        );
        assert!(measured < oldest_first * 1.02, "{spare}: {measured} above {oldest_first}");
        assert!(measured > greedy * 0.75, "{spare}: {measured} below {greedy}");
    }
}

#[test]
fn garbage_collection_does_not_move_discarded_data() {
    let erased = |discards: bool| {
        let mut model = flash(100, FlashState::Steady);
        model.cache = Bytes::mib(1);
        let size = Bytes::mib(64);
        let mut disk = disk(&model, size);
        let slots = size.0 / 4096;
        if discards {
            one_by_one(&mut disk, [request(0, RequestKind::Discard, 0, (size.0 / 512) as u32)]);
        }
        let writes =
            scattered(slots / 2, slots).map(|slot| request(0, RequestKind::Write, slot * 8, 8));
        one_by_one(&mut disk, writes);
        disk.counters()
    };
    let DiskCounters { slots_written, slots_programmed, .. } = erased(true);
    assert!(slots_programmed <= slots_written, "{slots_programmed} {slots_written}");
    assert!(erased(false).write_amplification().unwrap() > 2.0);
}

fn any_model() -> impl Strategy<Value = DiskModel> {
    let rotating = (1_u32..=32, 0_u64..4, 0_u64..2).prop_map(|(queue, cache, ahead)| {
        let mut model = rotating();
        model.queue = queue;
        model.cache = Bytes::kib(cache * 64);
        if let Mechanism::Rotating(disk) = &mut model.mechanism {
            disk.read_ahead = Bytes::kib(ahead * 256);
        }
        model
    });
    let states =
        prop_oneof![Just(FlashState::Fresh), Just(FlashState::Half), Just(FlashState::Steady)];
    let flash = (70_u32..400, 0_u64..8, any::<bool>(), states, 0_u64..=100).prop_map(
        |(spare, cache, protected, state, controller)| {
            let mut model = flash(spare, state);
            model.cache = Bytes::kib(cache * 16);
            if let Mechanism::Flash(disk) = &mut model.mechanism {
                disk.protected = protected;
                disk.controller = Nanos(controller * US);
            }
            model
        },
    );
    prop_oneof![rotating, flash, Just(model(Mechanism::Ideal))]
}

const SIZE: Bytes = Bytes::mib(32);

fn any_requests() -> impl Strategy<Value = Vec<DiskRequest>> {
    let one = (0_u64..3_000_000, 0_usize..10, 0_u64..SIZE.0 / 512, 1_u32..=2048, any::<bool>());
    let made = one.prop_map(|(pause, operation, sector, sectors, forced)| {
        let operation = match operation {
            0 => RequestKind::Flush,
            1 => RequestKind::Discard,
            2..=5 => RequestKind::Read,
            _ => RequestKind::Write,
        };
        // Half of the requests are small and close together, so that caches and overwrites matter.
        let (sector, sectors) = match pause % 2 {
            0 => (sector % 4096, sectors % 64 + 1),
            _ => (sector, sectors),
        };
        let sectors = sectors.min((SIZE.0 / 512 - sector) as u32);
        DiskRequest {
            forced: forced && operation == RequestKind::Write,
            sectors: if operation == RequestKind::Flush { 0 } else { sectors },
            ..request(pause, operation, sector, sectors)
        }
    });
    proptest::collection::vec(made, 1..400).prop_map(|mut requests| {
        let mut now = 0;
        for request in &mut requests {
            // Alternates bursts and pauses.
            now += if request.arrived.0 < 2_000_000 { 0 } else { request.arrived.0 };
            request.arrived = Nanos(now);
        }
        requests
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_request_completes_once_and_its_time_components_add_up(
        model in any_model(),
        requests in any_requests(),
    ) {
        let mut disk = disk(&model, SIZE);
        let journal: Vec<_> = requests.iter().map(|r| (*r, Nanos(0))).collect();
        let mut ended = Vec::new();
        let served = replay(&mut disk, &journal, LoadModel::Open).unwrap();
        prop_assert_eq!(served.len(), requests.len());
        for (number, one) in served.iter().enumerate() {
            prop_assert_eq!(one.request.tag, number as u64);
            let parts: u64 = one.parts.iter().map(|part| part.0).sum();
            prop_assert_eq!(parts, one.time().0, "{:?}", one);
            prop_assert!(one.time() >= model.command);
            ended.push(one.completed);
        }
    }

    /// A request never overtakes another one if the difference of their ages outweighs the longest
    /// positioning. The requests already in the disk are then served one by one.
    #[test]
    fn no_request_waits_longer_than_a_bound(
        requests in any_requests(), queue in 1_u32..64, cache in prop_oneof![Just(0), Just(1_u64 << 20)],
    ) {
        let model = DiskModel { queue, cache: Bytes(cache), ..rotating() };
        let journal: Vec<_> = requests.into_iter().map(|r| (r, Nanos(0))).collect();
        let served = replay(&mut disk(&model, SIZE), &journal, LoadModel::Open).unwrap();
        // A transfer of 1 MiB covers at most five tracks of 500 sectors. An extent of the cache
        // covers fewer.
        let each = LONGEST + 5 * (8 * MS + 2 * MS);
        let held = SimulatedDisk::REQUESTS as u64 + 1024;
        for one in &served {
            prop_assert!(one.time().0 <= LONGEST * 1000 / 6 + held * each, "{one:?}");
        }
    }

    #[test]
    fn time_never_runs_backwards(model in any_model(), requests in any_requests()) {
        let mut disk = disk(&model, SIZE);
        let mut last = Nanos(0);
        for request in requests.iter().take(SimulatedDisk::REQUESTS) {
            while let Some(next) = disk.next_internal_event().filter(|next| *next <= request.arrived) {
                prop_assert!(next >= last, "{next:?} after {last:?}");
                last = next;
                disk.step();
            }
            disk.submit(request).unwrap();
        }
        while let Some(next) = disk.next_internal_event() {
            prop_assert!(next >= last, "{next:?} after {last:?}");
            last = next;
            if let Some(served) = disk.step() {
                prop_assert_eq!(served.completed, next);
            }
        }
    }

    #[test]
    fn throughput_never_exceeds_the_bandwidth_of_the_model(model in any_model(), requests in any_requests()) {
        let mut disk = disk(&model, SIZE);
        let journal: Vec<_> = requests.iter().map(|r| (*r, Nanos(0))).collect();
        let served = replay(&mut disk, &journal, LoadModel::Open).unwrap();
        let moved = served.iter().filter(|s| s.request.operation <= RequestKind::Write);
        let bytes: u64 = moved.clone().map(|s| u64::from(s.request.sectors) * 512).sum();
        let begin = served.iter().map(|s| s.request.arrived.0).min().unwrap();
        let end = served.iter().map(|s| s.completed.0).max().unwrap();
        // Transfers by the heads do not cross the link in this model, so both rates add up.
        let media = if matches!(model.mechanism, Mechanism::Rotating(_)) { 64_000_000.0 } else { 0.0 };
        let most = (end - begin) as f64 / 1e9 * (100e6 + media);
        prop_assert!(bytes as f64 <= most + 1.0, "{bytes} in {} ns", end - begin);
    }

    #[test]
    fn closed_loop_replay_on_the_original_disk_takes_the_same_time(
        model in any_model(),
        requests in any_requests(),
    ) {
        let journal: Vec<_> = requests.iter().map(|r| (*r, Nanos(0))).collect();
        let first = replay(&mut disk(&model, SIZE), &journal, LoadModel::Open).unwrap();
        let written: Vec<_> = first.iter().map(|s| (s.request, s.completed)).collect();
        let again = replay(&mut disk(&model, SIZE), &written, LoadModel::Closed).unwrap();
        prop_assert_eq!(first, again);
    }
}
