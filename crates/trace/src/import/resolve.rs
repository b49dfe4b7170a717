//! Resolution of names to real paths, and to paths below the recorded directory.

use super::MAX_PATH;
use super::calls::split_path;
use super::descriptors::Held;
use super::fs_model::InodeType;
use super::tasks::StraceImporter;
use crate::paths::PathId;

/// Maximum number of links, as in the kernel. Source: path_resolution(7).
const MAX_LINKS: u32 = 40;

/// A resolved name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Path for the trace. A relative link at the end remains, because the replay follows it again.
    /// An absolute link would lead to the recorded directory.
    pub shown: Vec<u8>,
    /// Path after all links that the call follows.
    pub real: Vec<u8>,
}

impl StraceImporter {
    /// Resolves a name relative to a directory. If `follow` is true, also follows a link in its last
    /// component.
    pub(super) fn resolve(
        &mut self,
        task: u32,
        base: &[u8],
        name: &[u8],
        follow: bool,
    ) -> Resolved {
        let mut links = 0;
        let found = self.place(task, base, name, follow, &mut links);
        if found.real.len().max(found.shown.len()) > MAX_PATH {
            self.refused = Some("a path has more than 4096 bytes; record other files");
        }
        found
    }

    fn place(
        &mut self,
        task: u32,
        base: &[u8],
        name: &[u8],
        follow: bool,
        links: &mut u32,
    ) -> Resolved {
        let (directory, last) = split_path(name);
        let mut real = self.directory(task, base, directory, links);
        if matches!(last, b"" | b"." | b"..") {
            real = self.directory(task, &real, last, links);
            return Resolved { shown: real.clone(), real };
        }
        let parent = real.clone();
        push_name(&mut real, last);
        let text = match follow || name.ends_with(b"/") {
            true if *links < MAX_LINKS => {
                let inside = self.inside(&real);
                self.link_at(task, &real, inside)
            }
            _ => None,
        };
        let Some(text) = text else {
            return Resolved { shown: real.clone(), real };
        };
        *links += 1;
        let mut target = self.place(task, &parent, &text, true, links);
        if !text.starts_with(b"/")
            && self.inside(&target.shown).is_some()
            && self.inside(&real).is_some()
        {
            target.shown = real;
        }
        target
    }

    /// Returns the real path of a directory. Follows links in all its components.
    fn directory(&mut self, task: u32, base: &[u8], name: &[u8], links: &mut u32) -> Vec<u8> {
        let root = self.task(task).standing.borrow().root.clone();
        let start = |name: &[u8], here: &[u8]| match name.starts_with(b"/") {
            true => root.clone(),
            false => here.to_vec(),
        };
        let mut real = start(name, base.strip_suffix(b"/").unwrap_or(base));
        let mut inside = self.inside(&real);
        let mut left = Vec::new();
        push_parts(&mut left, name);
        while let Some(part) = left.pop() {
            let parent = real.len();
            if part == b".." {
                if real != root {
                    let end = real.iter().rposition(|byte| *byte == b'/');
                    real.truncate(end.unwrap_or(0));
                    inside = inside.and_then(|path| self.paths.parent(path));
                }
                continue;
            }
            push_name(&mut real, &part);
            inside = match inside {
                Some(path) => Some(self.paths.intern_child(path, &part)),
                None => self.inside(&real),
            };
            if *links < MAX_LINKS
                && let Some(text) = self.link_at(task, &real, inside)
            {
                *links += 1;
                real = start(&text, &real[..parent]);
                inside = self.inside(&real);
                push_parts(&mut left, &text);
            }
        }
        real
    }

    /// Returns the target of the link at a real path, which is `inside` the recorded directory if
    /// that is known. Returns `None` if there is no link.
    fn link_at(&mut self, task: u32, real: &[u8], inside: Option<PathId>) -> Option<Vec<u8>> {
        if let Some(descriptor) = own_descriptor(task, real) {
            let Held::File(open) = self.held(task, descriptor)? else { return None };
            let path = self.paths.full(open.borrow().path);
            return Some([self.below.as_deref()?, b"/", &path].concat());
        }
        let Some(path) = inside else {
            return self.surroundings.link(real);
        };
        let node = self.world.inode_at(&self.paths, path)?;
        match self.world.kind(node) {
            InodeType::Symlink(text) if !text.is_empty() => Some(text.clone()),
            _ => None,
        }
    }

    /// Returns the path below the recorded directory for a real path.
    pub(super) fn inside(&mut self, path: &[u8]) -> Option<PathId> {
        let below = self.below.as_ref()?;
        let rest = path.strip_prefix(&below[..])?;
        let is_below = below == b"/" || rest.is_empty() || rest.starts_with(b"/");
        is_below.then(|| self.paths.intern(rest))
    }

    /// Returns true for the real path of a named pipe below the directory.
    pub(super) fn is_named_pipe(&mut self, path: &[u8]) -> bool {
        let node = self.inside(path).and_then(|path| self.world.inode_at(&self.paths, path));
        node.is_some_and(|node| *self.world.kind(node) == InodeType::Pipe)
    }
}

