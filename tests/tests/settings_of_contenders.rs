//! Settings per contender on this machine: memory limit and groups; and the memory use of a driver.

use std::fs;

use end_to_end::suites::{READ_AGAIN, read_again};
use end_to_end::{DirectoryEntry, Sandbox, cells_of, program, run};
use model::{Bytes, KernelMemoryUse};

const SIZE: u64 = 64 << 20;

#[test]
fn groups_and_memory_of_contenders_are_stored_and_reported() {
    let sandbox = Sandbox::exclusive();
    sandbox.add_suite("again", READ_AGAIN);
    sandbox.add(&DirectoryEntry::ext4("made"));
    let contenders = ["made", "made@memory=24MiB"];
    let mut command = sandbox.campaign(&contenders, "again");
    command.args(["--size", "160 MiB"]);
    command.args(["--group", "both=made,made@memory=24MiB", "--group", "one=made"]);
    run(&mut command).assert_code(0);
    let shown = sandbox.report();
    assert!(
        shown.contains("Contenders may use different memory: all there is (made); 24 MiB"),
        "{shown}"
    );
    assert!(shown.contains("Groups of filesystems"), "{shown}");

    let results = sandbox.results();
    let [free, limited] = contenders.map(|name| read_again(cells_of(&results, name)[0]));
    assert_eq!(free, 0, "without a limit it stays in memory");
    assert!(limited >= SIZE / 2, "only {limited} bytes were read again");
    assert_eq!(results.campaign.contenders[1].own.memory, Some(Bytes::mib(24)));
    assert_eq!(results.campaign.memory, None);
    let groups: Vec<(&str, usize)> = results
        .campaign
        .groups
        .iter()
        .map(|group| (group.name.as_str(), group.members.len()))
        .collect();
    assert_eq!(groups, [("both", 2), ("one", 1)]);
    let page = run(sandbox.fsarena().args(["report", "--format", "html"])).assert_code(0);
    assert!(page.stdout.contains(r#""title":"both","members":[0,1],"named":true"#));
    sandbox.assert_clean();
}

#[test]
fn a_group_with_an_unknown_contender_is_refused_in_one_line() {
    let sandbox = Sandbox::exclusive();
    let mut command = sandbox.campaign(&["tmpfs"], "trial");
    let ended = run(command.args(["--group", "new=tmpfs,btrfs"])).assert_code(2);
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{}", ended.stderr);
    let expected =
        "the group `new` has a member `btrfs`, which does not compete; contenders: tmpfs";
    assert!(lines[0].contains(expected), "{}", lines[0]);
    let file = sandbox.path("groups.toml");
    fs::write(&file, "contenders = [\"tmpfs\"]\n[groups]\nnew = [\"xfs\"]\n").unwrap();
    let ended = run(sandbox.fsarena().arg("run").arg(file)).assert_code(2);
    assert!(ended.stderr.contains("`xfs`, which does not compete"), "{}", ended.stderr);
}

#[test]
fn a_fuse_driver_is_measured_in_memory_and_a_filesystem_of_the_kernel_is_not_here() {
    let sandbox = Sandbox::exclusive();
    sandbox.add(&DirectoryEntry::faulty("driven", &program::faultfs(), &[]));
    sandbox.add(&DirectoryEntry::ext4("made"));
    run(&mut sandbox.campaign(&["driven", "made"], "trial")).assert_code(0);
    let shown = sandbox.report();
    assert!(shown.contains("DRIVER, MOUNTED"), "{shown}");
    let results = sandbox.results();
    let driven = cells_of(&results, "driven")[0];
    let is_its_drivers = |memory: &Option<KernelMemoryUse>| {
        let memory = memory.expect("it was measured");
        assert_eq!(memory.kernel, None, "kernel memory is shared");
        memory.driver.expect("it has a driver") > Bytes::kib(4)
    };
    assert!(is_its_drivers(&driven.mounted));
    assert!(driven.phases.iter().all(|phase| is_its_drivers(&phase.memory)));
    let made = cells_of(&results, "made")[0];
    assert_eq!(made.mounted, None);
    assert!(made.phases.iter().all(|phase| phase.memory.is_none()));
}
