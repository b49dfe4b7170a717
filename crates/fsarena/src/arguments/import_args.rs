//! Options of `import`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use import::Format;

use crate::arguments::cli_values::{path, words};

/// Options of `import`.
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// What other programs printed, or databases; `-` is standard input, NAME=FILE names the contender.
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath, value_parser = path())]
    pub files: Vec<PathBuf>,
    /// What the contender is called, whatever the file says: one name for all files, or one for each [default: what the
    /// file says, or else the file's name].
    #[arg(short, long = "contender", value_name = "NAME")]
    pub contenders: Vec<String>,
    /// What has printed it [default: found out].
    #[arg(long, value_name = "FORMAT", value_parser = words::<Format>(Format::ALL.map(Format::name)))]
    pub from: Option<Format>,
    /// Say what would be imported, and store nothing.
    #[arg(long)]
    pub dry_run: bool,
}
