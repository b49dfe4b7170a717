//! A guard over a list of versions: finds the first worse version with as few guests in virtual
//! time as possible.

use std::fs;
use std::process::Command;

use end_to_end::{Sandbox, program, run};
use serde_json::Value;

/// Versions of the defaults of mkfs and mount. From the fourth, ext4 has a journal again; the last
/// writes all data to the journal first.
const VERSIONS: &str = r#"
profile = "smoke"
contenders = [
  { name = "v1", filesystem = "ext4", mkfs_options = ["-O", "^has_journal"] },
  { name = "v2", filesystem = "ext4", mkfs_options = ["-O", "^has_journal"], mount_options = ["noatime"] },
  { name = "v3", filesystem = "ext4", mkfs_options = ["-O", "^has_journal"], mount_options = ["lazytime"] },
  { name = "v4", filesystem = "ext4", mount_options = ["lazytime"] },
  { name = "v5", filesystem = "ext4", mount_options = ["noatime", "lazytime"] },
  { name = "v6", filesystem = "ext4" },
  { name = "v7", filesystem = "ext4", mount_options = ["data=journal"] },
]
"#;

fn guard(sandbox: &Sandbox, words: &[&str]) -> Command {
    let mut command = sandbox.fsarena();
    command
        .args(["guard", "--suite", "durable", "--jobs", "1"])
        .arg("--work-dir")
        .arg(sandbox.path("work"))
        .args(words)
        .env("XDG_CACHE_HOME", program::cache());
    command
}

#[test]
fn a_guard_over_a_list_finds_the_change_and_runs_no_cell_twice() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("versions.toml");
    fs::write(&file, VERSIONS).unwrap();
    let list = ["v1", "v2", "v3", "v4", "v5", "v6", file.to_str().unwrap()];
    // The journal costs half of the speed. A task of the kernel within the 16 ms of the phase costs
    // 6 %, and whether it runs there depends on each instruction before.
    let only = ["--only", "durable/create-fsync", "--threshold", "20%"];
    let ended = run(guard(&sandbox, &list).args(only)).assert_code(1);
    let text = ended.stdout.replace('\n', " ");
    let answer = "First worse: v4 (4 of 6 versions run): durable/create-fsync costs";
    assert!(text.starts_with(answer), "{text}");
    let changed = "Changes from v3 to v4: mkfs options -O ^has_journal removed.";
    assert!(text.contains(changed), "{text}");
    assert!(text.contains("of metadata and journal against"), "{text}");
    // With all cells stored, the same command starts no guest and gives the same answer.
    let again = run(guard(&sandbox, &list).args(only).arg("--json")).assert_code(1);
    // The result follows the events, which are one line each.
    let (_, found) = again.stdout.split_once("\n{\n").unwrap();
    let found: Value = serde_json::from_str(&format!("{{{found}")).unwrap();
    assert_eq!(found["between"], serde_json::json!([2, 3]));
    let seen = found["versions"].as_array().unwrap().iter();
    let seen: Vec<&str> = seen.map(|version| version["seen"].as_str().unwrap()).collect();
    let all = ["not-worse", "not-run", "not-worse", "worse", "not-run", "worse"];
    assert_eq!(seen, all);
    let means = found["step"]["changes"][0]["means"].as_array().unwrap();
    assert!(means[0].as_f64() > means[1].as_f64(), "files a second: {found}");
    // If all remaining versions are not worse, guard runs the first and the last one.
    let better = ["v4", "v5", "v6", file.to_str().unwrap()];
    let ended = run(guard(&sandbox, &better).args(only)).assert_code(0);
    assert!(ended.stdout.starts_with("Not worse: "), "{}", ended.stdout);
    // Differences in processor time are explained by kernel functions. v6 differs from v4 by up to
    // 20 %, and v7 costs half more than v4 and nearly twice as much as v6.
    let small = ["v4", "v6", "v7", file.to_str().unwrap()];
    let only = ["--only", "durable/prepare-pages", "--threshold", "30%"];
    let ended = run(guard(&sandbox, &small).args(only)).assert_code(1);
    let text = ended.stdout.replace('\n', " ");
    for told in
        ["First worse: v7", "CPU of the kernel +", "In functions of the kernel, in themselves: "]
    {
        assert!(text.contains(told), "{told}: {text}");
    }
    sandbox.assert_clean();
}

#[test]
fn an_invalid_list_is_refused_in_one_line_before_any_cell_runs() {
    let sandbox = Sandbox::new();
    let refused = |words: &[&str], code: i32, told: &str| {
        let ended = run(&mut guard(&sandbox, words)).assert_code(code);
        assert!(ended.stderr.contains(told), "{words:?}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    };
    refused(&["ext4"], 2, "a guard compares two contenders or more");
    refused(&["ext4", "--over", "6.1"], 2, "lists only one version");
    refused(&["ext4", "xfs", "--over", "6.1,6.12"], 2, "name one, not 2");
    refused(&["ext4", "--over", "6.1,nowhere"], 2, "give a release of Debian's kernel");
    refused(&["ext4", "--over", "6.1,6.99"], 3, "apt has no kernel 6.99");
    let root = sandbox.path("catalog");
    let empty = format!("6.1,{}", root.display());
    refused(&["ext4", "--over", &empty], 2, "there is no kernel");
    let real = ["ext4", "xfs", "jfs", "--backend", "loop"];
    refused(&real, 2, "is searched in virtual time");
    refused(&["ext4", "xfs", "ext4"], 2, "the version `ext4` is named twice");
    refused(&["ext4", "xfs", "exxt"], 2, "there is no filesystem `exxt`");
    sandbox.assert_clean();
}
