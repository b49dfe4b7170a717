//! Rebuilds the crate when a data file is added or removed. The compiler itself only detects
//! changed files.

fn main() {
    println!("cargo::rerun-if-changed=../../catalog");
}
