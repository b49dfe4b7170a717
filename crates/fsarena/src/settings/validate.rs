//! Rejects settings that cannot work, or would not do what the user expects. Each error is one line
//! with a hint.

use std::collections::BTreeSet;
use std::path::Path;

use config::{GUESTS, Settings};
use model::{
    BackendKind, Bytes, Campaign, Contender, CopySource, Nanos, Phase, ResultSelector, Suite, Test,
};

use crate::args::run_args::RunArgs;
use crate::output::exit::UsageError;

/// Minimum stall timeout. With less, a cell counts as hung before the agent sends its first
/// message.
const SHORTEST_STALL_TIMEOUT: Nanos = Nanos::from_secs(1);
/// Minimum memory of a cell. The agent itself does not fit into less.
const MIN_MEMORY: Bytes = Bytes::mib(8);

/// Refuses options that contradict each other or the backend.
///
/// # Errors
/// Returns the first refusal.
pub fn validate(
    args: &RunArgs,
    settings: &Settings,
    backend: BackendKind,
    size: Bytes,
) -> Result<(), UsageError> {
    let (in_directories, in_guests) = (backend == BackendKind::Dir, backend == BackendKind::Vm);
    let has_directories = !settings.directories.is_empty();
    // Filesystems and devices that the user names would be ignored in mounted directories.
    let ignored = |given: bool, option: &str| {
        (in_directories && given)
            .then(|| format!("{option} does not apply to mounted directories; remove one of them"))
    };
    let refusals = [
        (in_directories && !has_directories)
            .then(|| "the dir backend compares mounted directories: give --dir".to_owned()),
        (!in_directories && has_directories)
            .then(|| format!("--dir belongs to the dir backend, not to {backend}")),
        ignored(!args.settings.contenders.is_empty(), "--contender"),
        ignored(args.settings.storage.device.is_some(), "--device"),
        ignored(args.settings.size.is_some(), "--size"),
        (args.host.is_some() && in_guests).then(|| {
            "--host and --backend vm: guests run on this machine; leave one of both out".to_owned()
        }),
        args.host.as_ref().and_then(|_| relative_path(settings)).map(|(option, path)| {
            let path = path.display();
            format!("{option} {path} with --host: give an absolute path on that machine")
        }),
        too_small(size, backend),
        settings.source.as_deref().and_then(|source| unreachable_source(source, backend)),
        guest_only_option(args, settings).filter(|_| !in_guests).map(|option| {
            format!("{option} is for guests: it means nothing on the {backend} backend, only with --backend vm")
        }),
    ];
    match refusals.into_iter().flatten().next() {
        Some(why) => Err(UsageError(why)),
        None => Ok(()),
    }
}

/// Returns the reason why a size is too small for any disk, most likely because its unit is missing.
fn too_small(size: Bytes, backend: BackendKind) -> Option<String> {
    let (least, why) = match backend {
        BackendKind::Vm => (Bytes::mib(1), "a guest's disk has"),
        BackendKind::Loop => (Bytes::kib(64), "a filesystem needs"),
        // A mounted filesystem has its size already.
        BackendKind::Dir | BackendKind::Imported => return None,
    };
    (size < least).then(|| {
        format!("--size {size} is too little: {why} {least} at least; give a larger --size, such as 512MiB")
    })
}

/// Returns the first relative path, which would refer to this machine.
fn relative_path(settings: &Settings) -> Option<(&'static str, &Path)> {
    let source = settings.source.as_deref().filter(|path| *path != Path::new(CopySource::IMAGE));
    let directories = settings.directories.iter().map(|d| ("--dir", d.path.as_path()));
    directories
        .chain(source.map(|path| ("--source", path)))
        .chain(settings.storage.device.as_deref().map(|path| ("--device", path)))
        .find(|(_, path)| path.is_relative())
}

/// Returns the reason why no backend of this kind can copy from a source.
fn unreachable_source(source: &Path, backend: BackendKind) -> Option<String> {
    let reason = match (backend, source == Path::new(CopySource::IMAGE)) {
        (BackendKind::Dir, true) => "is for images and guests: give a directory on another disk",
        (BackendKind::Vm, false) => {
            "is not visible in a guest, which has separate disks: use --source image"
        }
        _ => return None,
    };
    Some(format!("--source {} {reason}", source.display()))
}

