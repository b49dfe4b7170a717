//! Runs the target named by the environment under libFuzzer. The options of this program are those
//! of libFuzzer.
#![no_main]

use std::sync::LazyLock;

use fuzz::FuzzTarget;
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<&FuzzTarget> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    fuzz::target(&name).expect("FUZZ_TARGET names a target")
});

fuzz_target!(|input: &[u8]| (TARGET.run)(input));
