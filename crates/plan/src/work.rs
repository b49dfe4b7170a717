//! The work of the phases of a test: bytes and operations of one pass, as far as the plan alone tells.

use model::op::Things;
use model::{Test, Work};

/// The work of each phase of a test, in order.
pub(crate) fn of_phases(test: &Test) -> Vec<Work> {
    let mut things = Things::default();
    let phases = test.phases.iter();
    phases.map(|phase| things.follow(&phase.op)).collect()
}

#[cfg(test)]
mod tests {
    use model::{
        Access, Action, Bytes, Create, EntryKind, Io, IoEngine, Metadata, Op, Order, Sharing,
    };

    use super::*;

    fn job(access: Access) -> Io {
        Io::new("f", access, Bytes::kib(8))
    }

    #[test]
    fn a_file_is_followed_through_its_phases() {
        let mut things = Things::default();
        let write = Io {
            size: Some(Bytes::mib(1)),
            ..job(Access::Write)
        };
        let mut next = |io: Io| {
            let work = things.follow(&Op::Io(io));
            (work.read.0 >> 10, work.written.0 >> 10, work.operations)
        };
        assert_eq!(next(write), (0, 1024, 128));
        assert_eq!(next(job(Access::Rewrite)), (1024, 1024, 128));
        let append = Io {
            size: Some(Bytes::mib(1)),
            ..job(Access::Append)
        };
        assert_eq!(next(append), (0, 1024, 128));
        assert_eq!(next(job(Access::Read)), (2048, 0, 256));
        let few = Io {
            operations: Some(10),
            ..job(Access::Seek { write_share: 0.5 })
        };
        assert_eq!(next(few), (80, 40, 10));
        let mixed = Io {
            operations: Some(100),
            ..job(Access::RandomMix { read_share: 0.75 })
        };
        assert_eq!(next(mixed), (600, 200, 100));
        let nothing = Io {
            engine: IoEngine::Null,
            ..job(Access::Read)
        };
        assert_eq!(next(nothing), (0, 0, 256));
        let synced = Io {
            operations: Some(9),
            fsync: 2,
            ..job(Access::RandomWrite)
        };
        assert_eq!(things.follow(&Op::Io(synced)).syncs, 4);
    }

    #[test]
    fn threads_with_files_of_their_own_multiply() {
        let io = Io {
            size: Some(Bytes::mib(1)),
            threads: 4,
            sharing: Sharing::Own,
            ..job(Access::Write)
        };
        let work = Things::default().follow(&Op::Io(io));
        assert_eq!(work.written, Bytes::mib(4));
    }

    #[test]
    fn a_set_is_as_large_as_it_was_made() {
        let mut things = Things::default();
        let create = Op::Create(Create {
            set: "s".into(),
            kind: EntryKind::File,
            entries: 10,
            directories: 1,
            depth: 1,
            size: Bytes(100),
            spread: model::op::Spread::Fixed,
            order: Order::Random,
            fsync: true,
            fsync_directory: true,
            threads: 1,
            sharing: Sharing::Shared,
        });
        assert_eq!(
            things.follow(&create),
            Work::new(0, 1000, 10).with_syncs(20)
        );
        let stat = |read| {
            Op::Metadata(Metadata {
                set: "s".into(),
                action: Action::Stat { read },
                order: Order::Random,
                threads: 1,
            })
        };
        assert_eq!(things.follow(&stat(true)), Work::new(1000, 0, 10));
        assert_eq!(things.follow(&stat(false)), Work::new(0, 0, 10));
        let remove = Op::Metadata(Metadata {
            set: "s".into(),
            action: Action::Remove { fsync: true },
            order: Order::Random,
            threads: 1,
        });
        assert_eq!(things.follow(&remove), Work::new(0, 0, 10).with_syncs(10));
    }
}
