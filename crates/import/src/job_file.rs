//! A job file of fio as the command line that does the same, so that it runs where the file is not.
//!
//! Source of the format: fio(1), "JOB FILE FORMAT" and "COMMAND LINE OPTIONS": a section is a job, `global` holds what
//! those behind it share, and `--name=` begins either on a command line.

use crate::ImportError;
use crate::text::lines;

/// Where the jobs work is the filesystem that is measured, and nowhere else.
const PLACES: [&str; 6] = [
    "directory",
    "filename",
    "filename_format",
    "opendir",
    "read_iolog",
    "replay_redirect",
];

/// The arguments that do what a job file says.
///
/// # Errors
/// When it is no job file, or names another place than the filesystem in which it is to run.
pub fn fio_arguments(job_file: &[u8]) -> Result<Vec<String>, ImportError> {
    let mut arguments = Vec::new();
    for (number, line) in lines(job_file)? {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            arguments.push(format!("--name={name}"));
            continue;
        }
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (line, None),
        };
        let is_key = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if key.is_empty() || !key.chars().all(is_key) {
            return Err(ImportError::at(
                number,
                "it is no line of a job file: `key=value` or [section]",
            ));
        }
        if arguments.is_empty() {
            return Err(ImportError::at(
                number,
                "it stands before the first section, such as [global]",
            ));
        }
        // A name in the directory of the filesystem is one.
        let leads_out = value.is_some_and(|value| value.contains(['/', '$', ':']));
        if key == "directory" || PLACES.contains(&key) && leads_out {
            let what = format!(
                "`{key}` names a place: leave it out, for jobs run in the filesystem that is measured"
            );
            return Err(ImportError::at(number, what));
        }
        arguments.push(match value {
            Some(value) => format!("--{key}={value}"),
            None => format!("--{key}"),
        });
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_and_keys_become_options() {
        let file = b"; a comment\n[global]\nsize = 1m\n[a]\nrw=write\nstonewall\n";
        let arguments = fio_arguments(file).unwrap();
        assert_eq!(
            arguments,
            [
                "--name=global",
                "--size=1m",
                "--name=a",
                "--rw=write",
                "--stonewall"
            ]
        );
    }

    #[test]
    fn other_places_and_other_files_are_refused_by_line() {
        for (file, line) in [
            ("[a]\ndirectory=/mnt\n", 2),
            ("[a]\nfilename=/dev/sda\n", 2),
            ("size=1m\n", 1),
            ("[a]\n<html>\n", 2),
        ] {
            assert_eq!(
                fio_arguments(file.as_bytes()).unwrap_err().line,
                Some(line),
                "{file}"
            );
        }
        assert!(fio_arguments(b"[a]\nfilename=data\n").is_ok());
    }
}
