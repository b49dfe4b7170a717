//! Disks as an axis: contenders and points of a sweep on separate disks, in guests; and the memory
//! that a guest's kernel uses for a filesystem.

use std::process::Command;

use end_to_end::{Sandbox, cells_of, run};
use model::{Bytes, CellResult, Nanos};

const FILES: &str = r#"
name = "many"
title = "Many files"
source = "made for a test"

[[test]]
name = "many"
title = "Many files"
rationale = "Each has an inode, which the kernel holds."
space = "16 MiB"
phase = [
  { name = "create", op = "create", set = "s", files = 2000, directories = 1, size = "4 KiB", order = "sequential", fsync = false, cache = "warm", ends = "syncfs" },
]
"#;

fn in_guests(sandbox: &Sandbox, contenders: &[&str], options: &[&str]) -> Command {
    sandbox.add_slow_disk();
    let mut command = sandbox.in_guests(sandbox.fsarena(), contenders, "2");
    command.args(options);
    command
}

fn wall(cell: &CellResult) -> Nanos {
    assert_eq!(cell.status, model::Status::Ok, "{:?}", cell.failure);
    cell.phases[0].elapsed
}

#[test]
fn contenders_and_points_of_a_sweep_have_separate_disks() {
    let sandbox = Sandbox::new();
    let contenders = ["ext2@ideal", "ext2@slow"];
    let options = ["--suite", "trial", "--size", "64MiB", "--disks", "1,2"];
    run(&mut in_guests(&sandbox, &contenders, &options)).assert_code(0);
    let shown = sandbox.report();
    assert!(
        shown.contains("Contenders are on different disks: ideal (ext2@ideal); slow (ext2@slow)"),
        "{shown}"
    );
    assert!(shown.contains("by disks"), "{shown}");
    let results = sandbox.results();
    let [ideal, slow] = contenders.map(|name| {
        let cells = cells_of(&results, name);
        assert_eq!(cells.len(), 2, "a cell for each number of disks");
        cells.into_iter().map(wall).collect::<Vec<_>>()
    });
    // Rounds are shuffled, so the test name identifies the cell.
    let tests = |name: &str| {
        let own = results.cells.iter().filter(|stored| stored.cell.contender == name);
        own.map(|stored| stored.cell.test.clone()).collect::<Vec<_>>()
    };
    let of = |name: &str, walls: &[Nanos], test: &str| {
        let place = tests(name).iter().position(|found| found.ends_with(test));
        walls[place.expect("it was planned")]
    };
    let (one, two) = (of("ext2@slow", &slow, "-1x"), of("ext2@slow", &slow, "-2x"));
    assert!(two.0 * 5 < one.0 * 4, "{two} over two disks, {one} over one");
    assert!(of("ext2@ideal", &ideal, "-1x").0 * 2 < one.0, "{ideal:?}, {one}");
    sandbox.assert_clean();
}

#[test]
fn many_files_use_more_kernel_memory_than_a_mount() {
    let sandbox = Sandbox::new();
    sandbox.add_suite("many", FILES);
    let options = ["--suite", "many", "--memory", "1GiB"];
    run(&mut in_guests(&sandbox, &["ext2"], &options)).assert_code(0);
    let shown = sandbox.report();
    assert!(shown.contains("KERNEL, MOST"), "{shown}");
    let results = sandbox.results();
    let cell = cells_of(&results, "ext2")[0];
    let kernel = |memory: Option<model::KernelMemoryUse>| memory.and_then(|memory| memory.kernel);
    let mounted = kernel(cell.mounted).expect("a guest's kernel is the cell's alone");
    let most = kernel(cell.phases[0].memory).expect("a guest's kernel is the cell's alone");
    // An ext2 inode takes about 700 bytes, a name 192.
    assert!(most.0 > mounted.0 + 2000 * 700, "{mounted} mounted, {most} with 2000 files");
    assert!(most < Bytes::mib(64), "{most}");
    sandbox.assert_clean();
}
