//! A result for the tests of this crate.

use model::{CellResult, CommandRecord, Nanos, PhaseResult};

/// Returns a result with two phases and one step.
pub fn result() -> CellResult {
    let test = campaign::run::in_memory::test();
    let result = campaign::run::in_memory::ok_result(&test);
    let phase = |name: &str| PhaseResult {
        phase: name.to_owned(),
        elapsed: Nanos(1000),
        ..result.phases[0].clone()
    };
    CellResult {
        phases: ["write", "rewrite"].map(phase).into(),
        steps: vec![CommandRecord {
            step: "mkfs".into(),
            command: vec!["mkfs.ext4".into()],
            exit: Some(0),
            signal: None,
            elapsed: Nanos(5),
            output: String::new(),
        }],
        ..result
    }
}
