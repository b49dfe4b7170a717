//! A machine reached with the OpenSSH client. All of the user's ssh configuration applies: keys,
//! jump hosts, host aliases.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context;
use campaign::run::StopFlag;
use model::Bytes;
use sha2::{Digest, Sha256};
use sys::io::bounded;
use tempfile::TempDir;

use crate::error::{EnvironmentError, MAX_QUOTE_LENGTH, UserInterrupt, shorten};
use crate::remote::connection::AgentTransport;

/// Exit code of ssh if ssh itself failed (ssh(1)).
const SSH_FAILED: i32 = 255;
/// Maximum size of the output of a shell command on a host.
const MAX_OUTPUT_SIZE: Bytes = Bytes::kib(64);
/// Maximum wait for the end of the shared connection.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum wait for an answer of a host.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Number of these waits for a login. The user may type a password, for which sshd waits two
/// minutes by default.
const LOGIN_ANSWERS: u32 = 3;

/// A host with a copy of this program.
pub struct SshTransport {
    /// The destination, as an argument of ssh.
    host: String,
    /// Directory of the control socket of the shared connection, so that ssh requests a password
    /// only once.
    control: TempDir,
    /// Command that runs this program as root on the host, with `sudo -n` if the remote user is not
    /// root.
    remote: Vec<String>,
    /// Ends every wait for the host.
    stop: StopFlag,
    answer_timeout: Duration,
}

impl SshTransport {
    /// Creates a host without connecting to it.
    ///
    /// # Errors
    /// Returns an error if the name is not a valid host name.
    pub fn new(host: &str, stop: &StopFlag) -> anyhow::Result<Self> {
        if host.is_empty() || host.starts_with('-') {
            return Err(EnvironmentError(format!(
                "`{host}` is no host: no name of one is empty or begins with `-`"
            ))
            .into());
        }
        Ok(Self {
            host: host.to_owned(),
            control: tempfile::tempdir().context("a directory for ssh's socket")?,
            remote: Vec::new(),
            stop: StopFlag::clone(stop),
            answer_timeout: ANSWER_TIMEOUT,
        })
    }

    /// Connects, and copies this program to the host unless it is already present.
    ///
    /// # Errors
    /// Returns an error if ssh fails, root is not available, or the host is not Linux x86_64.
    pub fn connect_to(host: &str, stop: &StopFlag) -> anyhow::Result<Self> {
        let mut ssh = Self::new(host, stop)?;
        ssh.connect(Stdio::inherit())?;
        let kind = ssh.run_script("uname -sm; id -u", None)?;
        let mut lines = kind.lines();
        let (system, user) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
        if system != "Linux x86_64" {
            return Err(other_system(host, system).into());
        }
        let program = ssh.copy_program()?;
        if user != "0" {
            ssh.run_script("sudo -n true", None).map_err(|error| {
                EnvironmentError(format!(
                    "{error:#}; log in as root, or let this user run sudo without a password"
                ))
            })?;
            ssh.remote = ["sudo", "-n"].map(str::to_owned).into();
        }
        // Quoted, because the remote shell splits the command line again.
        ssh.remote.push(format!("'{program}'"));
        Ok(ssh)
    }

    /// Copies this program to the host unless the host has an identical copy. Returns the remote
    /// path.
    fn copy_program(&self) -> anyhow::Result<String> {
        let own = std::env::current_exe().context("cannot find this program")?;
        let digest = digest(&own)?;
        // The name contains the digest, so concurrent copies write equal content and need no lock.
        let name = format!("fsarena-{}", &digest[..16]);
        let script = format!(
            "d=${{XDG_CACHE_HOME:-$HOME/.cache}}/fsarena; p=$d/{name}; \
             if echo '{digest}  '\"$p\" | sha256sum -c >/dev/null 2>&1; then echo there; else echo missing; fi; echo \"$p\""
        );
        let answer = self.run_script(&script, None)?;
        let mut lines = answer.lines();
        let (state, path) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
        if state != "there" {
            let program = File::open(&own).context("cannot read this program")?;
            let script = format!(
                "umask 077; p='{path}'; mkdir -p \"${{p%/*}}\" && cat >\"$p.$$\" && chmod 700 \"$p.$$\" && mv \"$p.$$\" \"$p\""
            );
            self.run_script(&script, Some(program.into()))?;
        }
        Ok(path.to_owned())
    }

    /// Runs a shell command on the host and returns its output. Copying an input may take any time;
    /// without one, the host must answer soon.
    ///
    /// # Errors
    /// Returns an error if the host cannot be reached or the command fails, with the last line of
    /// its standard error.
    pub fn run_script(&self, script: &str, input: Option<Stdio>) -> anyhow::Result<String> {
        let mut ssh = self.ssh(&[]);
        let limit = if input.is_some() { Duration::MAX } else { self.answer_timeout };
        let ssh = ssh.arg(script).stdin(input.unwrap_or_else(Stdio::null));
        let output = bounded::output(ssh, MAX_OUTPUT_SIZE, &self.gives_up(limit));
        // Ctrl-C at the terminal also reaches ssh.
        if self.is_stopped() {
            return Err(UserInterrupt.into());
        }
        let output = output.map_err(|error| self.no_answer(error))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        // The ssh process may have been killed.
        let silent = output.status.to_string();
        let said = said.lines().last().map_or(silent.as_str(), str::trim);
        let said = shorten(said, MAX_QUOTE_LENGTH);
        let who = match output.status.code() {
            Some(SSH_FAILED) => {
                format!("cannot reach {} through ssh: {said}; {}", self.host, self.fix())
            }
            _ => format!("{} refuses: {said}", self.host),
        };
        Err(EnvironmentError(who).into())
    }

