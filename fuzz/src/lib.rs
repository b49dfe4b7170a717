//! Every parser of untrusted input as a function of bytes, which must never panic.
//!
//! `make fuzz` runs them under a coverage-guided fuzzer. `make test` runs them on the inputs in
//! `corpus/` and on mutations of these (`tests/replay.rs`).

mod batch_files;
mod campaign;
mod catalog_file;
mod database;
mod device;
mod events;
mod guest_files;
mod json_edits;
mod kernel_oops;
pub mod mutation;
mod procfs;
mod program_output;
mod property;
mod reported_output;
mod sample;
mod study;
mod trace_file;

/// A group of parsers and their known inputs.
#[derive(Clone, Copy, Debug)]
pub struct FuzzTarget {
    /// Name of the target and of its directory in `corpus/`.
    pub name: &'static str,
    /// Runs the parsers on an input. Panics if a property does not hold.
    pub run: fn(&[u8]),
    /// Generated inputs that are not stored: files that are already in the repository, and binary
    /// files.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Maximum useful length of an input, in bytes.
    pub longest: usize,
}

/// All targets.
pub const TARGETS: [FuzzTarget; 13] = [
    FuzzTarget { name: "campaign", run: campaign::run, seeds: campaign::seeds, longest: 4096 },
    FuzzTarget {
        name: "catalog",
        run: catalog_file::run,
        seeds: catalog_file::seeds,
        longest: 8192,
    },
    FuzzTarget { name: "study", run: study::run, seeds: study::seeds, longest: 131_072 },
    FuzzTarget { name: "events", run: events::run, seeds: events::seeds, longest: 8192 },
    FuzzTarget { name: "proc", run: procfs::run, seeds: procfs::seeds, longest: 4096 },
    FuzzTarget { name: "oops", run: kernel_oops::run, seeds: Vec::new, longest: 8192 },
    FuzzTarget { name: "database", run: database::run, seeds: database::seeds, longest: 1024 },
    FuzzTarget { name: "device", run: device::run, seeds: device::seeds, longest: 256 },
    FuzzTarget { name: "guest", run: guest_files::run, seeds: guest_files::seeds, longest: 4096 },
    FuzzTarget { name: "trace", run: trace_file::run, seeds: trace_file::seeds, longest: 4096 },
    FuzzTarget {
        name: "import",
        run: program_output::run,
        seeds: program_output::seeds,
        longest: 8192,
    },
    FuzzTarget {
        name: "report",
        run: reported_output::run,
        seeds: reported_output::seeds,
        longest: 32_768,
    },
    FuzzTarget { name: "batch", run: batch_files::run, seeds: batch_files::seeds, longest: 512 },
];

/// Returns the target with this name.
pub fn target(name: &str) -> Option<&'static FuzzTarget> {
    TARGETS.iter().find(|target| target.name == name)
}
