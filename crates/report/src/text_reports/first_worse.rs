//! The first worse version of a list, in words: what is worse, by how much, what changed there, and what was run.

use std::collections::BTreeSet;

use analyse::{Change, Differences, FirstWorse, Seen, SettingChange, Target, Tried};
use model::Unit;

use crate::Scale;
use crate::tables::plain_table::PlainTable;
use crate::text_reports::compare::Form;
use crate::text_reports::{explanation, markdown};
use crate::wording::answers::{listed, more};
use crate::wording::text::{clean, lines_of};
use crate::wording::words::{counted, percent};

/// The columns of a text where no terminal says how many.
const COLUMNS: usize = 80;
/// So many versions are named one by one.
const MOST_NAMES: usize = 3;
/// What of a setting is told only where nothing else is known to differ: it says the rest once more.
const IN_OTHER_WORDS: [&str; 2] = ["machine of a guest", "put on"];

/// What was found, the answer first.
pub fn first_worse_text(found: &FirstWorse, form: Form) -> String {
    let report = Report { found, form };
    let title = match form {
        Form::Text { .. } => report.paragraph(&report.answer()),
        Form::Markdown => format!("# {}\n", markdown::escape(&report.answer())),
    };
    let notes = report.notes();
    let notes: String = notes.iter().map(|note| report.paragraph(note)).collect();
    let notes = match notes.is_empty() {
        true => notes,
        false => format!("\n{notes}"),
    };
    title + &notes + &report.others() + &report.versions()
}

struct Report<'a> {
    found: &'a FirstWorse,
    form: Form,
}

