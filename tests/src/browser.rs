//! A headless Chromium, driven over the DevTools protocol through a pair of pipes
//! (`--remote-debugging-pipe`: JSON, each message ended by a zero byte): no port is opened. Needs the Debian
//! package chromium.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// Maximum wait for an answer, on a machine that is busy with other tests.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// Chromium reads commands from descriptor 3 and answers on 4; the shell connects our pipes to
/// them. Chromium ends when they are closed, even if this process crashes, and the shell removes
/// its profile.
const ON_PIPES: &str = r#"
chromium --user-data-dir="$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1
rm -rf "$0"
"#;

/// Idle browser processes, kept for reuse because starting one takes as long as testing a page.
static IDLE: Mutex<Vec<BrowserProgram>> = Mutex::new(Vec::new());

const SWITCHES: [&str; 12] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
];

/// A running Chromium.
struct BrowserProgram {
    shell: Child,
    profile: PathBuf,
    commands: ChildStdin,
    messages: Receiver<Value>,
    last: u64,
}

/// A browser without history, which forgets all pages on drop.
pub struct Browser {
    /// The browser process; `None` only during drop.
    program: Option<BrowserProgram>,
    /// Identifier of this browser's separate pages, cookies and storage.
    context: Value,
}

/// Settings for viewing a page.
#[derive(Clone, Copy, Debug)]
pub struct Viewport {
    /// Width of the window in CSS pixels.
    pub width: u32,
    /// Height of the window in CSS pixels.
    pub height: u32,
    /// Whether the reader prefers a dark page.
    pub dark: bool,
    /// Whether to emulate a phone: touch input and a scale of 2.
    pub phone: bool,
    /// Whether the browser runs scripts.
    pub scripts: bool,
}

impl Viewport {
    /// A desktop window with light colours.
    pub const DESK: Self =
        Self { width: 1280, height: 900, dark: false, phone: false, scripts: true };
    /// The desktop view in dark mode.
    pub const DARK: Self = Self { dark: true, ..Self::DESK };
    /// A phone in portrait orientation.
    pub const PHONE: Self =
        Self { width: 390, height: 844, dark: false, phone: true, scripts: true };
    /// A browser that runs no scripts.
    pub const SCRIPTLESS: Self = Self { scripts: false, ..Self::DESK };
}

/// A loaded page.
pub struct BrowserPage<'b> {
    program: &'b mut BrowserProgram,
    session: String,
    /// Time from the request of the page to its load event, including scripts.
    pub load: Duration,
    loaded: bool,
    scripts: bool,
    console: Vec<String>,
    requests: Vec<String>,
}

impl BrowserProgram {
    fn start() -> Self {
        let profile = tempfile::tempdir().expect("a directory for the profile");
        // The shell removes the profile.
        let profile = profile.keep();
        let mut shell = Command::new("sh")
            .args(["-c", ON_PIPES])
            .arg(&profile)
            .args(SWITCHES)
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("a shell");
        let commands = shell.stdin.take().expect("piped");
        let answers = BufReader::new(shell.stdout.take().expect("piped"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in answers.split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).expect("messages are JSON");
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Self { shell, profile, commands, messages, last: 0 }
    }

    /// Kills a browser that may no longer respond.
    fn kill(mut self) {
        // Errors are ignored: the process may already have ended.
        let _ = killpg(Pid::from_raw(self.shell.id().cast_signed()), Signal::SIGKILL);
        let _ = self.shell.wait();
        let _ = std::fs::remove_dir_all(self.profile);
    }

    fn send(&mut self, session: Option<&str>, method: &str, parameters: Value) -> u64 {
        self.last += 1;
        let mut message = json!({ "id": self.last, "method": method, "params": parameters });
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.commands
            .write_all(&bytes)
            .unwrap_or_else(|e| panic!("chromium: {e}; install the Debian package chromium"));
        self.last
    }

    fn receive(&mut self) -> Value {
        self.messages
            .recv_timeout(ANSWER_TIMEOUT)
            .unwrap_or_else(|e| panic!("chromium does not answer: {e}"))
    }

    fn call(&mut self, session: Option<&str>, method: &str, parameters: Value) -> Value {
        let id = self.send(session, method, parameters);
        loop {
            let mut message = self.receive();
            if message["id"] == id {
                return message["result"].take();
            }
        }
    }
}

impl Browser {
    /// Returns an idle browser, or starts one.
    ///
    /// # Panics
    /// Panics if Chromium is not installed.
    pub fn start() -> Self {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut program = idle.unwrap_or_else(BrowserProgram::start);
        let mut context = program.call(None, "Target.createBrowserContext", json!({}));
        Self { program: Some(program), context: context["browserContextId"].take() }
    }

