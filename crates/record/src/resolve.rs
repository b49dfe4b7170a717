//! Resolution of names that a program uses to real paths, and to paths below the recorded
//! directory.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use nix::errno::Errno;
use nix::fcntl::readlink;
use nix::unistd::Pid;
use trace::{PathId, PathInterner};

/// Maximum number of links, as in the kernel. Source: path_resolution(7).
const MAX_LINKS: u32 = 40;

/// View of the filesystem of a process.
#[derive(Clone, Copy, Debug)]
pub struct ProcessView<'a> {
    /// Process to which `/proc/self` refers.
    pub process: Pid,
    /// Real path of the root directory; empty for the root of the system.
    pub root: &'a [u8],
    /// Real path of the directory to which relative names refer.
    pub base: &'a [u8],
}

/// Result of resolving a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Real path after all links that the call follows.
    pub real: Vec<u8>,
    /// Path for the trace, if the real path is below the recorded directory.
    pub below: Option<PathId>,
}

/// Resolves names, and caches which paths are real directories instead of links.
pub struct Resolver {
    top: Vec<u8>,
    /// All paths below the recorded directory that occurred.
    pub paths: PathInterner,
    /// Real directories, each with its path below the recorded one.
    directories: HashMap<Vec<u8>, Option<PathId>>,
    /// True if there may be a symbolic link below the recorded directory.
    pub links_below: bool,
}

impl Resolver {
    /// Creates a resolver for the directory with this real path.
    pub fn new(top: &[u8]) -> Self {
        Self {
            top: top.to_vec(),
            paths: PathInterner::default(),
            directories: HashMap::new(),
            links_below: false,
        }
    }

    /// Resolves a name. If `follow` is true, also follows a link in its last component.
    pub fn resolve(&mut self, view: &ProcessView, name: &[u8], follow: bool) -> Resolved {
        let mut links = 0;
        self.place(view, name, follow, &mut links)
    }

    fn place(
        &mut self,
        view: &ProcessView,
        name: &[u8],
        follow: bool,
        links: &mut u32,
    ) -> Resolved {
        let end = name.iter().rposition(|byte| *byte != b'/');
        let is_directory = end.is_none_or(|end| end + 1 < name.len());
        let trimmed = &name[..end.map_or(0, |end| end + 1)];
        let slash = trimmed.iter().rposition(|byte| *byte == b'/');
        let last = &trimmed[slash.map_or(0, |slash| slash + 1)..];
        if matches!(last, b"" | b"." | b"..") {
            let real = self.directory(view, name, links);
            return self.told(real);
        }
        let parent = self.directory(view, &name[..slash.map_or(0, |slash| slash + 1)], links);
        let mut real = parent.clone();
        real.push(b'/');
        real.extend_from_slice(last);
        if !(follow || is_directory) || self.is_surely_no_link(&real, &parent) {
            return self.told_in(real, &parent, last);
        }
        let real = own_process(real, view.process);
        let Ok(text) = readlink(OsStr::from_bytes(&real)) else {
            return self.told_in(real, &parent, last);
        };
        *links += 1;
        if *links > MAX_LINKS {
            return self.told_in(real, &parent, last);
        }
        let text = text.into_vec();
        let from_there = ProcessView { base: &parent, ..*view };
        let mut target = self.place(&from_there, &text, true, links);
        // The trace keeps the path of a relative link, because the replay follows the link again.
        // An absolute link would point to the original directory, so the trace contains its target.
        if target.below.is_some() && !text.starts_with(b"/") {
            target.below = self.told_in(real, &parent, last).below.or(target.below);
        }
        target
    }

    /// Returns true if this path certainly is not a link, without accessing it.
    fn is_surely_no_link(&self, real: &[u8], parent: &[u8]) -> bool {
        let is_below = || self.directories.get(parent).is_some_and(Option::is_some);
        self.directories.contains_key(real) || !self.links_below && is_below()
    }

