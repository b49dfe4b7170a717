//! Shell integration: help, completions, manual page, JSON lines, colours, exit codes.

use std::process::Command;

use end_to_end::{DirectoryEntry, Sandbox, run, succeed};

const ESCAPE: char = '\u{1b}';

#[test]
fn every_command_has_help_with_examples() {
    let sandbox = Sandbox::new();
    for words in
        [&["--help"][..], &["run", "--help"], &["disk", "--help"], &["tool", "format", "-h"]]
    {
        let help = run(sandbox.fsarena().args(words)).assert_code(0).stdout;
        assert!(help.contains("Examples:"), "{words:?}:\n{help}");
        assert!(help.contains("fsarena "), "{words:?}:\n{help}");
        assert!(!help.contains(ESCAPE), "{words:?} is piped: no colours");
    }
}

#[test]
fn exit_codes_are_documented() {
    let sandbox = Sandbox::new();
    let help = run(sandbox.fsarena().arg("--help")).assert_code(0).stdout;
    let page = run(sandbox.fsarena().args(["tool", "man"])).assert_code(0).stdout;
    let short = help.lines().find_map(|line| line.strip_prefix("Exit codes: ")).unwrap();
    for code in ["0", "1", "2", "3", "4", "5", "130"] {
        let is_short = short.split(", ").any(|part| part.split(' ').next() == Some(code));
        let is_explained = page.lines().any(|line| line.starts_with(&format!("\\&{code} ")));
        assert!(is_short && is_explained, "exit code {code}:\n{help}");
    }
}

#[test]
fn completions_are_accepted_by_their_shells() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let script =
            run(sandbox.fsarena().args(["tool", "completions", shell])).assert_code(0).stdout;
        assert!(script.contains("fsarena") && script.contains("resume"), "{shell}");
        assert!(!script.contains("agent"), "{shell}: the agent is hidden");
        if shell == "bash" {
            let file = sandbox.path("completions");
            std::fs::write(&file, script).unwrap();
            succeed(Command::new("bash").arg("-n").arg(file));
        }
    }
}

#[test]
fn the_manual_page_is_one() {
    let sandbox = Sandbox::new();
    let page = run(sandbox.fsarena().args(["tool", "man"])).assert_code(0).stdout;
    assert!(page.contains(".TH FSARENA 1"), "{page}");
    assert!(page.contains(".SH") && page.contains("130"), "{page}");
}

/// A usage error: code 2 and one line with the problem and the expected input.
#[test]
fn bad_input_is_one_line_and_code_2() {
    let sandbox = Sandbox::new();
    let campaign = sandbox.path("campaign.toml");
    std::fs::write(&campaign, "name = \"x\"\ncontenders = [\"ext4\"]\nround = 3\n").unwrap();
    let campaign = campaign.to_str().unwrap();
    let cases: [(&[&str], &[&str]); 5] = [
        (&["run", "-c", "ext5"], &["ext5", "ext4"]),
        (&["run", "-c", "ext4:suid"], &["suid", "nosuid"]),
        (&["run", "-c", "ext4", "-s", "bonny"], &["bonny", "bonnie"]),
        (&["run", campaign], &["campaign.toml:3", "`round`", "rounds"]),
        (&["show", "4711"], &["campaign"]),
    ];
    for (words, expected) in cases {
        let ended = run(sandbox.fsarena().args(words)).assert_code(2);
        assert_eq!(ended.stderr.trim_end().lines().count(), 1, "{words:?}:\n{}", ended.stderr);
        for word in expected {
            assert!(ended.stderr.contains(word), "{words:?}: {word}:\n{}", ended.stderr);
        }
        assert_eq!(ended.stdout, "", "{words:?}");
    }
}

#[test]
fn a_missing_tool_is_refused_with_an_installation_hint() {
    let sandbox = Sandbox::new();
    sandbox.add(&DirectoryEntry::ext4("odd").mkfs(&["mkfs.nowhere", "{device}"]));
    let ended = run(&mut sandbox.campaign(&["odd"], "trial")).assert_code(3);
    assert!(ended.stderr.contains("mkfs.nowhere"), "{}", ended.stderr);
    sandbox.assert_clean();
}

