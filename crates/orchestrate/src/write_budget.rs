//! What a campaign has written to disks of this machine's, and what it may write yet. Pure.

use model::Bytes;

/// What a campaign has written, its image among it, and the most that it may.
#[derive(Clone, Copy, Debug)]
pub struct WriteBudget {
    so_far: Bytes,
    /// What cells that are planned write, each phase done once.
    reserved: Bytes,
    /// The most that any cell wrote beyond what was reserved for it: by mkfs, journals and metadata.
    beyond: Bytes,
    most: Bytes,
    /// Whether the user has named the limit.
    named: bool,
}

impl WriteBudget {
    /// So much is written, and so much is reserved for the cells that are planned.
    pub const fn new(so_far: Bytes, reserved: Bytes, most: Bytes, named: bool) -> Self {
        Self {
            so_far,
            reserved,
            beyond: Bytes(0),
            most,
            named,
        }
    }

    /// What has been written.
    pub const fn used(self) -> Bytes {
        self.so_far
    }

    /// The most that may be.
    pub const fn limit(self) -> Bytes {
        self.most
    }

    /// What repetitions may write: all that the planned cells leave.
    pub const fn remaining(self) -> Bytes {
        let taken = self.so_far.0.saturating_add(self.reserved.0);
        Bytes(self.most.0.saturating_sub(taken))
    }

    /// Reserves what further cells write.
    pub const fn reserve(&mut self, cells: Bytes) {
        self.reserved = Bytes(self.reserved.0.saturating_add(cells.0));
    }

    /// Why a cell that writes so much does not begin: what filesystems wrote beside their files has used up what the
    /// user has granted. It is taken to write as much beside them as any cell before it.
    pub fn refusal(self, cell: Bytes) -> Option<String> {
        let Self { so_far, most, .. } = self;
        let cell = Bytes(cell.0.saturating_add(self.beyond.0));
        let too_much = so_far.0.saturating_add(cell.0) > most.0;
        (self.named && too_much).then(|| {
            format!(
                "{so_far} are written, and the next cell may write {cell}: --max-written is {most}; resume with a larger \
                 --max-written"
            )
        })
    }

    /// What is said once nothing is left for repetitions.
    pub fn exhausted_message(self) -> String {
        let Self { so_far, most, .. } = self;
        format!(
            "{so_far} are written, and {most} is the most (--max-written): from here on each phase is done once"
        )
    }

    /// Takes in what a cell wrote for which so much was reserved; true where nothing is left for repetitions from now on.
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

    /// Of 100, 10 are written and two cells of 20 are planned.
    fn begun(named: bool) -> WriteBudget {
        WriteBudget::new(Bytes(10), Bytes(40), Bytes(100), named)
    }

    #[test]
    fn repetitions_have_what_the_planned_cells_leave_and_the_last_of_it_is_told_once() {
        let mut written = begun(false);
        assert_eq!(written.remaining(), Bytes(50));
        assert!(!written.add(Bytes(30), Bytes(20)));
        assert_eq!(written.remaining(), Bytes(40));
        assert!(written.add(Bytes(60), Bytes(20)));
        assert_eq!(written.remaining(), Bytes(0));
        assert!(!written.add(Bytes(10), Bytes(0)));
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
        assert_eq!(written.refusal(Bytes(90)), None);
        written.add(Bytes(40), Bytes(20));
        assert_eq!(written.refusal(Bytes(30)), None);
        let refusal = written.refusal(Bytes(31)).unwrap();
        assert!(refusal.contains("may write 51 B"), "{refusal}");
        assert!(refusal.contains("--max-written is 100 B"), "{refusal}");
        let mut unnamed = begun(false);
        unnamed.add(Bytes(75), Bytes(20));
        assert_eq!(unnamed.refusal(Bytes(20)), None);
    }
}
