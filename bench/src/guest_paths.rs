//! Common parts of all guests of this program: QEMU, the agent program and a guest that is already
//! built.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use guest::{Guest, QEMU, Recipe};
use storage::find_program;

/// Name of the agent program, in the directory of this program.
const AGENT: &str = "fsarena";

/// Returns the path of the agent.
///
/// # Errors
/// Returns an error if the agent or QEMU is missing.
pub fn agent() -> anyhow::Result<PathBuf> {
    if find_program(QEMU).is_none() {
        anyhow::bail!("there is no {QEMU}: `apt-get install qemu-system-x86`");
    }
    let path = env::current_exe()?.with_file_name(AGENT);
    let there = find_program(&path.to_string_lossy());
    there.with_context(|| format!("there is no {}: `cargo build --release`", path.display()))
}

/// Returns the guest of a recipe and builds it if it does not exist.
///
/// # Errors
/// Returns an error if the guest cannot be built.
pub fn guest(recipe: &Recipe) -> anyhow::Result<Guest> {
    let mut say = |doing: &str| eprintln!("{doing}");
    let cache = guest::cache_directory()?;
    Ok(Guest::build(recipe, &cache, &Arc::default(), &mut say)?)
}
