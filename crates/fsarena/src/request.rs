//! From the command line and a campaign file to one resolved campaign, checked before anything runs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use catalog::{CampaignFile, Catalog, Directory, RoundRule, campaign_file};
use model::{Backend, Bytes, Campaign, Clock, Contender, Nanos, Profile, Suite, Until, check_name};
use provision::{Machine, Need, Verdict};
use sys::{clock, mounts};

use crate::cli::{Globals, RunArgs};
use crate::exit::{BadInput, Refused};
use crate::paths;
use crate::progress::Progress;

/// Time without progress after which a cell is given up, unless the user says otherwise.
const PATIENCE: Nanos = Nanos::from_secs(120);
/// With less, a cell is hung before the agent can say its first word.
const LEAST_PATIENCE: Nanos = Nanos::from_secs(1);
/// Rounds at most where they are added, unless the user says otherwise.
const MOST_ROUNDS: u32 = 20;
/// With less, the agent itself finds no room.
const LEAST_MEMORY: Bytes = Bytes::mib(8);

/// Puts together what the user asks for; options win over the file, the file over the profile.
pub fn campaign(
    args: &RunArgs,
    globals: &Globals,
    catalog: &Catalog,
    progress: &Progress,
) -> anyhow::Result<Campaign> {
    let file = match &args.file {
        Some(path) => campaign_file::read(path, catalog)?,
        None => CampaignFile::default(),
    };
    let profile = args.profile.or(file.profile).unwrap_or(Profile::Quick);
    let defaults = catalog.profile(profile);
    let directories = directories(args, &file);
    let backend = backend(args, &file, &directories)?;
    if backend == Backend::Dir {
        refuse_what_directories_ignore(args)?;
    }
    let size = args.size.or(file.size).unwrap_or(defaults.size);
    // Before the machine is looked at, which may have much to say.
    let suites = suites(args, &file.suites, catalog, profile)?;
    let contenders = match backend {
        Backend::Dir => mounted(&directories, catalog)?,
        _ => contenders(args, &file, catalog, size, progress)?,
    };
    refuse_doubles("contender", contenders.iter().map(|c| &c.name))?;
    let name = args
        .name
        .clone()
        .or(file.name)
        .unwrap_or_else(|| profile.name().to_owned());
    let memory = args.memory.or(file.memory);
    let patience = args.patience.unwrap_or(PATIENCE);
    refuse_too_little(memory, patience)?;
    let rounds = args.rounds.or(file.rounds).unwrap_or(defaults.rounds);
    let rule = file.rule;
    Ok(Campaign {
        name,
        contenders,
        suites,
        profile,
        rounds,
        until: until(args, &rule, rounds)?,
        clock: Clock::Real,
        seed: args
            .seed
            .or(file.seed)
            .unwrap_or_else(|| clock::calendar().0),
        size,
        memory,
        backend,
        device: args.device.clone().or(file.device),
        work_dir: match &args.work_dir {
            Some(directory) => std::path::absolute(directory)?,
            None => paths::work_directory(globals)?,
        },
        patience,
    })
}

/// The rule by which rounds are added to those that there are anyway.
fn until(args: &RunArgs, file: &RoundRule, rounds: u32) -> anyhow::Result<Option<Until>> {
    let rule = RoundRule {
        until_width: args.until_width.or(file.until_width),
        until_share: args.until_share.or(file.until_share),
        max_rounds: args.max_rounds.or(file.max_rounds),
        max_time: args.max_time.or(file.max_time),
    };
    let Some(width) = rule.until_width else {
        return match rule == RoundRule::default() {
            true => Ok(None),
            false => Err(BadInput(
                "--until-share, --max-rounds and --max-time limit what --until-width adds: give it, too"
                    .into(),
            )
            .into()),
        };
    };
    if let Some(most) = rule.max_rounds.filter(|most| *most < rounds) {
        let complaint =
            format!("--max-rounds {most} is less than the {rounds} rounds there are anyway");
        return Err(BadInput(complaint).into());
    }
    Ok(Some(Until {
        width,
        share: rule.until_share.unwrap_or(1.0),
        max_rounds: rule.max_rounds.unwrap_or(MOST_ROUNDS.max(rounds)),
        max_time: rule.max_time,
    }))
}

fn directories(args: &RunArgs, file: &CampaignFile) -> Vec<Directory> {
    if args.directories.is_empty() {
        return file.directories.clone();
    }
    args.directories
        .iter()
        .map(|text| directory(text))
        .collect()
}

/// `DIR`, or `NAME=DIR` where that is not itself the path of something.
fn directory(text: &Path) -> Directory {
    let named = text.to_str().and_then(|text| text.split_once('='));
    match named {
        Some((name, path)) if check_name(name).is_ok() && !text.exists() => Directory {
            name: Some(name.to_owned()),
            path: path.into(),
        },
        _ => Directory {
            name: None,
            path: text.to_owned(),
        },
    }
}

fn backend(
    args: &RunArgs,
    file: &CampaignFile,
    directories: &[Directory],
) -> anyhow::Result<Backend> {
    let guess = if directories.is_empty() {
        Backend::Loop
    } else {
        Backend::Dir
    };
    let backend = args.backend.or(file.backend).unwrap_or(guess);
    match (backend, directories.is_empty()) {
        (Backend::Dir, true) => {
            Err(BadInput("the dir backend compares mounted directories: give --dir".into()).into())
        }
        (Backend::Loop, false) => {
            Err(BadInput("--dir belongs to the dir backend, not to loop".into()).into())
        }
        _ => Ok(backend),
    }
}

