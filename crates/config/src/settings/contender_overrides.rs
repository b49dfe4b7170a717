//! Settings after `@` in a contender: `ext4@sata-ssd`, `zfs@disks=4`, `jfs@memory=64MiB`,
//! `xfs@age=agrawal,fill=80%`.

use model::{AgeingSpec, Bytes, ContenderOverrides, GuestConfig, PerMille};

use crate::Catalog;

/// Reads the comma-separated settings of a contender. A word without `=` is a disk model.
pub(crate) fn read(text: &str, catalog: &Catalog) -> Result<ContenderOverrides, String> {
    let mut own = ContenderOverrides::default();
    let mut age = AgeSpecText::default();
    for word in text.split(',') {
        let taken = match word.split_once('=') {
            Some(("memory", size)) => own.memory.replace(memory(size)?).is_some(),
            Some(("disks", count)) => own.disks.replace(disks(count)?).is_some(),
            Some(("age", name)) => age.profile.replace(name).is_some(),
            Some(("fill", text)) => age.fill.replace(AgeingSpec::parse_fill(text)?).is_some(),
            Some(("operations", text)) => age.operations.replace(operations(text)?).is_some(),
            Some(("layout", text)) => age.layout.replace(text.parse()?).is_some(),
            Some((key, _)) => {
                return Err(format!(
                    "`@{key}=` is not a setting of a contender; use `disks=N`, `memory=SIZE`, `age=PROFILE` with `fill=PERCENT`, `operations=N` and `layout=PERCENT`, or the name of a disk"
                ));
            }
            None => {
                let disk = catalog.disk(word).map_err(|error| error.to_string())?;
                own.disk.replace(disk.clone()).is_some()
            }
        };
        if taken {
            return Err(format!("`@{text}` has a duplicate setting"));
        }
    }
    own.age = age.together(catalog)?;
    Ok(own)
}

/// The settings of an age.
#[derive(Default)]
struct AgeSpecText<'a> {
    profile: Option<&'a str>,
    fill: Option<PerMille>,
    operations: Option<u64>,
    layout: Option<PerMille>,
}

impl AgeSpecText<'_> {
    fn together(self, catalog: &Catalog) -> Result<Option<AgeingSpec>, String> {
        let Some(name) = self.profile else {
            let more = [
                ("fill", self.fill.is_some()),
                ("operations", self.operations.is_some()),
                ("layout", self.layout.is_some()),
            ];
            return match more.into_iter().find(|(_, given)| *given) {
                Some((word, _)) => {
                    Err(format!("`{word}=` needs an age profile; add `age=PROFILE`"))
                }
                None => Ok(None),
            };
        };
        let profile = catalog.age(name).map_err(|error| error.to_string())?;
        Ok(Some(AgeingSpec {
            profile: profile.clone(),
            fill: self.fill.unwrap_or(AgeingSpec::FILL),
            operations: self.operations,
            layout: self.layout,
        }))
    }
}

fn operations(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`operations={text}`: expected a whole number"))
}

fn memory(text: &str) -> Result<Bytes, String> {
    let size = text.parse::<Bytes>().ok().filter(|size| size.0 > 0);
    size.ok_or_else(|| format!("`memory={text}`: expected a size such as 64MiB"))
}

fn disks(text: &str) -> Result<u32, String> {
    let most = GuestConfig::MAX_DISKS;
    let count = text.parse().ok().filter(|count| (1..=most).contains(count));
    count.ok_or_else(|| format!("`disks={text}`: expected a whole number from 1 to {most}"))
}
