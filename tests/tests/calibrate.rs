//! The overhead of fsarena and the limits of the device are measured, stored with the campaign and
//! printed.

use std::fs;

use end_to_end::{Sandbox, TestLoopDevice, results_of, run};
use model::{Calibration, RawDevicePerformance};
use serde_json::Value;

fn calibration(json: &str) -> Calibration {
    serde_json::from_str(json).expect("a calibration")
}

#[track_caller]
fn assert_whole(calibration: &Calibration) {
    let cost = &calibration.overhead;
    let results = [cost.operation, cost.clock, cost.histogram, cost.marking, cost.verification];
    let RawDevicePerformance {
        sequential_read, sequential_write, random_read, random_write, ..
    } = calibration.raw_device.clone().expect("there is a device");
    let device = [sequential_read, sequential_write, random_read, random_write];
    for result in results.into_iter().chain(device.map(Option::unwrap)) {
        assert!(result.min > 0.0 && result.repetitions >= 3, "{result:?}");
        assert!(result.min <= result.median && result.median <= result.max);
    }
    assert!(calibration.elapsed.0 > 0 && calibration.taken.0 > 0);
}

#[test]
fn calibration_of_an_image_leaves_no_files() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.fsarena();
    command.args(["tool", "calibrate", "--json", "--size", "16MiB", "--work-dir"]);
    let ended = run(command.arg(sandbox.path("work"))).assert_code(0);
    assert_eq!(ended.stderr, "");
    let calibration = calibration(&ended.stdout);
    assert_whole(&calibration);
    assert!(calibration.device.contains("image of 16 MiB"));
    sandbox.assert_clean();
}

#[test]
fn the_overhead_alone_is_measured_without_a_device() {
    let sandbox = Sandbox::new();
    let ended = run(sandbox.fsarena().args(["tool", "calibrate", "--overhead"])).assert_code(0);
    assert!(ended.stdout.contains("an operation without I/O"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("sequential"), "{}", ended.stdout);
    assert!(!sandbox.path("fsarena.db").exists(), "nothing is stored");
}

#[test]
fn a_blank_device_stays_blank_and_any_other_is_refused() {
    let sandbox = Sandbox::new();
    let device = TestLoopDevice::new(&sandbox.path("image"), 8 << 20);
    let calibrate = |more: &[&str]| {
        let mut command = sandbox.fsarena();
        command.args(["tool", "calibrate", "--json", "--device"]);
        run(command.arg(device.path()).args(more))
    };
    assert_whole(&calibration(&calibrate(&[]).assert_code(0).stdout));
    let content = fs::read(device.path()).unwrap();
    assert!(content.len() == 8 << 20 && content.iter().all(|&b| b == 0));

    fs::write(device.path(), [7; 4096]).unwrap();
    let refused = calibrate(&[]).assert_code(3);
    assert_eq!(refused.stdout, "");
    assert_eq!(fs::read(device.path()).unwrap()[..4096], [7; 4096]);
    let node = device.path().to_str().unwrap();
    assert_whole(&calibration(&calibrate(&["--erase", node]).assert_code(0).stdout));
}

#[test]
fn a_campaign_stores_its_calibration_and_every_report_prints_it() {
    let sandbox = Sandbox::new();
    run(&mut sandbox.campaign(&["ext4"], "trial")).assert_code(0);
    let results = sandbox.results();
    let stored = results.calibration.expect("it was taken");
    assert_whole(&stored);
    let report =
        |format: &str| run(sandbox.fsarena().args(["report", "--format", format])).assert_code(0);
    for format in ["html", "markdown"] {
        assert!(report(format).stdout.contains("sequential read"), "{format}");
    }
    let shown = run(sandbox.fsarena().arg("show")).assert_code(0).stdout;
    assert!(shown.contains("an operation without I/O"), "{shown}");
    let document: Value = serde_json::from_str(&report("json").stdout).unwrap();
    let rows = document["analysis"]["rows"].as_array().unwrap();
    let shares = |name| {
        let results = rows.iter().flat_map(|row| row["results"].as_array().unwrap());
        results.filter(|result| result[name].is_f64()).count()
    };
    assert!(shares("overhead_share") > 0);
    assert!(shares("raw_device_share") > 0);

    // A finished campaign is not calibrated again.
    run(sandbox.fsarena().arg("resume")).assert_code(0);
    assert_eq!(sandbox.results().calibration, Some(stored));
}

#[test]
fn calibration_without_a_raw_device_is_reported() {
    let sandbox = Sandbox::new();
    run(&mut sandbox.campaign(&["tmpfs"], "trial")).assert_code(0);
    let memory = sandbox.results().calibration.unwrap();
    assert_eq!(memory.raw_device, None);
    assert!(memory.device.contains("memory"), "{}", memory.device);

    let directory = sandbox.path("directory");
    fs::create_dir(&directory).unwrap();
    let mut command = sandbox.fsarena();
    command.args(["run", "--profile", "smoke", "--suite", "trial", "--rounds", "1", "--dir"]);
    command.arg(&directory).arg("--work-dir").arg(sandbox.path("work"));
    run(&mut command).assert_code(0);
    let report = run(sandbox.fsarena().args(["report", "--format", "json"]));
    let mounted = results_of(report).calibration.unwrap();
    assert_eq!(mounted.raw_device, None);
    assert!(mounted.device.contains("directories"), "{}", mounted.device);
    assert!(mounted.overhead.operation.median > 0.0);
}
