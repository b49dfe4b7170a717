//! Reads one file of `suites/`: TOML → a validated [`Suite`] for one profile.

use std::collections::BTreeSet;

use model::{
    Bytes, CacheState, DataKind, IterationPolicy, Op, Phase, ProgramRequirements, SizeProfile,
    SourceArchive, Suite, SyncAtEnd, Test,
};

use crate::CatalogError;
use crate::catalog::document::{NameRegistry, TomlSource, TomlTable, TomlValue};
use crate::suite::mixes;
use crate::suite::operation;
use crate::suite::parameters::{Parameters, StudyOverrides, for_profile};
use crate::suite::phase_order::PhaseOrder;
use crate::suite::sweep::{self, ParsedPoint};

const KEYS: [&str; 8] =
    ["name", "title", "source", "requires", "archive", "baseline", "data", "test"];
const ARCHIVE: [&str; 5] = ["name", "package", "source_package", "file", "sha256"];
const REQUIRES: [&str; 3] = ["packages", "programs", "files"];
const TEST: [&str; 7] = ["name", "title", "rationale", "space", "parameters", "sweep", "phase"];
const PHASE: [&str; 9] =
    ["name", "op", "step", "needs", "cache", "ends", "at_most", "repeat", "from_next_host"];
/// Keys that are only valid for phases that access files.
const FILES_ONLY: [&str; 4] = ["cache", "ends", "at_most", "repeat"];

const CACHES: [(&str, CacheState); 4] = [
    ("cold", CacheState::Cold),
    ("warm", CacheState::Warm),
    ("direct", CacheState::Direct),
    ("advised", CacheState::FadviseDontNeed),
];
const ENDS: [(&str, SyncAtEnd); 3] =
    [("call", SyncAtEnd::Call), ("fsync", SyncAtEnd::Fsync), ("syncfs", SyncAtEnd::Syncfs)];

/// Reads one suite with its parameters resolved for a profile. It defines the names of its tests
/// and sweeps. `scaling` controls the repetition of phases that end too soon.
pub(crate) fn read(
    source: TomlSource<'_>,
    profile: SizeProfile,
    scaling: Option<IterationPolicy>,
) -> Result<(Suite, NameRegistry), CatalogError> {
    read_with_overrides(source, profile, scaling, &StudyOverrides::new())
}

/// Reads one suite with parameters that a study overrides.
pub(crate) fn read_with_overrides(
    source: TomlSource<'_>,
    profile: SizeProfile,
    scaling: Option<IterationPolicy>,
    instead: &StudyOverrides<'_>,
) -> Result<(Suite, NameRegistry), CatalogError> {
    let document = source.parse()?;
    let top = TomlTable::top(source, &document, &KEYS)?;
    let name = top.required("name")?.name()?;
    let (title, requires) = (top.text("title")?, requires(&top, profile)?);
    let archives = archives(&top)?;
    let data = top.read("data", |v| v.one_of(&DataKind::WORDS))?.unwrap_or_default();
    let mut tests: Vec<Test> = Vec::new();
    let mut claims = NameRegistry::new();
    for value in top.required("test")?.list("tests, each under [[test]]")? {
        let raw = value.table(&TEST)?;
        let line = raw.required("name")?.line();
        for mut test in read_points(&raw, profile, [&name, &title], scaling, instead)? {
            if tests.iter().any(|t| t.name == test.name) {
                return Err(raw.error(format!("the suite has two tests `{}`", test.name)));
            }
            name_packages(&mut test, &requires.packages);
            test.data = data;
            let sweep = test.sweep.as_ref().map(|point| point.sweep.clone());
            for claim in sweep.into_iter().chain([test.name.clone()]) {
                if !claims.contains(&(claim.clone(), line)) {
                    claims.push((claim, line));
                }
            }
            tests.push(test);
        }
    }
    if tests.is_empty() {
        return Err(top.required("test")?.expected_error("at least one test"));
    }
    let suite = Suite {
        name,
        title,
        source: top.text("source")?,
        requires,
        archives: used(archives, &tests).map_err(|why| top.error(why))?,
        baseline: top.read("baseline", |v| v.name())?,
        tests,
    };
    Ok((suite, claims))
}

/// Reads the programs that the suite's commands need and their packages, for all profiles or for
/// one.
fn requires(
    top: &TomlTable<'_>,
    profile: SizeProfile,
) -> Result<ProgramRequirements, CatalogError> {
    let Some(requires) = top.get("requires")? else {
        return Ok(ProgramRequirements::default());
    };
    let table = requires.table(&REQUIRES)?;
    let list = |key| {
        let value = table.get(key)?;
        let of_profile = value.map(|value| for_profile(value, profile)).transpose()?;
        // A profile may need none.
        let listed = of_profile.map(|value| value.list_or_none("texts")).transpose()?;
        listed.unwrap_or_default().iter().map(TomlValue::text).collect::<Result<_, _>>()
    };
    Ok(ProgramRequirements {
        packages: list("packages")?,
        programs: list("programs")?,
        files: list("files")?,
    })
}

