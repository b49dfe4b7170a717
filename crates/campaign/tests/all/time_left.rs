//! Accuracy of the predicted remaining time, for campaigns with realistic durations, checked every
//! second after the first minute.

use std::collections::BTreeMap;

use campaign::plan::{ActiveCell, Forecast, PastDurations, ThroughputModel};
use config::Catalog;
use model::{
    Accelerator, BackendKind, Campaign, Cell, CellId, CellResult, Clock, DriverKind, GuestConfig,
    GuestDisk, Nanos, SeededRng, SizeProfile, Status,
};

/// Time after which the forecast is checked, in seconds.
const FIRST_MINUTE: f64 = 60.0;
/// Maximum deviation of the forecast, as a share of the true remaining time.
const TOLERANCE: f64 = 1.0 / 3.0;
/// Minimum share of instants within the tolerance.
const RIGHT: f64 = 0.9;
/// Number of campaigns of each kind.
const CAMPAIGNS: u64 = 12;
/// Duration of a cell that fails early, in seconds.
const EARLY: f64 = 0.3;

const KERNEL: [&str; 10] =
    ["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "nilfs2", "exfat", "fat32"];
const FUSE: [&str; 4] = ["fuse2fs-ext4", "ntfs-3g", "exfat-fuse", "zfs-fuse"];

/// A campaign with known cell durations.
struct Known {
    campaign: Campaign,
    plan: Vec<Cell>,
    /// Number of parallel cells.
    abreast: usize,
    /// Duration of each cell in seconds, and its status.
    cells: BTreeMap<CellId, (f64, Status)>,
}

/// Returns a random number with mean 0 and a standard deviation of about 1, as a sum of uniform
/// numbers.
fn normal(rng: &mut SeededRng) -> f64 {
    let uniform = |rng: &mut SeededRng| rng.below(1 << 32) as f64 / (1u64 << 32) as f64;
    (0..12).map(|_| uniform(rng)).sum::<f64>() - 6.0
}

/// Returns a random factor around one whose logarithm has this standard deviation.
fn about_one(rng: &mut SeededRng, spread: f64) -> f64 {
    (normal(rng) * spread).exp()
}

fn campaign(contenders: &[&str], guest: bool, seed: u64) -> Campaign {
    let catalog = Catalog::builtin().unwrap();
    let profile = if guest { SizeProfile::Smoke } else { SizeProfile::Quick };
    let suites = catalog.default_suites(profile).into_iter().cloned();
    let machine = || GuestConfig {
        memory: model::Bytes::mib(1024),
        processors: 1,
        accelerator: Accelerator::Tcg,
        cpu: "max".into(),
        shift: 0,
        disks: 1,
        disk: GuestDisk::Model { model: catalog.disk("nvme-consumer").unwrap() },
        kernel: "6.1.0".into(),
        guest_name: "guest-1".into(),
    };
    Campaign {
        name: "known".into(),
        contenders: contenders.iter().map(|name| catalog.contender(name).unwrap()).collect(),
        groups: Vec::new(),
        suites: suites.collect(),
        profile,
        rounds: 3,
        stopping_rule: None,
        budget: None,
        clock: if guest { Clock::Virtual } else { Clock::Real },
        guest: guest.then(machine),
        seed,
        size: catalog.profile(profile).size,
        memory: None,
        device: None,
        work_dir: "/nowhere".into(),
        database: None,
        stall_timeout: Nanos::from_secs(60),
        readahead: None,
        max_written: None,
        keep_aged: false,
        source: None,
        host: None,
        together: Vec::new(),
        archives: Vec::new(),
        phase_limit: Nanos::from_secs(600),
        backend: if guest { BackendKind::Vm } else { BackendKind::Loop },
        skipped: Vec::new(),
        measured_by: None,
    }
}

/// Creates a campaign whose cells take the assumed time, times random factors of the machine, the
/// contender, the test and their combination. A driver in user space takes seven times as long as a
/// kernel driver, the boot time of a guest is constant, and one pair in thirty fails at its start.
fn known(contenders: &[&str], abreast: usize, seed: u64) -> Known {
    let guest = abreast > 1;
    let campaign = campaign(contenders, guest, seed);
    let plan = campaign::plan::plan(&campaign);
    let mut rng = SeededRng::substream(seed, "what cells take");
    let pace = ThroughputModel::from_campaign(&campaign);
    let around = pace.cell.as_secs_f64();
    let mut of_kernel = campaign.clone();
    for contender in &mut of_kernel.contenders {
        contender.filesystem.driver = DriverKind::Kernel;
    }
    let forecast = Forecast::new(&of_kernel, pace, &PastDurations::default());
    let assumed = forecast.cells();
    let machine = about_one(&mut rng, 0.4);
    let tests = campaign.suites.iter().flat_map(|suite| &suite.tests);
    let tests: BTreeMap<&str, f64> =
        tests.map(|test| (test.name.as_str(), about_one(&mut rng, 0.4))).collect();
    let mut pairs = BTreeMap::new();
    for contender in &campaign.contenders {
        let driver = match contender.filesystem.driver {
            DriverKind::Kernel => 1.0,
            DriverKind::Fuse => 7.0,
        };
        let own = driver * about_one(&mut rng, 0.3);
        for (test, off) in &tests {
            let name = (contender.name.as_str(), *test);
            let phases = assumed[&name].as_secs_f64() - around;
            let phases = phases * machine * own * off * about_one(&mut rng, 0.25);
            let fails = rng.below(30) == 0;
            pairs.insert(name, (around * machine.sqrt() + phases, fails));
        }
    }
    let cells = plan.iter().map(|cell| {
        let (time, fails) = pairs[&(cell.contender.as_str(), cell.test.as_str())];
        let time = if fails { EARLY } else { time } * about_one(&mut rng, 0.08);
        let status = if fails { Status::Failed } else { Status::Ok };
        (cell.id, (time, status))
    });
    Known { cells: cells.collect(), plan: plan.clone(), campaign, abreast }
}

fn seconds(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9) as u64)
}

