//! The part of the report page about simulated disks, in a real browser.

use end_to_end::Viewport;
use model::{Bytes, Nanos, SimulatedDiskStats};
use report::{DiskMaps, PhaseMap, mapped_cells, page};
use stats::{analyse, fixture};

use crate::report_page::look;

/// Returns a map with two rows of three bins: writes of data, no requests and writes of the
/// journal; flushes in the last column.
fn map() -> PhaseMap {
    PhaseMap {
        elapsed: Nanos::from_secs(2),
        size: Bytes::mib(512),
        bins: [3, 2],
        cells: "6B0cB".to_owned(),
        flushes: "0B1".to_owned(),
        regions: vec![[0, 1000, 0, 0, 500, 900], [0, 0, 0, 0, 500, 100]],
    }
}

fn html() -> String {
    let mut results = fixture::plain();
    let work = SimulatedDiskStats {
        requests: 8,
        bytes: Bytes(1000),
        journal: Some(Bytes(500)),
        seek: Nanos(30),
        outside: Nanos(70),
        ..SimulatedDiskStats::default()
    };
    for stored in &mut results.cells {
        for phase in stored.result.iter_mut().flat_map(|r| &mut r.phases) {
            phase.disk = Some(work);
        }
    }
    let mut maps = DiskMaps::default();
    let cells = mapped_cells(&results);
    let phase = &cells[0].result.as_ref().unwrap().phases[0].phase;
    let drawn = cells.iter().map(|stored| (stored.cell.id, map()));
    maps.add(phase, drawn.collect());
    page(&results, &analyse(&results), &maps, None)
}

/// Opens the details of the first contender in a phase of the overview.
fn open(page: &mut end_to_end::BrowserPage<'_>, phase: usize) {
    page.run(&format!(
        "document.querySelectorAll('#heat tbody tr:has(td[data-c])')[{phase}].querySelector('td button, td[data-c]').click()"
    ));
    page.settle();
}

#[test]
fn the_detail_shows_time_components_and_draws_the_map() {
    for view in [Viewport::DESK, Viewport::PHONE] {
        look(&html(), view, |page| {
            open(page, 0);
            let count = |page: &mut end_to_end::BrowserPage<'_>, of: &str| {
                page.number(&format!("document.querySelectorAll('#detail {of}').length"))
            };
            assert!(count(page, ".steps rect.part0") >= 2.0, "a bar for each contender");
            assert_eq!(count(page, ".map path.map-write"), 1.0);
            assert_eq!(count(page, ".map path.map-journal"), 1.0);
            assert_eq!(count(page, ".map rect.map-flush:has(title)"), 1.0);
            let text = page.text("document.getElementById('detail').innerText");
            assert!(text.contains("--format map -o map.svg"), "{text}");
            assert!(text.contains("fsarena explain "), "{text}");
            assert!(text.contains("50.0 %"), "the journal's share: {text}");
            let wide = "document.documentElement.scrollWidth <= innerWidth";
            assert_eq!(page.run(wide), true, "no part is wider than the window");
            page.run("document.getElementById('detail').close()");
            open(page, 1);
            let text = page.text("document.getElementById('detail').innerText");
            assert!(text.contains("The map of this phase is omitted"), "{text}");
        });
    }
}
