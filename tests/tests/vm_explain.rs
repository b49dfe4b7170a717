//! Causes of the difference between two contenders: CPU samples of guests in virtual time.

use std::fs;

use end_to_end::{Sandbox, program, run};
use serde_json::Value;

/// Explains a result of the latest campaign.
fn explained(sandbox: &Sandbox, words: &[&str]) -> Value {
    let mut command = sandbox.fsarena();
    command
        .env("XDG_CACHE_HOME", program::cache())
        .args(["--json", "explain", "durable/overwrite-fsync", "xfs", "ext4"])
        .args(words)
        .arg("-o")
        .arg(sandbox.path("pictures"));
    serde_json::from_str(&run(&mut command).assert_code(0).stdout).unwrap()
}

/// Returns the functions in a list for which a contender has any time.
fn functions(explained: &Value, list: &str, side: usize) -> Vec<String> {
    let functions = explained["explanation"][list].as_array().unwrap().iter();
    let own = functions.filter(|f| f["with_callees"][side].as_u64().unwrap() > 0);
    own.map(|f| f["function"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_difference_is_explained_by_the_disk_and_by_functions_and_in_the_same_way_twice() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.in_guests(sandbox.fsarena(), &["xfs", "ext4"], "2");
    run(command.args(["--suite", "durable", "--disk", "hdd-2003-7200"])).assert_code(0);
    let first = explained(&sandbox, &[]);
    let explanation = &first["explanation"];
    for side in 0..2 {
        let parts = explanation["parts"].as_array().unwrap().iter();
        let sum: u64 = parts.map(|part| part[1][side].as_u64().unwrap()).sum();
        assert_eq!(Some(sum), explanation["elapsed"][side].as_u64());
        // The processor is busy for less time than the phase takes, and sampling makes the phase
        // longer.
        let sampled = first["sampled_ns"][side].as_u64().unwrap();
        let samples = explanation["samples"][side].as_u64().unwrap();
        let busy = samples * explanation["period"][side].as_u64().unwrap();
        assert!(samples > 50 && busy < sampled, "{explanation}");
        assert_eq!(explanation["lost"][side], 0);
    }
    let (xfs, ext4) = (functions(&first, "by_callees", 0), functions(&first, "by_callees", 1));
    assert!(xfs.contains(&"xfs_file_fsync [xfs]".to_owned()), "{xfs:?}");
    assert!(ext4.contains(&"ext4_sync_file [ext4]".to_owned()), "{ext4:?}");
    let of = |functions: &[String], module: &str| functions.iter().any(|f| f.ends_with(module));
    assert!(!of(&xfs, "[ext4]") && !of(&xfs, "[jbd2]") && !of(&ext4, "[xfs]"));
    let own = functions(&first, "by_own", 0);
    assert!(!own.iter().any(|f| f == "[unknown]"), "{own:?}");
    let pictures = first["pictures"].as_array().unwrap();
    assert_eq!(pictures.len(), 3);
    let read = || -> Vec<String> {
        let paths = pictures.iter().map(|path| path.as_str().unwrap());
        paths.map(|path| fs::read_to_string(path).unwrap()).collect()
    };
    let drawn = read();
    assert!(drawn[0].contains("<title>xfs_file_fsync [xfs]: xfs "));
    assert_eq!(explained(&sandbox, &["--no-cache"]), first, "the same again");
    assert_eq!(read(), drawn);
    // The measured values are unchanged by the sampling.
    let cells = sandbox.results().cells;
    let phases = cells.iter().flat_map(|cell| &cell.result.as_ref().unwrap().phases);
    assert!({ phases }.all(|phase| phase.profile.is_none()));
    sandbox.assert_clean();
}
