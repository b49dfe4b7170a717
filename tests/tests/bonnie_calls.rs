//! Compares suite `bonnie` in profile study with `bonnie++ -b`: both must ask the kernel to write
//! data in the same way in each phase. Both programs are traced, and their calls are counted.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use end_to_end::{Sandbox, run};

/// Number of files in each part with many files: `-n 1` means 1024.
const FILES: u64 = 1024;

/// Number of processes or threads that seek at the same time, in both programs.
const SEEKERS: u64 = 5;

/// Size of a block in the trace of both programs.
const BLOCK: &str = ", 8192";

/// Number of calls of each kind in a section of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Calls {
    fsyncs: u64,
    blocks_written: u64,
}

impl Calls {
    fn count(&mut self, line: &str) {
        let call = line.split_whitespace().nth(1).unwrap_or_default();
        if call.starts_with("fsync(") {
            self.fsyncs += 1;
        }
        let writes = call.starts_with("write(") || call.starts_with("pwrite64(");
        if writes && line.contains(BLOCK) {
            self.blocks_written += 1;
        }
    }
}

/// Runs the program under strace. Returns its calls and those of its children, one per line, in
/// order.
fn traced(command: &Command, calls: &str, into: &Path) -> String {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-s", "256", "-e", calls, "-o"]);
    strace.arg(into).arg(command.get_program());
    strace.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    run(&mut strace).assert_code(0);
    fs::read_to_string(into).expect("strace has written what it saw")
}

/// Returns the calls of fsarena's agent in each phase. The agent reports when a phase begins. Seeks
/// are those of all threads; any other phase is that of the thread with the most calls, because
/// other processes of fsarena write blocks of results at any time.
fn of_fsarena(trace: &str) -> BTreeMap<String, Calls> {
    let mut phases: BTreeMap<String, BTreeMap<&str, Calls>> = BTreeMap::new();
    let mut phase = String::new();
    for line in trace.lines() {
        if line.contains(r#"\"begin\",\"step\":\""#) && line.contains(" write(") {
            let step = line.split(r#"\"step\":\""#).nth(1).unwrap_or_default();
            phase = step.split('\\').next().unwrap_or_default().to_owned();
        }
        let one = if phase == "seek" { "all" } else { process(line).unwrap_or_default() };
        phases.entry(phase.clone()).or_default().entry(one).or_default().count(line);
    }
    let most = |calls: &Calls| calls.fsyncs + calls.blocks_written;
    let of_phase = |(phase, threads): (String, BTreeMap<&str, Calls>)| {
        Some((phase, threads.into_values().max_by_key(most)?))
    };
    phases.into_iter().filter_map(of_phase).collect()
}

/// Returns the number of the process that made a call.
fn process(line: &str) -> Option<&str> {
    line.split_whitespace().next()
}

/// Returns the non-empty groups of calls of bonnie++'s first process between readings of its
/// clocks, and the calls of the seekers, its other processes.
fn of_bonnie(trace: &str) -> (Vec<Calls>, Calls) {
    let (mut parts, mut seekers) = (vec![Calls::default()], Calls::default());
    let first = process(trace);
    for line in trace.lines() {
        if process(line) != first {
            seekers.count(line);
        } else if line.contains("getrusage(") {
            parts.push(Calls::default());
        } else if let Some(part) = parts.last_mut() {
            part.count(line);
        }
    }
    parts.retain(|part| *part != Calls::default());
    (parts, seekers)
}

/// Returns profile study with a smaller file and fewer files, and each phase once.
fn small_study() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../catalog/suites/bonnie.toml");
    let text = fs::read_to_string(file).expect("the suite exists");
    let replaced = |text: String, from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    };
    let text = replaced(text, "study = \"2200 MiB\"", "study = \"64 MiB\"");
    let text = replaced(text, "study = \"2000 MiB\"", "study = \"32 MiB\"");
    let text = replaced(text, "study = \"1 GiB\"", "study = \"64 MiB\"");
    let text = replaced(text, "study = 512_000", &format!("study = {FILES}"));
    replaced(text, "[[test.phase]]", "[[test.phase]]\nrepeat = false")
}

#[test]
fn each_phase_of_suite_bonnie_syncs_as_bonnie_does_with_b() {
    let sandbox = Sandbox::new();
    sandbox.add_suite("bonnie", &small_study());
    let mut ours = sandbox.campaign(&["ext4"], "bonnie");
    ours.args(["--profile", "study", "--size", "128MiB"]);
    let calls = "trace=write,pwrite64,fsync";
    let ours = of_fsarena(&traced(&ours, calls, &sandbox.path("ours.trace")));

    let directory = sandbox.path("bonnie");
    fs::create_dir(&directory).expect("a sandbox is writable");
    let mut bonnie = Command::new("bonnie++");
    bonnie.arg("-d").arg(&directory);
    bonnie.args("-s 32M -r 16M -n 1 -u root -f -b -q -m x".split(' '));
    let calls = "trace=write,fsync,getrusage";
    let (parts, seekers) = of_bonnie(&traced(&bonnie, calls, &sandbox.path("bonnie.trace")));

    let blocks = ["write", "rewrite", "read"];
    let files = ["create-seq", "delete-seq", "create-random", "delete-random"];
    // Before the phases, bonnie++ checks that the filesystem can be synced. Before the seekers
    // start, it closes the file, which is not part of a phase of fsarena.
    let [_, theirs @ ..] = &parts[..] else { panic!("{parts:?}") };
    let (of_blocks, [_, of_files @ ..]) = theirs.split_at(blocks.len()) else {
        panic!("{parts:?}")
    };
    assert_eq!(of_files.len(), files.len(), "{parts:?}");
    let phases = blocks.iter().zip(of_blocks).chain(files.iter().zip(of_files));
    for (name, theirs) in phases {
        assert_eq!(ours[*name], *theirs, "{name}: ours and bonnie++'s");
    }
    for (who, seeks) in [("fsarena", ours["seek"]), ("bonnie++", seekers)] {
        assert!(seeks.blocks_written > 0, "{who} wrote no block back");
        assert_eq!(seeks.fsyncs, seeks.blocks_written + SEEKERS, "{who}");
    }
    assert_eq!(ours["create-seq"].fsyncs, 2 * FILES);
    assert_eq!(ours["delete-random"].fsyncs, FILES);
}
