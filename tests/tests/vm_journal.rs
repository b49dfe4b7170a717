//! Requests to simulated disks in guests, and the replay of the same requests without a guest.

use end_to_end::{Sandbox, cells_of, run};
use model::{Nanos, PhaseResult};
use serde_json::Value;

fn campaign(sandbox: &Sandbox, disk: &str) {
    let mut command = sandbox.in_guests(sandbox.fsarena(), &["ext4"], "2");
    run(command.args(["--suite", "durable", "--disk", disk])).assert_code(0);
}

fn phases(sandbox: &Sandbox) -> Vec<PhaseResult> {
    let results = sandbox.results();
    let cell = cells_of(&results, "ext4").remove(0);
    assert_eq!(cell.status, model::Status::Ok, "{:?}", cell.failure);
    cell.phases.clone()
}

fn replayed(sandbox: &Sandbox, words: &[&str]) -> Value {
    let mut command = sandbox.fsarena();
    let output = run(command.args(["--json", "disk", "replay"]).args(words)).assert_code(0).stdout;
    serde_json::from_str(&output).unwrap()
}

#[test]
fn a_journal_is_served_again_in_the_same_nanoseconds_and_by_other_disks_in_others() {
    let sandbox = Sandbox::new();
    for disk in ["hdd-2003-7200", "sata-ssd-steady"] {
        campaign(&sandbox, disk);
        let phases = phases(&sandbox);
        let fsync = phases.iter().find(|phase| phase.phase == "overwrite-fsync").unwrap();
        let work = fsync.disk.unwrap();
        let all: u64 = work.times().iter().map(|(_, time)| time.0).sum();
        assert_eq!(Nanos(all), fsync.elapsed, "{work:?}");
        assert!(work.requests >= fsync.operations && work.lost == 0, "{work:?}");
        // Blocks of ext4's journal are not counted as other metadata.
        let journal = work.journal.unwrap_or_default();
        assert!(journal.0 > 0 && work.own.0 > 0, "{work:?}");
        match disk {
            "hdd-2003-7200" => assert!(work.flush.0 + work.seek.0 + work.rotation.0 > all / 2),
            _ => assert!(work.slots_programmed > work.slots_written, "{work:?}"),
        }
        let csv = sandbox.path("journal.csv");
        run(sandbox.fsarena().args(["disk", "requests", "--format", "csv", "-o"]).arg(&csv))
            .assert_code(0);
        for source in [&[][..], &[csv.to_str().unwrap()]] {
            let asked = format!("{disk},ideal");
            let words = [source, &["--disk", asked.as_str()]].concat();
            let disks = &replayed(&sandbox, &words)["disks"];
            let same = |number: usize| disks[number]["same_as_journal"].as_bool().unwrap();
            // A file does not contain the size of the disk; replay assumes the range of its
            // requests.
            assert!(same(0) || !source.is_empty(), "{disk}: {disks}");
            assert!(!same(1) && disks[0]["took_ns"].as_u64() > disks[1]["took_ns"].as_u64());
        }
    }
    let words = run(sandbox.fsarena().args(["disk", "requests"])).assert_code(0).stdout;
    let mut wrong = sandbox.fsarena();
    let refused = run(wrong.args(["disk", "requests", "--phase", "overwrit"])).assert_code(2);
    let told = "no disk requests in phase `overwrit`; phases with requests:";
    assert!(refused.stderr.contains(told), "{}", refused.stderr);
    assert!(words.contains("overwrite-fsync") && words.contains("AMPLIFIED"), "{words}");
    let replay =
        run(sandbox.fsarena().args(["disk", "replay", "--disk", "sata-ssd-steady,floppy-1.44"]));
    let words = replay.assert_code(0).stdout;
    let told = "sata-ssd-steady: every request took as long as in the guest, to the nanosecond.";
    assert!(words.contains(told), "{words}");
    assert!(
        words.contains("floppy-1.44: holds 1440 KiB, and the journal reaches to 512 MiB."),
        "{words}"
    );
    sandbox.assert_clean();
}

