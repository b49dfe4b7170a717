//! A cache of cells in a bucket of an S3-compatible store. Built with the feature `s3`; without it, naming a bucket is
//! refused in one line.
//!
//! Where the store is and who may use it comes from the usual variables of the environment (`AWS_ENDPOINT_URL`, `AWS_REGION`,
//! `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`). The store has to know conditional writes
//! (`If-None-Match`, `If-Match`).

mod address;
#[cfg(feature = "s3")]
mod s3;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::BlobStore;

pub use address::BucketUrl;

/// Why a bucket cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    /// This program was built without.
    #[error(
        "this fsarena was built without S3: `cargo build --release --locked --features s3`, or name a directory (--cache DIR)"
    )]
    FeatureDisabled,
    /// It would be reached over the network as plain text.
    #[error("{0} is not encrypted: use https://, or set AWS_ALLOW_HTTP=true on a trusted network")]
    Unencrypted(String),
    /// The environment does not say all.
    #[error(
        "s3://{bucket} cannot be used: {why}; see AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY"
    )]
    InvalidSettings {
        /// The bucket.
        bucket: String,
        /// The cause.
        why: String,
    },
}

/// Variables of the environment, by name.
pub type Environment = BTreeMap<String, String>;

/// Opens the bucket at an address with the settings of the environment. Does not connect to the
/// store.
///
/// # Errors
/// Returns an error if a setting is missing or invalid, or if this program was built without S3
/// support.
#[cfg(feature = "s3")]
pub fn open(
    address: &BucketUrl,
    environment: &Environment,
) -> Result<Arc<dyn BlobStore>, BucketError> {
    Ok(Arc::new(s3::S3Store::open(address, environment)?))
}

/// The bucket at an address, which this program cannot reach.
///
/// # Errors
/// Always.
#[cfg(not(feature = "s3"))]
pub const fn open(_: &BucketUrl, _: &Environment) -> Result<Arc<dyn BlobStore>, BucketError> {
    Err(BucketError::FeatureDisabled)
}
