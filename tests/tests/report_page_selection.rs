//! The selection on the report page, in a real browser: its conclusions equal the analysis of the
//! same selection, it is part of the address, and downloads contain it.

use end_to_end::{BrowserPage, Viewport};
use model::{CampaignResults, Clock, SeededRng, UseCase, WorkloadCategory};
use report::{DocumentOptions, ReportFormat, render};
use stats::{Analysis, Rank, Selection, SuitesByGroup, analyse, fixture};

use crate::report_page::{columns, html, large, look, look_at};
use crate::report_page_uses::spread;

/// Returns uses with different weights, as in a catalog.
fn uses() -> Vec<UseCase> {
    let one = |title: &str, weights: &[(WorkloadCategory, f64)]| UseCase {
        title: title.to_owned(),
        ..fixture::use_of(weights)
    };
    vec![
        one(
            "Streams",
            &[(WorkloadCategory::StreamWrite, 60.0), (WorkloadCategory::StreamRead, 40.0)],
        ),
        one(
            "Files",
            &[
                (WorkloadCategory::Names, 25.0),
                (WorkloadCategory::ManyFiles, 25.0),
                (WorkloadCategory::Trees, 50.0),
            ],
        ),
        one("Both", &[(WorkloadCategory::StreamWrite, 30.0), (WorkloadCategory::RandomRead, 70.0)]),
    ]
}

pub(crate) fn with_uses(results: &CampaignResults) -> (Analysis, String) {
    let mut analysis = analyse(results);
    analysis.score_use_cases(&uses(), &SuitesByGroup::new());
    let html = render(ReportFormat::Html, results, &analysis, &DocumentOptions::default());
    (analysis, html)
}

/// Returns the text without markup.
fn plain(html: &str) -> String {
    let mut text = String::new();
    for piece in html.split('<') {
        text += piece.split_once('>').map_or(piece, |(_, rest)| rest);
    }
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&#39;", "'");
    text.replace("&amp;", "&").trim().to_owned()
}

/// Returns all texts between two marks in a page.
fn between<'a>(html: &'a str, from: &'a str, to: &'a str) -> Vec<&'a str> {
    let pieces = html.split(from).skip(1);
    pieces.map(|piece| piece.split(to).next().unwrap_or_default()).collect()
}

/// Returns the symbol of a rank in the tables.
fn mark(place: Option<&Rank>) -> &'static str {
    match place {
        Some(place) if place.best => "▲",
        Some(place) if place.worst => "▼",
        Some(place) if place.is_equal() => "=",
        Some(place) if place.shortlisted => "?",
        _ => "",
    }
}

/// Returns the symbols of all visible results, row by row, with contenders in plan order.
fn marks(page: &mut BrowserPage<'_>) -> Vec<String> {
    page.texts(
        "[...document.querySelectorAll('#heat tr[data-phase]:not([data-row])')].filter(tr => !tr.hidden).map(tr => \
         [...tr.querySelectorAll('td[data-c]')].filter(td => !td.hidden).sort((a, b) => a.dataset.c - b.dataset.c) \
         .map(td => (td.querySelector('.signs').textContent.match(/[▲▼=?]/u) ?? ['-'])[0]).join(''))",
    )
}

