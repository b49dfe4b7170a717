//! Options of `import`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use import::InputFormat;

use crate::args::cli_values::{one_of, path};

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
    #[arg(long, value_name = "FORMAT", value_parser = one_of::<InputFormat>(InputFormat::ALL.map(InputFormat::name)))]
    pub from: Option<InputFormat>,
    /// Say what would be imported, and store nothing.
    #[arg(long)]
    pub dry_run: bool,
}
