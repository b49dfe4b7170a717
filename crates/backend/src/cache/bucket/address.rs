//! Addresses of buckets in an object store: `s3://BUCKET/PREFIX`.

/// A bucket and a prefix in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketUrl {
    /// The bucket.
    pub bucket: String,
    /// Prefix of all object names, without leading or trailing `/`; empty for the whole bucket.
    pub prefix: String,
}

impl BucketUrl {
    /// Parses an address. Returns `None` if it does not start with `s3://` and may be a directory.
    ///
    /// # Errors
    /// Returns a one-line error if the address has no valid bucket name.
    pub fn parse(text: &str) -> Option<Result<Self, String>> {
        let rest = text.strip_prefix("s3://")?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_bucket = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        if bucket.is_empty() || !bucket.bytes().all(is_bucket) {
            let why = format!("`{text}` names no bucket: s3://BUCKET or s3://BUCKET/PREFIX");
            return Some(Err(why));
        }
        Some(Ok(Self { bucket: bucket.to_owned(), prefix: prefix.trim_matches('/').to_owned() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_bucket_and_prefix_but_not_directories() {
        let address = |bucket: &str, prefix: &str| BucketUrl {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
        };
        for (text, read) in [
            ("s3://cells", address("cells", "")),
            ("s3://cells/", address("cells", "")),
            ("s3://cells/fs/arena/", address("cells", "fs/arena")),
        ] {
            assert_eq!(BucketUrl::parse(text), Some(Ok(read)), "{text}");
        }
        for text in ["/s3", "s3", "s3:/x", "s4://x"] {
            assert_eq!(BucketUrl::parse(text), None, "{text}");
        }
        for text in ["s3://", "s3:///x", "s3://a b"] {
            assert!(BucketUrl::parse(text).unwrap().is_err(), "{text}");
        }
    }

    #[cfg(not(feature = "s3"))]
    #[test]
    fn a_build_without_s3_explains_how_to_enable_it() {
        let address = BucketUrl::parse("s3://cells").unwrap().unwrap();
        let error =
            crate::cache::bucket::open(&address, &Default::default()).unwrap_err().to_string();
        assert!(error.contains("--features s3"), "{error}");
    }
}
