//! The report page in a real browser. It loads from a file, sends no requests, logs no errors, and
//! shows hostile text as text. Sorting, filtering, opening and weighing work as documented. Needs
//! the Debian package chromium.

use end_to_end::{Browser, BrowserPage, Viewport};
use model::{
    AccessPattern, Bytes, CacheState, CampaignResults, Cell, CellResult, DriverKind, Io, Nanos, Op,
    Phase, SeededRng, SyncAtEnd, Test,
};
use report::{DocumentOptions, ReportFormat, render};
use stats::{analyse, fixture};

/// Promised maximum size of the page for [`large`], in bytes.
const LARGEST: usize = 3_000_000;

pub(crate) fn html(results: &CampaignResults) -> String {
    render(ReportFormat::Html, results, &analyse(results), &DocumentOptions::default())
}

/// Opens a page in a new browser. Checks that the page logged no messages and made no requests.
pub(crate) fn look<T>(html: &str, view: Viewport, at: impl FnOnce(&mut BrowserPage<'_>) -> T) -> T {
    look_at(html, "", view, at)
}

/// Opens a page with a fragment after the address.
pub(crate) fn look_at<T>(
    html: &str,
    fragment: &str,
    view: Viewport,
    at: impl FnOnce(&mut BrowserPage<'_>) -> T,
) -> T {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("page.html");
    std::fs::write(&file, html).unwrap();
    let mut browser = Browser::start();
    let mut page = browser.open_at(&file, fragment, view);
    let seen = at(&mut page);
    assert_eq!(page.console(), Vec::<String>::new());
    // Pictures that the page creates itself are not requests.
    let mut requests = page.requests();
    requests.retain(|address| !address.starts_with("blob:"));
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(requests[0].starts_with("file://") && requests[0].contains("page.html"));
    seen
}

/// Returns the names of the visible columns of the overview, from left to right.
pub(crate) fn columns(page: &mut BrowserPage<'_>) -> Vec<String> {
    page.texts(
        "[...document.querySelectorAll('#heat thead [data-c]')].filter(n => !n.hidden).map(n => n.innerText.trim())",
    )
}

/// Returns the heading of a contender's column.
fn column(page: &mut BrowserPage<'_>, contender: &str) -> String {
    page.text(&format!(
        "document.querySelector('#heat thead [data-c=\"{contender}\"]').innerText.trim()"
    ))
}

/// Shows the print layout with the option to print everything.
fn look_at_whole_print(page: &mut BrowserPage<'_>) {
    page.run("document.querySelector('#printing input').click()");
    page.look_at_print();
}

/// Returns the names of the visible phases of the overview, from top to bottom.
fn phases(page: &mut BrowserPage<'_>) -> Vec<String> {
    page.texts(
        "[...document.querySelectorAll('#heat tr:has(td[data-c])')].filter(n => n.offsetParent !== null) \
         .map(n => n.querySelector('th a').innerText)",
    )
}

fn scroll_to(page: &mut BrowserPage<'_>, selector: &str) {
    page.run(&format!(
        "(() => {{ const to = document.querySelector('{selector}'); \
         for (let node = to; node; node = node.parentElement) if (node.localName === 'details') node.open = true; \
         to.scrollIntoView({{ behavior: 'instant', block: 'center' }}); }})()"
    ));
    page.settle();
}

fn status(page: &mut BrowserPage<'_>) -> String {
    page.text("document.getElementById('status').textContent")
}

#[test]
fn a_real_comparison_loads_and_draws_visible_charts() {
    look(&html(&fixture::realistic()), Viewport::DESK, |page| {
        let title = page.text("document.title");
        assert!(
            title.starts_with("9 filesystems, Linux 6.18, ") && title.ends_with(" · fsarena"),
            "{title}"
        );
        let last =
            "document.querySelectorAll('article[data-phase]')[25].querySelectorAll('svg').length";
        assert_eq!(page.number(last), 0.0, "far below, not drawn yet");
        scroll_to(page, "#test-5-6");
        let drawn = page.number("document.querySelectorAll('#test-5-6 svg .bar').length");
        assert_eq!(drawn, 9.0);
        let labels = page.texts(
            "[...document.querySelectorAll('svg[role=img]')].map(n => n.getAttribute('aria-label'))",
        );
        assert!(
            !labels.is_empty()
                && labels.iter().all(|text| text.contains("chart") || text.contains("bars"))
        );
    });
}

#[test]
fn charts_show_the_same_values_as_their_tables() {
    look(&html(&fixture::realistic()), Viewport::DESK, |page| {
        look_at_whole_print(page);
        let differing = page.texts(
            "[...document.querySelectorAll('article[data-phase], article[data-phase] figure figure')].flatMap(chart => { \
               const inner = chart.localName === 'figure' ? chart : null; \
               const own = (what) => [...chart.querySelectorAll(what)] \
                 .filter(n => n.closest('figure figure') === inner).map(n => n.textContent); \
               const cells = own('.data td:nth-child(2)'); \
               const drawn = own('svg .value, svg .word'); \
               return cells.length && cells.join() === drawn.join() ? [] : [`${chart.id}: ${cells} / ${drawn}`]; })",
        );
        assert_eq!(differing, Vec::<String>::new());
        page.look(Viewport::DESK);
        // Also for every metric: the tables next to the charts use the same numbers.
        page.run("document.querySelector('#test-2-1 [role=tab]:last-child').click()");
        let others = page.number("document.querySelectorAll('#test-2-1 .others figure').length");
        assert!(others > 15.0, "{others}");
    });
}

#[test]
fn hostile_text_stays_text() {
    look(&html(&fixture::hostile()), Viewport::DESK, |page| {
        look_at_whole_print(page);
        for tag in ["img", "iframe", "object", "link", "base"] {
            let count = page.number(&format!("document.querySelectorAll('{tag}').length"));
            assert_eq!(count, 0.0, "{tag}");
        }
        assert_eq!(page.number("document.scripts.length"), 2.0, "the data and our own");
        let names = columns(page);
        assert!(names.iter().any(|name| name.contains("<script>alert")), "{names:?}");
        let drawn =
            page.texts("[...document.querySelectorAll('svg .name')].map(n => n.textContent)");
        assert!(drawn.iter().any(|name| name.starts_with("<script>")), "{drawn:?}");
        assert!(drawn.iter().all(|name| name.chars().count() <= 16));
        let boxes =
            page.texts("[...document.querySelectorAll('#filter label')].map(n => n.textContent)");
        assert!(boxes.iter().any(|text| text.contains("\\u{202e}")), "{boxes:?}");
        page.look(Viewport::DESK);
        page.run("document.querySelector('#heat tr[data-phase] td[data-c=\"1\"]').click()");
        let title = page.text("document.getElementById('detail-title').textContent");
        assert!(title.starts_with("<script>alert"), "{title}");
    });
}

/// Shows that these tests can fail: the page's policy stops injected markup, the browser logs it,
/// and text is never executed.
#[test]
fn injected_markup_is_stopped_and_logged() {
    let smuggled = "<script>document.title = 'owned'</script><p onclick=\"document.title = 'owned'\" id=\"p\">\
                    </p><img src=\"data:image/gif;base64,R0lGODlhAQABAAAAACw=\">";
    let html = html(&fixture::plain()).replace("</footer>", &format!("{smuggled}</footer>"));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("page.html");
    std::fs::write(&file, html).unwrap();
    let mut browser = Browser::start();
    let mut page = browser.open(&file, Viewport::DESK);
    page.run("document.getElementById('p').click()");
    assert!(page.text("document.title").ends_with(" · fsarena"));
    let complaints = page.console();
    assert!(complaints.len() >= 3, "{complaints:?}");
    assert_eq!(page.try_eval("1 + 1"), "EvalError");
}

#[test]
fn a_row_orders_the_contenders_and_a_column_the_phases() {
    look(&html(&fixture::realistic()), Viewport::DESK, |page| {
        let planned = columns(page);
        let row = "document.querySelector('#heat tr[data-phase=\"0\"] .sort')";
        page.run(&format!("{row}.click()"));
        let ratios = page.texts(
            "[...document.querySelectorAll('#heat tr[data-phase=\"0\"] [data-r]')].map(n => n.dataset.r)",
        );
        let ratios: Vec<f64> = ratios.iter().map(|r| r.parse().unwrap()).collect();
        assert!(ratios.len() == 9 && ratios.is_sorted() && ratios[0] == 1.0, "{ratios:?}");
        let sorted = columns(page);
        assert!(sorted != planned && status(page).contains("best first"));
        let first =
            page.text("document.querySelector('#heat tr[data-phase=\"0\"] td[data-c]').dataset.c");
        assert_eq!(sorted[0], column(page, &first), "heads move with their cells");
        page.run(&format!("{row}.click()"));
        assert_eq!(columns(page), planned);

        let in_order = phases(page);
        let column = "document.querySelector('#heat thead [data-c=\"8\"] .sort')";
        page.run(&format!("{column}.click()"));
        let far = page.texts(
            "[...document.querySelectorAll('#heat tr:has(td[data-c])')].filter(n => n.offsetParent !== null) \
             .map(n => n.querySelector('td[data-c=\"8\"]').dataset.r ?? '-1')",
        );
        let far: Vec<f64> = far.iter().map(|r| r.parse().unwrap()).collect();
        assert!(far.iter().rev().is_sorted(), "{far:?}");
        page.run(&format!("{column}.click()"));
        assert_eq!(phases(page), in_order);
    });
}

#[test]
fn filters_hold_for_the_whole_page() {
    look(&html(&fixture::realistic()), Viewport::DESK, |page| {
        let all = columns(page);
        let group = "[...document.querySelectorAll('.groups label')].find(n => n.textContent.includes('FUSE')) \
                     .querySelector('input')";
        page.run(&format!("{group}.click()"));
        let left = columns(page);
        assert_eq!(left.len(), 6);
        let driven = ["ntfs-3g", "exfat-fuse", "zfs-fuse"];
        assert!(!left.iter().any(|name| driven.contains(&name.as_str())), "{left:?}");
        assert_eq!(status(page), "6 of 9 filesystems shown");
        scroll_to(page, "#test-2-1");
        let bars = page.number("document.querySelectorAll('#test-2-1 svg g').length");
        assert_eq!(bars, 6.0);
        let rows = page.number(
            "[...document.querySelectorAll('#test-2-1 .data tbody tr')].filter(n => !n.hidden).length",
        );
        assert_eq!(rows, 6.0);
        page.run(&format!("{group}.click()"));
        page.settle();
        assert_eq!(columns(page), all);
        assert_eq!(page.number("document.querySelectorAll('#test-2-1 svg g').length"), 9.0);

        page.run(
            "(() => { const find = document.querySelector('#heat-controls input'); find.value = 'TREE'; \
             find.dispatchEvent(new Event('input')); })()",
        );
        let found = phases(page);
        assert_eq!(found.len(), 7, "{found:?}");
        page.run(
            "(() => { const kind = document.querySelectorAll('#heat-controls select')[2]; kind.value = 'failed'; \
             kind.dispatchEvent(new Event('change')); })()",
        );
        assert_eq!(phases(page), ["find", "verify", "remove"]);
    });
}

#[test]
fn the_overview_switches_between_results_ratios_and_metrics() {
    look(&html(&fixture::plain()), Viewport::DESK, |page| {
        let row = "[...document.querySelectorAll('#heat tr[data-phase=\"0\"] td[data-c]')].map(n => n.firstChild.textContent)";
        let show = |view: &str| {
            format!(
                "(() => {{ const show = document.querySelector('#heat-controls select'); show.value = '{view}'; \
                 show.dispatchEvent(new Event('change')); }})()"
            )
        };
        let results = page.texts(row);
        page.run(&show("ratio"));
        assert_eq!(page.texts(row), ["1.00×", "2.00×", "4.00×"]);
        page.run(&show("cpu"));
        assert_eq!(page.texts(row), ["25.0 %", "25.0 %", "25.0 %"]);
        page.run(&show("result"));
        assert_eq!(page.texts(row), results);
    });
}

#[test]
fn a_cell_opens_into_its_detail_by_keys_alone() {
    look(&html(&fixture::realistic()), Viewport::DESK, |page| {
        let stop = "document.querySelector('#heat [tabindex=\"0\"]')";
        page.run(&format!("{stop}.focus()"));
        for key in ["ArrowDown", "ArrowRight", "ArrowRight"] {
            page.press(key);
        }
        let at = "document.activeElement.dataset.c";
        let contender = page.text(at);
        let stops = page
            .number("document.querySelectorAll('#heat :is(td, button)[tabindex=\"0\"]').length");
        assert_eq!(stops, 1.0, "the table is one stop of the Tab key");
        page.press("Enter");
        assert_eq!(page.run("document.getElementById('detail').open"), true);
        let title = page.text("document.getElementById('detail-title').textContent");
        let name = column(page, &contender);
        assert_eq!(title, format!("{name} in lifecycle: mkfs"));
        let metrics = page.number("document.querySelectorAll('#detail tbody tr').length");
        assert!(metrics > 5.0, "{metrics}");
        page.press("Escape");
        assert_eq!(page.run("document.getElementById('detail').open"), false);
        assert_eq!(page.text(at), contender, "the focus is back");
    });
}

#[test]
fn tabs_of_a_phase_show_latency_and_processor_time() {
    look(&html(&fixture::realistic()), Viewport::DESK, |page| {
        scroll_to(page, "#test-2-1");
        page.run("document.querySelector('#test-2-1 [role=tab]').focus()");
        page.press("ArrowRight");
        let ends = "[...document.querySelectorAll('#test-2-1 svg text.end')].length";
        assert_eq!(page.number(ends), 9.0);
        let ticks = page.texts(
            "[...document.querySelectorAll('#test-2-1 .lines .tick')].map(n => n.textContent)",
        );
        assert_eq!(ticks, ["50 %", "90 %", "99 %", "99.9 %", "99.99 %", "worst"]);
        page.press("ArrowRight");
        assert_eq!(
            page.number("document.querySelectorAll('#test-2-1 .scatter .point').length"),
            9.0
        );
        let selected = page.texts(
            "[...document.querySelectorAll('#test-2-1 [role=tab][aria-selected=true]')].map(n => n.textContent)",
        );
        assert_eq!(selected, ["Processor"]);
    });
}

#[test]
fn steps_are_stacked_and_a_broken_sequence_has_no_total() {
    look(&html(&fixture::realistic()), Viewport::DESK, |page| {
        scroll_to(page, "#test-3 figure.card");
        let totals = page.number("document.querySelectorAll('#test-3 .steps .total').length");
        assert_eq!(totals, 8.0);
        let broken = page.texts(
            "[...document.querySelectorAll('#test-3 .steps .word')].map(n => n.textContent)",
        );
        assert_eq!(broken, ["no total: stat-seq unsupported"]);
    });
}

#[test]
fn a_total_with_a_failed_step_is_invalid_and_shows_its_attempts() {
    look(&html(&fixture::realistic()), Viewport::DESK, |page| {
        let row = |attempt: &str, contender: usize| {
            format!(
                "[...[...document.querySelectorAll('#totals tbody')].find(n => n.querySelector('.test a').textContent \
                 === 'tree').rows].find(n => n.cells[0].textContent === '{attempt}')\
                 .querySelector('[data-c=\"{contender}\"]').textContent"
            )
        };
        assert_eq!(page.text(&row("total", 8)), "invalid");
        assert_eq!(page.text(&row("round 2", 8)), "invalid");
        for shown in [row("round 1", 8), row("total", 2)] {
            assert!(page.text(&shown).parse::<f64>().is_ok(), "{shown}");
        }
        scroll_to(page, "#test-5 figure.card");
        let broken = page.texts(
            "[...document.querySelectorAll('#test-5 .steps .word')].map(n => n.textContent)",
        );
        assert!(broken.len() == 1 && broken[0].starts_with("no total: "), "{broken:?}");
        // The chart shows the same values as the table.
        let drawn = page.texts(
            "[...document.querySelectorAll('#test-5 .steps .total')].map(n => n.textContent)",
        );
        assert!(drawn.contains(&format!("{} s", page.text(&row("total", 2)))), "{drawn:?}");
    });
}

#[test]
fn a_group_of_the_campaign_is_a_filter_and_can_be_looked_at_alone() {
    let mut results = fixture::realistic();
    let group = |name: &str, members: &[&str]| model::ContenderGroup {
        name: name.to_owned(),
        members: members.iter().map(|m| (*m).to_owned()).collect(),
    };
    results.campaign.groups = vec![
        group("ext", &["ext2", "ext3", "ext4"]),
        group("journaling", &["ext3", "ext4", "xfs"]),
    ];
    look(&html(&results), Viewport::DESK, |page| {
        let label = "[...document.querySelectorAll('.groups label')].find(n => n.textContent.includes('journaling'))";
        assert_eq!(page.text(&format!("{label}.textContent.trim()")), "journaling (3)");
        page.run(&format!("{label}.nextElementSibling.click()"));
        let mut shown = columns(page);
        shown.sort();
        assert_eq!(shown, ["ext3", "ext4", "xfs"]);
        assert_eq!(status(page), "3 of 9 filesystems shown");
        page.run(&format!("{label}.querySelector('input').click()"));
        assert_eq!(columns(page), Vec::<String>::new());
        let means = page.texts(
            "[...document.querySelectorAll('.contender-groups tbody tr')].map(n => n.querySelector('bdi').textContent)",
        );
        assert_eq!(means, ["ext", "journaling"]);
    });
}

#[test]
fn sweeps_show_curves_with_borders_and_the_surface() {
    look(&html(&fixture::swept()), Viewport::DESK, |page| {
        scroll_to(page, "article[data-sweep]");
        let mut borders = |chart: &str| {
            page.texts(&format!(
                "[...document.querySelector('article[data-sweep] {chart}').querySelectorAll('text.border')].map(n => n.textContent)"
            ))
        };
        for chart in [".lines", ".heat"] {
            assert_eq!(borders(chart), ["CPU cache ends", "memory ends"], "{chart}");
        }
        let lines =
            page.number("document.querySelectorAll('article[data-sweep] .lines .series').length");
        assert!(lines >= 2.0);
        let cells = page.texts(
            "[...document.querySelector('.heat').querySelectorAll('rect')].map(n => n.getAttribute('class'))",
        );
        assert_eq!(cells.len(), 11, "16 MiB are in no file of 64 KiB");
        for shade in ["h0", "h6"] {
            assert!(cells.iter().any(|class| class == shade), "{cells:?}");
        }
        page.run(
            "(() => { const over = document.querySelector('article[data-sweep] select'); over.value = '1'; \
             over.dispatchEvent(new Event('change')); })()",
        );
        let below = page.text("document.querySelector('article[data-sweep] .below').textContent");
        assert!(below.starts_with("block · size 1 GiB"), "{below}");
    });
}

#[test]
fn a_telephone_shows_the_page_without_a_sideways_scroll() {
    look(&html(&fixture::realistic()), Viewport::PHONE, |page| {
        page.look_at_print();
        page.look(Viewport::PHONE);
        let (wide, window) =
            (page.number("document.documentElement.scrollWidth"), page.number("innerWidth"));
        assert!(wide <= window, "{wide} of {window}");
    });
}

#[test]
fn printing_with_all_charts_draws_every_chart_of_a_phase() {
    look(&html(&fixture::realistic()), Viewport::DESK, |page| {
        page.run("document.querySelector('#printing input').click()");
        let printed = page.print();
        assert!(printed.starts_with(b"%PDF-"));
        let missing = page.texts(
            "[...document.querySelectorAll('article[data-phase]')].filter(n => !n.querySelector('svg')).map(n => n.id)",
        );
        assert_eq!(missing, Vec::<String>::new());
    });
}

#[test]
fn without_scripts_every_table_is_visible_and_no_part_is_empty() {
    for (results, tables) in [(fixture::realistic(), 10.0), (fixture::swept(), 2.0)] {
        look(&html(&results), Viewport::SCRIPTLESS, |page| {
            let ran = page.run("document.documentElement.classList.contains('js')");
            assert_eq!(ran, false, "the browser runs no scripts");
            let shown = page.number(
                "[...document.querySelectorAll('.data table')].filter(n => n.checkVisibility() && \
                 n.getBoundingClientRect().height > 40).length",
            );
            let all = page.number("document.querySelectorAll('.data table').length");
            assert_eq!(shown, all);
            assert!(all >= tables, "{all} tables");
            let empty = page.texts(
                "[...document.querySelectorAll('main figure, main article, main section, .filter, .controls, \
                 .panel, dialog')].filter(n => n.checkVisibility() && !n.textContent.trim()) \
                 .map(n => n.outerHTML.slice(0, 80))",
            );
            assert_eq!(empty, Vec::<String>::new());
            let controls = page.texts(
                "[...document.querySelectorAll('button, select, input')].filter(n => n.checkVisibility()) \
                 .map(n => n.outerHTML.slice(0, 80))",
            );
            assert_eq!(controls, Vec::<String>::new(), "no controls without a function");
        });
    }
}

#[test]
fn a_sweep_over_disks_is_a_line_over_the_number_of_disks() {
    look(&html(&fixture::over_disks()), Viewport::DESK, |page| {
        scroll_to(page, "article[data-sweep]");
        let lines =
            page.number("document.querySelectorAll('article[data-sweep] .lines .series').length");
        assert_eq!(lines, 2.0);
        let below = page.text("document.querySelector('article[data-sweep] .below').textContent");
        assert!(below.starts_with("disks"), "{below}");
    });
}

#[test]
fn every_control_has_a_name() {
    look(&html(&fixture::realistic()), Viewport::DESK, |page| {
        let nameless = page.texts(
            "[...document.querySelectorAll('button, select, input, a')].filter(n => !(n.textContent.trim() || \
             n.getAttribute('aria-label') || n.labels?.[0]?.textContent.trim())).map(n => n.outerHTML)",
        );
        assert_eq!(nameless, Vec::<String>::new());
    });
}

/// Returns a campaign of twenty contenders, a hundred phases with all metrics, and five rounds.
pub(crate) fn large() -> CampaignResults {
    let names: Vec<String> = (1..=20).map(|n| format!("filesystem-{n}")).collect();
    let contenders = names.iter().map(|name| fixture::contender(name, DriverKind::Kernel));
    let phase = |number: usize| {
        let job = Op::Io(Io::new("data", AccessPattern::Overwrite, Bytes::kib(64)));
        fixture::phase(&format!("phase-{number}"), job, CacheState::Warm, SyncAtEnd::Fsync)
    };
    let test = |number: usize| {
        let phases = (1..=10).map(phase).collect();
        fixture::test(&format!("test-{number}"), "Ten phases of one file", phases)
    };
    let tests = (1..=10).map(test).collect();
    fixture::campaign("large", contenders.collect(), tests, 5, measured)
}

fn measured(cell: &Cell, test: &Test) -> Option<CellResult> {
    let mut rng = SeededRng::substream(cell.id.0.into(), "page");
    let mut one = |phase: &Phase| {
        let wall = Nanos((1e9 * (0.5 + rng.next_f64())) as u64);
        fixture::phase_result(phase, wall, 10_000, Bytes::mib(256))
    };
    let phases = test.phases.iter().map(&mut one).collect();
    Some(fixture::cell_result(phases))
}

#[test]
fn twenty_contenders_in_a_hundred_phases_fit_three_megabytes() {
    let html = html(&large());
    assert!(html.len() < LARGEST, "{} bytes", html.len());
    look(&html, Viewport::DESK, |page| {
        assert_eq!(page.number("document.querySelectorAll('article[data-phase]').length"), 100.0);
        let rounds = page.number(
            "JSON.parse(document.getElementById('data').textContent).phases.flatMap(p => p.rows) \
             .reduce((sum, row) => sum + row.f.reduce((s, f) => s + (typeof f[1] === 'string' ? f[4].length : f.length - 1), 0), 0)",
        );
        assert!(rounds >= 20.0 * 100.0 * 5.0 * 15.0, "{rounds}: every metric with its rounds");
        println!("{} bytes, there after {:?}", html.len(), page.load);
    });
}

/// The heat map orders filesystems by rank; the campaign has them in another order.
#[test]
fn shares_of_the_device_have_the_order_of_the_table_above_and_room_for_their_units() {
    let mut results = fixture::calibrated();
    results.campaign.contenders.reverse();
    let calibration = results.calibration.as_mut().unwrap().raw_device.as_mut().unwrap();
    let read = calibration.sequential_read.as_mut().unwrap();
    (read.min, read.max) = (0.2 * read.median, 5.0 * read.median);
    look(&html(&results), Viewport::DESK, |page| {
        let order = |table: &str| {
            format!(
                "[...document.querySelectorAll('{table} thead [data-c]')].map(c => c.dataset.c).join()"
            )
        };
        let (shares, heat) = (page.text(&order(".shares")), page.text(&order("#heat")));
        assert!(!shares.is_empty());
        assert_eq!(shares, heat);
        let wide = "[...document.querySelectorAll('.shares :is(th, td)')].filter(c => c.scrollWidth > c.clientWidth + 1).map(c => c.textContent).join()";
        assert_eq!(page.text(wide), "", "cells overlap their neighbours");
    });
}
