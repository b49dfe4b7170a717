//! Meeting points with the other hosts that run a cell together. Reports go out as events, orders come
//! in on standard input.

use std::path::{Component, Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use model::wire::CellEvent;
use model::wire::rank::{HostRank, RankOrder, RankReport};
use workload::{HostBarrier, OpError, Progress};

use crate::observe::event_writer::EventWriter;

/// Interval between events while this host waits, which show that it lives.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// The other hosts.
#[derive(Debug)]
pub struct OtherHosts {
    /// Place of this host.
    pub rank: HostRank,
    events: EventWriter,
    orders: Mutex<Receiver<RankOrder>>,
    first_end: Arc<FirstEnd>,
}

/// Operations of this host when the first host finished the current phase.
#[derive(Debug, Default)]
struct FirstEnd {
    /// Progress of the current phase, from the start of the session on.
    progress: OnceLock<Arc<Progress>>,
    operations: Mutex<Option<u64>>,
}

/// Takes the orders from standard input.
#[derive(Debug)]
pub struct OrderReader {
    orders: Sender<RankOrder>,
    first_end: Arc<FirstEnd>,
}

impl OrderReader {
    /// Takes one line. Any other line than an order ends the cell.
    pub fn take(&self, line: &[u8]) {
        let order = match serde_json::from_slice(line) {
            Ok(RankOrder::FirstFinished) => {
                let done = self.first_end.progress.get().map_or(0, |progress| progress.done());
                lock(&self.first_end.operations).get_or_insert(done);
                return;
            }
            Ok(order) => order,
            Err(error) => RankOrder::Abandon(format!("cannot read an order: {error}")),
        };
        // Fails only after the cell has ended.
        let _ = self.orders.send(order);
    }
}

impl OtherHosts {
    /// Creates the meeting points of a host, and the reader of its orders.
    pub fn new(rank: HostRank, events: EventWriter) -> (Self, OrderReader) {
        let (sender, receiver) = mpsc::channel();
        let first_end = Arc::new(FirstEnd::default());
        let reader = OrderReader { orders: sender, first_end: Arc::clone(&first_end) };
        (Self { rank, events, orders: Mutex::new(receiver), first_end }, reader)
    }

    /// Reports that the cell is prepared in a directory, and returns the common directory, which is
    /// that of the first host. `top` is the directory of the contender.
    ///
    /// # Errors
    /// Returns the reason if the common directory is not visible here.
    pub fn enter(&self, own: &Path, top: &Path) -> Result<PathBuf, String> {
        let common = match self.ask(RankReport::Prepared(own.to_owned())) {
            Ok(RankOrder::Enter(common)) => common,
            Ok(other) => return Err(unexpected(&other)),
            Err(reason) => return Err(reason),
        };
        // A path with a link or `..` could lead out of the directory of the contender.
        let is_plain = common.canonicalize().is_ok_and(|found| found == common);
        match is_plain && common.is_dir() && is_like(&common, own, top) {
            true => Ok(common),
            false => Err(format!(
                "cannot find {} of the first host below {} on this one: the hosts do not see the same filesystem there; mount it on all hosts",
                common.display(),
                top.display()
            )),
        }
    }

    /// Sets the counter of finished operations of each phase.
    pub fn watch(&self, progress: Arc<Progress>) {
        let _ = self.first_end.progress.set(progress);
    }

    /// Prepares for a phase.
    pub fn begin_phase(&self) {
        *lock(&self.first_end.operations) = None;
    }

    /// Returns the operations of this host when the first host finished the phase.
    pub fn at_first_end(&self) -> Option<u64> {
        *lock(&self.first_end.operations)
    }

    /// Sends a report and waits for its answer, or for the reason to end the cell.
    fn ask(&self, report: RankReport) -> Result<RankOrder, String> {
        self.events.send(&CellEvent::Rank(report));
        let orders = lock(&self.orders);
        loop {
            match orders.recv_timeout(SIGN_OF_LIFE) {
                Ok(RankOrder::Abandon(reason)) => return Err(reason),
                Ok(order) => return Ok(order),
                Err(RecvTimeoutError::Timeout) => self.events.send(&CellEvent::Progress {
                    step: "waiting for the other hosts".to_owned(),
                    done: 0,
                    total: None,
                }),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err("the orchestrator is gone".to_owned());
                }
            }
        }
    }
}

