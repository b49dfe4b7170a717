//! Anonymises traces: replaces all names, but keeps every property of a name that a filesystem
//! sees.

use std::collections::{BTreeMap, BTreeSet};

use model::SeededRng;

use crate::paths::PathInterner;
use crate::trace::{Syscall, Trace, TraceHeader, TraceRecord, TracedKind, TreeEntry};

/// Letters of new names, valid and distinct on all filesystems.
const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
/// Extensions that reveal the type of a file but not its owner.
const ENDINGS: [&[u8]; 40] = [
    b"a", b"bin", b"bz2", b"c", b"cc", b"conf", b"cpp", b"css", b"csv", b"db", b"deb", b"gif",
    b"go", b"gz", b"h", b"hpp", b"html", b"java", b"jpg", b"js", b"json", b"lock", b"log", b"md",
    b"mp3", b"mp4", b"o", b"pdf", b"png", b"py", b"rs", b"sh", b"so", b"tar", b"tmp", b"toml",
    b"ts", b"txt", b"xz", b"zip",
];
/// Number of attempts before a longer name is used.
const TRIES: u32 = 200;

/// New names by old name. New names differ even if case is ignored.
struct AnonymousNames {
    given: BTreeMap<Vec<u8>, Vec<u8>>,
    taken: BTreeSet<Vec<u8>>,
    rng: SeededRng,
}

impl AnonymousNames {
    fn of(&mut self, name: &[u8]) -> Vec<u8> {
        if matches!(name, b"" | b"." | b"..") {
            return name.to_vec();
        }
        if let Some(given) = self.given.get(name) {
            return given.clone();
        }
        let (begin, end) = kept(name);
        let mut more = 0;
        let given = loop {
            let drawn = (0..TRIES).find_map(|_| {
                let letters = name.len() - begin.len() - end.len() + more;
                let middle = (0..letters).map(|_| LETTERS[self.rng.below(36) as usize]);
                let drawn = [begin, &middle.collect::<Vec<u8>>(), end].concat();
                (!self.taken.contains(&drawn)).then_some(drawn)
            });
            match drawn {
                Some(drawn) => break drawn,
                // All names of this length are used.
                None => more += 1,
            }
        };
        self.taken.insert(given.clone());
        self.given.insert(name.to_vec(), given.clone());
        given
    }

    /// Replaces each name in a path.
    fn of_path(&mut self, path: &[u8]) -> Vec<u8> {
        let names: Vec<Vec<u8>> =
            path.split(|byte| *byte == b'/').map(|name| self.of(name)).collect();
        names.join(&b'/')
    }
}

/// Returns the parts of a name that are kept: the leading dot of a hidden file, and a known
/// extension.
fn kept(name: &[u8]) -> (&[u8], &[u8]) {
    let begin = usize::from(name.first() == Some(&b'.') && name.len() > 1);
    let dot = name.iter().rposition(|byte| *byte == b'.').filter(|at| *at > begin);
    let end = dot.filter(|at| ENDINGS.contains(&&name[at + 1..])).unwrap_or(name.len());
    (&name[..begin], &name[end..])
}

impl Trace {
    /// Returns the trace with other names, which depend only on the seed. Each name keeps its
    /// length, its known extension and its depth, and equal names stay equal. The origin keeps only
    /// the recorder and the system.
    #[must_use]
    pub fn anonymised(&self, seed: u64) -> Self {
        let mut names = AnonymousNames {
            given: BTreeMap::new(),
            taken: BTreeSet::new(),
            rng: SeededRng::substream(seed, "anonymise"),
        };
        let mut paths = PathInterner::default();
        for id in self.paths.ids() {
            let name = names.of(self.paths.name(id).unwrap_or_default());
            let same = paths.intern_child(self.paths.parent(id).unwrap_or_default(), &name);
            debug_assert_eq!(same, id, "no two names become one");
        }
        let mut entries = |entries: &[TreeEntry]| -> Vec<TreeEntry> {
            let mut entries = entries.to_vec();
            for entry in &mut entries {
                if let TracedKind::Symlink(text) = &mut entry.kind {
                    *text = names.of_path(text);
                }
            }
            entries
        };
        let (before, after) = (entries(&self.before), entries(&self.after));
        let operations = self.operations.iter().map(|operation| TraceRecord {
            call: call(&operation.call, &mut names),
            ..operation.clone()
        });
        Self {
            operations: operations.collect(),
            header: TraceHeader { command: Vec::new(), anonymised: true, ..self.header.clone() },
            paths,
            before,
            after,
        }
    }
}

fn call(call: &Syscall, names: &mut AnonymousNames) -> Syscall {
    let mut call = call.clone();
    match &mut call {
        Syscall::Symlink { text, .. } => *text = names.of_path(text),
        Syscall::SetAttribute { name, .. }
        | Syscall::GetAttribute { name, .. }
        | Syscall::RemoveAttribute { name, .. } => {
            // Keep prefixes such as `user.`, which determine who may set the attribute.
            let own = name.iter().position(|byte| *byte == b'.').map_or(0, |dot| dot + 1);
            let new = names.of(&name[own..]);
            name.truncate(own);
            name.extend(new);
        }
        _ => {}
    }
    call
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::SyscallResult;
    use model::Nanos;

    #[test]
    fn anonymised_trace_differs_only_in_names() {
        let mut trace = Trace::default();
        trace.header.command = vec!["secret".into()];
        let path = trace.paths.intern(b".git/secret/main.c");
        let again = trace.paths.intern(b"secret/notes.secret");
        let kind = TracedKind::Symlink(b"../secret/main.c".to_vec());
        trace.before.push(TreeEntry { path, kind, mode: 0o777 });
        trace.operations.push(TraceRecord {
            process: 0,
            thread: 0,
            began: Nanos(1),
            duration: Nanos(2),
            call: Syscall::SetAttribute { path, name: b"user.secret".to_vec(), length: 3 },
            outcome: SyscallResult::Ok(0),
        });
        let made = trace.anonymised(7);
        assert_eq!(made, trace.anonymised(7));
        assert_ne!(made.paths, trace.anonymised(8).paths);
        let shown = |path| String::from_utf8(made.paths.full(path)).unwrap();
        let (first, second) = (shown(path), shown(again));
        assert_eq!(first.len(), ".git/secret/main.c".len());
        assert!(first.starts_with('.') && first.ends_with(".c"), "{first}");
        assert_eq!(first[5..11], second[..6], "the same name is the same name");
        assert!(!second.contains("secret") && !second.ends_with(".secret"));
        let TracedKind::Symlink(text) = &made.before[0].kind else { unreachable!() };
        assert_eq!(text, format!("../{}", &first[5..]).as_bytes());
        assert!(!format!("{made:?}").contains("secret"));
    }

    #[test]
    fn distinct_names_stay_distinct() {
        let mut trace = Trace::default();
        for letter in b'!'..=b'~' {
            trace.paths.intern_child(
                crate::PathId::TOP,
                &[letter, b'x'][..usize::from(letter != b'.') + 1],
            );
            if letter != b'/' && letter != b'.' {
                trace.paths.intern_child(crate::PathId::TOP, &[letter]);
            }
        }
        let made = trace.anonymised(1);
        assert_eq!(made.paths.len(), trace.paths.len());
    }
}
