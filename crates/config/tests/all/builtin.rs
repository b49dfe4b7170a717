//! The built-in catalog: every file loads and lists its sources and requirements, and every suite
//! resolves for every profile.

use std::collections::{BTreeMap, BTreeSet};

use config::{Catalog, Placeholders, expand_commands};
use model::{
    AccessPattern, Bytes, CacheState, CopyFileIn, CopyTreeIn, DriverKind, FACT_TITLES, Feature, Io,
    IoEngine, Metadata, MetadataAction, Op, OperatingSystem, ProbeFeature, SizeProfile, SweepAxis,
    Test, TreeSpec, WorkloadCategory, WriteStream,
};

fn catalog() -> Catalog {
    Catalog::builtin().expect("the catalog that is compiled in is right")
}

#[test]
fn every_filesystem_has_a_source_and_requirements() {
    for f in catalog().filesystems() {
        assert!(f.source.len() > 10, "{}: {}", f.name, f.source);
        if f.unavailable.is_some() {
            continue;
        }
        assert!(f.requires.kernel.is_some(), "{}", f.name);
        assert!(f.requires.smallest > Bytes(0), "{}", f.name);
        if !f.is_baseline() {
            assert!(!f.requires.programs.is_empty(), "{}", f.name);
            assert!(f.commands.need_device(), "{}", f.name);
        }
    }
}

