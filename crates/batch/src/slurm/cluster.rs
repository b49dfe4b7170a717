//! Slurm's commands.

use std::io::{ErrorKind, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use campaign::run::StopFlag;
use model::Bytes;
use sys::io::bounded;

use super::arrays::{Array, ClusterLimits};
use super::queue::{self, QueuedTask, SlurmNode};
use crate::BatchError;
use crate::directory::ranges::ranges;

/// Maximum size of the output of a command.
const MAX_OUTPUT_SIZE: Bytes = Bytes::mib(64);
/// Maximum wait for the cancellation of tasks after Ctrl-C.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Debian package with the Slurm commands.
const PACKAGE: &str = "slurm-client";

/// Reason that Slurm cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SlurmError {
    /// A command is missing.
    #[error(
        "cannot run {command}: {source}; `apt-get install {PACKAGE}`, or run it where the cluster's commands are"
    )]
    NoCommand {
        /// The command.
        command: &'static str,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The answer of a command is too long, or could not be read.
    #[error("cannot read the answer of {command}: {source}; run {command} by hand to see it")]
    Unreadable {
        /// The command.
        command: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// The user asked to stop while a command ran.
    #[error("interrupted")]
    Interrupted,
    /// A command failed.
    #[error("{command} says: {complaint}")]
    Failed {
        /// The command.
        command: &'static str,
        /// The error message of the command.
        complaint: String,
    },
    /// A command failed without an error message.
    #[error("cannot run {command}: it ended {how}; run {command} by hand to see why")]
    Ended {
        /// The command.
        command: &'static str,
        /// `with exit code 7`, `by signal 9`.
        how: String,
    },
    /// The answer of sbatch is not a job number.
    #[error("sbatch printed \"{0}\", not a job number; run sbatch by hand")]
    NoJobNumber(String),
    /// No node can run cells.
    #[error("{0}")]
    NoNode(String),
    /// The plan directory is invalid.
    #[error(transparent)]
    Batch(#[from] BatchError),
}

/// Options given by the user.
#[derive(Clone, Debug, Default)]
pub struct SubmitOptions {
    /// The partition.
    pub partition: Option<String>,
    /// Nodes in Slurm syntax. Other nodes are not used.
    pub nodes: Option<String>,
    /// Maximum number of tasks at a time.
    pub max_running_tasks: Option<u32>,
    /// Additional options for sbatch(1).
    pub sbatch: Vec<String>,
    /// Additional options for `fsarena cluster work`.
    pub worker: Vec<String>,
}

/// A cluster and its resources.
pub struct Cluster {
    options: SubmitOptions,
    /// Ends a command that does not answer.
    stop: StopFlag,
    /// Limits on arrays and queued tasks.
    pub limits: ClusterLimits,
    /// Processors of the nodes that are up.
    pub processors: u32,
    /// Nodes that may run tasks, including currently unavailable ones.
    pub nodes: Vec<String>,
    /// Nodes of the partition that must not be used.
    excluded: Vec<String>,
    /// Memory requested per task, if the cluster accounts for memory.
    memory: Option<Bytes>,
}

/// Parameters of an array of workers.
pub struct Submission<'a> {
    /// The array.
    pub array: &'a Array,
    /// Its name.
    pub name: String,
    /// The plan directory.
    pub directory: &'a Path,
    /// The program in the plan directory.
    pub program: PathBuf,
    /// Directory for the output of the tasks.
    pub log: PathBuf,
    /// A node that must not run the tasks.
    pub but: Option<&'a str>,
    /// Additional options of the worker.
    pub worker: Vec<String>,
}

impl Cluster {
    /// Checks that a cluster is available before a campaign is planned.
    ///
    /// # Errors
    /// Returns an error if the Slurm commands are missing or the controller does not respond.
    pub fn require(stop: &StopFlag) -> Result<(), SlurmError> {
        run("sbatch", &["--version"], stop)?;
        run("scontrol", &["ping"], stop).map(drop)
    }

    /// Finds the cluster of this machine. `memory` is the memory of one task.
    ///
    /// # Errors
    /// Returns an error if there is no cluster, or if none of its nodes can run tasks.
    pub fn find(
        options: &SubmitOptions,
        memory: Bytes,
        stop: &StopFlag,
    ) -> Result<Self, SlurmError> {
        let config = run("scontrol", &["show", "config"], stop)?;
        let mut words = vec!["--Node", "--noheader", "--format", queue::NODES];
        if let Some(partition) = &options.partition {
            words.extend(["--partition", partition]);
        }
        let all = queue::nodes(&run("sinfo", &words, stop)?);
        if let (true, Some(partition)) = (all.is_empty(), &options.partition) {
            let why = format!("there is no partition {partition} with nodes: `sinfo` names them");
            return Err(SlurmError::NoNode(why));
        }
        let wanted = match &options.nodes {
            Some(list) => Some(run("scontrol", &["show", "hostnames", list], stop)?),
            None => None,
        };
        let wanted: Option<Vec<&str>> = wanted.as_ref().map(|text| text.lines().collect());
        let is_wanted = |node: &SlurmNode| {
            let wanted = wanted.as_ref();
            wanted.is_none_or(|wanted| wanted.contains(&node.name.as_str()))
        };
        if let Some(unknown) = wanted.as_ref().and_then(|wanted| {
            let is_known = |name: &&&str| !all.iter().any(|node| node.name == ***name);
            wanted.iter().find(is_known)
        }) {
            let why = format!("the partition has no node {unknown}: `sinfo --Node` names them");
            return Err(SlurmError::NoNode(why));
        }
        let (used, excluded): (Vec<SlurmNode>, Vec<SlurmNode>) =
            all.into_iter().partition(is_wanted);
        let up = || used.iter().filter(|node| node.is_up);
        if up().next().is_none() {
            let why = "no node of the cluster can run tasks at present: `sinfo` shows the reason";
            return Err(SlurmError::NoNode(why.to_owned()));
        }
        let processors = up().map(|node| node.processors).fold(0, u32::saturating_add);
        let counts = up().any(|node| node.memory > 1);
        Ok(Self {
            limits: queue::limits(&config),
            processors: options.max_running_tasks.map_or(processors, |most| processors.min(most)),
            nodes: used.iter().map(|node| node.name.clone()).collect(),
            excluded: excluded.into_iter().map(|node| node.name).collect(),
            memory: counts.then_some(memory),
            options: options.clone(),
            stop: StopFlag::clone(stop),
        })
    }

    /// Returns the queued tasks of a plan.
    ///
    /// # Errors
    /// Returns an error if the controller does not respond.
    pub fn queued(&self, plan: &str) -> Result<Vec<QueuedTask>, SlurmError> {
        let words = ["--me", "--array", "--noheader", "--format", queue::FORMAT];
        Ok(queue::queued(&run("squeue", &words, &self.stop)?, plan))
    }

    /// Submits an array and returns its job number.
    ///
    /// # Errors
    /// Returns an error if Slurm rejects the array.
    pub fn submit(&self, submission: &Submission<'_>) -> Result<String, SlurmError> {
        let failed = |source| not_run("sbatch", source);
        let mut command = Command::new("sbatch");
        command.args(self.words(submission));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        if let Some(mut input) = child.stdin.take() {
            // If sbatch has already exited, its output has the reason.
            let _ = input.write_all(script(submission).as_bytes());
        }
        let output =
            bounded::output_of(child, MAX_OUTPUT_SIZE, &|| self.stop.load(Ordering::Relaxed));
        let said = said("sbatch", output.map_err(failed)?, &self.stop)?;
        // The job number may be followed by the name of the cluster.
        let job = said.split(';').next().unwrap_or_default();
        match queue::is_job(job) {
            true => Ok(job.to_owned()),
            false => Err(SlurmError::NoJobNumber(said.chars().take(200).collect())),
        }
    }

    fn words(&self, submission: &Submission<'_>) -> Vec<String> {
        let at_once = self.options.max_running_tasks;
        let at_once = at_once.map_or_else(String::new, |most| format!("%{most}"));
        let tasks = ranges(&submission.array.tasks);
        let mut words = vec![
            "--parsable".to_owned(),
            "--requeue".to_owned(),
            "--ntasks=1".to_owned(),
            "--cpus-per-task=1".to_owned(),
            format!("--array={tasks}{at_once}"),
            format!("--job-name={}", submission.name),
            format!("--output={}/%A_%a.txt", submission.log.display()),
            "--open-mode=append".to_owned(),
        ];
        let memory = self.memory.map(|memory| memory.0.div_ceil(1 << 20));
        words.extend(memory.map(|mebibytes| format!("--mem={mebibytes}M")));
        let partition = self.options.partition.as_ref();
        words.extend(partition.map(|partition| format!("--partition={partition}")));
        let mut excluded: Vec<&str> = self.excluded.iter().map(String::as_str).collect();
        excluded.extend(submission.but);
        if !excluded.is_empty() {
            words.push(format!("--exclude={}", excluded.join(",")));
        }
        words.extend(self.options.sbatch.iter().cloned());
        words
    }

    /// Returns the additional options of workers.
    pub fn worker(&self) -> Vec<String> {
        self.options.worker.clone()
    }

    /// Returns true if the number of concurrent tasks is limited.
    pub const fn is_limited(&self) -> bool {
        self.options.max_running_tasks.is_some()
    }

    /// Cancels tasks, or whole arrays if no task number is given.
    ///
    /// # Errors
    /// Returns an error if Slurm cannot cancel them.
    pub fn cancel(&self, jobs: &[String]) -> Result<(), SlurmError> {
        /// Maximum number of ids in one command. The kernel limits the length of a command line.
        const MAX_IDS_PER_COMMAND: usize = 1000;
        for jobs in jobs.chunks(MAX_IDS_PER_COMMAND) {
            let words: Vec<&str> = jobs.iter().map(String::as_str).collect();
            run("scancel", &words, &self.stop)?;
        }
        Ok(())
    }

    /// Cancels arrays after Ctrl-C, which must take effect within two seconds. A command that takes
    /// longer continues alone. Returns false in that case, and if it fails.
    pub fn cancel_at_once(jobs: impl Iterator<Item = String>) -> bool {
        let mut scancel = Command::new("scancel");
        scancel.args(jobs).process_group(0);
        let scancel = scancel.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let Ok(mut scancel) = scancel.spawn() else { return false };
        let since = Instant::now();
        while since.elapsed() < CANCEL_TIMEOUT {
            if let Ok(Some(status)) = scancel.try_wait() {
                return status.success();
            }
            thread::sleep(CANCEL_POLL_INTERVAL);
        }
        false
    }
}

/// Returns the batch script of a task. The host is named after its Slurm node.
fn script(submission: &Submission<'_>) -> String {
    let Array { first, entries_per_task: each, .. } = submission.array;
    let quoted = |text: &str| format!(" '{}'", text.replace('\'', "'\\''"));
    let path = |path: &Path| quoted(&path.to_string_lossy());
    let worker: String = submission.worker.iter().map(|word| quoted(word)).collect();
    format!(
        "#!/bin/sh\nexec{program} cluster work{directory} --index $(({first} + SLURM_ARRAY_TASK_ID * {each})) --count {each} \
         --jobs 1 --as \"$SLURMD_NODENAME\"{worker}\n",
        program = path(&submission.program),
        directory = path(submission.directory),
    )
}

fn run(command: &'static str, words: &[&str], stop: &StopFlag) -> Result<String, SlurmError> {
    let mut asked = Command::new(command);
    let gives_up = || stop.load(Ordering::Relaxed);
    let output =
        bounded::output(asked.args(words).stdin(Stdio::null()), MAX_OUTPUT_SIZE, &gives_up);
    said(command, output.map_err(|source| not_run(command, source))?, stop)
}

/// Creates the error for a command that could not be run to its end.
fn not_run(command: &'static str, source: std::io::Error) -> SlurmError {
    match source.kind() {
        ErrorKind::Interrupted => SlurmError::Interrupted,
        ErrorKind::NotFound | ErrorKind::PermissionDenied => {
            SlurmError::NoCommand { command, source }
        }
        _ => SlurmError::Unreadable { command, source },
    }
}

/// Returns the standard output of a command, or its error if it failed.
fn said(command: &'static str, output: Output, stop: &StopFlag) -> Result<String, SlurmError> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    // Ctrl-C at the terminal also reaches the command.
    if stop.load(Ordering::Relaxed) {
        return Err(SlurmError::Interrupted);
    }
    let how = || match (output.status.code(), output.status.signal()) {
        (None, Some(signal)) => format!("by signal {signal}"),
        (code, _) => format!("with exit code {}", code.unwrap_or_default()),
    };
    Err(match text(&output.stderr).lines().last() {
        Some(last) => SlurmError::Failed { command, complaint: last.to_owned() },
        None => SlurmError::Ended { command, how: how() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(options: SubmitOptions, but: Option<&str>) -> (String, String) {
        let cluster = Cluster {
            limits: ClusterLimits { array: 1001, queued: 10 },
            processors: 2,
            nodes: vec!["n1".into()],
            excluded: vec!["n3".into()],
            memory: Some(Bytes::mib(800)),
            options,
            stop: StopFlag::default(),
        };
        let array = Array { first: 4004, entries_per_task: 4, tasks: vec![0, 1, 2, 9] };
        let submission = Submission {
            array: &array,
            name: queue::name("abc", 4004, 4),
            directory: Path::new("/it's"),
            program: "/it's/fsarena".into(),
            log: "/it's/log".into(),
            but,
            worker: vec!["--cache".into(), "/c d".into()],
        };
        (cluster.words(&submission).join(" "), script(&submission))
    }

    #[test]
    fn a_command_that_fails_is_named_with_its_error_or_its_end() {
        let told = |script: &str| {
            run("sh", &["-c", script], &StopFlag::default()).unwrap_err().to_string()
        };
        assert_eq!(told("echo one >&2; echo two >&2; exit 1"), "sh says: two");
        let by_hand = "run sh by hand to see why";
        let code = format!("cannot run sh: it ended with exit code 7; {by_hand}");
        assert_eq!(told("exit 7"), code);
        let signal = format!("cannot run sh: it ended by signal 9; {by_hand}");
        assert_eq!(told("kill -9 $$"), signal);
        let failed = Output {
            status: std::process::ExitStatus::from_raw(2),
            stdout: Vec::new(),
            stderr: Vec::new(),
        };
        let told = said("squeue", failed, &StopFlag::new(true.into())).unwrap_err();
        assert!(matches!(told, SlurmError::Interrupted), "{told}");
    }

    #[test]
    fn passes_all_options_to_sbatch() {
        let (plain, script) = words(SubmitOptions::default(), None);
        assert_eq!(
            plain,
            "--parsable --requeue --ntasks=1 --cpus-per-task=1 --array=0-2,9 --job-name=fsarena-abc-4004-4 \
             --output=/it's/log/%A_%a.txt --open-mode=append --mem=800M --exclude=n3"
        );
        let line = "exec '/it'\\''s/fsarena' cluster work '/it'\\''s' --index $((4004 + SLURM_ARRAY_TASK_ID * 4)) --count 4";
        assert!(script.contains(line), "{script}");
        assert!(script.ends_with(" '--cache' '/c d'\n"), "{script}");
        let options = SubmitOptions {
            partition: Some("short".into()),
            max_running_tasks: Some(7),
            sbatch: vec!["--account=fs".into()],
            ..SubmitOptions::default()
        };
        let (all, _) = words(options, Some("n1"));
        assert!(all.contains("--array=0-2,9%7 "), "{all}");
        assert!(all.ends_with("--partition=short --exclude=n3,n1 --account=fs"), "{all}");
    }
}
