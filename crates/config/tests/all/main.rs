//! Tests of the catalog, suites and campaign files, in one program, because linking is slow.

mod builtin;
mod campaigns;
mod errors;
mod overlay;
mod uses;
