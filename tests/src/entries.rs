//! Catalog entries created for a test, in the TOML format that users write.

use std::fmt::Write;
use std::path::Path;

/// A filesystem for tests.
#[derive(Clone, Debug)]
pub struct DirectoryEntry {
    name: String,
    driver: &'static str,
    programs: Vec<String>,
    mkfs: Vec<String>,
    mount: Vec<String>,
    mount_options: Vec<String>,
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&w| w.to_owned()).collect()
}

impl DirectoryEntry {
    /// Creates an entry for ext4 with another name and without faults.
    pub fn ext4(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            driver: "kernel",
            programs: words(&["mke2fs"]),
            mkfs: words(&["mke2fs", "-q", "-F", "-t", "ext4", "{options}", "{device}"]),
            mount: words(&["mount", "-o", "{options}", "{device}", "{mountpoint}"]),
            mount_options: Vec::new(),
        }
    }

    /// Returns an entry for the fault driver with the given faults.
    pub fn faulty(name: &str, driver: &Path, faults: &[&str]) -> Self {
        let program = driver.to_str().expect("build directories have plain names");
        Self {
            name: name.to_owned(),
            driver: "fuse",
            programs: words(&[program]),
            mkfs: words(&[program, "--format", "{device}"]),
            mount: words(&[program, "-o", "{options}", "{device}", "{mountpoint}"]),
            mount_options: words(faults),
        }
    }

    /// Replaces the mkfs command, which begins with the program.
    #[must_use]
    pub fn mkfs(mut self, line: &[&str]) -> Self {
        self.programs.push(line[0].to_owned());
        self.mkfs = words(line);
        self
    }

    /// Replaces the mount command, which begins with the program.
    #[must_use]
    pub fn mount(mut self, line: &[&str]) -> Self {
        self.programs.push(line[0].to_owned());
        self.mount = words(line);
        self
    }

    /// Returns the name of the entry's file.
    pub fn file_name(&self) -> String {
        format!("{}.toml", self.name)
    }

    /// Returns the entry as a catalog file.
    pub fn toml(&self) -> String {
        let mut text = String::new();
        let kernel = if self.driver == "fuse" { "fuse" } else { "ext4" };
        let top = [
            ("name", self.name.as_str()),
            ("title", self.name.as_str()),
            ("driver", self.driver),
            ("source", "made for a test"),
        ];
        for (key, value) in top {
            writeln!(text, "{key} = {value:?}").expect("a string takes it");
        }
        if self.driver == "kernel" {
            let reader = r#"{ system = "linux", writes = true, source = "made for a test" }"#;
            writeln!(text, "read_by = [{reader}]").expect("a string takes it");
        }
        let Self { programs, mkfs, mount, mount_options, .. } = self;
        write!(
            text,
            "[requires]\nkernel = {kernel:?}\nprograms = {programs:?}\nsmallest = \"8 MiB\"\n\
             [commands]\nmkfs = {mkfs:?}\nmount = {mount:?}\nmount_options = {mount_options:?}\n"
        )
        .expect("a string takes it");
        text
    }
}

/// A suite `trial` with one test that shows a fault within a second: 8 MiB are written, rewritten
/// and verified.
pub const TRIAL: &str = r#"
name = "trial"
title = "What a fault shows in"
source = "made for a test"

[[test]]
name = "data"
title = "One file"
rationale = "Every byte is written twice and compared."
space = "8 MiB"
phase = [
  { name = "write", op = "write", file = "f", size = "8 MiB", block = "64 KiB", cache = "warm", ends = "fsync" },
  { name = "rewrite", op = "rewrite", file = "f", block = "64 KiB", cache = "warm", ends = "fsync" },
  { name = "verify", op = "read", file = "f", block = "64 KiB", verify = true, cache = "cold", ends = "call" },
]
"#;

/// A suite `wide` with one test: a file too large for one disk of 64 MiB, but not for two.
pub const WIDE: &str = r#"
name = "wide"
title = "A filesystem on more than one disk"
source = "made for a test"

[[test]]
name = "wide-data"
title = "One large file"
rationale = "One disk cannot hold it."
space = "70 MiB"
phase = [
  { name = "write", op = "write", file = "f", size = "70 MiB", block = "1 MiB", cache = "warm", ends = "fsync" },
  { name = "verify", op = "read", file = "f", block = "1 MiB", verify = true, cache = "cold", ends = "call" },
]
"#;

/// A suite `names` with one test: 100 small files are created, read and deleted.
pub const NAMES: &str = r#"
name = "names"
title = "What a fault in directories shows in"
source = "made for a test"

[[test]]
name = "files"
title = "Some small files"
rationale = "Names are made, found and removed."
space = "4 MiB"
phase = [
  { name = "create", op = "create", set = "s", files = 100, directories = 4, size = "4 KiB", order = "sequential", fsync = false, cache = "warm", ends = "syncfs" },
  { name = "stat", op = "stat", set = "s", order = "random", cache = "cold", ends = "call" },
  { name = "delete", op = "delete", set = "s", order = "random", cache = "warm", ends = "syncfs" },
]
"#;

/// A suite `abilities` with one test for each of three features.
pub const ABILITIES: &str = r#"
name = "abilities"
title = "What Unix programs take for granted"
source = "made for a test"

[[test]]
name = "can-link"
title = "Hard links"
rationale = "Two names for one file."
space = "1 MiB"
phase = [{ name = "hard-links", op = "probe", feature = "hard-links" }]

[[test]]
name = "can-symlink"
title = "Symbolic links"
rationale = "A name that points elsewhere."
space = "1 MiB"
phase = [{ name = "symlinks", op = "probe", feature = "symlinks" }]

[[test]]
name = "can-chmod"
title = "Permissions"
rationale = "Bits that stay as set."
space = "1 MiB"
phase = [{ name = "permissions", op = "probe", feature = "permissions" }]
"#;