fn result(time: f64, status: Status) -> CellResult {
    CellResult { elapsed: seconds(time), ..CellResult::with_status(status) }
}

/// Runs a campaign on a simulated clock. Returns its end and the remaining time shown at each
/// second.
fn watch(known: &Known, experience: &PastDurations) -> (f64, Vec<(f64, f64)>) {
    let mut forecast =
        Forecast::new(&known.campaign, ThroughputModel::from_campaign(&known.campaign), experience);
    forecast.plan(&known.plan);
    let mut waiting = known.plan.iter();
    let mut running: Vec<(&Cell, f64)> = Vec::new();
    let (mut now, mut shown) = (0.0, Vec::new());
    loop {
        while running.len() < known.abreast
            && let Some(cell) = waiting.next()
        {
            running.push((cell, now));
        }
        let end = |(cell, begun): &(&Cell, f64)| begun + known.cells[&cell.id].0;
        let Some(first) =
            (0..running.len()).min_by(|a, b| end(&running[*a]).total_cmp(&end(&running[*b])))
        else {
            return (now, shown);
        };
        let going: Vec<ActiveCell<'_>> = running
            .iter()
            .map(|(cell, begun)| ActiveCell { cell, elapsed: seconds(now - begun) })
            .collect();
        let (left, next) = forecast.time_left(&going, known.abreast as u64);
        let (cell, begun) = running.swap_remove(first);
        let (time, status) = known.cells[&cell.id];
        let then = begun + time;
        let mut second = now.ceil();
        while second < then {
            // Between two cells the displayed time counts down, at most until the expected end of
            // the next cell.
            let passed = (second - now).min(next.as_secs_f64());
            shown.push((second, left.as_secs_f64() - passed));
            second += 1.0;
        }
        forecast.record_result(cell, &result(time, status));
        now = then;
    }
}

/// Counts the instants after the first minute within and outside the tolerance.
fn judge(known: &Known, experience: &PastDurations) -> (u64, u64) {
    let (end, shown) = watch(known, experience);
    let from_then_on = shown.iter().filter(|(now, _)| *now >= FIRST_MINUTE);
    let right = from_then_on.map(|(now, left)| {
        let truth = end - now;
        (left - truth).abs() <= truth * TOLERANCE
    });
    right.fold((0, 0), |(right, wrong), is| (right + u64::from(is), wrong + u64::from(!is)))
}

fn share((right, wrong): (u64, u64)) -> f64 {
    right as f64 / (right + wrong).max(1) as f64
}

fn assert_right(what: &str, contenders: &[&str], abreast: usize) {
    let shares = (0..CAMPAIGNS).map(|seed| {
        let known = known(contenders, abreast, seed);
        judge(&known, &PastDurations::default())
    });
    let shares: Vec<_> = shares.collect();
    let sum = shares.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let worst = shares.iter().copied().map(share).fold(1.0, f64::min);
    println!(
        "{what}: right in {:.1} % of instants, {:.1} % in the worst campaign",
        share(sum) * 100.0,
        worst * 100.0
    );
    assert!(share(sum) >= RIGHT, "{what}");
}

#[test]
fn remaining_time_is_within_a_third_for_kernel_drivers() {
    assert_right("kernel", &KERNEL, 1);
}

#[test]
fn remaining_time_is_within_a_third_for_slow_fuse_drivers() {
    assert_right("kernel and FUSE", &[&KERNEL[..], &FUSE].concat(), 1);
    assert_right("FUSE alone", &FUSE, 1);
    assert_right("one of each", &[KERNEL[2], FUSE[0]], 1);
}

#[test]
fn remaining_time_is_within_a_third_for_parallel_guests() {
    assert_right("guests", &[&KERNEL[..], &FUSE].concat(), 4);
    assert_right("guests, two at a time", &KERNEL[..4], 2);
}

/// The second run is predicted from the durations of the first.
#[test]
fn earlier_campaigns_determine_the_forecast() {
    for seed in 0..CAMPAIGNS {
        let known = known(&[&KERNEL[..], &FUSE].concat(), 1, seed);
        let mut cells = BTreeMap::new();
        for cell in &known.plan {
            let name = (cell.contender.clone(), cell.test.clone());
            cells.insert(name, seconds(known.cells[&cell.id].0));
        }
        let experience = PastDurations { cells, campaigns: vec![model::CampaignId(7)] };
        let cost =
            campaign::plan::cost(&known.campaign, ThroughputModel::default(), &experience, 1);
        assert_eq!(cost.basis.remembered, cost.basis.pairs);
        let filling = cost.preparation.0 as f64 / cost.pace.throughput;
        let (end, shown) = watch(&known, &experience);
        let announced = cost.time.as_secs_f64() - filling;
        assert!((announced / end - 1.0).abs() < 0.1, "{announced} of {end}");
        let wrong = shown.iter().filter(|(now, left)| {
            let truth = end - now;
            (left - truth).abs() > truth * TOLERANCE
        });
        assert!(wrong.count() * 20 < shown.len(), "from the first second on");
    }
}
