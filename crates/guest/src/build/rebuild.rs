//! Modules that are rebuilt from the kernel's source, because Debian's kernel lacks them, has them
//! without write support, or has them with a bug. The changes are small edits that verify the
//! replaced text; no third-party source is stored here.
//!
//! The output does not depend on the directory, the date or the user.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use crate::GuestError;
use crate::build::toolchain::Toolchain;
use crate::process_runner::ProcessRunner;

/// A module to rebuild: the location of its source and the differences from the distribution's
/// build.
#[derive(Debug)]
pub struct Rebuild {
    /// Its name.
    pub module: &'static str,
    /// Directory of its source within the kernel source.
    pub source: &'static str,
    /// True if the distribution's module is preferred when it exists.
    pub only_if_missing: bool,
    /// Changed settings of the kernel configuration, for make.
    settings: &'static [&'static str],
    /// Changed settings for the compiler, if the source tests for them.
    definitions: &'static [&'static str],
    edits: &'static [SourcePatch],
}

/// One change to a source file.
#[derive(Debug)]
struct SourcePatch {
    file: &'static str,
    /// Text to replace, which must occur exactly once.
    stands: &'static str,
    /// Replacement text.
    becomes: &'static str,
}

/// All modules that can be rebuilt.
static REBUILDS: [Rebuild; 3] = [
    // Debian's module is built without write support (CONFIG_UFS_FS_WRITE) and mounts read-only
    // without an error.
    Rebuild {
        module: "ufs",
        source: "fs/ufs",
        only_if_missing: false,
        settings: &["CONFIG_UFS_FS=m", "CONFIG_UFS_FS_WRITE=y"],
        definitions: &["CONFIG_UFS_FS_WRITE"],
        // The driver looks for the superblock of UFS2 at 65536 only. makefs writes it at 8192
        // unless blocks are large, so the patch adds this offset.
        edits: &[SourcePatch {
            file: "super.c",
            stands: "\tif (!silent)\n\t\tpr_err(\"%s(): bad magic number\\n\", __func__);\n",
            becomes: "\tif ((flags & UFS_TYPE_MASK) == UFS_TYPE_UFS2 && super_block_offset == SBLOCK_UFS2) {\n\
                      \t\tubh_brelse_uspi(uspi);\n\
                      \t\tubh = NULL;\n\
                      \t\tsuper_block_offset = 8192;\n\
                      \t\tgoto again;\n\
                      \t}\n\
                      \tif (!silent)\n\t\tpr_err(\"%s(): bad magic number\\n\", __func__);\n",
        }],
    },
    // It rejects directories of format 3.5 as damaged: it computes with an item head (24 bytes) for
    // each entry, but an entry head has only 16 bytes.
    Rebuild {
        module: "reiserfs",
        source: "fs/reiserfs",
        only_if_missing: false,
        settings: &["CONFIG_REISERFS_FS=m"],
        definitions: &[],
        edits: &[SourcePatch {
            file: "stree.c",
            stands: "(ih_entry_count(ih) * IH_SIZE)",
            becomes: "(ih_entry_count(ih) * DEH_SIZE)",
        }],
    },
    // Debian's kernel 6.1 is built without it. In 6.1.192 the size of the zone reserved for the MFT
    // is no longer set: it is 0, so the MFT cannot grow and no file can be created. Other systems
    // reserve an eighth of the volume.
    Rebuild {
        module: "ntfs3",
        source: "fs/ntfs3",
        only_if_missing: true,
        settings: &["CONFIG_NTFS3_FS=m"],
        definitions: &[],
        edits: &[SourcePatch {
            file: "super.c",
            stands: "\tsbi->volume.blocks = sbi->volume.size >> sb->s_blocksize_bits;\n",
            becomes: "\tsbi->volume.blocks = sbi->volume.size >> sb->s_blocksize_bits;\n\
                      \tsbi->zone_max = clusters >> 3;\n",
        }],
    },
];

/// Returns the rebuilds that some modules need.
pub fn required_by(modules: &[String]) -> Vec<&'static Rebuild> {
    let rebuilds = REBUILDS.iter();
    rebuilds.filter(|rebuild| modules.iter().any(|module| module == rebuild.module)).collect()
}

/// Describes the rebuilt modules for the name of a guest, because they differ from the
/// distribution's.
pub fn description(rebuilds: &[&Rebuild]) -> String {
    let lines = rebuilds.iter().map(|rebuild| format!("{rebuild:?}\n"));
    lines.collect()
}

/// Programs that build modules and unpack kernels and sources, and their Debian packages.
const TOOLS: [(&str, &str); 3] = [("make", "make"), ("gcc", "gcc"), ("xz", "xz-utils")];
/// Files that a program is linked with, and their Debian package. The source of an add-on first tries
/// whether the compiler makes programs.
const PROGRAM_PARTS: (&str, &str) = ("the files of the C library", "libc6-dev");
/// Library of the program in the kernel's headers that checks each module.
const MODULE_LIBRARY: &str = "libelf1";

