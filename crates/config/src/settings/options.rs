//! Validation of user options for mkfs and mount: only plain options that cannot affect anything
//! outside the cell.

/// Mount options that undo `nosuid,nodev`, or that do not create a new independent mount.
const FORBIDDEN: [&str; 27] = [
    "dev",
    "suid",
    "defaults",
    "bind",
    "rbind",
    "move",
    "remount",
    "shared",
    "rshared",
    "slave",
    "rslave",
    "private",
    "rprivate",
    "unbindable",
    "runbindable",
    "loop",
    "offset",
    "sizelimit",
    "helper",
    "uhelper",
    "fd",
    "modules",
    "device",
    "logdev",
    "rtdev",
    "journal_dev",
    "journal_path",
];

/// Prefixes of mount options that `mount` itself interprets, outside the filesystem.
const FORBIDDEN_BEGINNINGS: [&str; 3] = ["X-", "x-", "verity."];

/// Checks one mount option, without surrounding commas.
pub(crate) fn check_mount_option(option: &str) -> Result<(), String> {
    plain(option, "mount option")?;
    if option.contains([' ', ',', '\t']) {
        return Err(format!(
            "mount option `{option}` holds a space or comma; give one option at a time"
        ));
    }
    if option.contains('/') {
        return Err(format!(
            "mount option `{option}` is refused: it names a path, and mounts stay on their own device"
        ));
    }
    let name = option.split('=').next().unwrap_or(option);
    let forbidden =
        FORBIDDEN.contains(&name) || FORBIDDEN_BEGINNINGS.iter().any(|b| name.starts_with(b));
    if forbidden {
        return Err(format!(
            "mount option `{name}` is refused: mounts are nosuid,nodev and stay on their own device"
        ));
    }
    Ok(())
}

/// Checks one mount option of a pool, which may name each device of the cell: `name={devices}`.
pub(crate) fn check_pool_mount_option(option: &str) -> Result<(), String> {
    let named = option.strip_suffix("={devices}");
    match named.filter(|name| name.bytes().all(|byte| byte.is_ascii_lowercase())) {
        Some(_) => Ok(()),
        None => check_mount_option(option),
    }
}

/// Checks additional words of a mkfs command line: each must be an option or the value after an
/// option. mkfs would interpret any other word as a device or a size.
pub(crate) fn check_mkfs_options(words: &[String]) -> Result<(), String> {
    let mut before = None;
    for word in words {
        check_mkfs_option(word, before)?;
        before = Some(word.as_str());
    }
    Ok(())
}

fn check_mkfs_option(word: &str, before: Option<&str>) -> Result<(), String> {
    plain(word, "mkfs option")?;
    let refused = |why| {
        Err(format!(
            "mkfs option `{word}` is refused: {why}, and mkfs works on its own device only"
        ))
    };
    if word.contains('/') {
        return refused("it names a path");
    }
    if word == "--" {
        return refused("what follows it would be no option");
    }
    let is_value = before.is_some_and(|before| before.starts_with('-'));
    if word.starts_with('-') || is_value {
        Ok(())
    } else {
        refused("it is no option, nor the value of one")
    }
}

fn plain(word: &str, what: &str) -> Result<(), String> {
    if word.is_empty() {
        return Err(format!("an empty {what}"));
    }
    if word.chars().any(char::is_control) {
        return Err(format!("{what} `{word}` holds a control character"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_filesystems_are_accepted() {
        for good in ["noatime", "data=journal", "compress=zstd:3", "commit=5", "devices"] {
            assert_eq!(check_mount_option(good), Ok(()), "{good}");
        }
        for good in ["-b", "1024", "-O", "^has_journal", "stride=16,lazy_itable_init=1"] {
            let words = ["-O".to_owned(), good.to_owned()];
            assert_eq!(check_mkfs_options(&words), Ok(()), "{good}");
        }
    }

    /// `loop0` is another device if the working directory is `/dev`.
    #[test]
    fn a_word_that_is_no_option_is_refused() {
        let check = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            check_mkfs_options(&words)
        };
        for bad in [&["loop0"][..], &["-b", "1024", "loop0"], &["512", "-q"]] {
            let why = check(bad).unwrap_err();
            assert!(why.contains("no option"), "{why}");
        }
        assert_eq!(check(&["-b", "1024", "-q", "--sectorsize=4k"]), Ok(()));
    }

    #[test]
    fn options_that_reach_beyond_the_cell_are_refused() {
        for bad in FORBIDDEN {
            assert!(check_mount_option(bad).is_err(), "{bad}");
            assert!(check_mount_option(&format!("{bad}=1")).is_err(), "{bad}=1");
        }
        for bad in ["", "a b", "a,dev", "x\ny", "nul\0", "X-mount.mkdir", "verity.hashdevice=y"] {
            assert!(check_mount_option(bad).is_err(), "{bad:?}");
        }
        for bad in ["", "/dev/sda", "device=/dev/sda", "a\nb", "a\0", "--"] {
            let words = ["-O".to_owned(), bad.to_owned()];
            assert!(check_mkfs_options(&words).is_err(), "{bad:?}");
        }
    }
}
