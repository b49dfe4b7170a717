//! `fsarena guard`: checks whether the second of two contenders is worse, or searches a list of
//! versions.
//!
//! Each round contains both contenders, one directly after the other in random order, so that slow
//! changes of the machine affect both equally.

use std::path::PathBuf;
use std::process::ExitCode;

use campaign::run::CampaignEnd;
use config::{ContenderEntry, DirectoryContender};

use crate::args::cli::GlobalArgs;
use crate::args::compare_args::{CompareArgs, GuardArgs};
use crate::args::run_args::RunArgs;
use crate::commands::run::{self, RunOutcome};
use crate::commands::{compare, regression_search};
use crate::output::exit::UsageError;
use crate::output::text::{line, print_note};
use crate::stop;

/// Default number of rounds.
const ROUNDS: u32 = 7;

/// Runs both contenders and compares them. Exits with 1 if the second is worse.
pub fn run(args: &GuardArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let stop = stop::install_handlers()?;
    require_order(args)?;
    let (contenders, run) = campaign(args);
    let [old, new] = match &contenders[..] {
        [old, new] if args.over.is_empty() && run.engine.on.is_none() => [old, new],
        [_] if args.over.is_empty() => {
            let why = "a guard compares two contenders or more, or one on several kernels (--over 6.1,6.12)";
            return Err(UsageError(why.to_owned()).into());
        }
        _ => return regression_search::run(args, &contenders, &run, globals, &stop),
    };
    let has_rule = run.settings.budget.is_some() || run.settings.until_width.is_some();
    let mut wanted = RunArgs {
        rounds_by_default: (!has_rule).then_some(ROUNDS),
        needs_every_suite: true,
        ..run.clone()
    };
    let directories = [old, new].map(|spec| directory(spec));
    wanted.settings.directories = directories.into_iter().flatten().collect();
    match wanted.settings.directories.len() {
        0 => {
            let named = [old, new].map(|spec| ContenderEntry::Spec(spec.clone()));
            wanted.settings.contenders = named.into();
        }
        1 => {
            let why = format!(
                "guard {old} {new}: one of them is a directory; give two directories or two contenders"
            );
            return Err(UsageError(why).into());
        }
        _ => {}
    }
    match run::campaign(&wanted, 0, globals, &stop)? {
        RunOutcome::Planned(code) => Ok(code),
        RunOutcome::Campaign { ended: Ok(CampaignEnd::Complete), id, store } => {
            let campaign = store.definition(id)?;
            // A baseline may follow.
            let [old, new, ..] = &campaign.contenders[..] else {
                return Err(UsageError("a guard compares two contenders".to_owned()).into());
            };
            let asked = CompareArgs {
                before: old.name.clone(),
                after: new.name.clone(),
                within: Some(id.to_string()),
                only: args.only.clone(),
                threshold: Some(args.threshold),
                detect: args.detect,
                markdown: args.markdown,
                must_decide: true,
                ..CompareArgs::default()
            };
            compare::run(&asked, globals)
        }
        RunOutcome::Campaign { ended, id, store } => {
            let code = run::finish(ended, id, &store, false, globals)?;
            let campaign = store.definition(id)?;
            let names: Vec<String> = campaign.contenders.iter().map(|c| line(&c.name)).collect();
            let (names, threshold) = (names.join(" "), 100.0 * args.threshold);
            print_note(&format!(
                "then for the verdict: fsarena compare --within {id} {names} --threshold {threshold}%"
            ));
            Ok(code)
        }
    }
}

/// Returns a mounted directory given in place of a contender: a path with a slash, or `NAME=` and
/// such a path. Options of contenders follow a colon and may contain paths, too.
fn directory(spec: &str) -> Option<DirectoryContender> {
    let path = match spec.split_once('=') {
        Some((name, path)) if !name.contains([':', '/', '@']) => path,
        _ => spec,
    };
    let is_path = ["/", "./", "../"].iter().any(|start| path.starts_with(start));
    is_path.then(|| DirectoryContender::parse(spec.into()))
}

/// Returns the contenders, and the options that apply to every campaign. A campaign file may follow
/// the contenders.
fn campaign(args: &GuardArgs) -> (Vec<String>, RunArgs) {
    let (mut contenders, mut run) = (args.versions.clone(), args.run.clone());
    run.compared.clone_from(&args.only);
    if contenders.last().is_some_and(|last| last.ends_with(".toml")) {
        run.file = contenders.pop().map(PathBuf::from);
    }
    (contenders, run)
}

/// Rejects options that have no meaning for a guard.
fn require_order(args: &GuardArgs) -> anyhow::Result<()> {
    let run = &args.run;
    if !run.settings.contenders.is_empty() || !run.settings.directories.is_empty() {
        let why = "guard takes contenders as arguments; remove -c and --dir".to_owned();
        return Err(UsageError(why).into());
    }
    if run.sessions.is_some() {
        let why = "a guard runs both sides in one campaign: leave --sessions out".to_owned();
        return Err(UsageError(why).into());
    }
    if run.settings.age.is_some() {
        let why = "a guard has two contenders: give each its own age, as in ext4@age=agrawal, and leave --age out".to_owned();
        return Err(UsageError(why).into());
    }
    Ok(compare::require_order(Some(args.threshold), args.detect)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_directories_and_options_with_paths_are_not() {
        let path = |spec| directory(spec).map(|found| (found.name, found.path));
        assert_eq!(path("/no/such"), Some((None, "/no/such".into())));
        assert_eq!(path("old=./no/such"), Some((Some("old".to_owned()), "./no/such".into())));
        for contender in ["ext4", "again=ext4", "overlay:lowerdir=/a", "ext4:noatime"] {
            assert_eq!(path(contender), None, "{contender}");
        }
    }
}
