//! What cannot be run, or would not be what its user expects: refused in one line that says what to do.

use std::collections::BTreeSet;
use std::path::Path;

use catalog::{CampaignFile, Directory};
use model::{Backend, Bytes, Campaign, Contender, Nanos, Source};

use crate::arguments::run_args::RunArgs;
use crate::output::exit::BadInput;
use crate::request::guest_request::Wishes;

/// With less, a cell is hung before the agent can say its first word.
const SHORTEST_STALL_TIMEOUT: Nanos = Nanos::from_secs(1);
/// With less, the agent itself finds no room.
const LEAST_MEMORY: Bytes = Bytes::mib(8);

/// A size that no disk has: most likely its unit was forgotten.
pub fn refuse_no_disk(size: Bytes, backend: Backend) -> Result<(), BadInput> {
    let (least, why) = match backend {
        Backend::Vm => (Bytes::mib(1), "a guest's disk has"),
        Backend::Loop => (Bytes::kib(64), "a filesystem needs"),
        // What is mounted has its size.
        Backend::Dir | Backend::Elsewhere => return Ok(()),
    };
    match size < least {
        true => Err(BadInput(format!(
            "--size {size} is too little: {why} {least} at least; give a larger --size, such as 512MiB"
        ))),
        false => Ok(()),
    }
}

/// Whoever names a filesystem or a device beside directories expects it to be compared.
pub fn refuse_what_directories_ignore(args: &RunArgs) -> Result<(), BadInput> {
    let ignored = [
        ("--contender", !args.contenders.is_empty()),
        ("--device", args.storage.device.is_some()),
        ("--size", args.size.is_some()),
    ];
    match ignored.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(BadInput(format!(
            "{option} means nothing for mounted directories; leave it or them out"
        ))),
        None => Ok(()),
    }
}

/// Guests run here, and a relative path means something here.
pub fn refuse_what_is_here(
    args: &RunArgs,
    file: &CampaignFile,
    backend: Backend,
    directories: &[Directory],
) -> Result<(), BadInput> {
    if backend == Backend::Vm {
        return Err(BadInput(
            "--host and --backend vm: guests run on this machine; leave one of both out".into(),
        ));
    }
    let source = args.source.as_ref().or(file.source.as_ref());
    let source = source.filter(|source| *source != Path::new(Source::IMAGE));
    let device = args.storage.device.as_ref().or(file.device.as_ref());
    let directories = directories.iter().map(|d| ("--dir", &d.path));
    let mut paths = directories
        .chain(source.map(|path| ("--source", path)))
        .chain(device.map(|path| ("--device", path)));
    match paths.find(|(_, path)| path.is_relative()) {
        Some((option, path)) => Err(BadInput(format!(
            "{option} {} with --host: give an absolute path on that machine",
            path.display()
        ))),
        None => Ok(()),
    }
}

/// Whoever says what machine a guest is expects one.
pub fn refuse_what_only_guests_grant(wishes: &Wishes, backend: Backend) -> Result<(), BadInput> {
    match wishes.only_for_guests() {
        Some(option) if backend != Backend::Vm => Err(BadInput(format!(
            "{option} is for guests: it means nothing on the {backend} backend, only with --backend vm"
        ))),
        _ => Ok(()),
    }
}

/// With these, an error of a filesystem stops the whole kernel, which is well in a guest.
pub fn refuse_what_ends_the_machine(contender: &Contender) -> Result<(), BadInput> {
    const PANICS: [&str; 2] = ["errors=panic", "fatal_errors=panic"];
    let mut mount_options = contender.mount_options.iter();
    let of_mount = mount_options.find(|option| PANICS.contains(&option.as_str()));
    // mke2fs takes it as a word of its own (`-e panic`) and behind letters (`-vepanic`).
    let mut mkfs_options = contender.mkfs_options.iter();
    let of_mkfs = mkfs_options.find(|option| option.to_lowercase().contains("panic"));
    let (of, option) = match (of_mount, of_mkfs) {
        (Some(option), _) => ("mount", option),
        (None, Some(option)) => ("mkfs", option),
        (None, None) => return Ok(()),
    };
    Err(BadInput(format!(
        "{of} option `{option}` is refused: an error of the filesystem would end this machine; in a guest \
         (--backend vm) it may"
    )))
}

/// Every cell would die of these, and the filesystem would be blamed.
pub fn refuse_too_little(memory: Option<Bytes>, stall_timeout: Nanos) -> Result<(), BadInput> {
    let complaint = match memory {
        Some(memory) if memory < LEAST_MEMORY => {
            format!(
                "memory of {memory} is too little (--memory); a cell needs {LEAST_MEMORY} at least"
            )
        }
        _ if stall_timeout < SHORTEST_STALL_TIMEOUT => {
            format!(
                "--stall-timeout {stall_timeout} is too short; give {SHORTEST_STALL_TIMEOUT} at least"
            )
        }
        _ => return Ok(()),
    };
    Err(BadInput(complaint))
}

/// Refuses what would be planned for longer than anybody waits.
pub fn refuse_too_many_cells(campaign: &Campaign) -> Result<(), BadInput> {
    let cells = plan::most_cells(campaign);
    if cells.is_some_and(|cells| cells <= plan::MOST_CELLS) {
        return Ok(());
    }
    let count = cells.map_or_else(|| "more than 2^64".to_owned(), |cells| cells.to_string());
    let tests: usize = campaign.suites.iter().map(|s| s.tests.len()).sum();
    Err(BadInput(format!(
        "{count} cells are too many, {} at most: {} contenders × {tests} tests × {} rounds; take fewer of them \
         (-c, -s, --rounds, --max-rounds), or a smaller --profile, in which sweeps have fewer points",
        plan::MOST_CELLS,
        campaign.contenders.len(),
        plan::most_rounds(campaign),
    )))
}

/// Two of one name would look the same in every table.
pub fn refuse_doubles<'a>(
    what: &str,
    mut names: impl Iterator<Item = &'a String>,
) -> Result<(), BadInput> {
    let mut seen = BTreeSet::new();
    match names.find(|name| !seen.insert(*name)) {
        Some(double) => Err(BadInput(format!("the {what} `{double}` is named twice"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_without_its_unit_is_refused() {
        let refused = |size, backend| refuse_no_disk(size, backend).unwrap_err().0;
        let told = "--size 1 B is too little: a filesystem needs 64 KiB at least; give a larger --size, such as 512MiB";
        assert_eq!(refused(Bytes(1), Backend::Loop), told);
        assert!(refused(Bytes::kib(64), Backend::Vm).contains("1 MiB at least"));
        assert!(refuse_no_disk(Bytes::kib(880), Backend::Loop).is_ok());
        assert!(refuse_no_disk(Bytes(1), Backend::Dir).is_ok());
    }
}
