//! Creates a link to each entry of a set; the links form a new set.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use nix::fcntl::AtFlags;
use nix::unistd::{linkat, symlinkat};

use super::directories::{self, SharedWithHosts};
use super::{EntryCursor, VisitOptions, classify_error, workers};
use crate::error::{OpContext, OpError};
use crate::files::set::{FileSet, LinkTargets};
use crate::measure::thread_stats::ThreadStats;
use crate::workspace::CellWorkspace;

/// Creates the links. If the filesystem does not support links, the new set is recorded as
/// impossible, so that later phases report the same cause.
pub fn make(
    ws: &mut CellWorkspace,
    stats: &mut ThreadStats,
    name: &str,
    to: &str,
    symbolic: bool,
    how: VisitOptions,
) -> Result<(), OpError> {
    let set = ws.set(name)?;
    let links = LinkTargets { target_set: name.to_owned(), order: how.order, symbolic };
    let orders = set.visit_orders(how.order, how.threads);
    let mut linked = set.plan_links(ws.root(), to, links, &orders);
    directories::make(&linked, SharedWithHosts(false))?;
    let done = workers::run(
        stats,
        &orders,
        set.len(),
        || LinkWriter::between(name, set, &linked),
        |linker, turn, stats| {
            linker.link(turn.ordinal, turn.position)?;
            stats.finish_op();
            Ok(())
        },
    );
    match done.map_err(classify_error) {
        Ok(done) => {
            linked.truncate_to_created(&done);
            ws.impossible_sets.remove(to);
            ws.sets.insert(to.to_owned(), linked);
            Ok(())
        }
        Err(OpError::Unsupported { reason }) => {
            // Remains of the attempt are harmless and disappear with the filesystem.
            let _ = fs::remove_dir_all(&linked.top);
            ws.impossible_sets.insert(to.to_owned(), reason.clone());
            Err(OpError::Unsupported { reason })
        }
        Err(error) => Err(error),
    }
}

/// State of one thread that creates links.
pub struct LinkWriter<'a> {
    target: EntryCursor<'a>,
    link: EntryCursor<'a>,
    symbolic: bool,
    /// Relative path from the link to the target; its initial part is reused.
    way: Vec<u8>,
    name: &'a str,
}

impl<'a> LinkWriter<'a> {
    /// Creates a writer of links in the set `links` to the set `set` with the name `name`.
    pub fn between(name: &'a str, set: &'a FileSet, links: &'a FileSet) -> Result<Self, OpError> {
        Ok(Self {
            target: EntryCursor::new(set)?,
            link: EntryCursor::new(links)?,
            symbolic: links.links.as_ref().is_some_and(|l| l.symbolic),
            way: Vec::new(),
            name,
        })
    }

    /// Creates the link with this number to the entry at a position.
    pub fn link(&mut self, number: u64, position: u64) -> Result<(), OpError> {
        self.target.reach(position);
        let planned = self.link.set.planned(number);
        self.link.point(&planned);
        let (link, target) = (&self.link, &self.target);
        let (from, to) = (target.path.relative(), link.path.relative());
        if !self.symbolic {
            return linkat(&target.top, from, &link.top, to, AtFlags::empty())
                .with_call("link", link.path.path());
        }
        self.way.clear();
        let levels = to.to_bytes().iter().filter(|&&b| b == b'/').count();
        for _ in 0..=levels {
            self.way.extend_from_slice(b"../");
        }
        self.way.extend_from_slice(self.name.as_bytes());
        self.way.push(b'/');
        self.way.extend_from_slice(from.to_bytes());
        symlinkat(OsStr::from_bytes(&self.way), &link.top, to)
            .with_call("symlink", link.path.path())
    }
}