    /// Returns a shell command for the host, ready to be started. Ctrl-C at this terminal does not
    /// reach it.
    pub fn shell(&self, script: &str) -> Command {
        let mut command = self.ssh(&[]);
        command.arg(script).process_group(0);
        command
    }

    /// Opens the shared connection unless it is open. Errors of ssh are written to `errors`.
    ///
    /// # Errors
    /// Returns an error if the connection cannot be opened.
    pub fn connect(&self, errors: Stdio) -> anyhow::Result<()> {
        let mut check = self.ssh(&["-O", "check"]);
        let check = check.stdout(Stdio::null()).stderr(Stdio::null());
        if self.status(check, self.answer_timeout)?.success() {
            return Ok(());
        }
        // ssh prints its own errors and prompts.
        let mut master = self.ssh(&["-o", "ControlMaster=yes", "-o", "ControlPersist=60"]);
        let master = master.arg("true").stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        match self.status(master, self.answer_timeout * LOGIN_ANSWERS)?.success() {
            true => Ok(()),
            false => {
                let why = format!("cannot reach {} through ssh; {}", self.host, self.fix());
                Err(EnvironmentError(why).into())
            }
        }
    }

    fn fix(&self) -> String {
        format!("`ssh {}` must log in without a password", self.host)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns true when the user asks to stop, or after this time.
    fn gives_up(&self, limit: Duration) -> impl Fn() -> bool {
        let since = Instant::now();
        move || self.is_stopped() || since.elapsed() >= limit
    }

    /// Runs a command to its end.
    fn status(&self, command: &mut Command, limit: Duration) -> anyhow::Result<ExitStatus> {
        let ended = command.spawn();
        let ended = ended.and_then(|mut ssh| bounded::wait(&mut ssh, &self.gives_up(limit)));
        if self.is_stopped() {
            return Err(UserInterrupt.into());
        }
        ended.map_err(|error| self.no_answer(error))
    }

    fn no_answer(&self, error: io::Error) -> anyhow::Error {
        let host = &self.host;
        let why = match error.kind() {
            ErrorKind::Interrupted => {
                format!("cannot use {host}: it does not answer; try `ssh {host} uname`")
            }
            ErrorKind::InvalidData => format!("cannot read the output of {host}: {error}"),
            _ => return not_started(error),
        };
        EnvironmentError(why).into()
    }

    fn ssh(&self, options: &[&str]) -> Command {
        let socket: PathBuf = self.control.path().join("socket");
        let mut command = Command::new("ssh");
        command.arg("-T").arg("-o").arg(format!("ControlPath={}", socket.display()));
        command.args(["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"]);
        command.args(["-o", "ConnectTimeout=10"]);
        command.args(options).arg("--").arg(&self.host);
        command
    }
}

impl AgentTransport for SshTransport {
    fn command(&self) -> anyhow::Result<Command> {
        self.connect(Stdio::inherit())?;
        // The agent receives Ctrl-C as a request, because a signal would break the connection.
        Ok(self.shell(&format!("{} agent --machine", self.remote.join(" "))))
    }

    fn name(&self) -> String {
        self.host.clone()
    }

    fn is_remote(&self) -> bool {
        true
    }
}

impl Drop for SshTransport {
    fn drop(&mut self) {
        // If this fails, the shared connection times out.
        let mut exit = self.ssh(&["-O", "exit"]);
        let since = Instant::now();
        let exit = exit.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let _ = exit.map(|mut exit| bounded::wait(&mut exit, &|| since.elapsed() > EXIT_TIMEOUT));
    }
}

/// Creates the error for a host on which this program cannot run, from the output of `uname -sm`.
pub fn other_system(host: &str, system: &str) -> EnvironmentError {
    if system.trim().is_empty() {
        return EnvironmentError(format!(
            "cannot use {host}: `uname -sm` printed no line; check with `ssh {host} uname -sm`"
        ));
    }
    let system = shorten(system, MAX_QUOTE_LENGTH);
    EnvironmentError(format!("{host} is {system}, and this program is for Linux x86_64"))
}

fn not_started(error: io::Error) -> anyhow::Error {
    anyhow::Error::new(error).context("cannot start ssh: is openssh-client installed?")
}

fn digest(path: &std::path::Path) -> anyhow::Result<String> {
    let mut hash = Sha256::new();
    let mut file = File::open(path).context("cannot read this program")?;
    let mut block = vec![0; 1 << 20];
    loop {
        match file.read(&mut block)? {
            0 => break,
            count => hash.update(&block[..count]),
        }
    }
    let bytes = hash.finalize();
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_answer_of_a_host_is_shortened() {
        let silent = other_system("h1", "\n").to_string();
        assert!(silent.contains("printed no line"), "{silent}");
        let told = other_system("h1", &"1".repeat(60_000)).to_string();
        assert!(told.starts_with("h1 is 111") && told.ends_with("for Linux x86_64"), "{told}");
        assert!(told.len() < 300, "{told}");
    }

    #[test]
    fn a_host_that_stays_silent_is_given_up() {
        let mut ssh = SshTransport::new("h1", &StopFlag::default()).unwrap();
        ssh.answer_timeout = Duration::ZERO;
        let silent = ssh.status(Command::new("sleep").arg("1000"), ssh.answer_timeout);
        let told = silent.unwrap_err().to_string();
        assert_eq!(told, "cannot use h1: it does not answer; try `ssh h1 uname`");
        ssh.stop.store(true, Ordering::Relaxed);
        let stopped = ssh.status(Command::new("sleep").arg("1000"), Duration::MAX);
        assert!(stopped.unwrap_err().is::<UserInterrupt>());
    }
}
