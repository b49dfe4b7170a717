//! Attacks that once destroyed data of others, or had a filesystem blamed for a failure that it did
//! not cause. SECURITY.md lists the threats against which fsarena protects.

mod blame;
mod devices;
mod hosts;
mod links;
mod programs;
mod signals;
