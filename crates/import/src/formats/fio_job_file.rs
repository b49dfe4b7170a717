//! Converts a fio job file to an equivalent command line that runs without the file.
//!
//! Source of the format: fio(1), "JOB FILE FORMAT" and "COMMAND LINE OPTIONS": a section is a job,
//! `global` contains options that the following sections share, and `--name=` begins either on a
//! command line.

use model::Bytes;

use crate::ImportError;
use crate::parse::text::lines;

/// Accepted options of a job: the way it reads, writes and measures. Options that name another
/// directory or file or start a program are refused (`directory`, `exec_prerun`, `output` …), as are
/// options of later versions. Logs (`write_bw_log`) are evidence of the cell.
#[rustfmt::skip]
const OPTIONS: [&str; 149] = [
    "allrandrepeat", "atomic", "ba", "blockalign", "blocksize", "blocksize_range",
    "blocksize_unaligned", "bs", "bs_is_seq_rand", "bs_unaligned", "bsrange", "bssplit",
    "buffer_compress_chunk", "buffer_compress_percentage", "buffered", "bwavgtime",
    "clat_percentiles", "clocksource", "cpumask", "cpus_allowed", "cpus_allowed_policy",
    "create_fsync", "create_on_open", "create_serialize", "dedupe_percentage", "description",
    "direct", "disable_bw_measurement", "disable_clat", "disable_lat", "disable_slat", "do_verify",
    "end_fsync", "exitall", "fadvise_hint", "fallocate", "fdatasync", "file_service_type",
    "filename", "filename_format", "filesize", "fill_device", "fill_fs", "fixedbufs", "fsync",
    "fsync_on_close", "group_reporting", "gtod_reduce", "hipri", "invalidate", "io_limit",
    "io_size", "io_submit_mode", "iodepth", "iodepth_batch", "iodepth_batch_complete",
    "iodepth_batch_complete_max", "iodepth_batch_complete_min", "iodepth_batch_submit",
    "iodepth_low", "ioengine", "iomem_align", "iopsavgtime", "lat_percentiles",
    "latency_percentile", "latency_target", "latency_window", "log_avg_msec",
    "log_hist_coarseness", "log_hist_msec", "log_max_value", "log_offset", "log_unix_epoch",
    "loops", "max_latency", "new_group", "nice", "norandommap", "nrfiles", "number_ios", "numjobs",
    "offset", "offset_align", "offset_increment", "openfiles", "overwrite", "per_job_logs",
    "percentage_random", "percentile_list", "pre_read", "prio", "prioclass", "ramp_time",
    "random_distribution", "random_generator", "randrepeat", "randseed", "rate", "rate_cycle",
    "rate_iops", "rate_iops_min", "rate_min", "rate_process", "readwrite", "refill_buffers",
    "registerfiles", "runtime", "rw", "rw_sequencer", "rwmixread", "rwmixwrite",
    "scramble_buffers", "serialize_overlap", "significant_figures", "size", "slat_percentiles",
    "softrandommap", "startdelay", "stonewall", "sync", "sync_file_range", "thinktime",
    "thinktime_blocks", "thinktime_spin", "thread", "time_based", "timeout",
    "unified_rw_reporting", "unlink", "verify", "verify_async", "verify_backlog", "verify_fatal",
    "verify_interval", "verify_offset", "verify_pattern", "verifysort", "wait_for",
    "wait_for_previous", "write_barrier", "write_bw_log", "write_hist_log", "write_iops_log",
    "write_lat_log", "zero_buffers", "zonemode", "zonerange", "zonesize", "zoneskip",
];

/// Accepted I/O engines. Others need libraries or more hosts.
const ENGINES: [&str; 9] =
    ["io_uring", "libaio", "mmap", "posixaio", "psync", "pvsync", "pvsync2", "sync", "vsync"];

/// Options whose values are names, so that a slash would lead to another directory. In other
/// options, a slash divides numbers (`zoned:50/5`, `(1g/4)`).
fn names_a_file(key: &str) -> bool {
    key.starts_with("filename")
        || key.ends_with("_log")
        || ["name", "verify_pattern", "wait_for"].contains(&key)
}

/// Options that are on without a value (fio: "empty or boolean value"). On a command line, every
/// other option without a value would take the next word as its value.
#[rustfmt::skip]
const FLAGS: [&str; 15] = [
    "blocksize_unaligned", "bs_unaligned", "exitall", "fixedbufs", "group_reporting", "hipri",
    "new_group", "norandommap", "refill_buffers", "registerfiles", "stonewall", "thread",
    "time_based", "wait_for_previous", "zero_buffers",
];

