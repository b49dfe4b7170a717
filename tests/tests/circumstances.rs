//! Circumstances that affect the results of a campaign: settings that it fixes, records and
//! reports.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use end_to_end::{DirectoryEntry, Sandbox, cells_of, run};

#[test]
fn a_campaign_on_an_image_sets_and_reports_its_readahead() {
    let sandbox = Sandbox::new();
    let mkfs = "blockdev --getra $0 && mke2fs -q -F -t ext4 $0";
    sandbox.add(&DirectoryEntry::ext4("made").mkfs(&["sh", "-c", mkfs, "{device}"]));
    // `blockdev` uses sectors of 512 bytes.
    for (words, sectors, readahead) in
        [(vec![], "256", "128 KiB"), (vec!["--readahead", "64 KiB"], "128", "64 KiB")]
    {
        run(sandbox.campaign(&["made"], "trial").args(words)).assert_code(0);
        let results = sandbox.results();
        let steps = &results.cells[0].result.as_ref().unwrap().steps;
        let made = steps.iter().find(|step| step.step == "mkfs").unwrap();
        assert_eq!(made.output, sectors);
        let conditions = &results.environments[0].conditions;
        let found = conditions.iter().find(|c| c.name == "readahead").unwrap();
        assert_eq!(found.value, readahead);
    }
    let compared = run(sandbox.fsarena().args(["compare", "1", "2"])).assert_code(0);
    assert!(
        compared.stdout.contains("readahead") && compared.stdout.contains("64 KiB"),
        "{}",
        compared.stdout
    );
    let campaign = sandbox.campaign(&[], "trial");
    let mut in_directory = campaign;
    in_directory.args(["--backend", "dir", "--dir", "/tmp", "--readahead", "64 KiB"]);
    let refused = run(&mut in_directory).assert_code(2);
    assert!(refused.stderr.contains("--readahead is for images"), "{}", refused.stderr);
}

/// Regression test: a cell has its own `/dev`, which hid the work directory.
#[test]
fn a_work_directory_can_be_in_memory_below_dev() {
    let sandbox = Sandbox::new();
    let work = tempfile::tempdir_in("/dev/shm").unwrap();
    let mut command = sandbox.fsarena();
    command.arg("run").arg(sandbox.path("small.toml")).args(["-s", "trial", "-c", "ext2"]);
    run(command.arg("--work-dir").arg(work.path())).assert_code(0);
    let results = sandbox.results();
    assert!(results.cells.iter().all(|stored| {
        stored.result.as_ref().is_some_and(|result| result.status == model::Status::Ok)
    }));
    assert_eq!(work.path().read_dir().unwrap().count(), 0, "all is removed");
}

/// Keeps every processor busy until dropped.
struct BusyLoop {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl BusyLoop {
    fn begin() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let processors = thread::available_parallelism().unwrap().get();
        let spin = || {
            let stop = Arc::clone(&stop);
            thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        let threads = (0..processors).map(|_| spin()).collect();
        Self { stop, threads }
    }
}

impl Drop for BusyLoop {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[test]
fn a_cell_that_was_disturbed_runs_once_more_and_both_results_are_kept() {
    let sandbox = Sandbox::new();
    let busy = BusyLoop::begin();
    let mut command = sandbox.campaign(&["ext4"], "trial");
    run(command.args(["--rounds", "10"])).assert_code(0);
    drop(busy);
    let results = sandbox.results();
    let cells = cells_of(&results, "ext4");
    let disturbed = cells.iter().filter(|c| c.disturbance.is_some_and(|d| d.is_significant()));
    assert!(disturbed.count() >= 5, "{:?}", cells[0].disturbance);
    let twice: Vec<_> = cells.iter().filter_map(|cell| cell.first.as_ref()).collect();
    assert_eq!(twice.len(), 1, "a tenth of ten");
    assert!(twice[0].disturbance.unwrap().is_significant());
    assert_eq!(twice[0].phases.len(), cells[0].phases.len());
    let report = run(sandbox.fsarena().arg("report")).assert_code(0).stdout;
    assert!(report.contains("The machine was busy during"), "{report}");
}
