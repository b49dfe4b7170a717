//! The place in which a program worked, as its output states it.

use std::path::{Component, Path};

/// The directory, file or device that a program worked in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The directory that stands for the filesystem. `None` if several may be different ones.
    pub directory: Option<String>,
    /// All paths, as printed.
    pub exact: String,
    /// Subdirectory of a benchmark, such as `mdtest-easy` of IO500. It distinguishes tests, not
    /// filesystems.
    pub test: Option<String>,
}

impl Place {
    /// Creates the place of a directory or device.
    pub fn directory(path: &str) -> Option<Self> {
        Self::of(path, Path::new(path))
    }

    /// Creates the place of a file, which is its directory.
    pub fn file(path: &str) -> Option<Self> {
        Self::of(path, Path::new(path).parent()?)
    }

    /// Creates the place of a program that worked in several directories. They are one filesystem if
    /// they differ only in the number at the end.
    pub fn directories(paths: &[&str]) -> Option<Self> {
        let [first, others @ ..] = paths else { return None };
        if others.iter().all(|other| other == first) {
            return Self::directory(first);
        }
        let stem = |path: &str| path.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        let is_numbered = paths.iter().all(|path| stem(path) == stem(first));
        let parent = Path::new(first).parent().filter(|_| is_numbered);
        let of_parent = parent.and_then(|parent| Self::of(first, parent));
        let directory = of_parent.as_ref().and_then(|place| place.directory.clone());
        let test = of_parent.and_then(|place| place.test);
        Some(Self { directory, exact: paths.join(" "), test })
    }

    fn of(exact: &str, directory: &Path) -> Option<Self> {
        let mut directory = directory;
        let mut test = None;
        while let Some(Component::Normal(last)) = directory.components().next_back() {
            let last = last.to_str()?;
            if is_of_benchmark(last) {
                test = Some(last.to_owned());
            } else if !is_date(last) || test.is_none() {
                let whole: std::path::PathBuf = directory.components().collect();
                let directory = Some(whole.to_str()?.to_owned());
                return Some(Self { directory, exact: exact.to_owned(), test });
            }
            directory = directory.parent()?;
        }
        None
    }
}

/// Returns true for the directories that IO500 makes for its phases.
fn is_of_benchmark(name: &str) -> bool {
    let begins = ["ior", "mdtest", "mdt", "md-workbench", "md_workbench", "find"];
    let rest = begins.iter().find_map(|begin| name.strip_prefix(begin));
    let kind = rest.and_then(|rest| rest.strip_prefix(['-', '_']));
    kind.is_some_and(|kind| ["easy", "hard", "rnd"].iter().any(|known| kind.starts_with(known)))
}

/// Returns true for the directory of a run of IO500: `2024.01.02-03.04.05-app`.
fn is_date(name: &str) -> bool {
    let date = name.split('-').next().unwrap_or_default();
    let mut parts = date.split('.').map(|part| part.parse::<u32>().ok());
    matches!(parts.next(), Some(Some(1990..=9999))) && matches!(parts.next(), Some(Some(1..=12)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(place: Option<Place>) -> Option<String> {
        place.and_then(|place| place.directory)
    }

    #[test]
    fn a_place_is_a_whole_directory() {
        assert_eq!(directory(Place::directory("/mnt/ext4/")).unwrap(), "/mnt/ext4");
        assert_eq!(directory(Place::file("/mnt/ext4/iozone.tmp")).unwrap(), "/mnt/ext4");
        for none in ["", "/", "..", "."] {
            assert_eq!(Place::directory(none), None, "{none}");
        }
        assert_eq!(Place::file("file"), None);
    }

    #[test]
    fn directories_of_a_benchmark_are_part_of_its_test() {
        let place = Place::directory("/scratch/fsx/2024.01.02-03.04.05-app/ior-easy").unwrap();
        assert_eq!(place.directory.unwrap(), "/scratch/fsx");
        assert_eq!(place.test.unwrap(), "ior-easy");
        let place = Place::directory("/data/2024.01").unwrap();
        assert_eq!((place.directory.unwrap().as_str(), place.test), ("/data/2024.01", None));
    }

    #[test]
    fn several_directories_are_one_place_only_if_they_are_numbered() {
        assert_eq!(directory(Place::directories(&["/diska/1", "/diska/2"])).unwrap(), "/diska");
        let several = Place::directories(&["/mnt/alpha", "/mnt/beta"]).unwrap();
        assert_eq!((several.directory, several.exact.as_str()), (None, "/mnt/alpha /mnt/beta"));
        assert_eq!(directory(Place::directories(&["/mnt/a", "/mnt/a"])).unwrap(), "/mnt/a");
    }
}
