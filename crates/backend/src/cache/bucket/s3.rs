//! A blob store that keeps its entries as objects of a bucket.

use std::future::Future;
use std::io;
use std::time::Duration;

use crate::BlobStore;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientOptions, Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions,
    PutPayload, RetryConfig, UpdateVersion,
};
use tokio::runtime::{Builder, Runtime};

use crate::cache::bucket::{BucketError, BucketUrl, EnvVars};

/// Timeout of a request.
const ANSWERS: Duration = Duration::from_secs(30);
/// Maximum time for retries of a failed request.
const RETRIED: Duration = Duration::from_secs(20);
/// Maximum size of an entry, in bytes.
const MAX_S3_SIZE: u64 = 128 << 20;

/// A bucket, or the objects in it below a prefix.
#[derive(Debug)]
pub struct S3Store {
    store: AmazonS3,
    address: BucketUrl,
    runtime: Runtime,
}

impl S3Store {
    /// Opens a bucket with the settings of the environment.
    pub fn open(address: &BucketUrl, environment: &EnvVars) -> Result<Self, BucketError> {
        let given = |name: &str| environment.get(name).map_or("", String::as_str);
        let endpoint = given("AWS_ENDPOINT_URL");
        let is_allowed = matches!(given("AWS_ALLOW_HTTP"), "true" | "1");
        let is_plain = is_plain(endpoint);
        if is_plain && !is_allowed && !is_here(endpoint) {
            return Err(BucketError::Unencrypted(endpoint.to_owned()));
        }
        // Machines at Amazon may use their roles instead of a key; other stores have no service
        // that provides a role.
        let mut needed = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].into_iter();
        if !endpoint.is_empty()
            && let Some(name) = needed.find(|name| given(name).is_empty())
        {
            return Err(BucketError::InvalidSettings {
                bucket: address.bucket.clone(),
                why: format!("{name} is not set"),
            });
        }
        // An already installed provider is not an error.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let settings = |error: &dyn std::error::Error| BucketError::InvalidSettings {
            bucket: address.bucket.clone(),
            why: words(error),
        };
        let options = ClientOptions::default().with_allow_http(is_plain).with_timeout(ANSWERS);
        let ours = environment.iter().filter(|(name, _)| name.starts_with("AWS_"));
        let named = ours.filter_map(|(name, value)| {
            let key: AmazonS3ConfigKey = name.to_ascii_lowercase().parse().ok()?;
            Some((key, value))
        });
        let store = named
            .fold(AmazonS3Builder::new(), |store, (key, value)| store.with_config(key, value))
            .with_bucket_name(&address.bucket)
            .with_client_options(options)
            .with_retry(RetryConfig {
                backoff: BackoffConfig::default(),
                max_retries: 3,
                retry_timeout: RETRIED,
            })
            .build()
            .map_err(|error| settings(&error))?;
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        Ok(Self {
            store,
            address: address.clone(),
            runtime: runtime.map_err(|error| settings(&error))?,
        })
    }

    fn path(&self, name: &str) -> Path {
        match self.address.prefix.is_empty() {
            true => Path::from(name),
            false => Path::from(format!("{}/{name}", self.address.prefix)),
        }
    }

    /// Waits for an answer. Returns `None` if the object does not exist.
    fn ask<T>(&self, question: impl Future<Output = Result<T, Error>>) -> io::Result<Option<T>> {
        match self.runtime.block_on(question) {
            Ok(answer) => Ok(Some(answer)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(io::Error::other(words(&error))),
        }
    }

    /// Writes an entry under a condition. Returns true if the condition held.
    fn write(&self, name: &str, content: &str, mode: PutMode) -> io::Result<bool> {
        let (path, payload) = (self.path(name), PutPayload::from(content.to_owned()));
        let put = self.store.put_opts(&path, payload, PutOptions::from(mode));
        match self.runtime.block_on(put) {
            Ok(_) => Ok(true),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(false),
            Err(error) => Err(io::Error::other(words(&error))),
        }
    }

    /// Returns the content and the version of an object.
    fn version(&self, name: &str) -> io::Result<Option<(String, UpdateVersion)>> {
        let path = self.path(name);
        let question = async {
            let found = self.store.get(&path).await?;
            let version = UpdateVersion {
                e_tag: found.meta.e_tag.clone(),
                version: found.meta.version.clone(),
            };
            let is_one = found.meta.size <= MAX_S3_SIZE;
            let bytes = match is_one {
                true => found.bytes().await?,
                false => Default::default(),
            };
            Ok((String::from_utf8_lossy(&bytes).into_owned(), version))
        };
        self.ask(question)
    }
}

