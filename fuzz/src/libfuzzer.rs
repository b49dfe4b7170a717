//! The target that the environment names, under libFuzzer, whose options are those of this program.
#![no_main]

use std::sync::LazyLock;

use fuzz::Target;
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    fuzz::target(&name).expect("FUZZ_TARGET names a target")
});

fuzz_target!(|input: &[u8]| (TARGET.run)(input));
