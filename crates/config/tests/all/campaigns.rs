//! Tests contenders and campaign files as users write them.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::Parser;
use config::settings::campaign_file;
use config::{AgeEntry, Catalog, ContenderEntry, DirectoryContender, Settings};
use model::{AgeingSpec, BackendKind, Bytes, Nanos, PerMille, SizeProfile};
use proptest::prelude::*;

/// The catalog, read once, because thousands of texts are checked against it.
static CATALOG: LazyLock<Catalog> =
    LazyLock::new(|| Catalog::builtin().expect("the catalog that is compiled in is right"));

fn catalog() -> &'static Catalog {
    &CATALOG
}

#[test]
fn contender_is_a_filesystem_with_options_after_a_colon() {
    let catalog = catalog();
    let plain = catalog.contender("ext4").unwrap();
    assert_eq!((plain.name.as_str(), plain.mount_options.len()), ("ext4", 0));
    let journal = catalog.contender("ext4:data=journal,noatime").unwrap();
    assert_eq!(journal.name, "ext4:data=journal,noatime");
    assert_eq!(journal.mount_options, ["data=journal", "noatime"]);
    let alias = catalog.contender("ntfs:noatime").unwrap();
    assert_eq!(alias.name, "ntfs-3g:noatime");
    let several = catalog.contender("ext4,xfs:noatime").unwrap_err().to_string();
    assert!(several.ends_with("give each by itself: -c ext4 -c xfs"), "{several}");
}

