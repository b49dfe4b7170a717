//! Reads one file of `machines/`: TOML → a validated [`VirtualTimeMachine`].

use model::{Bytes, GuestConfig, Nanos, VirtualTimeMachine};

use crate::CatalogError;
use crate::catalog::document::{NameRegistry, TomlSource, TomlTable};

const KEYS: [&str; 7] = ["name", "title", "source", "instruction", "memory", "disk", "disks"];
/// Maximum shift. With `-icount`, an instruction takes 2^shift nanoseconds, and QEMU accepts at
/// most 10 (qemu(1)).
const MAX_SHIFT: u32 = 10;

/// Reads a machine and its name.
pub(crate) fn read(
    source: TomlSource<'_>,
) -> Result<(VirtualTimeMachine, NameRegistry), CatalogError> {
    let document = source.parse()?;
    let top = TomlTable::top(source, &document, &KEYS)?;
    let name = top.required("name")?;
    let claims = vec![(name.name()?, name.line())];
    let instruction = top.required("instruction")?;
    let time = instruction.time_limit()?.unwrap_or(Nanos(0));
    let shift = time.0.checked_ilog2().filter(|shift| *shift <= MAX_SHIFT);
    let exact = shift.filter(|shift| time.0 == 1 << shift);
    let machine = VirtualTimeMachine {
        name: name.name()?,
        title: top.text("title")?,
        source: top.text("source")?,
        shift: exact.ok_or_else(|| {
            instruction
                .expected_error("1, 2, 4, 8 or another power of two of nanoseconds, 1024 at most")
        })?,
        memory: top.read("memory", |v| v.size_from(Bytes::mib(64).0))?,
        disk: top.required("disk")?.name()?,
        disks: top.read("disks", |v| v.count(1..=GuestConfig::MAX_DISKS))?.unwrap_or(1),
    };
    Ok((machine, claims))
}

/// Returns every key of a machine file.
#[cfg(test)]
pub(crate) fn all_keys() -> impl Iterator<Item = &'static str> {
    KEYS.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(instruction: &str) -> Result<u32, String> {
        let text = format!(
            "name = \"it\"\ntitle = \"It\"\nsource = \"a test\"\ndisk = \"ideal\"\ninstruction = \"{instruction}\"\n"
        );
        let source = TomlSource { file: "it.toml", text: &text };
        let read = read(source).map(|(machine, _)| machine.shift);
        read.map_err(|error| error.to_string())
    }

    #[test]
    fn instruction_times_are_limited_to_shifts_of_the_emulator() {
        assert_eq!(reading("1 ns"), Ok(0));
        assert_eq!(reading("2 ns"), Ok(1));
        assert_eq!(reading("1024 ns"), Ok(10));
        for wrong in ["3 ns", "2 us", "never"] {
            let error = reading(wrong).unwrap_err();
            assert!(error.starts_with("it.toml:5: `instruction` is"), "{error}");
        }
    }
}
