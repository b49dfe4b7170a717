//! What is tested with root and while no other test runs, because it is about what this machine holds in memory.

mod memory;
mod settings_of_contenders;
