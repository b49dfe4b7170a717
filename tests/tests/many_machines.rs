//! A campaign on several hosts: planned into a directory, processed by GNU parallel, and by Slurm
//! while its nodes, its controller and fsarena itself are killed. Each cell counts once and has the
//! same result as on one machine.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use end_to_end::slurm::{runs_in, wait_for};
use end_to_end::{CommandOutput, RemoteHost, Sandbox, Slurm, program, run, succeed};
use model::{CampaignResults, CellId, Nanos, Status};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::stopwatch::Stopwatch;

/// A campaign with four cells that run. Four other cells end at once, because their filesystem is
/// larger than the disk.
const CAMPAIGN: [&str; 16] = [
    "--backend",
    "vm",
    "--clock",
    "virtual",
    "--profile",
    "smoke",
    "--suite",
    "trial",
    "--contender",
    "minix",
    "--contender",
    "xfs",
    "--size",
    "48MiB",
    "--memory",
    "320MiB",
];

/// Returns an fsarena command with a subcommand.
fn fsarena(sandbox: &Sandbox, command: &[&str]) -> Command {
    let mut fsarena = sandbox.fsarena();
    fsarena.args(command);
    fsarena.env("XDG_CACHE_HOME", program::cache());
    // Workers inherit this variable.
    fsarena.env("TMPDIR", sandbox.path("tmp"));
    fsarena
}

/// Creates an exclusive sandbox: daemons of nodes keep all mounts that exist when they start.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::exclusive();
    fs::create_dir(sandbox.path("tmp")).unwrap();
    sandbox
}

/// Plans a campaign for several hosts.
fn planned(sandbox: &Sandbox, contenders: &[&str], rounds: &str, check: &str) -> PathBuf {
    planned_in(sandbox, "planned", contenders, rounds, check)
}

fn planned_in(
    sandbox: &Sandbox,
    name: &str,
    contenders: &[&str],
    rounds: &str,
    check: &str,
) -> PathBuf {
    let directory = sandbox.path(name);
    let mut plan = fsarena(sandbox, &["cluster", "plan"]);
    plan.args(&CAMPAIGN[..8]).args(&CAMPAIGN[12..]);
    for contender in contenders {
        plan.args(["--contender", contender]);
    }
    plan.args(["--rounds", rounds, "--check", check, "--work-dir"]);
    plan.arg(sandbox.path("work")).arg("-o").arg(&directory);
    run(&mut plan).assert_code(0);
    directory
}

fn collect(sandbox: &Sandbox, directory: &Path) -> CommandOutput {
    run(fsarena(sandbox, &["cluster", "collect"]).arg(directory))
}

/// Returns the common part of two runs of a campaign, without the times at which and for which they
/// ran.
fn lasting(mut results: CampaignResults) -> String {
    (results.id, results.started) = (0, Nanos(0));
    for environment in &mut results.environments {
        environment.spread = None;
    }
    results.environments.dedup();
    for cell in &mut results.cells {
        let result = cell.result.as_mut().expect("every cell has a result");
        (result.started, result.elapsed) = (Nanos(0), Nanos(0));
    }
    serde_json::to_string_pretty(&results).unwrap()
}

/// A running fsarena that follows Slurm; it ends with the test.
struct Following(Child);

impl Following {
    fn start(command: &mut Command, slurm: &Slurm, log: &Path) -> Self {
        let log = fs::File::create(log).unwrap();
        let errors = log.try_clone().unwrap();
        command.env("SLURM_CONF", slurm.config());
        command.stdout(log).stderr(errors).stdin(Stdio::null());
        Self(command.spawn().unwrap())
    }

