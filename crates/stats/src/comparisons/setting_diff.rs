//! Finds differences in the settings of two campaigns or contenders: machine, system, sizes,
//! options.

use std::collections::BTreeSet;
use std::fmt;

use model::{CampaignResults, Contender, Environment};
use serde::Serialize;

/// Why two campaigns cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IncomparableCampaigns {
    /// The times are in different clocks.
    Clocks(String, String),
    /// The contenders use different backends.
    Backends(String, String),
    /// No contender has this name.
    NoContender {
        /// The unknown name.
        name: String,
        /// Names of the contenders.
        known: Vec<String>,
    },
    /// The campaigns have no result in common.
    NoCommonResults,
    /// No host ran both contenders.
    NoHostRanBoth(String, String),
}

impl fmt::Display for IncomparableCampaigns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clocks(a, b) => write!(f, "cannot compare {a} with {b}"),
            Self::Backends(a, b) => {
                write!(f, "cannot compare backend {a} with {b}; name campaigns of one backend")
            }
            Self::NoContender { name, known } => {
                let known = known.join(", ");
                write!(f, "there is no contender `{name}` to compare; contenders: {known}")
            }
            Self::NoHostRanBoth(a, b) => write!(
                f,
                "no host has run both {a} and {b}: what differs may be the hosts; run both on each (`fsarena run --hosts`)"
            ),
            Self::NoCommonResults => f.write_str(
                "they have no result in common: same contender, same test of the same size, same metric",
            ),
        }
    }
}

impl std::error::Error for IncomparableCampaigns {}

/// A setting that differs between two campaigns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingChange {
    /// Name of the setting: `kernel`, `mount options of ext4`.
    #[serde(rename = "what")]
    pub setting: String,
    /// Before.
    pub before: String,
    /// After.
    pub after: String,
}

/// Pairs of a setting name and its value.
type Facts = Vec<(String, String)>;

/// Returns an error if the clocks or the backends differ.
pub(crate) fn check_comparable(
    before: &CampaignResults,
    after: &CampaignResults,
) -> Result<(), IncomparableCampaigns> {
    let (old, new) = (clock(before), clock(after));
    if old != new {
        return Err(IncomparableCampaigns::Clocks(old, new));
    }
    let (old, new) = (before.campaign.backend, after.campaign.backend);
    if old != new {
        return Err(IncomparableCampaigns::Backends(old.to_string(), new.to_string()));
    }
    Ok(())
}

/// Returns the name of a campaign's clock.
pub(crate) fn clock(results: &CampaignResults) -> String {
    results.campaign.clock.name().to_owned()
}

/// Returns the host that ran a campaign.
pub(crate) fn host(results: &CampaignResults) -> String {
    let host = results.campaign.host.clone();
    host.unwrap_or_else(|| "this machine".to_owned())
}

/// Returns recorded facts that differ between some hosts, with the value on each host.
pub(crate) fn host_differences(hosts: &[&Environment]) -> Vec<(String, Vec<String>)> {
    let facts: Vec<Facts> = hosts.iter().map(|host| of_environment(host)).collect();
    let mut seen = BTreeSet::new();
    let words = facts.iter().flatten().map(|(what, _)| what);
    let words = words.filter(|what| seen.insert(what.as_str()));
    let values = words.map(|what| {
        let value = |facts: &Facts| value(facts, what);
        (what.clone(), facts.iter().map(value).collect::<Vec<String>>())
    });
    values.filter(|(_, values)| values.iter().any(|value| *value != values[0])).collect()
}

/// Returns the settings that differ between two campaigns for the compared contenders.
pub(crate) fn campaign_differences(
    before: &CampaignResults,
    after: &CampaignResults,
    contenders: &[(usize, usize)],
) -> Vec<SettingChange> {
    let mut settings = different(&facts(before), &facts(after));
    for (old, new) in contenders {
        let of = |results: &CampaignResults, index: usize| {
            options(results, &results.campaign.contenders[index])
        };
        let name = &after.campaign.contenders[*new].name;
        let differ = different(&of(before, *old), &of(after, *new));
        settings.extend(differ.into_iter().map(|setting| SettingChange {
            setting: format!("{} of {name}", setting.setting),
            ..setting
        }));
    }
    settings
}

