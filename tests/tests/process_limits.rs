//! Limits on processes and threads of the user: each missing one is a failed phase or cell with a
//! reason, and never a panic or a hang.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use end_to_end::{CommandOutput, Sandbox, program, results_of, run};
use model::{CellResult, Status};

/// User ID for only this test, because the limit counts all processes of a user.
const USER: u32 = 54_322;

/// A suite in which two phases need eight threads, while the first and the last phase need none.
const CROWD: &str = r#"
name = "crowd"
title = "Many hands"
source = "made for a test"

[[test]]
name = "crowd"
title = "Many hands"
rationale = "Threads are started by two engines."
space = "8 MiB"
phase = [
  { name = "write", op = "write", file = "f", size = "1 MiB", block = "64 KiB", cache = "warm", ends = "fsync" },
  { name = "PHASE", OPERATION, threads = 8, cache = "warm", ends = "call" },
]
"#;
const OPERATIONS: [(&str, &str); 2] = [
    ("read", r#"op = "read", file = "f", block = "64 KiB""#),
    (
        "create",
        r#"op = "create", set = "s", files = 100, directories = 8, size = "4 KiB", order = "random", fsync = false"#,
    ),
];

/// Returns an fsarena command that runs as the user with a limit on processes and threads.
fn limited(sandbox: &Sandbox, most: u32) -> Command {
    let mut command = Command::new("setpriv");
    let user = USER.to_string();
    command
        .args(["--reuid", &user, "--regid", &user, "--clear-groups"])
        .args(["sh", "-c", &format!("ulimit -p {most} && exec \"$@\""), "sh"])
        .arg(program::fsarena())
        .arg("--db")
        .arg(sandbox.path("data/fsarena.db"))
        .arg("--catalog")
        .arg(sandbox.path("catalog"))
        .env_remove("RUST_BACKTRACE")
        .stdin(Stdio::null());
    command
}

/// Returns the only cell of a campaign that the user runs with this limit on processes and threads.
/// Returns `None` if the limit is too low to start, after checking the error message.
fn cell(sandbox: &Sandbox, most: u32) -> Option<(CommandOutput, CellResult)> {
    let mut command = limited(sandbox, most);
    command.args(["run", "--profile", "smoke", "--rounds", "1", "-s", "crowd"]);
    let ended = run(command.arg("--dir").arg(sandbox.path("place")));
    if ended.code == Some(3) {
        let said = &ended.stderr;
        assert!(said.contains("Resource temporarily unavailable"), "{said}");
        let errors = said.lines().filter(|line| line.starts_with("fsarena: "));
        assert_eq!(errors.count(), 1, "{said}");
        return None;
    }
    let ended = ended.assert_code(0);
    let report = ["report", "--format", "json"];
    let mut results = results_of(run(limited(sandbox, 100).args(report)));
    let result = results.cells.remove(0).result.unwrap();
    Some((ended, result))
}

#[test]
fn a_small_stack_and_few_files_are_raised_or_refused_in_one_line() {
    let limited = |words: &[&str], limit: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit {limit} && exec \"$@\""), "sh"]).args(words);
        run(command.arg(program::fsarena()).args(["list", "suites"]))
    };
    let user = USER.to_string();
    let user = ["setpriv", "--reuid", &user, "--regid", &user, "--clear-groups"];
    for (limit, reason) in [
        ("-s 136", "a stack of 136 KiB: raise the limit with `ulimit -s 8192`"),
        ("-s 256", "a stack of 256 KiB: raise the limit with `ulimit -s 8192`"),
        ("-n 10", "10 open files: raise the limit with `ulimit -n 1024`"),
    ] {
        // The soft limit is raised to the hard limit.
        limited(&[], &format!("-S {limit}")).assert_code(0);
        let ended = limited(&user, limit).assert_code(3);
        assert_eq!(ended.stderr, format!("fsarena: cannot run with {reason}\n"));
    }
    limited(&user, "-s 1024").assert_code(0);
    limited(&user, "-n 64").assert_code(0);
}

fn everybody(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_thread_or_process_that_cannot_be_had_is_a_result() {
    let sandbox = Sandbox::new();
    everybody(sandbox.root());
    for name in ["data", "place"] {
        let path = sandbox.path(name);
        fs::create_dir_all(&path).unwrap();
        std::os::unix::fs::chown(&path, Some(USER), Some(USER)).unwrap();
    }
    for (phase, operation) in OPERATIONS {
        let suite = CROWD.replace("PHASE", phase).replace("OPERATION", operation);
        sandbox.add_suite("crowd", &suite);
        let mut failed_phases = 0;
        for most in 1..100 {
            let Some((ended, result)) = cell(&sandbox, most) else {
                continue;
            };
            let Some(failure) = result.failure else {
                assert_eq!(result.status, Status::Ok);
                break;
            };
            assert!(failure.reason.contains("Resource temporarily unavailable"), "{failure:?}");
            assert!(
                !ended.stderr.contains("panic") && !ended.stderr.contains("internal"),
                "{ended:?}"
            );
            let phase = result.phases.iter().find(|p| p.phase == phase).unwrap();
            if phase.status == Status::Failed {
                assert!(failure.reason.starts_with("clone of a thread: EAGAIN"), "{failure:?}");
                failed_phases += 1;
            }
        }
        assert!(failed_phases > 2, "{phase}: {failed_phases}");
        let (_, result) = cell(&sandbox, 100).expect("that is enough");
        assert_eq!(result.status, Status::Ok, "{:?}", result.failure);
    }
}