/// Every cell would die of these, and the filesystem would be blamed.
fn refuse_too_little(memory: Option<Bytes>, patience: Nanos) -> anyhow::Result<()> {
    let complaint = match memory {
        Some(memory) if memory < LEAST_MEMORY => {
            format!("--memory {memory} is too little; a cell needs {LEAST_MEMORY} at least")
        }
        _ if patience < LEAST_PATIENCE => {
            format!("--patience {patience} is too short; give {LEAST_PATIENCE} at least")
        }
        _ => return Ok(()),
    };
    Err(BadInput(complaint).into())
}

/// Whoever names a filesystem or a device beside directories expects it to be compared.
fn refuse_what_directories_ignore(args: &RunArgs) -> anyhow::Result<()> {
    let ignored = [
        ("--contender", !args.contenders.is_empty()),
        ("--device", args.device.is_some()),
        ("--size", args.size.is_some()),
    ];
    match ignored.into_iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(BadInput(format!(
            "{option} means nothing for mounted directories; leave it or them out"
        ))
        .into()),
        None => Ok(()),
    }
}

/// The contenders that are named, each of which must be able to run, or all that are.
fn contenders(
    args: &RunArgs,
    file: &CampaignFile,
    catalog: &Catalog,
    size: Bytes,
    progress: &Progress,
) -> anyhow::Result<Vec<Contender>> {
    let machine = Machine::look();
    let named = if args.contenders.is_empty() {
        file.contenders.clone()
    } else {
        args.contenders
            .iter()
            .map(|spec| catalog.contender(spec))
            .collect::<Result<_, _>>()?
    };
    for contender in &named {
        if let Some(missing) = missing(&machine, contender) {
            return Err(Refused(format!("{} cannot run here: {missing}", contender.name)).into());
        }
    }
    if named.is_empty() {
        all_that_run(&machine, catalog, size, progress)
    } else {
        Ok(named)
    }
}

/// What keeps a contender from running, with the command that mends it.
fn missing(machine: &Machine, contender: &Contender) -> Option<String> {
    match provision::verdict(&contender.filesystem, Backend::Loop, machine) {
        Verdict::Runs => None,
        Verdict::Impossible { why } => Some(why),
        Verdict::Missing { needs } => Some(list(&needs)),
    }
}

/// What is missing, each with the command that brings it.
fn list(needs: &[Need]) -> String {
    let each = |need: &Need| format!("{} is missing ({})", need.what, need.command);
    needs.iter().map(each).collect::<Vec<_>>().join("; ")
}

/// Every contender that runs here on a device of this size; what is left out for something that can
/// be mended is said.
fn all_that_run(
    machine: &Machine,
    catalog: &Catalog,
    size: Bytes,
    progress: &Progress,
) -> anyhow::Result<Vec<Contender>> {
    let mut contenders = Vec::new();
    for filesystem in catalog.filesystems() {
        if filesystem.only_when_named.is_some() {
            continue;
        }
        let obstacle = match provision::verdict(filesystem, Backend::Loop, machine) {
            Verdict::Runs => filesystem.requires.misfit(size),
            Verdict::Missing { needs } => Some(list(&needs)),
            Verdict::Impossible { .. } => continue,
        };
        match obstacle {
            Some(reason) => progress.note(&format!("left out: {}: {reason}", filesystem.name)),
            None => contenders.push(catalog.contender(&filesystem.name)?),
        }
    }
    if contenders.is_empty() {
        return Err(Refused("nothing can run here: `fsarena doctor` says why".into()).into());
    }
    Ok(contenders)
}

fn mounted(directories: &[Directory], catalog: &Catalog) -> anyhow::Result<Vec<Contender>> {
    let contender = |directory: &Directory| {
        let path = existing(&directory.path)?;
        let kind = mounts::kind_of(&path);
        Ok(catalog.directory_contender(&path, directory.name.as_deref(), kind.as_deref())?)
    };
    directories.iter().map(contender).collect()
}

fn existing(path: &Path) -> anyhow::Result<PathBuf> {
    match path.canonicalize() {
        Ok(found) if found.is_dir() => Ok(found),
        Ok(_) => Err(BadInput(format!("{} is no directory", path.display())).into()),
        Err(error) => Err(BadInput(format!("{}: {error}", path.display())).into()),
    }
}

fn suites(
    args: &RunArgs,
    from_file: &[String],
    catalog: &Catalog,
    profile: Profile,
) -> anyhow::Result<Vec<Suite>> {
    let names = if args.suites.is_empty() {
        from_file
    } else {
        &args.suites
    };
    if names.is_empty() {
        return Ok(catalog
            .default_suites(profile)
            .into_iter()
            .cloned()
            .collect());
    }
    refuse_doubles("suite", names.iter())?;
    let suite = |name: &String| Ok(catalog.suite(name, profile)?.clone());
    names.iter().map(suite).collect()
}

/// Two of one name could not be told apart in any table.
fn refuse_doubles<'a>(
    what: &str,
    mut names: impl Iterator<Item = &'a String>,
) -> anyhow::Result<()> {
    let mut seen = BTreeSet::new();
    match names.find(|name| !seen.insert(*name)) {
        Some(double) => Err(BadInput(format!("the {what} `{double}` is named twice")).into()),
        None => Ok(()),
    }
}
