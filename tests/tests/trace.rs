//! Traces: operations of a program on one filesystem are imported and replayed on others, and
//! differences are reported.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use end_to_end::{Sandbox, cells_of, run};
use model::{Op, Status};
use serde_json::Value;

/// Typical file operations: directories, copies, links, renames, two parallel processes, an error.
const SCRIPT: &str = "set -e
mkdir -p a/b/c
echo hello >a/b/f
cat a/b/f >>a/g
ln -s g a/link
mv a/g a/h
(cd a/b; cp f k; ls >/dev/null; chmod 600 k; rm f) &
dd if=/dev/zero of=z bs=4096 count=20 conv=fsync 2>/dev/null
wait
ln a/h a/hh
truncate -s 5000 a/h
touch -d 2001-01-01 a/h
rmdir a/b 2>/dev/null || true
mv a/b d
cat d/k d/k >d/twice
";

impl Steps for Sandbox {
    fn import(&self, text: &str) -> PathBuf {
        let (log, trace) = (self.path("log"), self.path("t.trace"));
        fs::write(&log, text).unwrap();
        let mut import = self.fsarena();
        import.args(["trace", "import", "--below", "/w", "-o"]).arg(&trace).arg(&log);
        run(&mut import).assert_code(0);
        trace
    }

    fn replay(&self, contenders: &[&str]) -> Command {
        let mut command = self.fsarena();
        command.args(["trace", "replay"]).arg(self.path("t.trace"));
        command.args(["--size", "320MiB", "--rounds", "1", "--seed", "1", "--work-dir"]);
        command.arg(self.path("work"));
        for contender in contenders {
            command.args(["-c", contender]);
        }
        command
    }
}

trait Steps {
    /// Imports a trace from strace output.
    fn import(&self, text: &str) -> PathBuf;
    /// Returns a replay of this trace, for further arguments.
    fn replay(&self, contenders: &[&str]) -> Command;
}

#[test]
fn operations_traced_on_tmpfs_are_replayed_on_ext4_and_xfs() {
    let sandbox = Sandbox::new();
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let (log, trace) = (sandbox.path("log"), sandbox.path("t.trace"));
    let mut strace = Command::new("strace");
    strace.args(["-f", "-ttt", "-T", "-y", "-s", "256", "-o"]).arg(&log);
    strace.args(["sh", "-c", SCRIPT]).current_dir(place.path());
    assert!(strace.status().unwrap().success());
    let mut import = sandbox.fsarena();
    import.args(["trace", "import", "--below"]).arg(place.path());
    run(import.arg("-o").arg(&trace).arg(&log)).assert_code(0);

    let shown =
        run(sandbox.fsarena().args(["trace", "show", "--json"]).arg(&trace)).assert_code(0).stdout;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let summary = &shown["summary"];
    assert_eq!(summary["calls"]["rename"], 2);
    assert_eq!(summary["calls"]["fsync"], 1);
    assert!(summary["failed"].as_u64().unwrap() > 0, "{summary}");
    let operations = summary["operations"].as_u64().unwrap();
    assert!(shown["size"].as_u64().unwrap() < 20 * operations);

    run(&mut sandbox.replay(&["ext4", "xfs"])).assert_code(0);
    let results = sandbox.results();
    for contender in ["ext4", "xfs"] {
        let cell = cells_of(&results, contender)[0];
        let phase = &cell.phases[0];
        assert_eq!(phase.status, Status::Ok, "{:?}", phase.failure);
        assert_eq!(phase.operations, operations, "each operation is done once");
        assert_eq!(phase.bytes_written.0, summary["written"].as_u64().unwrap());
    }
    let Op::Replay(replay) = &results.campaign.suites[0].tests[0].phases[0].op else {
        panic!("{:?}", results.campaign.suites);
    };
    assert_eq!(replay.facts.as_ref().unwrap().sha256, shown["sha256"].as_str().unwrap());
    assert_eq!(replay.data, None, "a campaign keeps the digest, and not the file");
    sandbox.assert_clean();
}

