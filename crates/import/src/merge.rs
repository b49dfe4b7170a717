//! Merges several inputs into one campaign. Equal names in several inputs become further rounds.

use std::collections::{BTreeMap, BTreeSet};

use crate::names::UniqueNames;
use crate::parsed_input::{MAX_RESULTS, NameKey, complete};
use crate::{ImportError, ParsedInput};
use model::Campaign;

/// Joins inputs in order. For each contender and test, the rounds of a later input follow those of
/// earlier inputs.
///
/// # Errors
/// Returns an error if there is no input or if the result exceeds the size of a campaign.
pub fn merge(inputs: Vec<ParsedInput>) -> Result<ParsedInput, ImportError> {
    let mut inputs = inputs.into_iter();
    let first = inputs.next();
    let mut all = first.ok_or_else(|| ImportError::in_file("no input to import"))?;
    let mut programs = BTreeSet::from([all.reported.program.clone()]);
    let mut names = MergedNames::default();
    names.rename(&mut all);
    for mut next in inputs {
        names.rename(&mut next);
        let before = last_rounds(&all);
        let already = all.reported.figures.len();
        for mut figure in next.reported.figures {
            let key = (figure.contender.clone(), figure.test.clone());
            figure.round += before.get(&key).copied().unwrap_or(0);
            if figure.round > Campaign::MAX_ROUNDS || all.reported.figures.len() == MAX_RESULTS {
                return Err(ImportError::in_file(
                    "the files hold more than one campaign can: import them in parts",
                ));
            }
            all.reported.figures.push(figure);
        }
        for ((contender, test, round), how) in next.died {
            let key = (contender, test);
            let round = round + before.get(&key).copied().unwrap_or(0);
            all.died.insert((key.0, key.1, round), how);
        }
        programs.insert(next.reported.program);
        if next.suite != all.suite {
            let tests = all.reported.figures[already..].iter().map(|figure| &figure.test);
            all.suites.extend(tests.map(|test| (test.clone(), next.suite.clone())));
        }
        all.suites.extend(next.suites);
        all.tests.extend(next.tests);
        all.phases.extend(next.phases);
        all.points.extend(next.points);
        all.ranked_by.extend(next.ranked_by);
        all.skipped.extend(next.skipped);
        all.assumed.extend(next.assumed);
        all.assumptions.extend(next.assumptions);
        for (key, places) in next.places {
            all.places.entry(key).or_default().extend(places);
        }
        for (key, headings) in next.headings {
            all.headings.entry(key).or_default().extend(headings);
        }
        all.described.extend(next.described);
        all.files += next.files;
        // If the inputs are from several machines, the campaign has no machine.
        if all.reported.environment != next.reported.environment {
            all.reported.environment = Default::default();
        }
        let started = [all.reported.started, next.reported.started];
        all.reported.started = started.into_iter().flatten().min();
    }
    let programs: Vec<String> = programs.into_iter().collect();
    all.reported.program = programs.join(", ");
    all.reported.source = format!("what {} printed", all.reported.program);
    complete(all)
}

/// Unique names over all inputs. Each input numbers its names separately: `ior-2` of one input may
/// be `ior` of another.
#[derive(Default)]
struct MergedNames {
    tests: UniqueNames,
    phases: BTreeMap<String, UniqueNames>,
}

impl MergedNames {
    fn rename(&mut self, found: &mut ParsedInput) {
        let mut renamed = BTreeMap::new();
        for figure in &mut found.reported.figures {
            let test = self.test(&found.tests, &figure.test);
            let key = (figure.test.clone(), figure.phase.clone());
            let names = self.phases.entry(test.clone()).or_default();
            figure.phase = match found.phases.get(&key) {
                Some(meant) => names.unique(&meant.called, &meant.parameters),
                None => names.slug(&figure.phase),
            };
            figure.test.clone_from(&test);
            renamed.insert(key, (test, figure.phase.clone()));
        }
        let phase = |key| renamed.get(&key).cloned();
        found.phases = keyed(&mut found.phases, phase);
        found.ranked_by = keyed(&mut found.ranked_by, phase);
        found.described = keyed(&mut found.described, phase);
        for known in [&mut found.places, &mut found.headings] {
            *known = keyed(known, |(contender, test, called)| {
                let (test, phase) = phase((test, called))?;
                Some((contender, test, phase))
            });
        }
        let known = std::mem::take(&mut found.tests);
        let mut test = |called: String| Some(self.test(&known, &called));
        found.suites = keyed(&mut found.suites, &mut test);
        found.points = keyed(&mut found.points, &mut test);
        found.died = keyed(&mut found.died, |(contender, called, round)| {
            Some((contender, test(called)?, round))
        });
        found.tests = keyed(&mut known.clone(), test);
    }

    fn test(&mut self, known: &BTreeMap<String, NameKey>, called: &str) -> String {
        match known.get(called) {
            Some(meant) => self.tests.unique(&meant.called, &meant.parameters),
            None => self.tests.slug(called),
        }
    }
}

/// Returns the map under new keys. Entries without a new key are dropped.
fn keyed<K: Ord, V>(
    of: &mut BTreeMap<K, V>,
    mut key: impl FnMut(K) -> Option<K>,
) -> BTreeMap<K, V> {
    let all = std::mem::take(of).into_iter();
    all.filter_map(|(old, value)| Some((key(old)?, value))).collect()
}

/// Returns the last round of each test of each contender.
fn last_rounds(found: &ParsedInput) -> BTreeMap<(String, String), u32> {
    let mut rounds = BTreeMap::new();
    for figure in &found.reported.figures {
        let key = (figure.contender.clone(), figure.test.clone());
        let last = rounds.entry(key).or_insert(0);
        *last = figure.round.max(*last);
    }
    rounds
}
