//! Tests of the command line: help with examples, one-line errors, exit codes, JSON output, and
//! closed pipes.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Returns fsarena with a new home directory and without a terminal.
fn fsarena(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fsarena"));
    command.args(arguments).env("XDG_DATA_HOME", home).env_remove("COLUMNS").stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    let home = tempfile::tempdir().unwrap();
    fsarena(home.path(), arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns the standard output of a command that succeeded without warnings.
fn said(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
    assert_eq!(text(&output.stderr), "", "{arguments:?}");
    text(&output.stdout)
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&said(arguments)).unwrap()
}

#[test]
fn help_of_every_command() {
    insta::assert_snapshot!("help", said(&["--help"]));
    let is_first_level = |name: &String| !name.contains(' ');
    for command in every_command().iter().filter(|name| is_first_level(name)) {
        insta::assert_snapshot!(format!("help-{command}"), said(&[command, "--help"]));
    }
}

/// Help must fit on a screen.
#[test]
fn the_help_fits_40_lines() {
    let help = on_a_terminal("--help");
    assert!(help.lines().count() <= 40, "{}:\n{help}", help.lines().count());
    assert_eq!(help, said(&["-h"]));
}

#[test]
fn short_help_of_run_has_40_lines_and_long_help_has_all_options() {
    let short = said(&["run", "-h"]);
    insta::assert_snapshot!("help-run-short", short);
    assert!(short.lines().count() <= 40, "{short}");
    let long = said(&["run", "--help"]);
    let options = |help: &str| help.lines().filter(|line| line.trim().starts_with('-')).count();
    assert!(options(&short) < 25 && options(&long) > 60);
    for section in ["Contenders", "Rounds", "Storage", "Limits", "Guests (--backend vm)"] {
        let heading = format!("\n{section}:\n");
        assert!(long.contains(&heading) && !short.contains(&heading), "{section}");
    }
}

#[test]
fn a_mistake_is_one_line_and_exit_code_2() {
    for arguments in [
        vec!["frobnicate"],
        vec!["run", "--rounds", "0"],
        vec!["run", "--rounds", "many"],
        vec!["run", "--size", "12 parsecs"],
        vec!["run", "--profile", "huge"],
        vec!["run", "--backend", "cloud"],
        vec!["run", "--stall-timeout", "long"],
        vec!["run", "--dir", "/tmp", "--stall-timeout", "0"],
        vec!["run", "--dir", "/tmp", "--memory", "1 MiB"],
        vec!["run", "--erase", "/dev/null"],
        vec!["run", "-c", "ext5"],
        vec!["run", "-s", "bony"],
        vec!["run", "--dir", "/tmp", "-s", "tree", "-s", "tree"],
        vec!["run", "--dir", "/tmp", "-c", "ext4"],
        vec!["run", "--dir", "/tmp", "--device", "/dev/sdz"],
        vec!["run", "--dir", "/tmp", "--size", "1 GiB"],
        vec!["run", "--dir", "/tmp", "--backend", "vm"],
        vec!["run", "--dir", "/tmp", "--clock", "virtual"],
        vec!["run", "--backend", "vm", "--disks", "9"],
        vec!["run", "--backend", "vm", "--clock", "stopped"],
        vec!["run", "no-such-file.toml"],
        vec!["run", "--dir", "/no/such/directory"],
        vec!["list", "everything"],
        vec!["show", "--cell", "-1"],
        vec!["report", "--format", "papyrus"],
        vec!["tool", "completions", "basic"],
        vec!["guest", "build", "--with", "ext4"],
        vec!["guest", "build", "--mirror", "debian"],
        vec!["guest", "build", "--rootfs", "/no/such/directory"],
        vec!["guest", "build", "--kernel", "/no/such/kernel", "--modules", "/tmp"],
        vec!["guest", "build", "--headers", "/tmp"],
        vec!["--catalog", "/no/such/directory", "list"],
        vec!["--db", "/no/such/directory/x.db", "list", "campaigns"],
        vec!["run", "--work-dir", "/no/such/directory", "-c", "ext4"],
        vec!["survive", "write", "/no/such/directory"],
        vec!["survive", "check", ".", "/no/such/log"],
    ] {
        let output = run(&arguments);
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
        assert_eq!(complaint.lines().count(), 1, "{arguments:?}: {complaint}");
        assert!(complaint.starts_with("fsarena: "), "{complaint}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
    }
}

#[test]
fn no_command_shows_what_runs_here_and_what_to_try() {
    let overview = said(&[]);
    assert!(overview.lines().count() <= 10, "{overview}");
    for word in ["filesystems run here", "Try:", "fsarena run --budget", "fsarena --help"] {
        assert!(overview.contains(word), "{word}: {overview}");
    }
    let listed = json(&["--json"]);
    for name in listed["loop"].as_array().unwrap() {
        assert!(overview.contains(name.as_str().unwrap()), "{name}: {overview}");
    }
}

#[test]
fn a_group_without_a_command_shows_help_and_exits_with_2() {
    let output = run(&["disk"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("Usage: fsarena disk"));
}

/// A directory with a program that replaces apt-get, and writes its arguments to a file.
fn fake_apt(home: &Path) {
    let script = format!("#!/bin/sh\necho \"$*\" >> {}/calls\n", home.display());
    for (name, script) in [("apt-get", script.as_str()), ("sudo", "#!/bin/sh\nexec \"$@\"\n")] {
        let path = home.join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn doctor_installs_missing_packages_after_a_question() {
    let home = tempfile::tempdir().unwrap();
    fake_apt(home.path());
    let doctor = |arguments: &[&str]| {
        let mut command = fsarena(home.path(), &["doctor"]);
        command.args(arguments).env("PATH", home.path()).output().unwrap()
    };
    let asked = doctor(&["--fix"]);
    assert_eq!(asked.status.code(), Some(2));
    let complaint = text(&asked.stderr);
    let expected = "without confirmation: standard input is not a terminal; add --yes";
    assert!(complaint.contains(expected) && complaint.lines().count() == 1, "{complaint}");
    assert!(!home.path().join("calls").exists(), "an installation needs an answer");
    let fixed = doctor(&["--fix", "--yes"]);
    assert_eq!(fixed.status.code(), Some(0), "{fixed:?}");
    assert!(text(&fixed.stdout).contains("filesystems run here"), "{fixed:?}");
    let calls = fs::read_to_string(home.path().join("calls")).unwrap();
    let packages = calls.trim().strip_prefix("install --yes --no-install-recommends --no-remove ");
    assert!(packages.unwrap().split(' ').any(|name| name == "qemu-system-x86"), "{calls}");
}

#[test]
fn missing_database_is_reported_and_not_created() {
    let home = tempfile::tempdir().unwrap();
    for command in ["show", "report", "resume"] {
        let output = fsarena(home.path(), &[command]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(text(&output.stderr).contains("no campaign"), "{output:?}");
    }
    let output = fsarena(home.path(), &["list", "campaigns"]).output().unwrap();
    assert_eq!(text(&output.stdout), "no campaign was run yet\n");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn a_campaign_that_is_refused_is_not_stored() {
    let home = tempfile::tempdir().unwrap();
    for place in [
        // No user can write there, not even root.
        ["--dir", "/sys/fs", "--work-dir", "/tmp"],
        ["--dir", "/tmp", "--work-dir", "/dev/null/work"],
    ] {
        let mut command = fsarena(home.path(), &["run"]);
        let output = command.args(place).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{output:?}");
    }
    let output = fsarena(home.path(), &["list", "campaigns"]).output().unwrap();
    assert_eq!(text(&output.stdout), "no campaign was run yet\n");
}

/// Returns the standard output of a command on a terminal of 80 columns, emulated by `script`.
fn on_a_terminal(arguments: &str) -> String {
    let home = tempfile::tempdir().unwrap();
    let line = format!("stty cols 80 rows 24; exec {} {arguments}", env!("CARGO_BIN_EXE_fsarena"));
    let mut script = Command::new("script");
    script
        .args(["-qec", &line, "/dev/null"])
        .env("XDG_DATA_HOME", home.path())
        .env("XDG_CACHE_HOME", home.path())
        .env("NO_COLOR", "1")
        .env_remove("COLUMNS")
        .stdin(Stdio::null());
    text(&script.output().unwrap().stdout).replace('\r', "")
}

#[test]
fn on_80_columns_no_line_is_longer_and_no_word_is_broken() {
    use unicode_width::UnicodeWidthStr;

    let lists = [
        "filesystems",
        "suites",
        "profiles",
        "studies",
        "uses",
        "disks",
        "ages",
        "machines",
        "aged",
        "campaigns",
        "filesystems --long",
    ];
    let lists = lists.map(|what| format!("list {what}"));
    let helps = every_command().into_iter().map(|command| format!("{command} --help"));
    let helps: Vec<String> = helps.chain(["run -h".to_owned()]).collect();
    let others = ["doctor".to_owned(), "disk validate hdd-2003-7200".to_owned()];
    for arguments in lists.iter().chain(&helps).chain(&others) {
        let told = on_a_terminal(arguments);
        assert!(!told.is_empty(), "{arguments}");
        for line in told.lines() {
            // A name or an address longer than the terminal is not broken.
            let words = line.split_whitespace().map(UnicodeWidthStr::width);
            let longest = words.max().unwrap_or(0);
            assert!(line.width() <= 80 || longest > 60, "{arguments}: {line}");
        }
    }
    let table = on_a_terminal("list uses");
    for word in ["case-sensitive", "shared-mmap", "build-machine", "stream-write"] {
        assert!(table.contains(word), "{word}:\n{table}");
    }
}

#[test]
fn doctor_starts_with_the_package_of_a_missing_emulator() {
    let home = tempfile::tempdir().unwrap();
    let mut command = fsarena(home.path(), &["doctor"]);
    let output = command.env("PATH", "/nowhere").output().unwrap();
    let told = text(&output.stdout);
    let first = told.lines().next().unwrap_or_default();
    assert!(first.contains("apt-get install qemu-system-x86"), "{told}");
}

const JSON_DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");

#[test]
fn the_json_of_every_command_is_documented() {
    let document = fs::read_to_string(JSON_DOCUMENT).unwrap();
    // The other groups have one section, or no output.
    let without = ["study", "disk", "cluster", "tool", "tool completions", "tool man"];
    let is_described = |name: &&String| {
        let is_below = ["trace ", "guest ", "survive "].iter().any(|group| name.starts_with(group));
        !is_below && !without.contains(&name.as_str())
    };
    let commands = every_command();
    for name in commands.iter().filter(is_described) {
        let heading = format!("\n## fsarena {name}\n");
        assert!(document.contains(&heading), "docs/json.md does not describe {name}");
    }
    assert!(commands.len() > 30, "{commands:?}");
}

/// Returns the names of all commands and groups, as the headings of the manual page.
fn every_command() -> Vec<String> {
    let page = said(&["tool", "man"]);
    let headings = page.lines().filter_map(|line| line.strip_prefix(".SH \"FSARENA "));
    headings.map(|heading| heading.trim_end_matches('"').to_lowercase()).collect()
}

/// Returns the names in code style of the document line that begins with a text.
fn documented(begin: &str) -> Vec<String> {
    let document = fs::read_to_string(JSON_DOCUMENT).unwrap();
    let line = document.lines().find(|line| line.starts_with(begin));
    let line = line.unwrap_or_else(|| panic!("docs/json.md has no line `{begin}`"));
    let names = line[begin.len()..].split('`').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

#[test]
fn lists_have_the_fields_that_are_documented() {
    for what in ["filesystems", "profiles", "studies", "uses", "disks", "ages", "machines"] {
        let list = json(&["list", what, "--json"]);
        for field in documented(&format!("| `{what}` |")) {
            let text = list.to_string();
            let is_field = !field.starts_with(char::is_uppercase);
            let is_there = text.contains(&format!("\"{field}\":"));
            assert!(is_there || !is_field, "{what} have no {field}");
        }
        let fields = list[0].as_object().unwrap().keys();
        let told = documented(&format!("| `{what}` |"));
        for field in fields {
            assert!(told.contains(field), "{what}: {field} is not documented");
        }
    }
}

#[test]
fn every_list_exists_as_text_and_as_json() {
    assert!(said(&["list"]).contains("\next4 "));
    let long = said(&["list", "--long"]);
    let jfs = long.split("\n\n").find(|entry| entry.starts_with("jfs: "));
    let jfs = jfs.expect("each filesystem has a paragraph");
    for fact in ["OS/2", "Linux, OS/2", "GRUB", "4 PiB", "(D. Vadala, "] {
        assert!(jfs.contains(fact), "{fact}: {jfs}");
    }
    assert!(said(&["list", "suites"]).contains("\nlifecycle "));
    assert!(said(&["list", "profiles"]).contains("\nstudy "));
    let names = json(&["list", "--json"]);
    let names: Vec<_> = names.as_array().unwrap().iter().map(|f| &f["name"]).collect();
    assert!(names.contains(&&Value::from("hpfs386")), "no row is omitted");
    assert!(json(&["list", "suites", "--json"])["study"].is_array());
    assert_eq!(json(&["list", "profiles", "--json"])[0]["name"], "smoke");
    assert_eq!(json(&["list", "campaigns", "--json"]), Value::Array(vec![]));
}

#[test]
fn user_catalog_is_listed_and_examined() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine.toml");
    let entry = include_str!("../../../../catalog/filesystems/ext2.toml");
    fs::write(file, entry.replace("\"ext2\"", "\"mine\"").replace("mke2fs", "mkfs.mine")).unwrap();
    let catalog = directory.path().to_str().unwrap();
    assert!(said(&["--catalog", catalog, "list"]).contains("\nmine "));
    let verdicts = json(&["--catalog", catalog, "doctor", "--json"]);
    let mine = verdicts.as_array().unwrap().iter().find(|v| v["contender"] == "mine").unwrap();
    assert_eq!(mine["backends"]["dir"]["verdict"], "runs");
    // No package contains it, so guests do not have its program.
    assert_eq!(mine["backends"]["vm"]["verdict"], "missing");
}

#[test]
fn the_doctor_has_a_word_for_every_filesystem() {
    let table = said(&["doctor"]);
    for filesystem in json(&["list", "--json"]).as_array().unwrap() {
        let name = filesystem["name"].as_str().unwrap();
        let row = table.lines().find(|l| l.split(' ').next() == Some(name)).expect(name);
        let word = row.split_whitespace().nth(1).unwrap();
        assert!(["runs", "missing", "impossible"].contains(&word), "{row}");
    }
}

#[test]
fn packages_are_one_line_of_names() {
    let line = said(&["doctor", "--packages"]);
    assert_eq!(line.matches('\n').count(), 1);
    let allowed = |c: char| c.is_ascii_alphanumeric() || "+-. \n".contains(c);
    assert!(line.chars().all(allowed), "{line}");
}

#[test]
fn completions_and_the_manual_know_every_option() {
    for shell in ["bash", "zsh", "fish"] {
        let script = said(&["tool", "completions", shell]);
        assert!(script.contains("stall-timeout") && script.contains("doctor"), "{shell}");
    }
    let page = said(&["tool", "man"]);
    assert!(page.contains("\\-\\-stall\\-timeout") && page.contains(".SH \"FSARENA RUN\""));
}

#[test]
fn closed_pipe_ends_the_program_quietly() {
    let home = tempfile::tempdir().unwrap();
    for arguments in [
        vec!["list", "--json"],
        vec!["doctor"],
        vec!["tool", "man"],
        vec!["tool", "completions", "bash"],
        vec!["--help"],
    ] {
        let mut child = fsarena(home.path(), &arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut complaint = String::new();
        child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments:?}: {complaint}");
        assert_eq!(complaint, "", "{arguments:?}");
    }
}

#[test]
fn piped_output_has_no_colours() {
    for arguments in [["list"], ["doctor"], ["--help"]] {
        assert!(!said(&arguments).contains('\u{1b}'), "{arguments:?}");
    }
}

#[test]
fn errors_are_json_with_json_option() {
    for arguments in [vec!["--json", "show"], vec!["--json", "run", "--rounds", "0"]] {
        let output = run(&arguments);
        let event: Value = serde_json::from_slice(&output.stderr).expect("a line of JSON");
        assert_eq!(event["event"], "error", "{arguments:?}");
    }
}

/// Earlier versions reported this only after all downloads, or once for each of 34 filesystems.
#[test]
fn without_an_emulator_guests_are_refused_in_one_line_before_anything_is_fetched() {
    for arguments in [&["guest", "build"][..], &["run", "--backend", "vm", "--dry-run"]] {
        let home = tempfile::tempdir().unwrap();
        let cache = home.path().join("cache");
        let mut command = fsarena(home.path(), arguments);
        command.env("PATH", "/nowhere").env("XDG_CACHE_HOME", &cache);
        let output = command.output().unwrap();
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        assert!(complaint.contains("apt-get install qemu-system-x86"), "{complaint}");
        assert!(!cache.exists(), "{arguments:?}");
    }
}

/// A guest takes minutes to download and to build, so names are checked before. The cache here cannot
/// be used, so a guest would be an error of its own.
#[test]
fn names_are_checked_before_a_guest_is_built() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("in-the-way"), "").unwrap();
    let place = home.path().to_str().unwrap();
    for (arguments, cause) in [
        (vec!["guest", "shell", "nope"], "nope"),
        (vec!["guest", "selftest", "nope"], "nope"),
        (vec!["run", "--backend", "vm", "-c", "nope"], "nope"),
        (vec!["cluster", "plan", "--backend", "vm", "-c", "ext4", "-o", place], "is not empty"),
    ] {
        let mut command = fsarena(home.path(), &arguments);
        let output = command.env("XDG_CACHE_HOME", "/proc/no/cache").output().unwrap();
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {complaint}");
        assert!(complaint.contains(cause), "{arguments:?}: {complaint}");
    }
}

#[test]
fn a_worker_asks_for_an_entry_or_for_all() {
    let output = run(&["cluster", "work", "/nowhere"]);
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("--index") && complaint.contains("--all"), "{complaint}");
}

#[test]
fn verdicts_filter_the_claims_of_all_studies() {
    let partly = said(&["study", "claims", "--verdict", "partly"]);
    assert_eq!(partly, said(&["study", "claims", "all", "--verdict", "partly"]));
    assert!(partly.contains("partly") && partly != said(&["study", "claims"]), "{partly}");
}
