//! Formats the estimated cost of a campaign as text: the notes before a large campaign, and the
//! plan of a dry run. Pure.

use campaign::plan::{Cost, TestCost, ThroughputModel, WriteLimitExceeded};
use model::{BackendKind, Bytes, Campaign, Nanos, RawDevicePerformance, Unit, WorkEstimate};
use report::{Block, Document, Item, Table, UnitScale};

use crate::output::text::{counted, document_on_screen, line};

/// Duration from which a time is shown in hours instead of minutes.
const TWO_HOURS: Nanos = Nanos::from_secs(7200);

/// Returns the expected pace: from the last calibration of the device, if there was one.
pub fn pace(campaign: &Campaign, raw_device: Option<&RawDevicePerformance>) -> ThroughputModel {
    let assumed = ThroughputModel::from_campaign(campaign);
    let raw_device = raw_device.filter(|_| campaign.backend != BackendKind::Vm);
    let both = raw_device.and_then(|c| c.sequential_read.zip(c.sequential_write));
    match both {
        // The harmonic mean, since as many bytes are read as written.
        Some((read, write)) if read.median > 0.0 && write.median > 0.0 => ThroughputModel {
            throughput: 2.0 / (1.0 / read.median + 1.0 / write.median),
            measured: true,
            ..assumed
        },
        _ => assumed,
    }
}

/// Returns one line for each sweep, and one with the write limit of all.
pub fn sweep_notes(cost: &Cost, most: Option<Bytes>) -> Vec<String> {
    let sweeps = cost.tests.iter().filter(|test| test.points > 0);
    let mut notes: Vec<String> = sweeps.map(|test| sweep(test, cost)).collect();
    notes.push(all(cost, most));
    notes
}

fn all(cost: &Cost, most: Option<Bytes>) -> String {
    let written = most.map_or(cost.written(), |most| most.min(cost.written()));
    let most = most.map_or_else(String::new, |most| format!(" (limit {})", bytes(most)));
    format!(
        "in all {}, {} to move, {} to write{most}; {}",
        counted(cost.cells, "test run"),
        bytes(cost.work.total_bytes()),
        bytes(written),
        time(cost)
    )
}

fn sweep(test: &TestCost, cost: &Cost) -> String {
    format!(
        "{}: {} × {} × {} × {}; {} to move, about {}",
        line(&test.test),
        counted(test.points, "point"),
        counted(test.phases, "operation"),
        counted(cost.contenders, "filesystem"),
        counted(cost.rounds, "round"),
        bytes(test.work.total_bytes()),
        format_duration(test.time)
    )
}

/// Formats a duration that may be hours.
pub fn format_duration(time: Nanos) -> String {
    if time < TWO_HOURS {
        time.to_string()
    } else {
        format!("{:.0} h", time.as_secs_f64() / 3600.0)
    }
}

/// Returns the estimated time and the basis of the estimate.
fn time(cost: &Cost) -> String {
    format!("about {}{}: {}", format_duration(cost.time), abreast(cost), basis(cost))
}

fn abreast(cost: &Cost) -> String {
    match cost.parallel_cells {
        1 => String::new(),
        several => format!(", {several} test runs side by side"),
    }
}

/// Returns the source of the time estimate.
fn basis(cost: &Cost) -> String {
    let basis = &cost.basis;
    let numbers: Vec<String> = basis.campaigns.iter().map(ToString::to_string).collect();
    let campaigns = match numbers.len() {
        1 => format!("campaign {}", numbers[0]),
        _ => format!("campaigns {}", numbers.join(", ")),
    };
    match basis.remembered {
        0 => expected(cost),
        all if all == basis.pairs => format!("as {campaigns} took"),
        some => format!(
            "{some} of {} test runs of a round as {campaigns} took, the others {}",
            basis.pairs,
            expected(cost)
        ),
    }
}

/// Returns the pace that is expected of cells without earlier results.
fn expected(cost: &Cost) -> String {
    let pace = &cost.pace;
    let speed =
        UnitScale::for_values(Unit::BytesPerSecond, [pace.throughput]).with_unit(pace.throughput);
    let speed = match pace.measured {
        true => format!("{speed}, the last measurement of the device"),
        false => format!("an assumed {speed}"),
    };
    let slow = match pace.slowdown > 1.0 {
        true => format!(", {} s for each second of a guest", pace.slowdown),
        false => String::new(),
    };
    let fuse = match cost.basis.fuse {
        true => format!(", {} times as long through FUSE", pace.fuse),
        false => String::new(),
    };
    let start = match pace.start {
        Nanos(0) => String::new(),
        start => format!(", {start} before the first test run"),
    };
    format!("{speed}{slow}{fuse}{start}, and {} in addition for each test run", pace.cell)
}

fn bytes(bytes: Bytes) -> String {
    let value = bytes.0 as f64;
    UnitScale::for_values(Unit::Bytes, [value]).with_unit(value)
}

