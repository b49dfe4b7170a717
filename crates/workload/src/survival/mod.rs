//! Sequences of file operations whose result after a power cut or fault can be judged: performing them,
//! reading what is left, and deciding what may be left.

mod expected;
mod full;
mod sequences;
mod shorten;
mod steps;

pub use expected::{ExpectedStates, FoundFile, FoundFiles, StepNumber};
pub use full::FillingFiles;
pub use sequences::sequences;
pub use shorten::shorten;
pub use steps::{find_files, is_content, perform_step, write_probe};

/// Bytes of a block of a file.
pub const BLOCK: usize = model::FileStep::BLOCK as usize;

/// Returns the content of a block: its step and its index in each word of 8 bytes, so that a block
/// of another step or place is recognised.
fn block_content(step: u32, block: u32) -> Vec<u8> {
    let word = (u64::from(step) << 32 | u64::from(block)).to_le_bytes();
    word.repeat(BLOCK / word.len())
}
