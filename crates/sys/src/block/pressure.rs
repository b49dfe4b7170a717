//! Pressure stall information of the kernel.

use std::fs;

use model::{Nanos, Pressure};

/// Returns the time since boot in which some task waited, or `None` if the kernel does not report
/// it.
pub fn read() -> Option<Pressure> {
    let total = |of: &str| some_total(&fs::read_to_string(format!("/proc/pressure/{of}")).ok()?);
    Some(Pressure { cpu: total("cpu")?, io: total("io")?, memory: total("memory")? })
}

/// Parses the total, in microseconds, of a line such as `some avg10=0.00 avg60=0.00 avg300=0.00
/// total=1234`. Source: Documentation/accounting/psi.rst of the kernel.
fn some_total(text: &str) -> Option<Nanos> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    let total = line.split_whitespace().find_map(|w| w.strip_prefix("total="))?;
    Some(Nanos(total.parse::<u64>().ok()?.saturating_mul(1000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_some_is_read() {
        let text = "some avg10=0.12 avg60=0.00 avg300=0.00 total=1234\nfull avg10=0 total=9\n";
        assert_eq!(some_total(text), Some(Nanos(1_234_000)));
        for other in ["", "full avg10=0 total=9", "some total=x"] {
            assert_eq!(some_total(other), None, "{other}");
        }
    }
}
