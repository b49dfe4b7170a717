//! A cache of cells in a bucket of an S3-compatible store. Needs the feature `s3`; without it,
//! every bucket is refused with a one-line error.
//!
//! Address and credentials of the store come from the usual environment variables
//! (`AWS_ENDPOINT_URL`, `AWS_REGION`, `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
//! `AWS_SESSION_TOKEN`). The store must support conditional writes (`If-None-Match`, `If-Match`).

mod address;
#[cfg(feature = "s3")]
mod s3;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::BlobStore;

pub use address::BucketUrl;

/// Reason that a bucket cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BucketError {
    /// This program was built without S3 support.
    #[error(
        "this fsarena was built without S3: `cargo build --release --locked --features s3`, or name a directory (--cache DIR)"
    )]
    FeatureDisabled,
    /// The connection to the bucket would be unencrypted.
    #[error("{0} is not encrypted: use https://, or set AWS_ALLOW_HTTP=true on a trusted network")]
    Unencrypted(String),
    /// A required environment variable is missing or invalid.
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

/// Environment variables by name.
pub type EnvVars = BTreeMap<String, String>;

/// Opens the bucket at an address with the settings of the environment. Does not connect to the
/// store.
///
/// # Errors
/// Returns an error if a setting is missing or invalid, or if this program was built without S3
/// support.
#[cfg(feature = "s3")]
pub fn open(address: &BucketUrl, environment: &EnvVars) -> Result<Arc<dyn BlobStore>, BucketError> {
    Ok(Arc::new(s3::S3Store::open(address, environment)?))
}

/// Refuses the bucket, because this program was built without S3 support.
///
/// # Errors
/// Always returns an error.
#[cfg(not(feature = "s3"))]
pub const fn open(_: &BucketUrl, _: &EnvVars) -> Result<Arc<dyn BlobStore>, BucketError> {
    Err(BucketError::FeatureDisabled)
}