#[test]
fn a_failed_cell_is_a_result_unless_strict() {
    let sandbox = Sandbox::new();
    sandbox.add(&DirectoryEntry::ext4("bad").mkfs(&["false", "{device}"]));
    run(&mut sandbox.campaign(&["bad"], "trial")).assert_code(0);
    run(sandbox.campaign(&["bad"], "trial").arg("--strict")).assert_code(1);
    run(sandbox.campaign(&["ext4"], "trial").arg("--strict")).assert_code(0);
}

#[test]
fn every_view_of_results_shows_failures() {
    let sandbox = Sandbox::new();
    let script = "echo out of luck >&2; exit 1";
    sandbox.add(&DirectoryEntry::ext4("bad").mkfs(&["sh", "-c", script, "sh", "{device}"]));
    run(&mut sandbox.campaign(&["bad", "ext4"], "names")).assert_code(0);
    let results = sandbox.results();
    let bad = results.cells.iter().find(|c| c.cell.contender == "bad");
    let cell = bad.unwrap().cell.id.0.to_string();
    for words in [
        &["report"][..],
        &["report", "--format", "markdown"],
        &["report", "--format", "html"],
        &["show", "--cell", &cell],
    ] {
        let told = run(sandbox.fsarena().args(words)).assert_code(0).stdout;
        assert!(told.contains("failed"), "{words:?}:\n{told}");
        assert!(told.contains("out of luck"), "{words:?}:\n{told}");
    }
    for words in [&["show"][..], &["list", "campaigns"]] {
        let told = run(sandbox.fsarena().args(words)).assert_code(0).stdout;
        assert!(told.contains("failed"), "{words:?}:\n{told}");
    }
}

#[test]
fn standard_output_contains_only_events_as_json_lines() {
    let sandbox = Sandbox::new();
    let ended = run(sandbox.campaign(&["ext4"], "names").arg("--json")).assert_code(0);
    assert!(ended.stdout.lines().count() > 3, "{}", ended.stdout);
    for line in ended.stdout.lines() {
        let event: serde_json::Value = serde_json::from_str(line).expect(line);
        assert!(event["event"].is_string(), "{line}");
    }
}

#[test]
fn piped_output_has_no_progress_and_no_colour() {
    let sandbox = Sandbox::new();
    let ended = run(&mut sandbox.campaign(&["ext4"], "names")).assert_code(0);
    let words = ["1 filesystem", "campaign-1.html"];
    assert!(words.iter().all(|word| ended.stdout.contains(word)), "{ended:?}");
    assert!(!ended.stdout.contains([ESCAPE, '\r']), "{}", ended.stdout);
    assert!(!ended.stderr.contains([ESCAPE, '\r']), "{}", ended.stderr);
    let quiet = run(sandbox.campaign(&["ext4"], "names").arg("-q")).assert_code(0);
    assert_eq!(quiet.stderr, "");
}

/// `script` provides a terminal: output has colours unless NO_COLOR is set.
#[test]
fn a_terminal_gets_colours_unless_no_color_is_set() {
    let sandbox = Sandbox::new();
    run(&mut sandbox.campaign(&["ext4", "tmpfs"], "names")).assert_code(0);
    let mut report = sandbox.fsarena();
    report.args(["report", "--format", "table"]);
    let words = std::iter::once(report.get_program()).chain(report.get_args());
    let line: Vec<&str> = words.map(|w| w.to_str().unwrap()).collect();
    let on_a_terminal = |no_color: &str| {
        let mut script = Command::new("script");
        script.args(["-qec", &line.join(" "), "/dev/null"]).env("TERM", "xterm-256color");
        if no_color.is_empty() {
            script.env_remove("NO_COLOR");
        } else {
            script.env("NO_COLOR", no_color);
        }
        succeed(&mut script)
    };
    assert!(on_a_terminal("").contains(ESCAPE), "colours on a terminal");
    assert!(!on_a_terminal("1").contains(ESCAPE), "NO_COLOR is heeded");
}