/// Returns the first given option that only guests support.
fn guest_only_option(args: &RunArgs, settings: &Settings) -> Option<String> {
    let build = &args.execution.build;
    let of_run = [
        ("--machine", args.machine.is_some()),
        ("--jobs", args.execution.jobs.is_some()),
        ("--no-cache", args.execution.no_cache),
        ("--cache-size", args.execution.cache_size.is_some()),
        ("--mirror", build.mirror.is_some()),
        ("--with", !build.with.is_empty()),
        ("--guest-kernel", !build.guest_kernel.is_empty()),
        ("--kernel", build.kernel.is_some()),
        ("--rootfs", build.rootfs.is_some()),
    ];
    let of_run = of_run.into_iter().filter(|(_, given)| *given);
    let of_campaign = settings.given().into_iter().filter(|option| option.heading == GUESTS);
    of_campaign
        .map(|option| option.flag())
        .chain(of_run.map(|(option, _)| option.to_owned()))
        .next()
}

/// Returns an error if a contender has options that make filesystem errors panic the kernel. In a
/// guest they are harmless.
pub fn reject_panic_options(contender: &Contender) -> Result<(), UsageError> {
    const PANICS: [&str; 2] = ["errors=panic", "fatal_errors=panic"];
    let mut mount_options = contender.mount_options.iter();
    let of_mount = mount_options.find(|option| PANICS.contains(&option.as_str()));
    // mke2fs accepts it as a separate argument (`-e panic`) and after other letters (`-vepanic`).
    let mut mkfs_options = contender.mkfs_options.iter();
    let of_mkfs = mkfs_options.find(|option| option.to_lowercase().contains("panic"));
    let (of, option) = match (of_mount, of_mkfs) {
        (Some(option), _) => ("mount", option),
        (None, Some(option)) => ("mkfs", option),
        (None, None) => return Ok(()),
    };
    Err(UsageError(format!(
        "{of} option `{option}` is refused: an error of the filesystem would end this machine; in a guest \
         (--backend vm) it may"
    )))
}

/// Returns an error if a limit is so small that every cell would fail, which would be attributed to
/// the filesystem.
pub fn reject_small_limits(memory: Option<Bytes>, stall_timeout: Nanos) -> Result<(), UsageError> {
    let complaint = match memory {
        Some(memory) if memory < MIN_MEMORY => {
            format!(
                "memory of {memory} is too little (--memory); a cell needs {MIN_MEMORY} at least"
            )
        }
        _ if stall_timeout < SHORTEST_STALL_TIMEOUT => {
            format!(
                "--stall-timeout {stall_timeout} is too short; give {SHORTEST_STALL_TIMEOUT} at least"
            )
        }
        _ => return Ok(()),
    };
    Err(UsageError(complaint))
}

/// Rejects a campaign with too many cells to plan.
pub fn reject_too_many_cells(campaign: &Campaign) -> Result<(), UsageError> {
    let cells = campaign::plan::max_cells(campaign);
    if cells.is_some_and(|cells| cells <= campaign::plan::MAX_CELLS) {
        return Ok(());
    }
    let count = cells.map_or_else(|| "more than 2^64".to_owned(), |cells| cells.to_string());
    let tests: usize = campaign.suites.iter().map(|s| s.tests.len()).sum();
    Err(UsageError(format!(
        "{count} cells are too many, {} at most: {} contenders × {tests} tests × {} rounds; take fewer of them \
         (-c, -s, --rounds, --max-rounds), or a smaller --profile, in which sweeps have fewer points",
        campaign::plan::MAX_CELLS,
        campaign.contenders.len(),
        campaign::plan::max_rounds(campaign),
    )))
}