/// Whether two campaigns are known to differ only in their seed, so that they are sessions of one
/// campaign.
pub fn differ_only_by_seed(one: &CampaignResults, other: &CampaignResults) -> bool {
    let (a, b) = (&one.campaign, &other.campaign);
    let contenders: Vec<(usize, usize)> = (0..a.contenders.len()).map(|c| (c, c)).collect();
    check_comparable(one, other).is_ok()
        && a.suites == b.suites
        && a.contenders == b.contenders
        && campaign_differences(one, other, &contenders).iter().all(|setting| {
            match setting.setting.as_str() {
                "seed" => true,
                // A budget or a stopping rule adds rounds depending on the results.
                "rounds" => a.budget.is_some() || a.stopping_rule.is_some(),
                _ => false,
            }
        })
}

/// Whether two campaigns differ only in the machine, the seed and the number of rounds, so that
/// each is a block of a comparison over hosts.
pub fn differ_only_by_host(one: &CampaignResults, other: &CampaignResults) -> bool {
    let (a, b) = (&one.campaign, &other.campaign);
    check_comparable(one, other).is_ok()
        && (&a.suites, &a.contenders) == (&b.suites, &b.contenders)
        && (a.size, a.memory, a.profile) == (b.size, b.memory, b.profile)
}

/// Returns the settings that differ between two contenders of a campaign.
pub(crate) fn contender_differences(
    results: &CampaignResults,
    before: &Contender,
    after: &Contender,
) -> Vec<SettingChange> {
    different(&options(results, before), &options(results, after))
}

fn facts(results: &CampaignResults) -> Facts {
    let campaign = &results.campaign;
    let memory = campaign.memory.map_or_else(|| "all".to_owned(), |m| m.to_string());
    let device = campaign.device.as_ref();
    let empty = Environment::default();
    let environment = results.environments.last().unwrap_or(&empty);
    // Imported campaign: only the settings in the imported file are known.
    if campaign.measured_by.is_some() {
        return of_environment(environment);
    }
    let mut facts: Facts = [
        ("profile", campaign.profile.to_string()),
        ("rounds", campaign.rounds.to_string()),
        ("seed", campaign.seed.to_string()),
        ("size", format!("{:#}", campaign.size)),
        ("memory limit", memory),
        ("device", device.map_or_else(|| "image".to_owned(), |d| d.display().to_string())),
    ]
    .map(|(what, value)| (what.to_owned(), value))
    .into();
    let kinds = campaign.data_kinds();
    let kinds: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    facts.push(("data".to_owned(), kinds.join(", ")));
    facts.push(("host".to_owned(), host(results)));
    let machine = campaign.describe_guest();
    facts.extend(machine.map(|machine| ("machine of a guest".to_owned(), machine)));
    facts.extend(of_environment(environment));
    facts
}

fn of_environment(environment: &Environment) -> Facts {
    let mut facts: Facts = [
        ("fsarena", environment.program.clone()),
        ("kernel", environment.kernel.clone()),
        ("distribution", environment.distribution.clone()),
        ("processor", environment.cpu.clone()),
        ("processors", known(environment.cpus)),
        ("main memory", known(environment.memory)),
        ("put on", without_own_directory(&environment.device)),
        ("attached", environment.attachment.clone()),
    ]
    .map(|(what, value)| (what.to_owned(), value))
    .into();
    let conditions = environment.conditions.iter();
    facts.extend(conditions.map(|c| (c.name.clone(), c.value.clone())));
    let tools = environment.tools.iter();
    facts.extend(tools.map(|tool| (tool.program.clone(), tool.version.clone())));
    facts
}

/// Returns an empty text for 0, which means unknown.
fn known<T: Default + PartialEq + ToString>(number: T) -> String {
    match number == T::default() {
        true => String::new(),
        false => number.to_string(),
    }
}

