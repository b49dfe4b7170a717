//! Predicts the phases in a program's output from the options that it is started with.

use std::collections::BTreeMap;

use model::{Metric, Nanos, WorkloadCategory};

use crate::InputFormat;
use crate::campaign_builder::group;
use crate::formats::fio::{Thread, split_jobs};
use crate::formats::fio_options::Options;
use crate::formats::{bonnie, filebench_file, iozone, mdtest};
use crate::names::UniqueNames;
use crate::parse::text::option;

/// A phase that the output of a program will contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedPhase {
    /// Its name.
    pub phase: String,
    /// The primary metric, which determines the rank.
    pub metric: Metric,
    /// Workload category.
    pub group: Option<WorkloadCategory>,
}

impl ExpectedPhase {
    fn new(phase: &str, metric: Metric) -> Self {
        Self { phase: phase.to_owned(), metric, group: group(phase) }
    }
}

/// Returns the phases of a program's output, in order.
///
/// # Errors
/// Returns a one-line message with a hint if the output cannot be predicted.
pub fn expected(format: InputFormat, arguments: &[&str]) -> Result<Vec<ExpectedPhase>, String> {
    match format {
        InputFormat::Bonnie => Ok(bonnie::RESULTS
            .into_iter()
            .filter(|(test, ..)| !leaves_out(arguments, test))
            .map(|(_, phase, metric)| ExpectedPhase::new(phase, metric))
            .collect()),
        InputFormat::Iozone => of_iozone(arguments),
        InputFormat::Fio => of_fio(arguments),
        InputFormat::FsMark => Ok(vec![ExpectedPhase {
            group: Some(match option(arguments, "-S") {
                Some("0") => WorkloadCategory::ManyFiles,
                _ => WorkloadCategory::Durable,
            }),
            ..ExpectedPhase::new("create", Metric::Rate)
        }]),
        InputFormat::Mdtest => of_mdtest(arguments),
        InputFormat::Filebench => Ok(of_filebench(arguments)),
        InputFormat::Dbench => Ok(vec![ExpectedPhase::new("all", Metric::Throughput)]),
        other => {
            let title = other.title();
            Err(format!("{title} cannot be run as a suite: import what it prints"))
        }
    }
}

/// Returns true if options of bonnie++ omit a test. `-f` omits the tests of single bytes; zero
/// sizes and counts omit the others.
fn leaves_out(arguments: &[&str], test: &str) -> bool {
    let is_none = |name: &str| option(arguments, name).is_some_and(|value| value == "0");
    match test {
        "bonnie-chars" => is_none("-s") || arguments.contains(&"-f"),
        "bonnie-block" => is_none("-s"),
        _ => is_none("-n"),
    }
}

/// Returns the phases of IOzone for a single point. A grid would need one test per point.
fn of_iozone(arguments: &[&str]) -> Result<Vec<ExpectedPhase>, String> {
    let (phases, metric) = iozone::phases(arguments)?;
    let phases = phases.into_iter();
    Ok(phases.map(|phase| ExpectedPhase::new(phase, metric)).collect())
}

/// Parses the jobs of a command line. `--name=` starts a job; earlier options and those of `global`
/// apply to all jobs.
fn of_jobs<'a>(arguments: &[&'a str]) -> Vec<(&'a str, Options)> {
    let mut global = Options::default();
    let mut jobs: Vec<(&str, Options)> = Vec::new();
    for word in arguments {
        let option = word.strip_prefix("--").unwrap_or(word);
        let (key, value) = option.split_once('=').unwrap_or((option, "1"));
        match (key, jobs.last_mut()) {
            ("name", _) => jobs.push((value, global.clone())),
            (_, Some(("global", _)) | None) => global.insert(key, value),
            (_, Some((_, own))) => own.insert(key, value),
        }
    }
    jobs.retain(|(name, _)| *name != "global");
    jobs
}

