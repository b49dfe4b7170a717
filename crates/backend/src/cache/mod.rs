//! Caches results of cells by the digest of their inputs, in a directory or an S3 bucket.

pub(crate) mod blob_store;
pub mod bucket;
pub(crate) mod cache_executor;
pub(crate) mod cell_cache;
pub(crate) mod cell_claim;
pub(crate) mod cell_key;
#[cfg(test)]
pub(crate) mod shared_cache_tests;
