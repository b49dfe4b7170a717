//! Work of the phases of a test: bytes and operations of one pass, derived from the plan.

use model::op::FsState;
use model::{Test, WorkEstimate};

/// Estimates the work of each phase of a test, in order.
pub(crate) fn estimate_phases(test: &Test) -> Vec<WorkEstimate> {
    let mut things = FsState::default();
    let phases = test.phases.iter();
    phases.map(|phase| things.apply(&phase.op)).collect()
}

#[cfg(test)]
mod tests {
    use model::{
        AccessPattern, Bytes, Create, EntryKind, FileSharing, Io, IoEngine, Metadata,
        MetadataAction, Op, TraversalOrder,
    };

    use super::*;

    fn job(access: AccessPattern) -> Io {
        Io::new("f", access, Bytes::kib(8))
    }

    #[test]
    fn a_file_is_followed_through_its_phases() {
        let mut things = FsState::default();
        let write = Io { size: Some(Bytes::mib(1)), ..job(AccessPattern::Write) };
        let mut next = |io: Io| {
            let work = things.apply(&Op::Io(io));
            (work.read.0 >> 10, work.written.0 >> 10, work.operations)
        };
        assert_eq!(next(write), (0, 1024, 128));
        assert_eq!(next(job(AccessPattern::Rewrite)), (1024, 1024, 128));
        let append = Io { size: Some(Bytes::mib(1)), ..job(AccessPattern::Append) };
        assert_eq!(next(append), (0, 1024, 128));
        assert_eq!(next(job(AccessPattern::Read)), (2048, 0, 256));
        let few = Io { operations: Some(10), ..job(AccessPattern::Seek { write_share: 0.5 }) };
        assert_eq!(next(few), (80, 40, 10));
        let mixed =
            Io { operations: Some(100), ..job(AccessPattern::RandomMix { read_share: 0.75 }) };
        assert_eq!(next(mixed), (600, 200, 100));
        let nothing = Io { engine: IoEngine::Null, ..job(AccessPattern::Read) };
        assert_eq!(next(nothing), (0, 0, 256));
        let synced = Io { operations: Some(9), fsync: 2, ..job(AccessPattern::RandomWrite) };
        assert_eq!(things.apply(&Op::Io(synced)).syncs, 4);
    }

    #[test]
    fn private_files_multiply_the_work_by_threads() {
        let io = Io {
            size: Some(Bytes::mib(1)),
            threads: 4,
            sharing: FileSharing::Own,
            ..job(AccessPattern::Write)
        };
        let work = FsState::default().apply(&Op::Io(io));
        assert_eq!(work.written, Bytes::mib(4));
    }

    #[test]
    fn work_on_a_set_counts_the_entries_it_was_created_with() {
        let mut things = FsState::default();
        let create = Op::Create(Create {
            set: "s".into(),
            kind: EntryKind::File,
            entries: 10,
            directories: 1,
            depth: 1,
            size: Bytes(100),
            spread: model::op::SizeDistribution::Fixed,
            order: TraversalOrder::Random,
            fsync: true,
            fsync_directory: true,
            threads: 1,
            sharing: FileSharing::Shared,
        });
        assert_eq!(things.apply(&create), WorkEstimate::new(0, 1000, 10).with_syncs(20));
        let stat = |read| {
            Op::Metadata(Metadata {
                set: "s".into(),
                action: MetadataAction::Stat { read },
                order: TraversalOrder::Random,
                threads: 1,
            })
        };
        assert_eq!(things.apply(&stat(true)), WorkEstimate::new(1000, 0, 10));
        assert_eq!(things.apply(&stat(false)), WorkEstimate::new(0, 0, 10));
        let remove = Op::Metadata(Metadata {
            set: "s".into(),
            action: MetadataAction::Remove { fsync: true },
            order: TraversalOrder::Random,
            threads: 1,
        });
        assert_eq!(things.apply(&remove), WorkEstimate::new(0, 0, 10).with_syncs(10));
    }
}
