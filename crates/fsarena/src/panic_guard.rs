//! Reports a panic of any thread as an internal error of fsarena, in one line that asks for a bug
//! report.

use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::output::exit;

/// Runs the program. Returns `None` if any thread panicked. Reports only the first panic, since
/// others follow from it.
pub fn watched<T>(program: impl FnOnce() -> T) -> Option<T> {
    let told = Arc::new(AtomicBool::new(false));
    let telling = Arc::clone(&told);
    panic::set_hook(Box::new(move |panic| {
        if !telling.swap(true, Ordering::SeqCst) {
            exit::print_error(&words(panic), exit::json_is_asked_for());
        }
    }));
    // The state of the unwound program is discarded, so broken invariants cannot matter.
    let outcome = panic::catch_unwind(AssertUnwindSafe(program));
    outcome.ok().filter(|_| !told.load(Ordering::SeqCst))
}

fn words(panic: &PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref().map(String::as_str));
    let text = text.unwrap_or("panic");
    let place = panic.location().map(|place| format!(" ({place})")).unwrap_or_default();
    format!("internal error: {text}{place}: this is a fault of fsarena, please report it")
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Output};
    use std::thread;

    use super::*;

    /// Environment variable set in the child process that panics. The test needs a separate process
    /// because the panic hook is global.
    const CHILD: &str = "FSARENA_TEST_OF_FAULTS";

    /// Runs this test again in a child process and returns its output. Returns `None` in the child
    /// process.
    fn child(test: &str) -> Option<Output> {
        if std::env::var_os(CHILD).is_some() {
            return None;
        }
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture", "--quiet"]);
        Some(command.env(CHILD, "1").output().unwrap())
    }

    fn assert_told_once(output: &Output) {
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.starts_with("fsarena: internal error: no; such thing (crates/"), "{said}");
        assert!(said.trim_end().ends_with("please report it"), "{said}");
    }

    fn end(outcome: Option<()>) -> ! {
        std::process::exit(outcome.map_or(4, |()| 0))
    }

    #[test]
    fn a_panic_is_one_line() {
        match child("panic_guard::tests::a_panic_is_one_line") {
            Some(output) => assert_told_once(&output),
            None => end(watched(|| panic!("no\nsuch thing"))),
        }
    }

    #[test]
    fn reports_only_the_first_panic_of_any_thread() {
        let name = "panic_guard::tests::reports_only_the_first_panic_of_any_thread";
        match child(name) {
            Some(output) => assert_told_once(&output),
            None => end(watched(|| {
                let thread = thread::spawn(|| panic!("no\nsuch thing"));
                drop(thread.join());
                thread::scope(|scope| {
                    scope.spawn(|| panic!("it follows"));
                });
            })),
        }
    }
}
