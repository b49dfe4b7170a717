//! What stands behind `@` in a contender: `ext4@sata-ssd`, `zfs@disks=4`, `jfs@memory=64MiB`.

use model::{Bytes, GuestMachine, OwnSetting};

use crate::Catalog;

/// Reads the settings of a contender's own, separated by commas. A word is the model of its disks.
pub(crate) fn read(text: &str, catalog: &Catalog) -> Result<OwnSetting, String> {
    let mut own = OwnSetting::default();
    for word in text.split(',') {
        let taken = match word.split_once('=') {
            Some(("memory", size)) => own.memory.replace(memory(size)?).is_some(),
            Some(("disks", count)) => own.disks.replace(disks(count)?).is_some(),
            Some((key, _)) => {
                return Err(format!(
                    "`@{key}=` is nothing that a contender can have of its own: `disks=N`, `memory=SIZE`, or the \
                     name of a disk"
                ));
            }
            None => {
                let disk = catalog.disk(word).map_err(|error| error.to_string())?;
                own.disk.replace(disk.clone()).is_some()
            }
        };
        if taken {
            return Err(format!("`@{text}` says the same thing twice"));
        }
    }
    Ok(own)
}

fn memory(text: &str) -> Result<Bytes, String> {
    let size = text.parse::<Bytes>().ok().filter(|size| size.0 > 0);
    size.ok_or_else(|| format!("`memory={text}`: expected a size such as 64MiB"))
}

fn disks(text: &str) -> Result<u32, String> {
    let most = GuestMachine::MOST_DISKS;
    let count = text.parse().ok().filter(|count| (1..=most).contains(count));
    count.ok_or_else(|| format!("`disks={text}`: expected a whole number from 1 to {most}"))
}
