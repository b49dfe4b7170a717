//! Maps a question to a guest: a small file in the cache, which also contains the expected digest
//! of the guest's manifest. No other file verifies it, so it contains its own digest.

use std::fs;
use std::path::{Path, PathBuf};

use crate::build::build_dir::BuildDir;
use crate::{GuestError, files, hash};

/// Prefixes of the names of answer files and of guests.
const ANSWER: &str = "answer-";
const GUEST: &str = "guest-";

/// Guest that answers a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildIndexEntry {
    /// Name of the guest's directory in the cache.
    pub guest: String,
    /// Digest of the guest's manifest.
    pub manifest: String,
}

/// Returns the name of the guest that is built from the inputs in this text.
pub fn guest_name(text: &str) -> String {
    format!("{GUEST}{}", hash::name(text.as_bytes()))
}

/// Returns the path of the file that answers a question.
pub fn entry_path(question: &str, cache: &Path) -> PathBuf {
    cache.join(format!("{ANSWER}{}", hash::name(question.as_bytes())))
}

impl BuildIndexEntry {
    /// Reads an answer file. Returns `None` if the file is damaged or was written under another
    /// name.
    pub fn read(file: &Path) -> Option<Self> {
        let text = String::from_utf8(files::read(file).ok()?).ok()?;
        let mut lines = text.lines();
        let (guest, manifest) = (lines.nth(1)?, lines.next()?);
        let answer = Self { guest: guest.to_owned(), manifest: manifest.to_owned() };
        (answer.text(file) == text).then_some(answer)
    }

    /// Writes the entry atomically.
    pub fn write(&self, file: &Path, workshop: &BuildDir<'_>) -> Result<(), GuestError> {
        const PARTIAL: &str = "answer";
        files::write(&workshop.place(PARTIAL), self.text(file).as_bytes())?;
        workshop.install(PARTIAL, file)
    }

    /// Returns the first answer that refers to a guest, for any question.
    pub fn about(guest: &str, cache: &Path) -> Option<Self> {
        let mut answers = all(cache).into_iter().filter_map(|file| Self::read(&file));
        answers.find(|answer| answer.guest == guest)
    }

    /// Returns the text of the file: question, answer, and a digest of both.
    fn text(&self, file: &Path) -> String {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let text = format!("{name}\n{}\n{}\n", self.guest, self.manifest);
        let digest = hash::sha256_hex(text.as_bytes());
        text + &digest + "\n"
    }
}

/// Removes all answers that refer to a guest, and all damaged answers.
pub fn remove_entries(
    guest: &str,
    cache: &Path,
    workshop: &BuildDir<'_>,
) -> Result<(), GuestError> {
    for file in all(cache) {
        if BuildIndexEntry::read(&file).is_none_or(|answer| answer.guest == guest) {
            workshop.remove(&file)?;
        }
    }
    Ok(())
}

fn all(cache: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(cache).into_iter().flatten().flatten();
    let names = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(ANSWER));
    names.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Bytes;
    use std::sync::Arc;

    fn in_workshop(cache: &Path, work: impl FnOnce(&BuildDir<'_>) -> Result<(), GuestError>) {
        let stop = Arc::default();
        let worked =
            BuildDir::open(cache, Bytes::mib(1), &stop, &mut |_| {}, |workshop, _| work(workshop));
        worked.unwrap();
    }

    fn answer(guest: &str) -> BuildIndexEntry {
        BuildIndexEntry { guest: guest.to_owned(), manifest: hash::sha256_hex(guest.as_bytes()) }
    }

    #[test]
    fn answer_is_valid_only_if_intact_and_for_its_question() {
        let cache = tempfile::tempdir().unwrap();
        let file = entry_path("a question", cache.path());
        in_workshop(cache.path(), |workshop| answer("guest-1").write(&file, workshop));
        assert_eq!(BuildIndexEntry::read(&file), Some(answer("guest-1")));
        let whole = fs::read(&file).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&file, &damaged).unwrap();
            assert_eq!(BuildIndexEntry::read(&file), None, "byte {at}");
            fs::write(&file, &whole[..at]).unwrap();
            assert_eq!(BuildIndexEntry::read(&file), None, "cut at {at}");
        }
        fs::write(&file, &whole).unwrap();
        let other = entry_path("another", cache.path());
        fs::copy(&file, &other).unwrap();
        assert_eq!(BuildIndexEntry::read(&other), None);
        assert_eq!(BuildIndexEntry::read(&entry_path("no question", cache.path())), None);
    }

    #[test]
    fn answers_of_a_guest_are_found_and_removed_with_damaged_ones() {
        let cache = tempfile::tempdir().unwrap();
        let cache = cache.path();
        let files = ["a", "b", "c", "d"].map(|question| entry_path(question, cache));
        in_workshop(cache, |workshop| {
            for (file, guest) in files.iter().zip(["guest-1", "guest-2", "guest-1"]) {
                answer(guest).write(file, workshop)?;
            }
            fs::write(&files[3], "damaged").unwrap();
            assert_eq!(BuildIndexEntry::about("guest-2", cache), Some(answer("guest-2")));
            assert_eq!(BuildIndexEntry::about("guest-3", cache), None);
            remove_entries("guest-1", cache, workshop)
        });
        let there = files.each_ref().map(|file| file.exists());
        assert_eq!(there, [false, true, false, false]);
    }
}
