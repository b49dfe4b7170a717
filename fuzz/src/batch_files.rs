//! The files that hosts exchange for a campaign: the plan, and the result that a host sends.
//!
//! An input is [edits](crate::json_edits) of one or both. The code at the beginning of a result is
//! corrected.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use batch::{Batch, PlanInput, ResultDirectory};
use campaign::run::in_memory;
use guest::GuestCopy;
use model::{CellId, Nanos};
use serde_json::{Value, json};
use sys::fs::safe_path::SafeDir;
use sys::secret_key::SecretKey;
use tempfile::TempDir;

use crate::json_edits::{self, Base};
use crate::property::is_one_line;
use crate::sample::CATALOG;

const PLAN: &str = "plan";
const RESULT: &str = "result";

static BASES: LazyLock<[Base; 2]> = LazyLock::new(|| {
    let (_place, batch) = planned();
    let plan = serde_json::to_value(batch.plan()).expect("a plan is JSON");
    [Base::of(PLAN, plan), Base::of(RESULT, result(&batch))]
});

/// Checks that a plan is either rejected in one line or fully readable, and that a result is
/// accepted or rejected.
pub fn run(input: &[u8]) {
    let (name, edited) = json_edits::of_base(&*BASES, input);
    let (_place, batch) = planned();
    match name {
        RESULT => is_kept_or_not(&batch, edited),
        _ => is_opened_or_not(&batch, &edited),
    }
}

/// Returns an unchanged plan and an unchanged result.
pub fn seeds() -> Vec<Vec<u8>> {
    json_edits::seeds(&*BASES)
}

fn is_opened_or_not(batch: &Batch, plan: &Value) {
    fs::write(batch.path().join("plan.json"), plan.to_string()).expect("there is room");
    match Batch::open(batch.path()) {
        Err(error) => is_one_line(&error),
        Ok(opened) => {
            if let Err(error) = opened.all() {
                is_one_line(&error);
            }
            if let Err(error) = opened.entry(0) {
                is_one_line(&error);
            }
        }
    }
}

fn is_kept_or_not(batch: &Batch, mut result: Value) {
    // The result always names this plan, because each plan has a unique name.
    if let Some(plan) = result.get_mut("plan") {
        *plan = json!(batch.plan_id());
    }
    let text = format!("{result}\n");
    let directory = SafeDir::open(batch.path()).expect("it is safe");
    let key = SecretKey::read(&directory, "secret").expect("it is readable").expect("it exists");
    let text = format!("{}\n{text}", key.code("result", text.as_bytes()));
    let mut results = ResultDirectory::of(batch).expect("it is sound");
    if let Err(error) = results.store(text.as_bytes(), "n1") {
        is_one_line(&error);
    }
    if let Err(error) = results.load(CellId(0)) {
        is_one_line(&error);
    }
}

/// Creates a plan of two cells in memory.
fn planned() -> (TempDir, Batch) {
    let place = tempfile::tempdir_in("/dev/shm").expect("there is room");
    let contenders = ["ext4", "xfs"].map(|name| CATALOG.contender(name).expect("it is known"));
    let campaign = in_memory::campaign(contenders.into(), 1);
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
        checked: 0,
        planned_at: Nanos(7),
    };
    let batch = Batch::create(&place.path().join("it"), &planned).expect("it can be planned");
    (place, batch)
}

/// Returns a result of the first cell.
fn result(batch: &Batch) -> Value {
    let entry = batch.entry(0).expect("there are two");
    json!({
        "plan": batch.plan_id(),
        "cell": entry.name,
        "half": entry.half,
        "host": "n1",
        "result": in_memory::ok_result(&in_memory::test()),
    })
}
