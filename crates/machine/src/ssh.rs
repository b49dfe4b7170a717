//! A machine that is reached by OpenSSH's own client, with all that is configured for it: keys, jump hosts, names.

use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Context;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::connection::AgentTransport;
use crate::error::EnvironmentError;

/// Exit code of ssh where it is ssh itself that failed (ssh(1)).
const SSH_FAILED: i32 = 255;

/// A host with a copy of this program.
pub struct SshTransport {
    /// The destination, as ssh takes it.
    host: String,
    /// The socket of one connection that all commands share, so that a password is asked for once.
    control: TempDir,
    /// The command there that is this program as root: `sudo -n` before it where the user is another.
    remote: Vec<String>,
}

impl SshTransport {
    /// A host of which nothing is asked yet.
    ///
    /// # Errors
    /// When no host has such a name.
    pub fn new(host: &str) -> anyhow::Result<Self> {
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
        })
    }

    /// Connects, and copies this program to the host, where it is not there yet.
    ///
    /// # Errors
    /// When ssh or root's rights cannot be had there, or it is another kind of machine.
    pub fn connect_to(host: &str) -> anyhow::Result<Self> {
        let mut ssh = Self::new(host)?;
        ssh.connect(Stdio::inherit())?;
        let kind = ssh.run_script("uname -sm; id -u", Stdio::null())?;
        let mut lines = kind.lines();
        let (system, user) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
        if system != "Linux x86_64" {
            return Err(EnvironmentError(format!(
                "{host} is {system}, and this program is for Linux x86_64"
            ))
            .into());
        }
        let program = ssh.copy_program()?;
        if user != "0" {
            ssh.run_script("sudo -n true", Stdio::null())
                .map_err(|error| {
                    EnvironmentError(format!(
                        "{error:#}; log in as root, or let this user run sudo without a password"
                    ))
                })?;
            ssh.remote = ["sudo", "-n"].map(str::to_owned).into();
        }
        // The shell there takes it apart again.
        ssh.remote.push(format!("'{program}'"));
        Ok(ssh)
    }

    /// Copies this program where the host has no equal one; its path there.
    fn copy_program(&self) -> anyhow::Result<String> {
        let own = std::env::current_exe().context("cannot find this program")?;
        let digest = digest(&own)?;
        // A name that says what is in it needs no lock: whoever comes second writes the same.
        let name = format!("fsarena-{}", &digest[..16]);
        let script = format!(
            "d=${{XDG_CACHE_HOME:-$HOME/.cache}}/fsarena; p=$d/{name}; \
             if echo '{digest}  '\"$p\" | sha256sum -c >/dev/null 2>&1; then echo there; else echo missing; fi; echo \"$p\""
        );
        let answer = self.run_script(&script, Stdio::null())?;
        let mut lines = answer.lines();
        let (state, path) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
        if state != "there" {
            let program = File::open(&own).context("cannot read this program")?;
            let script = format!(
                "umask 077; p='{path}'; mkdir -p \"${{p%/*}}\" && cat >\"$p.$$\" && chmod 700 \"$p.$$\" && mv \"$p.$$\" \"$p\""
            );
            self.run_script(&script, program.into())?;
        }
        Ok(path.to_owned())
    }

    /// What a shell command on the host writes that gets this input.
    ///
    /// # Errors
    /// When it cannot be reached, or the command fails; with the last line that was said.
    pub fn run_script(&self, script: &str, input: Stdio) -> anyhow::Result<String> {
        let output = self
            .ssh(&[])
            .arg(script)
            .stdin(input)
            .stderr(Stdio::piped())
            .output()
            .context("cannot start ssh: is openssh-client installed?")?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        // ssh itself may have been killed.
        let silent = output.status.to_string();
        let said = said.lines().last().map_or(silent.as_str(), str::trim);
        let who = match output.status.code() {
            Some(SSH_FAILED) => format!("cannot reach {} through ssh", self.host),
            _ => format!("{} refuses", self.host),
        };
        Err(EnvironmentError(format!("{who}: {said}")).into())
    }

    /// A shell command on the host, ready to be started. Ctrl-C at this terminal does not reach it.
    pub fn shell(&self, script: &str) -> Command {
        let mut command = self.ssh(&[]);
        command.arg(script).process_group(0);
        command
    }

    /// Makes the connection that the others share, where it is not there, or is no more; what ssh complains of goes to
    /// `errors`.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn connect(&self, errors: Stdio) -> anyhow::Result<()> {
        let mut check = self.ssh(&["-O", "check"]);
        let is_there = check.stdout(Stdio::null()).stderr(Stdio::null()).status();
        if is_there.is_ok_and(|status| status.success()) {
            return Ok(());
        }
        // What goes wrong ssh itself says, and asks what it has to ask.
        let mut master = self.ssh(&["-o", "ControlMaster=yes", "-o", "ControlPersist=60"]);
        let status = master
            .arg("true")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .status()
            .context("cannot start ssh: is openssh-client installed?")?;
        match status.success() {
            true => Ok(()),
            false => {
                Err(EnvironmentError(format!("cannot reach {} through ssh", self.host)).into())
            }
        }
    }

    fn ssh(&self, options: &[&str]) -> Command {
        let socket: PathBuf = self.control.path().join("socket");
        let mut command = Command::new("ssh");
        command
            .arg("-T")
            .arg("-o")
            .arg(format!("ControlPath={}", socket.display()));
        command.args(["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"]);
        command.args(["-o", "ConnectTimeout=10"]);
        command.args(options).arg("--").arg(&self.host);
        command
    }
}

impl AgentTransport for SshTransport {
    fn command(&self) -> anyhow::Result<Command> {
        self.connect(Stdio::inherit())?;
        // Ctrl-C is told to the agent in words; it would break the connection.
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
        // The shared connection ends by itself after a while where this does not reach it.
        let mut exit = self.ssh(&["-O", "exit"]);
        let _ = exit.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
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
