//! Converts a fio job file to an equivalent command line that runs without the file.
//!
//! Source of the format: fio(1), "JOB FILE FORMAT" and "COMMAND LINE OPTIONS": a section is a job,
//! `global` contains options that the following sections share, and `--name=` begins either on a
//! command line.

use crate::ImportError;
use crate::parse::text::lines;

/// Accepted options of a job: the way it reads, writes and measures. Options that name another
/// directory or file or start a program are refused (`directory`, `exec_prerun`, `write_bw_log`,
/// `output` …), as are options of later versions.
#[rustfmt::skip]
const OPTIONS: [&str; 136] = [
    "allrandrepeat", "atomic", "ba", "blockalign", "blocksize", "blocksize_range",
    "blocksize_unaligned", "bs", "bs_is_seq_rand", "bs_unaligned", "bsrange", "bssplit",
    "buffer_compress_chunk", "buffer_compress_percentage", "buffered", "clat_percentiles",
    "clocksource", "cpumask", "cpus_allowed", "cpus_allowed_policy", "create_fsync",
    "create_on_open", "create_serialize", "dedupe_percentage", "description", "direct",
    "disable_bw_measurement", "disable_clat", "disable_lat", "disable_slat", "do_verify",
    "end_fsync", "exitall", "fadvise_hint", "fallocate", "fdatasync", "file_service_type",
    "filename", "filename_format", "filesize", "fill_device", "fill_fs", "fixedbufs", "fsync",
    "fsync_on_close", "group_reporting", "gtod_reduce", "hipri", "invalidate", "io_limit",
    "io_size", "io_submit_mode", "iodepth", "iodepth_batch", "iodepth_batch_complete",
    "iodepth_batch_complete_max", "iodepth_batch_complete_min", "iodepth_batch_submit",
    "iodepth_low", "ioengine", "iomem_align", "lat_percentiles", "latency_percentile",
    "latency_target", "latency_window", "loops", "max_latency", "new_group", "nice",
    "norandommap", "nrfiles", "number_ios", "numjobs", "offset", "offset_align",
    "offset_increment", "openfiles", "overwrite", "percentage_random", "percentile_list",
    "pre_read", "prio", "prioclass", "ramp_time", "random_distribution", "random_generator",
    "randrepeat", "randseed", "rate", "rate_cycle", "rate_iops", "rate_iops_min", "rate_min",
    "rate_process", "readwrite", "refill_buffers", "registerfiles", "runtime", "rw",
    "rw_sequencer", "rwmixread", "rwmixwrite", "scramble_buffers", "serialize_overlap",
    "significant_figures", "size", "slat_percentiles", "softrandommap", "startdelay",
    "stonewall", "sync", "sync_file_range", "thinktime", "thinktime_blocks", "thinktime_spin",
    "thread", "time_based", "timeout", "unified_rw_reporting", "unlink", "verify",
    "verify_async", "verify_backlog", "verify_fatal", "verify_interval", "verify_offset",
    "verify_pattern", "verifysort", "wait_for", "wait_for_previous", "write_barrier",
    "zero_buffers", "zonemode", "zonerange", "zonesize", "zoneskip",
];

/// Accepted I/O engines. Others need libraries or more hosts.
const ENGINES: [&str; 9] =
    ["io_uring", "libaio", "mmap", "posixaio", "psync", "pvsync", "pvsync2", "sync", "vsync"];

/// Options whose values may contain a slash. In other options, a slash could lead to another
/// directory.
const VALUES_WITH_SLASH: [&str; 2] = ["bssplit", "description"];

/// Returns the arguments that are equivalent to a job file.
///
/// # Errors
/// Returns an error if the input is not a job file, or if it names a place outside the measured
/// filesystem.
pub fn fio_arguments(job_file: &[u8]) -> Result<Vec<String>, ImportError> {
    let mut arguments = Vec::new();
    for (number, line) in lines(job_file)? {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            if name.contains('/') || name.contains("..") {
                return Err(ImportError::at_line(
                    number,
                    "files are named by the section: no `/` and no `..` in it",
                ));
            }
            arguments.push(format!("--name={name}"));
            continue;
        }
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (line, None),
        };
        let is_key = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if key.is_empty() || !key.chars().all(is_key) {
            return Err(ImportError::at_line(
                number,
                "not a line of a job file; expected `key=value` or [section]",
            ));
        }
        if arguments.is_empty() {
            return Err(ImportError::at_line(
                number,
                "option before the first section, such as [global]",
            ));
        }
        stays(key, value.unwrap_or_default()).map_err(|what| ImportError::at_line(number, what))?;
        arguments.push(match value {
            Some(value) => format!("--{key}={value}"),
            None => format!("--{key}"),
        });
    }
    Ok(arguments)
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
    // `:` separates file names. `${…}` is refused because it is an environment variable; fio
    // variables such as $jobnum are safe in file names.
    let names_files = key.starts_with("filename");
    let leads_out =
        value.contains("..") || value.contains("${") || names_files && value.contains(':');
    if leads_out || value.contains('/') && !VALUES_WITH_SLASH.contains(&key) {
        return Err(format!(
            "`{key}` names a place: leave it out, for jobs run in the filesystem that is measured"
        ));
    }
    Ok(())
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
            ["--name=global", "--size=1m", "--name=a", "--rw=write", "--stonewall"]
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
        ] {
            assert_eq!(fio_arguments(file.as_bytes()).unwrap_err().line, Some(line), "{file}");
        }
        for file in [
            "[a]\nfilename=data\nfilename_format=$jobname.$jobnum\n",
            "[a]\nbssplit=4k/60:64k/40\nrandom_distribution=zipf:1.1\nioengine=libaio\n",
        ] {
            assert!(fio_arguments(file.as_bytes()).is_ok(), "{file}");
        }
    }
}
