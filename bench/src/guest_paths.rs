//! What every guest of this program needs: QEMU, the program that is the agent, and a guest that is made.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use guest::{Guest, QEMU, Recipe};
use storage::find_program;

/// The program that is the agent, beside this one.
const AGENT: &str = "fsarena";

/// Where the agent is.
///
/// # Errors
/// When it, or QEMU, is not there.
pub fn agent() -> anyhow::Result<PathBuf> {
    if find_program(QEMU).is_none() {
        anyhow::bail!("there is no {QEMU}: `apt-get install qemu-system-x86`");
    }
    let path = env::current_exe()?.with_file_name(AGENT);
    let there = find_program(&path.to_string_lossy());
    there.with_context(|| format!("there is no {}: `cargo build --release`", path.display()))
}

/// The guest of a recipe: made where it is not there.
///
/// # Errors
/// When it cannot be made.
pub fn guest(recipe: &Recipe) -> anyhow::Result<Guest> {
    let mut say = |doing: &str| eprintln!("{doing}");
    let cache = guest::cache_directory()?;
    Ok(Guest::build(recipe, &cache, &Arc::default(), &mut say)?)
}
