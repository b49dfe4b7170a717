//! Kinds of content that tests write.

use crate::Op;
use crate::op::fs_state::{FsChange, FsState};

crate::named_enum! {
    /// The content of the files that fsarena writes. Blocks of 4 KiB never repeat, because each has
    /// its own stamp.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum DataKind {
        /// Random bytes, which do not compress.
        #[default]
        Random = "random",
        /// Words with the frequencies of a natural language.
        Text = "text",
        /// Pages of a database, with headers, numbers in order and short texts.
        Database = "database",
        /// Bytes as in a compressed picture, which do not compress further.
        Photos = "photos",
        /// Zeros, except for the stamps.
        Zero = "zero",
    }
}

impl DataKind {
    /// Returns true if a filesystem can compress the content.
    pub const fn is_compressible(self) -> bool {
        matches!(self, Self::Text | Self::Database | Self::Zero)
    }

    /// Returns true for the content of all tests that state none.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Op {
    /// Returns true if fsarena generates the content that the operation writes.
    pub fn writes_content(&self) -> bool {
        let is_foreign = matches!(self, Self::Exec(_) | Self::External(_) | Self::Fill(_));
        !is_foreign && FsState::default().apply(self).written.0 > 0
    }

    /// Returns true if it writes only new files with generated content, so that the space that they
    /// take shows their compression.
    pub fn makes_content(&self) -> bool {
        // A replay may write a file several times, and remove it.
        if matches!(self, Self::Replay(_)) || !self.writes_content() {
            return false;
        }
        let is_new = |change: &FsChange| matches!(change, FsChange::Made(..));
        let changes = self.changes();
        !changes.is_empty() && changes.iter().all(is_new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AccessPattern, Bytes, Exec, Io};

    #[test]
    fn only_new_files_show_their_compression() {
        let io = |access| {
            let size = Some(Bytes::mib(1));
            Op::Io(Io { size, ..Io::new("f", access, Bytes::kib(4)) })
        };
        assert!(io(AccessPattern::Write).makes_content());
        assert!(io(AccessPattern::Overwrite).writes_content());
        assert!(!io(AccessPattern::Overwrite).makes_content());
        assert!(!io(AccessPattern::Read).writes_content());
        let exec = Exec { writes: Some(Bytes::mib(1)), ..Exec::new("true") };
        assert!(!Op::from(exec).writes_content());
    }
}