/// Maximum size of a job file. The text of included files, of environment variables and of names
/// counts as often as it is used.
pub const MAX_JOB_FILE_SIZE: Bytes = Bytes::kib(256);
/// Maximum number of jobs. Every job has a copy of the global options.
const MAX_JOBS: usize = 1000;
/// Maximum depth of files that include each other.
const MAX_DEPTH: u32 = 8;

/// Words that fio replaces by properties of the machine, only in job files.
const MACHINE: [&str; 3] = ["$pagesize", "$mb_memory", "$ncpus"];

/// Files and variables that a job file refers to.
pub struct JobFileContext<'a> {
    /// Returns the content of a file that is named after `include`, or the reason if it cannot be
    /// read.
    pub include: &'a dyn Fn(&str) -> Result<Vec<u8>, String>,
    /// Returns the value of an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

/// Returns the arguments that are equivalent to a job file.
///
/// # Errors
/// Returns an error if the input is not a job file, or if it names a place outside the measured
/// filesystem.
pub fn fio_arguments(
    job_file: &[u8],
    context: &JobFileContext<'_>,
) -> Result<Vec<String>, ImportError> {
    let left = MAX_JOB_FILE_SIZE.0;
    let mut jobs = JobFile { context, sections: Vec::new(), name_of_all: None, left };
    jobs.add(job_file, 0)?;
    let arguments = jobs.sections.into_iter().flat_map(|section| {
        std::iter::once(format!("--name={}", section.name)).chain(section.options)
    });
    Ok(arguments.collect())
}

/// Name of the section whose options apply to all later ones.
const GLOBAL: &str = "global";

struct JobSection {
    name: String,
    options: Vec<String>,
    is_global: bool,
}

struct JobFile<'a> {
    context: &'a JobFileContext<'a>,
    sections: Vec<JobSection>,
    /// Value of `name` in the global section.
    name_of_all: Option<String>,
    /// Number of bytes that the job file may still have.
    left: u64,
}

impl JobFile<'_> {
    fn add(&mut self, file: &[u8], depth: u32) -> Result<(), ImportError> {
        self.take(file).map_err(ImportError::in_file)?;
        for (number, line) in lines(file)? {
            let line = without_comment(line);
            if !line.is_empty() {
                self.add_line(line, depth).map_err(|what| ImportError::at_line(number, what))?;
            }
        }
        Ok(())
    }

    /// Counts a text of the job file.
    fn take(&mut self, text: impl AsRef<[u8]>) -> Result<(), String> {
        let left = self.left.checked_sub(text.as_ref().len() as u64);
        self.left = left.ok_or_else(|| {
            format!(
                "it has more than {MAX_JOB_FILE_SIZE} with all that it includes: split it, or include less"
            )
        })?;
        Ok(())
    }

    fn add_line(&mut self, line: &str, depth: u32) -> Result<(), String> {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let is_global = name.eq_ignore_ascii_case(GLOBAL);
            let name = match &self.name_of_all {
                Some(all) if !is_global => all.as_str(),
                _ => name,
            };
            let name = checked_name(name)?;
            self.take(&name)?;
            if self.sections.len() == MAX_JOBS {
                return Err(format!("it has more than {MAX_JOBS} jobs: use numjobs, or split it"));
            }
            self.sections.push(JobSection { name, options: Vec::new(), is_global });
            return Ok(());
        }
        if let Some(name) = line.strip_prefix("include ") {
            return self.include(name.trim(), depth);
        }
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (line, None),
        };
        let is_key = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if key.is_empty() || !key.chars().all(is_key) {
            return Err("not a line of a job file; expected `key=value` or [section]".to_owned());
        }
        let value = value.map(|value| self.with_variables(value)).transpose()?;
        let Some(section) = self.sections.last_mut() else {
            return Err("option before the first section, such as [global]".to_owned());
        };
        // On a command line, a name begins a job.
        if key == "name" {
            let name = checked_name(value.as_deref().unwrap_or_default())?;
            match section.is_global {
                true => self.name_of_all = Some(name),
                false => section.name = name,
            }
            return Ok(());
        }
        section.options.push(option(key, value.as_deref())?);
        Ok(())
    }

    fn include(&mut self, name: &str, depth: u32) -> Result<(), String> {
        if depth >= MAX_DEPTH {
            return Err(format!(
                "cannot include {name}: more than {MAX_DEPTH} files include each other"
            ));
        }
        let file = (self.context.include)(name)?;
        self.add(&file, depth + 1).map_err(|error| format!("{name}: {error}"))
    }

    /// Replaces environment variables: `${SIZE}`.
    fn with_variables(&mut self, value: &str) -> Result<String, String> {
        let (mut replaced, mut rest) = (String::new(), value);
        while let Some((before, after)) = rest.split_once("${") {
            let (name, behind) = after
                .split_once('}')
                .ok_or_else(|| format!("`{value}` has a variable without `}}`"))?;
            let found = (self.context.variable)(name).ok_or_else(|| {
                format!("the environment variable {name} is not set: set it, or give the value")
            })?;
            self.take(&found)?;
            replaced += before;
            replaced += &found;
            rest = behind;
        }
        Ok(replaced + rest)
    }
}