impl BlobStore for S3Store {
    fn path_of(&self) -> String {
        let BucketUrl { bucket, prefix } = &self.address;
        match prefix.is_empty() {
            true => format!("s3://{bucket}"),
            false => format!("s3://{bucket}/{prefix}"),
        }
    }

    fn read(&self, name: &str) -> io::Result<Option<String>> {
        Ok(self.version(name)?.map(|(text, _)| text))
    }

    fn put(&self, name: &str, content: &str) -> io::Result<()> {
        self.write(name, content, PutMode::Overwrite).map(|_| ())
    }

    fn create(&self, name: &str, content: &str) -> io::Result<bool> {
        self.write(name, content, PutMode::Create)
    }

    fn compare_and_swap(&self, name: &str, seen: &str, content: &str) -> io::Result<bool> {
        match self.version(name)? {
            Some((there, version)) if there == seen => {
                self.write(name, content, PutMode::Update(version))
            }
            _ => Ok(false),
        }
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let path = self.path(name);
        self.ask(self.store.delete(&path)).map(|_| ())
    }
}

/// Returns true if the connection to an address is unencrypted.
fn is_plain(endpoint: &str) -> bool {
    let scheme = endpoint.get(..5).unwrap_or_default();
    scheme.eq_ignore_ascii_case("http:")
}

/// Returns true if an address belongs to this machine.
fn is_here(endpoint: &str) -> bool {
    let host = endpoint.split("://").nth(1).unwrap_or_default();
    let host = host.split('/').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(host) => host.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Formats an error as one line: the message of the store, or else the innermost cause.
fn words(error: &dyn std::error::Error) -> String {
    let all: Vec<String> = std::iter::successors(Some(error), |error| error.source())
        .map(ToString::to_string)
        .collect();
    let element = |name: &str| {
        let whole = all.iter().find(|words| words.contains(&format!("<{name}>")))?;
        let (_, rest) = whole.split_once(&format!("<{name}>"))?;
        rest.split_once('<').map(|(content, _)| content.to_owned())
    };
    match (element("Code"), element("Message")) {
        (Some(code), Some(message)) => format!("object store returned {code}: {message}"),
        _ => all.last().cloned().unwrap_or_default().replace('\n', " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_reached_in_plain_text() {
        for endpoint in ["http://localhost:9000", "http://127.0.0.1", "http://[::1]:80/x"] {
            assert!(is_plain(endpoint) && is_here(endpoint), "{endpoint}");
        }
        for endpoint in ["http://10.0.0.1", "http://localhost.example.com", "HTTP://store:80"] {
            assert!(is_plain(endpoint) && !is_here(endpoint), "{endpoint}");
        }
        assert!(!is_plain("https://store") && !is_plain(""));
    }

    #[test]
    fn an_error_of_the_store_becomes_one_line() {
        let said =
            "failed: <Error>\n<Code>NoSuchBucket</Code><Message>There is none</Message></Error>";
        let error = io::Error::other(said);
        assert_eq!(words(&error), "object store returned NoSuchBucket: There is none");
        assert_eq!(words(&io::Error::other("a\nb")), "a b");
    }
}