/// Returns the path of an image without the per-campaign directory.
fn without_own_directory(device: &str) -> String {
    let is_own = |part: &&str| {
        let number = part.strip_prefix("fsarena-");
        !number.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    device.split('/').filter(is_own).collect::<Vec<_>>().join("/")
}

fn options(results: &CampaignResults, contender: &Contender) -> Facts {
    let filesystem = ("filesystem".to_owned(), contender.filesystem.name.clone());
    // The mkfs and mount options of another program are unknown.
    if results.campaign.measured_by.is_some() {
        return [filesystem].into();
    }
    let commands = &contender.filesystem.commands;
    let directory = contender.directory.as_ref();
    let own = &contender.own;
    let known = [
        (
            "mkfs options",
            [&contender.mkfs_options[..], &commands.mkfs_options[..]].concat().join(" "),
        ),
        ("mount options", contender.mount_options.join(",")),
        ("mkfs", commands.mkfs.join(" ")),
        ("mount", commands.mount.join(" ")),
        ("directory", directory.map_or_else(String::new, |d| d.display().to_string())),
        ("memory limit", shown(own.memory)),
        ("disk", shown(own.disk.as_ref())),
        ("disks", shown(own.disks)),
        ("age", shown(own.age.as_ref())),
    ]
    .map(|(what, value)| (what.to_owned(), value));
    [filesystem].into_iter().chain(known).collect()
}

fn shown(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Returns the settings whose value differs. A setting that only one side has is empty on the
/// other.
fn different(before: &Facts, after: &Facts) -> Vec<SettingChange> {
    let mut seen = BTreeSet::new();
    before
        .iter()
        .chain(after)
        .filter(|(what, _)| seen.insert(what.as_str()))
        .filter_map(|(what, _)| {
            let (before, after) = (value(before, what), value(after, what));
            (before != after).then(|| SettingChange { setting: what.clone(), before, after })
        })
        .collect()
}

fn value(facts: &Facts, what: &str) -> String {
    let found = facts.iter().find(|(w, _)| w == what);
    found.map(|(_, value)| value.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn lists_exactly_the_settings_that_differ() {
        let before = fixture::plain();
        let mut after = before.clone();
        assert_eq!(campaign_differences(&before, &after, &[(0, 0)]), []);
        after.environments[0].kernel = "Linux 7.0".to_owned();
        after.environments[0].tools.remove(1);
        let readahead = |value| vec![model::HostSetting::new("readahead", value)];
        let mut before = before;
        before.environments[0].conditions = readahead("128 KiB");
        after.environments[0].conditions = readahead("2560 KiB");
        after.campaign.contenders[0].mount_options = vec!["noatime".to_owned()];
        let settings = campaign_differences(&before, &after, &[(0, 0), (1, 1)]);
        let words: Vec<&str> = settings.iter().map(|s| s.setting.as_str()).collect();
        assert_eq!(words, ["kernel", "readahead", "mkfs.xfs", "mount options of fast"]);
        assert_eq!(settings[2].after, "");
        assert_eq!(settings[3].after, "noatime");
    }

    #[test]
    fn the_directory_of_a_campaign_is_no_difference() {
        let mut before = fixture::plain();
        let mut after = before.clone();
        before.environments[0].device =
            "image of 1 GiB: /tmp/fsarena-3-18ea/image-0 on ext4".to_owned();
        after.environments[0].device =
            "image of 1 GiB: /tmp/fsarena-4-18eb/image-0 on ext4".to_owned();
        assert_eq!(campaign_differences(&before, &after, &[]), []);
        after.environments[0].device =
            "image of 1 GiB: /srv/fsarena-4-18eb/image-0 on ext4".to_owned();
        assert_eq!(campaign_differences(&before, &after, &[]).len(), 1);
    }

    #[test]
    fn clocks_and_backends_are_never_mixed() {
        let before = fixture::plain();
        let mut after = before.clone();
        assert_eq!(check_comparable(&before, &after), Ok(()));
        after.campaign.backend = model::BackendKind::Dir;
        let error = check_comparable(&before, &after).unwrap_err().to_string();
        assert_eq!(error, "cannot compare backend loop with dir; name campaigns of one backend");
        after.campaign.clock = model::Clock::Virtual;
        let error = check_comparable(&before, &after).unwrap_err().to_string();
        assert_eq!(error, "cannot compare real time with virtual time");
    }
}
