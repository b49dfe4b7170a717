//! Options of a job of fio: the identity of its test, the kind of its work, and its place.
//!
//! Source: fio(1) and the tables of options in fio 2.1 to 3.42. fio reads `k` as 1024 and `Ki` as
//! 1000 unless `kb_base` is 1000. It prints no options without a value (`time_based`, `thread` …)
//! unless they are given as `time_based=1`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::rc::Rc;

use model::{Metric, WorkloadCategory};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// Options of a job by name, each under its first spelling.
#[derive(Clone, Debug, Default)]
pub struct Options {
    own: BTreeMap<String, String>,
    /// Options of all jobs, which share them.
    global: Rc<BTreeMap<String, String>>,
}

/// Maximum number of options of a job.
const MAX_OPTIONS: usize = 1000;
/// Maximum length of an option's value in bytes. Lists of files are the longest values.
const MAX_VALUE: usize = 64 * 1024;

/// Other spellings of options.
const ALIASES: [(&str, &str); 26] = [
    ("readwrite", "rw"),
    ("blocksize", "bs"),
    ("blocksize_range", "bsrange"),
    ("blocksize_unaligned", "bs_unaligned"),
    ("blockalign", "ba"),
    ("iodepth_batch_submit", "iodepth_batch"),
    ("iodepth_batch_complete", "iodepth_batch_complete_min"),
    ("io_limit", "io_size"),
    ("fill_fs", "fill_device"),
    ("fileoffset", "offset"),
    ("allrandrepeat", "randrepeat"),
    ("nr_files", "nrfiles"),
    ("timeout", "runtime"),
    ("iomem", "mem"),
    ("mem_align", "iomem_align"),
    ("ratemin", "rate_min"),
    ("ratecycle", "rate_cycle"),
    ("wait_for_previous", "stonewall"),
    ("disable_bw", "disable_bw_measurement"),
    ("data_placement", "dataplacement"),
    ("fdp_pli_select", "plid_select"),
    ("fdp_pli", "plids"),
    ("ss", "steadystate"),
    ("ss_dur", "steadystate_duration"),
    ("ss_ramp", "steadystate_ramp_time"),
    ("ss_interval", "steadystate_check_interval"),
];

/// Options that change neither the work nor the meaning of its results: names, places, and the form
/// of the report. All others belong to the identity of a test.
const NEUTRAL: [&str; 34] = [
    "allow_mounted_write",
    "block_error_percentiles",
    "bwavgtime",
    "clat_percentiles",
    "comm",
    "description",
    "directory",
    "disk_util",
    "error_dump",
    "exit_what",
    "exitall",
    "exitall_on_error",
    "filename",
    "filename_format",
    "group_reporting",
    "hostname",
    "iopsavgtime",
    "job_start_clock_id",
    "kb_base",
    "lat_percentiles",
    "name",
    "new_group",
    "opendir",
    "per_job_logs",
    "percentile_list",
    "port",
    "randseed",
    "significant_figures",
    "slat_percentiles",
    "stonewall",
    "unique_filename",
    "unit_base",
    "wait_for",
    "write_iolog",
];

/// Defaults other than 0, as they are normalized.
const DEFAULTS: [(&str, &str); 41] = [
    ("allow_file_create", "1"),
    ("bs", "4096"),
    ("buffer_compress_chunk", "512"),
    ("continue_on_error", "none"),
    ("create_fsync", "1"),
    ("create_serialize", "1"),
    ("dataplacement", "none"),
    ("dedupe_mode", "repeat"),
    ("dedupe_working_set_percentage", "5"),
    ("do_verify", "1"),
    ("fadvise_hint", "1"),
    ("file_service_type", "roundrobin"),
    ("filetype", "none"),
    ("io_submit_mode", "inline"),
    ("iodepth", "1"),
    ("iodepth_batch", "1"),
    ("iodepth_batch_complete_min", "1"),
    ("invalidate", "1"),
    ("latency_percentile", "100"),
    ("lockfile", "none"),
    ("loops", "1"),
    ("mem", "malloc"),
    ("nrfiles", "1"),
    ("num_range", "1"),
    ("numjobs", "1"),
    ("percentage_random", "100"),
    ("random_distribution", "random"),
    ("random_generator", "tausworthe"),
    ("randrepeat", "1"),
    ("rate_cycle", "1000"),
    ("rate_process", "linear"),
    ("replay_scale", "1"),
    ("replay_time_scale", "100"),
    ("rw", "read"),
    ("rw_sequencer", "sequential"),
    ("rwmixread", "50"),
    ("scramble_buffers", "1"),
    ("stats", "1"),
    ("sync", "none"),
    ("thinktime_blocks", "1"),
    ("zonemode", "none"),
];
/// Further options that are on by default.
const ON: [&str; 4] =
    ["trim_verify_zero", "verify_header_seed", "verify_state_save", "verify_write_sequence"];

