//! Names the content of a device as reported by blkid(8), for messages. Does not decide whether the
//! device has content.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use model::Bytes;
use sys::io::bounded;

use crate::find_program;

const MAX_OUTPUT_SIZE: Bytes = Bytes::kib(64);
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Returns the format and label reported by blkid. Returns `None` if blkid is not installed or
/// finds no format.
pub fn probe(device: &Path) -> Option<String> {
    let since = Instant::now();
    let mut asked = Command::new(find_program("blkid")?);
    asked.args(["-p", "-o", "export"]).arg(device).env("LC_ALL", "C").stdin(Stdio::null());
    let output =
        bounded::output(&mut asked, MAX_OUTPUT_SIZE, &|| since.elapsed() > TIME_LIMIT).ok()?;
    describe(&String::from_utf8_lossy(&output.stdout))
}

/// Describes `KEY=value` lines: `a partition table (dos)`, `ext4 (filesystem) "photos"`.
fn describe(export: &str) -> Option<String> {
    let value =
        |key: &str| export.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let kind = match (value("TYPE"), value("PTTYPE")) {
        (Some(kind), _) => match value("USAGE") {
            Some(usage) => format!("{kind} ({usage})"),
            None => kind.to_owned(),
        },
        (None, Some(table)) => format!("a partition table ({table})"),
        (None, None) => return None,
    };
    Some(match value("LABEL") {
        Some(label) => format!("{kind} \"{label}\""),
        None => kind,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn describes_the_output_of_blkid() {
        let told = |export| describe(export).unwrap();
        assert_eq!(
            told("DEVNAME=/dev/x\nLABEL=photos\nTYPE=ext4\nUSAGE=filesystem\n"),
            "ext4 (filesystem) \"photos\""
        );
        assert_eq!(told("PTTYPE=gpt\n"), "a partition table (gpt)");
        assert_eq!(describe("UUID=1\n"), None);
    }

    proptest! {
        #[test]
        fn describing_never_panics(text in "(?s).*") {
            let _ = describe(&text);
        }
    }
}
