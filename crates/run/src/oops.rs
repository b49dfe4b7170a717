//! Recognises in the kernel log that the kernel itself got into trouble.

/// What the kernel writes when it oopses or panics.
/// Source: `arch/x86/kernel/dumpstack.c`, `arch/x86/mm/fault.c`, `kernel/panic.c`, `lib/bug.c`.
const SIGNS: [&str; 6] = [
    "Oops: ",
    "BUG: unable to handle",
    "BUG: kernel NULL pointer",
    "kernel BUG at ",
    "general protection fault",
    "Kernel panic",
];

/// The line that tells of an oops, where there is one.
pub fn find(kernel_log: &[String]) -> Option<&str> {
    kernel_log
        .iter()
        .map(String::as_str)
        .find(|line| SIGNS.iter().any(|sign| line.contains(sign)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_oops_is_found_and_a_complaint_is_none() {
        let log = |text: &str| vec!["<6> loop0: detected".to_owned(), text.to_owned()];
        assert!(
            find(&log(
                "<1> BUG: kernel NULL pointer dereference, address: 08"
            ))
            .is_some()
        );
        assert!(find(&log("<4> Oops: 0000 [#1] PREEMPT SMP")).is_some());
        assert_eq!(
            find(&log("<3> EXT4-fs error (device loop0): ext4_lookup")),
            None
        );
    }
}
