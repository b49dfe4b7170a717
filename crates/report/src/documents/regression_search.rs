//! The first worse version of a list: the regression and its size, the changes of that
//! version, and the campaigns that were run.

use std::collections::BTreeSet;

use model::Unit;
use stats::{
    CampaignComparison, RegressionCriterion, RegressionSearch, ResultChange, SettingChange,
    TestedVersion, VersionState,
};

use crate::UnitScale;
use crate::document::{Block, Document, Table};
use crate::documents::explanation;
use crate::text::conclusions::{format_excess, listed};
use crate::text::labels::{percent, pluralize};
use crate::text::sanitize::sanitize_line;

/// Maximum number of versions that are listed by name.
const MAX_NAMES: usize = 3;
/// Settings that repeat others. They are shown only if no other setting differs.
const REDUNDANT_SETTINGS: [&str; 2] = ["machine of a guest", "put on"];

/// Returns the result of the search as a document, with the answer first.
pub fn first_worse_report(found: &RegressionSearch) -> Document {
    let report = SearchReport { found };
    let mut document = Document::titled(report.answer());
    document.blocks.extend(report.notes().into_iter().map(Block::Paragraph));
    document.section("Worse, too", [Block::Table(report.others())]);
    document.section("Versions that were run", report.versions().map(Block::Table));
    document.paragraph(report.every_result().unwrap_or_default());
    document
}

struct SearchReport<'a> {
    found: &'a RegressionSearch,
}

