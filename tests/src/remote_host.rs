//! A simulated remote host: a real sshd in a private network namespace, at the other end of a cable
//! that a test can cut. Processes and files are those of this machine.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::{Sandbox, succeed};

/// Timeout for sshd to listen.
const LISTENING: Duration = Duration::from_secs(120);

/// Number of the next host. Each host of a test program has a separate cable.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A host, named `far` by default. Dropping it removes sshd and the cable.
#[derive(Debug)]
pub struct RemoteHost {
    name: String,
    cable: String,
    sshd: Child,
    /// Directory in which the host keeps its copy of fsarena.
    pub cache: PathBuf,
    bin: PathBuf,
}

impl RemoteHost {
    /// Starts sshd at the end of a new cable.
    ///
    /// # Panics
    /// Panics without root, or if sshd does not start.
    pub fn new(sandbox: &Sandbox) -> Self {
        Self::with_name("far", sandbox)
    }

    /// Starts a host with another name, which is also its hostname. A sandbox may have several
    /// hosts.
    ///
    /// # Panics
    /// Panics like [`RemoteHost::new`].
    pub fn with_name(name: &str, sandbox: &Sandbox) -> Self {
        let number = NEXT.fetch_add(1, Ordering::Relaxed) + std::process::id() % 200;
        let place = sandbox.path(&format!("ssh-{name}"));
        fs::create_dir(&place).expect("a sandbox is writable");
        fs::create_dir_all("/run/sshd").expect("root can make it");
        for key in ["host", "user"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]);
            succeed(keygen.arg(place.join(key)));
        }
        let cable = format!("far{number}");
        let (near, far) =
            (format!("10.231.{}.1", number % 250), format!("10.231.{}.2", number % 250));
        let cache = sandbox.path(&format!("{name}-cache"));
        fs::create_dir(&cache).expect("a sandbox is writable");
        let shown = place.display();
        let server = format!(
            "ListenAddress {far}\nHostKey {shown}/host\nAuthorizedKeysFile {shown}/user.pub\nPidFile none\n\
             StrictModes no\nUsePAM no\nPermitRootLogin prohibit-password\nPasswordAuthentication no\n\
             SetEnv XDG_CACHE_HOME={0} TMPDIR={0}\n",
            cache.display()
        );
        fs::write(place.join("sshd_config"), server).expect("a sandbox is writable");
        let client = format!(
            "Host {name}\nHostName {far}\nUser root\nIdentityFile {shown}/user\nIdentitiesOnly yes\n\
             UserKnownHostsFile {shown}/known\nStrictHostKeyChecking no\nLogLevel ERROR\n"
        );
        fs::write(place.join("ssh_config"), client).expect("a sandbox is writable");
        // ssh locates its user's configuration through the system and not through the environment.
        let bin = sandbox.path("bin");
        fs::create_dir_all(&bin).expect("a sandbox is writable");
        let all = sandbox.path("ssh_config");
        let places = sandbox.path("ssh-*/ssh_config");
        fs::write(&all, format!("Include {}\n", places.display())).expect("a sandbox is writable");
        let script = format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", all.display());
        fs::write(bin.join("ssh"), script).expect("a sandbox is writable");
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(bin.join("ssh"), executable).expect("it was written");
        // A namespace without a name ends with its last process and leaves no mount.
        let mut sshd = Command::new("unshare")
            .args([
                "--net",
                "--uts",
                "sh",
                "-c",
                "hostname \"$2\"; echo there; read cable; exec /usr/sbin/sshd -D -e -f \"$1\"",
                "sh",
            ])
            .arg(place.join("sshd_config"))
            .arg(name)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("unshare can be started");
        let mut there = String::new();
        let said = sshd.stdout.take().expect("piped above");
        BufReader::new(said).read_line(&mut there).expect("the host reports that it is ready");
        let inside = sshd.id();
        let run = |words: String| succeed(Command::new("nsenter").args(words.split_whitespace()));
        let ip = |words: String| succeed(Command::new("ip").args(words.split_whitespace()));
        ip(format!("link add {cable} type veth peer name eth0 netns {inside}"));
        ip(format!("addr add {near}/30 dev {cable}"));
        ip(format!("link set {cable} up"));
        run(format!("-t {inside} -n ip addr add {far}/30 dev eth0"));
        run(format!("-t {inside} -n ip link set eth0 up"));
        let mut cable_is_there = sshd.stdin.take().expect("piped above");
        cable_is_there.write_all(b"now\n").expect("it waits for this");
        let host = Self { name: name.to_owned(), cable, sshd, cache, bin };
        host.wait_until_it_listens();
        host
    }

    /// Makes fsarena find this host and all others of its sandbox by name.
    pub fn configure_ssh<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.bin.display()))
    }

    /// Disconnects the network cable.
    ///
    /// # Panics
    /// Panics if the cable does not exist.
    pub fn disconnect(&self) {
        succeed(Command::new("ip").args(["link", "set", &self.cable, "down"]));
    }

    /// Reconnects the network cable.
    ///
    /// # Panics
    /// Panics if the cable does not exist.
    pub fn reconnect(&self) {
        succeed(Command::new("ip").args(["link", "set", &self.cable, "up"]));
    }

    /// Returns the process IDs of the agent on this host.
    pub fn agents(&self) -> Vec<i32> {
        self.processes("agent")
    }

    /// Returns the IDs of all processes of fsarena's copy on this host with this word in the
    /// command line.
    pub fn processes(&self, word: &str) -> Vec<i32> {
        let program = self.cache.join("fsarena");
        let program = program.to_string_lossy().into_owned();
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = processes.filter_map(|p| p.file_name().to_string_lossy().parse().ok());
        let is_agent = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            line.starts_with(&program) && line.contains(word)
        };
        numbers.filter(is_agent).collect()
    }

    /// Returns the IDs of the sshd processes that serve connections.
    fn sessions(&self) -> Vec<i32> {
        let id = self.sshd.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let children = children.unwrap_or_default();
        let numbers = children.split_whitespace();
        numbers.filter_map(|number| number.parse().ok()).collect()
    }

    fn wait_until_it_listens(&self) {
        let start = Instant::now();
        let mut ask = Command::new("ssh");
        self.configure_ssh(&mut ask).args([&self.name, "true"]);
        ask.stderr(Stdio::null());
        while !ask.status().is_ok_and(|status| status.success()) {
            assert!(start.elapsed() < LISTENING, "sshd does not listen");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for RemoteHost {
    fn drop(&mut self) {
        // The session at the other end of a cut cable waits for minutes.
        let sessions = self.sessions();
        for session in sessions {
            let _ = kill(Pid::from_raw(session), Signal::SIGKILL);
        }
        let _ = self.sshd.kill();
        let _ = self.sshd.wait();
        let _ = Command::new("ip").args(["link", "del", &self.cable]).status();
    }
}
