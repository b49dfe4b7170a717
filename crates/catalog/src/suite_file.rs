//! One file of `suites/`: raw TOML → a checked [`Suite`] for one profile.

use model::{Bytes, CacheState, End, Op, Phase, Profile, Suite, Test};

use crate::CatalogError;
use crate::document::{Claims, Source, Table};
use crate::operation;
use crate::parameters::Parameters;
use crate::phase_order::PhaseOrder;

const KEYS: [&str; 4] = ["name", "title", "source", "test"];
const TEST: [&str; 6] = ["name", "title", "rationale", "space", "parameters", "phase"];
const PHASE: [&str; 5] = ["name", "op", "cache", "ends", "at_most"];

const CACHES: [(&str, CacheState); 4] = [
    ("cold", CacheState::Cold),
    ("warm", CacheState::Warm),
    ("direct", CacheState::Direct),
    ("advised", CacheState::Advised),
];
const ENDS: [(&str, End); 3] = [
    ("call", End::Call),
    ("fsync", End::Fsync),
    ("syncfs", End::Syncfs),
];

/// Reads one suite as a profile sets its parameters; it claims the names of its tests.
pub(crate) fn read(source: Source<'_>, profile: Profile) -> Result<(Suite, Claims), CatalogError> {
    let document = source.parse()?;
    let top = Table::top(source, &document, &KEYS)?;
    let name = top.need("name")?.name()?;
    let mut tests: Vec<Test> = Vec::new();
    let mut claims = Claims::new();
    for value in top.need("test")?.list("tests, each under [[test]]")? {
        let raw = value.table(&TEST)?;
        let parameters = Parameters::read(&raw, profile)?;
        let test = read_test(&raw, &parameters, &name)?;
        if tests.iter().any(|t| t.name == test.name) {
            return Err(raw.error(format!("the suite has two tests `{}`", test.name)));
        }
        claims.push((test.name.clone(), raw.need("name")?.line()));
        tests.push(test);
    }
    if tests.is_empty() {
        return Err(top.need("test")?.wrong("at least one test"));
    }
    let suite = Suite {
        name,
        title: top.text("title")?,
        source: top.text("source")?,
        tests,
    };
    Ok((suite, claims))
}

fn read_test(
    raw: &Table<'_>,
    parameters: &Parameters<'_>,
    suite: &str,
) -> Result<Test, CatalogError> {
    let table = raw.clone().with_parameters(parameters);
    let (phases, written) = read_phases(&table)?;
    let space = table.need("space")?;
    if space.size()? < written {
        return Err(space.wrong(&format!("at least {written}, which its phases write")));
    }
    let test = Test {
        name: table.need("name")?.name()?,
        suite: suite.to_owned(),
        title: table.text("title")?,
        rationale: table.text("rationale")?,
        space: space.size()?,
        sweep: None,
        phases,
    };
    parameters.refuse_unused()?;
    Ok(test)
}

/// The phases of a test, and the most that they have on the filesystem at once.
fn read_phases(test: &Table<'_>) -> Result<(Vec<Phase>, Bytes), CatalogError> {
    let value = test.need("phase")?;
    let mut phases: Vec<Phase> = Vec::new();
    let mut order = PhaseOrder::default();
    for value in value.list("phases, each under [[test.phase]]")? {
        let table = value.any_table()?;
        let phase = read_phase(&table)?;
        if phases.iter().any(|p| p.name == phase.name) {
            return Err(table.error(format!("the test has two phases `{}`", phase.name)));
        }
        order
            .admit(&phase)
            .map_err(|m| table.error(format!("phase `{}`: {m}", phase.name)))?;
        phases.push(phase);
    }
    if phases.is_empty() {
        return Err(value.wrong("at least one phase"));
    }
    Ok((phases, order.most_written()))
}

fn read_phase(raw: &Table<'_>) -> Result<Phase, CatalogError> {
    let operation = operation::find(&raw.need("op")?)?;
    let table = raw.clone().with_keys(&[&PHASE, operation.keys])?;
    let op = operation.read(&table)?;
    let at_most = table.read("at_most", |v| v.time_limit())?.flatten();
    let (cache, ends) = if works_on_files(&op) {
        (
            table.need("cache")?.word(&CACHES)?,
            table.need("ends")?.word(&ENDS)?,
        )
    } else {
        for key in ["cache", "ends", "at_most"] {
            if let Some(value) = table.get(key)? {
                let word = operation.word;
                return Err(
                    value.error(format!("`{key}` means nothing for `{word}`; leave it out"))
                );
            }
        }
        (CacheState::None, End::Call)
    };
    Ok(Phase {
        name: table.need("name")?.name()?,
        cache,
        ends,
        at_most,
        scaling: None,
        op,
    })
}

/// Whether cache state and end of the operation are a choice at all.
fn works_on_files(op: &Op) -> bool {
    !(op.is_command() || matches!(op, Op::Capacity | Op::Probe { .. }))
}

/// Every key that such a file may hold, but for those of the operations.
#[cfg(test)]
pub(crate) fn all_keys() -> impl Iterator<Item = &'static str> {
    KEYS.into_iter().chain(TEST).chain(PHASE)
}
