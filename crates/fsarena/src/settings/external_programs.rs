//! `-s fio:my.fio`, `-s bonnie++:'-s 64M -n 4'`: other programs as suites. They run as a command in
//! the filesystem, and their output becomes phases of the test.

use std::path::Path;

use import::{ExpectedPhase, InputFormat};
use model::op::External;
use model::{
    BackendKind, Bytes, CacheState, Exec, Op, PEERS as SUITE, Phase, ProgramRequirements,
    SkippedSuite, Suite, SyncAtEnd, Test, check_name,
};
use storage::HostInfo;
use sys::fs::plain_file;
use sys::interruption;

use crate::output::exit::{EnvironmentError, UsageError, UserInterrupt, error_chain};

/// Assumed space for a program with an unknown amount of output, in bytes.
const ROOM: Bytes = Bytes::mib(256);

/// A program, and the command that starts it in the current directory.
struct ExternalProgram {
    format: InputFormat,
    program: &'static str,
    /// Package of Debian 12 that contains it, if any.
    package: Option<&'static str>,
    /// Start of its command line; the user's options are appended.
    start: &'static str,
    /// Options that name another directory or file, or affect more than the measured filesystem.
    places: &'static [char],
}

impl ExternalProgram {
    /// Returns true if an argument could access files outside the measured filesystem. Short
    /// options can be combined and followed by values, so an argument must not contain any of the
    /// forbidden letters.
    fn leads_out(&self, word: &str) -> bool {
        let is_other = match (word.strip_prefix("--"), word.strip_prefix('-')) {
            (Some(long), _) => {
                let long = long.split('=').next().unwrap_or_default();
                self.format != InputFormat::Dbench || !LONG_OF_DBENCH.contains(&long)
            }
            (None, Some(letters)) => letters.contains(self.places),
            (None, None) => false,
        };
        is_other || word.contains('/') || word.contains("..")
    }

    fn packages(&self) -> Vec<String> {
        self.package.into_iter().map(str::to_owned).collect()
    }

    /// Returns the requirements of the program.
    fn requires(&self) -> ProgramRequirements {
        ProgramRequirements {
            packages: self.packages(),
            programs: vec![self.program.to_owned()],
            files: Vec::new(),
        }
    }

    /// Returns true if guests can run the program. The load file of dbench is missing in guests,
    /// and other programs have no package.
    fn is_for_guests(&self) -> bool {
        self.package.is_some() && self.format != InputFormat::Dbench
    }
}

/// Allowed long options, only for dbench: they change how it loads the filesystem.
const LONG_OF_DBENCH: [&str; 9] = [
    "clients-per-process",
    "fsync",
    "no-resolve",
    "one-byte-write-fix",
    "run-once",
    "sync",
    "sync-dir",
    "target-rate",
    "timelimit",
];

const PEERS: [ExternalProgram; 7] = [
    peer(
        InputFormat::Bonnie,
        "bonnie++",
        Some("bonnie++"),
        "bonnie++ -d . -q",
        // A comma in the machine name (-m) would add a column.
        &['d', 'Z'],
    ),
    peer(
        InputFormat::Iozone,
        "iozone",
        Some("iozone3"),
        "iozone -f iozone.tmp",
        &['f', 'F', 'b', 'U', '+'],
    ),
    peer(
        InputFormat::Fio,
        "fio",
        Some("fio"),
        "fio --output-format=json+ --directory=.",
        // Options come from a job file, which is restricted.
        &[],
    ),
    peer(InputFormat::FsMark, "fs_mark", Some("fsmark"), "fs_mark -d .", &['d', 'l']),
    peer(InputFormat::Mdtest, "mdtest", None, "mdtest -d .", &['a', 'd', 'x']),
    peer(InputFormat::Dbench, "dbench", Some("dbench"), "dbench -D .", &['B', 'D', 'c']),
    peer(
        InputFormat::Filebench,
        "filebench",
        None,
        // The processes share memory at a fixed address, so address randomization is disabled.
        "setarch -R filebench -f /dev/stdin",
        // The program takes no options.
        &[],
    ),
];

const fn peer(
    format: InputFormat,
    program: &'static str,
    package: Option<&'static str>,
    start: &'static str,
    places: &'static [char],
) -> ExternalProgram {
    ExternalProgram { format, program, package, start, places }
}

/// Returns the names of all external programs, to check which a machine has.
pub fn programs() -> impl Iterator<Item = &'static str> {
    PEERS.iter().map(|peer| peer.program)
}

/// Returns the requirements of a program in a guest. Returns `None` for an unknown name.
pub fn required(name: &str) -> Option<ProgramRequirements> {
    let mut peers = PEERS.iter().filter(|peer| peer.is_for_guests());
    peers.find(|peer| peer.program == name).map(ExternalProgram::requires)
}

/// Returns the programs of these suites that guests must contain.
pub fn brought(suites: &[Suite]) -> impl Iterator<Item = String> {
    let peers = suites.iter().filter(|suite| suite.name == SUITE);
    let programs = peers.flat_map(|suite| suite.requires.programs.iter());
    programs.filter(|name| required(name).is_some()).cloned()
}

