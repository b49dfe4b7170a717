//! Extracts a few directories of the kernel source, which Debian distributes as an archive within a
//! package. The data pass through pipes, and only these directories are written to disk.

use std::path::Path;
use std::process::Command;

use crate::process_runner::ProcessRunner;
use crate::{GuestError, files};

/// Location of the archive in the package, and root directory in the archive.
const ARCHIVE: &str = "./usr/src/linux-source-*.tar.xz";
const ROOT: &str = "linux-source-*";

/// Unpacks directories such as `fs/ufs` from a source package. Directories that this kernel does
/// not have are omitted.
pub fn unpack(
    package: &Path,
    directories: &[&str],
    into: &Path,
    programs: &ProcessRunner,
) -> Result<(), GuestError> {
    files::create_directory(into)?;
    let mut open = Command::new("dpkg-deb");
    open.arg("--fsys-tarfile").arg(package);
    let mut take = Command::new("tar");
    take.args(["--extract", "--to-stdout", "--wildcards", ARCHIVE]);
    let mut expand = Command::new("xz");
    expand.args(["--decompress", "--stdout", "--threads=0"]);
    let mut pick = Command::new("tar");
    pick.args(["--extract", "--strip-components=1", "--wildcards"])
        .arg("--directory")
        .arg(into)
        .args(directories.iter().map(|d| format!("{ROOT}/{d}/*")));
    let steps = [(open, "dpkg"), (take, "tar"), (expand, "xz-utils"), (pick, "tar")];
    let (ended, complaint) = programs.pipe(steps)?;
    let whole = ended[..ended.len() - 1].iter().all(|well| *well);
    // The last program also fails if a directory is missing from the archive.
    if whole && (ended[ended.len() - 1] || directories.iter().any(|d| into.join(d).is_dir())) {
        return Ok(());
    }
    Err(GuestError::UnexpectedOutput(format!(
        "the kernel's source cannot be unpacked from {}: {complaint}",
        package.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Stdio;

    /// Creates a package like Debian's package of the kernel source, with these files in its
    /// archive.
    fn package(directory: &Path, files: &[&str]) -> std::path::PathBuf {
        let tree = directory.join("tree");
        let source = directory.join("linux-source-6.1");
        for file in files {
            let file = source.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "int x;\n").unwrap();
        }
        fs::create_dir_all(tree.join("usr/src")).unwrap();
        fs::create_dir_all(tree.join("DEBIAN")).unwrap();
        let control = "Package: linux-source-6.1\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n";
        fs::write(tree.join("DEBIAN/control"), control).unwrap();
        let archive = tree.join("usr/src/linux-source-6.1.tar.xz");
        let mut tar = Command::new("tar");
        tar.arg("--create").arg("--xz").arg("--file").arg(archive);
        tar.arg("--directory").arg(directory).arg("linux-source-6.1");
        assert!(tar.status().unwrap().success());
        let package = directory.join("source.deb");
        let mut build = Command::new("dpkg-deb");
        build.args(["--root-owner-group", "--build"]);
        build.arg(&tree).arg(&package).stdout(Stdio::null());
        assert!(build.status().unwrap().success());
        package
    }

    #[test]
    fn unpacks_only_the_requested_directories() {
        let directory = tempfile::tempdir().unwrap();
        let files = ["fs/ufs/super.c", "fs/ntfs3/lib/x.c", "fs/ext4/super.c"];
        let package = package(directory.path(), &files);
        let into = directory.path().join("out");
        let wanted = ["fs/ufs", "fs/ntfs3", "fs/reiserfs"];
        unpack(&package, &wanted, &into, &ProcessRunner::default()).unwrap();
        for (file, there) in files.iter().zip([true, true, false]) {
            assert_eq!(into.join(file).exists(), there, "{file}");
        }
        assert!(!into.join("fs/reiserfs").exists());
    }

    #[test]
    fn reports_an_invalid_source_package() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("x.deb");
        fs::write(&file, "no package").unwrap();
        let into = directory.path().join("out");
        let error = unpack(&file, &["fs/ufs"], &into, &ProcessRunner::default()).unwrap_err();
        assert!(error.to_string().contains("cannot be unpacked"), "{error}");
    }
}
