//! What other programs printed, as a campaign that can be reported on and compared.
//!
//! One file for each format; none opens a file or asks anything of this machine. What a format does not say is left
//! open, and what cannot be held is left out with the reason. Inputs come from anywhere: whatever they hold, they are
//! read or refused in one line.

mod bonnie;
mod dbench;
mod error;
mod expected;
mod exported_csv;
mod filebench;
mod fio;
mod format;
mod fs_mark;
mod gathering;
mod hyperfine;
mod ior;
mod iozone;
mod job_file;
mod join;
mod json;
mod mdtest;
mod names;
mod number;
mod phoronix;
mod report;
mod text;
mod tiobench;
mod workload_file;

pub use error::ImportError;
pub use expected::{Expected, expected};
pub use format::{Format, recognise};
pub use gathering::{Found, MOST_RESULTS, Naming};
pub use job_file::fio_arguments;
pub use join::join;
pub use report::check;
pub use workload_file::filebench_workload;

/// Reads what a program printed.
///
/// # Errors
/// When it is not what the format says, is damaged or cut off, holds no result, or more than a campaign can hold.
pub fn read(format: Format, bytes: &[u8], naming: &Naming) -> Result<Found, ImportError> {
    let found = match format {
        Format::Bonnie => bonnie::read(bytes, naming),
        Format::Iozone => iozone::read(bytes, naming),
        Format::Fio => fio::read(bytes, naming),
        Format::Tiobench => tiobench::read(bytes, naming),
        Format::FsMark => fs_mark::read(bytes, naming),
        Format::Ior => ior::read(bytes, naming),
        Format::Mdtest => mdtest::read(bytes, naming),
        Format::Phoronix => phoronix::read(bytes, naming),
        Format::Hyperfine => hyperfine::read(bytes, naming),
        Format::Filebench => filebench::read(bytes, naming),
        Format::Dbench => dbench::read(bytes, naming),
        Format::Csv => exported_csv::read(bytes, naming),
    }?;
    match found.reported.figures.is_empty() {
        true => Err(ImportError::whole(format!(
            "it holds no result of {}",
            format.title()
        ))),
        false => Ok(found),
    }
}