/// Removes the suites of a campaign whose programs and files the machine lacks, and returns them with
/// the reasons. Guests contain the programs.
///
/// # Errors
/// Returns an error if no suite remains, if `needs_all` is true and one is missing, if a program that
/// runs as a suite is missing, or if guests cannot have a program.
pub fn skip_without_programs(
    suites: &mut Vec<Suite>,
    needs_all: bool,
    backend: BackendKind,
    machine: &HostInfo,
) -> Result<Vec<SkippedSuite>, EnvironmentError> {
    if backend == BackendKind::Vm {
        let programs = suites.iter().filter(|suite| suite.name == SUITE);
        let mut programs = programs.flat_map(|suite| &suite.requires.programs);
        let other = programs.find(|name| required(name).is_none());
        return other.map_or(Ok(Vec::new()), |name| {
            Err(EnvironmentError(format!(
                "guests cannot have {name}: run it on images or in mounted directories"
            )))
        });
    }
    let missing = |suite: &Suite| {
        let need = storage::missing_programs(suite, machine)?;
        let advice = match need.packages.is_empty() {
            true => "Debian has no package of it: build it, and put it on the PATH".to_owned(),
            false => need.command,
        };
        let reason = format!("it needs {}, missing here; {advice}", need.description);
        Some(SkippedSuite { suite: suite.name.clone(), reason })
    };
    let skipped: Vec<SkippedSuite> = suites.iter().filter_map(missing).collect();
    suites.retain(|suite| skipped.iter().all(|skipped| skipped.suite != suite.name));
    let is_needed =
        |skipped: &&SkippedSuite| needs_all || suites.is_empty() || skipped.suite == SUITE;
    match skipped.iter().find(is_needed) {
        Some(SkippedSuite { suite, reason }) => {
            Err(EnvironmentError(format!("cannot run suite {suite}: {reason}")))
        }
        None => Ok(skipped),
    }
}

/// Returns the suite of other programs among the names, and the remaining names. Relative paths are
/// relative to `base`. `as_root` is true if root runs them.
///
/// # Errors
/// Returns an error if a program cannot run with its options.
pub fn parse_program_suites(
    names: &[String],
    base: &Path,
    as_root: bool,
) -> anyhow::Result<(Option<Suite>, Vec<String>)> {
    let (mut tests, mut left) = (Vec::<Test>::new(), Vec::new());
    let mut requires = ProgramRequirements::default();
    for name in names {
        let Some((program, options)) = name.split_once(':') else {
            left.push(name.clone());
            continue;
        };
        let peer = PEERS.iter().find(|peer| peer.program == program).ok_or_else(|| {
            let all = PEERS.map(|peer| peer.program).join(", ");
            UsageError(format!("`{program}` cannot be run as a suite: one of {all}"))
        })?;
        if !requires.programs.iter().any(|known| known == program) {
            let of_peer = peer.requires();
            requires.packages.extend(of_peer.packages);
            requires.programs.extend(of_peer.programs);
        }
        let mut test = test(peer, options, base, as_root)?;
        let stem = test.name.clone();
        let mut number = 1;
        while tests.iter().any(|known| known.name == test.name) {
            number += 1;
            test.name = format!("{stem}-{number}");
        }
        tests.push(test);
    }
    let suite = (!tests.is_empty()).then(|| Suite {
        name: SUITE.to_owned(),
        title: "Other programs, as they are".to_owned(),
        source: "the programs themselves; what they print is read as `fsarena import` reads it"
            .to_owned(),
        requires,
        archives: Vec::new(),
        baseline: None,
        tests,
    });
    Ok((suite, left))
}

/// Returns a program with its options as a test: a command, and the phases of its output.
fn test(peer: &ExternalProgram, options: &str, base: &Path, as_root: bool) -> anyhow::Result<Test> {
    let wrong = |why: String| UsageError(format!("-s {}:{options}: {why}", peer.program));
    let own = own_words(peer, options, base)?;
    let borrowed: Vec<&str> = own.iter().map(String::as_str).collect();
    let expected = import::expected(peer.format, &borrowed).map_err(wrong)?;
    let (space, written) = match peer.format {
        InputFormat::Fio => import::fio_space(&borrowed),
        _ => None,
    }
    .map_or((ROOM, ROOM), |(space, written)| (Bytes(space), Bytes(written)));
    let (mut command, mut input) = (vec![peer.start.to_owned()], String::new());
    match peer.format {
        InputFormat::Filebench => input = own.concat(),
        format => {
            if format == InputFormat::Bonnie {
                command.extend(for_bonnie(&borrowed, as_root));
            }
            command.extend(own.iter().map(|word| Exec::quoted(word)));
        }
    }
    let exec = Op::Exec(Exec {
        writes: Some(written),
        packages: peer.packages(),
        input,
        lasts: import::duration(peer.format, &borrowed),
        ..Exec::new(command.join(" "))
    });
    exec.info().check().map_err(wrong)?;
    let phases = expected.into_iter().map(read);
    Ok(Test {
        name: name(peer, options),
        suite: SUITE.to_owned(),
        title: format!("{} {options}", peer.program),
        rationale: "The workload and the results of another program, on newly created filesystems."
            .to_owned(),
        space,
        data: model::DataKind::default(),
        sweep: None,
        phases: std::iter::once(phase("run", exec, CacheState::Warm, SyncAtEnd::Syncfs))
            .chain(phases)
            .collect(),
    })
}