#[test]
fn the_page_shows_time_components_and_a_map_and_stores_journals() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.in_guests(sandbox.fsarena(), &["ext4", "fat32"], "2");
    run(command.args(["--suite", "tree/tree", "--disk", "hdd-2003-7200"])).assert_code(0);
    let results = sandbox.results();
    let phase = |contender: &str| {
        let cell = cells_of(&results, contender).remove(0);
        assert_eq!(cell.status, model::Status::Ok, "{:?}", cell.failure);
        cell.phases[0].clone()
    };
    let (ext4, fat) = (phase("ext4"), phase("fat32"));
    let [journal, unknown] = [&ext4, &fat].map(|phase| phase.disk.unwrap().journal);
    assert!(journal.is_some_and(|bytes| bytes.0 > 0), "{journal:?}");
    assert_eq!(unknown, None, "FAT has none");
    // Both report the layout of files.
    for phase in [&ext4, &fat] {
        let layout = phase.layout.unwrap();
        assert!(layout.files >= 50 && layout.pieces >= layout.files, "{layout:?}");
        assert!(layout.layout_score().unwrap() > 0.5, "{layout:?}");
    }
    let regions = |words: &[&str]| {
        let mut command = sandbox.fsarena();
        let command =
            command.args(["--json", "disk", "requests", "--cell", "0", "--format", "regions"]);
        let output = run(command.args(words)).assert_code(0).stdout;
        serde_json::from_str::<Vec<Value>>(&output).unwrap()
    };
    let sum = |regions: &[Value], of: &str| -> u64 {
        regions.iter().map(|region| region[of].as_u64().unwrap()).sum()
    };
    let of_phase = regions(&["--phase", &ext4.phase]);
    let work = ext4.disk.unwrap();
    assert_eq!(of_phase.len(), 16);
    assert_eq!(sum(&of_phase, "journal"), work.journal.unwrap().0);
    assert_eq!(sum(&of_phase, "read") + sum(&of_phase, "written"), work.bytes.0);
    assert!(sum(&regions(&[]), "written") > sum(&of_phase, "written"));
    let page = sandbox.path("page.html");
    run(sandbox.fsarena().args(["report", "--format", "html", "-o"]).arg(&page)).assert_code(0);
    let page = std::fs::read_to_string(page).unwrap();
    let maps = page.matches("\"cells\":\"").count();
    assert!(maps >= 2 * (ext4_phases(&results) - 1), "{maps} maps");
    sandbox.assert_clean();
}

/// Counts the phases of the first cell on a simulated disk.
fn ext4_phases(results: &model::CampaignResults) -> usize {
    let cell = cells_of(results, "ext4").remove(0);
    cell.phases.iter().filter(|phase| phase.disk.is_some()).count()
}

#[test]
fn an_ideal_disk_takes_no_time_and_reports_its_processor_cost() {
    let sandbox = Sandbox::new();
    campaign(&sandbox, "ideal");
    for phase in phases(&sandbox) {
        let work = phase.disk.unwrap();
        assert_eq!(work.outside, phase.elapsed, "{}", phase.phase);
        assert!(work.requests == 0 || work.own.0 > 0, "{work:?}");
        assert!(work.own < phase.elapsed, "{work:?}");
    }
    sandbox.assert_clean();
}

#[test]
fn a_machine_of_a_study_has_its_speed_memory_and_disk() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.in_guests(sandbox.fsarena(), &["minix"], "1");
    let command = command.args(["--suite", "trial", "--machine", "vanninen-2003"]);
    run(command).assert_code(0);
    let machine = sandbox.results().campaign.guest.unwrap();
    assert_eq!((machine.shift, machine.memory), (1, model::Bytes::mib(512)));
    assert_eq!(machine.model().unwrap().name, "hdd-2003-7200");
    let mut real = sandbox.fsarena();
    let words =
        ["run", "--backend", "vm", "--clock", "real", "-c", "ext4", "--machine", "os2-2002"];
    let refused = run(real.args(words)).assert_code(2).stderr;
    assert!(refused.contains("--machine os2-2002 sets the time per instruction"), "{refused}");
    sandbox.assert_clean();
}