    fn code(&mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A node is killed while it runs cells, another one is drained, the controller is killed and
/// restarted, and fsarena itself is killed. The results are byte-identical to those of one machine.
#[test]
fn slurm_failures_do_not_change_results() {
    let sandbox = sandbox();
    let mut slurm = Slurm::start();
    let (directory, log) = (sandbox.path("planned"), sandbox.path("log"));
    let said = || fs::read_to_string(&log).unwrap_or_default();
    let mut command = fsarena(&sandbox, &["run"]);
    command.args(CAMPAIGN).args(["--rounds", "4", "--work-dir"]).arg(sandbox.path("work"));
    command.args(["--on", "slurm", "--json", "--plan"]).arg(&directory);
    let mut first = Following::start(&mut command, &slurm, &log);
    let runs_on = |node: &str| {
        let running = format!("RUNNING {node} ");
        move |slurm: &Slurm| slurm.queue().contains(&running)
    };
    // A drained node finishes its cell, so that both nodes have results.
    slurm.wait_for(&format!("n2 runs a cell\n{}", said()), runs_on("n2"));
    slurm.wait_for(&format!("n1 runs a cell\n{}", said()), runs_on("n1"));
    let drain = ["nodename=n2", "state=drain", "reason=test"];
    slurm.kill("n1");
    slurm.update(&drain);
    slurm.kill("slurmctld");
    first.0.kill().unwrap();
    first.code();
    slurm.control();
    // A controller stores the states of nodes now and then: the killed one may have lost this one.
    slurm.update(&drain);
    slurm.node("n1");

    let resumed = sandbox.path("resumed");
    let mut command = fsarena(&sandbox, &["cluster", "collect"]);
    command.arg(&directory).args(["--on", "slurm", "--json"]);
    slurm.wait_for("n1 is back", |slurm| slurm.answers("n1"));
    let mut second = Following::start(&mut command, &slurm, &resumed);
    slurm.wait_for("n1 works again", runs_on("n1"));
    slurm.wait_for("n2 has nothing to do", |slurm| slurm.state("n2") == "drained");
    let code = loop {
        if let Some(status) = second.0.try_wait().unwrap() {
            break status.code();
        }
        // A restarted controller may also drain a node itself, whose job it launches twice.
        slurm.resume("n2");
    };
    let text = fs::read_to_string(&resumed).unwrap();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("\"event\":\"complete\""), "{text}");
    wait_for("the queue is empty", || slurm.queue().is_empty(), String::new);

    let spread = sandbox.results();
    assert_eq!(spread.cells.len(), 8);
    let hosts = hosts(&directory);
    assert_eq!(hosts.len(), 9, "eight cells and a check: {hosts:?}");
    assert!(["n1", "n2"].iter().all(|node| hosts.iter().any(|host| host == node)), "{hosts:?}");
    let mut alone = fsarena(&sandbox, &["run"]);
    alone.args(CAMPAIGN).args(["--rounds", "4", "--no-cache", "--work-dir"]);
    run(alone.arg(sandbox.path("work"))).assert_code(0);
    assert_eq!(lasting(spread), lasting(sandbox.results()));
    // The next worker removed the leftovers of the killed one.
    let work = sandbox.path("tmp/fsarena-work-0");
    assert_eq!(fs::read_dir(work).unwrap().count(), 0);
    assert!(!runs_in(&directory));
}

/// Returns the hosts named in the results.
fn hosts(directory: &Path) -> Vec<String> {
    let host = |file: serde_json::Value| file["host"].as_str().unwrap().to_owned();
    result_files(directory).into_iter().map(host).collect()
}

/// Returns the content of all result files.
fn result_files(directory: &Path) -> Vec<serde_json::Value> {
    let shelves = fs::read_dir(directory.join("results")).unwrap();
    let files = shelves.flat_map(|shelf| fs::read_dir(shelf.unwrap().path()).unwrap());
    let read = |path: PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let (_, json) = text.split_once('\n').unwrap();
        serde_json::from_str(json).unwrap()
    };
    files.map(|file| read(file.unwrap().path())).collect()
}

/// A filesystem of a few kilobytes that is unmounted at the end of the test.
struct Small(PathBuf);

