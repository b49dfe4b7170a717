//! What around a campaign decides about its figures: what it pins, records, and says of it.

use end_to_end::{Entry, Sandbox, run};

#[test]
fn a_campaign_on_an_image_has_its_readahead_and_says_so() {
    let sandbox = Sandbox::new();
    let mkfs = "blockdev --getra $0 && mke2fs -q -F -t ext4 $0";
    sandbox.add(&Entry::ext4("made").mkfs(&["sh", "-c", mkfs, "{device}"]));
    // `blockdev` counts in sectors of 512 bytes.
    for (words, sectors, readahead) in [
        (vec![], "256", "128 KiB"),
        (vec!["--readahead", "64 KiB"], "128", "64 KiB"),
    ] {
        run(sandbox.campaign(&["made"], "trial").args(words)).with(0);
        let results = sandbox.results();
        let steps = &results.cells[0].result.as_ref().unwrap().steps;
        let made = steps.iter().find(|step| step.step == "mkfs").unwrap();
        assert_eq!(made.output, sectors);
        let conditions = &results.environments[0].conditions;
        let found = conditions.iter().find(|c| c.what == "readahead").unwrap();
        assert_eq!(found.value, readahead);
    }
    let compared = run(sandbox.fsarena().args(["compare", "1", "2"])).with(0);
    assert!(
        compared.stdout.contains("readahead") && compared.stdout.contains("64 KiB"),
        "{}",
        compared.stdout
    );
    let campaign = sandbox.campaign(&[], "trial");
    let mut in_directory = campaign;
    in_directory.args(["--backend", "dir", "--dir", "/tmp", "--readahead", "64 KiB"]);
    let refused = run(&mut in_directory).with(2);
    assert!(
        refused.stderr.contains("--readahead is for images"),
        "{}",
        refused.stderr
    );
}
