//! A study is replicated in guests at small size and compared with its published results.

use std::fs;

use end_to_end::{Sandbox, program, run};
use serde_json::Value;

#[test]
fn a_study_is_run_again_in_small_and_its_claims_are_judged_twice() {
    let sandbox = Sandbox::new();
    let page = sandbox.path("then-and-now.html");
    let replicate = |words: &[&str]| {
        let mut command = sandbox.fsarena();
        command
            .env("XDG_CACHE_HOME", program::cache())
            .args(["study", "replicate", "debian-file-server-2006"])
            .args(words);
        run(&mut command)
    };
    let small = ["--profile", "smoke", "--backend", "vm", "-c", "ext3", "-c"];
    let said = replicate(&[&small[..], &["xfs", "--json"]].concat()).assert_code(0);
    // Events precede the answer, one per line.
    let answer = said.stdout.find("\n{\n").expect("an answer");
    let said: Value = serde_json::from_str(&said.stdout[answer..]).unwrap();
    let twice = &said["then_and_now"];
    let figures = twice["figures"].as_array().unwrap();
    let copied = figures
        .iter()
        .find(|figure| figure["path"] == "large_file/copy/elapsed")
        .expect("both copied a large file then and now");
    let names = copied["contenders"].as_array().unwrap().iter();
    let both = names.filter(|one| !one["now"]["ratio"].is_null());
    let both: Vec<&str> = both.filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(both, ["ext3", "xfs"]);
    let claims = twice["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 40);
    let verdict = |id: &str, side: &str| {
        let mut all = claims.iter();
        let claim = all.find(|one| one["claim"]["id"] == id).unwrap();
        claim[side]["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(verdict("df-35", "then"), "supported");
    // A journal of 64 MiB takes an eighth of this small volume, which does not apply to a volume of
    // 20 GB.
    assert_eq!(verdict("df-35", "now"), "undecidable");
    assert_eq!(verdict("df-25", "now"), "undecidable");
    let shown = replicate(&["--campaign", "1", "-o", page.to_str().unwrap()]).assert_code(0);
    let first = shown.stdout.lines().next().unwrap();
    assert!(first.starts_with("debian-file-server-2006 (2006) compared with campaign 1."));
    assert!(first.contains("claims"), "{first}");
    let page = fs::read_to_string(page).unwrap();
    assert!(
        page.contains("XFS gives the highest capacity.") && page.contains("class=\"chart slopes\"")
    );
    // Invalid requests are refused before any cell runs.
    let refused = replicate(&["--campaign", "9"]).assert_code(2);
    assert_eq!(refused.stderr.lines().count(), 1, "{}", refused.stderr);
    let refused = replicate(&["-s", "data"]).assert_code(2);
    assert!(refused.stderr.contains("own suites"), "{}", refused.stderr);
}
