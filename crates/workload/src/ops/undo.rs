//! Undoes an operation, untimed, so that a phase too short for one measurement can run another
//! pass.

use std::fs::{self, OpenOptions};
use std::sync::Arc;

use model::op::{FsChange, ObjectKind};
use model::{Bytes, Op, SyncAtEnd};

use crate::data::expected_content::ExpectedFile;
use crate::error::{OpContext, OpError};
use crate::measure::meter::PhaseMeter;
use crate::measure::thread_stats::ThreadStats;
use crate::ops::{copy_in, data, replay, sets, tree};
use crate::workspace::{CellWorkspace, PlantedTree};

/// Bytes per request when a removed file is written again.
const REQUEST: usize = 1 << 20;
/// Bytes per request when a removed file is copied again.
const COPIED: Bytes = Bytes::mib(1);

/// Restores the files and the workspace, so that the last operation can run again with the same
/// effect. Operations that only read or that change content in place need no undo.
///
/// # Errors
/// Returns an error if the filesystem refuses a call.
pub fn undo(op: &Op, ws: &mut CellWorkspace) -> Result<(), OpError> {
    let changes = op.changes();
    changes.iter().rev().try_for_each(|c| take_back(c, ws))
}

fn take_back(change: &FsChange, ws: &mut CellWorkspace) -> Result<(), OpError> {
    match change {
        FsChange::Made(ObjectKind::File, name) => forget_file(ws, name),
        FsChange::Made(ObjectKind::Set, name) => sets::remove_set(ws, name),
        FsChange::Made(ObjectKind::Tree, name) => forget_tree(ws, name),
        FsChange::Made(ObjectKind::Replayed, name) => replay::remove(ws, name),
        FsChange::Removed(ObjectKind::File, name) => write_again(ws, name),
        FsChange::Removed(ObjectKind::Set, name) => sets::recreate(ws, name),
        FsChange::Removed(ObjectKind::Tree, name) => plant_again(ws, name),
        // No operation removes a replayed directory.
        FsChange::Removed(ObjectKind::Replayed, _) => Ok(()),
        FsChange::Grown(name) => shorten(ws, name),
        FsChange::Renamed { set, across } => sets::rename_back(ws, set, *across),
        FsChange::Resized { set, size } => sets::restore_sizes(ws, set, size.0),
        FsChange::AllocationChanged(file) => {
            forget_file(ws, file)?;
            write_again(ws, file)
        }
        FsChange::Unknown => {
            Err(OpError::Unsupported { reason: "effects of a command are unknown".into() })
        }
        FsChange::Overwritten(..) => Ok(()),
    }
}

fn forget_file(ws: &mut CellWorkspace, name: &str) -> Result<(), OpError> {
    for name in ws.thread_files(name) {
        ws.files.remove(&name);
        let path = ws.path(&name);
        fs::remove_file(&path).with_call("unlink", &path)?;
    }
    Ok(())
}

/// Removes the data that the last append added.
fn shorten(ws: &mut CellWorkspace, name: &str) -> Result<(), OpError> {
    for name in ws.thread_files(name) {
        let path = ws.path(&name);
        let Some(state) = ws.files.get_mut(&name) else {
            continue;
        };
        let file = OpenOptions::new().write(true).open(&path);
        let file = file.with_call("open", &path)?;
        let before = state.before_append;
        file.set_len(before).with_call("ftruncate", &path)?;
        state.resize(before);
    }
    Ok(())
}

/// Creates statistics whose counts are discarded.
fn nobody() -> ThreadStats {
    ThreadStats::new(None, Arc::default(), PhaseMeter::start(None, None))
}

/// Writes removed files again, with new content.
fn write_again(ws: &mut CellWorkspace, name: &str) -> Result<(), OpError> {
    let own = format!("{name}.");
    let removed = ws.removed_files.iter().filter(|(n, _)| *n == name || n.starts_with(&own));
    let removed: Vec<(String, ExpectedFile)> =
        removed.map(|(n, s)| (n.clone(), s.clone())).collect();
    for (name, state) in removed {
        ws.removed_files.remove(&name);
        if state.is_copied() && ws.source.is_some() {
            copy_in::file(ws, &mut nobody(), &name, COPIED, SyncAtEnd::Call)?;
            continue;
        }
        let size = state.size;
        let path = ws.path(&name);
        let mut pattern = ws.pattern(REQUEST);
        let state = ExpectedFile::new(&name, size);
        let (origin, nobody) = (state.origin_at(0), &mut nobody());
        let file = data::create_new(&path)?;
        data::write_all(&file, &path, &mut pattern, origin, size, REQUEST, nobody)?;
        ws.files.insert(name, state);
    }
    Ok(())
}