/// Returns the user's arguments of a program: options, the options of a job file, or a workload as
/// one argument. None of them may access files outside the measured filesystem.
fn own_words(peer: &ExternalProgram, options: &str, base: &Path) -> anyhow::Result<Vec<String>> {
    if options.is_empty() && matches!(peer.format, InputFormat::Fio | InputFormat::Filebench) {
        let program = peer.program;
        let why = format!(
            "cannot run -s {program}: its file is missing; name one, as in -s {program}:FILE"
        );
        return Err(UsageError(why).into());
    }
    let file = || job_file(&base.join(options));
    let in_file = |error: import::ImportError| UsageError(format!("{options}: {error}"));
    match peer.format {
        InputFormat::Fio => {
            let path = base.join(options);
            let beside = path.parent().unwrap_or(base);
            let context = import::JobFileContext {
                include: &|name| job_file(&beside.join(name)).map_err(|error| error_chain(&error)),
                variable: &|name| std::env::var(name).ok(),
            };
            let arguments = import::fio_arguments(&file()?, &context);
            match interruption::is_requested() {
                true => Err(UserInterrupt.into()),
                false => Ok(arguments.map_err(in_file)?),
            }
        }
        InputFormat::Filebench => Ok(vec![import::filebench_workload(&file()?).map_err(in_file)?]),
        _ => {
            let wrong = |why: String| UsageError(format!("-s {}:{options}: {why}", peer.program));
            let own = words(options).map_err(wrong)?;
            // bonnie++ prints comma-separated columns, which include a name (`-m`).
            if peer.format == InputFormat::Bonnie && options.contains(',') {
                return Err(wrong(
                    "a comma would break the CSV output of the program; remove it".to_owned(),
                )
                .into());
            }
            match own.iter().find(|word| peer.leads_out(word)) {
                None => Ok(own),
                Some(word) => Err(wrong(format!(
                    "`{word}` names a place, a file or another program: leave it out, for the program runs in the filesystem that is measured"
                ))
                .into()),
            }
        }
    }
}

/// Reads a job file or a workload. Returns an error if the user asks to stop.
fn job_file(path: &Path) -> anyhow::Result<Vec<u8>> {
    if interruption::is_requested() {
        return Err(UserInterrupt.into());
    }
    let bytes = plain_file::read(path, import::MAX_JOB_FILE_SIZE.0);
    Ok(bytes.map_err(|e| UsageError(format!("cannot read {}: {e}", path.display())))?)
}

/// Returns a phase that is parsed from the program's output.
fn read(expected: ExpectedPhase) -> Phase {
    let ExpectedPhase { phase: name, metric, group } = expected;
    let op = Op::External(External { metric, group, total: false });
    phase(&name, op, CacheState::Unknown, SyncAtEnd::Unknown)
}

fn phase(name: &str, op: Op, cache: CacheState, ends: SyncAtEnd) -> Phase {
    Phase {
        name: name.to_owned(),
        cache,
        sync_at_end: ends,
        at_most: None,
        scaling: None,
        step: None,
        needs: None,
        from_next_host: false,
        op,
    }
}

/// Returns the options that bonnie++ needs: `-u` if run as root (numeric, because guests have no
/// user names), and `-r`, because it otherwise requires a file of twice the memory.
fn for_bonnie(options: &[&str], as_root: bool) -> Vec<String> {
    let has = |option: &str| options.iter().any(|word| word.starts_with(option));
    let mut more = Vec::new();
    if !has("-u") && as_root {
        more.push("-u 0:0".to_owned());
    }
    if !has("-r") {
        more.push("-r 1".to_owned());
    }
    more
}

/// Returns the name of the test, with the name of the file if given: `peer-fio-my`, `peer-iozone`.
fn name(peer: &ExternalProgram, options: &str) -> String {
    let of_file = Path::new(options)
        .file_stem()
        .filter(|_| matches!(peer.format, InputFormat::Fio | InputFormat::Filebench));
    let stem = of_file.and_then(|stem| stem.to_str()).unwrap_or_default().to_lowercase();
    let name = format!("peer-{}-{stem}", peer.program);
    match check_name(&name) {
        Ok(()) if !stem.is_empty() => name,
        _ => format!("peer-{}", peer.program),
    }
}

/// Splits a command line into words, including quotes.
fn words(options: &str) -> Result<Vec<String>, String> {
    Ok(Exec::new(format!("program {options}")).arguments()?.split_off(1))
}
