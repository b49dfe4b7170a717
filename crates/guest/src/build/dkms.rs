//! Drivers that are distributed as source in a separate package and are built against the headers
//! of a kernel, as dkms does on the machine that installs them: OpenZFS.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::GuestError;
use crate::build::packages::single_file;
use crate::build::rebuild::{clean_command, processors};
use crate::process_runner::ProcessRunner;

/// Number of compiled files between two progress messages.
const STEP: usize = 25;

/// Builds all modules of a package that was unpacked in `tree`, and returns their files. Reports
/// progress through `say`, because a build takes five minutes or more.
pub fn build(
    name: &str,
    tree: &Path,
    headers: &Path,
    programs: &ProcessRunner,
    say: &mut dyn FnMut(&str),
) -> Result<Vec<PathBuf>, GuestError> {
    let source = single_file(&tree.join("usr/src"), "")?;
    say(&format!("building {name}, which takes five minutes and more: trying what the kernel has"));
    programs.run(&mut configure(&source, headers), "dash")?;
    let mut compiled = 0;
    programs.run_lines(&mut make(&source), "make", &mut |line| {
        if !is_compiled(line) {
            return;
        }
        if compiled % STEP == 0 {
            say(&format!("building {name}: compiling file {}", compiled + 1));
        }
        compiled += 1;
    })?;
    let mut found = Vec::new();
    modules(&source, &mut found)?;
    found.sort();
    Ok(found)
}

fn configure(source: &Path, headers: &Path) -> Command {
    let mut configure = clean_command("sh");
    configure
        .current_dir(source)
        .args(["./configure", "--with-config=kernel"])
        .arg(format!("--with-linux={}", common(headers).display()))
        .arg(format!("--with-linux-obj={}", headers.display()));
    configure
}

fn make(source: &Path) -> Command {
    // Debug information would contain paths of the C files and of the assembly files.
    let flags = format!("-g0 -ffile-prefix-map={}=.", source.display());
    let mut make = clean_command("make");
    make.arg("-C")
        .arg(source)
        .arg(format!("-j{}", processors()))
        .arg(format!("KCFLAGS={flags}"))
        .arg(format!("KAFLAGS={flags}"));
    make
}

/// Returns true if a line of make's output reports a compiled file, such as `  CC [M]
/// /t/module/zfs/arc.o`.
fn is_compiled(line: &str) -> bool {
    let word = line.split_whitespace().next();
    word.is_some_and(|word| ["CC", "AS"].contains(&word))
}

/// Returns the common part of kernel headers. `linux-headers-6.1.0-1-amd64` contains only the files
/// that differ between kernel flavours; the others are in `linux-headers-6.1.0-1-common` in the
/// same directory.
fn common(headers: &Path) -> PathBuf {
    let name = headers.file_name().unwrap_or_default().to_string_lossy();
    let (version, _) = name.rsplit_once('-').unwrap_or((&name, ""));
    headers.with_file_name(format!("{version}-common"))
}

fn modules(below: &Path, found: &mut Vec<PathBuf>) -> Result<(), GuestError> {
    for entry in fs::read_dir(below).map_err(GuestError::io("read", below))? {
        let entry = entry.map_err(GuestError::io("read", below))?;
        let path = entry.path();
        // Links could form a loop.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            modules(&path, found)?;
        } else if path.extension().is_some_and(|end| end == "ko") {
            found.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_kernel_headers_are_in_the_same_directory() {
        let headers = Path::new("/t/usr/src/linux-headers-6.1.0-1-amd64");
        assert_eq!(common(headers), Path::new("/t/usr/src/linux-headers-6.1.0-1-common"));
    }

    /// Builds a package whose `configure` and `make` record their arguments.
    #[test]
    fn a_source_is_configured_made_and_its_modules_found() {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("usr/src/zfs-2");
        fs::create_dir_all(source.join("module/os")).unwrap();
        fs::write(source.join("configure"), "echo \"$@\" > told\n").unwrap();
        let makefile = "all:\n\ttouch module/zfs.ko module/os/spl.ko module/spl.o\n\
                        \t@for n in $$(seq 30); do echo \"  CC [M]  $$n.o\"; done\n\
                        \techo 'C $(KCFLAGS) A $(KAFLAGS)' >> told\n";
        fs::write(source.join("Makefile"), makefile).unwrap();
        let headers = Path::new("/h/linux-headers-6-amd64");
        let mut said = Vec::new();
        let mut say = |word: &str| said.push(word.to_owned());
        let found =
            build("zfs", directory.path(), headers, &ProcessRunner::default(), &mut say).unwrap();
        assert_eq!(found, [source.join("module/os/spl.ko"), source.join("module/zfs.ko")]);
        let told = fs::read_to_string(source.join("told")).unwrap();
        assert!(told.contains("--with-linux=/h/linux-headers-6-common"), "{told}");
        for language in ["C", "A"] {
            let flags = format!("{language} -g0 -ffile-prefix-map=");
            assert!(told.contains(&flags), "{told}");
        }
        let last = said.iter().map(|word| word.split(": ").last().unwrap());
        let last: Vec<&str> = last.skip(1).collect();
        assert_eq!(last, ["compiling file 1", "compiling file 26"]);
    }
}