fn forget_tree(ws: &mut CellWorkspace, name: &str) -> Result<(), OpError> {
    if ws.trees.remove(name).is_some() {
        let path = ws.path(name);
        fs::remove_dir_all(&path).with_call("rmdir", &path)?;
    }
    Ok(())
}

fn plant_again(ws: &mut CellWorkspace, name: &str) -> Result<(), OpError> {
    let Some(removed) = ws.removed_trees.remove(name) else {
        return Ok(());
    };
    match (&removed, ws.source.clone()) {
        (PlantedTree { copied: Some(_), .. }, Some(source)) => {
            copy_in::tree(&source, ws, &mut nobody(), name, COPIED)
        }
        _ => tree::write_tree(ws, &mut nobody(), name, removed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::perform;
    use model::{
        AccessPattern, CopyFile, CopyTree, GenerateTree, Io, RemoveFile, RemoveTree, StreamUnit,
        TreeSpec, VerifyTree, WriteStream,
    };

    fn again(ws: &mut CellWorkspace, op: &Op) {
        for _ in 0..2 {
            perform(op, SyncAtEnd::Call, ws, &mut nobody()).unwrap();
            undo(op, ws).unwrap();
        }
        perform(op, SyncAtEnd::Call, ws, &mut nobody()).unwrap();
    }

    fn verify(ws: &mut CellWorkspace, name: &str, size: u64) {
        let mut stats = nobody();
        let read =
            Op::Io(Io { verify: true, ..Io::new(name, AccessPattern::Read, Bytes::kib(64)) });
        perform(&read, SyncAtEnd::Call, ws, &mut stats).unwrap();
        assert_eq!(stats.bytes, size);
    }

    #[test]
    fn creating_and_removing_files_can_be_repeated() {
        let place = tempfile::tempdir().unwrap();
        let mut ws = CellWorkspace::new(place.path(), 5);
        let write = Op::Io(Io {
            size: Some(Bytes(50_000)),
            ..Io::new("f", AccessPattern::Write, Bytes::kib(8))
        });
        again(&mut ws, &write);
        let stream = Op::WriteStream(WriteStream {
            file: "g".into(),
            size: Bytes(10_000),
            unit: StreamUnit::Char,
        });
        again(&mut ws, &stream);
        let copy =
            Op::CopyFile(CopyFile { from: "f".into(), to: "h".into(), block: Bytes::kib(4) });
        again(&mut ws, &copy);
        for (name, size) in [("f", 50_000), ("g", 10_000), ("h", 50_000)] {
            verify(&mut ws, name, size);
        }
        let remove = Op::RemoveFile(RemoveFile { file: "f".into() });
        perform(&remove, SyncAtEnd::Call, &mut ws, &mut nobody()).unwrap();
        undo(&remove, &mut ws).unwrap();
        verify(&mut ws, "f", 50_000);
    }

    #[test]
    fn planting_and_removing_trees_can_be_repeated() {
        let place = tempfile::tempdir().unwrap();
        let mut ws = CellWorkspace::new(place.path(), 5);
        let tree = || "tree".to_owned();
        let plant = Op::GenerateTree(GenerateTree {
            tree: tree(),
            spec: TreeSpec {
                files: 10,
                directories: 3,
                bytes: Bytes(40_000),
                smallest: Bytes(100),
                largest: Bytes(20_000),
            },
        });
        again(&mut ws, &plant);
        again(
            &mut ws,
            &Op::CopyTree(CopyTree { from: tree(), to: "copy".into(), block: Bytes::kib(4) }),
        );
        let remove = Op::RemoveTree(RemoveTree { tree: tree() });
        perform(&remove, SyncAtEnd::Call, &mut ws, &mut nobody()).unwrap();
        undo(&remove, &mut ws).unwrap();
        for tree in ["tree", "copy"] {
            let verify = Op::VerifyTree(VerifyTree { tree: tree.into() });
            perform(&verify, SyncAtEnd::Call, &mut ws, &mut nobody()).unwrap();
        }
        again(&mut ws, &remove);
    }
}