/// Covers campaigns of few and of many rounds, without noise, and with failures.
#[test]
fn conclusions_of_a_selection_equal_its_analysis() {
    let campaigns = [
        spread(1, 2, Clock::Real),
        spread(4, 9, Clock::Real),
        spread(5, 2, Clock::Virtual),
        fixture::realistic(),
    ];
    for (number, results) in campaigns.iter().enumerate() {
        let (whole, html) = with_uses(results);
        let tests: Vec<&str> = results
            .campaign
            .suites
            .iter()
            .flat_map(|s| &s.tests)
            .map(|t| t.name.as_str())
            .collect();
        let mut rng = SeededRng::substream(number as u64, "selections");
        look(&html, Viewport::DESK, |page| {
            page.run("document.querySelector('#overall details').open = true");
            let choosable: Vec<String> = page.texts(
                "JSON.parse(document.getElementById('data').textContent).tests.map(test => test.name)",
            );
            assert_eq!(choosable, tests);
            for turn in 0..8 {
                let contenders: Vec<bool> =
                    whole.contenders.iter().map(|_| turn == 0 || rng.below(4) > 0).collect();
                let off = rng.below(2 * tests.len() as u64) as usize;
                let off = tests.get(off).copied();
                let mut analysis = whole.clone();
                let rows = whole.rows.iter().map(|row| Some(row.test.as_str()) != off).collect();
                analysis.restrict_to(results, Selection { contenders: contenders.clone(), rows });
                analysis.score_use_cases(&uses(), &SuitesByGroup::new());
                select(page, &contenders, off);
                let expected =
                    render(ReportFormat::Html, results, &analysis, &DocumentOptions::default());
                let answers: Vec<String> = between(&expected, "<p class=\"said\">", "</p>")
                    .into_iter()
                    .map(plain)
                    .collect();
                let excluded = between(&expected, "<p class=\"note excluded\"", "</p>");
                for (one, answer) in answers.iter().enumerate() {
                    page.run(&format!("document.querySelectorAll('.uses button')[{one}].click()"));
                    let said = page.text(&format!(
                        "document.querySelector('[data-use=\"{one}\"] .said').textContent"
                    ));
                    assert_eq!(&said, answer, "{number} {contenders:?} {off:?}");
                    // The page lists only shown contenders. Hidden if the answer has the list, or if
                    // there is none.
                    if contenders.contains(&false) {
                        continue;
                    }
                    let listed = page.text(&format!(
                        "(p => p.hidden ? '' : p.textContent)(document.querySelector('[data-use=\"{one}\"] .excluded'))"
                    ));
                    let (attributes, text) = excluded[one].split_once('>').expect("a tag");
                    let expected = if attributes.is_empty() { plain(text) } else { String::new() };
                    assert_eq!(listed, expected, "{number} {contenders:?} {off:?}");
                }
                assert_eq!(
                    marks(page),
                    expected_marks(&analysis, &contenders, off),
                    "{contenders:?} {off:?}"
                );
                expect_groups(page, &analysis, &expected, &contenders);
            }
        });
    }
}

/// Clicks until only these contenders and all tests except one are shown.
fn select(page: &mut BrowserPage<'_>, contenders: &[bool], off: Option<&str>) {
    let wanted: Vec<String> = contenders.iter().map(bool::to_string).collect();
    page.run(&format!(
        "(() => {{ const [who, what] = document.querySelectorAll('#filter .boxes'); \
         [{}].forEach((on, c) => {{ const box = who.querySelectorAll('input')[c]; if (box.checked !== on) box.click(); }}); \
         const data = JSON.parse(document.getElementById('data').textContent); \
         const tests = data.tests.filter((_, test) => data.phases.some(phase => phase.test === test)); \
         what.querySelectorAll('input').forEach((box, place) => {{ \
           if (box.checked !== (tests[place].name !== '{}')) box.click(); }}) }})()",
        wanted.join(","),
        off.unwrap_or_default()
    ));
}

fn expected_marks(analysis: &Analysis, contenders: &[bool], off: Option<&str>) -> Vec<String> {
    let rows = analysis.rows.iter().filter(|row| {
        row.primary && row.metric != model::Metric::Supported && Some(row.test.as_str()) != off
    });
    rows.map(|row| {
        let results = row.results.iter().zip(contenders).filter(|(_, shown)| **shown);
        let marks = results.map(|(result, _)| match mark(result.place.as_ref()) {
            "" => "-",
            mark => mark,
        });
        marks.collect::<String>()
    })
    .collect()
}

