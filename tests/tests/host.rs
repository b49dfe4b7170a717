//! What is tested on this machine, with root: campaigns on images, devices and directories, what they leave, and the
//! page in a browser. One program, which is linked once and runs the tests of all these files side by side.

mod adding_an_operation;
mod advise;
mod attacks;
mod bonnie_calls;
mod cache;
mod calibrate;
mod campaign_file;
mod circumstances;
mod compare;
mod database;
mod device_safety;
mod exec;
mod exports;
mod failures;
mod format;
mod guest_build;
mod kill_and_resume;
mod metadata;
mod mount_safety;
mod opening_and_closing;
mod process_limits;
mod record;
mod report_page;
mod report_page_uses;
mod shell;
mod shootout_smoke;
mod source;
mod ssh;
mod statistics;
mod studies;
mod sudo;
mod sweeps;
mod ways;
