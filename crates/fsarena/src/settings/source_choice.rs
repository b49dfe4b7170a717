//! The disk to copy from (`--source`), and the files that tests copy from it.

use std::path::Path;

use backend::source::needs_source;
use config::Catalog;
use model::wire::machine::SourceScan;
use model::{BackendKind, Bytes, CacheState, Contender, CopySource, Suite};
use storage::HostInfo;

use crate::output::exit::{EnvironmentError, UsageError};
use crate::paths;
use crate::settings::contenders::ContenderSelection;

/// Filesystem of a second image.
const FILESYSTEM: &str = "ext4";

/// Destination of the files of a source, which determines the usable sources.
pub struct CopyDestination<'a> {
    /// Backend of its contenders.
    pub backend: BackendKind,
    /// Size of an image, or of a guest's disk.
    pub size: Bytes,
    /// Contenders that the files are copied to.
    pub contenders: &'a [Contender],
    /// Device used instead of an image.
    pub device: Option<&'a Path>,
    /// Directory for images.
    pub work_dir: &'a Path,
    /// This machine and the contents of its guest.
    pub machine: &'a HostInfo,
    /// Surveys a source of the user.
    pub survey: &'a dyn Fn(SourceScan) -> anyhow::Result<CopySource>,
}

/// Returns the requested source with a survey of its contents. Tests that copy in copy these
/// contents, and start with cold caches.
pub fn choose(
    wanted: &Path,
    suites: &mut [Suite],
    setting: &CopyDestination<'_>,
    catalog: &Catalog,
) -> anyhow::Result<CopySource> {
    let copying = || suites.iter().flat_map(|s| &s.tests).filter(|t| needs_source(t));
    if copying().next().is_none() {
        return Err(UsageError(
            "--source: no test of these suites copies from it; choose one that does (-s tree, -s large-file)".into(),
        )
        .into());
    }
    let source = if wanted == Path::new(CopySource::IMAGE) {
        image(model::source_image_size(copying()), setting, catalog)?
    } else {
        of_user(wanted, setting)?
    };
    for test in suites.iter_mut().flat_map(|s| &mut s.tests) {
        if let Some(contents) = source.contents() {
            contents.resolve_in(test);
        }
        let copying = test.phases.iter_mut().filter(|p| p.op.copies_from_source());
        copying.for_each(|phase| phase.cache = CacheState::Cold);
    }
    Ok(source)
}

/// Returns a second image or, in a guest, a second disk of the same size as the first.
fn image(
    size: Bytes,
    setting: &CopyDestination<'_>,
    catalog: &Catalog,
) -> anyhow::Result<CopySource> {
    if setting.backend == BackendKind::Vm && size > setting.size {
        return Err(UsageError(format!(
            "--source image: what is copied from it needs a disk of {size}, and a guest's have {}: give a larger --size",
            setting.size
        ))
        .into());
    }
    let contender = catalog.contender(FILESYSTEM)?;
    let choice = ContenderSelection { catalog, backend: setting.backend, machine: setting.machine };
    if let Some(missing) = choice.missing(&contender.filesystem) {
        return Err(EnvironmentError(format!(
            "--source image is made with {FILESYSTEM}, which cannot run here: {missing}"
        ))
        .into());
    }
    Ok(CopySource::Image { size, contender: Box::new(contender) })
}

/// Returns a directory, a device or an image file of the user, surveyed by the machine that copies
/// from it.
fn of_user(wanted: &Path, setting: &CopyDestination<'_>) -> anyhow::Result<CopySource> {
    paths::require_utf8("--source", wanted)?;
    let competing = setting.contenders.iter();
    let competing = competing.filter_map(|c| c.directory.clone());
    (setting.survey)(SourceScan {
        source: wanted.to_owned(),
        backend: setting.backend,
        device: setting.device.map(Path::to_owned),
        in_use: competing.chain([setting.work_dir.to_owned()]).collect(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::atomic::AtomicBool;

    use backend::source::condition;
    use model::{Phase, SizeProfile};

    use super::*;

    fn suites(catalog: &Catalog) -> Vec<Suite> {
        let suite = |name| catalog.suite(name, SizeProfile::Smoke).unwrap().clone();
        ["tree", "large-file"].map(suite).into()
    }

    fn chosen(wanted: &Path, suites: &mut [Suite], work_dir: &Path) -> anyhow::Result<CopySource> {
        let setting = CopyDestination {
            backend: BackendKind::Loop,
            size: Bytes::mib(384),
            contenders: &[],
            device: None,
            work_dir,
            machine: &HostInfo::inspect(),
            survey: &|survey| backend::source::survey(&survey, &AtomicBool::new(false)),
        };
        choose(wanted, suites, &setting, &Catalog::builtin().unwrap())
    }

    /// Creates a directory to copy from and one to work in.
    fn places() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let both = tempfile::tempdir().unwrap();
        let [source, work] = ["source", "work"].map(|name| both.path().join(name));
        fs::create_dir(&source).unwrap();
        fs::create_dir(&work).unwrap();
        fs::write(source.join("file"), [1; 70_000]).unwrap();
        fs::write(source.join("small"), [1; 10]).unwrap();
        (both, source, work)
    }

    fn of_op<'a>(suites: &'a [Suite], name: &str) -> &'a Phase {
        let phases = suites.iter().flat_map(|s| &s.tests).flat_map(|t| &t.phases);
        phases.into_iter().find(|p| p.name == name).unwrap()
    }

    #[test]
    fn copying_tests_copy_the_source_with_cold_caches() {
        let catalog = Catalog::builtin().unwrap();
        let (_both, path, work) = places();
        let mut suites = suites(&catalog);
        assert_eq!(of_op(&suites, "tree-in").cache, CacheState::Warm);
        let source = chosen(&path, &mut suites, &work).unwrap();
        assert_eq!(source.contents().unwrap().files, 2);
        let (tree, file) = (of_op(&suites, "tree-in"), of_op(&suites, "copy-in"));
        assert_eq!((tree.cache, file.cache), (CacheState::Cold, CacheState::Cold));
        assert!(matches!(
            tree.op,
            model::Op::CopyTreeIn(model::CopyTreeIn {
                spec: model::TreeSpec { files: 2, bytes: Bytes(70_010), .. },
                ..
            })
        ));
        assert!(matches!(
            file.op,
            model::Op::CopyFileIn(model::CopyFileIn { size: Bytes(70_000), .. })
        ));
        assert_eq!(of_op(&suites, "prepare-file").cache, CacheState::Warm);
        let said = condition(&source, "a disk").value;
        assert!(said.ends_with("2 files in 0 directories, 68.4 KiB (a disk)"), "{said}");
    }

    #[test]
    fn a_source_in_which_cells_work_is_refused() {
        let catalog = Catalog::builtin().unwrap();
        let (both, path, work) = places();
        for (wanted, work) in [(both.path(), &work), (&path, &path.join("below"))] {
            let error = chosen(wanted, &mut suites(&catalog), work).unwrap_err().to_string();
            assert!(error.contains("overlap"), "{error}");
        }
    }
}
