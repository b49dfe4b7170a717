//! A site of a whole database, and the page over several campaigns, in a real browser. They load
//! from files, send no other requests, log no errors and fit every screen. Needs the Debian package
//! chromium.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use end_to_end::{Browser, BrowserPage, Sandbox, Viewport, run};

/// Runs two campaigns of the same plan, and a third with another contender.
fn campaigns(sandbox: &Sandbox) {
    for contenders in [&["tmpfs", "ext4"][..], &["tmpfs", "ext4"], &["ext4", "ext2"]] {
        run(&mut sandbox.campaign(contenders, "names")).assert_code(0);
    }
}

/// Opens a file in a new browser.
fn look<T>(file: &Path, view: Viewport, at: impl FnOnce(&mut BrowserPage<'_>) -> T) -> T {
    let mut browser = Browser::start();
    let mut page = browser.open(file, view);
    let seen = at(&mut page);
    assert_eq!(page.console(), Vec::<String>::new(), "{}", file.display());
    let requests = page.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    seen
}

/// Returns the number of pixels by which a page is wider than its window.
fn too_wide(page: &mut BrowserPage<'_>) -> f64 {
    page.number("document.documentElement.scrollWidth - document.documentElement.clientWidth")
}

fn modified(directory: &Path) -> Vec<(PathBuf, SystemTime)> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let mut times: Vec<_> = entries
        .map(|entry| (entry.path(), entry.metadata().unwrap().modified().unwrap()))
        .collect();
    times.sort();
    times
}

#[test]
fn a_database_becomes_pages_that_link_to_each_other() {
    let sandbox = Sandbox::new();
    campaigns(&sandbox);
    let site = sandbox.path("pages");
    let said = run(sandbox.fsarena().args(["tool", "site"]).arg(&site)).assert_code(0).stdout;
    assert!(said.contains("5 written, 0 unchanged"), "{said}");
    look(&site.join("index.html"), Viewport::DESK, |page| {
        let links =
            page.texts("[...document.querySelectorAll('main a')].map(a => a.getAttribute('href'))");
        assert_eq!(links, ["campaign-3.html", "campaign-2.html", "campaign-1.html"]);
        let text = page.text("document.body.innerText");
        for word in ["ext2", "Linux", "real time", "smoke"] {
            assert!(text.contains(word), "{word}: {text}");
        }
    });
    look(&site.join("history.html"), Viewport::DESK, |page| {
        let charts = page.number("document.querySelectorAll('svg.level-line').length");
        assert!(charts > 2.0, "{charts}");
        let first =
            page.text("document.querySelector('svg.level-line').getAttribute('aria-label')");
        assert!(first.contains("no change of level"), "{first}");
    });
    look(&site.join("campaign-2.html"), Viewport::DESK, |page| {
        let back = page.text("document.querySelector('.kicker a').getAttribute('href')");
        assert_eq!(back, "index.html");
    });
    for name in ["index.html", "history.html"] {
        look(&site.join(name), Viewport::PHONE, |page| {
            assert_eq!(too_wide(page), 0.0, "{name}");
        });
    }

    // Without new campaigns, no page is written; with a new campaign, one is.
    let before = modified(&site);
    let said = run(sandbox.fsarena().args(["tool", "site"]).arg(&site)).assert_code(0).stdout;
    assert!(said.contains("0 written, 5 unchanged"), "{said}");
    assert_eq!(modified(&site), before);
    run(&mut sandbox.campaign(&["ext4", "ext2"], "names")).assert_code(0);
    let json =
        run(sandbox.fsarena().args(["--json", "tool", "site"]).arg(&site)).assert_code(0).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        json["written"],
        serde_json::json!(["campaign-4.html", "index.html", "history.html"])
    );

    let foreign = sandbox.path("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("index.html"), "mine").unwrap();
    let refused = run(sandbox.fsarena().args(["tool", "site"]).arg(&foreign)).assert_code(3).stderr;
    assert!(
        refused.lines().count() == 1 && refused.contains("name an empty directory"),
        "{refused}"
    );
    assert_eq!(fs::read_to_string(foreign.join("index.html")).unwrap(), "mine");
}

