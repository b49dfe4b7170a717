//! `fsarena watch` on a terminal: the display during a campaign, and the final state of the
//! terminal.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use end_to_end::gate::Gate;
use end_to_end::{Sandbox, run, succeed};

/// Timeout for expected output.
const TIME_LIMIT: Duration = Duration::from_secs(120);
/// Control sequences that enter and leave the alternate screen (xterm's control sequences, DECSET
/// 1049).
const SCREEN: [&str; 2] = ["\u{1b}[?1049h", "\u{1b}[?1049l"];

/// A command on a new terminal of 80 columns and 24 lines, which `script` provides.
struct OnTerminal {
    child: Child,
    keys: ChildStdin,
    drawn: Receiver<Vec<u8>>,
    seen: String,
    /// Path of the terminal.
    name: String,
}

impl OnTerminal {
    fn start(command: &Command) -> Self {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<&str> =
            words.map(|word| word.to_str().expect("paths of tests are plain")).collect();
        let line = format!("stty cols 80 rows 24; tty; exec {}", words.join(" "));
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm-256color");
        script.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = script.spawn().expect("the command can be started");
        let (keys, from) = (child.stdin.take(), child.stdout.take());
        let mut from = from.expect("it is piped");
        let (send, drawn) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                if send.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let mut terminal = Self {
            child,
            keys: keys.expect("it is piped"),
            drawn,
            seen: String::new(),
            name: String::new(),
        };
        terminal.wait_for("/dev/pts/");
        terminal.wait_for_end_of_line();
        terminal
    }

    /// Reads the name of the terminal.
    fn wait_for_end_of_line(&mut self) {
        while !self.seen.contains('\n') {
            let bytes = self.drawn.recv_timeout(TIME_LIMIT).expect("the line ends");
            self.seen += &String::from_utf8_lossy(&bytes);
        }
        let (name, rest) = self.seen.split_once('\n').expect("it ends");
        (self.name, self.seen) = (name.trim().to_owned(), rest.to_owned());
    }

    /// Waits for new output that contains the text.
    #[track_caller]
    fn wait_for(&mut self, text: &str) {
        let begin = Instant::now();
        loop {
            if let Some(place) = self.seen.find(text) {
                self.seen.drain(..place);
                return;
            }
            match self.drawn.recv_timeout(TIME_LIMIT.saturating_sub(begin.elapsed())) {
                Ok(bytes) => self.seen += &String::from_utf8_lossy(&bytes),
                Err(_) => panic!("`{text}` was not drawn:\n{}", self.seen),
            }
        }
    }

    fn press(&mut self, keys: &str) {
        let sent = self.keys.write_all(keys.as_bytes()).and_then(|()| self.keys.flush());
        sent.expect("the terminal accepts input");
    }

    /// Returns the exit code and the output since the last wait.
    fn end(mut self) -> (Option<i32>, String) {
        while let Ok(bytes) = self.drawn.recv_timeout(TIME_LIMIT) {
            self.seen += &String::from_utf8_lossy(&bytes);
        }
        let status = self.child.wait().expect("it is a child");
        (status.code(), std::mem::take(&mut self.seen))
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a campaign that waits in its first or second cell until it is released.
fn begun(sandbox: &Sandbox) -> Child {
    let mut campaign = sandbox.campaign(&["gate", "tmpfs"], "names");
    campaign.stdout(Stdio::null()).stderr(Stdio::null());
    campaign.spawn().expect("the program can be started")
}

fn watch(sandbox: &Sandbox, arguments: &[&str]) -> OnTerminal {
    OnTerminal::start(sandbox.fsarena().arg("watch").args(arguments))
}

#[test]
fn a_running_campaign_is_drawn_and_its_end_stays_on_the_terminal() {
    let sandbox = Sandbox::new();
    let gate = Gate::new(&sandbox);
    let mut campaign = begun(&sandbox);
    let waiting = gate.reached();
    let mut terminal = watch(&sandbox, &[]);
    terminal.wait_for(SCREEN[0]);
    terminal.wait_for("campaign 1");
    terminal.wait_for("now: gate");
    // After a resize of the terminal, the display is redrawn.
    succeed(Command::new("stty").args(["-F", &terminal.name, "cols", "60", "rows", "20"]));
    terminal.wait_for("campaign 1");
    waiting.release();
    assert!(campaign.wait().expect("it is a child").success());
    terminal.wait_for(SCREEN[1]);
    let (code, left) = terminal.end();
    assert_eq!(code, Some(0), "{left}");
    assert!(left.contains("2/2 test runs"), "{left}");
    assert!(left.contains("complete") && left.contains("shows its results"), "{left}");
    assert!(left.contains("gate") && left.contains("tmpfs"), "{left}");
}

#[test]
fn leaving_watch_restores_the_terminal_and_the_campaign_continues() {
    let sandbox = Sandbox::new();
    let gate = Gate::new(&sandbox);
    let mut campaign = begun(&sandbox);
    let waiting = gate.reached();
    // q, Escape, Ctrl-C.
    for key in ["q", "\u{1b}", "\u{3}"] {
        let mut terminal = watch(&sandbox, &["1"]);
        terminal.wait_for("now: gate");
        terminal.press("\u{1b}[B\u{1b}[C");
        terminal.press(key);
        terminal.wait_for(SCREEN[1]);
        let (code, left) = terminal.end();
        assert_eq!(code, Some(0), "{key:?}: {left}");
        let told = "campaign 1 is still running";
        assert!(left.contains(told), "{key:?}: {left}");
    }
    waiting.release();
    assert!(campaign.wait().expect("it is a child").success());
}

#[test]
fn watch_of_a_stopped_campaign_names_the_resume_command() {
    let sandbox = Sandbox::new();
    let gate = Gate::new(&sandbox);
    let mut campaign = begun(&sandbox);
    let waiting = gate.reached();
    let mut terminal = watch(&sandbox, &[]);
    terminal.wait_for("now: gate");
    succeed(Command::new("kill").args(["-INT", &campaign.id().to_string()]));
    assert_eq!(campaign.wait().expect("it is a child").code(), Some(130));
    drop(waiting);
    terminal.wait_for(SCREEN[1]);
    let (code, left) = terminal.end();
    assert_eq!(code, Some(0), "{left}");
    assert!(left.contains("stopped") && left.contains("continues it"), "{left}");
}

#[test]
fn impossible_requests_to_watch_are_refused_in_one_line() {
    let sandbox = Sandbox::new();
    let piped = run(sandbox.fsarena().arg("watch")).assert_code(3).stderr;
    assert!(piped.contains("standard output is not one"), "{piped}");
    let json = run(sandbox.fsarena().args(["watch", "--json"])).assert_code(2).stderr;
    assert!(json.contains("fsarena show --json"), "{json}");
    run(&mut sandbox.campaign(&["tmpfs"], "names")).assert_code(0);
    for arguments in [&["watch"][..], &["watch", "1"]] {
        let terminal = OnTerminal::start(sandbox.fsarena().args(arguments));
        let (code, said) = terminal.end();
        assert_eq!(code, Some(3), "{said}");
        let (database, catalog) = (sandbox.path("fsarena.db"), sandbox.path("catalog"));
        let told = format!(
            "campaign 1 is not running: it is complete, and `fsarena report 1 --db {} --catalog {}` shows it",
            database.display(),
            catalog.display()
        );
        // The message is wrapped to the width of the terminal.
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&told) && !said.contains(SCREEN[0]), "{said}");
    }
    let (code, said) = OnTerminal::start(sandbox.fsarena().args(["watch", "7"])).end();
    assert_eq!(code, Some(2), "{said}");
}
