//! An apt with sources and lists of its own: it sees all components of Debian, or another mirror, needs no
//! root and changes nothing in this machine's settings. Names no mirror itself: they are this machine's, or
//! the user's.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::GuestError;
use crate::packages::{Apt, Release};

/// Programs for HFS are in non-free, the source of OpenZFS in contrib.
const COMPONENTS: &str = "main contrib non-free";
/// Debian's keys, where the machine's apt would not take them without being told.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Holds the state of the machine's lists for which ours were made.
const MADE_FOR: &str = "made-for";

/// Such an apt, with its lists in a directory. Lists are brought again when those of the machine have
/// changed, which `state` tells.
pub fn apart(
    mirror: Option<&str>,
    directory: &Path,
    state: &str,
    say: &mut dyn FnMut(&str),
) -> Result<Apt, GuestError> {
    let keys = Path::new(KEYS).exists().then_some(KEYS);
    let sources = sources(&Apt::default().releases()?, mirror, keys)?;
    let apt = Apt::with(&settings(directory));
    let made_for = directory.join(MADE_FOR);
    let state = format!("{state}\n{sources}");
    if fs::read_to_string(&made_for).is_ok_and(|made| made == state) {
        return Ok(apt);
    }
    say("asking the mirror for its lists of packages");
    for below in ["state/lists/partial", "cache/archives/partial"] {
        let below = directory.join(below);
        fs::create_dir_all(&below).map_err(GuestError::io("create", &below))?;
    }
    let list = directory.join("sources.list");
    fs::write(&list, sources).map_err(GuestError::io("write", &list))?;
    apt.update()?;
    fs::write(&made_for, state).map_err(GuestError::io("write", &made_for))?;
    Ok(apt)
}

fn settings(directory: &Path) -> Vec<String> {
    let below = |name: &str| directory.join(name).display().to_string();
    vec![
        format!("Dir::Etc::sourcelist={}", below("sources.list")),
        "Dir::Etc::sourceparts=/dev/null".to_owned(),
        format!("Dir::State={}", below("state")),
        "Dir::State::status=/dev/null".to_owned(),
        format!("Dir::Cache={}", below("cache")),
        "Acquire::Languages=none".to_owned(),
        "APT::Sandbox::User=root".to_owned(),
    ]
}

/// A line for each release (sources.list(5)).
fn sources(
    releases: &BTreeSet<Release>,
    mirror: Option<&str>,
    keys: Option<&str>,
) -> Result<String, GuestError> {
    let signed = keys.map_or_else(String::new, |keys| format!("[signed-by={keys}] "));
    let line = |uri: &str, release: &str| format!("deb {signed}{uri} {release} {COMPONENTS}\n");
    let Some(mirror) = mirror else {
        return Ok(releases.iter().map(|r| line(&r.uri, &r.name)).collect());
    };
    check(mirror)?;
    // Mirrors of the archive have no security updates: those lie elsewhere.
    let base = releases.iter().find(|r| !r.name.contains('-'));
    let name = base.map_or("stable", |r| r.name.as_str());
    Ok(line(mirror, name) + &line(mirror, &format!("{name}-updates")))
}

/// Whether an address can stand in a list of sources, and what it should be where it cannot.
///
/// # Errors
/// Where it cannot.
pub fn check(mirror: &str) -> Result<(), GuestError> {
    let schemes = ["http://", "https://", "file:/"];
    let plain = |c: char| c.is_ascii_graphic() && !"[]#".contains(c);
    let known = schemes.iter().any(|scheme| mirror.starts_with(scheme));
    if known && mirror.chars().all(plain) {
        return Ok(());
    }
    Err(GuestError::Unexpected(format!(
        "`{mirror}` is no mirror: give the address of a directory that holds `dists` and `pool`"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn releases() -> BTreeSet<Release> {
        let release = |uri: &str, name: &str| Release {
            uri: uri.into(),
            name: name.into(),
        };
        BTreeSet::from([
            release("http://m/debian/", "bookworm"),
            release("http://m/security/", "bookworm-security"),
        ])
    }

    #[test]
    fn all_components_come_from_the_machines_own_mirrors() {
        let text = sources(&releases(), None, Some("/k.gpg")).unwrap();
        assert_eq!(
            text,
            "deb [signed-by=/k.gpg] http://m/debian/ bookworm main contrib non-free\n\
             deb [signed-by=/k.gpg] http://m/security/ bookworm-security main contrib non-free\n"
        );
    }

    #[test]
    fn a_mirror_of_the_users_stands_in_for_all_of_them() {
        let text = sources(&releases(), Some("http://other/debian"), None).unwrap();
        assert_eq!(
            text,
            "deb http://other/debian bookworm main contrib non-free\n\
             deb http://other/debian bookworm-updates main contrib non-free\n"
        );
        let text = sources(&BTreeSet::new(), Some("file:/srv/debian"), None).unwrap();
        assert!(
            text.starts_with("deb file:/srv/debian stable main"),
            "{text}"
        );
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for mirror in [
            "debian",
            "http://m/ trusted=yes",
            "http://m/\ndeb x",
            "-o x",
        ] {
            let error = sources(&releases(), Some(mirror), None).unwrap_err();
            assert!(error.to_string().contains("is no mirror"), "{error}");
        }
    }
}