/// Returns a line without its comment, as fio cuts it: from the first `;`, then from the first `#`.
fn without_comment(line: &str) -> &str {
    let line = line.split_once(';').map_or(line, |(before, _)| before);
    line.split_once('#').map_or(line, |(before, _)| before).trim()
}

/// Returns an option as one word of a command line. Each word has a value, so that no option takes
/// the next word.
fn option(key: &str, value: Option<&str>) -> Result<String, String> {
    let value = match value {
        Some(value) => value,
        None if FLAGS.contains(&key) => "1",
        None if OPTIONS.contains(&key) => {
            return Err(format!("`{key}` has no value: add one, as in `{key}=VALUE`"));
        }
        None => "",
    };
    stays(key, value)?;
    is_no_option(value)?;
    Ok(format!("--{key}={value}"))
}

/// Refuses a value that a program could read as an option. Negative numbers are allowed.
fn is_no_option(value: &str) -> Result<(), String> {
    let rest = value.strip_prefix('-');
    match rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit())) {
        true => Err(format!("`{value}` begins as an option does: remove the `-`")),
        false => Ok(()),
    }
}

/// Returns the name of a job, which fio also gives to its files.
fn checked_name(name: &str) -> Result<String, String> {
    is_no_option(name)?;
    match name.contains('/') || name.contains("..") {
        true => Err("files are named by the section: no `/` and no `..` in it".to_owned()),
        false => Ok(name.to_owned()),
    }
}

