//! An apt with separate sources and lists. It sees all components of Debian, or another mirror,
//! needs no root and does not change this machine's settings. The mirrors are those of this machine
//! or of the user; none is built in.

use std::collections::BTreeSet;
use std::path::Path;

use crate::build::build_dir::BuildDir;
use crate::build::manifest::Manifest;
use crate::build::packages::{Apt, Release};
use crate::{GuestError, files};

/// Components of the Debian archive. Programs for HFS are in non-free, the source of OpenZFS is in
/// contrib.
const COMPONENTS: &str = "main contrib non-free";
/// Debian's keys, used if this machine's apt has no key configured.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Kinds of package lists that an apt configuration loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AptListKind {
    /// Lists of installable packages.
    Packages,
    /// Lists of installable packages, including backports of newer kernels.
    Backports,
    /// Lists of the suites of a newer release.
    Newer,
    /// Lists of source packages.
    Sources,
}

impl AptListKind {
    /// The lists that guests are built from.
    pub const OF_GUESTS: [Self; 3] = [Self::Packages, Self::Backports, Self::Newer];

    /// Returns the directory of the lists, in the build directory and in the cache.
    pub const fn directory(self) -> &'static str {
        match self {
            Self::Packages => "apt",
            Self::Backports => "apt-backports",
            Self::Newer => "apt-newer",
            Self::Sources => "apt-sources",
        }
    }

    /// Returns the type of an entry in sources.list(5).
    const fn entry(self) -> &'static str {
        match self {
            Self::Packages | Self::Backports | Self::Newer => "deb",
            Self::Sources => "deb-src",
        }
    }
}

/// Contains the state of the machine's lists for which these lists were downloaded, and their
/// expected digest.
const LISTS_STATE_FILE: &str = "made-for";
const SOURCES: &str = "sources.list";
const STATE: &str = "state";

/// Returns an apt with separate lists, kept in a directory. `suites` are those of a newer release,
/// which replace those of this machine. Downloads the lists to the build
/// directory if they are damaged, or if the machine's lists (described by `state`) have changed.
pub fn separate_apt<'a>(
    kind: AptListKind,
    suites: &[String],
    mirror: Option<&str>,
    kept: &Path,
    state: &str,
    workshop: &'a BuildDir<'_>,
    say: &mut dyn FnMut(&str),
) -> Result<Apt<'a>, GuestError> {
    let programs = workshop.programs();
    let keys = Path::new(KEYS).exists().then_some(KEYS);
    let releases = Apt::system(programs).releases()?;
    let sources = match suites {
        [] => sources(kind, &releases, mirror, keys)?,
        suites => sources_of_suites(suites, &releases, mirror, keys)?,
    };
    let made_for = |lists: &Path| -> Result<String, GuestError> {
        let lists = Manifest::of(&lists.join(STATE))?.digest();
        Ok(format!("{state}\n{sources}{lists}\n"))
    };
    let are_good = || {
        let wanted = made_for(kept).ok()?;
        let made = files::read(&kept.join(LISTS_STATE_FILE)).ok()?;
        let list = files::read(&kept.join(SOURCES)).ok()?;
        Some(made == wanted.as_bytes() && list == sources.as_bytes())
    };
    if are_good() != Some(true) {
        say("asking the mirror for its lists of packages");
        let lists = workshop.place(kind.directory());
        for below in ["state/lists/partial", "cache/archives/partial"] {
            files::create_directory(&lists.join(below))?;
        }
        files::write(&lists.join(SOURCES), sources.as_bytes())?;
        let apt = Apt::with(programs, &settings(&lists));
        apt.update()?;
        files::write(&lists.join(LISTS_STATE_FILE), made_for(&lists)?.as_bytes())?;
        return Ok(apt);
    }
    Ok(Apt::with(programs, &settings(kept)))
}

fn settings(directory: &Path) -> Vec<String> {
    let below = |name: &str| directory.join(name).display().to_string();
    vec![
        format!("Dir::Etc::sourcelist={}", below(SOURCES)),
        "Dir::Etc::sourceparts=/dev/null".to_owned(),
        format!("Dir::State={}", below(STATE)),
        "Dir::State::status=/dev/null".to_owned(),
        format!("Dir::Cache={}", below("cache")),
        "Acquire::Languages=none".to_owned(),
        "APT::Sandbox::User=root".to_owned(),
    ]
}

/// Returns one line of sources.list(5) for each suite.
fn sources_of_suites(
    suites: &[String],
    releases: &BTreeSet<Release>,
    mirror: Option<&str>,
    keys: Option<&str>,
) -> Result<String, GuestError> {
    mirror.map(validate_mirror).transpose()?;
    let base = releases.iter().find(|release| !release.name.contains('-'));
    let Some(uri) = mirror.or(base.map(|base| base.uri.as_str())) else {
        return Err(GuestError::UnexpectedOutput(
            "apt knows no mirror of Debian: name one with --mirror".to_owned(),
        ));
    };
    let signed = keys.map_or_else(String::new, |keys| format!("[signed-by={keys}] "));
    let line = |suite: &String| format!("deb {signed}{uri} {suite} {COMPONENTS}\n");
    Ok(suites.iter().map(line).collect())
}

