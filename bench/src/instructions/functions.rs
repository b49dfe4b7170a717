//! Finds the functions of the agent in which its instructions are spent.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context;
use object::read::elf::ElfFile64;
use object::{Object, ObjectSymbol, SymbolKind};

use super::count::InstructionCost;

/// Maximum number of functions to report.
const MAX_FUNCTIONS_SIZE: usize = 8;
/// Alignment of a program's load address, in bytes.
const PAGE: u64 = 4096;
/// Label of code outside the agent, mostly the kernel's clock page (vdso(7)).
const OUTSIDE: &str = "the kernel's page of clocks";

/// Returns the functions with the most instructions of an operation, in descending order.
///
/// # Errors
/// Returns an error if the program cannot be read or has no symbols.
pub fn most(cost: &InstructionCost, program: &Path) -> anyhow::Result<Vec<(String, f64)>> {
    let content = fs::read(program).with_context(|| program.display().to_string())?;
    let file = ElfFile64::<object::Endianness>::parse(&*content)?;
    let symbols: BTreeMap<u64, &str> = file
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Text)
        .filter_map(|symbol| Some((symbol.address(), symbol.name().ok()?)))
        .collect();
    let at = place(cost, &symbols).context("no code of the program was run")?;
    let end = symbols.keys().next_back().copied().unwrap_or_default();
    let mut sums: BTreeMap<String, f64> = BTreeMap::new();
    for (address, count) in &cost.addresses {
        let within = address.checked_sub(at).filter(|&within| within < end);
        let symbol = within.and_then(|within| symbols.range(..=within).next_back());
        let name = symbol.map_or(OUTSIDE.to_owned(), |(_, name)| plain(name));
        *sums.entry(name).or_default() += count;
    }
    let mut functions: Vec<(String, f64)> = sums.into_iter().collect();
    functions.sort_by(|a, b| b.1.total_cmp(&a.1));
    functions.retain(|(_, count)| *count >= 0.5);
    functions.truncate(MAX_FUNCTIONS_SIZE);
    Ok(functions)
}

/// Returns the load address of the program: the address at which most executed code blocks begin
/// with one of its functions.
fn place(cost: &InstructionCost, symbols: &BTreeMap<u64, &str>) -> Option<u64> {
    let mut hits: BTreeMap<u64, u32> = BTreeMap::new();
    for address in cost.addresses.keys() {
        let places = symbols.keys().filter_map(|symbol| address.checked_sub(*symbol));
        for place in places.filter(|place| place % PAGE == 0) {
            *hits.entry(place).or_default() += 1;
        }
    }
    hits.into_iter().max_by_key(|(_, hits)| *hits).map(|(place, _)| place)
}

/// Returns a symbol as written in the source code.
fn plain(symbol: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(symbol))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_load_address_from_executed_functions() {
        let symbols = BTreeMap::from([(0x1010, "one"), (0x1200, "two"), (0x2010, "three")]);
        let addresses = [0x7000_1010, 0x7000_1200, 0x7000_1208, 0x7000_2010, 0x10];
        let cost = InstructionCost {
            user: 5.0,
            kernel: 0.0,
            addresses: addresses.map(|address| (address, 1.0)).into(),
        };
        assert_eq!(place(&cost, &symbols), Some(0x7000_0000));
        assert_eq!(place(&cost, &BTreeMap::new()), None);
    }

    #[test]
    fn demangled_names_have_no_hash() {
        assert_eq!(plain("_ZN6engine5names4work17h0123456789abcdefE"), "engine::names::work");
        assert_eq!(plain("pread64"), "pread64");
    }
}
