//! Errors that are told to the user by their kind.

use std::io;
use std::path::Path;

use guest::GuestError;
use model::NoUserDirectory;
use provision::ProvisionError;
use wire::machine::Kind;

use crate::connection::Lost;

/// An error that is the user's to mend: what they said is wrong.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadInput(pub String);

/// An error that is the machine's: something is not as it must be.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// The user asked to stop.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interruption;

/// Why a path that an option leads to cannot be used: campaigns are stored as text.
pub fn not_utf8(option: &str, path: &Path) -> String {
    let path = path.display();
    format!("{option} leads to {path}, which is not UTF-8: give another path")
}

/// An error with its causes, each said once: some repeat the cause themselves.
pub fn whole(error: &anyhow::Error) -> String {
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

/// Of which kind an error is.
pub fn kind(error: &anyhow::Error) -> Kind {
    error.chain().find_map(kind_of).unwrap_or(Kind::Internal)
}

fn kind_of(error: &(dyn std::error::Error + 'static)) -> Option<Kind> {
    let interrupted = matches!(error.downcast_ref(), Some(ProvisionError::Interrupted))
        || matches!(error.downcast_ref(), Some(GuestError::Interrupted { .. }))
        || error.is::<Interruption>();
    if interrupted {
        return Some(Kind::Interrupted);
    }
    let not_utf8 = matches!(error.downcast_ref(), Some(NoUserDirectory::NotUtf8(_)));
    let input = not_utf8 || error.is::<BadInput>() || error.is::<catalog::CatalogError>();
    let refused = error.is::<Refused>()
        || error.is::<Lost>()
        || error.is::<ProvisionError>()
        || error.is::<provision::Refusal>()
        || error.is::<sys::trusted::Untrusted>()
        || error.is::<GuestError>()
        || error.is::<run::MemoryError>()
        || error.is::<run::NotInGuest>()
        || error.is::<NoUserDirectory>()
        // The system said no: there is no room, no permission, no such file.
        || error.is::<io::Error>();
    match (input, refused) {
        (true, _) => Some(Kind::BadInput),
        (false, true) => Some(Kind::Refused),
        (false, false) => None,
    }
}

/// The error that was told as one of this kind.
pub fn told(kind: Kind, reason: String) -> anyhow::Error {
    match kind {
        Kind::BadInput => BadInput(reason).into(),
        Kind::Refused => Refused(reason).into(),
        Kind::Interrupted => Interruption.into(),
        Kind::Internal => anyhow::anyhow!(reason),
    }
}
