//! `fsarena advise` on a real campaign: the reason for each exclusion, and a tie as the answer.

use end_to_end::{DirectoryEntry, Sandbox, run};
use serde_json::Value;

/// A use that weighs the results of suite `trial`, needs hard links, and weighs an untested
/// category.
const USE: &str = r#"
name = "shelf"
title = "A shelf for one file"
source = "made for a test"
rationale = "A file is written and read."

[[need]]
feature = "hard-links"
why = "copies are links"

[[weight]]
group = "stream-write"
parts = 40
why = "it is written once"

[[weight]]
group = "stream-read"
parts = 40
why = "it is read once"

[[weight]]
group = "durable"
parts = 20
why = "nobody knows"
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("catalog/uses")).unwrap();
    std::fs::write(sandbox.path("catalog/uses/shelf.toml"), USE).unwrap();
    sandbox
}

/// Returns the advice in JSON.
fn advice(sandbox: &Sandbox, of_use: &str) -> Value {
    let mut command = sandbox.fsarena();
    command.args(["advise", "--use", of_use, "--json"]);
    let text = run(&mut command).assert_code(0).stdout;
    let mut value: Value = serde_json::from_str(&text).unwrap();
    value["advice"].take()
}

fn words(sandbox: &Sandbox, of_use: &str) -> String {
    let text = run(sandbox.fsarena().args(["advise", "--use", of_use]));
    text.assert_code(0).stdout
}

#[test]
fn excludes_contenders_that_lack_a_feature_or_lose_data() {
    let sandbox = sandbox();
    sandbox.add(&DirectoryEntry::ext4("made"));
    sandbox.add_faulty("linkless", &["no-links"]);
    let mut command = sandbox.campaign(&["made", "linkless"], "trial");
    run(command.args(["--suite", "abilities"])).assert_code(0);
    let text = words(&sandbox, "shelf");
    assert!(text.contains("Take made: all others are ruled out."), "{text}");
    let line = |name: &str| {
        let found = text.lines().find(|l| l.trim_start().starts_with(&format!("{name}: ")));
        found.unwrap_or_else(|| panic!("a line for {name} in {text}")).to_owned()
    };
    assert!(line("linkless").contains("no hard-links ("), "{text}");
    assert!(line("linkless").ends_with("copies are links"), "{text}");
    assert!(text.contains("durable writes: 20 % of the weight (-s "), "{text}");
    assert!(text.contains("The advice rests on 80 % of the weight."), "{text}");
    let all = run(sandbox.fsarena().args(["advise", "--json"])).assert_code(0).stdout;
    let report = run(sandbox.fsarena().args(["report", "--format", "json"])).assert_code(0).stdout;
    let all: Value = serde_json::from_str(&all).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    for answers in [&all["uses"], &report["answers"]] {
        let mut answers = answers.as_array().unwrap().iter();
        let answer = answers.find(|one| one["use"] == "shelf").unwrap()["answer"].as_str().unwrap();
        assert!(text.replace('\n', " ").contains(answer), "{answer}: {text}");
    }
    let advice = advice(&sandbox, "shelf");
    assert_eq!(advice["recommendation"], "only");
    assert_eq!(advice["untested"][0]["group"], "durable");
    assert_eq!(advice["ruled_out"][0]["ruled_out"][0]["feature"], "hard-links");
    let carried = words(&sandbox, "removable");
    assert!(
        carried.contains("made: only Linux reads it: a disk that neither Windows nor macOS reads"),
        "{carried}"
    );
    let stored = words(&sandbox, "nas").replace('\n', " ");
    assert!(stored.contains("Not compared, and with snapshots: "), "{stored}");
    assert!(stored.contains("btrfs"), "{stored}");
    run(&mut sandbox.campaign(&["made", "tmpfs"], "trial")).assert_code(0);
    let text = words(&sandbox, "shelf");
    let baseline = "tmpfs: a baseline, which keeps nothing";
    assert!(text.contains(baseline), "{text}");
    sandbox.assert_clean();
}

#[test]
fn one_round_gives_no_answer_and_an_untested_feature_no_advice() {
    let sandbox = sandbox();
    sandbox.add(&DirectoryEntry::ext4("one"));
    sandbox.add(&DirectoryEntry::ext4("other"));
    run(&mut sandbox.campaign(&["one", "other"], "trial")).assert_code(0);
    let advice = advice(&sandbox, "shelf");
    assert_eq!(advice["recommendation"], "no-advice");
    let bounds = &advice["scores"]["conclusion"]["bounds"];
    assert_eq!(bounds.as_array().unwrap().len(), 2);
    assert!(bounds[0]["at_most"].is_null(), "one round shows no noise: {bounds}");
    let text = words(&sandbox, "shelf");
    let said = text.replace('\n', " ");
    assert!(
        said.contains(
            "No advice, since hard-links was not tested: run the same with `-s lifecycle -s trial`."
        ),
        "{text}"
    );
    assert!(text.contains("Needed, and never tried"), "hard links: {text}");
    sandbox.assert_clean();
}

#[test]
fn a_crash_in_a_required_test_excludes_the_contender() {
    let sandbox = sandbox();
    sandbox.add(&DirectoryEntry::ext4("made"));
    sandbox.add_faulty("mortal", &["die-after=3MiB"]);
    run(&mut sandbox.campaign(&["made", "mortal"], "trial")).assert_code(0);
    let text = words(&sandbox, "shelf");
    assert!(text.contains("mortal: data/write: crashed: "), "{text}");
    assert!(text.contains("No advice, since hard-links was not tested"), "{text}");
    sandbox.assert_clean();
}

#[test]
fn uses_are_listed_and_a_wrong_one_is_bad_input() {
    let sandbox = sandbox();
    let list = run(sandbox.fsarena().args(["list", "uses"])).assert_code(0).stdout;
    for word in ["file-server", "mail-spool", "removable", "shelf", "stream-write 40"] {
        assert!(list.contains(word), "{word}: {list}");
    }
    let ended = run(sandbox.fsarena().args(["advise", "--use", "file-sever"])).assert_code(2);
    assert!(ended.stderr.contains("did you mean `file-server`?"), "{}", ended.stderr);
    let ended = run(sandbox.fsarena().args(["advise", "--use", "shelf"])).assert_code(2);
    assert!(ended.stderr.contains("no campaign was run yet"), "{}", ended.stderr);
}
