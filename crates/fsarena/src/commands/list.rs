//! `fsarena list`: lists filesystems, layers, suites, profiles, studies, uses, disks, ages, aged states,
//! campaigns.

use std::ffi::OsStr;
use std::process::ExitCode;
use std::time::SystemTime;

use backend::{AgedImage, AgedImageCache};
use campaign::store::CampaignSummary;
use config::{Catalog, DiskEntry, LayerEntry, LayerPosition, StudySource};
use model::{
    AgeProfile, AgeingResult, BackendKind, Bytes, DriverKind, FACT_TITLES, Filesystem, Mechanism,
    Nanos, SizeProfile, Suite, Test, Unit, UseCase, VirtualTimeMachine,
};
use report::UnitScale;
use serde_json::{Value, json};

use crate::args::cli::GlobalArgs;
use crate::args::show_args::{ListArgs, ListTarget};
use crate::output::exit::ExitReason;
use crate::output::text::{
    label_and_wrap, line, moment, print, print_json, table, wrap_with_margin,
};
use crate::paths;
use crate::settings::guest::DEFAULT_DISK;
use crate::settings::studies;

/// Writes the requested list.
pub fn run(args: &ListArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let (text, value) = match args.target {
        ListTarget::Filesystems => filesystems(&paths::catalog(globals)?, args.long),
        ListTarget::Layers => layers(&paths::catalog(globals)?),
        ListTarget::Suites => suites(&paths::catalog(globals)?),
        ListTarget::Profiles => profiles(&paths::catalog(globals)?),
        ListTarget::Studies => studies(&paths::catalog(globals)?)?,
        ListTarget::Uses => uses(&paths::catalog(globals)?),
        ListTarget::Disks => disks(&paths::catalog(globals)?),
        ListTarget::Ages => ages(&paths::catalog(globals)?),
        ListTarget::Machines => machines(&paths::catalog(globals)?),
        ListTarget::Aged => aged(&AgedImageCache::open()?),
        ListTarget::Campaigns => campaigns(&stored(globals)?),
    };
    if globals.json {
        print_json(&value)?;
    } else {
        print(&text)?;
    }
    Ok(ExitReason::Success.into())
}

fn filesystems(catalog: &Catalog, long: bool) -> (String, Value) {
    let all: Vec<&Filesystem> = catalog.filesystems().collect();
    let text = match long {
        true => all.iter().map(|f| known(f)).collect::<Vec<_>>().join("\n"),
        false => summary(&all),
    };
    (text, json!(all))
}

/// Returns a table with a row for each filesystem.
fn summary(all: &[&Filesystem]) -> String {
    let row = |f: &&Filesystem| {
        [
            f.name.clone(),
            driver(f).to_owned(),
            line(&f.title),
            line(&f.aliases.join(" ")),
            by_default(f),
            note(f),
        ]
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    table(["name", "driver", "title", "also", "by default", "note"], &rows)
}

const fn driver(filesystem: &Filesystem) -> &'static str {
    match filesystem.driver {
        DriverKind::Kernel => "kernel",
        DriverKind::Fuse => "fuse",
    }
}

/// Returns all catalog data of a filesystem: a line per fact, each followed by a line with its
/// sources.
fn known(filesystem: &Filesystem) -> String {
    let head = [filesystem.name.as_str(), &filesystem.title].map(line);
    let mut text = format!("{}: {}, {}\n", head[0], head[1], driver(filesystem));
    let facts = FACT_TITLES.iter().zip(filesystem.facts.to_lines());
    for ((fact, said), sources) in facts.zip(filesystem.facts.sources()) {
        if said.is_empty() {
            text += &format!("  {fact:<14}  not said\n");
        } else {
            text += &label_and_wrap(&format!("  {fact:<14}  "), &line(&said));
            let sources = format!("({})", line(&sources.join("; ")));
            text += &label_and_wrap(&format!("  {:<14}  ", ""), &sources);
        }
    }
    text
}

