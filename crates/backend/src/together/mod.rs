//! Cells that several hosts run together: each host runs some of the threads of every phase, in one
//! directory that all of them see.

pub(crate) mod backend;
mod merge;
mod rendezvous;
