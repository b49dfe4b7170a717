//! Format in which the fault driver stores its files on a device between mounts.
//!
//! The device contains a magic word, the length of a JSON list, and the list of all nodes. The
//! chunks of all files follow in the order of the list.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::content::{CHUNK, Content};
use super::tree::{FileOwner, NodeKind, Tree, TreeNode};

const MAGIC: &[u8; 8] = b"faultfs1";

#[derive(Serialize, Deserialize)]
struct ImageRecord {
    number: u64,
    mode: u16,
    uid: u32,
    gid: u32,
    links: u32,
    modified: SystemTime,
    what: What,
}

#[derive(Serialize, Deserialize)]
enum What {
    File { size: u64, chunks: Vec<u64> },
    Directory(Vec<(Vec<u8>, u64)>),
    Symlink(Vec<u8>),
}

/// Creates an empty filesystem on a device or image.
///
/// # Errors
/// Returns an error if the device cannot be written.
pub fn format(device: &Path) -> io::Result<()> {
    save(&Tree::default(), device)
}

/// Returns the size of a device or image.
///
/// # Errors
/// Returns an error if the device cannot be opened.
pub fn size_of(device: &Path) -> io::Result<u64> {
    File::open(device)?.seek(SeekFrom::End(0))
}

/// Writes all files to a device. Files without a name are omitted.
///
/// # Errors
/// Returns an error if the device is not writable or too small.
pub fn save(tree: &Tree, device: &Path) -> io::Result<()> {
    let named = || tree.nodes().iter().filter(|(_, node)| node.links > 0);
    let records: Vec<ImageRecord> = named().map(|(&number, node)| record(number, node)).collect();
    let list = serde_json::to_vec(&records)?;
    let mut out = BufWriter::new(File::options().write(true).open(device)?);
    out.write_all(MAGIC)?;
    out.write_all(&(list.len() as u64).to_le_bytes())?;
    out.write_all(&list)?;
    for (_, node) in named() {
        if let NodeKind::File(content) = &node.kind {
            for (_, chunk) in content.chunks() {
                out.write_all(chunk)?;
            }
        }
    }
    out.into_inner()?.sync_all()
}

/// Reads all files from a device.
///
/// # Errors
/// Returns an error if the device cannot be read or has another format.
pub fn load(device: &Path) -> io::Result<Tree> {
    let mut input = BufReader::new(File::open(device)?);
    let mut magic = [0; MAGIC.len()];
    input.read_exact(&mut magic)?;
    if magic != *MAGIC {
        return Err(io::Error::other("no faultfs on this device"));
    }
    let mut length = [0; 8];
    input.read_exact(&mut length)?;
    let mut list = Vec::new();
    let by_ref = io::Read::by_ref(&mut input);
    by_ref.take(u64::from_le_bytes(length)).read_to_end(&mut list)?;
    let records: Vec<ImageRecord> = serde_json::from_slice(&list)?;
    let mut nodes = BTreeMap::new();
    for record in records {
        let (number, node) = node(record, &mut input)?;
        nodes.insert(number, node);
    }
    Ok(Tree::from_nodes(nodes))
}

fn record(number: u64, node: &TreeNode) -> ImageRecord {
    let what = match &node.kind {
        NodeKind::File(content) => What::File {
            size: content.size(),
            chunks: content.chunks().map(|(place, _)| place).collect(),
        },
        NodeKind::Directory(entries) => What::Directory(entries.clone().into_iter().collect()),
        NodeKind::Symlink(target) => What::Symlink(target.clone()),
    };
    ImageRecord {
        number,
        mode: node.owner.mode,
        uid: node.owner.uid,
        gid: node.owner.gid,
        links: node.links,
        modified: node.modified,
        what,
    }
}

fn node(record: ImageRecord, input: &mut impl Read) -> io::Result<(u64, TreeNode)> {
    let kind = match record.what {
        What::File { size, chunks } => NodeKind::File(content(size, &chunks, input)?),
        What::Directory(entries) => NodeKind::Directory(entries.into_iter().collect()),
        What::Symlink(target) => NodeKind::Symlink(target),
    };
    let owner = FileOwner { mode: record.mode, uid: record.uid, gid: record.gid };
    let node =
        TreeNode { links: record.links, modified: record.modified, ..TreeNode::new(kind, owner) };
    Ok((record.number, node))
}

fn content(size: u64, chunks: &[u64], input: &mut impl Read) -> io::Result<Content> {
    let mut content = Content::default();
    let mut chunk = vec![0; usize::try_from(CHUNK).expect("a chunk is small")];
    for place in chunks {
        input.read_exact(&mut chunk)?;
        content.write(place * CHUNK, &chunk);
    }
    content.resize(size);
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::super::tree::ROOT;
    use super::*;

    #[test]
    fn everything_survives_saving_and_loading() {
        let owner = FileOwner { mode: 0o640, uid: 3, gid: 4 };
        let mut tree = Tree::default();
        let mut content = Content::default();
        content.write(3 * CHUNK + 5, b"after a hole");
        let file = TreeNode::new(NodeKind::File(content), owner);
        let directory = TreeNode::new(NodeKind::Directory(BTreeMap::new()), owner);
        let inside = tree.add(ROOT, b"d", directory).unwrap();
        let number = tree.add(inside, b"\xff", file).unwrap();
        tree.link(number, ROOT, b"again").unwrap();
        let link = TreeNode::new(NodeKind::Symlink(b"d".to_vec()), owner);
        tree.add(ROOT, b"l", link).unwrap();

        let device = tempfile::NamedTempFile::new().unwrap();
        save(&tree, device.path()).unwrap();
        assert_eq!(load(device.path()).unwrap(), tree);
    }

    #[test]
    fn loading_refuses_a_device_without_an_image() {
        let device = tempfile::NamedTempFile::new().unwrap();
        assert!(load(device.path()).is_err(), "empty");
        std::fs::write(device.path(), [7; 100]).unwrap();
        assert!(load(device.path()).is_err(), "something else");
        format(device.path()).unwrap();
        assert_eq!(load(device.path()).unwrap().nodes().len(), 1);
    }
}