/// Returns one line of sources.list(5) for each release.
fn sources(
    kind: AptListKind,
    releases: &BTreeSet<Release>,
    mirror: Option<&str>,
    keys: Option<&str>,
) -> Result<String, GuestError> {
    let signed = keys.map_or_else(String::new, |keys| format!("[signed-by={keys}] "));
    let line = |uri: &str, release: &str| {
        let entry = kind.entry();
        format!("{entry} {signed}{uri} {release} {COMPONENTS}\n")
    };
    let base = releases.iter().find(|r| !r.name.contains('-'));
    let name = base.map_or("stable", |r| r.name.as_str());
    let Some(mirror) = mirror else {
        // apt uses the first release that has a version. The archive itself has every file, but the
        // updates may have lost some.
        let mut releases: Vec<&Release> = releases.iter().collect();
        releases.sort_by_key(|release| release.name.contains('-'));
        let mut lines: String = releases.iter().map(|r| line(&r.uri, &r.name)).collect();
        let has_backports = releases.iter().any(|r| r.name.ends_with("-backports"));
        if let Some(base) = base.filter(|_| kind == AptListKind::Backports && !has_backports) {
            lines += &line(&base.uri, &format!("{name}-backports"));
        }
        return Ok(lines);
    };
    validate_mirror(mirror)?;
    // Mirrors of the archive have no security updates, which are on other servers.
    Ok(line(mirror, name) + &line(mirror, &format!("{name}-updates")))
}

/// Checks that an address can be used in a list of sources.
///
/// # Errors
/// Returns an error with a hint if it cannot.
pub fn validate_mirror(mirror: &str) -> Result<(), GuestError> {
    let schemes = ["http://", "https://", "file:/"];
    let plain = |c: char| c.is_ascii_graphic() && !"[]#".contains(c);
    let known = schemes.iter().any(|scheme| mirror.starts_with(scheme));
    if known && mirror.chars().all(plain) {
        return Ok(());
    }
    Err(GuestError::UnexpectedOutput(format!(
        "`{mirror}` is no mirror: give the address of a directory that holds `dists` and `pool`"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn releases() -> BTreeSet<Release> {
        let release = |uri: &str, name: &str| Release { uri: uri.into(), name: name.into() };
        BTreeSet::from([
            release("http://m/debian/", "bookworm"),
            release("http://m/security/", "bookworm-security"),
        ])
    }

    #[test]
    fn all_components_come_from_the_mirrors_of_the_machine() {
        let text = sources(AptListKind::Packages, &releases(), None, Some("/k.gpg")).unwrap();
        assert_eq!(
            text,
            "deb [signed-by=/k.gpg] http://m/debian/ bookworm main contrib non-free\n\
             deb [signed-by=/k.gpg] http://m/security/ bookworm-security main contrib non-free\n"
        );
    }

    #[test]
    fn suites_of_a_newer_release_come_from_the_mirror_of_the_machine() {
        let suites = ["trixie", "trixie-backports"].map(str::to_owned);
        let text = sources_of_suites(&suites, &releases(), None, None).unwrap();
        assert_eq!(
            text,
            "deb http://m/debian/ trixie main contrib non-free\n\
             deb http://m/debian/ trixie-backports main contrib non-free\n"
        );
        let named = sources_of_suites(&suites[..1], &releases(), Some("http://o/"), None).unwrap();
        assert_eq!(named, "deb http://o/ trixie main contrib non-free\n");
        assert!(sources_of_suites(&suites, &BTreeSet::new(), None, None).is_err());
    }

    #[test]
    fn backports_are_added_once() {
        let mut releases = releases();
        let base = releases.first().unwrap().clone();
        for _ in 0..2 {
            let text = sources(AptListKind::Backports, &releases, None, None).unwrap();
            assert_eq!(text.lines().count(), 3, "{text}");
            assert!(text.contains("deb http://m/debian/ bookworm-backports main"), "{text}");
            releases.insert(Release { name: "bookworm-backports".into(), ..base.clone() });
        }
    }

    #[test]
    fn the_archive_itself_comes_before_its_updates() {
        let releases =
            [("http://a/security/", "bookworm-security"), ("http://b/debian/", "bookworm")];
        let releases = releases.map(|(uri, name)| Release { uri: uri.into(), name: name.into() });
        let text = sources(AptListKind::Sources, &BTreeSet::from(releases), None, None).unwrap();
        assert!(text.starts_with("deb-src http://b/debian/ bookworm main"), "{text}");
    }

    #[test]
    fn user_mirror_replaces_all_other_mirrors() {
        let text =
            sources(AptListKind::Packages, &releases(), Some("http://other/debian"), None).unwrap();
        assert_eq!(
            text,
            "deb http://other/debian bookworm main contrib non-free\n\
             deb http://other/debian bookworm-updates main contrib non-free\n"
        );
        let text = sources(AptListKind::Packages, &BTreeSet::new(), Some("file:/srv/debian"), None)
            .unwrap();
        assert!(text.starts_with("deb file:/srv/debian stable main"), "{text}");
    }

    #[test]
    fn rejects_invalid_addresses() {
        for mirror in ["debian", "http://m/ trusted=yes", "http://m/\ndeb x", "-o x"] {
            let error =
                sources(AptListKind::Packages, &releases(), Some(mirror), None).unwrap_err();
            assert!(error.to_string().contains("is no mirror"), "{error}");
        }
    }
}