impl SearchReport<'_> {
    fn name(&self, at: usize) -> String {
        let version = self.found.versions.get(at);
        version.map_or_else(String::new, |version| sanitize_line(&version.name))
    }

    fn last(&self) -> usize {
        self.found.versions.len().saturating_sub(1)
    }

    /// Returns the first line of the text.
    fn answer(&self) -> String {
        let found = self.found;
        let runs = format!("{} of {} versions run", found.runs(), found.versions.len());
        let Some(target) = &found.target else {
            let results = pluralize(found.step.changes.len() as u64, "result");
            let (margin, last) = (percent(found.margin.0), self.name(self.last()));
            return format!(
                "Not worse: of {results} of {last} none is shown to cost over {margin} more than with {} ({runs}).",
                self.name(0)
            );
        };
        let [good, bad] = found.version_bounds;
        let (before, after) = (self.name(good), self.name(bad));
        let what = self.what(target);
        match bad - good {
            0 | 1 => format!("First worse: {after} ({runs}): {what} with {before}."),
            _ => {
                let names: Vec<String> = (good + 1..=bad).map(|at| self.name(at)).collect();
                let names = match names.len() <= MAX_NAMES {
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

    /// Returns the beginning of a sentence such as `tree/delete takes 31 % longer (1.20 s → 1.57 s)
    /// than`.
    fn what(&self, target: &RegressionCriterion) -> String {
        let name = result(target);
        let failures = &mut self.found.step.new_failures.iter();
        let is_ours = |test: &str, phase: &str| (test, phase) == (&*target.test, &*target.phase);
        match target.change(&self.found.step) {
            Some(change) => format!("{name} {} than", difference(change)),
            None => match failures.find(|failure| is_ours(&failure.test, &failure.phase)) {
                Some(failure) if !failure.reason.is_empty() => {
                    format!(
                        "{name} is {} ({}), and not",
                        failure.outcome,
                        sanitize_line(&failure.reason)
                    )
                }
                _ => format!("{name} fails, and does not"),
            },
        }
    }

    /// Returns the changes, the affected results, and the limits of the search.
    fn notes(&self) -> Vec<String> {
        let found = self.found;
        let [good, bad] = found.version_bounds;
        let (before, after) = (self.name(good), self.name(bad));
        let changed = changed(&found.step);
        let changed = match changed.is_empty() {
            true => "none known to fsarena".to_owned(),
            false => changed.join("; "),
        };
        let mut notes = vec![format!("Changes from {before} to {after}: {changed}.")];
        let Some(target) = &found.target else {
            notes.extend(self.most_of_all());
            return notes;
        };
        let explanation = found.explanation.as_ref();
        notes.extend(explanation.map(explanation::causes).unwrap_or_default());
        notes.extend(self.small_step(target));
        notes.extend(self.goes_on(target));
        notes.extend(found.better.map(|at| {
            format!(
                "With {} it costs less than with {}: a bisect assumes a single change, but there are more.",
                self.name(at),
                self.name(0)
            )
        }));
        let again = found.other_regressions.iter().find_map(|o| Some((o, o.better_again?)));
        notes.extend(again.map(|(other, at)| {
            format!(
                "{} is worse with {} but not with {} after it: a bisect assumes a single change, but there are more.",
                result(&other.result),
                self.name(other.version_bounds[1]),
                self.name(at)
            )
        }));
        notes
    }

    /// Returns the result with the largest increase in cost.
    fn most_of_all(&self) -> Option<String> {
        let changes = self.found.step.changes.iter();
        let costs =
            |a: &&ResultChange, b: &&ResultChange| a.compared.ratio.total_cmp(&b.compared.ratio);
        let most = changes.max_by(costs)?;
        (most.compared.ratio > 1.0).then(|| {
            let name = sanitize_line(&format!("{}/{}", most.test, most.phase));
            format!("The largest difference: {name} {}.", difference(most))
        })
    }

    /// Returns a note if the regression came in small steps: a single version may be worse by less
    /// than the margin.
    fn small_step(&self, target: &RegressionCriterion) -> Option<String> {
        let step = target.change(&self.found.step)?;
        (!step.is_regression()).then(|| {
            format!(
                "It came in small steps: {} alone costs {} than {}.",
                self.name(self.found.version_bounds[1]),
                format_excess(step.compared.ratio - 1.0),
                self.name(self.found.version_bounds[0])
            )
        })
    }

    /// Returns a note if versions after the first worse one are even worse.
    fn goes_on(&self, target: &RegressionCriterion) -> Option<String> {
        let (bad, last) = (self.found.version_bounds[1], self.last());
        let ratio = |at: usize| {
            let beside = self.found.versions.get(at)?.beside_first.as_ref()?;
            Some(target.change(beside)?.compared.ratio)
        };
        let share = ratio(last)? / ratio(bad)? - 1.0;
        (last > bad && share > self.found.margin.0).then(|| {
            format!(
                "{} costs another {} than {}: guard the list from there on to find the cause.",
                self.name(last),
                format_excess(share),
                self.name(bad)
            )
        })
    }

    /// Returns a table of the other results that became worse.
    fn others(&self) -> Table {
        let mut table = Table::new(&["result", "first worse", "the last costs"]);
        for other in &self.found.other_regressions {
            let [good, bad] = other.version_bounds;
            let names: Vec<String> = (good + 1..=bad).map(|at| self.name(at)).collect();
            let place = match names.len() <= MAX_NAMES {
                true => listed(&names, "or"),
                false => format!("{} … {}", names[0], self.name(bad)),
            };
            let share = format_excess(other.ratio - 1.0);
            table.push([result(&other.result), place, share]);
        }
        table
    }

    /// Returns the versions of the list, with the value of the result that was searched.
    fn versions(&self) -> Option<Table> {
        let target = self.found.target.as_ref()?;
        let heading = format!(">{}", result(target));
        let mut table = Table::new(&["version", ">campaign", &heading, "verdict"]);
        let versions = self.found.versions.iter().enumerate();
        for (at, version) in versions.filter(|(_, version)| version.seen != VersionState::NotRun) {
            table.push([
                sanitize_line(&version.name),
                version.campaign.map_or_else(String::new, |id| id.to_string()),
                self.value(at, target).unwrap_or_default(),
                self.says(at, version),
            ]);
        }
        Some(table)
    }

    /// Returns the command that shows all results.
    fn every_result(&self) -> Option<String> {
        let campaign = |at: usize| self.found.versions.get(at)?.campaign;
        let [before, after] = self.found.version_bounds.map(campaign);
        let (before, after) = before.zip(after)?;
        Some(format!("Every result of the two: fsarena compare {before} {after}"))
    }

    fn says(&self, at: usize, version: &TestedVersion) -> String {
        let why = version.skip_reason.as_deref().map(sanitize_line).unwrap_or_default();
        match version.seen {
            _ if at == 0 => "the first".to_owned(),
            VersionState::NotRun => String::new(),
            VersionState::NotWorse => "not worse".to_owned(),
            VersionState::Worse => "worse".to_owned(),
            VersionState::Skipped => format!("skipped: {why}"),
        }
    }

    fn value(&self, at: usize, target: &RegressionCriterion) -> Option<String> {
        let beside = |at: usize| target.change(self.found.versions.get(at)?.beside_first.as_ref()?);
        let (change, side) = match at {
            0 => (beside(self.last())?, 0),
            at => (beside(at)?, 1),
        };
        let scale = UnitScale::for_metric(change.metric, change.means);
        Some(scale.with_unit(change.means[side]))
    }
}

fn result(target: &RegressionCriterion) -> String {
    sanitize_line(&format!("{}/{}", target.test, target.phase))
}

/// `takes 31 % longer (1.20 s → 1.57 s)`.
fn difference(change: &ResultChange) -> String {
    let scale = UnitScale::for_metric(change.metric, change.means);
    let [before, after] = change.means.map(|mean| scale.with_unit(mean));
    let share = change.compared.ratio - 1.0;
    let how = match (change.unit, share < 0.995) {
        (Unit::Seconds, true) => format!("takes {} longer", percent(share)),
        (Unit::Seconds, false) => {
            format!("takes {}", format_excess(share).replace("as much", "as long"))
        }
        _ => format!("costs {}", format_excess(share)),
    };
    format!("{how} ({before} → {after})")
}

/// Returns the differences between the two sides of a comparison, one phrase each.
fn changed(step: &CampaignComparison) -> Vec<String> {
    let (repeated, own): (Vec<_>, Vec<_>) = { step.settings.iter() }
        .partition(|setting| REDUNDANT_SETTINGS.contains(&setting.setting.as_str()));
    let told = if own.is_empty() { repeated } else { own };
    told.into_iter().map(in_words).collect()
}

/// Returns a setting change as text, such as `mount option sync added`, `kernel 6.1.0 → 6.12.1`.
fn in_words(setting: &SettingChange) -> String {
    let what = sanitize_line(&setting.setting);
    let words = |text: &str| -> Vec<String> {
        let words = text.split([' ', ',']).filter(|word| !word.is_empty());
        words.map(sanitize_line).collect()
    };
    let [before, after] = [&setting.before, &setting.after].map(|side| words(side));
    let less = |all: &[String], without: &[String]| -> Vec<String> {
        let without: BTreeSet<&String> = without.iter().collect();
        let left = all.iter().filter(|word| !without.contains(word));
        left.cloned().collect()
    };
    let (added, removed) = (less(&after, &before).join(" "), less(&before, &after).join(" "));
    let is_list = what.ends_with("options") || ["mkfs", "mount"].contains(&what.as_str());
    match (is_list, added.is_empty(), removed.is_empty()) {
        (true, false, true) => format!("{what} {added} added"),
        (true, true, false) => format!("{what} {removed} removed"),
        (true, false, false) => format!("{what} {added} replaces {removed}"),
        _ => format!("{what} {} → {}", shown(&setting.before), shown(&setting.after)),
    }
}

/// Returns a value for display; kernels are shown by their release.
fn shown(value: &str) -> String {
    let release = value.strip_prefix("Linux ").unwrap_or(value);
    match release.strip_suffix(" in a guest").unwrap_or(release) {
        "" => "none".to_owned(),
        value => sanitize_line(value),
    }
}

#[cfg(test)]
mod tests {
    use model::{CampaignResults, Clock, CpuProfile, Nanos, Status};
    use proptest::prelude::*;
    use stats::{
        AnalysedCampaign, CompareFilter, analyse, compare_versions, explain_step, fixture,
    };

    use super::*;

    use crate::render::{DocumentOptions, markdown, terminal};

    const NARROW: DocumentOptions = DocumentOptions::terminal(80);

    fn text(found: &RegressionSearch) -> String {
        terminal(&first_worse_report(found), &DocumentOptions::FILE)
    }

    /// Returns a version in which `slow` writes and reads in the given milliseconds, without
    /// failures.
    fn version(id: i64, options: &str, times: [u64; 2]) -> CampaignResults {
        let mut results = fixture::plain();
        results.id = id;
        results.campaign.clock = Clock::Virtual;
        let contenders = &mut results.campaign.contenders;
        let slow = contenders.iter_mut().find(|c| c.name == "slow").unwrap();
        slow.mount_options = options.split(',').map(str::to_owned).collect();
        for stored in &mut results.cells {
            let phases = &mut stored.result.as_mut().unwrap().phases;
            for (phase, time) in phases.iter_mut().zip(times) {
                match time {
                    0 => phase.status = Status::Failed,
                    time => phase.elapsed = Nanos(time * 1_000_000),
                }
            }
        }
        results
    }

    /// Returns the result of a search in a list of versions between two of them; only some versions
    /// were run.
    fn found(
        list: &[(&str, Option<(CampaignResults, VersionState)>)],
        between: [usize; 2],
    ) -> RegressionSearch {
        let run: Vec<_> = { list.iter() }
            .map(|(_, run)| run.as_ref().map(|(results, _)| (results, analyse(results))))
            .collect();
        let side = |at: usize| {
            let (results, analysis) = run[at].as_ref().unwrap();
            (AnalysedCampaign::new(results, analysis), "slow")
        };
        let wanted = CompareFilter::default();
        let beside_first = |at: usize| match at {
            0 => None,
            at => run[at].as_ref().and_then(|_| compare_versions(side(0), side(at), &wanted).ok()),
        };
        let tried = list.iter().enumerate().map(|(at, (name, run))| TestedVersion {
            name: (*name).to_owned(),
            campaign: run.as_ref().map(|(results, _)| results.id),
            seen: run.as_ref().map_or(VersionState::NotRun, |(_, seen)| *seen),
            skip_reason: matches!(run, Some((_, VersionState::Skipped)))
                .then(|| "it does not boot".to_owned()),
            beside_first: beside_first(at),
        });
        let tried: Vec<TestedVersion> = tried.collect();
        let whole = tried.last().and_then(|last| last.beside_first.clone()).unwrap();
        let target = RegressionCriterion::worst(&whole);
        let sides = between.map(side);
        let step = compare_versions(sides[0], sides[1], &wanted).unwrap();
        let names = between.map(|at| list[at].0);
        let explained = target
            .as_ref()
            .and_then(|target| explain_step(target, sides, names, [&CpuProfile::default(); 2]));
        RegressionSearch::new(tried, target, between, step, explained)
    }

    fn worse() -> RegressionSearch {
        let run = |id, options, times, seen| Some((version(id, options, times), seen));
        let list = [
            ("v1", run(11, "noatime", [200, 100], VersionState::NotWorse)),
            ("v2", None),
            ("v3", run(14, "noatime", [204, 120], VersionState::NotWorse)),
            ("v4", run(13, "noatime", [0, 0], VersionState::Skipped)),
            ("v5", run(15, "noatime,sync", [400, 120], VersionState::Worse)),
            ("v6", None),
            ("v7", run(12, "noatime,sync", [500, 120], VersionState::Worse)),
        ];
        found(&list, [2, 4])
    }

    #[test]
    fn the_first_worse_version_as_text() {
        let text = terminal(&first_worse_report(&worse()), &NARROW);
        assert!(text.lines().all(|line| line.chars().count() <= NARROW.width), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn the_first_worse_version_as_markdown() {
        insta::assert_snapshot!(markdown(&first_worse_report(&worse())));
    }

    #[test]
    fn largest_difference_is_reported_without_a_regression() {
        let run = |id, times| Some((version(id, "noatime", times), VersionState::NotWorse));
        let list = [("6.1", run(1, [200, 100])), ("6.12", run(2, [206, 100]))];
        insta::assert_snapshot!(text(&found(&list, [0, 1])));
    }

    #[test]
    fn a_phase_that_fails_is_worse_than_any_that_is_slow() {
        let run = |id, times, seen| Some((version(id, "noatime", times), seen));
        let list = [
            ("v1", run(1, [200, 100], VersionState::NotWorse)),
            ("v2", run(2, [900, 0], VersionState::Worse)),
        ];
        let found = found(&list, [0, 1]);
        assert_eq!(found.target.as_ref().unwrap().metric, None);
        let text = text(&found);
        assert!(
            text.starts_with("First worse: v2 (2 of 2 versions run): file/read is failed"),
            "{text}"
        );
    }

    #[test]
    fn result_that_recovers_after_the_first_worse_version_is_reported() {
        let run = |id, times, seen| Some((version(id, "noatime", times), seen));
        let list = [
            ("v1", run(1, [200, 100], VersionState::NotWorse)),
            ("v2", run(2, [100, 200], VersionState::NotWorse)),
            ("v3", run(3, [300, 100], VersionState::Worse)),
            ("v4", run(4, [400, 110], VersionState::Worse)),
        ];
        let found = found(&list, [1, 2]);
        let text = text(&found);
        assert!(text.contains("With v2 it costs less than with v1: a bisect assumes"), "{text}");
        assert!(text.contains("file/read is worse with v2 but not with v3 after it"), "{text}");
        assert!(text.contains("v4 costs another 33 % more than v3"), "{text}");
    }

    #[test]
    fn setting_changes_show_added_and_removed_words() {
        let told = |what: &str, before: &str, after: &str| {
            in_words(&SettingChange {
                setting: what.to_owned(),
                before: before.to_owned(),
                after: after.to_owned(),
            })
        };
        assert_eq!(told("mount options", "noatime", "noatime,sync"), "mount options sync added");
        let journal = told("mkfs options", "-O ^has_journal -b 4096", "-b 4096");
        assert_eq!(journal, "mkfs options -O ^has_journal removed");
        let other = told("mkfs", "mke2fs -t ext3 D", "mke2fs -t ext4 D");
        assert_eq!(other, "mkfs ext4 replaces ext3");
        let kernel = told("kernel", "Linux 6.1.0 in a guest", "Linux 6.12.1 in a guest");
        assert_eq!(kernel, "kernel 6.1.0 → 6.12.1");
        assert_eq!(told("mount options", "a,b", "b,a"), "mount options a,b → b,a");
    }

    proptest! {
        #[test]
        fn names_from_outside_are_escaped(name in "\\PC{0,20}", why in any::<String>()) {
            let mut found = worse();
            found.versions[4].name = name;
            found.versions[3].skip_reason = Some(why);
            for text in [text(&found), markdown(&first_worse_report(&found))] {
                prop_assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
            }
        }
    }
}
