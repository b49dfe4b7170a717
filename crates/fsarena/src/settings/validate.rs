//! Rejects settings that cannot work, or would not do what the user expects. Each error is one line
//! with a hint.

use std::collections::BTreeSet;
use std::path::Path;

use config::{DirectoryContender, Settings};
use model::{
    BackendKind, Bytes, Campaign, Contender, CopySource, Nanos, Phase, ResultSelector, Suite, Test,
};

use crate::args::run_args::RunArgs;
use crate::output::exit::UsageError;
use crate::settings::guest::GuestSettings;

/// Minimum stall timeout. With less, a cell counts as hung before the agent sends its first
/// message.
const SHORTEST_STALL_TIMEOUT: Nanos = Nanos::from_secs(1);
/// Minimum memory of a cell. The agent itself does not fit into less.
const MIN_MEMORY: Bytes = Bytes::mib(8);

/// Returns an error if a size is too small for any disk, most likely because its unit is missing.
pub fn reject_tiny_size(size: Bytes, backend: BackendKind) -> Result<(), UsageError> {
    let (least, why) = match backend {
        BackendKind::Vm => (Bytes::mib(1), "a guest's disk has"),
        BackendKind::Loop => (Bytes::kib(64), "a filesystem needs"),
        // A mounted filesystem has its size already.
        BackendKind::Dir | BackendKind::Imported => return Ok(()),
    };
    match size < least {
        true => Err(UsageError(format!(
            "--size {size} is too little: {why} {least} at least; give a larger --size, such as 512MiB"
        ))),
        false => Ok(()),
    }
}

/// Rejects options for filesystems or devices in a comparison of directories, because they would be
/// ignored.
pub fn reject_options_with_dir(args: &RunArgs) -> Result<(), UsageError> {
    let ignored = [
        ("--contender", !args.contenders.is_empty()),
        ("--device", args.storage.device.is_some()),
        ("--size", args.size.is_some()),
    ];
    match ignored.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(UsageError(format!(
            "{option} does not apply to mounted directories; remove one of them"
        ))),
        None => Ok(()),
    }
}

/// Returns an error if --host is combined with guests or with relative paths, which refer to this
/// machine.
pub fn reject_local_paths(
    args: &RunArgs,
    file: &Settings,
    backend: BackendKind,
    directories: &[DirectoryContender],
) -> Result<(), UsageError> {
    if backend == BackendKind::Vm {
        return Err(UsageError(
            "--host and --backend vm: guests run on this machine; leave one of both out".into(),
        ));
    }
    let source = args.source.as_ref().or(file.source.as_ref());
    let source = source.filter(|source| *source != Path::new(CopySource::IMAGE));
    let device = args.storage.device.as_ref().or(file.device.as_ref());
    let directories = directories.iter().map(|d| ("--dir", &d.path));
    let mut paths = directories
        .chain(source.map(|path| ("--source", path)))
        .chain(device.map(|path| ("--device", path)));
    match paths.find(|(_, path)| path.is_relative()) {
        Some((option, path)) => Err(UsageError(format!(
            "{option} {} with --host: give an absolute path on that machine",
            path.display()
        ))),
        None => Ok(()),
    }
}

/// Rejects options that describe a guest on other backends.
pub fn reject_guest_only_options(
    wishes: &GuestSettings,
    backend: BackendKind,
) -> Result<(), UsageError> {
    match wishes.first_guest_only_option() {
        Some(option) if backend != BackendKind::Vm => Err(UsageError(format!(
            "{option} is for guests: it means nothing on the {backend} backend, only with --backend vm"
        ))),
        _ => Ok(()),
    }
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
        let refused = |size, backend| reject_tiny_size(size, backend).unwrap_err().0;
        let told = "--size 1 B is too little: a filesystem needs 64 KiB at least; give a larger --size, such as 512MiB";
        assert_eq!(refused(Bytes(1), BackendKind::Loop), told);
        assert!(refused(Bytes::kib(64), BackendKind::Vm).contains("1 MiB at least"));
        assert!(reject_tiny_size(Bytes::kib(880), BackendKind::Loop).is_ok());
        assert!(reject_tiny_size(Bytes(1), BackendKind::Dir).is_ok());
    }
}
