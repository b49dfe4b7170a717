//! A writer that is killed at any time leaves only complete cells, including every cell that it
//! reported as stored.
//!
//! This binary is the parent and, started again with `--write FILE`, the writer. The writer prints
//! a line when a cell is stored. The parent kills it after a given number of lines, regardless of
//! its progress with the next cell.

#[path = "all/common/mod.rs"]
mod common;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use campaign::store::{CampaignId, Store};
use model::{Cell, CellId, Nanos, SeededRng};

const CELLS: u32 = 2000;
const KILLS: u32 = 25;
/// Maximum number of cells that one writer stores, so that cells remain for the next writers even
/// if the parent is slow to kill this one.
const CELLS_PER_WRITER: usize = (CELLS / KILLS) as usize;
/// Enough phases to make the transaction of a cell long compared with the pauses between
/// transactions.
const PHASES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(position) = arguments.iter().position(|a| a == "--write") {
        write_all_that_is_left(Path::new(&arguments[position + 1]));
    } else {
        kill_again_and_again();
    }
}

fn write_all_that_is_left(path: &Path) {
    let mut store = Store::open(path).unwrap();
    let id = store.latest().unwrap().unwrap();
    store.begin_session(id, &common::environment(1), Nanos(0)).unwrap();
    let done = store.finished_cells(id).unwrap();
    let left = cells();
    let left = left.iter().filter(|cell| !done.contains(&cell.id));
    for cell in left.take(CELLS_PER_WRITER) {
        store.record(id, cell, &common::result(&PHASES)).unwrap();
        println!("{}", cell.id.0);
        std::io::stdout().flush().unwrap();
    }
    // The parent writes no input and kills this process.
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

fn kill_again_and_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("results.db");
    let mut store = Store::open(&path).unwrap();
    let id = store.begin_campaign(&common::campaign(), &cells(), Nanos(1)).unwrap();
    drop(store);
    let mut chance = SeededRng::new(50);
    let mut told = BTreeSet::new();
    for _ in 0..KILLS {
        told.extend(write_until_killed(&path, chance.below(8)));
        check(&path, id, &told);
    }
    let numbers: usize =
        common::result(&PHASES).phases.iter().map(|p| p.measurements().len()).sum();
    let done = rows(&path, "cell");
    assert_eq!(rows(&path, "phase"), done * PHASES.len());
    assert_eq!(rows(&path, "measurement"), done * numbers);
    println!("{KILLS} kills, {} cells reported as stored: all found", told.len());
}

/// Lets a writer store at least `words` cells, kills it, and returns the cells that it reported as
/// stored.
fn write_until_killed(path: &Path, words: u64) -> Vec<CellId> {
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .arg("--write")
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let mut told: Vec<CellId> = Vec::new();
    while told.len() < words as usize {
        let line = lines.next().expect("a writer stores more cells than the parent waits for");
        told.push(number(line.unwrap()));
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    told.extend(lines.map(|line| number(line.unwrap())));
    told
}

/// Returns cells of few rounds and many tests: a campaign has no thousands of rounds.
fn cells() -> Vec<Cell> {
    let mut cells = common::cells(CELLS);
    for cell in &mut cells {
        cell.test = format!("block-{}", cell.id.0 / 4);
        cell.round = cell.id.0 % 4 + 1;
    }
    cells
}

fn number(line: String) -> CellId {
    CellId(line.parse().unwrap())
}

fn check(path: &Path, id: CampaignId, told: &BTreeSet<CellId>) {
    let store = Store::open(path).unwrap();
    let done = store.finished_cells(id).unwrap();
    assert!(told.is_subset(&done), "a stored cell was lost");
    let expected = common::result(&PHASES);
    for stored in store.load(id).unwrap().cells {
        let result = done.contains(&stored.cell.id).then(|| expected.clone());
        assert_eq!(stored.result, result);
    }
    assert_eq!(rows(path, "cell"), done.len());
}

fn rows(path: &Path, table: &str) -> usize {
    let connection = rusqlite::Connection::open(path).unwrap();
    let sql = format!("SELECT count(*) FROM {table}");
    let count: u32 = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
    count as usize
}
