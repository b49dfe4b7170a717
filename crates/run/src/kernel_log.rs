//! Which lines of the kernel log belong to a cell, since the log is one for the whole machine, and how many of them are
//! kept.

use wire::{Job, Target};

/// A loud cell does not fill the store: so many lines are kept from the beginning of its log, where the cause
/// stands, and so many from the end, where its death does.
const KEPT: (usize, usize) = (350, 150);

/// The lines that may be about this cell: all but those that name another loop device, and
/// those that are about no filesystem.
pub fn of_cell(lines: Vec<String>, job: &Job) -> Vec<String> {
    let own = match &job.target {
        Target::Volume(volume) => volume.device.as_deref().and_then(|d| d.file_name()),
        Target::Directory { .. } => None,
    };
    let own = own.unwrap_or_default().to_string_lossy();
    let ours = |line: &String| {
        !names_another(line, &own) && !is_of_the_attachment(line) && !is_a_count(line)
    };
    lines.into_iter().filter(ours).collect()
}

/// The log as it is kept; only what was searched already may be cut.
pub fn cut(mut lines: Vec<String>) -> Vec<String> {
    let (first, last) = KEPT;
    if lines.len() > first + last {
        let left_out = lines.len() - first - last;
        let note = format!("<4> … {left_out} lines left out …");
        lines.splice(first..first + left_out, [note]);
    }
    lines
}

/// What the kernel logs because of the way images are attached and not because of a filesystem: a
/// loop device without discards refuses WRITE_ZEROES, upon which the kernel writes zeros itself and
/// logs an error.
fn is_of_the_attachment(line: &str) -> bool {
    line.contains("operation not supported error") && line.contains("op 0x9:(WRITE_ZEROES)")
}

/// How many lines of one kind were left out, whoever caused them; the first ones of it are there.
fn is_a_count(line: &str) -> bool {
    line.ends_with(" callbacks suppressed")
}

/// Whether a line names loop devices, and ours is not among them.
fn names_another(line: &str, own: &str) -> bool {
    let words = line.split(|c: char| !c.is_ascii_alphanumeric());
    let mut devices = words.filter(|w| is_loop_device(w)).peekable();
    devices.peek().is_some() && devices.all(|device| device != own)
}

fn is_loop_device(word: &str) -> bool {
    let number = word.strip_prefix("loop");
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_switching_discards_off_brings_is_no_complaint_and_an_io_error_is() {
        let refused = "<3> operation not supported error, dev loop0, sector 8 op 0x9:(WRITE_ZEROES) flags 0x800";
        assert!(is_of_the_attachment(refused));
        assert!(is_a_count(
            "<4> blk_print_req_error: 84 callbacks suppressed"
        ));
        assert!(!is_of_the_attachment(
            "<3> I/O error, dev loop0, sector 8 op 0x9:(WRITE_ZEROES) flags 0x800"
        ));
        assert!(!is_of_the_attachment(
            "<3> I/O error, dev loop0, sector 8 op 0x1:(WRITE) flags 0x800"
        ));
    }

    #[test]
    fn of_a_flood_the_beginning_and_the_end_are_kept() {
        let flood = |lines| (0..lines).map(|n| format!("<4> line {n}")).collect();
        let lines = cut(flood(2000));
        assert_eq!(lines.len(), 501);
        assert_eq!(
            (lines[0].as_str(), lines[500].as_str()),
            ("<4> line 0", "<4> line 1999")
        );
        assert_eq!(lines[350], "<4> … 1500 lines left out …");
        assert_eq!(cut(flood(500)).len(), 500);
    }

    #[test]
    fn a_line_about_another_loop_device_is_not_ours() {
        assert!(names_another("<3> I/O error, dev loop1, sector 0", "loop0"));
        assert!(names_another("<3> EXT4-fs (loop10): error", "loop1"));
        assert!(!names_another("<3> EXT4-fs (loop1): error", "loop1"));
        assert!(!names_another("<4> loop1 lies above loop2", "loop2"));
        assert!(!names_another(
            "<1> BUG: unable to handle page fault in loop_queue_work",
            "loop0"
        ));
    }
}
