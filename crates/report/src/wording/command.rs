//! The command that repeats a campaign, as one would type it into a shell.

use model::{Backend, CampaignResults, Contender, GuestDisk, Source};

use crate::wording::text::clean;

/// `fsarena run --rounds 5 --profile quick -c ext4 …`; the random choices are the same.
pub(crate) fn repeating(results: &CampaignResults) -> String {
    let campaign = &results.campaign;
    let mut words = vec!["fsarena".to_owned(), "run".to_owned()];
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    option("--rounds", campaign.rounds.to_string());
    option("--profile", campaign.profile.to_string());
    for contender in campaign.contenders.iter().filter(|c| c.directory.is_none()) {
        option("-c", spec(contender));
    }
    for directory in campaign
        .contenders
        .iter()
        .filter_map(|c| c.directory.as_ref())
    {
        option("--dir", directory.display().to_string());
    }
    for suite in &campaign.suites {
        option("-s", suite.name.clone());
    }
    option("--seed", campaign.seed.to_string());
    if campaign.backend != Backend::Dir && campaign.device.is_none() {
        option("--size", typed(campaign.size));
    }
    if let Some(memory) = campaign.memory {
        option("--memory", typed(memory));
    }
    if campaign.backend == Backend::Vm {
        option("--backend", campaign.backend.to_string());
        option("--clock", campaign.clock.to_string());
    }
    if let Some(GuestDisk::Model { model }) = campaign.guest.as_ref().map(|guest| &guest.disk) {
        option("--disk", model.name.clone());
    }
    if let Some(device) = &campaign.device {
        option("--device", device.display().to_string());
    }
    if let Some(Source::Directory { path, .. } | Source::Device { path, .. }) = &campaign.source {
        option("--source", path.display().to_string());
    }
    if let Some(host) = &campaign.host {
        option("--host", host.clone());
    }
    typed_words(&words)
}

/// A contender as the command line names it.
fn spec(contender: &Contender) -> String {
    let filesystem = &contender.filesystem.name;
    let rest = contender.name.strip_prefix(filesystem.as_str());
    if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '@'])) {
        return contender.name.clone();
    }
    match contender.mount_options.is_empty() {
        true => format!("{}={filesystem}", contender.name),
        false => format!(
            "{}={filesystem}:{}",
            contender.name,
            contender.mount_options.join(",")
        ),
    }
}

/// A size without the blank before its unit.
fn typed(size: model::Bytes) -> String {
    size.to_string().replace(' ', "")
}

/// Words as one would type them into a shell.
pub(crate) fn typed_words(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quote(word)).collect();
    clean(&quoted.join(" "))
}

/// A word in single quotes where a POSIX shell would see more in it than a word (XCU §2.2).
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyse::fixture;

    #[test]
    fn command_lines_can_be_typed() {
        let words = ["sh", "-c", "echo 'a' > b", ""].map(str::to_owned);
        assert_eq!(typed_words(&words), r"sh -c 'echo '\''a'\'' > b' ''");
    }

    #[test]
    fn a_campaign_is_repeated_with_its_contenders_suites_rounds_and_seed() {
        let mut results = fixture::plain();
        results.campaign.memory = Some(model::Bytes::mib(512));
        results.campaign.contenders[0].name = "my own".to_owned();
        let command = repeating(&results);
        assert!(command.starts_with("fsarena run --rounds "), "{command}");
        for part in [
            " -c 'my own=fast'",
            " -c slow",
            "--rounds 3",
            "--memory 512MiB",
        ] {
            assert!(command.contains(part), "{part}: {command}");
        }
    }
}
