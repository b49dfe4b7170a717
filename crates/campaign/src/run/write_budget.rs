//! Bytes that a campaign has written to disks of this machine, and its remaining write budget.
//! Pure.

use model::Bytes;

/// Bytes that a campaign has written, including its image, and the limit.
#[derive(Clone, Copy, Debug)]
pub struct WriteBudget {
    so_far: Bytes,
    /// Expected bytes of the planned cells, without repetitions.
    reserved: Bytes,
    /// Maximum bytes that any cell wrote in addition to its reservation: by mkfs, journals and
    /// metadata.
    beyond: Bytes,
    most: Bytes,
    /// Whether the user gave the limit.
    named: bool,
}

impl WriteBudget {
    /// Creates the counters from the bytes already written and the bytes reserved for planned
    /// cells.
    pub const fn new(so_far: Bytes, reserved: Bytes, most: Bytes, named: bool) -> Self {
        Self { so_far, reserved, beyond: Bytes(0), most, named }
    }

    /// Returns the bytes written.
    pub const fn used(self) -> Bytes {
        self.so_far
    }

    /// Returns the write limit.
    pub const fn limit(self) -> Bytes {
        self.most
    }

    /// Returns the bytes available for repetitions: all that planned cells do not need. To keep a
    /// limit that the user gave, planned cells may need a quarter more than their data, and
    /// repetitions twice theirs: filesystems also write metadata and journals.
    pub const fn remaining(self) -> Bytes {
        let Self { so_far, reserved, most, named, .. } = self;
        let metadata = if named { reserved.0 / 4 } else { 0 };
        let taken = so_far.0.saturating_add(reserved.0).saturating_add(metadata);
        let rest = most.0.saturating_sub(taken);
        Bytes(if named { rest / 2 } else { rest })
    }

    /// Reserves the bytes of additional cells.
    pub const fn reserve(&mut self, cells: Bytes) {
        self.reserved = Bytes(self.reserved.0.saturating_add(cells.0));
    }

    /// Returns the reason if a cell that writes `cell` bytes would exceed the limit. Filesystems also
    /// write metadata: adds the estimate for the cell, or the largest excess of any earlier cell.
    pub fn refusal(self, cell: Bytes, metadata: Bytes) -> Option<String> {
        let Self { so_far, most, .. } = self;
        let cell = Bytes(cell.0.saturating_add(self.beyond.max(metadata).0));
        let too_much = so_far.0.saturating_add(cell.0) > most.0;
        (self.named && too_much).then(|| {
            let (so_far, cell) = (so_far.format_like(most), cell.format_like(most));
            format!(
                "{so_far} are written, and the next cell may write {cell}: --max-written is {most}; resume with a larger \
                 --max-written"
            )
        })
    }

    /// Formats the message that no bytes remain for repetitions.
    pub fn exhausted_message(self) -> String {
        let Self { so_far, most, .. } = self;
        format!(
            "{} are written, and {most} is the most (--max-written): from here on each phase is done once",
            so_far.format_like(most)
        )
    }

    /// Adds the bytes written by a cell for which `reserved` bytes were reserved. Returns true if
    /// this used up the bytes for repetitions.
    pub const fn add(&mut self, cell: Bytes, reserved: Bytes) -> bool {
        let before = self.remaining();
        self.so_far = Bytes(self.so_far.0.saturating_add(cell.0));
        self.reserved = Bytes(self.reserved.0.saturating_sub(reserved.0));
        let beyond = cell.0.saturating_sub(reserved.0);
        if beyond > self.beyond.0 {
            self.beyond = Bytes(beyond);
        }
        before.0 > 0 && self.remaining().0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a budget of 100 bytes: 10 written, 40 reserved for two cells.
    fn begun(named: bool) -> WriteBudget {
        WriteBudget::new(Bytes(10), Bytes(40), Bytes(100), named)
    }

    #[test]
    fn exhausted_repetitions_are_reported_once() {
        let mut written = begun(false);
        assert_eq!(written.remaining(), Bytes(50));
        assert!(!written.add(Bytes(30), Bytes(20)));
        assert_eq!(written.remaining(), Bytes(40));
        assert!(written.add(Bytes(60), Bytes(20)));
        assert_eq!(written.remaining(), Bytes(0));
        assert!(!written.add(Bytes(10), Bytes(0)));
    }

    #[test]
    fn repetitions_leave_room_for_the_metadata_of_a_limit_that_the_user_named() {
        let written = begun(true);
        assert_eq!(written.remaining(), Bytes(20), "half of 100 - 10 - 40 - 10");
        assert_eq!(begun(false).remaining(), Bytes(50));
    }

    #[test]
    fn further_rounds_are_reserved_for() {
        let mut written = begun(false);
        written.reserve(Bytes(45));
        assert_eq!(written.remaining(), Bytes(5));
    }

    #[test]
    fn a_limit_that_the_user_named_keeps_cells_from_beginning_and_no_other_does() {
        let mut written = begun(true);
        assert_eq!(written.refusal(Bytes(90), Bytes(0)), None);
        written.add(Bytes(40), Bytes(20));
        assert_eq!(written.refusal(Bytes(30), Bytes(19)), None);
        let refusal = written.refusal(Bytes(31), Bytes(0)).unwrap();
        assert!(refusal.contains("may write 51 B"), "{refusal}");
        assert!(refusal.contains("--max-written is 100 B"), "{refusal}");
        let refusal = written.refusal(Bytes(5), Bytes(60)).unwrap();
        assert!(refusal.contains("may write 65 B"), "{refusal}");
        let mut unnamed = begun(false);
        unnamed.add(Bytes(75), Bytes(20));
        assert_eq!(unnamed.refusal(Bytes(20), Bytes(0)), None);
    }
}
