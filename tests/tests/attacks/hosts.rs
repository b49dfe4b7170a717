//! Hosts that answer without end, or not at all. The host is a script in place of ssh.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use end_to_end::{CommandOutput, Sandbox, run};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::stopwatch::Stopwatch;

/// Promised time from a signal to the end.
const PROMISE: Duration = Duration::from_secs(2);
/// Memory of an orchestrator, in KiB: much more than it needs, and much less than a flood has.
const MEMORY: u32 = 2_000_000;

/// Creates a script in place of ssh. It runs commands on this machine, except one whose words match
/// the pattern of the attack.
fn host(sandbox: &Sandbox, pattern: &str, attack: &str) -> PathBuf {
    let (bin, reached) = (sandbox.path("bin"), sandbox.path("reached"));
    let cache = sandbox.path("far");
    for directory in [&bin, &cache] {
        fs::create_dir_all(directory).unwrap();
    }
    let script = format!(
        "#!/bin/sh\nfor command; do :; done\nexport XDG_CACHE_HOME={cache}\ncase \"$*\" in\n{pattern}) echo >{reached}; {attack};;\nesac\n\
         case \"$*\" in *'-O check'*) exit 1;; *'-O '*|*ControlMaster=yes*) exit 0;; esac\n\
         exec sh -c \"$command\"\n",
        reached = reached.display(),
        cache = cache.display()
    );
    fs::write(bin.join("ssh"), script).unwrap();
    fs::set_permissions(bin.join("ssh"), fs::Permissions::from_mode(0o755)).unwrap();
    bin
}

/// Returns a campaign on the host, in limited memory.
fn campaign(sandbox: &Sandbox, pattern: &str, attack: &str) -> Command {
    let bin = host(sandbox, pattern, attack);
    let mut campaign = sandbox.campaign(&["tmpfs"], "trial");
    campaign.args(["--host", "far"]);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"")]);
    command.arg(campaign.get_program()).args(campaign.get_args());
    for (name, value) in campaign.get_envs().filter_map(|(name, value)| Some((name, value?))) {
        command.env(name, value);
    }
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", bin.display())).stdin(Stdio::null());
    command
}

/// Commands of the campaign on its host.
const AGENT: &str = "*'agent --machine'*";
const QUESTION: &str = "*'uname -sm'*";
const LOGIN: &str = "*ControlMaster=yes*";

#[test]
fn a_host_that_answers_without_end_is_dropped_with_one_line() {
    // The agent itself, until it holds the resources of the campaign.
    let flood = "sh -c \"$command\" | while read -r line; do printf '%s\\n' \"$line\"; case \"$line\" in \
                 *'\"answer\":\"held\"'*) exec yes '{\"answer\":\"note\",\"with\":\"x\"}';; esac; done; exit 0";
    for (pattern, attack, told) in [
        (QUESTION, "exec yes", "cannot read the output of far: it is longer than 64 KiB"),
        (QUESTION, "printf '%060000d' 0; exit", "0, and this program is for Linux x86_64"),
        (AGENT, "exec cat /dev/zero", "a line is longer than 64 MiB"),
        (AGENT, flood, "more than 100 lines per second"),
    ] {
        let sandbox = Sandbox::new();
        let ended = run(&mut campaign(&sandbox, pattern, attack)).assert_code(3);
        let said = ended.stderr.lines().filter(|line| line.contains(told)).count();
        assert_eq!(said, 1, "{attack}: {}", ended.stderr);
        assert!(ended.stderr.lines().all(|line| line.len() < 500), "{}", ended.stderr);
    }
}

/// A host that greeted wrongly blocked the command for the time that agents have for their cleanup.
#[test]
fn a_host_that_greets_wrongly_is_dropped_at_once() {
    let hello =
        |version| format!("echo '{{\"answer\":\"hello\",\"with\":{{\"version\":{version}}}}}'");
    for (greeting, told) in [
        (hello("4294967295"), "speaks version 4294967295"),
        (hello("-1e999"), "did not start: no answer"),
        ("head -c 1000000 /dev/zero | tr '\\0' '['; echo".to_owned(), "did not start: no answer"),
        ("head -c 100 /dev/zero; echo".to_owned(), "did not start: no answer"),
    ] {
        let sandbox = Sandbox::new();
        let attack = format!("{greeting}; trap '' TERM; exec sleep 1000");
        let stopwatch = Stopwatch::start();
        let ended = run(&mut campaign(&sandbox, AGENT, &attack)).assert_code(3);
        stopwatch.assert_within(Duration::from_secs(15), &greeting);
        let said = ended.stderr.lines().filter(|line| line.contains(told)).count();
        assert_eq!(said, 1, "{greeting}: {}", ended.stderr);
    }
}

/// Starts a command and waits until it waits for its host.
fn start(sandbox: &Sandbox, command: &mut Command) -> Child {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let reached = sandbox.path("reached");
    end_to_end::slurm::wait_for("the host is asked", || reached.exists(), String::new);
    child
}

/// Sends a signal to the command alone: at a terminal, its group gets Ctrl-C, too.
fn end_by(child: Child, signal: Signal) -> CommandOutput {
    let stopwatch = Stopwatch::start();
    kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
    let ended = CommandOutput::from(child.wait_with_output().unwrap());
    stopwatch.assert_within(PROMISE, signal.as_str());
    ended
}

#[test]
fn signals_end_a_command_that_waits_for_a_host() {
    let hello =
        format!("{{\"answer\":\"hello\",\"with\":{{\"version\":{}}}}}", model::wire::VERSION);
    let drip = "while :; do printf x; sleep 0.01; done";
    let silent = "exec sleep 1000 2>&-";
    for (waits_for, pattern, attack) in [
        ("the login", LOGIN, silent),
        ("the answer to a question", QUESTION, silent),
        ("the end of an answer", QUESTION, drip),
        ("the greeting of an agent", AGENT, silent),
        ("the end of a greeting", AGENT, &format!("printf '%s' '{{\"answer\":'; {silent}")),
        ("the end of an endless line", AGENT, drip),
        ("an agent that is silent", AGENT, &format!("echo '{hello}'; {silent}")),
        ("the end of a reply", AGENT, &format!("echo '{hello}'; printf '{{'; {silent}")),
        ("the end of an endless reply", AGENT, &format!("echo '{hello}'; {drip}")),
    ] {
        for signal in [Signal::SIGINT, Signal::SIGTERM] {
            let sandbox = Sandbox::new();
            let child = start(&sandbox, &mut campaign(&sandbox, pattern, attack));
            let ended = end_by(child, signal);
            assert_eq!(ended.code, Some(130), "{waits_for}, {signal}: {}", ended.stderr);
        }
    }
}

/// The answer for the cell that runs would never come.
#[test]
fn a_host_that_answers_for_another_cell_is_dropped() {
    let sandbox = Sandbox::new();
    let cache = sandbox.path("far");
    let attack = format!(
        "export XDG_CACHE_HOME={}; sh -c \"$command\" | sed -u 's/\"cell\":0/\"cell\":9/'; exit",
        cache.display()
    );
    let ended = run(&mut campaign(&sandbox, AGENT, &attack)).assert_code(3);
    let said = "it answered for cell 9, which does not run";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
}
