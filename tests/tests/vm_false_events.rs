//! Guests that send false events, because a crash of the tested kernel may change anything. Each
//! guest has a result, and every report on it works.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use end_to_end::{Sandbox, program, run};
use model::{CellResult, Status};

/// Runs a cell in a guest, whose events pass through a command. Returns the result.
fn run_with_filter(filter: &str) -> CellResult {
    let sandbox = Sandbox::new();
    let bin = sandbox.path("bin");
    fs::create_dir(&bin).unwrap();
    let emulator = bin.join("qemu-system-x86_64");
    let path = std::env::var("PATH").unwrap();
    // Other uses of QEMU have no channel.
    let script = format!(
        "#!/bin/sh\nexport PATH='{path}'\ncase \"$*\" in *virtserialport*) ;; *) exec qemu-system-x86_64 \"$@\";; esac\n\
         qemu-system-x86_64 \"$@\" | {filter}\n"
    );
    fs::write(&emulator, script).unwrap();
    fs::set_permissions(&emulator, fs::Permissions::from_mode(0o755)).unwrap();
    let mut campaign = sandbox.fsarena();
    campaign.args(["run", "--backend", "vm", "--clock", "real", "--profile", "smoke"]);
    campaign.args(["--rounds", "1", "-c", "hpfs", "-s", "large-file/large-file", "--work-dir"]);
    campaign.arg(sandbox.path("work")).env("XDG_CACHE_HOME", program::cache());
    campaign.env("PATH", format!("{}:{path}", bin.display()));
    let ended = run(&mut campaign).assert_code(0);
    assert!(!ended.stderr.contains("internal error"), "{}", ended.stderr);
    let page = sandbox.path("page.html");
    for report in [&["report"][..], &["report", "--format", "csv"], &["advise"], &["show", "1"]] {
        run(sandbox.fsarena().args(report)).assert_code(0);
    }
    run(sandbox.fsarena().args(["report", "--format", "html", "-o"]).arg(page)).assert_code(0);
    let mut results = sandbox.results();
    sandbox.assert_clean();
    let of_file = results.cells.iter().position(|cell| cell.cell.test == "large-file").unwrap();
    results.cells.swap_remove(of_file).result.unwrap()
}

#[test]
fn false_events_of_a_guest_are_failures_with_a_reason() {
    for (filter, status, reason) in [
        ("sed -u '/\"event\":\"phase\"/d'", Status::Failed, "ended without a result"),
        (
            "sed -u 's/\"phase\":\"[^\"]*\"/\"phase\":\"x\"/'",
            Status::Failed,
            "ended without a result",
        ),
        (
            "sed -u 's/\"wall\":[0-9]*/\"wall\":NaN/'",
            Status::Crashed,
            "a line that is not an event",
        ),
        ("sed -u '4q'", Status::Crashed, ""),
    ] {
        let result = run_with_filter(filter);
        let failure = result.failure.expect(filter);
        assert_eq!(result.status, status, "{filter}: {failure:?}");
        assert!(failure.reason.contains(reason), "{filter}: {}", failure.reason);
    }
}

#[test]
fn numbers_that_no_disk_has_are_reported_and_break_nothing() {
    for (filter, phases) in [
        ("sed -u 's/\"wall\":[0-9]*/\"wall\":0/'", 4),
        (
            "sed -u 's/\\(\"wall\\|\"bytes\\|\"operations\\|\"user\\|\"files\\|\"pieces\\|\"blocks\\|\"behind\\)\":[0-9]*/\\1\":18446744073709551615/g'",
            4,
        ),
        ("sed -u '/\"event\":\"phase\"/p'", 4),
    ] {
        let result = run_with_filter(filter);
        assert_eq!(result.status, Status::Ok, "{filter}: {:?}", result.failure);
        assert_eq!(result.phases.len(), phases, "{filter}");
    }
}