fn archives(top: &TomlTable<'_>) -> Result<Vec<SourceArchive>, CatalogError> {
    let Some(value) = top.get("archive")? else {
        return Ok(Vec::new());
    };
    let all = value.list("archives, each under [[archive]]")?;
    all.iter().map(|value| archive(&value.table(&ARCHIVE)?)).collect()
}

fn archive(table: &TomlTable<'_>) -> Result<SourceArchive, CatalogError> {
    let (binary, source) = (table.get("package")?, table.get("source_package")?);
    let is_source = source.is_some();
    let package = match (binary, source) {
        (Some(package), None) | (None, Some(package)) => package.text()?,
        _ => return Err(table.error("give `package` or `source_package`".into())),
    };
    Ok(SourceArchive {
        name: table.required("name")?.name()?,
        package,
        is_source,
        file: table.text("file")?,
        sha256: table.read("sha256", |v| v.text())?,
    })
}

/// Returns the archives that commands use. Returns an error if the suite does not define one of
/// them.
fn used(archives: Vec<SourceArchive>, tests: &[Test]) -> Result<Vec<SourceArchive>, String> {
    let phases = tests.iter().flat_map(|test| &test.phases);
    let names: BTreeSet<&str> = phases.flat_map(|phase| phase.op.archives()).collect();
    match names.iter().find(|name| !archives.iter().any(|a| a.name == **name)) {
        Some(name) => {
            Err(format!("a command uses $ARCHIVES/{name}, but no [[archive]] has this name"))
        }
        None => Ok(archives.into_iter().filter(|a| names.contains(a.name.as_str())).collect()),
    }
}

/// Adds the package names to commands, for the message about a missing program.
fn name_packages(test: &mut Test, packages: &[String]) {
    for phase in &mut test.phases {
        if let Op::Exec(exec) = &mut phase.op {
            exec.packages = packages.to_vec();
        }
    }
}

/// Reads a test, or one test per point of its sweep.
fn read_points<'a>(
    raw: &TomlTable<'a>,
    profile: SizeProfile,
    suite: [&str; 2],
    scaling: Option<IterationPolicy>,
    instead: &StudyOverrides<'a>,
) -> Result<Vec<Test>, CatalogError> {
    let resolve = |value| for_profile(value, profile);
    let points = raw.read("sweep", |sweep| sweep::points(&sweep, resolve))?;
    let Some(points) = points else {
        let parameters = Parameters::read(raw, profile, &ParsedPoint::default(), instead)?;
        return Ok(vec![read_test(raw, &parameters, suite, scaling, None)?]);
    };
    points
        .iter()
        .map(|point| {
            let parameters = Parameters::read(raw, profile, point, instead)?;
            read_test(raw, &parameters, suite, scaling, Some(point))
        })
        .collect()
}

fn read_test(
    raw: &TomlTable<'_>,
    parameters: &Parameters<'_>,
    suite: [&str; 2],
    scaling: Option<IterationPolicy>,
    point: Option<&ParsedPoint<'_>>,
) -> Result<Test, CatalogError> {
    let table = raw.clone().with_parameters(parameters);
    let (phases, written) = read_phases(&table, scaling, point.is_some())?;
    let space = table.required("space")?;
    if space.size()? < written {
        return Err(space.expected_error(&format!("at least {written}, which its phases write")));
    }
    let of = table.required("name")?.name()?;
    // In a suite with one test, the test may share the title of the suite.
    let title = table.read("title", |v| v.text())?;
    let title = title.unwrap_or_else(|| suite[1].to_owned());
    let name = point.map_or_else(|| of.clone(), |point| point.name(&of));
    model::check_name(&name).map_err(|e| table.error(format!("the name of a point: {e}")))?;
    let test = Test {
        name,
        suite: suite[0].to_owned(),
        title: point.map_or_else(|| title.clone(), |point| format!("{title}: {}", point.label())),
        rationale: table.text("rationale")?,
        space: space.size()?,
        data: DataKind::default(),
        sweep: point.map(|point| point.to_model(&of)),
        phases,
    };
    parameters.check_all_used()?;
    Ok(test)
}

