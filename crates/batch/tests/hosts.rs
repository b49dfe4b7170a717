//! Tests with hosts that fail and return while they run the cells of a plan: each cell gets one
//! result.

mod planned;

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use batch::hosts::{HostPool, ReadyHost, WorkerHost};
use batch::{Batch, EntryRange, ResultDirectory, WorkerShare};
use campaign::run::in_memory::{self, FakeBackend};
use campaign::run::{CampaignEnd, Observer, RunLimits, StopFlag};

use planned::{in_memory_directory, outcome, plan_in, taken};

/// Number of results of a host that never fails. Its workers wait for the file `go`, so that such a
/// host cannot finish the campaign before other hosts have failed.
const ENDLESS: u32 = u32::MAX;

/// Beginning of the script of a worker that waits for the file `go`, at most two minutes.
const WAIT_FOR_GO: &str = "i=0; while ! [ -e ../go ]; do i=$((i+1)); \
    [ $i -lt 6000 ] || { echo there is no file go >&2; exit 3; }; sleep 0.02; done; ";

/// A host that sends results from files, and disconnects or refuses to continue after a given
/// number of results.
struct SimulatedHosts {
    name: &'static str,
    machine: &'static str,
    texts: PathBuf,
    left: AtomicU32,
    then: i32,
    comes_back: bool,
    is_gone: AtomicBool,
    /// Script of a worker that attacks.
    attack: Option<&'static str>,
    /// Number of failed attempts to contact the host.
    refusals: Arc<AtomicU32>,
}

impl SimulatedHosts {
    fn new(name: &'static str, batch: &Batch, texts: &Path, left: u32, then: i32) -> Self {
        let own = texts.join(name);
        fs::create_dir_all(&own).unwrap();
        for entry in batch.all().unwrap() {
            let send = |text: &str| fs::write(own.join(entry.index.to_string()), text).unwrap();
            let campaign = &batch.plan().campaign;
            let mut share =
                WorkerShare::over_connection(batch, campaign, vec![entry.clone()], name, &send);
            let (mut cells, limits) = (FakeBackend::new(outcome), RunLimits::default());
            campaign::run::run(&mut share, &mut cells, &limits, &(), &StopFlag::default()).unwrap();
        }
        Self {
            name,
            machine: name,
            texts: own,
            left: AtomicU32::new(left),
            then,
            comes_back: false,
            attack: None,
            is_gone: AtomicBool::new(false),
            refusals: Arc::default(),
        }
    }
}

impl WorkerHost for SimulatedHosts {
    fn name(&self) -> &str {
        self.name
    }

    fn prepare(&self) -> Result<ReadyHost, String> {
        if self.is_gone.load(Ordering::SeqCst) && !self.comes_back {
            self.refusals.fetch_add(1, Ordering::SeqCst);
            return Err("no route to it".into());
        }
        let machine = self.machine.to_owned();
        Ok(ReadyHost { slots: 2, machine })
    }

    fn start_worker(&self, part: EntryRange) -> Result<Command, String> {
        let mut script = format!("{}\n", self.attack.unwrap_or_default());
        if self.left.load(Ordering::SeqCst) > ENDLESS / 2 {
            script += WAIT_FOR_GO;
        }
        for entry in part.first..part.first + part.count {
            let left = |left: u32| left.checked_sub(1);
            let runs = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left);
            if runs.is_err() {
                self.is_gone.store(true, Ordering::SeqCst);
                self.left.store(if self.comes_back { ENDLESS } else { 0 }, Ordering::SeqCst);
                // The worker fails in the middle of a result.
                script +=
                    &format!("head -c 100 {entry}; echo it is broken >&2; exit {}; ", self.then);
                break;
            }
            script += &format!("cat {entry}; ");
        }
        let mut command = Command::new("sh");
        command.args(["-c", &script]).current_dir(&self.texts);
        Ok(command)
    }

    fn clean_up(&self) {}
}

/// Notes of a campaign. Creates the file `go` when they contain all awaited texts.
struct HostNotes {
    noted: RefCell<Vec<String>>,
    awaited: &'static [&'static str],
    go: PathBuf,
}

