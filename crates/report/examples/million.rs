//! Measures the time needed to analyse and show a campaign of a million measurements, in several
//! shapes. Run it with `make bench-report`. It checks no limit: times depend on the machine.

use std::time::Instant;

use model::CampaignResults;
use report::{DocumentOptions, ReportFormat, render};
use stats::fixture::{Simulated, simulated};
use stats::{Analysis, analyse};

const MEASUREMENTS: f64 = 1e6;

fn main() {
    println!("{:<36} {:>12} {:>8}  rendering [s]", "campaign", "measurements", "analysis [s]");
    for (contenders, rounds) in [(20, 5), (2, 3), (9, 20)] {
        shape(contenders, rounds);
    }
}

fn shape(contenders: u32, rounds: u32) {
    let campaign = |tests| {
        let what = Simulated { contenders, tests, rounds, slower: 0.2, drift: 0.05 };
        simulated(1, what)
    };
    let of_one_test = measurements(&campaign(1)) as f64;
    let tests = (MEASUREMENTS / of_one_test).ceil() as u32;
    let results = campaign(tests);
    let begin = Instant::now();
    let analysis = analyse(&results);
    let analysed = begin.elapsed().as_secs_f64();
    let shown: Vec<String> =
        ReportFormat::ALL.into_iter().map(|format| timed(format, &results, &analysis)).collect();
    println!(
        "{:<36} {:>12} {analysed:>8.2}  {}",
        format!("{contenders} contenders × {tests} tests × {rounds} rounds"),
        measurements(&results),
        shown.join(", ")
    );
}

fn measurements(results: &CampaignResults) -> usize {
    let cells = results.cells.iter().filter_map(|c| c.result.as_ref());
    cells.flat_map(|c| &c.phases).map(|p| p.measurements().len()).sum()
}

fn timed(format: ReportFormat, results: &CampaignResults, analysis: &Analysis) -> String {
    let begin = Instant::now();
    let text = render(format, results, analysis, &DocumentOptions::default());
    let seconds = begin.elapsed().as_secs_f64();
    format!("{format} {seconds:.2} ({:.1} MB)", text.len() as f64 / 1e6)
}
