//! Options of `delete`.

use clap::Args;

/// Options of `delete`.
#[derive(Clone, Debug, Args)]
pub struct DeleteArgs {
    /// Delete these campaigns: numbers or names (see `fsarena list campaigns`).
    #[arg(value_name = "CAMPAIGN", required = true)]
    pub campaigns: Vec<String>,
    /// Delete without asking.
    #[arg(short, long)]
    pub yes: bool,
}
