//! A small campaign for this crate's tests.

use model::{
    Accelerator, BackendKind, Bytes, Campaign, Commands, Contender, ContenderOverrides, DiskModel,
    DriverKind, Filesystem, FilesystemFacts, GuestConfig, GuestDisk, Requirements, SizeProfile,
    Suite, Test,
};

/// Returns a campaign with these numbers of contenders, tests and rounds. Names are `fs0`, `test0`
/// and so on.
pub fn campaign(contenders: usize, tests: usize, rounds: u32, seed: u64) -> Campaign {
    Campaign {
        name: "fixture".into(),
        contenders: (0..contenders).map(contender).collect(),
        groups: Vec::new(),
        suites: vec![Suite {
            requires: model::ProgramRequirements::default(),
            archives: Vec::new(),
            baseline: None,
            name: "suite".into(),
            title: "A suite".into(),
            source: "this test".into(),
            tests: (0..tests).map(test).collect(),
        }],
        profile: SizeProfile::Smoke,
        rounds,
        stopping_rule: None,
        budget: None,
        clock: model::Clock::Real,
        guest: None,
        seed,
        size: Bytes::mib(64),
        memory: None,
        device: None,
        work_dir: "/var/tmp/fsarena".into(),
        database: None,
        stall_timeout: model::Nanos::from_secs(60),
        readahead: None,
        max_written: None,
        keep_aged: false,
        source: None,
        host: None,
        together: Vec::new(),
        archives: Vec::new(),
        phase_limit: model::Nanos::from_secs(600),
        backend: BackendKind::Loop,
        skipped: Vec::new(),
        measured_by: None,
    }
}

/// Returns a guest in virtual time.
pub fn guest_in_memory() -> GuestConfig {
    let model = DiskModel {
        command: model::Nanos(10_000),
        link: Some(Bytes(1_000_000_000)),
        ..DiskModel::ideal()
    };
    GuestConfig {
        memory: Bytes::mib(1024),
        processors: 1,
        accelerator: Accelerator::Tcg,
        cpu: "max".into(),
        shift: 0,
        disks: 1,
        disk: GuestDisk::Model { model },
        kernel: "6.1.0".into(),
        guest_name: "guest-1".into(),
    }
}

fn test(number: usize) -> Test {
    Test {
        name: format!("test{number}"),
        suite: "suite".into(),
        title: "A test".into(),
        rationale: "None.".into(),
        space: Bytes::mib(1),
        data: model::DataKind::default(),
        sweep: None,
        phases: Vec::new(),
    }
}

fn contender(number: usize) -> Contender {
    let name = format!("fs{number}");
    Contender {
        name: name.clone(),
        filesystem: Filesystem {
            title: name.clone(),
            name,
            aliases: Vec::new(),
            driver: DriverKind::Kernel,
            facts: FilesystemFacts::default(),
            source: "this test".into(),
            requires: Requirements::default(),
            commands: Commands::default(),
            quirks: Vec::new(),
            unavailable: None,
            only_in_guest: None,
            only_when_named: None,
            layers: Vec::new(),
        },
        mkfs_options: Vec::new(),
        mount_options: Vec::new(),
        directory: None,
        own: ContenderOverrides::default(),
    }
}