#[test]
fn renamed_contender_can_compete_twice() {
    let catalog = catalog();
    let again = catalog.contender("again=ext4:data=journal").unwrap();
    assert_eq!(again.name, "again");
    let plain = catalog.contender("ext4:data=journal").unwrap();
    assert_eq!(again.mount_options, plain.mount_options);
    assert_eq!(again.filesystem, plain.filesystem);
    for wrong in ["=ext4", "Again=ext4", "a b=ext4", "again=nosuchfs", "again=", "a=b=ext4"] {
        assert!(catalog.contender(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn contender_can_override_memory_and_disks() {
    let catalog = catalog();
    let one = catalog.contender("ext4@sata-ssd,disks=2,memory=1GiB:data=journal").unwrap();
    assert_eq!(one.name, "ext4@sata-ssd,disks=2,memory=1GiB:data=journal");
    assert_eq!(one.mount_options, ["data=journal"]);
    assert_eq!(one.own.disk.as_ref().unwrap().name, "sata-ssd");
    assert_eq!((one.own.disks, one.own.memory), (Some(2), Some(Bytes::mib(1024))));
    let named = catalog.contender("wide=zfs@disks=4").unwrap();
    assert_eq!((named.name.as_str(), named.own.disks), ("wide", Some(4)));
    assert!(catalog.contender("xfs").unwrap().own.is_empty());
    let text = "contenders = [{ name = \"a\", filesystem = \"ext4\", disk = \"nvme-consumer\", disks = 3, memory = \"64 MiB\" }]";
    let filed = campaign_file::parse(text, "c.toml", catalog).unwrap();
    let own = filed.contenders[0].contender(catalog).unwrap().own;
    assert_eq!(own.disk.as_ref().unwrap().name, "nvme-consumer");
    assert_eq!((own.disks, own.memory), (Some(3), Some(Bytes::mib(64))));
    for (spec, complaint) in [
        ("ext4@nvmee", "there is no disk `nvmee`"),
        ("ext4@", "there is no disk ``"),
        ("ext4@disks=9", "a whole number from 1 to 8"),
        ("ext4@memory=0", "a size such as 64MiB"),
        ("ext4@size=1GiB", "`@size=` is not a setting"),
        ("ext4@nvme-consumer,ideal", "has a duplicate setting"),
    ] {
        let error = catalog.contender(spec).unwrap_err().to_string();
        assert!(error.contains(complaint), "{spec}: {error}");
    }
}

#[test]
fn a_contender_or_all_of_a_campaign_may_have_an_age() {
    let catalog = catalog();
    let one =
        catalog.contender("ext4@age=agrawal,fill=90%,operations=500,layout=85%:noatime").unwrap();
    let age = one.own.age.unwrap();
    assert_eq!(age.profile, *catalog.age("agrawal").unwrap());
    assert_eq!((age.fill, age.operations), (PerMille(900), Some(500)));
    assert_eq!(age.layout, Some(PerMille(850)));
    let plain = catalog.contender("xfs@age=wang-os").unwrap();
    assert_eq!(plain.own.age.unwrap().fill, AgeingSpec::FILL);
    for (spec, complaint) in [
        ("ext4@age=agrawl", "there is no age `agrawl` in the catalog; did you mean `agrawal`?"),
        ("ext4@fill=80%", "`fill=` needs an age profile; add `age=PROFILE`"),
        ("ext4@age=agrawal,fill=99%", "expected a percentage from 5% to 95%"),
        ("ext4@age=agrawal,operations=x", "`operations=x`: expected a whole number"),
        ("ext4@age=agrawal,age=wang-os", "has a duplicate setting"),
        ("tmpfs@age=agrawal", "`tmpfs` is on no device that could be aged"),
    ] {
        let error = catalog.contender(spec).unwrap_err().to_string();
        assert!(error.contains(complaint), "{spec}: {error}");
    }
    for (text, complaint) in [
        (
            "contenders = [\"ext4\"]\nage = { profile = \"agrawl\" }",
            "c.toml:2: there is no age `agrawl`",
        ),
        (
            "contenders = [\"ext4\"]\nage = { profile = \"agrawal\", fill = \"99%\" }",
            "c.toml:2: `fill` is `99%`; expected a percentage from 5% to 95%",
        ),
        (
            "contenders = [\"ext4\"]\nage = { profile = \"agrawal\", fil = \"9%\" }",
            "c.toml:2: unknown key `fil`; expected profile, fill, operations or layout; did you mean `fill`?",
        ),
        (
            "directories = [\"/\"]\nage = { profile = \"agrawal\" }",
            "c.toml:2: `age` cannot be used with `directories`",
        ),
        (
            "contenders = [{ name = \"a\", filesystem = \"ext4\",\n age = { profile = \"agrawal\", fill = [\"9%\", \"8%\"] } }]",
            "c.toml:2: a contender has one `fill`",
        ),
    ] {
        let error = campaign_file::parse(text, "c.toml", catalog).unwrap_err();
        assert!(error.to_string().starts_with(complaint), "{error}");
    }
}

#[test]
fn other_programs_are_suites_of_a_campaign_file() {
    let text = "contenders = [\"ext4\"]\nsuites = [\"tree\", \"fio:my.fio\", \"bonnie++:-s 64M\"]";
    let campaign = campaign_file::load(Path::new("/a/c.toml"), text, catalog()).unwrap();
    assert_eq!(campaign.suites, ["tree", "fio:my.fio", "bonnie++:-s 64M"]);
}

#[test]
fn a_campaign_file_names_several_disks_and_groups() {
    let text = "contenders = [\"jfs\"]\nbackend = \"vm\"\ndisk = [\"nvme-consumer\", \"ideal\"]\ndisks = [1, 2, 4]\n\
                [groups]\nall = [\"jfs@nvme-consumer\", \"jfs@ideal\"]";
    let campaign = campaign_file::parse(text, "c.toml", catalog()).unwrap();
    assert_eq!(campaign.disk, ["nvme-consumer", "ideal"]);
    assert_eq!(campaign.disks, [1, 2, 4]);
    assert_eq!(campaign.groups[0].name, "all");
    assert_eq!(campaign.groups[0].members, ["jfs@nvme-consumer", "jfs@ideal"]);
    for wrong in ["disks = []", "disks = [2, 2]", "disks = [1, 9]", "disk = [\"nvm\"]"] {
        let text = format!("contenders = [\"jfs\"]\nbackend = \"vm\"\n{wrong}");
        let error = campaign_file::parse(&text, "c.toml", catalog()).unwrap_err();
        assert!(error.to_string().starts_with("c.toml:3: "), "{error}");
    }
}

#[test]
fn a_contender_cannot_undo_safety() {
    let catalog = catalog();
    for spec in
        ["ext4:dev", "ext4:noatime,suid", "ext4:bind", "ext4:a b", "ext4:{device}", "ext4:a,,b"]
    {
        let error = catalog.contender(spec).unwrap_err().to_string();
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.starts_with(&format!("contender `{spec}`: ")), "{error}");
    }
}

#[test]
fn a_mounted_directory_is_a_contender() {
    let catalog = catalog();
    let path = Path::new("/mnt/Big Disk/.x");
    let known = catalog.directory_contender(path, "big-disk", Some("xfs")).unwrap();
    assert_eq!(known.name, "big-disk");
    assert_eq!(known.filesystem.name, "xfs");
    assert_eq!(known.directory.as_deref(), Some(path));
    let unknown = catalog.directory_contender(path, "nas", Some("nfs4")).unwrap();
    assert_eq!((unknown.name.as_str(), unknown.filesystem.name.as_str()), ("nas", "nfs4"));
    assert!(catalog.directory_contender(path, "a b", None).is_err());
}

#[test]
fn directories_are_named_by_the_last_parts_that_differ() {
    let catalog = catalog();
    let names = |paths: &[&str]| {
        let paths: Vec<&Path> = paths.iter().map(Path::new).collect();
        catalog.directory_names(&paths)
    };
    assert_eq!(names(&["/tmp/run-x/a", "/tmp/run-x/b"]), ["a", "b"]);
    assert_eq!(names(&["/mnt/Big Disk/.x"]), ["x"]);
    assert_eq!(names(&["/mnt/Big Disk", "/srv/big disk"]), ["mnt-big-disk", "srv-big-disk"]);
    assert_eq!(names(&["/a", "/b/a", "/b/c"]), ["a", "b-a", "c"]);
    assert_eq!(names(&["/mnt/ext4", "/mnt/new"]), ["mnt-ext4", "new"], "it may be another kind");
    assert_eq!(names(&["/"]), ["directory"]);
}

#[test]
fn campaign_file_may_set_all_or_few_keys() {
    let catalog = catalog();
    let all = r#"
name = "Journals"
contenders = [
    "ext4",
    "ext4:data=journal",
    { name = "ext4-1k", filesystem = "ext4", mkfs_options = ["-b", "1024"], mount_options = ["noatime"] },
]
suites = ["tree", "lifecycle"]
profile = "standard"
rounds = 5
until_width = "5%"
until_share = "90%"
max_rounds = 12
max_time = "2h"
seed = 18446744073709551615
size = "2 GiB"
memory = "1 GiB"
backend = "loop"
device = "/dev/sdz"
"#;
    let campaign = campaign_file::parse(all, "c.toml", catalog).unwrap();
    let names: Vec<&str> = campaign.contenders.iter().map(ContenderEntry::name).collect();
    assert_eq!(names, ["ext4", "ext4:data=journal", "ext4-1k"]);
    let third = campaign.contenders[2].contender(catalog).unwrap();
    assert_eq!(third.mkfs_options, ["-b", "1024"]);
    assert_eq!(campaign.suites, ["tree", "lifecycle"]);
    assert_eq!(campaign.profile, Some(SizeProfile::Standard));
    assert_eq!((campaign.until_width, campaign.until_share), (Some(0.05), Some(0.9)));
    assert_eq!(campaign.max_rounds, Some(12));
    assert_eq!((campaign.max_time, campaign.budget), (Some(Nanos::from_secs(7200)), None));
    assert_eq!(campaign.seed, Some(u64::MAX));
    assert_eq!(campaign.memory, Some(Bytes::mib(1024)));
    assert_eq!(campaign.backend, Some(BackendKind::Loop));
    let little = campaign_file::parse("contenders = [\"xfs\"]", "c.toml", catalog).unwrap();
    let expected = Settings { contenders: little.contenders.clone(), ..Settings::default() };
    assert_eq!(little, expected);
}

#[derive(Parser)]
struct CampaignLine {
    #[command(flatten)]
    settings: Settings,
}

/// Returns the settings of a command line.
fn typed(options: &[&str]) -> Settings {
    CampaignLine::try_parse_from(["run"].iter().chain(options)).unwrap().settings
}

#[test]
fn options_override_the_keys_of_the_file() {
    let text = "contenders = [\"xfs\", { name = \"wide\", filesystem = \"ext4\", disks = 2 }]\n\
                budget = \"1 h\"\nsize = \"1 GiB\"\nkeep_aged = true\nmemory = \"2 GiB\"\n\
                age = { profile = \"agrawal\" }\n[groups]\nall = [\"xfs\"]";
    let file = campaign_file::parse(text, "c.toml", catalog()).unwrap();
    let merged = |options: &[&str]| typed(options).over(file.clone());
    assert_eq!(merged(&[]), file);
    let both = merged(&["--size=64M", "--dir=/tmp", "--age=wang-os", "--group=mine=ext4,xfs"]);
    assert_eq!((both.size, both.memory), (Some(Bytes::mib(64)), file.memory));
    assert_eq!((both.directories.len(), both.keep_aged), (1, true));
    assert_eq!(both.age, Some(AgeEntry::Profile("wang-os".into())));
    assert_eq!((both.groups[0].name.as_str(), both.groups.len()), ("mine", 1));
    let named = merged(&["-c", "wide", "-c", "jfs"]).contenders;
    assert_eq!(named, [file.contenders[1].clone(), ContenderEntry::Spec("jfs".into())]);
    assert_eq!(merged(&["--max-rounds=5"]).budget, file.budget);
    for rule in ["--rounds=3", "--until-width=5%"] {
        assert_eq!(merged(&[rule]).budget, None, "{rule} replaces the budget of the file");
    }
    for wrong in ["mine", "mine=", "=ext4", "A b=ext4"] {
        assert!(CampaignLine::try_parse_from(["run", "--group", wrong]).is_err(), "{wrong}");
    }
}

#[test]
fn several_disks_are_for_images_and_guests_and_models_for_guests() {
    let on_images = |key: &str| {
        let text = format!("contenders = [\"ext4\"]\nbackend = \"loop\"\n{key}");
        campaign_file::parse(&text, "c.toml", catalog()).map_err(|error| error.to_string())
    };
    assert_eq!(on_images("disks = 2").unwrap().disks, [2]);
    let refused = on_images("disk = \"ideal\"").unwrap_err();
    assert_eq!(refused, "c.toml:3: `disk` is for `backend = \"vm\"` alone");
}

#[test]
fn campaign_file_sets_the_guest_machine() {
    let text = "contenders = [\"jfs\"]\nbackend = \"vm\"\nclock = \"real\"\nprocessors = 2\n\
                disks = 3\ndisk = \"sata-ssd\"\ndisk_cache = \"none\"";
    let campaign = campaign_file::parse(text, "c.toml", catalog()).unwrap();
    assert_eq!(campaign.backend, Some(BackendKind::Vm));
    assert_eq!(campaign.clock, Some(model::Clock::Real));
    assert_eq!((campaign.processors, campaign.disks), (Some(2), vec![3]));
    assert_eq!(campaign.disk, ["sata-ssd"]);
    assert_eq!(campaign.disk_cache, Some(model::DiskCache::None));
}

#[test]
fn oversized_files_are_not_read_to_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("large");
    std::fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    for (path, why) in [
        (path.as_path(), "it is larger than 1 MiB"),
        (Path::new("/dev/zero"), "it is a device; name a regular file"),
    ] {
        let error = config::read_text(path).unwrap_err();
        assert_eq!(error.to_string(), format!("cannot read {}: {why}", path.display()));
    }
}

#[test]
fn relative_directories_are_relative_to_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.toml");
    let text = "directories = [\"a\", { name = \"b\", path = \"/mnt/b\", memory = \"64 MiB\" }]";
    let campaign = campaign_file::load(&path, text, catalog()).unwrap();
    let expected = [
        DirectoryContender { name: None, memory: None, path: dir.path().join("a") },
        DirectoryContender {
            name: Some("b".into()),
            memory: Some(Bytes::mib(64)),
            path: PathBuf::from("/mnt/b"),
        },
    ];
    assert_eq!(campaign.directories, expected);
}

proptest! {
    #[test]
    fn a_contender_of_any_text_is_one_or_an_error_of_one_line(spec in "(ext4|ntfs|tmpfs)?:?.*") {
        if let Err(error) = catalog().contender(&spec) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }

    #[test]
    fn a_campaign_of_any_text_is_one_or_an_error_of_one_line(text in "[a-z\\[\\]{}=\",.0-9 \n]*|.*") {
        if let Err(error) = campaign_file::parse(&text, "c.toml", catalog()) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }
}