/// Returns the group number of each job. A new group begins with a job that waits for earlier jobs
/// or sets `new_group`.
fn groups(jobs: &[(&str, Options)]) -> Vec<i64> {
    let mut group = 0;
    let each = jobs.iter().enumerate().map(|(at, (_, options))| {
        let begins = ["stonewall", "new_group"].iter().any(|name| options.is_on(name));
        group += i64::from(at > 0 && begins);
        group
    });
    each.collect()
}

/// Returns the phases of the jobs. Their names equal those that the importer derives from fio's
/// output.
fn of_fio(arguments: &[&str]) -> Result<Vec<ExpectedPhase>, String> {
    let mut names = UniqueNames::default();
    let jobs = of_jobs(arguments);
    let threads = jobs.iter().zip(groups(&jobs)).map(|((name, options), group)| Thread {
        name,
        group,
        place: String::new(),
        identity: options.identity(None),
        of: (*name, options),
    });
    let jobs = split_jobs(threads).into_iter();
    let jobs = jobs.filter_map(|(differs_in, threads)| Some((differs_in, *threads.first()?)));
    let mut all = Vec::new();
    for (differs_in, (name, options)) in jobs {
        let mut options = options.clone();
        if options.get("rw").is_none() {
            options.insert("rw", "read");
        }
        let sides = options.sides();
        let mode = options.get("rw").unwrap_or_default();
        if sides.contains(&"trim") {
            return Err(format!(
                "job `{name}` has rw={mode}: fio's reads and writes run as a suite"
            ));
        }
        for side in sides {
            let called = if sides.len() > 1 { format!("{name}-{side}") } else { name.to_owned() };
            let (group, metric) = options.purpose(side);
            let phase = names.unique(&called, &differs_in);
            all.push(ExpectedPhase { phase, metric, group });
        }
    }
    match all.is_empty() {
        true => Err("there is no job in it: a section such as [write]".to_owned()),
        false => Ok(all),
    }
}

/// Space and writes of the jobs of fio, in bytes; `None` if the size of a job is not given as a
/// number.
///
/// A job without writes lays out its files first. Threads of a job have separate files unless it
/// names them.
pub fn fio_space(arguments: &[&str]) -> Option<(u64, u64)> {
    let jobs = of_jobs(arguments);
    let (mut space, mut written) = (0.0, 0.0);
    let mut shared: Vec<&str> = Vec::new();
    for (_, options) in &jobs {
        let files = options.number("nrfiles").max(1.0);
        let size = match options.number("size") {
            0.0 => options.number("filesize") * files,
            size => size,
        };
        if size <= 0.0 || options.get("size").is_some_and(|size| size.contains('%')) {
            return None;
        }
        let threads = options.number("numjobs").max(1.0);
        let named = options.get("filename");
        let (files, is_new) = match named {
            Some(name) => (1.0, !shared.contains(&name)),
            None => (threads, true),
        };
        shared.extend(named);
        let laid_out = if is_new { size * files } else { 0.0 };
        space += laid_out;
        let done = options.number("io_size").max(size) * options.number("loops").max(1.0);
        let sides = options.sides();
        let is_write_only = sides.iter().all(|side| *side == "write");
        let writes = sides.iter().any(|side| *side != "read");
        written += if is_write_only { 0.0 } else { laid_out };
        written += if writes { done * threads } else { 0.0 };
    }
    (!jobs.is_empty()).then_some((space as u64, written as u64))
}

/// Returns the time for which a program runs by its options. Returns `None` if only the amount of
/// its work decides.
///
/// Sources: fio(1) (`runtime`, `time_based`, `ramp_time`, `startdelay`); dbench(1) (`-t`, by default
/// 600 seconds, after a fifth of that to warm up); the language of filebench (`run SECONDS`, by
/// default 60).
pub fn duration(format: InputFormat, arguments: &[&str]) -> Option<Nanos> {
    let seconds = match format {
        InputFormat::Fio => of_jobs_in_turn(arguments),
        InputFormat::Dbench if !arguments.contains(&"--run-once") => {
            let long = arguments.iter().find_map(|word| word.strip_prefix("--timelimit="));
            let limit = long.or_else(|| option(arguments, "-t")).unwrap_or("600");
            1.2 * limit.parse::<f64>().ok()?
        }
        InputFormat::Filebench => {
            let mut lines = arguments.iter().flat_map(|workload| workload.lines());
            let run = lines.find_map(|line| line.strip_prefix("run"))?;
            run.trim().parse().unwrap_or(60.0)
        }
        _ => 0.0,
    };
    (seconds > 0.0).then_some(Nanos((seconds * 1e9) as u64))
}

