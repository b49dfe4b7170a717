//! Attacks that once destroyed data of others, or had a filesystem blamed for what it did not do. SECURITY.md says
//! against whom fsarena protects what.

mod blame;
mod devices;
mod links;
mod programs;