/// Returns the descriptor to which a path in `/proc` refers.
pub fn own_descriptor(task: u32, path: &[u8]) -> Option<i32> {
    let rest = path.strip_prefix(b"/proc/")?;
    let own = format!("{task}/fd/");
    let number = rest.strip_prefix(b"self/fd/").or_else(|| rest.strip_prefix(own.as_bytes()))?;
    super::line::number(number)
}

fn push_name(path: &mut Vec<u8>, name: &[u8]) {
    path.push(b'/');
    path.extend_from_slice(name);
}

/// Pushes the components of a name onto a stack, with the first on top.
fn push_parts(stack: &mut Vec<Vec<u8>>, name: &[u8]) {
    let parts = name.split(|byte| *byte == b'/').rev();
    let parts = parts.filter(|part| !part.is_empty() && *part != b".");
    stack.extend(parts.map(<[u8]>::to_vec));
}

#[cfg(test)]
mod tests {
    use super::super::recording::{RecordingStart, Surroundings};
    use super::*;
    use crate::paths::PathInterner;
    use crate::trace::{TracedKind, TreeEntry};

    /// `top/dir/file`, `top/link → dir`, `top/relative → dir/file`, `top/absolute → /w/top/dir/file`,
    /// `top/out → /w/outside`, `top/circle → circle`.
    fn ground() -> StraceImporter {
        let mut paths = PathInterner::default();
        let link = |text: &str| TracedKind::Symlink(text.into());
        let entries = [
            ("dir", TracedKind::Directory),
            ("dir/file", TracedKind::File { size: 0 }),
            ("link", link("dir")),
            ("relative", link("dir/file")),
            ("absolute", link("/w/top/dir/file")),
            ("out", link("/w/outside")),
            ("circle", link("circle")),
        ];
        let entry = |(path, kind): (&str, TracedKind)| TreeEntry {
            path: paths.intern(path.as_bytes()),
            kind,
            mode: 0o777,
        };
        let before: Vec<TreeEntry> = entries.into_iter().map(entry).collect();
        let below = b"/w/top".to_vec();
        let start = RecordingStart { below, before, paths, ..RecordingStart::default() };
        let mut importer = StraceImporter::recording(start, Box::new(Back));
        importer.line(b"7 1.0 sync() = 0").unwrap();
        importer
    }

    /// `/w/outside/back → /w/top`.
    struct Back;

    impl Surroundings for Back {
        fn link(&mut self, path: &[u8]) -> Option<Vec<u8>> {
            (path == b"/w/outside/back").then(|| b"/w/top".to_vec())
        }

        fn file(&self, _: &[u8]) -> Option<(u64, u16)> {
            None
        }
    }

    /// Returns the path below the recorded directory, or `!` and the real path if it is outside.
    fn led(importer: &mut StraceImporter, base: &str, name: &str, follow: bool) -> String {
        let found = importer.resolve(7, base.as_bytes(), name.as_bytes(), follow).shown;
        let shown = match importer.inside(&found) {
            Some(path) => importer.paths.full(path),
            None => [b"!".as_slice(), &found].concat(),
        };
        String::from_utf8(shown).unwrap()
    }

    #[test]
    fn resolves_names_like_the_kernel() {
        let mut importer = ground();
        let cases = [
            ("dir/file", true, "dir/file"),
            ("./dir//file", true, "dir/file"),
            ("link/file", true, "dir/file"),
            ("link/../dir", true, "dir"),
            ("link", false, "link"),
            ("link/", false, "link"),
            ("relative", true, "relative"),
            ("absolute", true, "dir/file"),
            ("absolute", false, "absolute"),
            ("missing/x", true, "missing/x"),
            ("out", false, "out"),
            ("out", true, "!/w/outside"),
            ("out/x", true, "!/w/outside/x"),
            ("out/back/dir/file", true, "dir/file"),
            ("../top/dir", true, "dir"),
            ("..", true, "!/w"),
            (".", true, ""),
            ("/w/top/dir/file", true, "dir/file"),
            ("circle", true, "circle"),
        ];
        for (name, follow, expected) in cases {
            assert_eq!(led(&mut importer, "/w/top", name, follow), expected, "{name}");
        }
        led(&mut importer, "/w/top", "circle/x", true);
    }

    #[test]
    fn follows_a_link_that_replaced_a_directory() {
        let mut importer = ground();
        let lines =
            ["rename(\"/w/top/dir\", \"/w/top/other\")", "symlink(\"other\", \"/w/top/dir\")"];
        for line in lines {
            importer.line(format!("7 2.0 {line} = 0").as_bytes()).unwrap();
        }
        assert_eq!(led(&mut importer, "/w/top", "dir/x", true), "other/x");
    }

    #[test]
    fn an_other_root_is_no_way_out() {
        let mut importer = ground();
        importer.line(b"7 2.0 chroot(\"/w/top\") = 0").unwrap();
        assert_eq!(led(&mut importer, "/w/top/dir", "/../../dir/file", true), "dir/file");
    }

    #[test]
    fn a_descriptor_of_the_process_leads_to_its_file() {
        let mut importer = ground();
        let open = b"7 2.0 open(\"/w/top/dir/file\", O_RDONLY) = 3</w/top/dir/file>";
        importer.line(open).unwrap();
        assert_eq!(led(&mut importer, "/", "/proc/self/fd/3", true), "dir/file");
    }
}