/// Returns the time of all groups of jobs of fio, in seconds. Each group takes as long as its
/// longest job. The speed of random requests is unknown, so `runtime` is taken as their time.
fn of_jobs_in_turn(arguments: &[&str]) -> f64 {
    let jobs = of_jobs(arguments);
    let mut longest = BTreeMap::<i64, f64>::new();
    for ((_, options), group) in jobs.iter().zip(groups(&jobs)) {
        let is_random = options.get("rw").is_some_and(|mode| mode.contains("rand"));
        let runtime = match is_random || options.is_on("time_based") {
            true => options.seconds("runtime"),
            false => 0.0,
        };
        let before = options.seconds("startdelay") + options.seconds("ramp_time");
        let one = longest.entry(group).or_default();
        *one = one.max(before + runtime);
    }
    longest.values().sum()
}

/// Returns the phases of the workload, which is the only argument. A thread runs its operations in
/// turn. All operations therefore have the same rate and differ only in latency.
fn of_filebench(arguments: &[&str]) -> Vec<ExpectedPhase> {
    let mut names = UniqueNames::default();
    let operations = arguments.iter().flat_map(|workload| filebench_file::operations(workload));
    let all = std::iter::once(ExpectedPhase::new("all", Metric::Rate));
    all.chain(operations.map(|called| ExpectedPhase::new(&names.slug(called), Metric::LatencyMean)))
        .collect()
}

