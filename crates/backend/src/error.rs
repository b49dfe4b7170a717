//! Errors reported to the user by kind.

use std::io;
use std::path::Path;

use guest::GuestError;
use model::UserDirError;
use model::wire::machine::FailureKind;
use storage::{DeviceRefusal, ProvisionError};

use crate::remote::connection::ConnectionLost;

/// An error in the user's input.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// An error caused by the state of the machine.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct EnvironmentError(pub String);

/// The user asked to stop.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct UserInterrupt;

/// Builds the error for a process or thread that cannot be started.
pub(crate) fn not_started(what: &str, error: &io::Error) -> EnvironmentError {
    let fix = match error.kind() {
        io::ErrorKind::WouldBlock => "; raise the limit on processes with `ulimit -u`",
        _ => "",
    };
    EnvironmentError(format!("cannot start {what}: {error}{fix}"))
}

/// Formats the error for an option with a path that is not UTF-8: campaigns are stored as text.
pub fn not_utf8(option: &str, path: &Path) -> String {
    let path = path.display();
    format!("{option} leads to {path}, which is not UTF-8: give another path")
}

/// Formats an error with its causes. Omits causes that the text already contains, because some
/// errors repeat them.
pub fn error_chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for part in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = part;
        } else if !text.contains(&part) {
            text = format!("{text}: {part}");
        }
    }
    text
}

/// Maximum length of a message, in characters.
pub const MAX_MESSAGE_LENGTH: usize = 2000;
/// Maximum length of the text of a host within a message, in characters.
pub const MAX_QUOTE_LENGTH: usize = 200;

/// Removes the middle of a text of more than this number of characters.
pub fn shorten(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let start = text.chars().take(most / 2);
    start.chain(" … ".chars()).chain(text.chars().skip(count - most / 2)).collect()
}

/// Returns the kind of an error.
pub fn kind(error: &anyhow::Error) -> FailureKind {
    error.chain().find_map(kind_of).unwrap_or(FailureKind::Internal)
}

fn kind_of(error: &(dyn std::error::Error + 'static)) -> Option<FailureKind> {
    let interrupted = matches!(error.downcast_ref(), Some(ProvisionError::Interrupted))
        || matches!(error.downcast_ref(), Some(GuestError::Interrupted { .. }))
        || error.is::<UserInterrupt>();
    if interrupted {
        return Some(FailureKind::Interrupted);
    }
    let not_utf8 = matches!(error.downcast_ref(), Some(UserDirError::NotUtf8(_)));
    let no_device = matches!(
        error.downcast_ref(),
        Some(DeviceRefusal::Absent { .. } | DeviceRefusal::NotADevice { .. })
    );
    let input =
        not_utf8 || no_device || error.is::<UsageError>() || error.is::<config::CatalogError>();
    let refused = error.is::<EnvironmentError>()
        || error.is::<ConnectionLost>()
        || error.is::<ProvisionError>()
        || error.is::<DeviceRefusal>()
        || error.is::<sys::fs::safe_path::UntrustedPath>()
        || error.is::<GuestError>()
        || error.is::<crate::MemoryError>()
        || error.is::<crate::UnsupportedInGuest>()
        || error.is::<UserDirError>()
        // The system refused the operation: no space, no permission or no such file.
        || error.is::<io::Error>();
    match (input, refused) {
        (true, _) => Some(FailureKind::Usage),
        (false, true) => Some(FailureKind::Environment),
        (false, false) => None,
    }
}

/// Builds an error of this kind from its text.
pub fn from_kind(kind: FailureKind, reason: String) -> anyhow::Error {
    match kind {
        FailureKind::Usage => UsageError(reason).into(),
        FailureKind::Environment => EnvironmentError(reason).into(),
        FailureKind::Interrupted => UserInterrupt.into(),
        FailureKind::Internal => anyhow::anyhow!(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_quotes_a_long_value_keeps_both_ends() {
        let of = |value: String| {
            shorten(&format!("cannot use `{value}`: it is too long"), MAX_MESSAGE_LENGTH)
        };
        let short = of("é".repeat(1000));
        assert!(!short.contains('…'), "{short}");
        let long = of("é".repeat(100_000));
        assert!(
            long.starts_with("cannot use `é") && long.ends_with("é`: it is too long"),
            "{long}"
        );
        assert_eq!(long.chars().count(), 2003);
    }
}