/// Renders the whole plan of a campaign with its costs.
pub fn text(
    campaign: &Campaign,
    cost: &Cost,
    misfits: &[String],
    allowance: Result<Option<Bytes>, WriteLimitExceeded>,
) -> String {
    let mut document = Document::titled(format!(
        "campaign {}, not run: profile {}, rounds {}, seed {}",
        campaign.name, campaign.profile, campaign.rounds, campaign.seed
    ));
    let mut facts = facts(campaign, cost);
    facts.extend(misfits.iter().map(|misfit| Item::new("unsupported", misfit.as_str())));
    if let Err(too_much) = allowance {
        facts.push(Item::new("refused", too_much.to_string()));
    }
    document.push(Block::Facts(facts));
    document.push(Block::Table(tests(cost)));
    let limit = allowance.ok().flatten();
    // Tests of names in a directory write next to nothing.
    let limit = limit.filter(|most| most.0 > 0);
    let limit =
        limit.map_or_else(String::new, |most| format!(", at most {} to write", bytes(most)));
    let runs = counted(cost.cells, "test run");
    document.paragraph(format!("{runs}{limit}{}; time: {}", abreast(cost), basis(cost)));
    document_on_screen(&document)
}

/// Returns the setting of a campaign.
fn facts(campaign: &Campaign, cost: &Cost) -> Vec<Item> {
    let names: Vec<&str> = campaign.contenders.iter().map(|c| c.name.as_str()).collect();
    let memory = campaign.memory.map_or("all".to_owned(), |m| m.to_string());
    let backend = format!("{}, size {}, memory {memory}", campaign.backend, campaign.size);
    let mut facts = vec![
        Item::new("filesystems", names.join(" ")),
        Item::new("backend", backend),
        Item::new("space", format!("{}, the largest test", cost.space)),
    ];
    let data = campaign.data_kinds();
    if data.iter().any(|kind| !kind.is_default()) {
        let kinds: Vec<&str> = data.iter().map(|kind| kind.name()).collect();
        facts.push(Item::new("data", kinds.join(" ")));
    }
    let machine = campaign.describe_guest();
    facts.extend(
        machine.map(|machine| Item::new("machine", format!("{}: {machine}", campaign.clock))),
    );
    if let Some(until) = campaign.stopping_rule {
        let late = until
            .max_time
            .map_or_else(String::new, |most| format!(", none after {}", format_duration(most)));
        let fact = format!(
            "are added while results are wide, up to {}{late}; what follows is without them",
            until.max_rounds
        );
        facts.push(Item::new("rounds", fact));
    }
    if let Some(budget) = campaign.budget {
        let fact = format!(
            "1 of everything, then more for undecided answers, for {} in total; what follows is of the first",
            format_duration(budget)
        );
        facts.push(Item::new("rounds", fact));
    }
    facts
}

fn tests(cost: &Cost) -> Table {
    let columns = ["suite", "test", ">runs", ">read", ">written", ">operations", ">about"];
    let mut columns = columns.to_vec();
    let is_sweep = |test: &TestCost| test.points > 0;
    let has_sweeps = cost.tests.iter().any(is_sweep);
    if has_sweeps {
        columns.insert(2, ">points");
    }
    let mut table = Table::new(&columns);
    // Test runs side by side share the time.
    let elapsed = |test: &TestCost| Nanos(test.time.0 / cost.parallel_cells.max(1));
    for test in &cost.tests {
        let mut cells = vec![
            test.suite.clone(),
            test.test.clone(),
            test.cells.to_string(),
            bytes(test.work.read),
            bytes(test.work.written),
            test.work.operations.to_string(),
            format_duration(elapsed(test)),
        ];
        if has_sweeps {
            let points = is_sweep(test).then(|| test.points.to_string());
            cells.insert(2, points.unwrap_or_default());
        }
        table.push(cells);
    }
    let tested = cost.tests.iter().map(|test| elapsed(test).0).fold(0, u64::saturating_add);
    let other = Nanos(cost.time.0.saturating_sub(tested));
    let mut row = |name: &str, runs: String, work: [String; 3], time: Nanos| {
        let mut cells = vec![String::new(); columns.len()];
        let last = cells.len() - 5;
        (cells[0], cells[last]) = (name.to_owned(), runs);
        cells[last + 1..last + 4].clone_from_slice(&work);
        cells[last + 4] = format_duration(time);
        table.push(cells);
    };
    if cost.preparation > Bytes(0) || other >= Nanos(1_000_000) {
        let written = bytes(cost.preparation);
        row("preparation", String::new(), [String::new(), written, String::new()], other);
    }
    let WorkEstimate { read, operations, .. } = cost.work;
    let work = [bytes(read), bytes(cost.written()), operations.to_string()];
    row("in all", cost.cells.to_string(), work, cost.time);
    table
}

#[cfg(test)]
mod tests {
    use campaign::plan::PastDurations;
    use model::{CampaignId, RepeatedValue, SizeProfile};

    use super::*;
    use crate::fixture;