/// Returns an error if `--only` names a result that no test has.
pub fn reject_unmatched_only<'a>(
    only: &[ResultSelector],
    suites: impl IntoIterator<Item = &'a Suite>,
) -> Result<(), UsageError> {
    let tests = suites.into_iter().flat_map(|suite| &suite.tests);
    let results: Vec<(&Test, &Phase)> =
        tests.flat_map(|test| test.phases.iter().map(move |phase| (test, phase))).collect();
    let is_known = |wanted: &&ResultSelector| {
        let text = wanted.to_string();
        let named = text.split(['/', ':']).nth(1).unwrap_or_default();
        results.iter().any(|(test, phase)| {
            let sweep = test.sweep.as_ref().map(|point| point.sweep.as_str());
            // The role of a mix is a part of the name: `mix.deliver`.
            let role = named.strip_prefix(phase.name.as_str());
            let is_role = role.is_some_and(|role| role.starts_with('.'));
            wanted.matches(test, phase)
                || (is_role && wanted.matches_phase(&test.name, sweep, named))
        })
    };
    let Some(unknown) = only.iter().find(|wanted| !is_known(wanted)) else {
        return Ok(());
    };
    let example = results.first().map_or_else(String::new, |(test, phase)| {
        format!("; name a result such as {}/{}", test.name, phase.name)
    });
    Err(UsageError(format!(
        "cannot compare --only {unknown}: the campaign has no such result{example}"
    )))
}

/// Returns an error if a name occurs twice. Equal names would be indistinguishable in tables.
pub fn reject_duplicates<'a>(
    what: &str,
    mut names: impl Iterator<Item = &'a String>,
) -> Result<(), UsageError> {
    let mut seen = BTreeSet::new();
    match names.find(|name| !seen.insert(*name)) {
        Some(double) => {
            Err(UsageError(format!("the {what} `{double}` is named twice; remove one of them")))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_result_is_refused_with_an_example() {
        let catalog = config::Catalog::builtin().unwrap();
        let suites = [catalog.suite("metadata", model::SizeProfile::Smoke).unwrap().clone()];
        let test = &suites[0].tests[0];
        let known = format!("{}/{}", test.name, test.phases[0].name);
        let refused = |only: &str| reject_unmatched_only(&[only.parse().unwrap()], &suites);
        assert!(refused(&known).is_ok() && refused("*/*").is_ok());
        assert!(refused(&format!("{known}.role")).is_ok());
        let told = refused("foo/bar").unwrap_err().0;
        let expected = "cannot compare --only foo/bar: the campaign has no such result; name a result such as ";
        assert_eq!(told, format!("{expected}{known}"));
    }

    #[test]
    fn a_size_without_its_unit_is_refused() {
        let told = "--size 1 B is too little: a filesystem needs 64 KiB at least; give a larger --size, such as 512MiB";
        assert_eq!(too_small(Bytes(1), BackendKind::Loop).unwrap(), told);
        let told = too_small(Bytes::kib(64), BackendKind::Vm).unwrap();
        assert!(told.contains("1 MiB at least"), "{told}");
        assert_eq!(too_small(Bytes::kib(880), BackendKind::Loop), None);
        assert_eq!(too_small(Bytes(1), BackendKind::Dir), None);
    }

    #[test]
    fn unreachable_sources_are_refused_with_a_hint() {
        let refused = |wanted: &str, backend| unreachable_source(Path::new(wanted), backend);
        assert!(refused("/srv", BackendKind::Vm).unwrap().contains("--source image"));
        assert!(refused("image", BackendKind::Dir).unwrap().contains("a directory"));
        for (wanted, backend) in [("/srv", BackendKind::Dir), ("image", BackendKind::Vm)] {
            assert_eq!(refused(wanted, backend), None);
        }
    }

    #[test]
    fn options_only_for_guests_are_detected() {
        let detected = |settings: &Settings| guest_only_option(&RunArgs::default(), settings);
        let settings = Settings { disks: vec![2], ..Settings::default() };
        assert_eq!(detected(&settings), None, "images are several, too");
        let settings = Settings { processors: Some(2), ..Settings::default() };
        assert_eq!(detected(&settings), Some("--processors".to_owned()));
        let mut args = RunArgs::default();
        args.execution.build.rootfs = Some("/srv".into());
        let settings = Settings::default();
        assert_eq!(guest_only_option(&args, &settings), Some("--rootfs".to_owned()));
    }
}
