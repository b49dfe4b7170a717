//! A Slurm cluster on this machine: a controller and two nodes with real daemons, but without a
//! database. The cluster is removed when it is dropped or the test is killed.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Timeout for a daemon.
const TIME_LIMIT: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(50);
/// Names of the nodes.
pub const NODES: [&str; 2] = ["n1", "n2"];

/// A cluster. All its processes are killed on drop.
#[derive(Debug)]
pub struct Slurm {
    directory: TempDir,
    daemons: Vec<(String, Child)>,
}

impl Slurm {
    /// Starts a cluster.
    ///
    /// # Panics
    /// Panics if a daemon cannot be started or no node becomes available.
    pub fn start() -> Self {
        let directory = tempfile::Builder::new().prefix("fsarena-slurm-").tempdir();
        let mut slurm = Self {
            directory: directory.expect("the directory for temporary files is writable"),
            daemons: Vec::new(),
        };
        for sub in ["state", "spool-n1", "spool-n2"] {
            fs::create_dir(slurm.path(sub)).expect("it is new");
        }
        // The daemon that checks credentials accesses this directory as another user.
        let all_may_enter = fs::Permissions::from_mode(0o755);
        fs::set_permissions(slurm.directory.path(), all_may_enter).expect("it is ours");
        let mut key = fs::File::open("/dev/urandom").expect("it is always there");
        let mut bytes = [0; 1024];
        std::io::Read::read_exact(&mut key, &mut bytes).expect("it never ends");
        fs::write(slurm.path("munge.key"), bytes).expect("it is writable");
        let only_ours = fs::Permissions::from_mode(0o600);
        fs::set_permissions(slurm.path("munge.key"), only_ours).expect("it is ours");
        fs::write(slurm.config(), slurm.text()).expect("it is writable");
        slurm.munge();
        slurm.control();
        NODES.iter().for_each(|node| slurm.node(node));
        for node in NODES {
            slurm.wait_for(&format!("{node} is up"), |slurm| slurm.state(node).starts_with("idle"));
        }
        slurm
    }

    /// Returns Slurm's configuration file, the value of `SLURM_CONF`.
    pub fn config(&self) -> PathBuf {
        self.path("slurm.conf")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn text(&self) -> String {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("it is always there");
        let (host, place) = (host.trim(), self.directory.path().display());
        let [control, one, two] = ports();
        format!(
            "ClusterName=fsarena\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={control}\nSlurmUser=root\n\
             AuthType=auth/munge\nAuthInfo=socket={place}/munge.socket,cred_expire=5\nCredType=cred/munge\n\
             StateSaveLocation={place}/state\nSlurmdSpoolDir={place}/spool-%n\n\
             SlurmctldPidFile={place}/control.pid\nSlurmdPidFile={place}/%n.pid\n\
             SlurmctldLogFile={place}/control.log\nSlurmdLogFile={place}/%n.log\n\
             SlurmdParameters=config_overrides\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nReturnToService=2\n\
             SlurmdTimeout=10\nMessageTimeout=60\nKillWait=1\nMinJobAge=2\nMpiDefault=none\n\
             JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
             JobCompType=jobcomp/none\nSchedulerParameters=sched_interval=1,bf_interval=1\nMaxArraySize=6\n\
             NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={one} CPUs=1\n\
             NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={two} CPUs=1\n\
             PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP\n"
        )
    }

    fn munge(&mut self) {
        let option =
            |name: &str| format!("--{name}-file={}", self.path(&format!("munge.{name}")).display());
        let socket = format!("--socket={}", self.path("munge.socket").display());
        let mut command = Command::new("munged");
        command.args(["--foreground", "--force", &socket]);
        command.args(["key", "pid", "log", "seed"].map(option));
        self.daemon("munged", &command);
        self.wait_for("munged answers", |slurm| slurm.path("munge.socket").exists());
    }

    /// Starts or restarts the controller.
    ///
    /// # Panics
    /// Panics if the controller does not become available.
    pub fn control(&mut self) {
        let mut command = Command::new("slurmctld");
        command.args(["-D", "-f"]).arg(self.config());
        self.daemon("slurmctld", &command);
        self.wait_for("the controller answers", |slurm| {
            slurm.run("scontrol", &["ping"]).is_some_and(|text| text.contains("UP"))
        });
    }

    /// Starts or restarts a node in a separate process namespace, which ends with its first
    /// process.
    pub fn node(&mut self, name: &str) {
        let mut command = Command::new("unshare");
        // Unmounts by other processes also take effect in the node's namespace.
        command.args(["--pid", "--fork", "--kill-child", "--mount-proc", "--propagation=slave"]);
        command.args(["slurmd", "-D", "-N", name, "-f"]).arg(self.config());
        self.daemon(name, &command);
    }

    fn daemon(&mut self, name: &str, command: &Command) {
        let output = fs::File::create(self.path(&format!("{name}.out"))).expect("it is writable");
        let errors = output.try_clone().expect("it is open");
        // If the test is killed, the daemon is killed, too.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--"])
            .arg(command.get_program())
            .args(command.get_args())
            .env("SLURM_CONF", self.config())
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors)
            .spawn();
        let child = child.expect("scripts/test-packages names slurm-wlm and munge");
        self.daemons.push((name.to_owned(), child));
    }