/// Times that are seconds without a unit.
const SECONDS: [&str; 7] = [
    "ramp_time",
    "runtime",
    "startdelay",
    "steadystate_check_interval",
    "steadystate_duration",
    "steadystate_ramp_time",
    "thinktime_iotime",
];
/// Times that are microseconds without a unit.
const MICROSECONDS: [&str; 5] =
    ["latency_target", "latency_window", "max_latency", "thinktime", "thinktime_spin"];

impl Options {
    /// Adds an option. A later value replaces an earlier one, except that files are added.
    pub fn insert(&mut self, name: &str, value: &str) {
        let opposite = |value: &str| if is_off(value) { "1" } else { "0" }.to_owned();
        let rest = |value: &str| match value.parse::<u8>() {
            Ok(share @ 0..=100) => (100 - share).to_string(),
            _ => value.to_owned(),
        };
        let (name, value) = match name {
            "buffered" => ("direct", opposite(value)),
            "rwmixwrite" => ("rwmixread", rest(value)),
            "percentage_sequential" => ("percentage_random", rest(value)),
            "filename" => match self.own.get(name) {
                Some(known) if known != value => (name, format!("{known}:{value}")),
                _ => (name, value.to_owned()),
            },
            _ => {
                let known = ALIASES.iter().find(|(alias, _)| *alias == name);
                (known.map_or(name, |(_, first)| first), value.to_owned())
            }
        };
        self.own.insert(name.to_owned(), value);
    }

    /// Returns a job's own options with these global ones.
    pub fn with(&self, own: Self) -> Self {
        Self { global: Rc::clone(&self.global), ..own }
    }

    /// Returns these options as global ones.
    pub fn into_global(self) -> Self {
        Self { own: BTreeMap::new(), global: Rc::new(self.own) }
    }

    /// Returns the number of bytes of all options.
    pub fn len(&self) -> usize {
        let all = self.own.iter().chain(self.global.iter());
        all.map(|(name, value)| name.len() + value.len()).sum()
    }

