//! Names of kernel functions, including those of modules.

use std::fs::File;
use std::io::{self, BufRead, BufReader};

/// File in which the kernel lists its functions.
const SYMBOLS: &str = "/proc/kallsyms";

/// The functions of this kernel, by address.
#[derive(Default)]
pub struct KernelSymbols {
    /// Start address and name of each function, in ascending order.
    functions: Vec<(u64, String)>,
}

impl KernelSymbols {
    /// Reads the symbols of the running kernel.
    pub fn read() -> io::Result<Self> {
        Self::of(BufReader::new(File::open(SYMBOLS)?))
    }

    fn of(lines: impl BufRead) -> io::Result<Self> {
        let mut functions = Vec::new();
        for line in lines.lines() {
            functions.extend(function(&line?));
        }
        // Keep the first of several names of an address.
        functions.sort_by_key(|(address, _)| *address);
        functions.dedup_by_key(|(address, _)| *address);
        Ok(Self { functions })
    }

    /// Returns the function that contains an address.
    pub fn name(&self, address: u64) -> &str {
        let after = self.functions.partition_point(|(begin, _)| *begin <= address);
        match after.checked_sub(1) {
            Some(place) => &self.functions[place].1,
            None => "[unknown]",
        }
    }
}

/// Parses a line `address type name` or `address type name [module]`. Suffixes that the compiler
/// adds to a name (`.isra.0`, `.cold`) are removed.
fn function(line: &str) -> Option<(u64, String)> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    if !matches!(words.next()?, "t" | "T" | "w" | "W") || address == 0 {
        return None;
    }
    let name = words.next()?;
    let plain = name.split('.').next().filter(|plain| !plain.is_empty());
    let plain = plain.unwrap_or(name);
    let name = match words.next() {
        Some(module) => format!("{plain} {module}"),
        None => plain.to_owned(),
    };
    Some((address, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolves_an_address_to_the_preceding_function() {
        let text = "ffffffff81000000 T _stext\n\
                    ffffffff81000100 t copy.isra.0\n\
                    ffffffff81000100 t another\n\
                    ffffffff81000180 D data\n\
                    0000000000000000 A nothing\n\
                    ffffffffc0000000 t xfs_iget\t[xfs]\n";
        let symbols = KernelSymbols::of(text.as_bytes()).unwrap();
        assert_eq!(symbols.name(0xffff_ffff_8100_00ff), "_stext");
        assert_eq!(symbols.name(0xffff_ffff_8100_0190), "copy");
        assert_eq!(symbols.name(0xffff_ffff_c000_0010), "xfs_iget [xfs]");
        assert_eq!(symbols.name(1), "[unknown]");
    }
}