/// Checks that a job with this option stays in the measured filesystem.
fn stays(key: &str, value: &str) -> Result<(), String> {
    if !OPTIONS.contains(&key) {
        return Err(format!(
            "`{key}` is not taken: jobs may say how they read and write, and run in the filesystem that is measured"
        ));
    }
    if key == "ioengine" && !ENGINES.contains(&value) {
        let known = ENGINES.join(", ");
        return Err(format!("ioengine={value} is not run: one of {known}"));
    }
    if let Some(word) = MACHINE.iter().find(|word| value.contains(**word)) {
        return Err(format!("`{word}` differs between machines: give the number"));
    }
    // `:` separates file names. Variables of fio such as $jobnum are safe in file names.
    let leads_out = names_a_file(key) && (value.contains("..") || value.contains('/'))
        || key.starts_with("filename") && value.contains(':');
    if leads_out {
        return Err(format!(
            "`{key}` names a place: leave it out, for jobs run in the filesystem that is measured"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Converts a job file that includes no file, with one variable.
    fn fio_arguments(file: &[u8]) -> Result<Vec<String>, ImportError> {
        let context = JobFileContext {
            include: &|name| match name {
                "common.fio" => Ok(b"[global]\nbs=8k\n".to_vec()),
                "again.fio" => Ok(b"include again.fio\n".to_vec()),
                _ => Err(format!("cannot read {name}")),
            },
            variable: &|name| (name == "SIZE").then(|| "4m".to_owned()),
        };
        super::fio_arguments(file, &context)
    }

    #[test]
    fn names_comments_included_files_variables_and_arithmetic_are_converted() {
        let file = "include common.fio ; shared\n[a] # first\nname=b\nsize=${SIZE} # of each\nio_size=(1g/4)\nrandom_distribution=zoned:60/10:40/90\nwrite_bw_log=job\n";
        let expected = [
            "--name=global",
            "--bs=8k",
            "--name=b",
            "--size=4m",
            "--io_size=(1g/4)",
            "--random_distribution=zoned:60/10:40/90",
            "--write_bw_log=job",
        ];
        assert_eq!(fio_arguments(file.as_bytes()).unwrap(), expected);
        let named = fio_arguments(b"[global]\nname=all\n[a]\nrw=read\n").unwrap();
        assert_eq!(named, ["--name=global", "--name=all", "--rw=read"]);
        for (file, words) in [
            ("[a]\nsize=${OTHER}\n", "OTHER is not set"),
            ("include again.fio\n", "include each other"),
            ("include /none\n", "cannot read /none"),
            ("[a]\nsize=$mb_memory\n", "give the number"),
            ("[a]\nname=../x\n", "no `/`"),
            ("[a]\nfilename=${SIZE}/x\n", "names a place"),
        ] {
            let error = fio_arguments(file.as_bytes()).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
    }

    /// No word of the command takes the next word as its value, and none names a place.
    #[track_caller]
    fn assert_stays(file: &str) {
        let Ok(arguments) = fio_arguments(file.as_bytes()) else { return };
        for argument in &arguments {
            let (key, value) = argument.split_once('=').expect("every word has a value");
            let key = key.strip_prefix("--").expect("every word is an option");
            assert!(key == "name" || OPTIONS.contains(&key), "{argument}");
            let is_out = |part: &str| part.contains('/') || part.contains("..");
            assert!(!names_a_file(key) || !is_out(value), "{argument}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_word_of_a_command_is_an_option_with_its_value(
            lines in proptest::collection::vec("(\\[|filename|description|thread|name|write_bw_log|verify_pattern|size)(=| = |\\]|)(-|--output=|/|\\.\\.|:|x|\\$\\{SIZE\\}|#|;|=| ){0,4}", 0..8),
        ) {
            assert_stays(&format!("[a]\n{}\n", lines.join("\n")));
        }
    }

    /// Includes and variables multiply the size of a job file: these ones to more than any memory.
    #[test]
    fn included_files_variables_and_names_have_one_limit() {
        let many = |line: &str| line.repeat(150_000 / line.len());
        let context = JobFileContext {
            include: &|name| match name.parse::<u32>() {
                Ok(level @ 1..=7) => Ok(format!("include {}\n", level + 1).repeat(20).into_bytes()),
                Ok(_) => Ok(b"[a]\n".to_vec()),
                Err(_) => Ok(many("size=4k\n").into_bytes()),
            },
            variable: &|_| Some("x".repeat(100_000)),
        };
        let size = "it has more than 256 KiB with all that it includes";
        for (file, words) in [
            ("include 1\n".repeat(20), "it has more than 1000 jobs"),
            (format!("[a]\n{}", "include sizes\n".repeat(5_000)), size),
            (format!("[a]\n{}", many("description=${LONG}\n")), size),
            (format!("[global]\nname={}\n{}", "x".repeat(100_000), many("[a]\n")), size),
            ("\n".repeat(300_000), size),
            (many("[a]\n"), "it has more than 1000 jobs"),
        ] {
            let error = super::fio_arguments(file.as_bytes(), &context).unwrap_err().to_string();
            assert!(error.contains(words) && error.len() < 1_000, "{error}");
        }
    }

    #[test]
    fn sections_and_keys_become_options() {
        let file = b"; a comment\n[global]\nsize = 1m\n[a]\nrw=write\nstonewall\n";
        let arguments = fio_arguments(file).unwrap();
        assert_eq!(
            arguments,
            ["--name=global", "--size=1m", "--name=a", "--rw=write", "--stonewall=1"]
        );
    }

    #[test]
    fn other_places_and_other_files_are_refused_by_line() {
        for (file, line) in [
            ("[a]\ndirectory=/mnt\n", 2),
            ("[a]\nfilename=/dev/sda\n", 2),
            ("[a]\nfilename=x:/dev/sda\n", 2),
            ("[a]\nfilename=../x\n", 2),
            ("[a]\ndirector=/mnt\n", 2),
            ("[a]\noutput=/etc/passwd\n", 2),
            ("[a]\nexec_prerun=touch /x\n", 2),
            ("[a]\nwrite_bw_log=/x\n", 2),
            ("[a]\nioengine=external:/x.so\n", 2),
            ("[a]\nrw=write\n[/x]\n", 3),
            ("size=1m\n", 1),
            ("[a]\n<html>\n", 2),
            // An option without a value would take the next one as its value.
            ("[a]\nfilename\ndescription=x/../../tmp/victim\n", 2),
            ("[a]\nfilename\ndescription=:/tmp/victim\n", 2),
            ("[a]\nwrite_bw_log\n", 2),
            ("[a]\nfilename=-\n", 2),
            ("[a]\ndescription=--output=/tmp/victim\n", 2),
            ("[--output]\n", 1),
        ] {
            assert_eq!(fio_arguments(file.as_bytes()).unwrap_err().line, Some(line), "{file}");
        }
        for file in [
            "[a]\nfilename=data\nfilename_format=$jobname.$jobnum\n",
            "[a]\nnice=-5\nthread\nexitall\nhipri=1\n",
            "[a]\nbssplit=4k/60:64k/40\nrandom_distribution=zipf:1.1\nioengine=libaio\n",
        ] {
            assert!(fio_arguments(file.as_bytes()).is_ok(), "{file}");
        }
    }
}
