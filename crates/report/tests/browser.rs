//! The page in a real browser: it loads from a file, runs nothing, complains of nothing, and shows
//! hostile text as text. Needs the Debian package chromium.

use std::path::Path;
use std::process::Command;

use analyse::{analyse, fixture};
use report::{Format, Options, render};

/// What the browser made of a page, and what it logged.
struct Loaded {
    dom: String,
    console: Vec<String>,
}

fn load(html: &str) -> Loaded {
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("page.html");
    std::fs::write(&page, html).unwrap();
    let output = browser(&directory.path().join("profile"))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap_or_else(|e| panic!("chromium: {e}; install the Debian package chromium"));
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success(),
        "chromium: {}\n{log}",
        output.status
    );
    Loaded {
        dom: String::from_utf8_lossy(&output.stdout).into_owned(),
        console: log
            .lines()
            .filter(|l| l.contains("CONSOLE"))
            .map(str::to_owned)
            .collect(),
    }
}

fn browser(profile: &Path) -> Command {
    let mut command = Command::new("chromium");
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--enable-logging=stderr",
        ])
        .arg(format!("--user-data-dir={}", profile.display()));
    command
}

fn page(results: &model::CampaignResults) -> String {
    render(
        Format::Html,
        results,
        &analyse(results),
        &Options::default(),
    )
}

#[test]
fn a_real_comparison_loads_without_a_complaint() {
    let loaded = load(&page(&fixture::realistic()));
    assert_eq!(loaded.console, Vec::<String>::new());
    assert!(loaded.dom.contains("<title>shootout · fsarena</title>"));
    assert!(loaded.dom.contains("</footer>"), "the page is complete");
}

#[test]
fn hostile_text_stays_text() {
    let loaded = load(&page(&fixture::hostile()));
    assert_eq!(loaded.console, Vec::<String>::new());
    assert!(!loaded.dom.contains("<script") && !loaded.dom.contains("<img"));
    assert!(
        loaded
            .dom
            .contains("<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>")
    );
    assert!(loaded.dom.contains("&lt;img src=x onerror=alert(2)&gt;"));
    assert!(
        loaded
            .dom
            .contains("&lt;/pre&gt;&lt;script&gt;alert(3)&lt;/script&gt;")
    );
}

/// Shows that the tests above can fail: markup that gets through is stopped by the page's policy,
/// and the browser says so.
#[test]
fn what_would_get_through_is_stopped_and_logged() {
    let html = page(&fixture::plain());
    let smuggled = "<script>document.title = 'owned'</script><img src=\"data:image/gif;base64,R0lGODlhAQABAAAAACw=\">";
    let loaded = load(&html.replace("</footer>", &format!("{smuggled}</footer>")));
    assert!(loaded.console.len() >= 2, "{:?}", loaded.console);
    assert!(
        loaded.dom.contains("<title>plain · fsarena</title>"),
        "the script did not run"
    );
}
