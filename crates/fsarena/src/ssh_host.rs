//! A host reached through ssh that runs cells of a plan. It receives a copy of the plan and sends
//! results.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use backend::{SshTransport, error_chain};
use batch::hosts::{ReadyHost, WorkerHost};
use batch::{Batch, EntryRange};
use campaign::run::StopFlag;
use model::Bytes;
use model::shell_quote;

use crate::output::exit::EnvironmentError;

/// The host.
pub struct SshHost {
    name: String,
    ssh: SshTransport,
    /// Directory to copy to the host.
    directory: PathBuf,
    /// Path of the plan's copy on the host.
    called: String,
    /// Memory of a task, in bytes.
    memory: Bytes,
    /// Additional options of the worker.
    options: Vec<String>,
    /// Location of the copy, set when the copy exists.
    copy: Mutex<Option<String>>,
    /// Whether the host was contacted before. If so, errors of ssh were already shown.
    was_asked: AtomicBool,
}

impl SshHost {
    /// Creates a host without contacting it.
    pub fn new(
        name: &str,
        batch: &Batch,
        memory: Bytes,
        options: &[String],
        stop: &StopFlag,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            ssh: SshTransport::new(name, stop)?,
            directory: batch.path().to_owned(),
            called: batch.plan_id().short().to_owned(),
            memory,
            options: options.to_vec(),
            copy: Mutex::new(None),
            was_asked: AtomicBool::new(false),
        })
    }

    /// Examines the host, and copies the missing files to it.
    fn reach(&self) -> anyhow::Result<ReadyHost> {
        let errors = match self.was_asked.swap(true, Ordering::Relaxed) {
            true => Stdio::null(),
            false => Stdio::inherit(),
        };
        self.ssh.connect(errors)?;
        let script = format!(
            "d=\"${{XDG_CACHE_HOME:-$HOME/.cache}}/fsarena/plans/{}\"; echo \"$d\"; \
             if test -f \"$d/plan.json\"; then echo there; else echo missing; fi; uname -sm; \
             echo \"$(uname -n) $(cat /proc/sys/kernel/random/boot_id)\"; nproc; \
             sed -n 's/^MemAvailable: *\\([0-9]*\\) kB/\\1/p' /proc/meminfo",
            self.called
        );
        let answer = self.ssh.run_script(&script, None)?;
        let lines: Vec<&str> = answer.lines().collect();
        let [copy, state, system, machine, processors, memory] = lines[..] else {
            return Err(
                EnvironmentError(format!("{} does not answer as Linux does", self.name)).into()
            );
        };
        if system != "Linux x86_64" {
            return Err(backend::other_system(&self.name, system).into());
        }
        if state != "there" {
            self.send_to(copy)?;
        }
        *self.copy.lock().unwrap_or_else(PoisonError::into_inner) = Some(copy.to_owned());
        let processors = processors.parse().unwrap_or(1);
        let fit = memory
            .parse()
            .map_or(u64::MAX, |kib: u64| kib.saturating_mul(1024) / self.memory.0.max(1));
        Ok(ReadyHost {
            slots: u32::try_from(fit).unwrap_or(u32::MAX).min(processors),
            machine: machine.to_owned(),
        })
    }

    /// Copies the files that a worker needs. The copy gets its final name when it is complete.
    fn send_to(&self, copy: &str) -> anyhow::Result<()> {
        let copy = shell_quote(copy);
        let mut tar = Command::new("tar");
        tar.arg("-C").arg(&self.directory);
        tar.args(["--exclude=./results", "--exclude=./log", "-cf", "-", "."]);
        let sent = tar.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut sent = sent.context("cannot start tar")?;
        let archive = sent.stdout.take().map_or_else(Stdio::null, Stdio::from);
        // Hosts with a shared home directory copy to the same path; one of them finishes second and
        // removes its copy.
        let script = format!(
            "umask 077; p={copy}.$(uname -n).$$; mkdir -p \"$p\" && tar -C \"$p\" --no-same-owner -xf - && \
             {{ mv -T \"$p\" {copy} || {{ rm -rf \"$p\"; test -f {copy}/plan.json; }}; }}"
        );
        let taken = self.ssh.run_script(&script, Some(archive));
        if taken.is_err() {
            // A process of the host's connection may hold the pipe open. Fails if tar has ended.
            let _ = sent.kill();
        }
        let is_whole = sent.wait()?.success();
        taken?;
        match is_whole {
            true => Ok(()),
            false => Err(EnvironmentError("tar could not read what is planned".to_owned()).into()),
        }
    }

    fn copy(&self) -> Option<String> {
        let copy = self.copy.lock().unwrap_or_else(PoisonError::into_inner);
        copy.clone()
    }
}

impl WorkerHost for SshHost {
    fn name(&self) -> &str {
        &self.name
    }

    fn prepare(&self) -> Result<ReadyHost, String> {
        self.reach().map_err(|error| error_chain(&error))
    }

    fn start_worker(&self, part: EntryRange) -> Result<Command, String> {
        let copy = self.copy().ok_or("no copy of the plan on the host")?;
        let EntryRange { first, count } = part;
        let (program, copy) = (Path::new(&copy).join("fsarena"), shell_quote(&copy));
        let program = shell_quote(&program.to_string_lossy());
        let name = shell_quote(&self.name);
        let options: String =
            self.options.iter().map(|o| " ".to_owned() + &shell_quote(o)).collect();
        Ok(self.ssh.shell(&format!(
            "exec {program} --quiet cluster work {copy} --index {first} --count {count} --jobs 1 --send --as {name}{options}"
        )))
    }

    fn clean_up(&self) {
        if let Some(copy) = self.copy() {
            // If the host is unreachable, only files in its cache directory remain.
            let _ = self.ssh.run_script(&format!("rm -rf {}", shell_quote(&copy)), None);
        }
    }
}
