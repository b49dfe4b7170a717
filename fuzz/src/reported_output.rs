//! Output of other programs, and every report on it. The memory of a report must grow with the
//! results, so few bytes that repeat names many times must not exhaust it: the fuzzer ends at
//! 2 GiB.

use import::{InputFormat, NamingOptions, read};
use model::CampaignResults;
use report::{DocumentOptions, ReportFormat};
use stats::{SuitesByGroup, analyse};

use crate::sample::CATALOG;

/// Maximum number of lines from one repetition.
const MAX_LINES: usize = 4000;

/// Parses the input as a list of repetitions, or as the output of a program, and renders every
/// report on the campaign.
pub fn run(input: &[u8]) {
    let Some((first, rest)) = input.split_first() else {
        return;
    };
    let naming = NamingOptions { otherwise: "here".to_owned(), ..NamingOptions::default() };
    let number = usize::from(*first);
    let found = match InputFormat::ALL.get(number) {
        Some(format) => read(*format, rest, &naming),
        None => read(InputFormat::Csv, repeated(rest).as_bytes(), &naming),
    };
    if let Ok(found) = found {
        let results = found.into_results().expect("what was read is a campaign");
        // A report as JSON is imported again.
        if import::validate(&results).is_ok() {
            is_reported(&results);
        }
    }
}

/// Returns a CSV of contenders, tests, phases and rounds: four bytes each give a block of lines in
/// which one of them is counted up.
fn repeated(input: &[u8]) -> String {
    let mut text = "contender,suite,test,phase,round,metric,value,status\n".to_owned();
    let mut lines = 0;
    for block in input.chunks_exact(4) {
        let [which, from, count, metric] = [block[0], block[1], block[2], block[3]];
        let metric = ["rate", "elapsed", "throughput", "capacity"][usize::from(metric % 4)];
        for number in (0..usize::from(count) * 4).map(|number| usize::from(from) + number) {
            let at = |place: u8| if which % 4 == place { number } else { usize::from(from) };
            let (contender, test, phase, round) = (at(0), at(1), at(2), 1 + at(3) % 1000);
            text += &format!("c{contender},s,t{test},p{phase},{round},{metric},2.5,ok\n");
            lines += 1;
            if lines == MAX_LINES {
                return text;
            }
        }
    }
    text
}

fn is_reported(results: &CampaignResults) {
    let mut analysis = analyse(results);
    analysis.score_use_cases(CATALOG.uses(), &SuitesByGroup::new());
    let options = DocumentOptions::default();
    for format in ReportFormat::ALL {
        report::render(format, results, &analysis, &options);
    }
}

/// Returns blocks that count up each part, and the samples of the target `import`.
pub fn seeds() -> Vec<Vec<u8>> {
    let blocks = (0..4).map(|which| vec![u8::MAX, which, 0, 25, 0, which, 1, 25, 1, 3, 0, 3, 0]);
    blocks.chain(crate::program_output::seeds()).collect()
}