/// Only the names differ; everything else is replayed as in the original.
#[test]
fn an_anonymised_trace_is_replayed_as_the_original_from_a_suite() {
    let sandbox = Sandbox::new();
    let trace = sandbox.import(
        "1 1.0 mkdir(\"/w/secret\", 0777) = 0 <0.1>\n1 2.0 symlink(\"secret\", \"/w/link\") = 0 <0.1>\n\
         1 3.0 stat(\"/w/none\", 0x1) = -1 ENOENT (No such file or directory) <0.1>\n",
    );
    let traces = sandbox.path("catalog/traces");
    fs::create_dir_all(&traces).unwrap();
    let mut anonymise = sandbox.fsarena();
    anonymise.args(["trace", "anonymise", "--seed", "1"]).arg(&trace);
    run(anonymise.arg("-o").arg(traces.join("public.trace"))).assert_code(0);
    let suite = |name: &str| {
        format!(
            "name = \"mine\"\ntitle = \"Mine\"\nsource = \"mine\"\n[[test]]\nname = \"mine\"\nrationale = \"A test.\"\n\
             space = \"64 MiB\"\nphase = [{{ name = \"again\", op = \"replay\", trace = \"{name}\", pace = \"scaled\", \
             speed = 100.0 }}]\n"
        )
    };
    sandbox.add_suite("mine", &suite("public"));
    run(&mut sandbox.campaign(&["ext4"], "mine")).assert_code(0);
    let results = sandbox.results();
    let phase = &cells_of(&results, "ext4")[0].phases[0];
    assert_eq!((phase.status, phase.operations), (Status::Ok, 3), "{:?}", phase.failure);
    assert!(phase.elapsed.0 >= 20_000_000, "two seconds at a hundredth: {}", phase.elapsed);
    sandbox.add_suite("mine", &suite("nothing"));
    let refused = run(&mut sandbox.campaign(&["ext4"], "mine")).assert_code(2);
    assert!(refused.stderr.contains("there is no trace `nothing`"), "{}", refused.stderr);
    sandbox.assert_clean();
}

#[test]
fn damaged_and_invalid_traces_are_refused() {
    let sandbox = Sandbox::new();
    let trace = sandbox.import("1 1.0 mkdir(\"/w/d\", 0777) = 0 <0.1>\n");
    let mut bytes = fs::read(&trace).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&trace, bytes).unwrap();
    let refused = run(&mut sandbox.replay(&["ext4"])).assert_code(2);
    assert!(refused.stderr.contains("the trace is damaged"), "{}", refused.stderr);
    fs::write(&trace, "hello").unwrap();
    let refused = run(sandbox.fsarena().args(["trace", "show"]).arg(&trace)).assert_code(2);
    assert!(refused.stderr.contains("is not a trace of fsarena"), "{}", refused.stderr);
    let mut import = sandbox.fsarena();
    import.args(["trace", "import", "-o"]).arg(sandbox.path("x")).arg(&trace);
    let refused = run(&mut import).assert_code(2);
    assert!(refused.stderr.contains("line 1: "), "{}", refused.stderr);
    let pipe = sandbox.path("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let refused = run(sandbox.fsarena().args(["trace", "show"]).arg(&pipe)).assert_code(2);
    assert!(refused.stderr.ends_with("; name a regular file\n"), "{}", refused.stderr);
}

/// An empty trace must not replace an existing one.
#[test]
fn a_command_without_file_operations_leaves_no_trace() {
    let sandbox = Sandbox::new();
    let (below, trace) = (sandbox.path("below"), sandbox.path("kept.trace"));
    fs::create_dir(&below).unwrap();
    fs::write(&trace, "before").unwrap();
    let mut record = sandbox.fsarena();
    record.args(["trace", "record", "-o"]).arg(&trace);
    record.arg("--below").arg(&below).args(["--", "true"]);
    let refused = run(&mut record).assert_code(2);
    assert!(refused.stderr.contains("is not written"), "{}", refused.stderr);
    assert_eq!(fs::read(&trace).unwrap(), b"before");
}

