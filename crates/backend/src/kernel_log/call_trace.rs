//! Extracts function names from a kernel's stack trace. Pure.

use std::fmt;

/// Maximum number of functions named in one line. The full trace has their callers.
const NAMED: usize = 6;
/// Functions that appear in every oops and carry no information.
const OOPS_FUNCTIONS: [&str; 13] = [
    "dump_stack_lvl",
    "dump_stack",
    "panic",
    "__die",
    "die",
    "die_addr",
    "page_fault_oops",
    "exc_page_fault",
    "asm_exc_page_fault",
    "exc_general_protection",
    "asm_exc_general_protection",
    "exc_invalid_op",
    "asm_exc_invalid_op",
];
/// Selector of kernel code. Addresses with another selector belong to a program.
const KERNEL_CODE: &str = "0010:";

/// A frame of a trace: an address in a kernel function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackFrame {
    /// The function.
    pub function: String,
    /// Offset from the start of the function, in bytes.
    pub offset: u64,
    /// Module of the function. `None` for the kernel itself.
    pub module: Option<String>,
}

/// A call trace of the kernel, innermost frame first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallTrace(pub Vec<StackFrame>);

impl CallTrace {
    /// Returns the first trace in these lines of a kernel log: the instruction (`RIP:`) and the
    /// frames of its call trace. Omits stack entries without a verified caller (`?`).
    ///
    /// Source of the form: `arch/x86/kernel/dumpstack.c` (`show_ip`, `show_trace_log_lvl`), `%pB`.
    pub fn find<'a>(log: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut places = Vec::new();
        let mut inside = false;
        for line in log {
            let text = strip_level(line);
            if let Some(at) = text.strip_prefix("RIP: ") {
                if inside {
                    // Registers of a system call, or a repeated `RIP:` after the end of the trace.
                    break;
                }
                if places.is_empty() {
                    places.extend(at.strip_prefix(KERNEL_CODE).and_then(place));
                }
            } else if text.starts_with("Call Trace:") {
                inside = true;
            } else if inside && !is_bracket(text) {
                match frame(text) {
                    Some(TraceEntry::Reliable(place)) => places.push(place),
                    Some(TraceEntry::Unreliable) => {}
                    None => break,
                }
            }
        }
        places.retain(|p| !OOPS_FUNCTIONS.contains(&p.function.as_str()));
        (!places.is_empty()).then_some(Self(places))
    }

    /// Formats the whole trace, one frame per line, with the module of each function.
    pub fn lines(&self) -> String {
        let line = |place: &StackFrame| match &place.module {
            Some(module) => format!("{place} [{module}]\n"),
            None => format!("{place}\n"),
        };
        self.0.iter().map(line).collect()
    }
}

/// Formats the trace as one line: `affs_alloc_block+0x12 ← affs_get_block+0x8c ← …`.
impl fmt::Display for CallTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, place) in self.0.iter().take(NAMED).enumerate() {
            let arrow = if number == 0 { "" } else { " ← " };
            write!(f, "{arrow}{place}")?;
        }
        if self.0.len() > NAMED {
            f.write_str(" ← …")?;
        }
        Ok(())
    }
}

impl fmt::Display for StackFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{:#x}", self.function, self.offset)
    }
}

/// A line of a call trace.
enum TraceEntry {
    Reliable(StackFrame),
    /// An address found on the stack that is not part of the call chain.
    Unreliable,
}

fn frame(text: &str) -> Option<TraceEntry> {
    match text.strip_prefix("? ") {
        Some(rest) => place(rest).map(|_| TraceEntry::Unreliable),
        None => place(text).map(TraceEntry::Reliable),
    }
}

/// `name+0x12/0x80 [module]`.
fn place(text: &str) -> Option<StackFrame> {
    let mut words = text.split_whitespace();
    let (function, rest) = words.next()?.split_once("+0x")?;
    let (offset, length) = rest.split_once("/0x")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    if function.is_empty() || !function.chars().all(plain) {
        return None;
    }
    u64::from_str_radix(length, 16).ok()?;
    let module = words.next().and_then(|word| word.strip_prefix('['));
    Some(StackFrame {
        function: function.to_owned(),
        offset: u64::from_str_radix(offset, 16).ok()?,
        module: module.map(|word| word.trim_end_matches(']').to_owned()),
    })
}

/// Returns true for a marker of the stack that the frames are on: `<TASK>`, `</IRQ>`.
fn is_bracket(text: &str) -> bool {
    let inner = text.strip_prefix('<').and_then(|t| t.strip_suffix('>'));
    inner.is_some_and(|name| {
        let name = name.trim_start_matches('/');
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'#')
    })
}