impl Report<'_> {
    fn paragraph(&self, text: &str) -> String {
        match self.form {
            Form::Text { columns } => lines_of(text, columns.unwrap_or(COLUMNS)).join("\n") + "\n",
            Form::Markdown => format!("{}\n\n", markdown::escape(text)),
        }
    }

    fn table(&self, table: &PlainTable) -> String {
        match self.form {
            Form::Text { columns } => table.text_within("  ", columns.unwrap_or(COLUMNS)),
            Form::Markdown => self.form.table(table),
        }
    }

    fn name(&self, at: usize) -> String {
        let version = self.found.versions.get(at);
        version.map_or_else(String::new, |version| clean(&version.name))
    }

    fn last(&self) -> usize {
        self.found.versions.len().saturating_sub(1)
    }

    /// The first line.
    fn answer(&self) -> String {
        let found = self.found;
        let runs = format!("{} of {} versions run", found.runs(), found.versions.len());
        let Some(target) = &found.target else {
            let results = counted(found.step.changes.len() as u64, "result");
            let (margin, last) = (percent(found.margin.0), self.name(self.last()));
            return format!(
                "Not worse: of {results} of {last} none is shown to cost over {margin} more than with {} ({runs}).",
                self.name(0)
            );
        };
        let [good, bad] = found.between;
        let (before, after) = (self.name(good), self.name(bad));
        let what = self.what(target);
        match bad - good {
            0 | 1 => format!("First worse: {after} ({runs}): {what} with {before}."),
            _ => {
                let names: Vec<String> = (good + 1..=bad).map(|at| self.name(at)).collect();
                let names = match names.len() <= MOST_NAMES {
                    true => listed(&names, "or"),
                    false => format!("one of {} from {} to {after}", names.len(), names[0]),
                };
                let skipped = bad - good - 1;
                format!(
                    "First worse: {names} ({runs}, {skipped} of these could not be): with {after} {what} with {before}."
                )
            }
        }
    }

    /// `tree/delete takes 31 % longer (1.20 s → 1.57 s) than`.
    fn what(&self, target: &Target) -> String {
        let name = result(target);
        let failures = &mut self.found.step.new_failures.iter();
        let is_ours = |test: &str, phase: &str| (test, phase) == (&*target.test, &*target.phase);
        match target.change(&self.found.step) {
            Some(change) => format!("{name} {} than", difference(change)),
            None => match failures.find(|failure| is_ours(&failure.test, &failure.phase)) {
                Some(failure) if !failure.why.is_empty() => {
                    format!(
                        "{name} is {} ({}), and not",
                        failure.outcome,
                        clean(&failure.why)
                    )
                }
                _ => format!("{name} fails, and does not"),
            },
        }
    }

    /// What changed, where it went, and what the search could not see.
    fn notes(&self) -> Vec<String> {
        let found = self.found;
        let [good, bad] = found.between;
        let (before, after) = (self.name(good), self.name(bad));
        let changed = changed(&found.step);
        let changed = match changed.is_empty() {
            true => "nothing that fsarena knows of".to_owned(),
            false => changed.join("; "),
        };
        let mut notes = vec![format!("What changed from {before} to {after}: {changed}.")];
        let Some(target) = &found.target else {
            return notes;
        };
        let explanation = found.explanation.as_ref();
        notes.extend(explanation.map(explanation::causes).unwrap_or_default());
        notes.extend(self.small_step(target));
        notes.extend(self.goes_on(target));
        notes.extend(found.better.map(|at| {
            format!(
                "With {} it costs less than with {}: a bisect supposes that there is one change, and there are more.",
                self.name(at),
                self.name(0)
            )
        }));
        let again = found.others.iter().find_map(|o| Some((o, o.better_again?)));
        notes.extend(again.map(|(other, at)| {
            format!(
                "{} is worse with {} and not with {} behind it: a bisect supposes that there is one change, and there are \
                 more.",
                result(&other.result),
                self.name(other.between[1]),
                self.name(at)
            )
        }));
        notes
    }

    /// No version alone need be worse by so much than the one before.
    fn small_step(&self, target: &Target) -> Option<String> {
        let step = target.change(&self.found.step)?;
        (!step.is_regression()).then(|| {
            format!(
                "It came in small steps: {} alone costs {} than {}.",
                self.name(self.found.between[1]),
                more(step.compared.ratio - 1.0),
                self.name(self.found.between[0])
            )
        })
    }

    /// Versions behind the first worse one may be worse still.
    fn goes_on(&self, target: &Target) -> Option<String> {
        let (bad, last) = (self.found.between[1], self.last());
        let ratio = |at: usize| {
            let beside = self.found.versions.get(at)?.beside_first.as_ref()?;
            Some(target.change(beside)?.compared.ratio)
        };
        let share = ratio(last)? / ratio(bad)? - 1.0;
        (last > bad && share > self.found.margin.0).then(|| {
            format!(
                "{} costs another {} than {}: guard the list from there on to find where that came.",
                self.name(last),
                more(share),
                self.name(bad)
            )
        })
    }

    /// Where other results became worse.
    fn others(&self) -> String {
        let mut table = PlainTable::new(&["result", "first worse", "the last costs"]);
        for other in &self.found.others {
            let [good, bad] = other.between;
            let names: Vec<String> = (good + 1..=bad).map(|at| self.name(at)).collect();
            let place = match names.len() <= MOST_NAMES {
                true => listed(&names, "or"),
                false => format!("{} … {}", names[0], self.name(bad)),
            };
            let share = more(other.ratio - 1.0);
            table.push(vec![result(&other.result), place, share]);
        }
        match table.rows().is_empty() {
            true => String::new(),
            false => self.form.heading("Worse, too") + &self.table(&table),
        }
    }

    /// What was run of the list.
    fn versions(&self) -> String {
        let target = self.found.target.as_ref();
        let of_result = target.map_or_else(|| "result".to_owned(), result);
        let mut table = PlainTable::new(&["version", "campaign", ">", "what it comes to"]);
        if target.is_some() {
            table = PlainTable::new(&[
                "version",
                "campaign",
                &format!(">{of_result}"),
                "what it comes to",
            ]);
        }
        let versions = self.found.versions.iter().enumerate();
        for (at, version) in versions.filter(|(_, version)| version.seen != Seen::NotRun) {
            let campaign = version
                .campaign
                .map_or_else(String::new, |id| id.to_string());
            let value = target.and_then(|target| self.value(at, target));
            let says = self.says(at, version);
            table.push(vec![
                clean(&version.name),
                campaign,
                value.unwrap_or_default(),
                says,
            ]);
        }
        self.form.heading("Versions that were run") + &self.table(&table)
    }

    fn says(&self, at: usize, version: &Tried) -> String {
        let why = version.why.as_deref().map(clean).unwrap_or_default();
        match version.seen {
            _ if at == 0 => "the first".to_owned(),
            Seen::NotRun => String::new(),
            Seen::NotWorse => "not worse".to_owned(),
            Seen::Worse => "worse".to_owned(),
            Seen::Skipped => format!("skipped: {why}"),
        }
    }

    fn value(&self, at: usize, target: &Target) -> Option<String> {
        let beside = |at: usize| target.change(self.found.versions.get(at)?.beside_first.as_ref()?);
        let (change, side) = match at {
            0 => (beside(self.last())?, 0),
            at => (beside(at)?, 1),
        };
        let scale = Scale::for_metric(change.metric, change.means);
        Some(scale.with_unit(change.means[side]))
    }
}