    /// Loads a file in a new page and waits until it is loaded.
    ///
    /// # Panics
    /// Panics if the browser does not answer.
    pub fn open(&mut self, file: &Path, view: Viewport) -> BrowserPage<'_> {
        self.open_at(file, "", view)
    }

    /// Loads a file with a fragment after the address, such as `#use=1`.
    ///
    /// # Panics
    /// Panics if the browser does not answer.
    pub fn open_at(&mut self, file: &Path, fragment: &str, view: Viewport) -> BrowserPage<'_> {
        let blank = json!({ "url": "about:blank", "browserContextId": self.context });
        let program = self.program();
        let target = program.call(None, "Target.createTarget", blank);
        let target = target["targetId"].clone();
        let attached = json!({ "targetId": target, "flatten": true });
        let session = program.call(None, "Target.attachToTarget", attached);
        let session = session["sessionId"].as_str().expect("a session").to_owned();
        let mut page = BrowserPage {
            program,
            session,
            load: Duration::ZERO,
            loaded: false,
            scripts: view.scripts,
            console: Vec::new(),
            requests: Vec::new(),
        };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page.look(view);
        if !view.scripts {
            page.call("Emulation.setScriptExecutionDisabled", json!({ "value": true }));
        }
        let begun = Instant::now();
        let file = file.canonicalize().expect("the page exists");
        let url = format!("file://{}{fragment}", file.display());
        page.call("Page.navigate", json!({ "url": url }));
        page.wait_until_loaded();
        page.load = begun.elapsed();
        page
    }

    const fn program(&mut self) -> &mut BrowserProgram {
        self.program.as_mut().expect("it is not dropped yet")
    }
}

impl Drop for Browser {
    /// Closes the pages and releases the process for another test.
    fn drop(&mut self) {
        let Some(mut program) = self.program.take() else {
            return;
        };
        if std::thread::panicking() {
            return program.kill();
        }
        let context = json!({ "browserContextId": self.context });
        program.call(None, "Target.disposeBrowserContext", context);
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(program);
    }
}