/// Checks the scores of groups and their text.
fn expect_groups(
    page: &mut BrowserPage<'_>,
    analysis: &Analysis,
    expected: &str,
    contenders: &[bool],
) {
    let overall = &analysis.overall;
    for (line, group) in overall.groups.iter().enumerate() {
        for (c, score) in group.scores.iter().enumerate().filter(|(c, _)| contenders[*c]) {
            let shown = page.text(&format!(
                "(() => {{ const title = {:?}; const tr = [...document.querySelectorAll('#overall tbody tr')] \
                 .find(tr => tr.cells[0].textContent === title); \
                 return tr.querySelector('[data-c=\"{c}\"]').firstChild.textContent; }})()",
                group.group.title()
            ));
            match &score.place {
                Some(place) => {
                    let shown: f64 = shown.trim_end_matches('×').parse().unwrap();
                    let off = (shown / place.ratio - 1.0).abs();
                    assert!(off < 0.0051, "{line} {c}: {shown} {}", place.ratio);
                }
                None => assert_eq!(shown, "none"),
            }
        }
    }
    let list = between(expected, "id=\"by-group\">", "</ul>");
    let wanted: Vec<String> =
        list.iter().flat_map(|list| between(list, "<li>", "</li>")).map(plain).collect();
    if wanted.is_empty() {
        return;
    }
    let said =
        page.texts("[...document.querySelectorAll('#by-group li')].map(n => n.textContent.trim())");
    assert_eq!(said, wanted, "{contenders:?}");
}

/// Returns the visible state of the page.
fn seen(page: &mut BrowserPage<'_>) -> Vec<String> {
    page.settle();
    let mut seen = columns(page);
    seen.extend(page.texts(
        "[...document.querySelectorAll('#heat tr[data-phase]')].filter(tr => !tr.hidden && tr.offsetParent) \
         .map(tr => tr.dataset.phase)",
    ));
    seen.push(page.text("[...document.querySelectorAll('.use')].find(use => !use.hidden).querySelector('.said').textContent"));
    seen.push(
        page.text(
            "[...document.querySelectorAll('.weight output')].map(n => n.textContent).join()",
        ),
    );
    seen.push(page.text(
        "document.getElementById('detail').open + document.getElementById('detail').textContent",
    ));
    seen
}

#[test]
fn a_copied_address_shows_the_same_page() {
    let (_, html) = with_uses(&fixture::realistic());
    let (state, before) = look(&html, Viewport::DESK, |page| {
        for click in [
            "document.querySelectorAll('.uses button')[1].click()",
            "document.querySelectorAll('#filter .boxes')[0].querySelectorAll('input')[3].click()",
            "document.querySelectorAll('#filter .boxes')[1].querySelectorAll('input')[1].click()",
            "document.querySelector('#heat tr[data-phase=\"0\"] .sort').click()",
            "(() => { const slider = document.querySelectorAll('[data-use=\"1\"] input[type=range]')[1]; slider.value = 77; \
             slider.dispatchEvent(new Event('input')); })()",
            "document.querySelector('#heat tr[data-phase=\"1\"] td[data-c=\"2\"]').click()",
        ] {
            page.run(click);
        }
        let before = seen(page);
        page.run("new Promise(done => setTimeout(done, 400))");
        (page.text("location.hash"), before)
    });
    for part in ["use=1", "hidden=3", "off=1", "order=p0", "weights=", "open=1.2"] {
        assert!(state.contains(part), "{part}: {state}");
    }
    look_at(&html, &state, Viewport::DESK, |page| {
        assert_eq!(seen(page), before);
    });
    let nonsense = "#use=99&hidden=1.x&off=-1&weights=1&open=900.900&order=p9999&at=nowhere&column=%3Cb%3E\
         &__proto__=1&toString=1&view=zz";
    look_at(&html, nonsense, Viewport::DESK, |page| {
        assert_eq!(columns(page).len(), 9, "what does not fit is not taken");
    });
    look_at(&html, "#method", Viewport::DESK, |page| {
        page.settle();
        assert_eq!(page.run("document.querySelector('#method details').open"), true);
    });
}

