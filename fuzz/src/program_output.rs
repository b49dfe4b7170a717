//! Output of other programs: the first byte selects the format, and the rest is parsed, also as a
//! job file.

use std::fs;
use std::path::Path;

use import::{InputFormat, JobFileContext, NamingOptions, detect_format, read};
use model::{Campaign, check_name};

use crate::property::is_one_line;

/// Parses the input in the selected format and in the recognised format.
pub fn run(input: &[u8]) {
    let Some((first, rest)) = input.split_first() else {
        return;
    };
    let chosen = InputFormat::ALL[usize::from(*first) % InputFormat::ALL.len()];
    is_sound(chosen, rest);
    if let Some(format) = detect_format(rest).filter(|format| *format != chosen) {
        is_sound(format, rest);
    }
    is_confined(rest);
}

/// Checks that a job file is rejected in one line, or that no word of its command takes the next
/// word as its value.
fn is_confined(input: &[u8]) {
    let context = JobFileContext {
        include: &|_| Ok(input.to_vec()),
        variable: &|_| Some("--output=/x".to_owned()),
    };
    match import::fio_arguments(input, &context) {
        Err(error) => is_one_line(&error),
        Ok(words) => {
            assert!(words.iter().all(|word| word.starts_with("--") && word.contains('=')));
        }
    }
    if let Err(error) = import::filebench_workload(input) {
        is_one_line(&error);
    }
}

/// Checks that the input is rejected in one line, or is a campaign with valid names and numbers.
fn is_sound(format: InputFormat, input: &[u8]) {
    let naming = NamingOptions { otherwise: "here".to_owned(), ..NamingOptions::default() };
    let found = match read(format, input, &naming) {
        Err(error) => return is_one_line(&error),
        Ok(found) => found,
    };
    let results = found.into_results().expect("what was read is a campaign");
    assert!((1..=Campaign::MAX_ROUNDS).contains(&results.campaign.rounds));
    for test in results.campaign.suites.iter().flat_map(|suite| &suite.tests) {
        check_name(&test.name).expect("a test has a name");
        for phase in &test.phases {
            check_name(&phase.name).expect("a phase has a name");
        }
    }
    let done = results.cells.iter().filter_map(|cell| cell.result.as_ref());
    for number in done.flat_map(|result| &result.phases).flat_map(model::PhaseResult::measurements)
    {
        assert!(number.value.is_finite() && number.value >= 0.0);
    }
}

/// Returns real output of programs, each after the byte of its format.
pub fn seeds() -> Vec<Vec<u8>> {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/import/tests/samples");
    let entries = fs::read_dir(samples).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.sort();
    let contents = files.iter().filter_map(|file| fs::read(file).ok());
    let seed = |contents: Vec<u8>| {
        let format = detect_format(&contents);
        let place = InputFormat::ALL.iter().position(|known| Some(*known) == format);
        let mut seed = vec![place.unwrap_or(0) as u8];
        seed.extend(contents);
        seed
    };
    let job_file =
        b"x[global]\nsize=1m\n[a]\nrw=write\nstonewall\ndescription=${A}\ninclude b\n".to_vec();
    contents.map(seed).chain([job_file]).collect()
}