impl BrowserPage<'_> {
    /// Sets window size, colours and touch input.
    pub fn look(&mut self, view: Viewport) {
        let scale = if view.phone { 2 } else { 1 };
        let metrics = json!({ "width": view.width, "height": view.height, "deviceScaleFactor": scale,
            "mobile": view.phone });
        self.call("Emulation.setDeviceMetricsOverride", metrics);
        let scheme = if view.dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.media("screen", features);
    }

    /// Shows the page in its print layout.
    pub fn look_at_print(&mut self) {
        self.media("print", json!([]));
        self.run("dispatchEvent(new Event('beforeprint'))");
    }

    fn media(&mut self, media: &str, features: Value) {
        let parameters = json!({ "media": media, "features": features });
        self.call("Emulation.setEmulatedMedia", parameters);
    }

    /// Returns the value of an expression in the page.
    ///
    /// # Panics
    /// Panics if the expression throws.
    pub fn run(&mut self, expression: &str) -> Value {
        let parameters =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut answer = self.call("Runtime.evaluate", parameters);
        let thrown = &answer["exceptionDetails"];
        assert!(thrown.is_null(), "{expression}: {thrown}");
        answer["result"]["value"].take()
    }

    /// Evaluates text under the page's content security policy and returns the result, or the name
    /// of the error.
    pub fn try_eval(&mut self, text: &str) -> String {
        let expression = format!(
            "(() => {{ try {{ return String(eval('{text}')); }} catch (error) {{ return error.name; }} }})()"
        );
        let parameters = json!({ "expression": expression, "returnByValue": true,
            "allowUnsafeEvalBlockedByCSP": false });
        let answer = self.call("Runtime.evaluate", parameters);
        answer["result"]["value"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the text value of an expression.
    ///
    /// # Panics
    /// Panics if the value is not a text.
    pub fn text(&mut self, expression: &str) -> String {
        let value = self.run(expression);
        let text = value.as_str().map(str::to_owned);
        text.unwrap_or_else(|| panic!("{expression} gives {value}"))
    }

    /// Returns the list of texts that is the value of an expression.
    ///
    /// # Panics
    /// Panics if the value is not a list of texts.
    pub fn texts(&mut self, expression: &str) -> Vec<String> {
        let list = self.run(expression);
        serde_json::from_value(list.clone()).unwrap_or_else(|e| panic!("{expression}: {e}: {list}"))
    }

    /// Returns the numeric value of an expression.
    ///
    /// # Panics
    /// Panics if the value is not a number.
    pub fn number(&mut self, expression: &str) -> f64 {
        let value = self.run(expression);
        let number = value.as_f64();
        number.unwrap_or_else(|| panic!("{expression} gives {value}"))
    }

    /// Presses and releases a key, by its name (UI Events KeyboardEvent key Values).
    pub fn press(&mut self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "Tab" => 9,
            "Escape" => 27,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let mut event =
            json!({ "type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code });
        if key == "Enter" {
            event["text"] = json!("\r");
        }
        self.call("Input.dispatchKeyEvent", event.clone());
        event["type"] = json!("keyUp");
        self.call("Input.dispatchKeyEvent", event);
    }

    /// Waits until the page is drawn. Without scripts, there is no later drawing.
    pub fn settle(&mut self) {
        if !self.scripts {
            return;
        }
        let frames = "new Promise(done => { let left = 6; const step = () => left-- ? \
                      requestAnimationFrame(step) : setTimeout(done, 30); step(); })";
        self.run(frames);
    }

    /// Takes a picture of the visible part of the page, or of the whole page. Returns a PNG.
    ///
    /// # Panics
    /// Panics if the browser returns no picture.
    pub fn picture(&mut self, whole: bool) -> Vec<u8> {
        self.settle();
        let mut parameters = json!({ "format": "png" });
        if whole {
            let size = self.call("Page.getLayoutMetrics", json!({}));
            let (width, height) =
                (&size["cssContentSize"]["width"], &size["cssContentSize"]["height"]);
            parameters["captureBeyondViewport"] = json!(true);
            parameters["clip"] =
                json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        }
        let picture = self.call("Page.captureScreenshot", parameters);
        decoded(&picture["data"])
    }

    /// Takes a picture of the first node that matches a selector. Returns a PNG.
    ///
    /// # Panics
    /// Panics if no node matches.
    pub fn picture_of(&mut self, selector: &str) -> Vec<u8> {
        // Off-screen sections have no layout (content-visibility) and would move later sections
        // when they get one.
        self.run(
            "for (const part of document.querySelectorAll('section')) \
             part.style.contentVisibility = 'visible'",
        );
        self.settle();
        let place = self.run(&format!(
            "(() => {{ const box = document.querySelector('{selector}').getBoundingClientRect(); \
             return {{ x: Math.max(0, box.x + scrollX - 8), y: box.y + scrollY - 8, \
             width: box.width + 16, height: Math.min(box.height + 16, 4000), scale: 1 }}; }})()"
        ));
        let parameters = json!({ "format": "png", "captureBeyondViewport": true, "clip": place });
        let picture = self.call("Page.captureScreenshot", parameters);
        decoded(&picture["data"])
    }

    /// Prints the page to PDF.
    ///
    /// # Panics
    /// Panics if the browser prints nothing.
    pub fn print(&mut self) -> Vec<u8> {
        let paper = json!({ "paperWidth": 8.27, "paperHeight": 11.69, "printBackground": true,
            "preferCSSPageSize": true });
        let printed = self.call("Page.printToPDF", paper);
        decoded(&printed["data"])
    }

    /// Returns the messages of the page: exceptions, errors and warnings of the console.
    pub fn console(&mut self) -> Vec<String> {
        self.settle();
        self.console.clone()
    }

    /// Returns the addresses of all requests of the page.
    pub fn requests(&mut self) -> Vec<String> {
        self.settle();
        self.requests.clone()
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        let session = self.session.clone();
        let id = self.program.send(Some(&session), method, parameters);
        loop {
            let mut message = self.program.receive();
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].take();
            }
            self.note(&message);
        }
    }

    fn wait_until_loaded(&mut self) {
        while !self.loaded {
            let message = self.program.receive();
            self.note(&message);
        }
    }

    fn note(&mut self, message: &Value) {
        // Messages of a closed page can arrive late.
        if message["sessionId"] != self.session {
            return;
        }
        let parameters = &message["params"];
        match message["method"].as_str() {
            Some("Runtime.consoleAPICalled") => self.console.push(parameters["args"].to_string()),
            Some("Runtime.exceptionThrown") => {
                self.console.push(parameters["exceptionDetails"].to_string());
            }
            Some("Page.loadEventFired") => self.loaded = true,
            Some("Log.entryAdded") => self.console.push(parameters["entry"]["text"].to_string()),
            Some("Network.requestWillBeSent") => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                self.requests.push(url.to_owned());
            }
            _ => {}
        }
    }
}

fn decoded(data: &Value) -> Vec<u8> {
    let text = data.as_str().expect("pictures come in base64");
    STANDARD.decode(text).expect("pictures come in base64")
}