    /// Returns the value of an option by its first spelling.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.own.get(name).or_else(|| self.global.get(name)).map(String::as_str)
    }

    /// Returns the value of an option that is a number or a size, or 0.
    pub fn number(&self, name: &str) -> f64 {
        let value = self.get(name).map(|value| self.normalized(name, value, None));
        value.and_then(|value| value.parse().ok()).unwrap_or(0.0)
    }

    /// Returns the value of an option that is a time, in seconds, or 0.
    pub fn seconds(&self, name: &str) -> f64 {
        self.get(name).and_then(|value| time(name, value)).unwrap_or(0.0)
    }

    /// Returns true if an option is given and on.
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !is_off(value))
    }

    /// Returns true if the report adds reads and writes up.
    pub fn is_unified(&self) -> bool {
        matches!(self.get("unified_rw_reporting"), Some("1" | "mixed" | ""))
    }

    /// Formats all options that decide the work of a job. `request` is the size of its requests, if
    /// known: it shows whether a program meant 1000 or 1024 by `KiB`.
    pub fn identity(&self, request: Option<u64>) -> String {
        let mut stated = Vec::new();
        let all: BTreeMap<&String, &String> = self.global.iter().chain(&self.own).collect();
        for (name, value) in all {
            let is_log =
                name.starts_with("log_") || name.starts_with("write_") && name.ends_with("_log");
            if is_log || NEUTRAL.contains(&name.as_str()) {
                continue;
            }
            let value = match name.as_str() {
                "unified_rw_reporting" => if self.is_unified() { "mixed" } else { "0" }.to_owned(),
                "bs" => self.normalized(name, value, request),
                _ => self.normalized(name, value, None),
            };
            let default =
                DEFAULTS.iter().find(|(known, _)| *known == name.as_str()).map(|(_, value)| *value);
            let is_on = ON.contains(&name.as_str());
            if value != default.unwrap_or(if is_on { "1" } else { "0" }) {
                stated.push(format!("{name} {value}"));
            }
        }
        let files = self.get("filename").map_or(0, |names| split_names(names).len());
        if files > 1 {
            stated.push(format!("files {files}"));
        }
        stated.join(", ")
    }

    /// Normalizes a value with several spellings: `4k` becomes `4096`, `10m` of a time `600s`.
    fn normalized(&self, name: &str, value: &str, request: Option<u64>) -> String {
        if let Some(seconds) = time(name, value) {
            return if seconds == 0.0 { "0".to_owned() } else { format!("{seconds}s") };
        }
        let value = value.to_lowercase();
        match (name, value.as_str()) {
            (_, "" | "true") => return "1".to_owned(),
            (_, "false") => return "0".to_owned(),
            ("rw", "readwrite") => return "rw".to_owned(),
            ("sync", "0") => return "none".to_owned(),
            ("sync", "1") => return "sync".to_owned(),
            _ => {}
        }
        let base = if self.get("kb_base") == Some("1000") { 1000 } else { 1024 };
        let mut plain = String::new();
        for token in value.split_inclusive([',', ':', '/', '-']) {
            let text = token.trim_end_matches([',', ':', '/', '-']);
            match size(text, base, request) {
                Some(size) => plain += &format!("{size}{}", &token[text.len()..]),
                None => plain += token,
            }
        }
        plain
    }

    /// Returns the directories and devices that the job worked in. Files without a directory have
    /// none.
    pub fn places(&self) -> Vec<String> {
        let directories = self.get("directory").or_else(|| self.get("opendir"));
        let mut places: Vec<String> = match (directories, self.get("filename")) {
            (Some(directories), _) => {
                let all = split_names(directories).into_iter();
                let plain = |path: String| path.trim_end_matches('/').to_owned();
                all.map(plain).filter(|path| !path.is_empty()).collect()
            }
            (None, Some(files)) => {
                split_names(files).iter().filter_map(|file| place(file)).collect()
            }
            (None, None) => Vec::new(),
        };
        places.sort();
        places.dedup();
        places
    }

    /// Returns the workload category of the reads, writes or trims, and the metric that ranks it. The
    /// category is unknown if the options are.
    pub fn purpose(&self, side: &str) -> (Option<WorkloadCategory>, Metric) {
        let Some(mode) = self.get("rw") else {
            return (None, Metric::Throughput);
        };
        let jumps = self.get("percentage_random").is_none_or(|share| !share.starts_with('0'));
        let is_random = mode.contains("rand") && jumps;
        let each = ["fsync", "fdatasync"].iter().any(|name| self.get(name) == Some("1"));
        let is_durable =
            each || self.get("sync").is_some_and(|sync| !["0", "none"].contains(&sync));
        let batches = ["fsync", "fdatasync"].iter().any(|name| self.number(name) > 1.0);
        let group = match (side, is_random) {
            ("read", true) => Some(WorkloadCategory::RandomRead),
            ("read", false) => Some(WorkloadCategory::StreamRead),
            ("write", _) if is_durable => Some(WorkloadCategory::Durable),
            ("write", _) if batches => None,
            ("write", true) => Some(WorkloadCategory::RandomWrite),
            ("write", false) => Some(WorkloadCategory::StreamWrite),
            _ => None,
        };
        let by_rate = is_random || group == Some(WorkloadCategory::Durable);
        (group, if by_rate { Metric::Rate } else { Metric::Throughput })
    }

    /// Returns the names of the results of a job, each with its side in the report.
    pub fn sides(&self) -> &'static [&'static str] {
        let mode = self.get("rw").unwrap_or("read").split(':').next().unwrap_or_default();
        match mode {
            _ if self.is_unified() => &["mixed"],
            "rw" | "readwrite" | "randrw" => &["read", "write"],
            "trimwrite" | "randtrimwrite" => &["write", "trim"],
            "write" | "randwrite" => &["write"],
            "trim" | "randtrim" => &["trim"],
            _ => &["read"],
        }
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for Options {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(all: I) -> Self {
        let mut options = Self::default();
        all.into_iter().for_each(|(name, value)| options.insert(name, value));
        options
    }
}

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Sees files that are named more than once, which a map would lose.
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Options;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("options by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Options, A::Error> {
                let mut options = Options::default();
                while let Some((name, value)) = map.next_entry::<String, serde_json::Value>()? {
                    let value = match value {
                        serde_json::Value::String(text) => text,
                        other => other.to_string(),
                    };
                    if options.own.len() == MAX_OPTIONS {
                        let what = format!("a job has more than {MAX_OPTIONS} options");
                        return Err(A::Error::custom(what));
                    }
                    options.insert(&name, &value);
                    if name.len().max(options.get(&name).map_or(0, str::len)) > MAX_VALUE {
                        let name: String = name.chars().take(40).collect();
                        let what = format!("option `{name}` has more than {MAX_VALUE} bytes");
                        return Err(A::Error::custom(what));
                    }
                }
                Ok(options)
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

fn is_off(value: &str) -> bool {
    ["0", "false"].contains(&value)
}

/// Parses a number with a unit: `4k`, `1GiB`. Returns `None` for plain numbers and other text.
fn size(text: &str, base: u64, request: Option<u64>) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).filter(|at| *at > 0)?;
    let (number, unit) = (text[..digits].parse::<u64>().ok()?, &text[digits..]);
    let mut letters = unit.chars();
    let power = "kmgtp".find(letters.next()?)? as u32 + 1;
    let times = |base: u64| number.checked_mul(base.checked_pow(power)?);
    match letters.as_str() {
        "" | "b" => times(base),
        "i" | "ib" if request.is_some() && request == times(1024) => request,
        "i" => times(base),
        "ib" => times(if base == 1000 { 1024 } else { 1000 }),
        _ => None,
    }
}

