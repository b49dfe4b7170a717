//! Standard directories of a user. Source: XDG Base Directory Specification 0.8.
//!
//! The user database is not used: a statically linked program would have to load the C library's
//! name services, which may be incompatible.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// A user directory of fsarena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserDir {
    /// Data that must not be lost.
    Data,
    /// Data that can be created again.
    Cache,
}

/// Reason why the directory cannot be located.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserDirError {
    /// No environment variable specifies the directory.
    Unset(UserDir),
    /// The variable of this name is not UTF-8. Stored paths must be UTF-8.
    NotUtf8(&'static str),
}

impl UserDir {
    /// Locates the directory from environment variables. Ignores relative paths.
    ///
    /// # Errors
    /// Returns an error if no variable specifies the directory, or if the variable is not UTF-8.
    pub fn resolve(
        self,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<PathBuf, UserDirError> {
        for (name, below) in [(self.variable(), ""), ("HOME", self.below_home())] {
            let value = variable(name).map(PathBuf::from);
            if let Some(path) = value.filter(|path| path.is_absolute()) {
                return match path.to_str() {
                    Some(_) => Ok(path.join(below).join("fsarena")),
                    None => Err(UserDirError::NotUtf8(name)),
                };
            }
        }
        Err(UserDirError::Unset(self))
    }

    const fn variable(self) -> &'static str {
        match self {
            Self::Data => "XDG_DATA_HOME",
            Self::Cache => "XDG_CACHE_HOME",
        }
    }

    const fn below_home(self) -> &'static str {
        match self {
            Self::Data => ".local/share",
            Self::Cache => ".cache",
        }
    }
}

impl fmt::Display for UserDirError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset(directory) => {
                let word = match directory {
                    UserDir::Data => "data",
                    UserDir::Cache => "cache",
                };
                let variable = directory.variable();
                write!(
                    f,
                    "there is no {word} directory: set HOME or {variable} to an absolute path"
                )
            }
            Self::NotUtf8(name) => write!(f, "{name} is not UTF-8: set it to a path that is"),
        }
    }
}

impl std::error::Error for UserDirError {}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn locate(directory: UserDir, variables: &[(&str, &[u8])]) -> Result<PathBuf, UserDirError> {
        directory.resolve(|name| {
            let found = variables.iter().find(|(known, _)| *known == name)?;
            Some(OsString::from_vec(found.1.to_vec()))
        })
    }

    #[test]
    fn xdg_variable_precedes_home_and_relative_paths_are_ignored() {
        let home: (&str, &[u8]) = ("HOME", b"/home/me");
        let data = |variables: &[_]| locate(UserDir::Data, variables);
        let below_home = Ok("/home/me/.local/share/fsarena".into());
        assert_eq!(data(&[home]), below_home);
        assert_eq!(data(&[("XDG_DATA_HOME", b"/d"), home]), Ok("/d/fsarena".into()));
        assert_eq!(data(&[("XDG_DATA_HOME", b"d"), home]), below_home);
        assert_eq!(data(&[("XDG_DATA_HOME", b""), home]), below_home);
        let cache = locate(UserDir::Cache, &[home]);
        assert_eq!(cache, Ok("/home/me/.cache/fsarena".into()));
    }

    #[test]
    fn missing_or_non_utf_8_variables_are_errors() {
        for nowhere in [&[][..], &[("HOME", &b""[..])], &[("HOME", b"me")]] {
            let error = locate(UserDir::Data, nowhere).unwrap_err();
            assert_eq!(
                error.to_string(),
                "there is no data directory: set HOME or XDG_DATA_HOME to an absolute path"
            );
        }
        let error = locate(UserDir::Cache, &[("XDG_CACHE_HOME", b"/\xff")]).unwrap_err();
        assert_eq!(error, UserDirError::NotUtf8("XDG_CACHE_HOME"));
    }
}