#[test]
fn studies_that_were_run_again_have_a_page() {
    let sandbox = Sandbox::new();
    run(sandbox.campaign(&["tmpfs"], "names").args(["--name", "bonnie-linux-2011"])).assert_code(0);
    let site = sandbox.path("pages");
    run(sandbox.fsarena().args(["tool", "site"]).arg(&site)).assert_code(0);
    look(&site.join("studies.html"), Viewport::DESK, |page| {
        let text = page.text("document.querySelector('main').innerText");
        assert!(text.contains("The ultimate Linux filesystems benchmark"), "{text}");
        assert!(text.contains("22 claims, judged by its own figures: 12 supported"), "{text}");
        let claims = page.number("document.querySelectorAll('table.claims tbody tr').length");
        assert_eq!(claims, 22.0);
        assert_eq!(page.number("document.querySelectorAll('main a').length"), 1.0);
    });
}

/// Expression for all table cells whose text exceeds the cell.
const BEYOND: &str = "[...document.querySelectorAll('td, th')].filter(cell => {
    const text = document.createRange();
    text.selectNodeContents(cell);
    const [inner, outer] = [text, cell].map(one => one.getBoundingClientRect());
    return inner.width > 0 && (inner.left < outer.left - 1 || inner.right > outer.right + 1);
}).map(cell => cell.textContent)";

#[test]
fn on_a_telephone_the_page_of_a_study_keeps_its_text_in_its_columns() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("study.html");
    for study in ["emerging-filesystems-2007", "bonnie-linux-2011"] {
        let mut report = sandbox.fsarena();
        report.args(["report", "--study", study, "--format", "html", "-o"]);
        run(report.arg(&file)).assert_code(0);
        look(&file, Viewport::PHONE, |page| {
            page.run("document.querySelectorAll('details').forEach(one => one.open = true)");
            assert_eq!(too_wide(page), 0.0, "{study}");
            assert_eq!(page.texts(BEYOND), Vec::<String>::new(), "{study}");
            let claims = "document.querySelector('table.claims').scrollWidth - document.querySelector('table.claims').parentElement.clientWidth";
            assert!(page.number(claims) <= 0.0, "claims are listed vertically");
        });
        look(&file, Viewport::DESK, |page| {
            let first = page.text("document.querySelector('.verdict').innerText");
            assert!(first.contains("judged by its own figures"), "{first}");
            assert!(first.contains("Published in"), "{first}");
        });
    }
}

#[test]
fn several_campaigns_give_a_page_of_changes_with_a_line_per_result() {
    let sandbox = Sandbox::new();
    campaigns(&sandbox);
    let file = sandbox.path("changes.html");
    let report = |campaigns: &str| {
        let mut command = sandbox.fsarena();
        command.args(["report", "--campaigns", campaigns, "-o"]).arg(&file);
        run(&mut command)
    };
    report("2,1,3").assert_code(0);
    for view in [Viewport::DESK, Viewport::PHONE] {
        look(&file, view, |page| {
            assert_eq!(
                page.text("document.querySelector('h1').innerText"),
                "Changes from campaign 1 to campaign 3"
            );
            let rows = page.number("document.querySelectorAll('header tbody tr').length");
            assert_eq!(rows, 3.0);
            let charts = page.number("document.querySelectorAll('svg.level-line').length");
            assert!(charts > 0.0);
            assert_eq!(too_wide(page), 0.0);
            page.look_at_print();
            assert!(page.print().starts_with(b"%PDF"));
        });
    }
    let one = report("2").assert_code(2).stderr;
    assert!(one.contains("--campaigns takes two campaigns or more"), "{one}");
    report("1,77").assert_code(2);
    let csv = run(sandbox.fsarena().args(["report", "--campaigns", "1,2", "--format", "csv"]))
        .assert_code(2)
        .stderr;
    assert!(csv.contains("--format html"), "{csv}");
    let json = run(sandbox.fsarena().args(["--json", "report", "--campaigns", "1,2"]))
        .assert_code(0)
        .stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(json["differences"]["changes"].is_array() && json["history"]["series"].is_array());
}