    /// Returns the real path of a name and follows links in all its components.
    fn directory(&mut self, view: &ProcessView, name: &[u8], links: &mut u32) -> Vec<u8> {
        let whole = name.strip_suffix(b"/").unwrap_or(name);
        if view.root.is_empty() && self.directories.contains_key(whole) {
            return whole.to_vec();
        }
        let absolute = name.first() == Some(&b'/');
        let mut real = if absolute { view.root } else { view.base }.to_vec();
        let mut left: Vec<Vec<u8>> = Vec::new();
        push_parts(&mut left, name);
        while let Some(part) = left.pop() {
            if part == b".." {
                if real.len() > view.root.len() || real.is_empty() {
                    let end = real.iter().rposition(|byte| *byte == b'/');
                    real.truncate(end.unwrap_or(0));
                }
                continue;
            }
            let parent = real.len();
            real.push(b'/');
            real.extend_from_slice(&part);
            if self.directories.contains_key(&real) {
                continue;
            }
            real = own_process(real, view.process);
            match readlink(OsStr::from_bytes(&real)) {
                Ok(text) if *links < MAX_LINKS => {
                    *links += 1;
                    let text = text.into_vec();
                    real.truncate(if text.starts_with(b"/") { 0 } else { parent });
                    if real.is_empty() && text.starts_with(b"/") {
                        real.extend_from_slice(view.root);
                    }
                    push_parts(&mut left, &text);
                }
                Err(Errno::EINVAL) if !real.starts_with(b"/proc/") => self.remember(&real),
                _ => {}
            }
        }
        real
    }

    fn remember(&mut self, real: &[u8]) {
        let below = self.below(real);
        self.directories.insert(real.to_vec(), below);
    }

    /// Returns the path below the recorded directory for a real path.
    pub fn below(&mut self, real: &[u8]) -> Option<PathId> {
        let rest = real.strip_prefix(&self.top[..])?;
        let is_below = rest.is_empty() || rest[0] == b'/';
        is_below.then(|| self.paths.intern(rest))
    }

    fn told(&mut self, real: Vec<u8>) -> Resolved {
        let below = self.below(&real);
        Resolved { real, below }
    }

    fn told_in(&mut self, real: Vec<u8>, parent: &[u8], last: &[u8]) -> Resolved {
        match self.directories.get(parent).copied() {
            Some(Some(parent)) => {
                Resolved { below: Some(self.paths.intern_child(parent, last)), real }
            }
            _ => self.told(real),
        }
    }

    /// Invalidates a path. Must be called for each name that is removed or replaced, because a
    /// directory may no longer exist at this path.
    pub fn forget(&mut self, real: &[u8]) {
        self.directories.remove(real);
    }

    /// Invalidates all paths. Must be called when a directory moves, because its contents move,
    /// too.
    pub fn forget_all(&mut self) {
        self.directories.clear();
    }
}

/// Pushes the components of a name onto a stack, with the first on top.
fn push_parts(stack: &mut Vec<Vec<u8>>, name: &[u8]) {
    let parts = name.split(|byte| *byte == b'/').rev();
    let parts = parts.filter(|part| !part.is_empty() && *part != b".");
    stack.extend(parts.map(<[u8]>::to_vec));
}

