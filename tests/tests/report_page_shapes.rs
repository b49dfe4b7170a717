//! The report page for campaigns of every shape, in a real browser: the first screen contains the
//! answer, on a desktop and on a phone, and no part needs horizontal scrolling. `PICTURES=DIR`
//! stores a picture of each for inspection.

use end_to_end::{Browser, BrowserPage, Viewport};
use model::{
    AccessPattern, Bytes, CacheState, CampaignResults, Cell, CellResult, Clock, DiskModel,
    DriverKind, GuestDisk, Io, Nanos, Op, Phase, SeededRng, Status, SyncAtEnd, Test,
};
use stats::fixture;

use crate::report_page_selection::with_uses;

/// Returns a campaign with this number of contenders and rounds, in a test of writing and reading.
fn of(contenders: usize, rounds: u32, run: fn(&Cell, &Test) -> CellResult) -> CampaignResults {
    let names = (1..=contenders).map(|number| format!("filesystem-{number}"));
    let contenders = names.map(|name| fixture::contender(&name, DriverKind::Kernel));
    let phase = |name: &str, access, ends| {
        let job = Op::Io(Io::new("data", access, Bytes::kib(64)));
        fixture::phase(name, job, CacheState::Warm, ends)
    };
    let phases = vec![
        phase("write", AccessPattern::Overwrite, SyncAtEnd::Fsync),
        phase("read", AccessPattern::Read, SyncAtEnd::Call),
    ];
    let test = fixture::test("file", "One file", phases);
    fixture::campaign("shape", contenders.collect(), vec![test], rounds, |cell, test| {
        Some(run(cell, test))
    })
}

/// Returns a result in which each contender has a typical time with a small variation per round.
fn went_well(cell: &Cell, test: &Test) -> CellResult {
    let mut rng = SeededRng::substream(cell.id.0.into(), "shape");
    let number = cell.contender.bytes().fold(0_u64, |n, b| n * 7 + u64::from(b)) % 97;
    let mut one = |phase: &Phase| {
        let wall = 1e9 * (1.0 + number as f64 / 20.0) * (1.0 + 0.02 * rng.next_f64());
        fixture::phase_result(phase, Nanos(wall as u64), 10_000, Bytes::mib(256))
    };
    fixture::cell_result(test.phases.iter().map(&mut one).collect())
}

fn went_wrong(_: &Cell, test: &Test) -> CellResult {
    let why = || fixture::failure("write", "the disk is full", Some(("pwrite", 28, "ENOSPC")));
    let one = |phase: &Phase| fixture::failed(phase, Status::Failed, Some(why()));
    fixture::cell_result(test.phases.iter().map(one).collect())
}

fn in_guests() -> CampaignResults {
    let mut results = fixture::on_disks(fixture::plain(), &["hdd", "sata-ssd", "hdd"]);
    results.campaign.clock = Clock::Virtual;
    results.campaign.guest = Some(fixture::guest(GuestDisk::Model { model: DiskModel::ideal() }));
    results
}

fn shapes() -> [(&'static str, CampaignResults); 6] {
    [
        ("two", of(2, 3, went_well)),
        ("forty", of(40, 3, went_well)),
        ("one-round", of(5, 1, went_well)),
        ("all-failed", of(5, 3, went_wrong)),
        ("guests", in_guests()),
        ("hostile", fixture::hostile()),
    ]
}

/// Checks that the answer is visible without scrolling, and the whole page without horizontal
/// scrolling.
fn answers_at_once(page: &mut BrowserPage<'_>, shape: &str) {
    let answer = "[...document.querySelectorAll('header .said, header .verdict p')].find(p => p.offsetHeight)";
    let (top, said) = (
        page.number(&format!("{answer}.getBoundingClientRect().top")),
        page.text(&format!("{answer}.innerText")),
    );
    let window = page.number("innerHeight");
    assert!(top < window && said.len() > 20, "{shape}: “{said}” at {top} of {window}");
    let wide = page.number("document.documentElement.scrollWidth");
    let window = page.number("innerWidth");
    assert!(wide <= window, "{shape}: {wide} of {window}");
}

#[test]
fn campaigns_of_every_shape_are_answered_on_the_first_screen() {
    let directory = tempfile::tempdir().unwrap();
    let pictures = std::env::var_os("PICTURES").map(std::path::PathBuf::from);
    let mut browser = Browser::start();
    for (shape, results) in shapes() {
        let file = directory.path().join(format!("{shape}.html"));
        std::fs::write(&file, with_uses(&results).1).unwrap();
        let mut page = browser.open(&file, Viewport::DESK);
        for (view, name) in [(Viewport::DESK, "desk"), (Viewport::PHONE, "phone")] {
            page.look(view);
            answers_at_once(&mut page, shape);
            if let Some(pictures) = &pictures {
                let picture = pictures.join(format!("{shape}-{name}.png"));
                std::fs::write(picture, page.picture(false)).unwrap();
            }
        }
        assert_eq!(page.console(), Vec::<String>::new(), "{shape}");
    }
}