impl Small {
    fn mount(path: PathBuf) -> Self {
        fs::create_dir(&path).unwrap();
        let mut mount = Command::new("mount");
        succeed(mount.args(["-t", "tmpfs", "-o", "size=2m,mode=700", "small"]).arg(&path));
        Self(path)
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// While results cannot be stored, no cell is claimed; once there is space, all cells run. The
/// queue is empty after fsarena gives up and after Ctrl-C.
#[test]
fn a_full_disk_loses_no_results_and_ctrl_c_empties_the_queue() {
    let sandbox = sandbox();
    let directory = planned(&sandbox, &["xfs", "minix"], "1", "0%");
    let results = directory.join("results");
    let shelves = fs::read_dir(&results).unwrap();
    let shelves: Vec<_> = shelves.map(|shelf| shelf.unwrap().file_name()).collect();
    fs::remove_dir_all(&results).unwrap();
    let small = Small::mount(results);
    for shelf in shelves {
        fs::create_dir(small.0.join(&shelf)).unwrap();
        fs::set_permissions(small.0.join(shelf), fs::Permissions::from_mode(0o700)).unwrap();
    }
    // A node sees only what is mounted before it starts.
    let slurm = Slurm::start();
    let filler = small.0.join("filler");
    let mut fill = Command::new("dd");
    fill.args(["if=/dev/zero", "bs=4k"]).arg(format!("of={}", filler.display()));
    assert!(!fill.output().unwrap().status.success(), "it is full");
    let on_slurm = || {
        let mut command = fsarena(&sandbox, &["cluster", "collect"]);
        command.arg(&directory).args(["--on", "slurm", "--json"]);
        command.env("SLURM_CONF", slurm.config());
        command
    };
    let full = run(&mut on_slurm()).assert_code(3);
    assert!(
        full.stderr.contains("lost 2 times") && full.stderr.contains("No space left"),
        "{}",
        full.stderr
    );
    wait_for("the queue is empty", || slurm.queue().is_empty(), || slurm.queue());
    let logs = fs::read_dir(directory.join("log")).unwrap();
    let mut logs = logs.map(|log| fs::read_to_string(log.unwrap().path()).unwrap());
    assert!(logs.any(|log| log.contains("No space left on device")));
    fs::remove_file(filler).unwrap();
    let partial = hosts_of(&small.0);
    assert_eq!(partial, 0, "what could not be written to its end is not there");

    // No node runs tasks until Ctrl-C.
    for node in end_to_end::slurm::NODES {
        let name = format!("nodename={node}");
        slurm.update(&[&name, "state=drain", "reason=test"]);
    }
    let none = run(&mut on_slurm()).assert_code(3);
    assert!(none.stderr.contains("no node of the cluster"), "{}", none.stderr);
    for node in end_to_end::slurm::NODES {
        slurm.resume(node);
    }
    slurm.wait_for("the nodes answer", |slurm| {
        end_to_end::slurm::NODES.iter().all(|node| slurm.answers(node))
    });
    slurm.update(&["partitionname=all", "state=down"]);
    let log = sandbox.path("log");
    let mut waiting = Following::start(&mut on_slurm(), &slurm, &log);
    slurm.wait_for("tasks wait", |slurm| slurm.queue().contains("PENDING"));
    succeed(Command::new("kill").args(["-INT", &waiting.0.id().to_string()]));
    assert_eq!(waiting.code(), Some(130), "{}", fs::read_to_string(&log).unwrap());
    wait_for("the queue is empty", || slurm.queue().is_empty(), || slurm.queue());
    slurm.update(&["partitionname=all", "state=up"]);

    run(&mut on_slurm()).assert_code(0);
    let all = sandbox.results();
    let statuses = all.cells.iter().map(|c| c.result.as_ref().unwrap().status);
    let mut statuses: Vec<Status> = statuses.collect();
    statuses.sort();
    assert_eq!(statuses, [Status::Ok, Status::Unsupported]);
    a_list_of_versions_is_searched_on_the_nodes(&sandbox, &slurm);
}

/// Three versions of mkfs and mount options; in the last one, ext4 has a journal again.
const VERSIONS: &str = r#"
profile = "smoke"
contenders = [
  { name = "v1", filesystem = "ext4", mkfs_options = ["-O", "^has_journal"] },
  { name = "v2", filesystem = "ext4", mkfs_options = ["-O", "^has_journal"], mount_options = ["noatime"] },
  { name = "v3", filesystem = "ext4" },
]
"#;

/// Uses the daemons of another test, because starting them takes longer than this check.
fn a_list_of_versions_is_searched_on_the_nodes(sandbox: &Sandbox, slurm: &Slurm) {
    let (file, plans) = (sandbox.path("versions.toml"), sandbox.path("versions"));
    fs::write(&file, VERSIONS).unwrap();
    let guard = || {
        let mut guard = fsarena(sandbox, &["guard"]);
        guard.args(["v1", "v2", "v3"]).arg(&file);
        guard.args(["--suite", "durable", "--only", "durable/create-fsync"]);
        // A few files are created, so a single millisecond of the kernel is several percent; the journal costs 74 %.
        guard.args(["--threshold", "30%", "--check", "0%", "--on", "slurm", "--plan"]);
        guard.arg(&plans).env("SLURM_CONF", slurm.config());
        guard.arg("--work-dir").arg(sandbox.path("work"));
        run(&mut guard).assert_code(1).stdout
    };
    let said = guard();
    let answer = "First worse: v3 (3 of 3 versions run): durable/create-fsync";
    assert!(said.starts_with(answer), "{said}");
    for version in ["1", "2", "3"] {
        let by = hosts(&plans.join(version));
        assert!(matches!(&by[..], [node] if ["n1", "n2"].contains(&node.as_str())), "{by:?}");
    }
    // Cells with a result do not run again.
    assert_eq!(guard(), said);
}

/// Counts the result files below a directory.
fn hosts_of(directory: &Path) -> usize {
    let shelves = fs::read_dir(directory).unwrap();
    let shelves = shelves.map(|shelf| shelf.unwrap().path()).filter(|path| path.is_dir());
    shelves.map(|shelf| fs::read_dir(shelf).unwrap().count()).sum()
}

#[test]
fn gnu_parallel_can_run_the_cells_and_collect_lists_missing_ones() {
    let sandbox = sandbox();
    let directory = planned(&sandbox, &["xfs", "minix"], "1", "0%");
    let worker = directory.join("fsarena");
    let nothing = collect(&sandbox, &directory).assert_code(5);
    assert!(nothing.stderr.contains("to be run: entries 0-1"), "{}", nothing.stderr);
    let mut parallel = Command::new("parallel");
    parallel
        .args(["--will-cite", "--jobs", "2"])
        .arg(&worker)
        .args(["cluster", "work"])
        .arg(&directory);
    parallel
        .args(["--as", "n1", "--index", "{}", ":::", "0", "1"])
        .env("TMPDIR", sandbox.path("tmp"));
    run(&mut parallel).assert_code(0);
    let again = run(Command::new(&worker).args(["cluster", "work"]).arg(&directory).arg("--all"))
        .assert_code(0);
    assert_eq!(
        (again.stdout.as_str(), again.stderr.as_str()),
        ("", ""),
        "no cell remains to be run"
    );
    collect(&sandbox, &directory).assert_code(0);
    let results = sandbox.results();
    let cell = |id| results.cells.iter().find(|c| c.cell.id == CellId(id)).unwrap();
    let statuses = [0, 1].map(|id| cell(id).result.as_ref().unwrap().status);
    assert!(statuses.contains(&Status::Ok) && statuses.contains(&Status::Unsupported));
    // A second collection has no effect.
    collect(&sandbox, &directory).assert_code(0);
    assert_eq!(sandbox.results().environments.len(), 1);
    sandbox.assert_clean();
}

#[test]
fn an_interrupted_worker_names_the_command_that_resumes() {
    let sandbox = sandbox();
    let directory = planned(&sandbox, &["minix"], "30", "0%");
    let mut work = Command::new(directory.join("fsarena"));
    work.args(["cluster", "work"]).arg(&directory).arg("--all").stderr(Stdio::piped());
    let child = work.env("TMPDIR", sandbox.path("tmp")).spawn().unwrap();
    wait_for("a result", || hosts_of(&directory.join("results")) > 0, String::new);
    succeed(Command::new("kill").args(["-INT", &child.id().to_string()]));
    let ended = CommandOutput::from(child.wait_with_output().unwrap()).assert_code(130);
    let line = ended.stderr.lines().last().unwrap_or_default();
    assert!(line.starts_with("interrupted; the results of finished cells"), "{line}");
    let resume = format!("cluster work {} --all", directory.display());
    assert!(line.ends_with(&resume), "{line}");
}

/// Creates a key for a shared cache.
fn key(sandbox: &Sandbox, name: &str, mode: u32) -> PathBuf {
    let key = sandbox.path(name);
    fs::write(&key, name.repeat(32)).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
    key
}

/// Two users start the same cell at the same time, each for a different campaign.
#[test]
fn of_two_workers_with_a_shared_cache_one_runs_a_cell_and_the_other_is_served() {
    let sandbox = sandbox();
    let (cells, key) = (sandbox.path("cells"), key(&sandbox, "k", 0o600));
    let directories =
        ["one", "other"].map(|name| planned_in(&sandbox, name, &["minix"], "1", "0%"));
    let start = |directory: &PathBuf| {
        let mut work = Command::new(directory.join("fsarena"));
        work.args(["cluster", "work"]).arg(directory).args(["--all", "--cache"]);
        work.arg(&cells).arg("--cache-key").arg(&key);
        work.env("TMPDIR", sandbox.path("tmp"));
        work.stderr(Stdio::null()).spawn().unwrap()
    };
    for mut worker in directories.each_ref().map(start) {
        assert!(worker.wait().unwrap().success());
    }
    let files = directories.each_ref().map(|path| result_files(path).remove(0));
    let [one, other] = files.each_ref().map(|file| &file["result"]);
    assert_eq!(one["phases"], other["phases"]);
    let is_served = [one, other].map(|result| result["from_cache"] == true);
    assert!(is_served.contains(&true) && is_served.contains(&false), "{is_served:?}");
    let left = fs::read_dir(&cells).unwrap().count();
    assert_eq!(left, 2, "the result and the key check");
}

#[test]
fn each_bad_cache_has_its_line() {
    let sandbox = sandbox();
    let cells = sandbox.path("cells");
    let own = key(&sandbox, "k", 0o600);
    let directory = planned(&sandbox, &["minix"], "1", "0%");
    let try_it = |cache: &str, key: &Path, code| {
        let mut collect = fsarena(&sandbox, &["cluster", "collect"]);
        collect.arg(&directory).args(["--cache", cache]);
        run(collect.arg("--cache-key").arg(key)).assert_code(code).stderr
    };
    let cells = cells.to_str().unwrap();
    assert!(try_it(cells, &own, 5).contains("results are missing"));
    let short = sandbox.path("short");
    fs::write(&short, "too short").unwrap();
    fs::set_permissions(&short, fs::Permissions::from_mode(0o600)).unwrap();
    for (cache, key, code, told) in [
        (cells, key(&sandbox, "l", 0o600), 3, "is kept with another key"),
        (cells, key(&sandbox, "m", 0o644), 3, "is accessible to all users"),
        (cells, short, 2, "is too short for a key"),
        ("/proc/self", own.clone(), 3, "no results can be kept in /proc/"),
        ("s3://cells", own.clone(), 2, "built without S3"),
        ("s3://", own, 2, "names no bucket"),
    ] {
        let said = try_it(cache, &key, code);
        assert!(said.contains(told) && said.lines().count() == 1, "{said}");
    }
}

/// Two hosts that are reachable by ssh, and an fsarena that runs the campaign on them.
struct OnHosts {
    hosts: [RemoteHost; 2],
    following: Following,
    directory: PathBuf,
    log: PathBuf,
}

impl OnHosts {
    fn start(sandbox: &Sandbox, check: &str) -> Self {
        let hosts = ["n1", "n2"].map(|name| RemoteHost::with_name(name, sandbox));
        let (directory, log) = (sandbox.path("planned"), sandbox.path("log"));
        let mut command = fsarena(sandbox, &["run"]);
        command.args(CAMPAIGN).args(["--rounds", "1", "--check", check]);
        command.args(["--on", "ssh", "--hosts", "n1,n2", "--plan"]).arg(&directory);
        command.arg("--work-dir").arg(sandbox.path("work"));
        let output = fs::File::create(&log).unwrap();
        command.stdout(output.try_clone().unwrap()).stderr(output);
        let following = Following(hosts[0].configure_ssh(&mut command).spawn().unwrap());
        Self { hosts, following, directory, log }
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    fn workers(&self) -> [Vec<i32>; 2] {
        self.hosts.each_ref().map(|host| host.processes("work"))
    }

    /// Waits until a host runs a cell and returns the index of the host.
    fn host_at_work(&self) -> usize {
        let found = Cell::new(None);
        let is_found = || {
            found.set(self.workers().iter().position(|all| !all.is_empty()));
            found.get().is_some()
        };
        wait_for("a worker runs", is_found, || self.said());
        found.get().expect("a worker runs")
    }

    /// Checks that the campaign finishes with every cell and loses none.
    fn ends(&mut self, sandbox: &Sandbox) {
        assert_eq!(self.following.code(), Some(0), "{}", self.said());
        let said = self.said();
        assert!(said.contains("went away: its cells go to others"), "{said}");
        let results = sandbox.results();
        let statuses = { results.cells.iter() }.map(|c| c.result.as_ref().unwrap().status);
        let mut statuses: Vec<Status> = statuses.collect();
        statuses.sort();
        assert_eq!(statuses, [Status::Ok, Status::Unsupported]);
    }
}

/// A worker is killed during a cell. Another worker runs its unsent cells, and no files remain on
/// any host.
#[test]
fn ssh_hosts_share_the_cells_and_a_killed_worker_loses_none() {
    let sandbox = sandbox();
    let mut on = OnHosts::start(&sandbox, "50%");
    let is_killed = |worker: &i32| kill(Pid::from_raw(*worker), Signal::SIGKILL).is_ok();
    let is_any_killed = || on.workers().concat().iter().filter(|w| is_killed(w)).count() > 0;
    wait_for("a worker is killed", is_any_killed, || on.said());
    on.ends(&sandbox);
    let mut by = hosts(&on.directory);
    assert_eq!(by.len(), 3, "two cells and a check: {by:?}");
    by.sort();
    by.dedup();
    assert_eq!(by, ["n1", "n2"], "a check is of another host");
    assert!(on.workers().concat().is_empty());
    for host in &on.hosts {
        let left = fs::read_dir(host.cache.join("fsarena/plans")).unwrap();
        assert_eq!(left.count(), 0);
    }
}

/// A host stays alive but stops responding. ssh checks it every few seconds and closes the
/// connection.
#[test]
fn a_disconnected_host_is_named_and_the_other_runs_its_cells() {
    let sandbox = sandbox();
    let mut on = OnHosts::start(&sandbox, "0%");
    let cut = on.host_at_work();
    on.hosts[cut].disconnect();
    on.ends(&sandbox);
    let [gone, other] = [cut, 1 - cut].map(|host| ["n1", "n2"][host]);
    let said = on.said();
    assert!(said.contains(&format!("{gone} went away")), "{said}");
    assert!(hosts(&on.directory).contains(&other.to_owned()), "{said}");
    for worker in on.workers().concat() {
        let _ = kill(Pid::from_raw(worker), Signal::SIGKILL);
    }
}

#[test]
fn each_bad_input_of_hosts_has_its_line() {
    let sandbox = sandbox();
    let directory = planned(&sandbox, &["xfs", "minix"], "1", "0%");
    let worker = directory.join("fsarena");
    let work = |path: &Path, words: &[&str]| {
        run(Command::new(&worker).args(["cluster", "work"]).arg(path).args(words))
            .assert_code(2)
            .stderr
    };
    for (path, words, told) in [
        (sandbox.root(), &["--all"][..], "holds no plan: `fsarena cluster plan"),
        (&directory, &["--index", "9"], "has entries 0 to 1: there is no entry 9"),
        (&directory, &[], "--index"),
    ] {
        let stderr = work(path, words);
        assert!(stderr.contains(told) && stderr.lines().count() == 1, "{stderr}");
    }
    let mut on_none = fsarena(&sandbox, &["cluster", "collect"]);
    on_none.arg(&directory).args(["--on", "slurm"]).env("PATH", sandbox.root());
    let told = run(&mut on_none).assert_code(3).stderr;
    assert!(told.contains("`apt-get install slurm-client`"), "{told}");
    for (words, told) in [
        (&["--on", "ssh"][..], "--on ssh takes --hosts n1,n2"),
        (&["--on", "slurm", "--hosts", "n1"], "Slurm takes --nodes"),
        (&["--on", "ssh", "--hosts", "n1", "--nodes", "n"], "go with --on slurm"),
    ] {
        let stderr = run(fsarena(&sandbox, &["cluster", "collect"]).arg(&directory).args(words))
            .assert_code(2)
            .stderr;
        assert!(stderr.contains(told), "{stderr}");
    }
    let mut twice = fsarena(&sandbox, &["cluster", "plan"]);
    twice.args(CAMPAIGN).arg("-o").arg(&directory);
    let told = run(&mut twice).assert_code(2).stderr;
    assert!(told.contains("is not empty: give a directory"), "{told}");
    let mut real = fsarena(&sandbox, &["cluster", "plan"]);
    real.args(["-c", "ext4", "--backend", "loop", "-o"]).arg(sandbox.path("other"));
    let told = run(&mut real).assert_code(2).stderr;
    assert!(told.contains("cannot compare results of different hosts in real time"), "{told}");
}

/// Scripts in place of Slurm's commands. `squeue` and `sbatch` give the answers of the attack.
fn hostile_slurm(sandbox: &Sandbox, squeue: &str, sbatch: &str) -> PathBuf {
    let bin = sandbox.path("slurm");
    fs::create_dir_all(&bin).unwrap();
    let asked = sandbox.path("asked");
    let cancelled = format!("echo \"$@\" >>{}", sandbox.path("cancelled").display());
    for (name, script) in [
        ("scontrol", "echo 'MaxArraySize = 21'"),
        ("sinfo", "printf 'n1|4294967295|1|idle\\nn2|4294967295|1|idle\\n'"),
        ("squeue", &format!("echo >{}; {squeue}", asked.display())),
        ("sbatch", sbatch),
        ("scancel", &cancelled),
    ] {
        let path = bin.join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    bin
}

/// Regression test: processors overflowed, a task without entries was divided by, an option in
/// place of a job number reached scancel, and a silent squeue ignored signals.
#[test]
fn hostile_answers_of_slurm_neither_panic_nor_hang_nor_reach_other_commands() {
    let sandbox = sandbox();
    let directory = planned(&sandbox, &["minix"], "1", "0%");
    let mut sha256 = Command::new("sha256sum");
    let digest = succeed(sha256.arg(directory.join("plan.json")));
    let plan = &digest[..12];
    for squeue in [
        "exec sleep 1000".to_owned(),
        // Too slow for the limit of an answer, even on a fast machine.
        "while :; do echo y; sleep 0.01; done".to_owned(),
        format!("echo '5|0|RUNNING|n1|None|fsarena-{plan}-0-0'"),
        format!("echo '--user=root|0|PENDING||held|fsarena-{plan}-0-1'"),
        format!("echo '../x|0|PENDING||held|fsarena-{plan}-0-1'"),
    ] {
        for signal in [Signal::SIGINT, Signal::SIGTERM] {
            let bin = hostile_slurm(&sandbox, &squeue, "exec sleep 1000");
            let mut command = fsarena(&sandbox, &["cluster", "collect"]);
            command.arg(&directory).args(["--on", "slurm"]);
            let path = std::env::var("PATH").unwrap();
            command.env("PATH", format!("{}:{path}", bin.display()));
            let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let asked = sandbox.path("asked");
            wait_for("squeue is asked", || asked.exists(), String::new);
            let stopwatch = Stopwatch::start();
            kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
            let ended = CommandOutput::from(child.wait_with_output().unwrap());
            stopwatch.assert_within(Duration::from_secs(2), signal.as_str());
            assert_eq!(ended.code, Some(130), "{squeue}: {}", ended.stderr);
            fs::remove_file(asked).unwrap();
        }
    }
    assert!(!sandbox.path("cancelled").exists(), "nothing was queued");
}

/// Regression test: fsarena submitted again and again, without a word with `--quiet`.
#[test]
fn a_refusing_sbatch_ends_the_campaign_and_is_not_asked_again_once_it_may_have_submitted() {
    let sandbox = sandbox();
    let directory = planned(&sandbox, &["minix"], "1", "0%");
    let submitted = sandbox.path("submitted");
    let count = format!("cat >/dev/null; echo >>{}", submitted.display());
    for (answer, tries, cause) in [
        ("echo '../../x;cluster'", 1, "sbatch printed \"../../x;cluster\","),
        ("true", 1, "sbatch printed \"\","),
        ("echo refused >&2; exit 1", 3, "sbatch says: refused"),
        ("exit 7", 3, "cannot run sbatch: it ended with exit code 7"),
    ] {
        let bin = hostile_slurm(&sandbox, "true", &format!("{count}; {answer}"));
        let mut command = fsarena(&sandbox, &["cluster", "collect", "--quiet"]);
        command.arg(&directory).args(["--on", "slurm"]);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", bin.display()));
        let told = run(&mut command).assert_code(3).stderr;
        assert!(told.contains(&format!("cannot submit to Slurm: {cause}")), "{told}");
        assert_eq!(fs::read_to_string(&submitted).unwrap().lines().count(), tries, "{told}");
        fs::remove_file(&submitted).unwrap();
    }
}