/// A database can lose data without an error of any call.
#[test]
fn suites_of_live_programs_end_with_the_check_of_the_program() {
    let live = [
        "borg",
        "dovecot",
        "etcd",
        "git",
        "lmdb",
        "mariadb",
        "postgresql",
        "redis",
        "restic",
        "rocksdb",
        "rsync",
        "sqlite",
    ];
    let catalog = catalog();
    for profile in SizeProfile::ALL {
        for name in live {
            let suite = catalog.suite(name, profile).unwrap();
            assert!(!suite.requires.packages.is_empty() && !suite.requires.programs.is_empty());
            for test in &suite.tests {
                let measured = test.phases.iter().rfind(|phase| phase.name != "remove").unwrap();
                assert_eq!(measured.name, "check", "{name}");
                assert_eq!(measured.cache, CacheState::Cold, "{name}");
                for phase in &test.phases {
                    let Op::Exec(exec) = &phase.op else { panic!("{}: {}", name, phase.name) };
                    assert!(
                        exec.takes.is_some() || phase.name == "remove",
                        "{name}: {}",
                        phase.name
                    );
                    // What prepares the next command does not rank a filesystem.
                    if ["unpack", "change"].contains(&&*phase.name) {
                        assert_eq!(WorkloadCategory::of_phase(test, phase), None, "{name}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_filesystem_has_an_origin_and_sources_of_its_facts() {
    for f in catalog().filesystems() {
        assert!(f.facts.origin.is_some(), "{}", f.name);
        for ((fact, said), sources) in
            FACT_TITLES.iter().zip(f.facts.to_lines()).zip(f.facts.sources())
        {
            assert_eq!(said.is_empty(), sources.is_empty(), "{}: {fact}", f.name);
            for source in sources {
                assert!(source.len() > 5, "{}: {fact}: {source}", f.name);
            }
        }
        let systems: BTreeSet<OperatingSystem> = f.facts.read_by.iter().map(|r| r.system).collect();
        assert_eq!(systems.len(), f.facts.read_by.len(), "{}", f.name);
        if !f.is_baseline() && f.unavailable.is_none() && f.only_in_guest.is_none() {
            assert!(systems.contains(&OperatingSystem::Linux), "{}", f.name);
        }
    }
}

#[test]
fn removable_disks_need_support_by_another_system() {
    let catalog = catalog();
    let removable = catalog.use_case("removable").unwrap();
    assert_eq!(catalog.use_case("Removable").unwrap().name, "removable");
    assert_eq!(catalog.use_case(&removable.title).unwrap().name, "removable");
    let readers = removable.readers.as_ref().unwrap();
    assert!(!readers.one_of.contains(&OperatingSystem::Linux));
    let is_read = |name: &str| {
        let facts = &catalog.filesystem(name).unwrap().facts;
        let mut read_by = facts.read_by.iter().map(|reader| reader.system);
        read_by.any(|system| readers.one_of.contains(&system))
    };
    for name in ["fat32", "exfat", "ntfs3", "hfsplus"] {
        assert!(is_read(name), "{name}");
    }
    for name in ["xfs", "f2fs", "ext4", "jfs"] {
        assert!(!is_read(name), "{name}: neither Windows nor macOS has a driver for it");
    }
    for one in catalog.uses().filter(|one| one.name != "removable") {
        assert_eq!(one.readers, None, "{}", one.name);
    }
}

#[test]
fn file_names_match_entry_names() {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog");
    let names = |directory: &str| -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(data.join(directory))
            .unwrap()
            .map(|e| e.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    let catalog = catalog();
    let filesystems: Vec<String> = catalog.filesystems().map(|f| f.name.clone()).collect();
    assert_eq!(filesystems, names("filesystems"));
    let mut suites: Vec<String> =
        catalog.suites(SizeProfile::Smoke).iter().map(|s| s.name.clone()).collect();
    suites.sort();
    assert_eq!(suites, names("suites"));
    let mut uses: Vec<String> = catalog.uses().map(|u| u.name.clone()).collect();
    uses.sort();
    assert_eq!(uses, names("uses"));
    let disks: Vec<String> = catalog.disks().map(|d| d.model.name.clone()).collect();
    assert_eq!(disks, names("disks"));
    let ages: Vec<String> = catalog.ages().map(|age| age.name.clone()).collect();
    assert_eq!(ages, names("ages"));
    let machines: Vec<String> = catalog.machines().map(|m| m.name.clone()).collect();
    assert_eq!(machines, names("machines"));
    for machine in catalog.machines() {
        catalog.disk(&machine.disk).unwrap();
    }
    assert!(catalog.ages().all(|age| age.source.len() > 100));
    let studies = catalog.studies().unwrap();
    let studies: Vec<String> = studies.into_iter().map(|study| study.name).collect();
    assert_eq!(studies, names("studies"));
}

#[test]
fn every_system_of_the_studies_has_its_row() {
    let catalog = catalog();
    let rows = "affs-ofs affs-ffs btrfs chunkfs-fuse chunkfs-kernel ext2 ext3 ext4 fat12 fat16 fat32 hfs hfsplus hfsx \
                hpfs hpfs386 jfs nilfs2 ntfs-3g ntfs3 reiser4 reiserfs-3.5 reiserfs-3.6 ufs1 ufs2 \
                xfs zfs-fuse zfs";
    for row in rows.split_whitespace() {
        catalog.filesystem(row).unwrap();
    }
}

/// Two implementations of one format: one has results in the study, the other locked up the
/// machine.
#[test]
fn chunkfs_has_a_row_for_each_of_its_drivers() {
    let catalog = catalog();
    let row = |name| catalog.filesystem(name).unwrap();
    let (fuse, kernel) = (row("chunkfs-fuse"), row("chunkfs-kernel"));
    assert_eq!(fuse.driver, DriverKind::Fuse);
    assert_eq!(kernel.driver, DriverKind::Kernel);
    for (row, driver) in [(fuse, "FUSE"), (kernel, "kernel")] {
        assert!(row.title.contains(driver), "{}", row.title);
        let why = row.unavailable.as_deref().unwrap();
        assert!(why.contains(driver) && why.contains("published"), "{why}");
        assert!(row.quirks.iter().any(|q| q.contains("study of 2007")));
    }
    assert!(catalog.filesystem("chunkfs").is_err());
}

#[test]
fn no_command_line_keeps_a_placeholder_and_every_mount_is_nosuid_and_nodev() {
    let catalog = catalog();
    let place = Placeholders {
        devices: &["/dev/loop0"],
        mountpoint: "/run/m",
        size: Bytes::mib(1024),
        fsarena: "/usr/bin/fsarena",
    };
    for f in catalog.filesystems() {
        let commands = expand_commands(&catalog.contender(&f.name).unwrap(), &place);
        let lines =
            [&commands.mkfs, &commands.mount, &commands.umount, &commands.fsck, &commands.repair];
        for word in lines.into_iter().flatten() {
            for left in ["{device}", "{mountpoint}", "{size}", "{options}", "{fsarena}"] {
                assert!(!word.contains(left), "{}: {word}", f.name);
            }
        }
        if !commands.mount.is_empty() {
            let safe = |w: &String| w.starts_with("nosuid,nodev");
            assert!(commands.mount.iter().any(safe), "{}", f.name);
        }
    }
}

#[test]
fn lazy_initialisation_is_off_and_documented() {
    let catalog = catalog();
    for name in ["ext2", "ext3", "ext4"] {
        let f = catalog.filesystem(name).unwrap();
        let options = f.commands.mkfs_options.join(" ");
        assert!(options.contains("lazy_itable_init=0"), "{name}");
        assert_eq!(options.contains("lazy_journal_init=0"), name != "ext2");
        assert!(f.quirks.iter().any(|q| q.contains("Lazy initialisation")));
    }
}

fn tests(catalog: &Catalog, profile: SizeProfile) -> Vec<Test> {
    let suites = catalog.suites(profile);
    suites.iter().flat_map(|s| s.tests.clone()).collect()
}

#[test]
fn every_suite_resolves_in_every_profile_and_fits_its_image() {
    let catalog = catalog();
    for profile in SizeProfile::ALL {
        let size = catalog.profile(profile).size;
        let mut names: Vec<&str> =
            catalog.suites(profile).iter().map(|suite| suite.name.as_str()).collect();
        names.sort_unstable();
        let mut all =
            catalog.suites(SizeProfile::Quick).iter().map(|s| &*s.name).collect::<Vec<_>>();
        all.sort_unstable();
        assert_eq!(names, all, "{profile}: each suite once");
        for suite in catalog.suites(profile) {
            assert!(!suite.tests.is_empty(), "{profile}: {}", suite.name);
        }
        for test in tests(&catalog, profile) {
            // FAT and NTFS round each file up to a cluster; a third of the device is enough for
            // that.
            assert!(test.space.0 * 4 / 3 < size.0, "{profile}: {}", test.name);
            assert!(test.rationale.len() > 100, "{}", test.name);
        }
    }
}

#[test]
fn a_larger_profile_never_does_less() {
    let catalog = catalog();
    let mut least: BTreeMap<String, Bytes> = BTreeMap::new();
    for profile in SizeProfile::ALL.into_iter().filter(|p| *p != SizeProfile::Study) {
        for test in tests(&catalog, profile) {
            let before = least.insert(test.name.clone(), test.space);
            assert!(before.unwrap_or_default() <= test.space, "{profile}: {}", test.name);
        }
    }
}

#[test]
fn the_suites_that_run_by_default_come_first() {
    let catalog = catalog();
    let names = |suites: Vec<&model::Suite>| -> Vec<String> {
        suites.iter().map(|s| s.name.clone()).collect()
    };
    let by_default = names(catalog.default_suites(SizeProfile::Quick));
    assert_eq!(by_default, ["lifecycle", "bonnie", "large-file", "tree", "durable"]);
    let all = names(catalog.suites(SizeProfile::Quick));
    let (first, rest) = all.split_at(by_default.len());
    assert_eq!(first, by_default);
    assert!(rest.is_sorted() && rest.contains(&"iozone".to_owned()));
}

#[test]
fn every_feature_is_probed_once() {
    let catalog = catalog();
    let suites = ["lifecycle", "limits"].map(|n| catalog.suite(n, SizeProfile::Quick).unwrap());
    let phases = suites.into_iter().flat_map(|suite| &suite.tests).flat_map(|test| &test.phases);
    let probed: Vec<Feature> = phases
        .filter_map(|p| match p.op {
            Op::ProbeFeature(ProbeFeature { feature }) => Some(feature),
            _ => None,
        })
        .collect();
    assert_eq!(probed, Feature::ALL);
}

/// Files of 64 KiB to 2 GiB, records of 8 KiB to 128 MiB, each pair in which the record fits.
#[test]
fn profile_study_of_iozone_is_the_published_grid() {
    let catalog = catalog();
    let suite = catalog.suite("iozone", SizeProfile::Study).unwrap();
    let tests: Vec<&Test> = suite.tests.iter().collect();
    let point = |t: &Test| {
        let point = t.sweep.as_ref().filter(|p| p.sweep == "iozone")?;
        Some((point.at[&SweepAxis::Size], point.at[&SweepAxis::Block]))
    };
    let points: BTreeSet<(u64, u64)> = tests.iter().filter_map(|t| point(t)).collect();
    let sizes = || (16..=31).map(|exponent| 1u64 << exponent);
    let records = || (13..=27).map(|exponent| 1u64 << exponent);
    let published: BTreeSet<(u64, u64)> = sizes()
        .flat_map(|size| records().map(move |record| (size, record)))
        .filter(|(size, record)| record <= size)
        .collect();
    assert_eq!(points, published);
    let largest = tests.iter().find(|t| t.name == "iozone-2g-8k").unwrap();
    let phases: Vec<&str> = largest.phases.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(
        phases,
        [
            "write",
            "rewrite",
            "read",
            "reread",
            "random-read",
            "random-write",
            "backward-read",
            "record-rewrite",
            "strided-read",
            "fwrite",
            "fread"
        ]
    );
    assert!(largest.phases.iter().all(|p| p.cache == CacheState::Warm));
}

/// In every profile, each access pattern and each I/O method occurs at least once separately.
#[test]
fn data_suite_covers_every_access_pattern_and_method() {
    let catalog = catalog();
    for profile in SizeProfile::ALL {
        let suite = catalog.suite("data", profile).unwrap();
        let phases = || suite.tests.iter().flat_map(|t| &t.phases);
        let jobs: Vec<(&Io, CacheState)> = phases()
            .filter_map(|p| match &p.op {
                Op::Io(io) => Some((io, p.cache)),
                _ => None,
            })
            .collect();
        let words: BTreeSet<&str> = jobs.iter().map(|(io, _)| io.access.name()).collect();
        let all = "append overwrite random-mix random-read random-write read read-backward \
                   read-stride record-rewrite rewrite write";
        assert_eq!(words.into_iter().collect::<Vec<_>>().join(" "), all);
        let has = |what: &dyn Fn(&Io, CacheState) -> bool| jobs.iter().any(|(io, c)| what(io, *c));
        for engine in [IoEngine::Psync, IoEngine::Mmap, IoEngine::IoUring] {
            assert!(has(&|io, _| io.engine == engine), "{engine}");
        }
        assert!(has(&|io, c| c == CacheState::Direct && io.depth > 1));
        assert!(has(&|io, c| c == CacheState::Direct && io.depth == 1));
        assert!(has(&|io, _| io.rate.is_some()));
        assert!(has(&|io, _| io.fsync == 1));
        assert!(phases().any(|p| matches!(p.op, Op::Fallocate(_))));
        assert!(phases().any(|p| matches!(p.op, Op::Sparse(_))));
    }
}

/// Only phases that access files are repeated.
#[test]
fn phases_on_files_are_repeated_if_too_short() {
    let catalog = catalog();
    for profile in SizeProfile::ALL {
        let scaling = catalog.profile(profile).scaling;
        for phase in tests(&catalog, profile).iter().flat_map(|t| &t.phases) {
            if phase.cache == CacheState::None {
                assert_eq!(phase.scaling, None, "{}", phase.name);
            } else if let Some(set) = phase.scaling {
                assert_eq!(set, scaling, "{}", phase.name);
            }
        }
    }
    let bonnie = catalog.suite("bonnie", SizeProfile::Quick).unwrap();
    let phases = bonnie.tests.iter().flat_map(|t| &t.phases);
    assert!(phases.into_iter().all(|p| p.scaling.is_some()));
}

/// A slow contender must not have less work than the others.
#[test]
fn no_time_limit_leaves_a_later_phase_less_to_work_on() {
    let looks = |op: &Op| match op {
        Op::Io(io) => !io.access.writes(),
        Op::ReadStream(_) => true,
        Op::Metadata(Metadata { action, .. }) => {
            matches!(
                action,
                MetadataAction::Open | MetadataAction::Stat { .. } | MetadataAction::Readdir
            )
        }
        _ => false,
    };
    let catalog = catalog();
    for profile in SizeProfile::ALL {
        for test in tests(&catalog, profile) {
            let (_, before_the_last) = test.phases.split_last().unwrap();
            for phase in before_the_last.iter().filter(|p| p.at_most.is_some()) {
                assert!(looks(&phase.op), "{profile}: {}/{}", test.name, phase.name);
            }
        }
    }
}

/// Checks the parameters against the published runs.
#[test]
fn profile_study_has_the_published_parameters() {
    let catalog = catalog();
    let tests = tests(&catalog, SizeProfile::Study);
    let op = |test: &str, phase: &str| -> Op {
        let test = tests.iter().find(|t| t.name == test).unwrap();
        let phase = test.phases.iter().find(|p| p.name == phase).unwrap();
        assert_eq!(phase.at_most, None, "phase has no time limit");
        phase.op.clone()
    };
    let written = |test: &str, phase: &str| match op(test, phase) {
        Op::Io(io) if io.access == AccessPattern::Write => io.size.unwrap(),
        Op::CopyFileIn(CopyFileIn { size, .. }) => size,
        other => panic!("{other:?}"),
    };
    assert_eq!(written("bonnie-block", "write"), Bytes::mib(2000));
    let Op::Create(create) = op("bonnie-files", "create-seq") else { panic!("not created") };
    assert_eq!((create.entries, create.directories), (512_000, 1));
    assert!(create.size == Bytes(0) && create.fsync);
    assert!(matches!(
        op("bonnie-files", "delete-random"),
        Op::Metadata(Metadata { action: MetadataAction::Remove { .. }, .. })
    ));
    assert_eq!(written("large-file", "copy-in"), Bytes(700_000_000));
    assert_eq!(written("large-read", "prepare-file"), Bytes(600_000_000));
    assert!(matches!(
        op("tree", "tree-in"),
        Op::CopyTreeIn(CopyTreeIn {
            spec: TreeSpec {
                files: 7_500,
                directories: 900,
                bytes: Bytes(1_900_000_000),
                smallest: Bytes(10_000),
                largest: Bytes(5_000_000),
            },
            ..
        })
    ));
    assert_eq!(catalog.profile(SizeProfile::Study).size, Bytes(20_000_000_000));
}

/// Parameters from the suite files, which follow the original programs.
#[test]
fn study_profile_has_parameters_of_original_programs() {
    let catalog = catalog();
    let study = |suite| catalog.suite(suite, SizeProfile::Study).unwrap();
    let threads: Vec<u64> = study("tiobench")
        .tests
        .iter()
        .map(|test| test.sweep.as_ref().unwrap().at[&SweepAxis::Threads])
        .collect();
    assert_eq!(threads, [1, 2, 4, 8]);
    for phase in study("tiobench").tests.iter().flat_map(|t| &t.phases) {
        let Op::Io(io) = &phase.op else { panic!("{}", phase.name) };
        assert_eq!(io.block, Bytes::kib(4));
        let random = phase.name.starts_with("random");
        assert_eq!(io.operations, random.then_some(4_000));
    }
    for test in &study("fs-mark").tests {
        let Op::Create(create) = &test.phases[0].op else { panic!("{}", test.name) };
        assert!(create.size == Bytes(51_200) && create.fsync);
    }
    let chars = &study("bonnie-chars").tests[0].phases[0].op;
    assert!(
        matches!(chars, Op::WriteStream(WriteStream { size, .. }) if *size == Bytes::mib(2000))
    );
}

/// The sizes in which the published comparisons differ; all other sizes come from the study
/// profile.
#[test]
fn every_study_has_its_published_sizes() {
    let catalog = catalog();
    let studies = catalog.studies().unwrap();
    let sizes: Vec<_> = studies
        .iter()
        .map(|study| {
            let memory = study.memory.map(|bytes| bytes.0 >> 20);
            (study.name.as_str(), study.size.0, memory, study.rounds)
        })
        .collect();
    let gb = 1_000_000_000;
    assert_eq!(
        sizes,
        [
            ("bonnie-linux-2011", 20 * gb, Some(3 << 10), None),
            ("debian-file-server-2006", 20 * gb, Some(512), Some(3)),
            ("emerging-filesystems-2007", 20 * gb, Some(8 << 10), None),
            ("os2-shootout-2002", gb, Some(256), Some(3)),
            ("piszcz-lkml-2004", 1 << 30, None, None),
            ("vanninen-wang-2003", 20 * gb, Some(512), None),
        ]
    );
    let test = |study: &str, test: &str| {
        let study = catalog.study(study).unwrap();
        let mut tests = study.suites.into_iter().flat_map(|suite| suite.tests);
        tests.find(|t| t.name == test).unwrap()
    };
    let written = |study, name| match &test(study, name).phases[0].op {
        Op::Io(io) if io.access == AccessPattern::Write => io.size.unwrap(),
        other => panic!("{other:?}"),
    };
    let made = |study| match &test(study, "bonnie-files").phases[0].op {
        Op::Create(create) => (create.entries, create.fsync, create.fsync_directory),
        other => panic!("{other:?}"),
    };
    let (s3, s5) = ("bonnie-linux-2011", "emerging-filesystems-2007");
    assert_eq!(written(s5, "bonnie-block"), Bytes::mib(16 << 10));
    assert_eq!(made(s5), (102_400, false, false));
    assert_eq!(written(s3, "bonnie-block"), Bytes::mib(2000));
    assert_eq!(made(s3), (512_000, true, true));
    let seek = |study| match &test(study, "bonnie-block").phases[3].op {
        Op::Io(io) => io.fsync,
        other => panic!("{other:?}"),
    };
    assert_eq!((seek(s3), seek(s5)), (1, 0));
    let s1 = catalog.study("os2-shootout-2002").unwrap();
    let tests: Vec<_> = s1.suites.iter().flat_map(|suite| &suite.tests).collect();
    let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
    assert_eq!(names, ["lifecycle", "features", "large-read", "zip", "build"]);
    assert_eq!(written("os2-shootout-2002", "large-read"), Bytes(600_000_000));
    let grid = catalog.study("vanninen-wang-2003").unwrap();
    let whole = catalog.suite("iozone", SizeProfile::Study).unwrap();
    let swept = |test: &&Test| test.sweep.as_ref().is_some_and(|point| point.sweep == "iozone");
    assert!(grid.suites[0].tests.iter().eq(whole.tests.iter().filter(swept)));
}

#[test]
fn every_study_fits_its_volume_and_lists_omissions() {
    for study in catalog().studies().unwrap() {
        for test in study.suites.iter().flat_map(|suite| &suite.tests) {
            assert!(test.space <= study.size, "{}: {}", study.name, test.name);
        }
        assert!(study.rationale.len() > 100 && study.source.len() > 40);
        assert!(!study.contenders.is_empty(), "{}", study.name);
    }
}

#[test]
fn every_use_gives_its_reasons_and_weighs_groups_that_a_suite_has() {
    let catalog = catalog();
    let names: Vec<&str> = catalog.uses().map(|u| u.name.as_str()).collect();
    let wanted = [
        "desktop",
        "file-server",
        "removable",
        "media-backup",
        "build-machine",
        "mail-spool",
        "database",
        "embedded-database",
        "virtual-machines",
        "containers",
        "developer",
        "nas",
    ];
    assert_eq!(names, wanted);
    let suites = catalog.suites(SizeProfile::Quick);
    let tests = suites.iter().flat_map(|suite| &suite.tests);
    let measured: BTreeSet<WorkloadCategory> = tests.flat_map(Test::categories).collect();
    for one in catalog.uses() {
        assert_eq!(one.total_weight(), 100.0, "{}: weights are shares", one.name);
        assert!(one.source.len() > 40 && one.rationale.contains("Left out"));
        let reasons = one.weights.iter().map(|w| &w.rationale);
        for why in reasons.chain(one.needs.iter().map(|n| &n.rationale)) {
            assert!(why.len() > 10, "{}: {why}", one.name);
        }
        for weight in &one.weights {
            assert!(measured.contains(&weight.group), "{}", weight.group);
        }
    }
}

#[test]
fn unpackaged_programs_and_undeclared_modules_are_listed() {
    let catalog = Catalog::builtin().unwrap();
    let requires = |name| &catalog.filesystem(name).unwrap().requires;
    assert!(requires("fuse-ufs").unpackaged["fuse-ufs"].contains("cargo install"));
    // The kernel requests these modules by name when bcachefs is mounted, so module dependencies do
    // not list them.
    for module in ["crc32c_generic", "xxhash"] {
        assert!(requires("bcachefs").modules.iter().any(|m| m == module), "{module}");
    }
}

#[test]
fn a_test_of_a_suite_is_chosen_by_both_names() {
    let catalog = Catalog::builtin().unwrap();
    let chosen = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        catalog.chosen_suites(&names, SizeProfile::Quick)
    };
    let names = |suites: &[model::Suite]| -> Vec<Vec<String>> {
        let tests = |suite: &model::Suite| suite.tests.iter().map(|t| t.name.clone()).collect();
        suites.iter().map(tests).collect()
    };
    let some = chosen(&["traces/mail", "tree", "traces/git"]).unwrap();
    assert_eq!(names(&some)[0], ["mail", "git"]);
    assert_eq!(names(&some)[1], ["tree"]);
    // Archives of other tests are omitted.
    let read = chosen(&["os2-shootout/read-600"]).unwrap();
    assert!(read[0].archives.is_empty());
    assert!(!catalog.suite("os2-shootout", SizeProfile::Quick).unwrap().archives.is_empty());
    for (wrong, says) in [
        (
            &["traces/mall"][..],
            "there is no test `traces/mall` in the catalog; did you mean `traces/mail`",
        ),
        (
            &["mail"],
            "there is no suite `mail` in the catalog; did you mean `mixes/mail-server` or `traces/mail`?",
        ),
        (&["nothing/mail"], "there is no suite `nothing`"),
        (&["/dev/null"], "there is no suite `/dev/null` in the catalog; `fsarena list suites`"),
        (&["tree", "tree"], "`tree` is named twice"),
        (&["traces", "traces/mail"], "`traces/mail` is named twice"),
    ] {
        let error = chosen(wrong).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

/// Below 512 MiB, mke2fs uses blocks of 1 KiB and a small journal (`small` of mke2fs.conf(5)).
#[test]
fn no_image_is_small_for_mke2fs() {
    let catalog = catalog();
    for profile in SizeProfile::ALL {
        assert!(catalog.profile(profile).size >= model::Bytes::mib(512), "{profile}");
    }
}

#[test]
fn withheld_results_have_phases_reasons_and_evidence() {
    let catalog = catalog();
    let suites = catalog.suites(SizeProfile::Smoke).into_iter();
    let tests: Vec<Test> = suites.flat_map(|suite| suite.tests.clone()).collect();
    for one in catalog.withheld() {
        let names = |test: &Test| test.phases.iter().any(|phase| one.matches(test, phase));
        assert!(tests.iter().any(names), "{} names no phase", one.phase);
        assert!(one.reason.len() > 10, "{}: {}", one.phase, one.reason);
        // If five of six pairs are in order, the result is reliable and should not be withheld.
        let share = f64::from(one.same_order) / f64::from(one.pairs);
        assert!(share < 0.85, "{}: {} of {}", one.phase, one.same_order, one.pairs);
    }
}
