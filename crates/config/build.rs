//! Rebuilds the crate when a data file is added or removed; the compiler itself sees changed ones only.

fn main() {
    println!("cargo::rerun-if-changed=../../catalog");
}
