//! Tests on this machine that need root: campaigns on images, devices and directories, their
//! leftovers, and the page in a browser. One program that is linked once and runs the tests of all
//! these files in parallel.

mod adding_an_operation;
mod advise;
mod age;
mod attacks;
mod bonnie_calls;
mod calibrate;
mod campaign_file;
mod circumstances;
mod compare;
mod database;
mod device_safety;
mod documented_commands;
mod exec;
mod exports;
mod failures;
mod format;
mod full;
mod guest_build;
mod kill_and_resume;
mod maintenance;
mod metadata;
mod mixes;
mod mount_safety;
mod opening_and_closing;
mod process_limits;
mod real_work;
mod record;
mod report_page;
mod report_page_disks;
mod report_page_selection;
mod report_page_shapes;
mod report_page_uses;
mod several_images;
mod shell;
mod shootout_smoke;
mod site;
mod source;
mod ssh;
mod statistics;
mod stopwatch;
mod studies;
mod sudo;
mod survive;
mod sweeps;
mod trace;
mod watch;
mod ways;

use std::path::Path;

/// Returns the name of the directory of the first campaign of a database, with this seed.
fn campaign_directory(database: &Path, seed: u64) -> String {
    format!("fsarena-1-{:x}", seed ^ backend::database_digest(database))
}