/// Removes the level from a line of a log, `<level> text`.
pub fn strip_level(line: &str) -> &str {
    let rest = line.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    match rest {
        Some((level, text)) if level.parse::<u8>().is_ok() => text.trim(),
        _ => line.trim(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Shortened output of Linux 6.1.
    const OOPS: &str = "\
<4> BUG: kernel NULL pointer dereference, address: 0000000000000028
<4> #PF: supervisor read access in kernel mode
<4> Oops: 0000 [#1] PREEMPT SMP NOPTI
<4> CPU: 0 PID: 71 Comm: init Not tainted 6.1.0-41-amd64 #1  Debian 6.1.158-1
<4> RIP: 0010:affs_alloc_extblock+0x4c/0x1d0 [affs]
<4> Code: 48 89 c3 48 3d 00 f0 ff ff
<4> RSP: 0018:ffffc9000019bb60 EFLAGS: 00010246
<4> Call Trace:
<4>  <TASK>
<4>  ? __die+0x20/0x70
<4>  page_fault_oops+0x96/0x2b0
<4>  affs_get_block+0x12a/0x350 [affs]
<4>  __block_write_begin_int+0x15a/0x5f0
<4>  ? affs_put_extblock.part.0+0x10/0x10 [affs]
<4>  generic_perform_write+0xd3/0x220
<4>  do_syscall_64+0x5b/0xc0
<4> RIP: 0033:0x4b5a27
<4>  </TASK>
<4> Modules linked in: affs virtio_console
<4> RIP: 0010:affs_alloc_extblock+0x4c/0x1d0 [affs]
<4> Kernel panic - not syncing: Fatal exception";

    fn names(trace: &CallTrace) -> Vec<&str> {
        trace.0.iter().map(|p| p.function.as_str()).collect()
    }

    #[test]
    fn an_oops_is_decoded_to_the_functions_that_were_called() {
        let trace = CallTrace::find(OOPS.lines()).unwrap();
        assert_eq!(
            names(&trace),
            [
                "affs_alloc_extblock",
                "affs_get_block",
                "__block_write_begin_int",
                "generic_perform_write",
                "do_syscall_64"
            ]
        );
        assert_eq!(trace.0[0].module.as_deref(), Some("affs"));
        assert_eq!((trace.0[1].offset, &trace.0[2].module), (0x12a, &None));
        let line = trace.to_string();
        assert!(line.starts_with("affs_alloc_extblock+0x4c ← affs_get_block+0x12a ← "), "{line}");
    }

    #[test]
    fn long_trace_is_shortened_in_the_line_and_complete_below() {
        let place = |n| StackFrame { function: format!("f{n}"), offset: n, module: None };
        let trace = CallTrace((0..9).map(place).collect());
        assert!(trace.to_string().ends_with("f5+0x5 ← …"));
        assert!(trace.lines().ends_with("f8+0x8\n"));
    }

    #[test]
    fn a_program_s_address_and_other_lines_are_no_trace() {
        let none = ["RIP: 0033:0x4b5a27", "Call Trace: nothing", " <TASK>", "EXT4-fs error"];
        assert_eq!(CallTrace::find(none), None);
    }

    proptest! {
        /// Checks that any output of a dying kernel, in any order, is parsed without a panic.
        #[test]
        fn any_kernel_output_is_parsed_without_panic(
            lines in prop::collection::vec("(<4> )?(RIP: 0010:|Call Trace:| *|\\? |<TASK>)[a-z_+0x/9.\\[\\] ]{0,20}", 0..20)
        ) {
            let trace = CallTrace::find(lines.iter().map(String::as_str));
            prop_assert!(trace.is_none_or(|trace| !trace.0.is_empty()));
        }

        /// Frames in the kernel's format are read back, except doubtful ones.
        #[test]
        fn every_frame_is_read_back(
            frames in prop::collection::vec(("[a-z_][a-z0-9_.]{0,12}x", 0u64..0xfff, any::<bool>(), any::<bool>()), 1..12)
        ) {
            let mut log = vec!["Call Trace:".to_owned(), " <TASK>".to_owned()];
            for (name, offset, in_module, doubtful) in &frames {
                let mark = if *doubtful { "? " } else { "" };
                let module = if *in_module { " [mod]" } else { "" };
                log.push(format!("<4>  {mark}{name}+{offset:#x}/0xfff{module}"));
            }
            log.push(" </TASK>".to_owned());
            let called = frames.iter().filter(|f| !f.3).map(|(name, offset, module, _)| StackFrame {
                function: name.clone(),
                offset: *offset,
                module: module.then(|| "mod".to_owned()),
            });
            let called: Vec<StackFrame> = called.collect();
            let found = CallTrace::find(log.iter().map(String::as_str)).unwrap_or_default();
            prop_assert_eq!(found.0, called);
        }
    }
}
