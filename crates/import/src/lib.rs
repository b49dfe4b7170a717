//! Imports the output of other programs as a campaign that can be reported on and compared.
//!
//! Each format has one file. Parsers do not open files or query this machine. Facts that a format
//! does not contain stay unknown; content that cannot be represented is skipped with the reason.
//! Inputs are untrusted: each is either parsed or refused with a one-line error.

mod campaign_builder;
mod error;
mod expected;
mod format;
mod formats;
mod merge;
mod names;
mod parse;
mod parsed_input;
mod validate;

pub use campaign_builder::{NameSource, NamingOptions};
pub use error::ImportError;
pub use expected::{ExpectedPhase, duration, expected, fio_space};
pub use format::{InputFormat, detect_format, detect_only_format};
pub use formats::filebench_file::filebench_workload;
pub use formats::fio_job_file::{JobFileContext, MAX_JOB_FILE_SIZE, fio_arguments};
pub use merge::merge;
pub use parsed_input::{MAX_RESULTS, MAX_TABLE_SIZE, ParsedInput};
pub use validate::{check_plan, check_size, validate};

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
    let text = crate::parse::text::decode(bytes);
    let bytes = text.as_bytes();
    let mut found = match format {
        InputFormat::Bonnie => crate::formats::bonnie::read(bytes, naming),
        InputFormat::Iozone => crate::formats::iozone::read(bytes, naming),
        InputFormat::Fio => crate::formats::fio::read(bytes, naming),
        InputFormat::Tiobench => crate::formats::tiobench::read(bytes, naming),
        InputFormat::FsMark => crate::formats::fs_mark::read(bytes, naming),
        InputFormat::Ior => crate::formats::ior::read(bytes, naming),
        InputFormat::Mdtest => crate::formats::mdtest::read(bytes, naming),
        InputFormat::Phoronix => crate::formats::phoronix::read(bytes, naming),
        InputFormat::Hyperfine => crate::formats::hyperfine::read(bytes, naming),
        InputFormat::Filebench => crate::formats::filebench::read(bytes, naming),
        InputFormat::Dbench => crate::formats::dbench::read(bytes, naming),
        InputFormat::Csv => crate::formats::fsarena_csv::read(bytes, naming),
    }?;
    let others = crate::format::formats(&text, format);
    found.skipped.extend(others.into_iter().filter(|other| *other != format).map(|other| {
        format!("output of {}, because one program was read; use --from {other}", other.title())
    }));
    match found.reported.figures.is_empty() {
        true => Err(ImportError::in_file(format!("it holds no result of {}", format.title()))),
        false => Ok(found),
    }
}
