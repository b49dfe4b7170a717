//! Tests without a home directory and with an unknown user number. Commands that need no home run;
//! others name the variable to set. The program never queries a name service, because a static
//! program cannot load it safely.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use nix::unistd::geteuid;
use tempfile::TempDir;

/// A user id without a user name.
const NOBODYS: u32 = 54_321;

/// A copy of the program in a directory of a user without a name.
struct Stranger {
    directory: TempDir,
    program: PathBuf,
}

impl Stranger {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        if geteuid().is_root() {
            chown(directory.path(), Some(NOBODYS), Some(NOBODYS)).unwrap();
        }
        let program = directory.path().join("fsarena");
        fs::copy(env!("CARGO_BIN_EXE_fsarena"), &program).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self { directory, program }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .current_dir(self.directory.path())
            .stdin(Stdio::null());
        if geteuid().is_root() {
            command.uid(NOBODYS).gid(NOBODYS);
        }
        command.output().unwrap()
    }
}

#[test]
fn only_commands_that_need_a_home_fail_without_one() {
    let stranger = Stranger::new();
    for (arguments, code) in [
        (&["list"][..], 0),
        (&["list", "suites", "--json"], 0),
        (&["list", "campaigns"], 3),
        (&["show"], 3),
        (&["report"], 3),
        (&["resume"], 3),
        (&["advise", "--use", "desktop"], 3),
        (&["compare", "1", "2"], 3),
        (&["history", "tree/*"], 3),
        (&["doctor"], 0),
        (&["doctor", "--packages"], 0),
        (&["guest", "build"], 3),
        (&["guest", "shell", "ext4"], 3),
        (&["tool", "completions", "bash"], 0),
        (&["tool", "man"], 0),
        (&["run", "--dir", ".", "--dry-run"], 3),
        (&["run", "--dir", ".", "--db", "a.db", "--dry-run"], 0),
        (&["list", "campaigns", "--db", "a.db"], 0),
    ] {
        let output = stranger.run(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        if code != 0 {
            assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
            assert!(said.contains("set HOME"), "{arguments:?}: {said}");
        }
    }
}

#[test]
fn campaign_with_a_named_database_needs_no_home() {
    let stranger = Stranger::new();
    let arguments = "run --dir . --db a.db --profile smoke -s lifecycle --quiet";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let output = stranger.run(&arguments);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// Reads a little-endian number of `bytes` bytes.
fn number(file: &[u8], at: usize, bytes: usize) -> usize {
    let mut value = [0; 8];
    value[..bytes].copy_from_slice(&file[at..at + bytes]);
    usize::try_from(u64::from_le_bytes(value)).unwrap()
}

/// Returns the names in the symbol table of a 64-bit ELF file. Source: elf(5).
fn symbols(file: &[u8]) -> Vec<&str> {
    const SYMTAB: usize = 2;
    let (headers, size, count) = (number(file, 40, 8), number(file, 58, 2), number(file, 60, 2));
    let section = |index: usize| headers + index * size;
    let table = (0..count).map(section).find(|at| number(file, at + 4, 4) == SYMTAB);
    let table = table.expect("the program has a symbol table");
    let names = number(file, section(number(file, table + 40, 4)) + 24, 8);
    let (begin, length) = (number(file, table + 24, 8), number(file, table + 32, 8));
    let name = |at: usize| {
        let name = &file[names + number(file, at, 4)..];
        let end = name.iter().position(|byte| *byte == 0).unwrap();
        std::str::from_utf8(&name[..end]).unwrap()
    };
    (begin..begin + length).step_by(24).map(name).collect()
}

#[test]
fn program_contains_no_name_service_functions() {
    let program = fs::read(env!("CARGO_BIN_EXE_fsarena")).unwrap();
    let linked = symbols(&program);
    assert!(linked.contains(&"main"));
    for name in [
        "getpwuid_r",
        "getpwnam_r",
        "getpwuid",
        "getpwnam",
        "getgrgid_r",
        "getgrnam_r",
        "getgrouplist",
        "initgroups",
        "getaddrinfo",
        "gethostbyname",
        "gethostbyname_r",
        "getservbyname_r",
    ] {
        assert!(!linked.contains(&name), "{name} is linked");
    }
}
