//! Tests that need root and run exclusively, because they depend on the page cache of this machine.

mod cache;
mod memory;
mod settings_of_contenders;
