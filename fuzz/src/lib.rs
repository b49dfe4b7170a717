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
mod sample;
mod study;
mod trace_file;

/// A group of parsers and their known inputs.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name of the target and of its directory in `corpus/`.
    pub name: &'static str,
    /// Runs the parsers on an input. Panics if a property does not hold.
    pub run: fn(&[u8]),
    /// Inputs that are made and not kept: files that are in the repository anyway, and binary ones.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Bytes beyond which an input shows nothing new.
    pub longest: usize,
}

/// All targets.
pub const TARGETS: [Target; 12] = [
    Target {
        name: "campaign",
        run: campaign::run,
        seeds: campaign::seeds,
        longest: 4096,
    },
    Target {
        name: "catalog",
        run: catalog_file::run,
        seeds: catalog_file::seeds,
        longest: 8192,
    },
    Target {
        name: "study",
        run: study::run,
        seeds: study::seeds,
        longest: 131_072,
    },
    Target {
        name: "events",
        run: events::run,
        seeds: events::seeds,
        longest: 8192,
    },
    Target {
        name: "proc",
        run: procfs::run,
        seeds: procfs::seeds,
        longest: 4096,
    },
    Target {
        name: "oops",
        run: kernel_oops::run,
        seeds: Vec::new,
        longest: 8192,
    },
    Target {
        name: "database",
        run: database::run,
        seeds: database::seeds,
        longest: 1024,
    },
    Target {
        name: "device",
        run: device::run,
        seeds: device::seeds,
        longest: 256,
    },
    Target {
        name: "guest",
        run: guest_files::run,
        seeds: guest_files::seeds,
        longest: 4096,
    },
    Target {
        name: "trace",
        run: trace_file::run,
        seeds: trace_file::seeds,
        longest: 4096,
    },
    Target {
        name: "import",
        run: program_output::run,
        seeds: program_output::seeds,
        longest: 8192,
    },
    Target {
        name: "batch",
        run: batch_files::run,
        seeds: batch_files::seeds,
        longest: 512,
    },
];

/// The target of a name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