/// Returns the backends on which a filesystem is a contender by default, if its requirements are
/// met.
pub fn by_default(filesystem: &Filesystem) -> String {
    let competes = |backend: &BackendKind| filesystem.runs_by_default(*backend);
    let backends = [BackendKind::Loop, BackendKind::Vm].into_iter().filter(competes);
    backends.map(|backend| backend.to_string()).collect::<Vec<_>>().join(" ")
}

/// Returns the reason why a filesystem is not a default contender.
fn note(filesystem: &Filesystem) -> String {
    let named = match filesystem.runs_by_default(BackendKind::Vm) {
        true => "outside of guests only when named",
        false => "only when named",
    };
    let reasons = [
        ("not available", &filesystem.unavailable),
        ("only in a guest", &filesystem.only_in_guest),
        (named, &filesystem.only_when_named),
    ];
    let mut given = reasons
        .into_iter()
        .filter_map(|(what, why)| why.as_ref().map(|why| format!("{what}: {}", line(why))));
    given.next().unwrap_or_default()
}

/// Groups the points of each sweep. Each other test is a group of one.
fn sweeps(tests: &[Test]) -> impl Iterator<Item = &[Test]> {
    let sweep = |test: &Test| test.sweep.as_ref().map(|point| point.sweep.clone());
    tests.chunk_by(move |a, b| a.sweep.is_some() && sweep(a) == sweep(b))
}

/// Lists the suites as text and JSON. The text shows one profile, since profiles differ only in
/// sizes; the JSON has all.
fn suites(catalog: &Catalog) -> (String, Value) {
    let by_default = catalog.default_suites(SizeProfile::Quick);
    let mut rows = Vec::new();
    for suite in catalog.suites(SizeProfile::Quick) {
        let default = if by_default.contains(&suite) { "yes" } else { "" };
        for tests in sweeps(&suite.tests) {
            let (name, title) = match &tests[0].sweep {
                None => (tests[0].name.clone(), line(&tests[0].title)),
                Some(point) => (
                    point.sweep.clone(),
                    format!("{} points, the first: {}", tests.len(), line(&tests[0].title)),
                ),
            };
            let phases = tests.iter().map(|test| test.phases.len()).max();
            rows.push([
                suite.name.clone(),
                default.to_owned(),
                name,
                phases.unwrap_or(0).to_string(),
                title,
            ]);
        }
    }
    let all: Vec<(SizeProfile, Vec<&Suite>)> =
        SizeProfile::ALL.map(|profile| (profile, catalog.suites(profile))).into();
    let value = all.iter().map(|(p, suites)| (p.name().to_owned(), json!(suites))).collect();
    let hint = "`--suite SUITE` runs all of a suite, `--suite SUITE/TEST` one test. The suite `traces` replays what `sudo \
                fsarena trace make` has recorded.";
    (
        table(["suite", "default", "test", "phases", "title"], &rows)
            + "\n"
            + &wrap_with_margin("", hint),
        Value::Object(value),
    )
}

fn profiles(catalog: &Catalog) -> (String, Value) {
    let rows = SizeProfile::ALL.map(|profile| {
        let set = catalog.profile(profile);
        [
            profile.name().to_owned(),
            set.size.to_string(),
            set.rounds.to_string(),
            meaning(profile).to_owned(),
            unlike(profile).to_owned(),
        ]
    });
    let value = SizeProfile::ALL.map(|profile| {
        let set = catalog.profile(profile);
        json!({ "name": profile, "size": set.size, "rounds": set.rounds, "meaning": meaning(profile), "unlike_real": unlike(profile) })
    });
    (table(["profile", "image", "rounds", "meaning", "unlike a real volume"], &rows), json!(value))
}

