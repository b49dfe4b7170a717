//! Options of `import`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use import::{InputFormat, NameSource};

use crate::args::cli_values::{one_of, path};

/// Options of `import`.
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// Import these files: output of other programs, or databases; `-` is standard input, NAME=FILE
    /// names the contender.
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath, value_parser = path())]
    pub files: Vec<PathBuf>,
    /// Name the contender: one name for all files, or one per file [default: the name in the file,
    /// else the file name].
    #[arg(short, long = "contender", value_name = "NAME")]
    pub contenders: Vec<String>,
    /// Name contenders after this fact in the files: the whole path, the machine, or the title of
    /// the run [default: the title, else the directory, else the file name].
    #[arg(long, value_name = "FACT", value_parser = one_of::<NameSource>(NameSource::ALL.map(NameSource::name)))]
    pub contender_from: Option<NameSource>,
    /// Set the program that wrote the files [default: detected].
    #[arg(long, value_name = "FORMAT", value_parser = one_of::<InputFormat>(InputFormat::ALL.map(InputFormat::name)))]
    pub from: Option<InputFormat>,
    /// Show what would be imported, and store nothing.
    #[arg(long)]
    pub dry_run: bool,
}