fn result(target: &Target) -> String {
    clean(&format!("{}/{}", target.test, target.phase))
}

/// `takes 31 % longer (1.20 s → 1.57 s)`.
fn difference(change: &Change) -> String {
    let scale = Scale::for_metric(change.metric, change.means);
    let [before, after] = change.means.map(|mean| scale.with_unit(mean));
    let share = change.compared.ratio - 1.0;
    let how = match (change.unit, share < 0.995) {
        (Unit::Seconds, true) => format!("takes {} longer", percent(share)),
        (Unit::Seconds, false) => format!("takes {}", more(share).replace("as much", "as long")),
        _ => format!("costs {}", more(share)),
    };
    format!("{how} ({before} → {after})")
}

/// What differs between the two sides of a comparison, a phrase each.
fn changed(step: &Differences) -> Vec<String> {
    let (repeated, own): (Vec<_>, Vec<_>) = { step.settings.iter() }
        .partition(|setting| IN_OTHER_WORDS.contains(&setting.what.as_str()));
    let told = if own.is_empty() { repeated } else { own };
    told.into_iter().map(in_words).collect()
}

/// `mount option sync added`, `kernel 6.1.0 → 6.12.1`.
fn in_words(setting: &SettingChange) -> String {
    let what = clean(&setting.what);
    let words = |text: &str| -> Vec<String> {
        let words = text.split([' ', ',']).filter(|word| !word.is_empty());
        words.map(clean).collect()
    };
    let [before, after] = [&setting.before, &setting.after].map(|side| words(side));
    let less = |all: &[String], without: &[String]| -> Vec<String> {
        let without: BTreeSet<&String> = without.iter().collect();
        let left = all.iter().filter(|word| !without.contains(word));
        left.cloned().collect()
    };
    let (added, removed) = (
        less(&after, &before).join(" "),
        less(&before, &after).join(" "),
    );
    let is_list = what.ends_with("options") || ["mkfs", "mount"].contains(&what.as_str());
    match (is_list, added.is_empty(), removed.is_empty()) {
        (true, false, true) => format!("{what} {added} added"),
        (true, true, false) => format!("{what} {removed} removed"),
        (true, false, false) => format!("{what} {added} in the place of {removed}"),
        _ => format!(
            "{what} {} → {}",
            shown(&setting.before),
            shown(&setting.after)
        ),
    }
}

fn shown(value: &str) -> String {
    match value {
        "" => "none".to_owned(),
        value => clean(value),
    }
}