/// Returns true if a directory below `top` has the place of this host's own one: the first host must
/// not name a directory of the user.
fn is_like(common: &Path, own: &Path, top: &Path) -> bool {
    let (Ok(common), Ok(own)) = (common.strip_prefix(top), own.strip_prefix(top)) else {
        return false;
    };
    // The names of both begin with the program's, before the first `-`.
    let begin = |part: Option<Component<'_>>| {
        let name = part?.as_os_str().to_string_lossy().into_owned();
        name.split_once('-').map(|(begin, _)| begin.to_owned())
    };
    let both = [common, own].map(Path::components);
    let counts = both.clone().map(Iterator::count);
    let ends = both.clone().map(|mut parts| parts.next_back().filter(|_| counts[0] > 1));
    let [first, second] = both.map(|mut parts| begin(parts.next()));
    counts[0] == counts[1] && ends[0] == ends[1] && first.is_some() && first == second
}

impl HostBarrier for OtherHosts {
    fn start(&self) -> Result<(), OpError> {
        match self.ask(RankReport::Ready) {
            Ok(RankOrder::Start) => Ok(()),
            Ok(other) => Err(OpError::Source { reason: unexpected(&other) }),
            Err(reason) => Err(OpError::Source { reason }),
        }
    }

    fn finish(&self, first: u32, operations: &[u64]) -> Result<Vec<u64>, OpError> {
        let operations = operations.to_vec();
        match self.ask(RankReport::Finished { first, operations }) {
            Ok(RankOrder::Finished(all)) => Ok(all),
            Ok(other) => Err(OpError::Source { reason: unexpected(&other) }),
            Err(reason) => Err(OpError::Source { reason }),
        }
    }
}

fn unexpected(order: &RankOrder) -> String {
    format!("unexpected order {order:?}")
}

/// Locks a value. Ignores poisoning: each value is replaced as a whole.
fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> (OtherHosts, OrderReader) {
        OtherHosts::new(HostRank { number: 1, hosts: 2 }, EventWriter::new(std::io::sink()))
    }

    #[test]
    fn hosts_that_see_different_filesystems_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let (hosts, reader) = host();
        let own = place.path().join("fsarena-2/work");
        let missing = place.path().join("fsarena-1/work");
        let of_user = place.path().join("mail/work");
        std::fs::create_dir_all(&of_user).unwrap();
        std::os::unix::fs::symlink("/", place.path().join("link")).unwrap();
        for common in [
            missing.clone(),
            "/".into(),
            place.path().join(".."),
            place.path().join("link"),
            of_user,
        ] {
            reader.take(RankOrder::Enter(common).to_line().as_bytes());
            let refused = hosts.enter(&own, place.path()).unwrap_err();
            assert!(refused.contains("do not see the same filesystem"), "{refused}");
        }
        std::fs::create_dir_all(&missing).unwrap();
        reader.take(RankOrder::Enter(missing.clone()).to_line().as_bytes());
        assert_eq!(hosts.enter(&own, place.path()).unwrap(), missing);
    }

    #[test]
    fn the_work_at_the_first_end_is_that_of_the_current_phase() {
        let (hosts, reader) = host();
        let progress = Arc::new(Progress::default());
        hosts.watch(Arc::clone(&progress));
        progress.add(5);
        let line = RankOrder::FirstFinished.to_line();
        reader.take(line.as_bytes());
        progress.add(1);
        reader.take(line.as_bytes());
        assert_eq!(hosts.at_first_end(), Some(5));
        hosts.begin_phase();
        assert_eq!(hosts.at_first_end(), None);
    }

    #[test]
    fn a_line_that_is_no_order_ends_the_cell() {
        let (hosts, reader) = host();
        reader.take(b"GET / HTTP/1.1");
        let ended = hosts.start().unwrap_err().to_string();
        assert!(ended.starts_with("cannot read an order"), "{ended}");
    }
}