impl HostNotes {
    fn go_if_complete(&self) {
        let noted = self.noted.borrow();
        let is_noted = |text: &&str| noted.iter().any(|note| note.contains(*text));
        if self.awaited.iter().all(is_noted) {
            fs::write(&self.go, "").unwrap();
        }
    }
}

impl Observer for HostNotes {
    fn note(&self, text: &str) {
        self.noted.borrow_mut().push(text.to_owned());
        self.go_if_complete();
    }
}

/// Runs a plan on hosts and returns the notes and the end of the campaign. Hosts that never fail
/// send results only when the awaited texts are noted.
fn on_hosts(
    batch: &Batch,
    store: &mut in_memory::MemorySink,
    hosts: Vec<SimulatedHosts>,
    awaited: &'static [&'static str],
) -> (Vec<String>, Result<CampaignEnd, String>) {
    let notes =
        HostNotes { noted: RefCell::default(), awaited, go: hosts[0].texts.with_file_name("go") };
    notes.go_if_complete();
    // A host is contacted for the second time after the first refusal was reported.
    let refusals: Vec<_> = hosts.iter().map(|host| Arc::clone(&host.refusals)).collect();
    let give_up = move |_| refusals.iter().any(|times| times.load(Ordering::SeqCst) > 1);
    let mut results = ResultDirectory::of(batch).unwrap();
    let hosts = hosts.into_iter().map(|host| Arc::new(host) as Arc<dyn WorkerHost>).collect();
    let stop = StopFlag::default();
    let hosts = HostPool::new(batch, &mut results, hosts, None, "go on", &stop);
    let mut hosts = match hosts {
        Ok(hosts) => hosts.with_retries(Duration::from_millis(1), give_up),
        Err(error) => return (Vec::new(), Err(error.to_string())),
    };
    let ended = campaign::run::run(store, &mut hosts, &RunLimits::default(), &notes, &stop);
    drop(hosts);
    (notes.noted.into_inner(), ended.map_err(|error| error.to_string()))
}

#[test]
fn other_hosts_run_the_entries_of_a_lost_host() {
    const EXPECTED: [&str; 4] = [
        "n1 went away: its cells go to others",
        "n1 runs nothing: no route to it; trying again",
        "n2 is back",
        "n3 gets no more cells: it is broken",
    ];
    let directory = in_memory_directory();
    let batch = plan_in(directory.path(), 10, 200);
    let texts = directory.path().join("texts");
    let host = |name, left, then| SimulatedHosts::new(name, &batch, &texts, left, then);
    let mut store = in_memory::MemorySink::new(&batch.plan().campaign);
    let hosts = vec![
        host("n1", 3, 255),
        SimulatedHosts { comes_back: true, ..host("n2", 2, 255) },
        host("n3", 1, 3),
        host("n4", ENDLESS, 0),
    ];
    let (notes, ended) = on_hosts(&batch, &mut store, hosts, &EXPECTED);
    assert_eq!(ended, Ok(CampaignEnd::Complete), "{notes:?}");
    let notes = notes.join("\n");
    for told in EXPECTED {
        assert!(notes.contains(told), "{told}: {notes}");
    }
    let mut alone = in_memory::MemorySink::new(&batch.plan().campaign);
    let mut cells = FakeBackend::new(outcome);
    let limits = RunLimits::default();
    campaign::run::run(&mut alone, &mut cells, &limits, &(), &StopFlag::default()).unwrap();
    assert_eq!(taken(&store), taken(&alone));
    let results = ResultDirectory::of(&batch).unwrap();
    assert_eq!((results.missing().len(), results.rejected().count()), (0, 0));
}

#[test]
fn reports_when_no_host_is_left_and_can_continue_later() {
    let directory = in_memory_directory();
    let batch = plan_in(directory.path(), 5, 0);
    let texts = directory.path().join("texts");
    let host = |name, left, then| SimulatedHosts::new(name, &batch, &texts, left, then);
    let mut store = in_memory::MemorySink::new(&batch.plan().campaign);
    let (_, ended) = on_hosts(&batch, &mut store, vec![host("n1", 2, 255), host("n2", 2, 3)], &[]);
    let told =
        "no host is available to run the remaining cells (n1: no route to it; n2: it is broken)";
    assert_eq!(ended, Err(told.to_owned()));
    let (_, ended) = on_hosts(&batch, &mut store, vec![host("n3", ENDLESS, 0)], &[]);
    assert_eq!(ended, Ok(CampaignEnd::Complete));
    assert_eq!(taken(&store).len(), 10);
}

