//! Many files: create, stat, delete, in the order of their making or at random, as Bonnie++ does.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use model::{Order, SeededRng};

use crate::error::{Context, OpError};
use crate::names::file_name;
use crate::ops::data;
use crate::pattern::{Origin, Pattern, file_id};
use crate::tally::Tally;
use crate::workspace::{FileSet, Workspace};

/// What files to make.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// How many.
    pub files: u64,
    /// Directories they are spread over.
    pub directories: u64,
    /// Bytes in each.
    pub size: usize,
    /// Whether names come in order or at random.
    pub order: Order,
    /// Whether each file is fsynced before the next.
    pub fsync: bool,
}

/// Creates a set of files; stops early when the phase's time is over and keeps what it has.
pub fn create(ws: &mut Workspace, tally: &mut Tally, set: &str, spec: Spec) -> Result<(), OpError> {
    let mut made = plan_set(ws, set, spec);
    let mut pattern = ws.pattern(spec.size);
    tally.begin(spec.files);
    for directory in &made.directories {
        fs::create_dir(directory).of("mkdir", directory)?;
    }
    for path in &made.files {
        create_one(path, spec, &mut pattern)?;
        tally.lap_written(spec.size);
        if tally.out_of_time() {
            break;
        }
    }
    made.files.truncate(tally.operations as usize);
    ws.sets.insert(set.to_owned(), made);
    Ok(())
}

/// Names everything that is to be made, so that no making up of names is in the figure.
fn plan_set(ws: &Workspace, set: &str, spec: Spec) -> FileSet {
    let directories = directories(ws, set, spec.directories.max(1));
    let mut rng = SeededRng::for_purpose(ws.seed(), &format!("names-{set}"));
    let in_turn = directories.iter().cycle();
    let files = (0..spec.files)
        .zip(in_turn)
        .map(|(i, directory)| directory.join(file_name(i, spec.order == Order::Random, &mut rng)))
        .collect();
    FileSet {
        directories,
        files,
        size: spec.size,
    }
}

/// The set's own directory, then one below it for each further one.
fn directories(ws: &Workspace, set: &str, count: u64) -> Vec<PathBuf> {
    let top = ws.path(set);
    let below = (1..count).map(|i| top.join(format!("d{i:05}")));
    std::iter::once(top.clone()).chain(below).collect()
}

fn create_one(path: &Path, spec: Spec, pattern: &mut Pattern) -> Result<(), OpError> {
    let file = data::create_new(path)?;
    if spec.size > 0 {
        let origin = Origin {
            file: file_id(&path.to_string_lossy()),
            generation: 1,
        };
        file.write_all_at(pattern.fill(origin, 0, spec.size), 0)
            .of("pwrite", path)?;
    }
    if spec.fsync {
        file.sync_all().of("fsync", path)?;
    }
    Ok(())
}

/// The files of a set in the order asked for.
fn ordered(ws: &Workspace, set: &str, order: Order) -> Result<Vec<PathBuf>, OpError> {
    let mut files = ws.set(set)?.files.clone();
    if order == Order::Random {
        SeededRng::for_purpose(ws.seed(), &format!("order-{set}")).shuffle(&mut files);
    }
    Ok(files)
}

/// Looks at each file of a set, and reads it where it has content.
pub fn stat(ws: &Workspace, tally: &mut Tally, set: &str, order: Order) -> Result<(), OpError> {
    let files = ordered(ws, set, order)?;
    let size = ws.set(set)?.size;
    let mut buffer = Vec::with_capacity(size);
    tally.begin(files.len() as u64);
    for path in &files {
        fs::symlink_metadata(path).of("stat", path)?;
        if size > 0 {
            buffer.clear();
            let mut file = File::open(path).of("open", path)?;
            file.read_to_end(&mut buffer).of("read", path)?;
        }
        tally.lap_read(buffer.len());
        if tally.out_of_time() {
            break;
        }
    }
    Ok(())
}

/// Deletes each file of a set; past its time limit it stops, and the rest stays until the unmount.
pub fn delete(
    ws: &mut Workspace,
    tally: &mut Tally,
    set: &str,
    order: Order,
) -> Result<(), OpError> {
    let files = ordered(ws, set, order)?;
    tally.begin(files.len() as u64);
    for path in &files {
        fs::remove_file(path).of("unlink", path)?;
        tally.lap();
        if tally.out_of_time() {
            break;
        }
    }
    let set = ws.sets.remove(set).expect("looked up above");
    if !tally.cut_short {
        for directory in set.directories.iter().rev() {
            fs::remove_dir(directory).of("rmdir", directory)?;
        }
    }
    Ok(())
}
