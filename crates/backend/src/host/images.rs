//! Creates the images for cells and fills them completely before the first cell.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use model::{Bytes, Campaign};
use storage::Image;

use crate::host::campaign_dir::CampaignDir;
use crate::remote::user_prompt::UserPrompt;

/// Creates an image for each disk that a cell can use.
///
/// # Errors
/// Returns the errors of [`make`].
pub fn create_images(
    campaign: &Campaign,
    place: &CampaignDir,
    dialogue: &dyn UserPrompt,
    stop: &AtomicBool,
) -> anyhow::Result<Vec<Image>> {
    (0..campaign.max_disks())
        .map(|number| make(&place.image(number), campaign.size, dialogue, stop))
        .collect()
}

/// Creates an image and reports progress.
///
/// # Errors
/// Returns an error if the disk has too little space, a write fails, or the user asks to stop.
pub fn make(
    path: &Path,
    size: Bytes,
    dialogue: &dyn UserPrompt,
    stop: &AtomicBool,
) -> anyhow::Result<Image> {
    let image = Image::prepare(path, size, &mut |done| {
        dialogue.image_progress(done.0, size.0);
        if stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(image)
}
