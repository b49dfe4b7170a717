//! The metadata suite on real filesystems: one that supports all operations, and one that does not.

use std::collections::BTreeMap;

use end_to_end::{Sandbox, cells_of, run};
use model::{PhaseResult, Status};

/// Features that exFAT lacks. Later phases on links that were not created are also unsupported.
const IMPOSSIBLE: [&str; 7] =
    ["chmod", "setxattr", "link", "unlink", "symlink", "follow", "unlink-symlinks"];

#[test]
fn unsupported_name_operations_are_reported_and_the_rest_is_measured() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.fsarena();
    command.args(["run", "--profile", "smoke", "--seed", "1", "--work-dir"]);
    command.arg(sandbox.path("work"));
    command.args(["-c", "ext4", "-c", "exfat-fuse", "-s", "metadata", "-s", "fs-mark"]);
    run(&mut command).assert_code(0);
    let results = sandbox.results();
    for (contender, impossible) in [("ext4", &[][..]), ("exfat-fuse", &IMPOSSIBLE[..])] {
        for cell in cells_of(&results, contender) {
            assert_eq!(cell.status, Status::Ok, "{contender}: {:?}", cell.failure);
            for phase in &cell.phases {
                let name = format!("{contender}, {}: {phase:?}", phase.phase);
                if impossible.contains(&phase.phase.as_str()) {
                    assert_eq!(phase.status, Status::Unsupported, "{name}");
                } else {
                    assert_eq!(phase.status, Status::Ok, "{name}");
                    assert!(phase.operations > 0 && !phase.latency.is_empty(), "{name}");
                }
            }
        }
    }
    let cells = cells_of(&results, "exfat-fuse");
    let phases: BTreeMap<&str, &PhaseResult> = cells
        .iter()
        .flat_map(|cell| &cell.phases)
        .map(|phase| (phase.phase.as_str(), phase))
        .collect();
    let reason = |phase| phases[phase].failure.as_ref().unwrap().reason.as_str();
    assert!(reason("link").starts_with("link: EPERM"), "{}", reason("link"));
    assert!(reason("unlink").contains("link: EPERM"), "{}", reason("unlink"));
    assert!(reason("chmod").contains("left 777"), "{}", reason("chmod"));
    sandbox.assert_clean();
}
