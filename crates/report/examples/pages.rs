//! Writes the pages of made-up campaigns into a directory, to be looked at in a browser: `cargo run --example pages -- DIR`.

use analyse::{SuitesByGroup, analyse, fixture};
use model::{
    Access, Bytes, CacheState, CampaignResults, Driver, End, Group, Io, Nanos, Op, SeededRng,
    Status, Use,
};
use report::{Format, Options, render};

fn uses() -> Vec<Use> {
    let one = |title: &str, weights: &[(Group, f64)]| Use {
        title: title.to_owned(),
        ..fixture::use_of(weights)
    };
    vec![
        one(
            "Desktop",
            &[
                (Group::Names, 25.0),
                (Group::ManyFiles, 25.0),
                (Group::StreamRead, 10.0),
                (Group::Trees, 20.0),
            ],
        ),
        one(
            "File server",
            &[
                (Group::StreamWrite, 40.0),
                (Group::StreamRead, 40.0),
                (Group::Trees, 20.0),
            ],
        ),
        one(
            "Mail spool",
            &[(Group::Durable, 60.0), (Group::ManyFiles, 40.0)],
        ),
        one(
            "Removable disk",
            &[(Group::StreamWrite, 50.0), (Group::StreamRead, 50.0)],
        ),
    ]
}

/// So many contenders with names of this length, in so many tests of ten phases, that all end so.
fn made(
    contenders: usize,
    letters: usize,
    tests: usize,
    rounds: u32,
    end: Status,
) -> CampaignResults {
    let names = (1..=contenders).map(|n| format!("fs{n}{}", "x".repeat(letters)));
    let contenders = names
        .map(|name| fixture::contender(&name, Driver::Kernel))
        .collect();
    let phase = |number: usize| {
        let accesses = [Access::Overwrite, Access::Read];
        let op = Op::Io(Io::new("data", accesses[number % 2], Bytes::kib(64)));
        fixture::phase(&format!("phase-{number}"), op, CacheState::Warm, End::Fsync)
    };
    let test = |number: usize| {
        let phases = (1..=10).map(phase).collect();
        fixture::test(&format!("test-{number}"), "Ten phases of one file", phases)
    };
    let tests = (1..=tests).map(test).collect();
    fixture::campaign("made", contenders, tests, rounds, |cell, test| {
        let mut rng = SeededRng::for_purpose(cell.id.0.into(), "page");
        let own: f64 = cell
            .contender
            .trim_start_matches("fs")
            .trim_end_matches('x')
            .parse()
            .unwrap_or(1.0);
        let results = test.phases.iter().map(|phase| match end {
            Status::Ok => {
                let wall = Nanos((1e9 * (0.5 + 0.05 * own * own + 0.2 * rng.unit())) as u64);
                fixture::phase_result(phase, wall, 10_000, Bytes::mib(256))
            }
            _ => fixture::failed(
                phase,
                end,
                Some(fixture::failure(
                    &phase.name,
                    "no space left on device",
                    Some(("pwrite", 28, "ENOSPC")),
                )),
            ),
        });
        Some(fixture::cell_result(results.collect()))
    })
}

fn main() {
    let directory = std::env::args().nth(1).expect("a directory");
    let campaigns = [
        ("realistic", fixture::realistic()),
        ("plain", fixture::plain()),
        ("hostile", fixture::hostile()),
        ("swept", fixture::swept()),
        ("calibrated", fixture::calibrated()),
        ("disks", fixture::over_disks()),
        ("two", made(2, 0, 2, 3, Status::Ok)),
        ("forty", made(40, 3, 10, 3, Status::Ok)),
        ("large", made(20, 3, 10, 5, Status::Ok)),
        ("one-round", made(8, 0, 3, 1, Status::Ok)),
        ("all-failed", made(6, 0, 2, 2, Status::Failed)),
        ("long-names", made(6, 4096, 2, 3, Status::Ok)),
    ];
    for (name, results) in campaigns {
        let mut analysis = analyse(&results);
        analysis.weigh_uses(&uses(), &SuitesByGroup::new());
        let page = render(Format::Html, &results, &analysis, &Options::default());
        std::fs::write(format!("{directory}/{name}.html"), page)
            .expect("the directory can be written to");
    }
}