/// Returns the phases of mdtest. With `-Z`, mdtest prints times and no rates.
fn of_mdtest(arguments: &[&str]) -> Result<Vec<ExpectedPhase>, String> {
    if arguments.contains(&"-Z") {
        return Err("mdtest prints no rates with -Z: leave it out".to_owned());
    }
    let phases = mdtest::phases(arguments).into_iter();
    Ok(phases.map(|phase| ExpectedPhase::new(&phase, Metric::Rate)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phases(format: InputFormat, arguments: &str) -> Vec<String> {
        let words: Vec<&str> = arguments.split(' ').collect();
        let expected = expected(format, &words).unwrap();
        expected.into_iter().map(|one| one.phase).collect()
    }

    #[test]
    fn sizes_of_jobs_give_their_space_and_writes() {
        let of = |arguments: &str| fio_space(&arguments.split(' ').collect::<Vec<_>>());
        let mib = 1 << 20;
        assert_eq!(of("--name=a --rw=write --size=4m --numjobs=3"), Some((12 * mib, 12 * mib)));
        assert_eq!(of("--name=a --rw=read --size=4m"), Some((4 * mib, 4 * mib)), "it is laid out");
        let shared =
            "--name=global --size=4m --filename=f --name=a --rw=write --name=b --rw=randrw";
        assert_eq!(of(shared), Some((4 * mib, 8 * mib)));
        assert_eq!(of("--name=a --rw=write --filesize=1m --nrfiles=8"), Some((8 * mib, 8 * mib)));
        assert_eq!(of("--name=a --rw=write --size=50%"), None);
        assert_eq!(of("--name=a --rw=write"), None);
    }

    #[test]
    fn options_decide_how_long_a_program_runs() {
        let of = |format, arguments: &str| {
            duration(format, &arguments.split(' ').collect::<Vec<_>>()).map(|time| time.0)
        };
        let seconds = |count: u64| Some(count * 1_000_000_000);
        let fio = |arguments: &str| of(InputFormat::Fio, arguments);
        assert_eq!(fio("--name=a --rw=write --size=4m"), None);
        assert_eq!(fio("--name=a --rw=randread --size=4m --runtime=1m"), seconds(60));
        assert_eq!(fio("--name=a --rw=read --size=4m --runtime=60"), None, "its size decides");
        let global = "--name=global --rw=write --time_based --runtime=20 --ramp_time=2";
        let together = format!("{global} --name=a --name=b --runtime=30");
        assert_eq!(fio(&together), seconds(32));
        let in_turn = format!("{global} --name=a --name=b --runtime=30 --stonewall");
        assert_eq!(fio(&in_turn), seconds(22 + 32));
        assert_eq!(of(InputFormat::Dbench, "-t 10 4"), seconds(12));
        assert_eq!(of(InputFormat::Dbench, "4"), seconds(720));
        let workload = duration(InputFormat::Filebench, &["define x\nrun 5\n"]);
        assert_eq!(workload.map(|time| time.0), seconds(5));
        assert_eq!(of(InputFormat::Bonnie, "-s 8M"), None);
    }

    #[test]
    fn options_choose_the_phases() {
        assert_eq!(
            phases(InputFormat::Bonnie, "-s 8M -n 0 -f"),
            ["write", "rewrite", "read", "seek"]
        );
        assert_eq!(phases(InputFormat::Bonnie, "-s 0").len(), 6);
        assert_eq!(
            phases(InputFormat::Iozone, "-s 64k -r 4k -i 0 -i 2"),
            ["write", "rewrite", "random-read", "random-write"]
        );
        assert_eq!(phases(InputFormat::Iozone, "-s64k -r4k -i1 -RO"), ["read", "reread"]);
        assert_eq!(phases(InputFormat::Iozone, "-s64k -r4k -i0 -i1 -+n"), ["write", "read"]);
        let ranked = |words: &[&str]| expected(InputFormat::Iozone, words).unwrap()[0].metric;
        let one = ["-s", "1m", "-r", "4k", "-O"];
        assert_eq!(ranked(&one), Metric::Rate);
        assert_eq!(ranked(&[&one[..], &["-N"]].concat()), Metric::LatencyMean);
        let fio = "--name=global --rw=write --name=a --name=b --rw=randrw";
        assert_eq!(phases(InputFormat::Fio, fio), ["a", "b-read", "b-write"]);
        // The second job waits for the first; the third is another thread of the second.
        let fio = "--name=a --rw=write --name=a --rw=write --stonewall --name=a --rw=write";
        assert_eq!(phases(InputFormat::Fio, fio), ["a", "a-2"]);
        let fio = "--name=a --rw=write --name=a --rw=read --name=a --rw=read --bs=8k";
        assert_eq!(phases(InputFormat::Fio, fio), ["a", "a-2", "a-3"]);
        assert_eq!(phases(InputFormat::Mdtest, "-F -n 3").len(), 6);
        assert_eq!(phases(InputFormat::Mdtest, "-n 3").len(), 9);
        assert_eq!(
            phases(InputFormat::Mdtest, "-n3 -CT -F"),
            ["file-creation", "file-stat", "tree-creation"]
        );
        assert_eq!(
            phases(InputFormat::Mdtest, "-DUr -n 3"),
            ["directory-rename", "directory-removal", "tree-removal"]
        );
    }

    #[test]
    fn refuses_options_with_unpredictable_output() {
        for (format, words) in [
            (InputFormat::Iozone, "-a"),
            (InputFormat::Iozone, "-s 1m -s 2m -r 4k"),
            (InputFormat::Iozone, "-s 1m -r 4k -r8k"),
            (InputFormat::Mdtest, "-n 5 -Z"),
            (InputFormat::Fio, "--rw=read"),
            (InputFormat::Phoronix, ""),
        ] {
            let words: Vec<&str> = words.split(' ').collect();
            let error = expected(format, &words).unwrap_err();
            assert_eq!(error.lines().count(), 1);
        }
    }
}