/// Replaces `/proc/self`, which would refer to the recorder.
fn own_process(real: Vec<u8>, process: Pid) -> Vec<u8> {
    match &real[..] {
        b"/proc/self" | b"/proc/thread-self" => format!("/proc/{process}").into_bytes(),
        _ => real,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    fn bytes(path: &Path) -> &[u8] {
        path.as_os_str().as_bytes()
    }

    /// `top/dir/file`, `top/link → dir`, `top/absolute → top/dir/file`, `top/out → outside`, `outside/back → top`.
    fn ground() -> (tempfile::TempDir, Resolver) {
        let ground = tempfile::tempdir().unwrap();
        let real = ground.path().canonicalize().unwrap();
        let top = real.join("top");
        fs::create_dir_all(top.join("dir")).unwrap();
        fs::create_dir(real.join("outside")).unwrap();
        fs::write(top.join("dir/file"), "").unwrap();
        symlink("dir", top.join("link")).unwrap();
        symlink("dir/file", top.join("relative")).unwrap();
        symlink(top.join("dir/file"), top.join("absolute")).unwrap();
        symlink(real.join("outside"), top.join("out")).unwrap();
        symlink(&top, real.join("outside/back")).unwrap();
        let mut resolver = Resolver::new(bytes(&top));
        resolver.links_below = true;
        (ground, resolver)
    }

    /// Returns the path below the recorded directory, or `!` and the real path if it is outside.
    fn led(resolver: &mut Resolver, base: &Path, name: &str, follow: bool) -> String {
        let view = ProcessView { process: Pid::this(), root: b"", base: bytes(base) };
        let found = resolver.resolve(&view, name.as_bytes(), follow);
        let shown = match found.below {
            Some(path) => resolver.paths.full(path),
            None => [b"!".as_slice(), &found.real].concat(),
        };
        String::from_utf8(shown).unwrap()
    }

    #[test]
    fn resolves_names_like_the_kernel() {
        let (ground, mut resolver) = ground();
        let real = ground.path().canonicalize().unwrap();
        let top = real.join("top");
        let outside = format!("!{}/outside", real.display());
        let cases = [
            ("dir/file", true, "dir/file".to_owned()),
            ("./dir//file", true, "dir/file".to_owned()),
            ("link/file", true, "dir/file".to_owned()),
            ("link/../dir", true, "dir".to_owned()),
            ("link", false, "link".to_owned()),
            ("link/", false, "link".to_owned()),
            ("relative", true, "relative".to_owned()),
            ("absolute", true, "dir/file".to_owned()),
            ("absolute", false, "absolute".to_owned()),
            ("missing/x", true, "missing/x".to_owned()),
            ("out", false, "out".to_owned()),
            ("out", true, outside.clone()),
            ("out/x", true, format!("{outside}/x")),
            ("out/back/dir/file", true, "dir/file".to_owned()),
            ("../top/dir", true, "dir".to_owned()),
            ("..", true, format!("!{}", real.display())),
            (".", true, String::new()),
        ];
        // The second resolution uses the cache and must have the same result.
        for _ in 0..2 {
            for (name, follow, expected) in &cases {
                assert_eq!(&led(&mut resolver, &top, name, *follow), expected, "{name}");
            }
        }
        let whole = top.join("dir/file");
        let whole = whole.to_str().unwrap();
        assert_eq!(led(&mut resolver, Path::new("/"), whole, true), "dir/file");
    }

    #[test]
    fn follows_a_link_that_replaced_a_directory_after_forgetting_it() {
        let (ground, mut resolver) = ground();
        let top = ground.path().canonicalize().unwrap().join("top");
        assert_eq!(led(&mut resolver, &top, "dir/x", true), "dir/x");
        fs::rename(top.join("dir"), top.join("other")).unwrap();
        symlink("other", top.join("dir")).unwrap();
        resolver.forget_all();
        assert_eq!(led(&mut resolver, &top, "dir/x", true), "other/x");
    }

    #[test]
    fn an_other_root_is_no_way_out() {
        let (ground, mut resolver) = ground();
        let top = ground.path().canonicalize().unwrap().join("top");
        let view = ProcessView { process: Pid::this(), root: bytes(&top), base: bytes(&top) };
        let found = resolver.resolve(&view, b"/../../dir/file", true);
        assert_eq!(resolver.paths.full(found.below.expect("below")), b"dir/file");
    }

    #[test]
    fn a_circle_of_links_ends() {
        let (ground, mut resolver) = ground();
        let top = ground.path().canonicalize().unwrap().join("top");
        symlink("circle", top.join("circle")).unwrap();
        assert_eq!(led(&mut resolver, &top, "circle", true), "circle");
        led(&mut resolver, &top, "circle/x", true);
    }
}