const fn meaning(profile: SizeProfile) -> &'static str {
    match profile {
        SizeProfile::Smoke => "does it work at all? seconds a filesystem",
        SizeProfile::Quick => "a first comparison, about a minute a filesystem",
        SizeProfile::Standard => "large enough that caches do not decide",
        SizeProfile::Study => "the parameters of the published runs",
        SizeProfile::Soak => "hours of writes and deletions: does it stay as fast?",
    }
}

/// Returns the differences from a volume of hundreds of GiB, on which filesystems use other sizes.
const fn unlike(profile: SizeProfile) -> &'static str {
    match profile {
        SizeProfile::Smoke => {
            "512 MiB: ext4 has a journal of 16 MiB and not 1 GiB, 4 groups of blocks and not thousands; \
             all files fit into memory"
        }
        SizeProfile::Quick => {
            "1 GiB: ext4 has a journal of 32 MiB and not 1 GiB, 8 groups of blocks and not thousands; \
             most files fit into memory"
        }
        SizeProfile::Standard | SizeProfile::Soak => {
            "8 GiB: ext4 has a journal of 64 MiB and not 1 GiB; directories and trees are small"
        }
        SizeProfile::Study => {
            "20 GB: what was a usual volume in 2003; ext4 has a journal of 128 MiB and not 1 GiB"
        }
    }
}