#[test]
fn a_machine_with_two_names_cannot_check_its_results() {
    let directory = in_memory_directory();
    let batch = plan_in(directory.path(), 2, 1);
    let texts = directory.path().join("texts");
    let host = |name| SimulatedHosts::new(name, &batch, &texts, ENDLESS, 0);
    let mut store = in_memory::MemorySink::new(&batch.plan().campaign);
    let (_, ended) = on_hosts(&batch, &mut store, vec![host("n1")], &[]);
    assert!(ended.unwrap_err().starts_with("the plan has checks, which need a second host"));
    let same = SimulatedHosts { machine: "n1", ..host("n2") };
    let (notes, ended) = on_hosts(&batch, &mut store, vec![host("n1"), same], &[]);
    let notes = notes.join("\n");
    assert!(notes.contains("is the same machine as"), "{notes}");
    let ended = ended.unwrap_err();
    assert!(ended.contains("no other host is left that could check 1"), "{ended}");
}

/// Regression test: what such a host sent filled the memory and the disk.
#[test]
fn a_host_that_sends_without_end_is_dropped_with_one_line() {
    const ATTACKS: [(&str, &[&str]); 4] = [
        ("exec yes '{}'", &["n1 gets no more cells: it sent a result that is not of this plan"]),
        (
            "exec tr '\\0' x </dev/zero",
            &["n1 gets no more cells: its results: a line is longer than 64 MiB"],
        ),
        ("exec yes >&2", &["n1 gets no more cells: its messages: it is longer than 4 MiB"]),
        (
            "while cat 0 1 2 3; do :; done",
            &["n1 gets no more cells: it sent more than the 1 results of its task"],
        ),
    ];
    for (attack, awaited) in ATTACKS {
        let directory = in_memory_directory();
        let batch = plan_in(directory.path(), 2, 0);
        let texts = directory.path().join("texts");
        let mut store = in_memory::MemorySink::new(&batch.plan().campaign);
        let hosts = vec![
            SimulatedHosts {
                attack: Some(attack),
                ..SimulatedHosts::new("n1", &batch, &texts, 0, 0)
            },
            SimulatedHosts::new("n2", &batch, &texts, ENDLESS, 0),
        ];
        let (notes, ended) = on_hosts(&batch, &mut store, hosts, awaited);
        assert_eq!(ended, Ok(CampaignEnd::Complete), "{notes:?}");
        let about = notes.iter().filter(|note| note.starts_with("n1 "));
        assert_eq!(about.collect::<Vec<_>>(), awaited);
        assert_eq!(taken(&store).len(), 4);
        for log in fs::read_dir(batch.path().join("log")).unwrap() {
            assert!(log.unwrap().metadata().unwrap().len() <= 4 << 20);
        }
    }
}

/// Regression test: root appended to any file through a link that another user had put into the
/// directory for logs.
#[test]
fn nothing_is_written_through_a_link_in_the_directory_for_logs() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let directory = in_memory_directory();
    let batch = plan_in(directory.path(), 1, 0);
    let texts = directory.path().join("texts");
    let (log, letter) = (batch.path().join("log"), directory.path().join("letter"));
    fs::write(&letter, "precious").unwrap();
    for entry in 0..2 {
        symlink(&letter, log.join(format!("n1-{entry}.txt"))).unwrap();
    }
    for (mode, told) in [(0o777, "may be changed by other users (mode 777)"), (0o700, "is a link")]
    {
        fs::set_permissions(&log, fs::Permissions::from_mode(mode)).unwrap();
        let mut store = in_memory::MemorySink::new(&batch.plan().campaign);
        let host = SimulatedHosts {
            attack: Some("echo x >&2"),
            ..SimulatedHosts::new("n1", &batch, &texts, ENDLESS, 0)
        };
        host.refusals.store(2, Ordering::SeqCst);
        let (_, ended) = on_hosts(&batch, &mut store, vec![host], &[]);
        let told_by = ended.unwrap_err();
        assert!(told_by.contains(told), "{told_by}");
    }
    assert_eq!(fs::read_to_string(&letter).unwrap(), "precious");
}
