//! What a machine says to whoever uses it, while it makes ready.

use std::path::Path;

/// Hears what is done, and is asked before anything is erased.
pub trait UserPrompt {
    /// Something that the user should know.
    fn note(&self, text: &str);

    /// So many bytes of an image are written.
    fn image_progress(&self, done: u64, total: u64);

    /// Asks before a device is erased that holds something. It returns where that is allowed.
    ///
    /// # Errors
    /// When it is not, or the user asks to stop.
    fn confirm_erase(&self, erased: &EraseRequest<'_>) -> anyhow::Result<()>;
}

/// A device that is about to be erased.
#[derive(Clone, Copy, Debug)]
pub struct EraseRequest<'a> {
    /// The device.
    pub device: &'a Path,
    /// What it is, for people.
    pub description: &'a str,
    /// What it holds.
    pub content: &'a str,
}