fn studies(catalog: &Catalog) -> anyhow::Result<(String, Value)> {
    let all = catalog.studies()?;
    let published = studies::load_all(&all)?;
    let row = |study: &StudySource| {
        let (numbers, claims) = published
            .iter()
            .find(|published| published.name == study.name)
            .map_or((0, 0), |one| (one.figures.numbers(), one.claims.len()));
        let tests = study.suites.iter().flat_map(|suite| sweeps(&suite.tests));
        let name = |tests: &[Test]| match &tests[0].sweep {
            Some(point) => point.sweep.clone(),
            None => tests[0].name.clone(),
        };
        [
            study.name.clone(),
            study.size.to_string(),
            study.memory.map_or_else(String::new, |memory| memory.to_string()),
            numbers.to_string(),
            claims.to_string(),
            tests.map(name).collect::<Vec<_>>().join(" "),
            line(&study.title),
        ]
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    let hint = "`fsarena run --study STUDY` runs one again, `fsarena study show STUDY` shows its figures, and \
                `fsarena study claims STUDY` judges what it concludes.";
    let value = |study: &StudySource| {
        json!({
            "name": study.name, "title": study.title, "source": study.source, "rationale": study.rationale,
            "contenders": study.contenders, "size": study.size, "memory": study.memory, "rounds": study.rounds,
            "suites": study.suites,
        })
    };
    Ok((
        table(["study", "volume", "memory", "numbers", "claims", "tests", "title"], &rows)
            + "\n"
            + &wrap_with_margin("", hint),
        all.iter().map(value).collect(),
    ))
}

fn uses(catalog: &Catalog) -> (String, Value) {
    let all: Vec<&UseCase> = catalog.uses().collect();
    let row = |one: &&UseCase| {
        let features = one.needs.iter().map(|need| need.feature.name().to_owned());
        let readers = one.readers.iter().map(|readers| {
            let systems: Vec<String> = readers.one_of.iter().map(ToString::to_string).collect();
            format!("read-by({})", systems.join("|"))
        });
        let recovery = one.crash_recovery.iter();
        let recovery = recovery.flat_map(|_| ["crash-recovery", "synced-files-survive"]);
        let snapshots = one.snapshots.iter().map(|_| "snapshots");
        let recovery = recovery.chain(snapshots);
        let needs: Vec<String> =
            features.chain(readers).chain(recovery.map(str::to_owned)).collect();
        let weights = one.weights.iter();
        let weights = weights.map(|w| format!("{} {}", w.group, w.weight));
        [
            one.name.clone(),
            line(&one.title),
            needs.join(" "),
            weights.collect::<Vec<_>>().join(", "),
        ]
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    (table(["use", "title", "needs", "weights"], &rows), json!(all))
}

fn disks(catalog: &Catalog) -> (String, Value) {
    let all: Vec<&DiskEntry> = catalog.disks().collect();
    let row = |disk: &&DiskEntry| {
        let model = &disk.model;
        let kind = match &model.mechanism {
            Mechanism::Ideal => "none".to_owned(),
            Mechanism::Rotating(disk) => {
                format!("arm, {} turns a minute", 60_000_000_000 / disk.turn.0.max(1))
            }
            Mechanism::Flash(disk) => format!("flash, {} dies", disk.channels * disk.dies),
        };
        let cache = match (model.cache, &model.mechanism) {
            (Bytes(0), _) => "none".to_owned(),
            (cache, Mechanism::Flash(disk)) if disk.protected => format!("{cache}, protected"),
            (cache, _) => cache.to_string(),
        };
        let title = format!("{} ({})", model.title, model.product);
        let holds = model.capacity();
        let is_usual = if model.name == DEFAULT_DISK { "yes" } else { "" };
        let holds = holds.map(|holds| holds.0 as f64);
        let holds = holds.map_or_else(
            || "any size".to_owned(),
            |holds| UnitScale::for_values(Unit::Bytes, [holds]).with_unit(holds),
        );
        [model.name.clone(), is_usual.to_owned(), kind, cache, holds, line(&title)]
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    let in_full = |disk: &&DiskEntry| json!({"model": disk.model, "sources": disk.sources});
    let in_full: Vec<Value> = all.iter().map(in_full).collect();
    let hint = "The default is the disk of guests in virtual time without --disk. A flash disk is half full. NAME-fresh is an unwritten disk, NAME-steady a disk after random overwrites, on which every write causes garbage collection: --disk sata-ssd-steady.";
    let heading = ["disk", "default", "mechanism", "write cache", "holds", "title"];
    let text = format!("{}\n{}", table(heading, &rows), wrap_with_margin("", hint));
    (text, json!(in_full))
}

/// Returns the layer on the first filesystem that can have it.
fn example(layer: &LayerEntry) -> String {
    layer.spelled(layer.filesystems.keys().next().map_or("ext4", String::as_str))
}

fn layers(catalog: &Catalog) -> (String, Value) {
    let all: Vec<&LayerEntry> = catalog.layers().collect();
    let row = |layer: &&LayerEntry| {
        let disks = match layer.position {
            LayerPosition::Below { disks, .. } => disks.to_string(),
            LayerPosition::Above => String::new(),
        };
        let only: Vec<&str> = layer.filesystems.keys().map(String::as_str).collect();
        let title = match only.is_empty() {
            true => line(&layer.title),
            false => line(&format!("{}; only of {}", layer.title, only.join(", "))),
        };
        [layer.name.clone(), example(layer), disks, title]
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    let hint = "A layer can be below or above a filesystem on a device, and layers can be combined: -c overlay/xfs+luks+md-raid1. They run in guests (--backend vm).";
    let text = table(["layer", "example", "disks", "title"], &rows);
    let in_full = |layer: &&LayerEntry| {
        json!({
            "name": layer.name,
            "title": layer.title,
            "example": example(layer),
            "filesystems": layer.filesystems.keys().collect::<Vec<_>>(),
            "compresses": layer.compresses,
            "source": layer.source,
            "requires": layer.requires,
            "quirks": layer.quirks,
        })
    };
    let in_full: Vec<Value> = all.iter().map(in_full).collect();
    (format!("{text}\n{}", wrap_with_margin("", hint)), json!(in_full))
}

fn machines(catalog: &Catalog) -> (String, Value) {
    let all: Vec<&VirtualTimeMachine> = catalog.machines().collect();
    let row = |machine: &&VirtualTimeMachine| {
        let memory = machine.memory.map_or("any".to_owned(), |memory| memory.to_string());
        [
            machine.name.clone(),
            format!("{} ns", 1_u64 << machine.shift),
            memory,
            format!("{} × {}", machine.disks, machine.disk),
            line(&machine.title),
        ]
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    let heading = ["machine", "an instruction", "memory", "disks", "title"];
    (table(heading, &rows), json!(all))
}

fn ages(catalog: &Catalog) -> (String, Value) {
    let all: Vec<&AgeProfile> = catalog.ages().collect();
    let row = |age: &&AgeProfile| {
        [
            age.name.clone(),
            age.churn.to_string(),
            age.turnover.to_string(),
            age.mean_size().to_string(),
            line(&age.title),
        ]
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    (table(["age", "churn", "turnover", "mean file", "title"], &rows), json!(all))
}

/// Returns the stored aged states, and the command that removes them.
fn aged(kept: &AgedImageCache) -> (String, Value) {
    let all = kept.all();
    let row = |image: &AgedImage| {
        [
            name_of(image).get(..AgeingResult::SHORT_HASH).unwrap_or_default().to_owned(),
            line(image.name.as_deref().unwrap_or("damaged")),
            image.image.to_string(),
            image.layout.map_or_else(String::new, |score| score.to_string()),
            image.size.to_string(),
            moment(used(image)),
        ]
    };
    let value = |image: &AgedImage| {
        json!({
            "hash": name_of(image), "path": image.path, "name": image.name, "image": image.image,
            "layout": image.layout, "size": image.size, "used": used(image),
        })
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    let heading = ["hash", "state", "image", "layout", "takes", "used last"];
    let words = line(&kept.summary());
    let text = match rows.is_empty() {
        true => wrap_with_margin("", &words),
        false => format!(
            "{}\n{}{}",
            table(heading, &rows),
            wrap_with_margin(
                "",
                &format!(
                    "{words}; to remove one, remove its file: it is made again when it is wanted"
                )
            ),
            label_and_wrap(
                "layout: ",
                "the share of blocks that follow the block before them on the disk; 100 % is no fragmentation"
            )
        ),
    };
    (text, all.iter().map(value).collect())
}

fn name_of(image: &AgedImage) -> &str {
    image.path.file_stem().and_then(OsStr::to_str).unwrap_or_default()
}

fn used(image: &AgedImage) -> Nanos {
    let since = image.used.duration_since(SystemTime::UNIX_EPOCH);
    Nanos(since.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))
}

/// Returns the stored campaigns. Returns none if the database does not exist; does not create it.
fn stored(globals: &GlobalArgs) -> anyhow::Result<Vec<CampaignSummary>> {
    match paths::store_if_any(globals)? {
        Some(store) => Ok(store.campaigns()?),
        None => Ok(Vec::new()),
    }
}

fn campaigns(all: &[CampaignSummary]) -> (String, Value) {
    let row = |c: &CampaignSummary| {
        [
            c.id.to_string(),
            line(&c.name),
            moment(c.started),
            match c.backend {
                // Imported campaigns have no profile.
                BackendKind::Imported => "–".to_owned(),
                _ => c.profile.to_string(),
            },
            match &c.host {
                Some(host) => format!("{} on {}", c.backend, line(host)),
                None => c.backend.to_string(),
            },
            format!("{}/{}", c.done, c.planned),
            statuses(c),
            line(&c.contenders.join(" ")),
        ]
    };
    let rows: Vec<_> = all.iter().map(row).collect();
    let heading =
        ["id", "name", "started", "profile", "backend", "runs", "of these", "filesystems"];
    let text = match rows.is_empty() {
        true => "no campaign was run yet\n".to_owned(),
        false => table(heading, &rows),
    };
    (text, json!(all))
}

fn statuses(campaign: &CampaignSummary) -> String {
    let each = campaign.statuses.iter().map(|(status, count)| format!("{count} {status}"));
    each.collect::<Vec<_>>().join(", ")
}