    /// Kills a daemon. With a node, all processes that run on it are killed, too.
    ///
    /// # Panics
    /// Panics if the daemon is not running.
    pub fn kill(&mut self, name: &str) {
        let at = self.daemons.iter().position(|(own, _)| own == name);
        let (_, child) = self.daemons.remove(at.expect("it runs"));
        end(child);
    }

    /// Runs a Slurm command. Returns its output, or `None` if it fails.
    ///
    /// # Panics
    /// Panics if the command is not installed.
    pub fn run(&self, command: &str, words: &[&str]) -> Option<String> {
        let output = Command::new(command)
            .args(words)
            .env("SLURM_CONF", self.config())
            .output()
            .expect("scripts/test-packages names slurm-wlm");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    }

    /// Changes a setting, such as the state of a node. A busy controller may refuse at first.
    ///
    /// # Panics
    /// Panics if the controller still refuses after some minutes.
    #[track_caller]
    pub fn update(&self, words: &[&str]) {
        let command: Vec<&str> = ["update"].iter().chain(words).copied().collect();
        let what = format!("scontrol {} succeeds", command.join(" "));
        self.wait_for(&what, |slurm| slurm.run("scontrol", &command).is_some());
    }

    /// Lets a drained node run jobs again.
    ///
    /// # Panics
    /// Panics if the node is still drained after some minutes.
    #[track_caller]
    pub fn resume(&self, node: &str) {
        let name = format!("nodename={node}");
        self.wait_for(&format!("{node} resumes"), |slurm| {
            // An earlier attempt may have succeeded without an answer.
            slurm.run("scontrol", &["update", &name, "state=resume"]);
            !self.state(node).starts_with("drain")
        });
    }

    /// Returns the state of a node.
    pub fn state(&self, node: &str) -> String {
        let state = self.run("sinfo", &["--noheader", "--nodes", node, "--format", "%T"]);
        state.unwrap_or_default().trim().to_owned()
    }

    /// Returns true if a node responds and runs jobs or can run them.
    pub fn answers(&self, node: &str) -> bool {
        ["idle", "mixed", "allocated", "completing"].contains(&&*self.state(node))
    }

    /// Returns the queue, one line per task: number, state, node.
    pub fn queue(&self) -> String {
        let queue = self.run("squeue", &["--array", "--noheader", "--format", "%i %T %N %j"]);
        queue.unwrap_or_default()
    }

    /// Waits until a condition holds.
    ///
    /// # Panics
    /// Panics on timeout.
    #[track_caller]
    pub fn wait_for(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        wait_for(what, || is_so(self), || self.said());
    }

    /// Returns the last output of the daemons.
    fn said(&self) -> String {
        let logs = ["control.log", "n1.log", "n2.log", "slurmctld.out", "n1.out", "munged.out"];
        let log = |name: &&str| {
            let text = fs::read_to_string(self.path(name)).unwrap_or_default();
            let lines: Vec<&str> = text.lines().rev().take(15).collect();
            format!("{name}:\n{}", lines.join("\n"))
        };
        logs.iter().map(log).collect::<Vec<_>>().join("\n")
    }
}

/// Waits until a condition holds.
///
/// # Panics
/// Panics on timeout, with the output of `said`.
#[track_caller]
pub fn wait_for(what: &str, is_so: impl Fn() -> bool, said: impl Fn() -> String) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < TIME_LIMIT, "not so: {what}\n{}", said());
        thread::sleep(PAUSE);
    }
}

/// Returns true if the command line of a running process contains a path.
pub fn runs_in(path: &Path) -> bool {
    let path = path.to_string_lossy().into_owned();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).contains(&path))
}

fn end(mut child: Child) {
    // A process that has ended must be waited for, too.
    let _ = child.kill();
    let _ = child.wait();
}

/// Returns three free ports.
fn ports() -> [u16; 3] {
    let listeners =
        [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").expect("there are free ports"));
    listeners.map(|listener| listener.local_addr().expect("it is bound").port())
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // Nodes end first; the controller would otherwise wait for them.
        while let Some((_, child)) = self.daemons.pop() {
            end(child);
        }
    }
}