/// Reads the phases of a test and their maximum space on the filesystem. Omits a phase at points of
/// a sweep at which its stride exceeds the file.
fn read_phases(
    test: &TomlTable<'_>,
    scaling: Option<IterationPolicy>,
    swept: bool,
) -> Result<(Vec<Phase>, Bytes), CatalogError> {
    let value = test.required("phase")?;
    let mut phases: Vec<Phase> = Vec::new();
    let mut order = PhaseOrder::default();
    for value in value.list("phases, each under [[test.phase]]")? {
        let table = value.any_table()?;
        for phase in read_phase(&table, scaling)? {
            if phases.iter().any(|p| p.name == phase.name) {
                return Err(table.error(format!("the test has two phases `{}`", phase.name)));
            }
            require_place(&table, &phase, &phases)?;
            if swept && order.steps_beyond(&phase) {
                continue;
            }
            order
                .check_next(&phase)
                .map_err(|m| table.error(format!("phase `{}`: {m}", phase.name)))?;
            phases.push(phase);
        }
    }
    if phases.is_empty() {
        return Err(value.expected_error("at least one phase"));
    }
    Ok((phases, order.max_bytes_on_disk()))
}

/// Checks that needed phases precede this phase, and that the phases of a step are adjacent. A test
/// may prepare at any place.
fn require_place(
    table: &TomlTable<'_>,
    phase: &Phase,
    before: &[Phase],
) -> Result<(), CatalogError> {
    for needed in phase.needs.iter().flatten() {
        if !before.iter().any(|p| p.name == *needed) {
            return Err(table
                .required("needs")?
                .error(format!("no phase `{needed}` comes before this one")));
        }
    }
    let others = before.iter().rev().skip_while(|p| p.step() == phase.step());
    match others.into_iter().find(|p| p.step() == phase.step()) {
        Some(_) if !phase.is_preparation() => Err(table
            .error(format!("the phases of the step `{}` do not follow one another", phase.step()))),
        _ => Ok(()),
    }
}

/// Reads a phase and the phases derived from it.
fn read_phase(
    raw: &TomlTable<'_>,
    scaling: Option<IterationPolicy>,
) -> Result<Vec<Phase>, CatalogError> {
    let operation = operation::find(&raw.required("op")?)?;
    let table = raw.clone().with_keys(&[&PHASE, operation.keys])?;
    let op = operation::read(operation, &table)?;
    let at_most = table.read("at_most", |v| v.time_limit())?.flatten();
    let on_files = !op.info().allowed_ends().is_empty();
    let (cache, ends) = if on_files {
        let usual = op.info().default_end();
        let cache = table.read("cache", |v| v.one_of(&CACHES))?;
        let ends = table.read("ends", |v| v.one_of(&ENDS))?;
        match (cache, ends, usual) {
            (Some(cache), Some(ends), _) => (cache, ends),
            (cache, ends, Some(usual)) => (cache.unwrap_or(usual.0), ends.unwrap_or(usual.1)),
            (None, ..) => return Err(table.error("missing key `cache`".into())),
            (_, None, _) => return Err(table.error("missing key `ends`".into())),
        }
    } else {
        for key in FILES_ONLY {
            if let Some(value) = table.get(key)? {
                let word = operation.name;
                return Err(value.error(format!("`{key}` cannot be used for `{word}`; remove it")));
            }
        }
        (CacheState::None, SyncAtEnd::Call)
    };
    let repeat = table.read("repeat", |v| v.flag())?.unwrap_or(true);
    let phase = Phase {
        name: table.required("name")?.name()?,
        cache,
        sync_at_end: ends,
        at_most,
        scaling: scaling.filter(|_| on_files && repeat && op.is_undoable()),
        step: table.read("step", |v| v.name())?,
        needs: table.get("needs")?.map(|_| table.texts("needs")).transpose()?,
        from_next_host: table.read("from_next_host", |v| v.flag())?.unwrap_or(false),
        op,
    };
    match &phase.op {
        Op::Mix(mix) => {
            let alone = table.read("alone", |v| v.flag())?.unwrap_or(false);
            mixes::phases(&phase, mix, alone).map_err(|message| table.error(message))
        }
        _ => Ok(vec![phase]),
    }
}

/// Returns all valid keys of such a file, without the keys of operations.
#[cfg(test)]
pub(crate) fn all_keys() -> impl Iterator<Item = &'static str> {
    let sweep = sweep::AXES.into_iter().chain(sweep::RANGE);
    KEYS.into_iter()
        .chain(REQUIRES)
        .chain(ARCHIVE)
        .chain(TEST)
        .chain(PHASE)
        .chain(model::Mix::ROLE_KEYS)
        .chain(sweep)
}
