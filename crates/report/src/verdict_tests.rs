//! What the terminal says of ties, drift and the rule that added rounds.

use super::*;
use analyse::{analyse, fixture};
use model::Until;

fn shown(results: &CampaignResults) -> String {
    let analysis = analyse(results);
    let mut text = String::new();
    for line in overall(results, &analysis)
        .map(|b| b.lines)
        .unwrap_or_default()
    {
        let entries: Vec<String> = line
            .entries
            .iter()
            .map(|e| format!("{}{}", e.text, e.signs))
            .collect();
        text += &format!("{} | {}\n", line.label, entries.join(" | "));
    }
    text + &remarks(results, &analysis).join("\n")
}

#[test]
fn a_small_campaign() {
    insta::assert_snapshot!(shown(&fixture::plain()));
}

#[test]
fn a_contender_twice_a_drift_and_a_rule_are_all_said() {
    let mut results = fixture::rising(8, 0.02);
    results.campaign.contenders[1].filesystem = results.campaign.contenders[0].filesystem.clone();
    results.campaign.until = Some(Until {
        width: 0.01,
        share: 1.0,
        max_rounds: 8,
        max_time: None,
    });
    insta::assert_snapshot!(shown(&results));
}

#[test]
fn one_round_says_what_it_would_take() {
    let results = fixture::rising(1, 0.0);
    let text = shown(&results);
    assert!(
        text.contains(
            "With 1 round nobody can be told apart from anybody: that needs 3, and 7 for"
        )
    );
    assert!(!text.contains("interval, from"), "one round has none");
}

#[test]
fn in_model_time_nothing_is_called_noise() {
    let mut results = fixture::plain();
    results.campaign.clock = Clock::Model;
    let analysis = analyse(&results);
    assert!(
        overall(&results, &analysis)
            .unwrap()
            .title
            .ends_with(", 3 seeds, which is no noise")
    );
    assert!(remarks(&results, &analysis)[0].contains("In model time nothing is noise"));
}

#[test]
fn many_outliers_are_counted_and_not_listed() {
    let all: Vec<String> = (0..7).map(|i| i.to_string()).collect();
    assert_eq!(some_of(&all), "0; 1; 2; 3; 4; and 2 more");
    assert_eq!(some_of(&all[..2]), "0; 1");
}

#[test]
fn hostile_names_are_cleaned() {
    let text = shown(&fixture::hostile());
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
}
