//! `fsarena doctor`: which contender runs here, and the command that would make the others.

use std::collections::BTreeSet;
use std::process::ExitCode;

use catalog::Catalog;
use model::{Backend, Filesystem};
use provision::{Machine, Need, Verdict, verdict};
use serde_json::{Value, json};

use crate::cli::{DoctorArgs, Globals};
use crate::exit::Code;
use crate::output::{line, print, print_json, table};
use crate::paths;

const BACKENDS: [Backend; 3] = [Backend::Loop, Backend::Dir, Backend::Vm];

/// Examines this machine and writes the verdicts.
pub fn run(args: &DoctorArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let catalog = paths::catalog(globals)?;
    let machine = Machine::look();
    match (args.packages, globals.json) {
        (true, false) => {
            let packages: Vec<String> = packages(&catalog, &machine).into_iter().collect();
            print(&format!("{}\n", packages.join(" ")))?;
        }
        (true, true) => print_json(&json!(packages(&catalog, &machine)))?,
        (false, true) => print_json(&value(&catalog, &machine))?,
        (false, false) => print(&text(&catalog, &machine))?,
    }
    Ok(Code::Done.into())
}

/// A row for each filesystem and the loop backend, where verdicts differ; the others in a line each.
fn text(catalog: &Catalog, machine: &Machine) -> String {
    let rows: Vec<_> = catalog
        .filesystems()
        .map(|f| {
            let (word, what) = words(&verdict(f, Backend::Loop, machine), f);
            [f.name.clone(), word.to_owned(), what]
        })
        .collect();
    let mut text = table(["contender", "loop", "what it needs, or why not"], &rows);
    text += "\nOn the other backends, for every contender alike:\n";
    text += "  dir  runs: any mounted directory works, without root (--dir DIR)\n";
    text += "  vm   impossible: this version has no vm backend\n";
    text
}

fn words(verdict: &Verdict, filesystem: &Filesystem) -> (&'static str, String) {
    match verdict {
        Verdict::Runs => {
            let named = filesystem.only_when_named.as_deref();
            (
                "runs",
                named
                    .map(|why| format!("only when named: {}", line(why)))
                    .unwrap_or_default(),
            )
        }
        Verdict::Missing { needs } => {
            let each = |need: &Need| format!("{}: {}", line(&need.what), line(&need.command));
            (
                "missing",
                needs.iter().map(each).collect::<Vec<_>>().join("; "),
            )
        }
        Verdict::Impossible { why } => ("impossible", line(why)),
    }
}

fn value(catalog: &Catalog, machine: &Machine) -> Value {
    let contenders = catalog.filesystems().map(|f| {
        let backends = BACKENDS.map(|b| (b.to_string(), json!(verdict(f, b, machine))));
        json!({
            "contender": f.name,
            "only-when-named": f.only_when_named,
            "backends": Value::Object(backends.into_iter().collect()),
        })
    });
    contenders.collect()
}

/// The packages that are missing for those who would compete if they were there.
fn packages(catalog: &Catalog, machine: &Machine) -> BTreeSet<String> {
    let would_compete = catalog
        .filesystems()
        .filter(|f| f.only_when_named.is_none());
    would_compete
        .filter_map(|f| match verdict(f, Backend::Loop, machine) {
            Verdict::Missing { needs } => Some(needs),
            Verdict::Runs | Verdict::Impossible { .. } => None,
        })
        .flatten()
        .flat_map(|need| need.packages)
        .collect()
}