/// Parses an option that is a time. Returns seconds.
fn time(name: &str, value: &str) -> Option<f64> {
    let default = match name {
        _ if SECONDS.contains(&name) => 1.0,
        _ if MICROSECONDS.contains(&name) => 1e-6,
        _ => return None,
    };
    let value = value.to_lowercase();
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let factor = match &value[digits..] {
        "d" => 86_400.0,
        "h" => 3600.0,
        "m" => 60.0,
        "s" => 1.0,
        unit if unit.starts_with("ms") => 1e-3,
        unit if unit.starts_with("us") => 1e-6,
        _ => default,
    };
    Some(value[..digits].parse::<u64>().ok()? as f64 * factor)
}

/// Splits a list of paths at each `:` that no backslash precedes.
fn split_names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let last = names.last_mut().expect("there is a first name");
        match letter {
            '\\' if letters.peek() == Some(&':') => last.extend(letters.next()),
            ':' => names.push(String::new()),
            letter => last.push(letter),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Returns the directory of a file, or a device.
fn place(file: &str) -> Option<String> {
    if file.starts_with("/dev/") {
        return Some(file.to_owned());
    }
    let directory = Path::new(file).parent()?.to_str()?;
    (!directory.is_empty()).then(|| directory.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(options: &[(&str, &str)]) -> String {
        options.iter().copied().collect::<Options>().identity(None)
    }

    #[test]
    fn equal_work_has_one_identity_however_it_is_spelled() {
        for (one, other) in [
            (
                &[("bs", "4k"), ("rw", "write")][..],
                &[("blocksize", "4096"), ("readwrite", "write")][..],
            ),
            (&[("runtime", "10m")], &[("timeout", "600")]),
            (&[("runtime", "1500ms")], &[("runtime", "1500000us")]),
            (&[("thinktime", "10")], &[("thinktime", "10us")]),
            (&[("buffered", "0")], &[("direct", "1")]),
            (&[("buffered", "1"), ("iodepth", "1")], &[]),
            (&[("rwmixwrite", "30")], &[("rwmixread", "70")]),
            (&[("size", "1g"), ("name", "a"), ("write_bw_log", "x")], &[("size", "1024m")]),
            (&[("bssplit", "4k/60:64k/40")], &[("bssplit", "4096/60:65536/40")]),
            (&[("bs", "4kib"), ("kb_base", "1000")], &[("bs", "4096")]),
            (&[("filename", "/mnt/a/x")], &[("filename", "/mnt/a/y")]),
        ] {
            assert_eq!(identity(one), identity(other));
        }
    }

    #[test]
    fn jobs_share_their_global_options() {
        let options = |all: &[(&str, &str)]| all.iter().copied().collect::<Options>();
        let global = options(&[("bs", "4k"), ("rw", "write")]).into_global();
        let job = global.with(options(&[("bs", "8k")]));
        assert!(Rc::ptr_eq(&job.global, &global.global));
        assert_eq!(job.identity(None), "bs 8192, rw write");
        assert_eq!((job.get("bs"), job.get("rw")), (Some("8k"), Some("write")));
    }

    #[test]
    fn every_other_option_makes_another_test() {
        for (name, value) in [
            ("random_distribution", "zipf:1.2"),
            ("direct", "1"),
            ("zero_buffers", "1"),
            ("thinktime", "10"),
            ("ramp_time", "5"),
            ("norandommap", "1"),
            ("verify", "crc32c"),
            ("loops", "2"),
            ("overwrite", "1"),
            ("fallocate", "none"),
            ("iodepth_batch_submit", "8"),
            ("invalidate", "0"),
            ("openfiles", "7"),
            ("number_ios", "9"),
            ("buffer_compress_percentage", "50"),
            ("dedupe_percentage", "50"),
            ("offset", "1m"),
            ("percentage_random", "50"),
            ("file_service_type", "random"),
            ("thread", "1"),
            ("rate_process", "poisson"),
            ("latency_target", "5ms"),
            ("create_on_open", "1"),
            ("pre_read", "1"),
            ("zonemode", "strided"),
            ("hipri", "1"),
            ("sync_file_range", "write:8"),
            ("fsync_on_close", "1"),
            ("scramble_buffers", "0"),
            ("an_option_of_a_later_version", "1"),
            ("filename", "/dev/sdx:/dev/sdy"),
        ] {
            assert_ne!(identity(&[(name, value)]), "", "{name}");
        }
    }

    #[test]
    fn places_are_whole_directories_and_devices() {
        let places =
            |name: &str, value: &str| [(name, value)].into_iter().collect::<Options>().places();
        assert_eq!(places("directory", "/mnt/alpha/t/"), ["/mnt/alpha/t"]);
        assert_eq!(places("filename", "/mnt/a/x:/mnt/a/y"), ["/mnt/a"]);
        assert_eq!(places("filename", "/dev/sdx:/dev/sdy"), ["/dev/sdx", "/dev/sdy"]);
        assert_eq!(places("filename", "/mnt/odd\\:name/x"), ["/mnt/odd:name"]);
        assert!(places("filename", "D\\:\\bench\\test.dat").is_empty());
        assert!(places("filename", "test").is_empty());
    }

    #[test]
    fn options_decide_the_purpose_whatever_the_job_is_called() {
        let purpose = |options: &[(&str, &str)], side| {
            options.iter().copied().collect::<Options>().purpose(side)
        };
        let durable = (Some(WorkloadCategory::Durable), Metric::Rate);
        for sync in ["fsync", "fdatasync", "sync"] {
            assert_eq!(purpose(&[("rw", "write"), (sync, "1")], "write"), durable);
        }
        assert_eq!(purpose(&[("rw", "write"), ("sync", "dsync")], "write"), durable);
        let streams = (Some(WorkloadCategory::StreamWrite), Metric::Throughput);
        assert_eq!(
            purpose(&[("rw", "write"), ("sync", "none"), ("end_fsync", "1")], "write"),
            streams
        );
        let reads = [("rw", "randread"), ("percentage_random", "0")];
        assert_eq!(purpose(&reads, "read").0, Some(WorkloadCategory::StreamRead));
        assert_eq!(
            purpose(&reads[..1], "read"),
            (Some(WorkloadCategory::RandomRead), Metric::Rate)
        );
        assert_eq!(purpose(&[], "read").0, None);
    }
}
