//! Renders one cell with all its details as text. Pure.

use std::fmt::Write;

use model::{
    CacheState, CellRecord, CellResult, CommandRecord, Failure, Features, HostNoise, Iteration,
    Nanos, PhaseResult, ProbeResult,
};
use report::{UnitScale, shell_quote};

use crate::output::text::{indented, line, moment, table};

/// Renders the page of a cell.
pub fn text(stored: &CellRecord) -> String {
    let cell = &stored.cell;
    let mut text = format!(
        "cell {}: {}, {}/{}, round {}, seed {}\n",
        cell.id.0,
        line(&cell.contender),
        line(&cell.suite),
        line(&cell.test),
        cell.round,
        cell.seed
    );
    let Some(result) = &stored.result else {
        return text + "not run yet\n";
    };
    text += &format!(
        "{}{}, begun {}{}\n",
        result.status,
        // The duration of an imported cell is unknown.
        match result.elapsed {
            Nanos(0) => String::new(),
            took => format!(" after {took}"),
        },
        moment(result.started),
        if result.from_cache { ", from the cache: an equal cell was run then" } else { "" }
    );
    for remark in &result.remarks {
        text += &format!("{}\n", line(remark));
    }
    text += &disturbances(result);
    text += &result.failure.as_ref().map(failure).unwrap_or_default();
    text += &phases(result);
    text += &result.steps.iter().map(step).collect::<String>();
    text += &features(&result.features);
    text + &kernel_log(result)
}

/// Returns the lines on large disturbances by other processes, and on a repetition of the cell.
fn disturbances(result: &CellResult) -> String {
    let much = |result: &CellResult| result.disturbance.filter(HostNoise::is_significant);
    let last = much(result).map(|what| format!("disturbed: {what}\n"));
    let first = result.first.as_ref().map(|first| {
        let what = much(first).map_or_else(String::new, |what| format!(", disturbed: {what}"));
        format!("ran once before, {} after {}{what}\n", first.status, first.elapsed)
    });
    last.into_iter().chain(first).collect()
}

fn failure(failure: &Failure) -> String {
    let mut text = format!("  {}: {}\n", line(&failure.step), line(&failure.reason));
    if let Some(error) = &failure.error {
        text += &format!("  {} gave {} ({})\n", line(&error.call), line(&error.name), error.errno);
    }
    for stack in &failure.stacks {
        text += &indented("  | ", stack);
    }
    text
}

fn phases(result: &CellResult) -> String {
    let mut text = String::new();
    for phase in &result.phases {
        text += &format!(
            "\nphase {}: {}, cache {}{}{}{}\n",
            line(&phase.phase),
            phase.status,
            phase.cache,
            match (phase.elapsed, phase.cache) {
                (Nanos(0), CacheState::Unknown) => String::new(),
                (wall, _) => format!(", {wall}"),
            },
            passes(&phase.passes),
            if phase.time_limited { ", cut short by its time limit" } else { "" }
        );
        text += &phase.failure.as_ref().map(failure).unwrap_or_default();
        text += &measurements(phase);
    }
    text
}

/// Returns the number of passes of a phase, whose counts are totals, and their range of durations.
fn passes(passes: &[Iteration]) -> String {
    let walls = || passes.iter().map(|pass| pass.elapsed);
    match walls().min().zip(walls().max()) {
        Some((least, most)) => format!(" in {} passes of {least} to {most}", passes.len()),
        None => String::new(),
    }
}

fn measurements(phase: &PhaseResult) -> String {
    let numbers = phase.measurements();
    if numbers.is_empty() {
        return String::new();
    }
    let rows: Vec<_> = numbers
        .into_iter()
        .map(|number| {
            let scale = UnitScale::for_metric(number.metric, [number.value]);
            let mark = if number.metric == phase.primary_metric { "*" } else { "" };
            [mark.to_owned(), number.metric.to_string(), scale.with_unit(number.value)]
        })
        .collect();
    indented("  ", &table(["", "metric", "value"], &rows))
}

fn step(step: &CommandRecord) -> String {
    let end = match (step.exit, step.signal) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "never ended".to_owned(),
    };
    let mut text = format!("\nstep {}: {end}, {}\n", line(&step.step), step.elapsed);
    let command: Vec<String> = step.command.iter().map(|word| shell_quote(word)).collect();
    text += &format!("  $ {}\n", line(&command.join(" ")));
    text + &indented("  | ", &step.output)
}

fn features(features: &Features) -> String {
    if features.0.is_empty() {
        return String::new();
    }
    let mut text = "\nfeatures\n".to_owned();
    for (feature, support) in &features.0 {
        let found = match support {
            ProbeResult::Yes => "yes".to_owned(),
            ProbeResult::UpTo(size) => format!("up to {}", size.format_limit()),
            ProbeResult::No(reason) => format!("no: {}", line(reason)),
        };
        writeln!(text, "  {feature:<15} {found}").expect("a string takes all");
    }
    text
}

fn kernel_log(result: &CellResult) -> String {
    if !result.kernel_log_readable {
        return "\nkernel log: could not be read\n".to_owned();
    }
    if result.kernel_log.is_empty() {
        return "\nkernel log: nothing\n".to_owned();
    }
    let lines: Vec<&str> = result.kernel_lines().map(String::as_str).collect();
    format!("\nkernel log\n{}", indented("  | ", &lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Nanos;

    use crate::fixture;

    #[test]
    fn a_failed_cell_shows_all_its_evidence() {
        insta::assert_snapshot!(text(&fixture::failed_cell()));
    }

    #[test]
    fn names_of_a_report_from_elsewhere_move_no_cursor() {
        let hostile = "\u{1b}[2J";
        let mut cell = fixture::failed_cell();
        (cell.cell.suite, cell.cell.test) = (hostile.into(), hostile.into());
        let result = cell.result.as_mut().unwrap();
        let failures = result.phases.iter_mut().filter_map(|phase| phase.failure.as_mut());
        for failure in failures.chain(&mut result.failure) {
            failure.step = hostile.into();
            if let Some(error) = &mut failure.error {
                (error.call, error.name) = (hostile.into(), hostile.into());
            }
        }
        result.phases.iter_mut().for_each(|phase| phase.phase = hostile.into());
        result.steps.iter_mut().for_each(|step| step.step = hostile.into());
        assert!(!text(&cell).contains('\u{1b}'));
    }

    #[test]
    fn shows_that_a_cell_has_not_run() {
        let cell = CellRecord { result: None, ..fixture::failed_cell() };
        assert!(text(&cell).ends_with("not run yet\n"));
    }

    #[test]
    fn shows_the_disturbance_that_caused_a_rerun() {
        let mut cell = fixture::failed_cell();
        let result = cell.result.as_mut().unwrap();
        let first = result.clone();
        result.first = Some(Box::new(CellResult {
            disturbance: Some(HostNoise {
                processors: 1,
                elapsed: Nanos::from_secs(10),
                other_cpu_time: Nanos::from_secs(6),
                ..HostNoise::default()
            }),
            ..first
        }));
        let text = text(&cell);
        assert!(text.contains("ran once before, failed after"), "{text}");
        assert!(text.contains("disturbed: other processes 60 % of"), "{text}");
    }

    #[test]
    fn shows_cached_cells_and_remarks() {
        let mut cell = fixture::failed_cell();
        let result = cell.result.as_mut().unwrap();
        result.from_cache = true;
        result.remarks = vec!["the guest was started twice".into()];
        let text = text(&cell);
        assert!(text.contains("from the cache"), "{text}");
        assert!(text.contains("\nthe guest was started twice\n"), "{text}");
    }
}