#[test]
fn the_first_screen_answers() {
    let (_, html) = with_uses(&fixture::realistic());
    for view in [Viewport { width: 1440, ..Viewport::DESK }, Viewport::PHONE] {
        look(&html, view, |page| {
            for part in [
                "h1",
                ".uses",
                "[data-use=\"0\"] .said",
                ".settle dd",
                ".ranks .bar:nth-of-type(1)",
                ".ranks .estimate",
            ] {
                let low = page.number(&format!(
                    "document.querySelector('{part}').getBoundingClientRect().bottom"
                ));
                assert!(low > 0.0 && low <= f64::from(view.height), "{part} ends at {low}");
            }
            let estimates = page
                .number("document.querySelectorAll('[data-use=\"0\"] .ranks .estimate').length");
            assert!(estimates > 2.0, "{estimates}");
            page.run("document.querySelectorAll('.uses button')[2].click()");
            let shown = page.texts("[...document.querySelectorAll('.use')].filter(n => !n.hidden).map(n => n.dataset.use)");
            assert_eq!(shown, ["2"]);
        });
    }
}

#[test]
fn the_bar_with_the_selection_stays_in_sight() {
    let (_, html) = with_uses(&fixture::realistic());
    for view in [Viewport::DESK, Viewport::PHONE] {
        look(&html, view, |page| {
            page.run("scrollTo({ top: 2500, behavior: 'instant' })");
            page.settle();
            let top = page.number("document.getElementById('filter').getBoundingClientRect().top");
            assert!((-1.0..2.0).contains(&top), "{top}");
        });
    }
}

#[test]
fn noisy_phases_and_those_that_hardly_differ_can_be_hidden() {
    let (_, html) = with_uses(&fixture::realistic());
    look(&html, Viewport::DESK, |page| {
        let rows =
            "[...document.querySelectorAll('#heat tr[data-phase]')].filter(n => !n.hidden).length";
        let all = page.number(rows);
        for place in [0, 1] {
            if place == 1 {
                // All contenders except the last leave nearly the same space.
                page.run("document.querySelectorAll('#filter .boxes')[0].querySelectorAll('input')[8].click()");
            }
            let click =
                format!("document.querySelectorAll('#filter > label input')[{place}].click()");
            page.run(&click);
            let left = page.number(rows);
            assert!(left < all && left > 3.0, "{place}: {left} of {all}");
            page.run(&click);
            assert_eq!(page.number(rows), all);
        }
    });
}

/// Captures the files that a page would save.
const CAUGHT: &str = "(() => { window.caught = []; URL.createObjectURL = blob => { window.caught.push(blob); return 'blob:x'; }; \
     HTMLAnchorElement.prototype.click = function () { window.names = [...(window.names ?? []), this.download]; }; })()";

