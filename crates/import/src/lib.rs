//! Imports the output of other programs as a campaign that can be reported on and compared.
//!
//! Each format has one file. Parsers do not open files or query this machine. Facts that a format
//! does not contain stay unknown; content that cannot be represented is skipped with the reason.
//! Inputs are untrusted: each is either parsed or refused with a one-line error.

mod bonnie;
mod campaign_builder;
mod dbench;
mod error;
mod expected;
mod filebench;
mod filebench_file;
mod fio;
mod fio_job_file;
mod format;
mod fs_mark;
mod fsarena_csv;
mod hyperfine;
mod ior;
mod iozone;
mod json;
mod mdtest;
mod merge;
mod names;
mod number;
mod phoronix;
mod text;
mod tiobench;
mod validate;

pub use campaign_builder::{MAX_RESULTS, NamingOptions, ParsedInput};
pub use error::ImportError;
pub use expected::{ExpectedPhase, expected};
pub use filebench_file::filebench_workload;
pub use fio_job_file::fio_arguments;
pub use format::{InputFormat, detect_format};
pub use merge::merge;
pub use validate::validate;

/// Parses the output of a program.
///
/// # Errors
/// Returns an error if the input does not match the format, is damaged or cut off, contains no
/// result, or exceeds the size of a campaign.
pub fn read(
    format: InputFormat,
    bytes: &[u8],
    naming: &NamingOptions,
) -> Result<ParsedInput, ImportError> {
    let found = match format {
        InputFormat::Bonnie => bonnie::read(bytes, naming),
        InputFormat::Iozone => iozone::read(bytes, naming),
        InputFormat::Fio => fio::read(bytes, naming),
        InputFormat::Tiobench => tiobench::read(bytes, naming),
        InputFormat::FsMark => fs_mark::read(bytes, naming),
        InputFormat::Ior => ior::read(bytes, naming),
        InputFormat::Mdtest => mdtest::read(bytes, naming),
        InputFormat::Phoronix => phoronix::read(bytes, naming),
        InputFormat::Hyperfine => hyperfine::read(bytes, naming),
        InputFormat::Filebench => filebench::read(bytes, naming),
        InputFormat::Dbench => dbench::read(bytes, naming),
        InputFormat::Csv => fsarena_csv::read(bytes, naming),
    }?;
    match found.reported.figures.is_empty() {
        true => Err(ImportError::in_file(format!(
            "it holds no result of {}",
            format.title()
        ))),
        false => Ok(found),
    }
}
