//! A small shootout: real filesystems in every suite, and all reports.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use end_to_end::{Sandbox, cells_of, run};
use model::{CampaignResults, Metric, Nanos, PhaseResult, Status};

const CONTENDERS: [&str; 6] = ["ext2", "ext4", "xfs", "btrfs", "fuse2fs-ext4", "ntfs-3g"];
const SUITES: [&str; 6] = ["lifecycle", "bonnie", "bonnie-chars", "large-file", "tree", "durable"];

fn shootout(sandbox: &Sandbox) {
    let mut command = sandbox.fsarena();
    command.args(["run", "--profile", "smoke", "--seed", "1", "--work-dir"]);
    command.arg(sandbox.path("work"));
    for contender in CONTENDERS {
        command.args(["--contender", contender]);
    }
    for suite in SUITES {
        command.args(["--suite", suite]);
    }
    run(&mut command).assert_code(0);
}

/// Checks the promises of the design for every measured phase.
fn assert_measured(contender: &str, phase: &PhaseResult) {
    let name = format!("{contender}, {}: {phase:?}", phase.phase);
    assert!(phase.elapsed > Nanos(0), "{name}");
    assert!(phase.cpu.user.0 + phase.cpu.system.0 > 0, "{name}");
    assert!(phase.device.is_some(), "{name}");
    assert!(phase.primary_value().is_some_and(f64::is_finite), "{name}");
    if phase.primary_metric == Metric::Throughput || phase.primary_metric == Metric::Rate {
        assert!(!phase.latency.is_empty(), "{name}");
        assert!(phase.space_before.is_some() && phase.space_after.is_some(), "{name}");
    }
}

fn assert_all_measured(results: &CampaignResults) {
    for contender in CONTENDERS {
        let cells = cells_of(results, contender);
        assert!(cells.len() >= SUITES.len(), "{contender}: {}", cells.len());
        for cell in cells {
            assert_eq!(cell.status, Status::Ok, "{contender}: {:?}", cell.failure);
            assert!(cell.kernel_log_readable, "{contender}");
            for phase in &cell.phases {
                if phase.status == Status::Ok && phase.primary_metric != Metric::Supported {
                    assert_measured(contender, phase);
                }
            }
        }
    }
    let environment = &results.environments[0];
    assert!(!environment.kernel.is_empty() && !environment.cpu.is_empty());
    assert!(environment.memory.0 > 0 && !environment.tools.is_empty());
}

fn report(sandbox: &Sandbox, format: &str) -> String {
    run(sandbox.fsarena().args(["report", "--format", format])).assert_code(0).stdout
}

/// Checks that Bonnie++'s own program creates a table with a row for each contender.
fn assert_bonnie_reads(csv: &str) {
    let mut child = Command::new("bon_csv2html")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("bon_csv2html of package bonnie++ is installed");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(csv.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let html = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && html.contains("<table"), "{html}");
    for contender in CONTENDERS {
        assert!(html.contains(contender), "a row for {contender}:\n{html}");
    }
    assert!(!html.contains("++++"), "no phase is too fast to be timed:\n{html}");
}

/// Returns the console messages of a page in a browser, and the page as the browser renders it.
fn browse(page: &Path, profile: &Path) -> (Vec<String>, String) {
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=2000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .env("HOME", profile)
        .output()
        .expect("chromium is there");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let console = said.lines().filter(|l| l.contains("CONSOLE")).map(str::to_owned);
    (console.collect(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn real_filesystems_pass_every_suite_and_every_report_shows_it() {
    let sandbox = Sandbox::new();
    shootout(&sandbox);
    sandbox.assert_clean();
    assert_all_measured(&sandbox.results());

    for format in ["table", "csv", "markdown", "html"] {
        let text = report(&sandbox, format);
        for contender in CONTENDERS {
            assert!(text.contains(contender), "{contender} is in the {format}");
        }
        assert!(text.contains("bonnie"), "the tests are in the {format}");
    }
    assert_bonnie_reads(&report(&sandbox, "bonnie-csv"));

    let page = sandbox.path("report.html");
    let mut command = sandbox.fsarena();
    command.args(["report", "--format", "html", "-o"]);
    run(command.arg(&page)).assert_code(0);
    let text = fs::read_to_string(&page).unwrap();
    for elsewhere in ["src=\"http", "href=\"http", "url(http", "@import"] {
        assert!(!text.contains(elsewhere), "the page loads nothing: {elsewhere}");
    }
    let profile = sandbox.path("browser");
    let (console, dom) = browse(&page, &profile);
    assert_eq!(console, Vec::<String>::new());
    assert!(
        dom.contains("<html lang=\"en\" class=\"js\"") && dom.contains("btrfs"),
        "its script has run"
    );

    let broken = sandbox.path("broken.html");
    fs::write(&broken, "<script>missing()</script>").unwrap();
    let (console, _) = browse(&broken, &profile);
    assert_eq!(console.len(), 1, "an error on the console would have been seen");
}