#[test]
fn the_shown_results_can_be_downloaded() {
    let (_, html) = with_uses(&fixture::realistic());
    look(&html, Viewport::DESK, |page| {
        page.run(
            "document.querySelectorAll('#filter .boxes')[0].querySelectorAll('input')[3].click()",
        );
        page.run(CAUGHT);
        for words in ["as CSV", "as JSON"] {
            page.run(&format!(
                "[...document.querySelectorAll('#filter button')].find(n => n.textContent.includes('{words}')).click()"
            ));
        }
        let csv = page.text("window.caught[0].text()");
        let lines: Vec<&str> = csv.lines().collect();
        let phases = page.number("document.querySelectorAll('#heat tr[data-phase]').length");
        assert!(lines[0].starts_with("test,phase,metric,unit,contender,median,"));
        assert!(lines.len() as f64 > 8.0 * (phases - 2.0) && !csv.contains("ext4:data=journal"));
        let json: serde_json::Value =
            serde_json::from_str(&page.text("window.caught[1].text()")).unwrap();
        assert_eq!(json["results"].as_array().unwrap().len() + 1, lines.len());
        assert!(json["command"].as_str().unwrap().starts_with("fsarena run "));
        let said = page.text("document.querySelector('.said').textContent");
        assert_eq!(json["answer"].as_str().unwrap().replace('`', ""), said);
        let command = page.text("document.querySelector('#filter code.command').textContent");
        assert!(command.contains(" --seed "), "{command}");
        page.run("document.querySelector('.use .save button').click()");
        page.run("new Promise(done => setTimeout(done, 50))");
        let svg = page.text("window.caught[2].text()");
        for part in [
            "<svg xmlns=",
            "Streams: what the same work costs",
            "9 filesystems, Linux 6.18",
            "campaign 7, 2025-",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        let names = page.texts("window.names");
        assert!(names.iter().all(|name| name.starts_with("fsarena-7")), "{names:?}");
    });
    look(&html, Viewport::DARK, |page| {
        page.run("HTMLAnchorElement.prototype.click = function () { window.saved = this.href; }");
        page.run("document.querySelectorAll('.use .save button')[1].click()");
        let begins = page.text(
            "new Promise(done => { const wait = () => window.saved ? fetchBytes() : setTimeout(wait, 20); \
             const fetchBytes = () => { const image = new Image(); image.onload = () => done(`${image.width}x${image.height}`); \
             image.src = window.saved; }; wait(); })",
        );
        let (wide, high) = begins.split_once('x').unwrap();
        assert!(
            wide.parse::<u32>().unwrap() > 1000 && high.parse::<u32>().unwrap() > 200,
            "{begins}"
        );
    });
}

/// Counts the pages of a PDF.
fn sheets(printed: &[u8]) -> usize {
    let text = String::from_utf8_lossy(printed);
    text.matches("/Type /Page").count() - text.matches("/Type /Pages").count()
}

#[test]
fn paper_has_the_answer_the_results_and_the_method_on_six_sheets_at_most() {
    for results in [fixture::realistic(), large()] {
        let (_, html) = with_uses(&results);
        look(&html, Viewport::DESK, |page| {
            let few = sheets(&page.print());
            assert!((1..=6).contains(&few), "{few} sheets");
            page.look_at_print();
            for (part, shown) in [
                (".said", true),
                (".ranks", true),
                ("#heat", true),
                ("#method h3", true),
                ("#failures", false),
                ("#charts", false),
            ] {
                let is_shown =
                    page.run(&format!("document.querySelector('{part}').checkVisibility()"));
                assert_eq!(is_shown, shown, "{part}");
            }
        });
    }
}

#[test]
fn a_telephone_is_pushed_sideways_nowhere() {
    for results in [fixture::realistic(), fixture::hostile(), fixture::swept(), large()] {
        let (_, html) = with_uses(&results);
        look(&html, Viewport::PHONE, |page| {
            page.run(
                "for (const part of document.querySelectorAll('main details')) part.open = true",
            );
            page.settle();
            let wide = page.number("document.documentElement.scrollWidth");
            assert!(wide <= 390.0, "{wide}");
            let pushed = page.texts(
                "[...document.querySelectorAll('nav, .filter, .controls, .scroll:has(> .overview)')] \
                 .filter(n => n.clientWidth > 0 && n.scrollWidth > n.clientWidth + 1) \
                 .map(n => `${n.className} ${n.closest('section')?.id} ${n.scrollWidth} of ${n.clientWidth}`)",
            );
            assert_eq!(pushed, Vec::<String>::new());
        });
    }
}

#[test]
fn every_contender_can_be_reached_in_the_results() {
    let (_, html) = with_uses(&large());
    for view in [Viewport::DESK, Viewport::PHONE] {
        look(&html, view, |page| {
            let shown = "[...document.querySelectorAll('#heat thead [data-c]')].filter(n => n.checkVisibility()).map(n => n.dataset.c)";
            let mut reached: std::collections::BTreeSet<String> =
                page.texts(shown).into_iter().collect();
            for _ in 0..20 {
                page.run("document.querySelector('#overview .pager button:last-child').click()");
                reached.extend(page.texts(shown));
            }
            assert_eq!(reached.len(), 20);
        });
    }
}

#[test]
fn cells_that_are_not_ok_are_the_same_number_everywhere() {
    for results in [fixture::realistic(), fixture::hostile()] {
        look(&html(&results), Viewport::DESK, |page| {
            let of_contenders = page.number(
                "[...document.querySelectorAll('.contenders tbody tr')].reduce((sum, tr) => sum + Number(tr.cells[3].textContent), 0)",
            );
            let of_pills = page.number(
                "[...document.querySelectorAll('.outcomes .pill.failed b')].reduce((sum, b) => sum + Number(b.textContent), 0)",
            );
            let of_groups = page.number(
                "[...document.querySelectorAll('#failures h3:has(.pill)')].filter(n => !n.textContent.startsWith('unsupported')) \
                 .reduce((sum, n) => sum + parseInt(n.querySelector('small').textContent), 0)",
            );
            let remark =
                page.texts("[...document.querySelectorAll('.remarks li')].map(n => n.textContent)");
            let of_remark: f64 = remark
                .iter()
                .find_map(|text| {
                    text.split_once(" test runs were not ok").map(|(before, _)| before)
                })
                .map_or(0.0, |before| before.split(' ').next().unwrap().parse().unwrap());
            let said = page.number("parseInt(document.querySelector('#failures p').textContent)");
            assert_eq!([of_contenders, of_pills, of_groups, of_remark], [said; 4]);
        });
    }
}

#[test]
fn numbers_in_the_results_are_neither_long_nor_nearly_zero() {
    for results in [fixture::realistic(), fixture::hostile(), fixture::swept(), large()] {
        look(&html(&results), Viewport::DESK, |page| {
            let odd = page.texts(
                "[...document.querySelectorAll('#heat td[data-c]')].map(n => n.firstChild?.textContent ?? '') \
                 .filter(text => /^≥?0\\.0\\d/.test(text) || /^≥?\\d{5,}/.test(text))",
            );
            assert_eq!(odd, Vec::<String>::new());
        });
    }
}

#[test]
fn every_chart_is_in_the_index_and_found_by_its_words() {
    look(&html(&fixture::realistic()), Viewport::DESK, |page| {
        let charts = page.text("document.querySelector('#chart-index input').placeholder");
        let count: u32 = charts.split(' ').nth(1).unwrap().parse().unwrap();
        assert!(count > 300, "{charts}");
        page.run(
            "(() => { const find = document.querySelector('#chart-index input'); find.value = 'tree copy-in page faults'; \
             find.dispatchEvent(new Event('input')); document.querySelector('.found a').click(); })()",
        );
        page.settle();
        let open =
            page.text("document.querySelector('.testing details[open]').closest('section').id");
        assert_eq!(open, "test-5");
        let tab = page.text("document.querySelector('#test-5 [role=tab][aria-selected=true]:not([id$=\"-0\"])').textContent");
        assert_eq!(tab, "All metrics");
    });
}

/// Prints the duration of a click, on which no test depends.
#[test]
fn a_large_page_with_uses_fits_three_megabytes() {
    let (_, html) = with_uses(&large());
    assert!(html.len() < 3_000_000, "{} bytes", html.len());
    look(&html, Viewport::DESK, |page| {
        let took = page.number(
            "(() => { const boxes = document.querySelectorAll('#filter .boxes')[0].querySelectorAll('input'); \
             const times = [0, 1, 2, 3, 4].map(c => { const begin = performance.now(); boxes[c].click(); \
             document.body.offsetHeight; return performance.now() - begin; }); \
             return times.sort((a, b) => a - b)[2]; })()",
        );
        println!("{} bytes, there after {:?}, a click takes {took} ms", html.len(), page.load);
    });
}
