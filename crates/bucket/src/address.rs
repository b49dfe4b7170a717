//! What names a place in a store: `s3://BUCKET/PREFIX`.

/// A bucket, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketUrl {
    /// The bucket.
    pub bucket: String,
    /// What the names of all objects begin with, without `/` at its ends; empty for the whole bucket.
    pub prefix: String,
}

impl BucketUrl {
    /// What an address says; nothing where it is none of a bucket's, but perhaps that of a directory.
    ///
    /// # Errors
    /// When it names no bucket, in one line.
    pub fn parse(text: &str) -> Option<Result<Self, String>> {
        let rest = text.strip_prefix("s3://")?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_bucket = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        if bucket.is_empty() || !bucket.bytes().all(is_bucket) {
            let why = format!("`{text}` names no bucket: s3://BUCKET or s3://BUCKET/PREFIX");
            return Some(Err(why));
        }
        Some(Ok(Self {
            bucket: bucket.to_owned(),
            prefix: prefix.trim_matches('/').to_owned(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_and_a_prefix_are_read_and_a_directory_is_none() {
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
    fn a_program_without_s3_says_how_to_build_one() {
        let address = BucketUrl::parse("s3://cells").unwrap().unwrap();
        let error = crate::open(&address, &Default::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains("--features s3"), "{error}");
    }
}
