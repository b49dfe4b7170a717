//! Messages of a machine to its user during preparation.

use std::path::Path;

/// Receives progress reports and confirms erasures.
pub trait UserPrompt {
    /// Reports a message to the user.
    fn note(&self, text: &str);

    /// Reports the number of image bytes written.
    fn image_progress(&self, done: u64, total: u64);

    /// Asks for confirmation before a device with contents is erased. Returns if the user agrees.
    ///
    /// # Errors
    /// Returns an error if the user refuses or asks to stop.
    fn confirm_erase(&self, erased: &EraseRequest<'_>) -> anyhow::Result<()>;
}

/// A device that is about to be erased.
#[derive(Clone, Copy, Debug)]
pub struct EraseRequest<'a> {
    /// The device.
    pub device: &'a Path,
    /// Human-readable description of the device.
    pub description: &'a str,
    /// Contents of the device.
    pub content: &'a str,
}