/// Returns the name and version that the compiler reports.
///
/// # Errors
/// Returns an error that names all missing programs.
pub fn compiler(programs: &ProcessRunner, with_add_ons: bool) -> Result<String, GuestError> {
    let is_missing = |program: &str, package| {
        if (program, package) == PROGRAM_PARTS {
            let mut link = Command::new("gcc");
            link.args(["-x", "c", "-", "-o", "/dev/null"]);
            return programs.filter(&mut link, package, b"int main(void) { return 0; }").is_err();
        }
        let tried = programs.run(Command::new(program).arg("--version"), package);
        matches!(tried, Err(GuestError::Program { .. }))
    };
    let wanted = TOOLS.into_iter().chain(with_add_ons.then_some(PROGRAM_PARTS));
    if let Some(missing) = missing_tools(wanted, is_missing) {
        return Err(missing);
    }
    let text = programs.run(Command::new("gcc").arg("--version"), "gcc")?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// Returns the error that names all missing programs.
fn missing_tools(
    wanted: impl Iterator<Item = (&'static str, &'static str)>,
    is_missing: impl Fn(&str, &'static str) -> bool,
) -> Option<GuestError> {
    let missing = wanted.filter(|(program, package)| is_missing(program, package));
    let (programs, mut packages): (Vec<_>, Vec<_>) = missing.unzip();
    packages.push(MODULE_LIBRARY);
    (!programs.is_empty())
        .then(|| GuestError::Tools { programs: programs.join(", "), packages: packages.join(" ") })
}

/// Relocates an unpacked tree of kernel headers, which expect to be located below `/usr`. Returns
/// the directory that modules are built against.
pub fn fix_header_paths(tree: &Path, release: &str) -> Result<PathBuf, GuestError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    let root = tree.to_string_lossy();
    if !root.chars().all(plain) {
        return Err(GuestError::UnexpectedOutput(format!(
            "make cannot build in {root:?}: set XDG_CACHE_HOME to a directory with a plain name"
        )));
    }
    let headers = tree.join("usr/src").join(format!("linux-headers-{release}"));
    let entries = fs::read_dir(tree.join("usr/src"));
    let entries = entries.map_err(GuestError::io("read", tree))?;
    for directory in entries.flatten().map(|entry| entry.path()) {
        for file in directory.read_dir().into_iter().flatten().flatten() {
            settle_file(tree, &file.path())?;
        }
    }
    Ok(headers)
}

fn settle_file(tree: &Path, file: &Path) -> Result<(), GuestError> {
    if let Ok(target) = fs::read_link(file) {
        let Ok(inside) = target.strip_prefix("/") else {
            return Ok(());
        };
        fs::remove_file(file).map_err(GuestError::io("remove", file))?;
        return symlink(tree.join(inside), file).map_err(GuestError::io("link", file));
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    if !["Makefile", ".kernelvariables"].contains(&name.as_ref()) {
        return Ok(());
    }
    let text = fs::read_to_string(file).map_err(GuestError::io("read", file))?;
    let within = format!("{}/usr/src/", tree.display());
    let text = text.replace(" /usr/src/", &format!(" {within}"));
    let text = text.replace("=/usr/src/", &format!("={within}"));
    fs::write(file, text).map_err(GuestError::io("write", file))
}

/// Builds a module from its source, which is in a separate directory, and returns its file.
pub fn build(
    rebuild: &Rebuild,
    headers: &Path,
    source: &Path,
    toolchain: Option<&Toolchain>,
    programs: &ProcessRunner,
) -> Result<PathBuf, GuestError> {
    for edit in rebuild.edits {
        apply(edit, source)?;
    }
    make_module(headers, source, rebuild.settings, rebuild.definitions, toolchain, programs)?;
    Ok(source.join(format!("{}.ko", rebuild.module)))
}

/// Builds the modules in a directory against a kernel's headers, with the compiler of a newer release
/// of Debian, if given.
pub fn make_module(
    headers: &Path,
    source: &Path,
    settings: &[&str],
    definitions: &[&str],
    toolchain: Option<&Toolchain>,
    programs: &ProcessRunner,
) -> Result<(), GuestError> {
    let mut flags = vec![
        // Debug information contains paths, and takes most of the build time.
        "-g0".to_owned(),
        format!("-ffile-prefix-map={}=.", source.display()),
    ];
    flags.extend(definitions.iter().map(|name| format!("-D{name}=1")));
    let mut command =
        toolchain.map_or_else(|| clean_command("make"), |toolchain| toolchain.command("make"));
    command
        .arg("-C")
        .arg(headers)
        .arg(format!("M={}", source.display()))
        .arg(format!("-j{}", processors()))
        .args(settings)
        .arg(format!("KCFLAGS={}", flags.join(" ")))
        .arg("modules");
    let package = if toolchain.is_some() { "util-linux" } else { "make" };
    programs.run(&mut command, package).map(drop)
}

/// Returns the number of processors of this machine.
pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Returns a command without environment variables that could influence a build.
pub fn clean_command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
        .env("KBUILD_BUILD_TIMESTAMP", "1970-01-01")
        .env("KBUILD_BUILD_USER", "fsarena")
        .env("KBUILD_BUILD_HOST", "fsarena")
        .env("SOURCE_DATE_EPOCH", "0");
    command
}

fn apply(edit: &SourcePatch, source: &Path) -> Result<(), GuestError> {
    let file = source.join(edit.file);
    let text = fs::read_to_string(&file).map_err(GuestError::io("read", &file))?;
    let found = text.matches(edit.stands).count();
    if found != 1 {
        let last = edit.stands.lines().last().unwrap_or_default().trim();
        return Err(GuestError::UnexpectedOutput(format!(
            "{} of the kernel's source has `{last}` {found} times and not once: it is not the one that \
             fsarena knows how to change",
            edit.file
        )));
    }
    fs::write(&file, text.replacen(edit.stands, edit.becomes, 1))
        .map_err(GuestError::io("write", &file))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str) -> Result<String, GuestError> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("stree.c");
        fs::write(&file, text).unwrap();
        let edit = &required_by(&["reiserfs".into()])[0].edits[0];
        apply(edit, directory.path())?;
        Ok(fs::read_to_string(&file).unwrap())
    }

    #[test]
    fn all_missing_programs_are_named_with_their_packages() {
        let tools = || TOOLS.into_iter();
        assert!(missing_tools(tools(), |_, _| false).is_none());
        let error = missing_tools(tools(), |program, _| program != "gcc").unwrap().to_string();
        let expected =
            "cannot build a guest without make, xz: `apt-get install make xz-utils libelf1`";
        assert_eq!(error, expected);
        let with_parts = tools().chain([PROGRAM_PARTS]);
        let error = missing_tools(with_parts, |_, package| package == "libc6-dev").unwrap();
        assert!(error.to_string().contains("install libc6-dev libelf1"), "{error}");
    }

    #[test]
    fn edit_replaces_only_the_expected_text() {
        let before = "a\nif (x < (ih_entry_count(ih) * IH_SIZE)) {\nb IH_SIZE\n";
        let after = "a\nif (x < (ih_entry_count(ih) * DEH_SIZE)) {\nb IH_SIZE\n";
        assert_eq!(edited(before).unwrap(), after);
    }

    #[test]
    fn reports_unknown_source_in_one_line() {
        for text in ["", "(ih_entry_count(ih) * IH_SIZE) (ih_entry_count(ih) * IH_SIZE)"] {
            let error = edited(text).unwrap_err().to_string();
            assert!(error.starts_with("stree.c of the kernel's source"), "{error}");
            assert!(error.contains("not once") && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn every_edit_changes_something() {
        for rebuild in &REBUILDS {
            for edit in rebuild.edits {
                assert_ne!(edit.stands, edit.becomes, "{}", rebuild.module);
            }
        }
        assert!(required_by(&["ext4".into()]).is_empty());
    }

    #[test]
    fn unpacked_headers_are_relocated() {
        let directory = tempfile::tempdir().unwrap();
        let tree = directory.path();
        let headers = tree.join("usr/src/linux-headers-6.1.0-1-amd64");
        fs::create_dir_all(&headers).unwrap();
        fs::create_dir_all(tree.join("usr/lib/linux-kbuild-6.1/scripts")).unwrap();
        let makefile = headers.join("Makefile");
        fs::write(
            &makefile,
            "KBUILD_OUTPUT=/usr/src/o\ninclude /usr/src/linux-headers-6.1.0-1-common/Makefile\n",
        )
        .unwrap();
        symlink("/usr/lib/linux-kbuild-6.1/scripts", headers.join("scripts")).unwrap();
        symlink("../../lib/linux-kbuild-6.1/scripts", headers.join("tools")).unwrap();
        assert_eq!(fix_header_paths(tree, "6.1.0-1-amd64").unwrap(), headers);
        let text = fs::read_to_string(&makefile).unwrap();
        let common = tree.join("usr/src/linux-headers-6.1.0-1-common/Makefile");
        let output = tree.join("usr/src/o");
        let (output, common) = (output.display(), common.display());
        assert_eq!(text, format!("KBUILD_OUTPUT={output}\ninclude {common}\n"));
        for link in ["scripts", "tools"] {
            assert!(headers.join(link).is_dir(), "{link}");
        }
        // A second run changes nothing.
        fix_header_paths(tree, "6.1.0-1-amd64").unwrap();
        assert_eq!(fs::read_to_string(&makefile).unwrap(), text);
    }

    #[test]
    fn a_directory_that_make_cannot_work_in_is_refused() {
        let error = fix_header_paths(Path::new("/tmp/a b"), "6.1").unwrap_err().to_string();
        assert!(error.contains("XDG_CACHE_HOME"), "{error}");
    }
}
