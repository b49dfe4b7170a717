//! A plan whose cells run in memory.

use std::collections::BTreeMap;
use std::path::Path;

use batch::{Batch, PlanInput};
use campaign::run::in_memory;
use config::Catalog;
use guest::GuestCopy;
use model::{Campaign, Cell, CellResult, Nanos, Test};

/// Returns a campaign of two contenders in `rounds` rounds.
fn campaign(rounds: u32) -> Campaign {
    let catalog = Catalog::builtin().unwrap();
    let contenders = ["ext4", "xfs"].map(|name| catalog.contender(name).unwrap());
    in_memory::campaign(contenders.into(), rounds)
}

/// Creates a directory in memory if possible, because flushing is free there.
pub fn in_memory_directory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    tempfile::tempdir_in(place).unwrap()
}

pub fn plan_in(directory: &Path, rounds: u32, checked: u32) -> Batch {
    let campaign = campaign(rounds);
    let carry = |_: &Path| {
        Ok(GuestCopy { name: "guest-1".into(), manifest: String::new(), add_ons: Vec::new() })
    };
    let planned = PlanInput {
        campaign: &campaign,
        cells: &campaign::plan::plan(&campaign),
        environment: in_memory::environment(),
        guest: &carry,
        program: Path::new("/bin/true"),
        version: "1",
        traces: &[],
        checked,
        planned_at: Nanos(7),
    };
    Batch::create(&directory.join("it"), &planned).unwrap()
}

/// Simulated result in virtual time: a function of the cell.
pub fn outcome(cell: &Cell, test: &Test) -> CellResult {
    let mut result = in_memory::ok_result(test);
    result.phases[0].elapsed = Nanos(1000 + u64::from(cell.id.0));
    result
}

pub fn taken(store: &in_memory::MemorySink) -> BTreeMap<u32, CellResult> {
    let cells = store.read().cells.iter();
    let taken = cells.filter_map(|c| Some((c.cell.id.0, c.result.clone()?)));
    taken.collect()
}