#[test]
fn a_different_result_of_an_operation_is_a_failure_that_names_it() {
    let sandbox = Sandbox::new();
    sandbox.import(
        "1 1.0 mkdir(\"/w/d\", 0777) = 0 <0.1>\n1 2.0 rmdir(\"/w/d\") = -1 EBUSY (Device or resource busy) <0.1>\n",
    );
    run(&mut sandbox.replay(&["ext4"])).assert_code(0);
    let results = sandbox.results();
    let phase = &cells_of(&results, "ext4")[0].phases[0];
    let failure = phase.failure.as_ref().unwrap();
    assert_eq!(phase.status, Status::Failed);
    assert_eq!(failure.reason, "operation 2 of the trace, rmdir of d: success instead of EBUSY");
    sandbox.assert_clean();
}

/// A missing feature is not a failure: in this test, files that share their space.
#[test]
fn missing_features_of_a_filesystem_are_unsupported() {
    let sandbox = Sandbox::new();
    sandbox.import(
        "1 1.0 open(\"/w/a\", O_RDWR|O_CREAT|O_EXCL, 0644) = 3</w/a> <0.1>\n\
         1 2.0 open(\"/w/b\", O_RDWR|O_CREAT|O_EXCL, 0644) = 4</w/b> <0.1>\n\
         1 3.0 ioctl(4</w/b>, FICLONE, 3</w/a>) = 0 <0.1>\n",
    );
    run(&mut sandbox.replay(&["ext4", "xfs"])).assert_code(0);
    let results = sandbox.results();
    let of = |contender| &cells_of(&results, contender)[0].phases[0];
    assert_eq!(of("xfs").status, Status::Ok, "{:?}", of("xfs").failure);
    let refused = of("ext4");
    assert_eq!(refused.status, Status::Unsupported, "{:?}", refused.failure);
    let reason = &refused.failure.as_ref().unwrap().reason;
    assert!(reason.starts_with("clone: EOPNOTSUPP"), "{reason}");
    sandbox.assert_clean();
}

/// One trace is of mail and uses `mv` without replacing. NTFS-3G does not support this rename flag,
/// so the replay uses the fallback of `mv`.
#[test]
fn built_in_traces_are_made_by_one_command_and_replayed_by_a_suite() {
    let sandbox = Sandbox::new();
    let refused = run(&mut sandbox.campaign(&["ext4"], "traces/mail")).assert_code(2);
    let first = refused.stderr.lines().next().unwrap_or_default();
    assert!(
        first.ends_with("there is no trace `mail` yet: `sudo fsarena trace make mail` records it"),
        "{first}"
    );
    let refused = run(&mut sandbox.campaign(&["ext4"], "traces")).assert_code(2);
    let all = refused.stderr.lines().next().unwrap_or_default();
    assert!(all.contains("`git`, ") && all.contains("`sudo fsarena trace make "), "{all}");
    fs::write(sandbox.path("file"), "").unwrap();
    let mut make = sandbox.fsarena();
    let refused = run(make.args(["trace", "make", "mail", "--into"]).arg(sandbox.path("file")))
        .assert_code(2);
    assert!(
        refused.stderr.ends_with("name another one\n"),
        "before it records: {}",
        refused.stderr
    );
    let mut make = sandbox.fsarena();
    let made = run(make.args(["trace", "make", "mail", "git"])).assert_code(0);
    let shown = run(sandbox.fsarena().args(["trace", "show", "mail"])).assert_code(0);
    assert!(shown.stdout.contains("rename"), "{}", shown.stdout);
    assert!(made.stdout.contains("\nmail "), "{}", made.stdout);
    let mut campaign = sandbox.campaign(&["ext4", "ntfs-3g"], "traces/git");
    run(campaign.args(["--suite", "traces/mail"])).assert_code(0);
    let results = sandbox.results();
    for contender in ["ext4", "ntfs-3g"] {
        let cells = cells_of(&results, contender);
        assert_eq!(cells.len(), 2);
        for cell in cells {
            let phase = &cell.phases[0];
            assert_eq!(phase.status, Status::Ok, "{contender}: {:?}", phase.failure);
            assert!(phase.operations > 4000, "{}", phase.operations);
        }
    }
    sandbox.assert_clean();
}