    fn campaign() -> Campaign {
        let catalog = config::Catalog::builtin().unwrap();
        let mut campaign = fixture::campaign();
        campaign.suites = ["iozone", "tiobench"]
            .map(|suite| catalog.suite(suite, SizeProfile::Study).unwrap().clone())
            .into();
        campaign
    }

    #[test]
    fn the_plan_of_a_dry_run() {
        let campaign = campaign();
        let cost = campaign::plan::cost(
            &campaign,
            ThroughputModel::default(),
            &PastDurations::default(),
            1,
        );
        insta::assert_snapshot!(text(
            &campaign,
            &cost,
            &["fat12: takes 255 MiB at most".to_owned()],
            campaign::plan::write_limit(&campaign, &cost)
        ));
    }

    #[test]
    fn shows_the_basis_of_the_time_estimate() {
        let mut cost = campaign::plan::cost(
            &campaign(),
            ThroughputModel::default(),
            &PastDurations::default(),
            1,
        );
        cost.time = Nanos::from_secs(50);
        let assumed = "an assumed 500 MB/s, and 500 ms in addition for each test run";
        assert_eq!(time(&cost), format!("about 50.0 s: {assumed}"));
        (cost.basis.pairs, cost.basis.remembered) = (40, 34);
        cost.basis.campaigns = vec![CampaignId(12), CampaignId(9)];
        let some = "34 of 40 test runs of a round as campaigns 12, 9 took, the others";
        assert_eq!(time(&cost), format!("about 50.0 s: {some} {assumed}"));
        (cost.basis.remembered, cost.parallel_cells) = (40, 4);
        cost.basis.campaigns.truncate(1);
        assert_eq!(time(&cost), "about 50.0 s, 4 test runs side by side: as campaign 12 took");
        cost.basis.remembered = 0;
        (cost.basis.fuse, cost.parallel_cells) = (true, 1);
        assert!(time(&cost).contains("assumed 500 MB/s, 3 times as long through FUSE, and"));
    }

    #[test]
    fn notes_before_a_sweep() {
        let cost = campaign::plan::cost(
            &campaign(),
            ThroughputModel::default(),
            &PastDurations::default(),
            1,
        );
        assert!(cost.is_large());
        insta::assert_snapshot!(
            sweep_notes(&cost, Some(campaign::plan::DEFAULT_WRITE_LIMIT)).join("\n")
        );
    }

    /// Measured once with ext4, in seconds: on an image, wall-clock time; in guests in virtual
    /// time, the processor time of fsarena and QEMU, which equals the wall-clock time on an idle
    /// machine.
    #[test]
    fn estimates_are_within_a_factor_of_two_of_measured_times() {
        let catalog = config::Catalog::builtin().unwrap();
        let nvme = campaign::run::in_memory::guest(catalog.disk("nvme-consumer").unwrap());
        let announced = |suite, profile, guest: Option<model::GuestConfig>| {
            let mut campaign = Campaign {
                suites: vec![catalog.suite(suite, profile).unwrap().clone()],
                contenders: vec![catalog.contender("ext4").unwrap()],
                size: catalog.profile(profile).size,
                rounds: 1,
                profile,
                ..fixture::campaign()
            };
            if guest.is_some() {
                campaign.backend = BackendKind::Vm;
                campaign.clock = model::Clock::Virtual;
                campaign.guest = guest;
            }
            let pace = pace(&campaign, None);
            campaign::plan::cost(&campaign, pace, &PastDurations::default(), 1).time.as_secs_f64()
        };
        for (suite, profile, guest, took) in [
            ("bonnie-chars", SizeProfile::Quick, None, 5.5),
            ("tree", SizeProfile::Smoke, Some(&nvme), 10.2),
            ("bonnie", SizeProfile::Smoke, Some(&nvme), 11.9),
            ("bonnie-chars", SizeProfile::Smoke, Some(&nvme), 10.9),
            ("bonnie", SizeProfile::Quick, Some(&nvme), 27.9),
            ("bonnie-chars", SizeProfile::Quick, Some(&nvme), 17.7),
        ] {
            let seconds = announced(suite, profile, guest.cloned());
            let off = seconds / took;
            assert!((0.5..2.0).contains(&off), "{suite}, {profile}: {seconds} s, not {took}");
        }
    }

    #[test]
    fn a_device_that_was_measured_sets_the_pace() {
        let campaign = fixture::campaign();
        let pace = |raw_device: Option<RawDevicePerformance>| pace(&campaign, raw_device.as_ref());
        assert!(!pace(None).measured);
        let raw_device = |read, write| RawDevicePerformance {
            sequential_read: RepeatedValue::from_values(&[read]),
            sequential_write: RepeatedValue::from_values(&[write]),
            ..RawDevicePerformance::default()
        };
        let measured = pace(Some(raw_device(3e9, 1e9)));
        assert!(measured.measured && (measured.throughput - 1.5e9).abs() < 1.0);
        assert!(!pace(Some(raw_device(3e9, 0.0))).measured);
    }
}
