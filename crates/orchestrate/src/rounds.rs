//! Whether a campaign has rounds enough, and what is said about it while it runs. Pure.

use analyse::{Stop, StopReason};
use model::CampaignResults;

/// What the campaign's rule says of what is stored; `None` where it has no rule.
pub fn stop(results: &CampaignResults) -> Option<Stop> {
    results.campaign.until?;
    analyse::analyse(results).stop
}

/// Whether another round is to be run.
pub fn wants_more(results: &CampaignResults) -> bool {
    stop(results).is_some_and(|stop| stop.reason == StopReason::Wide)
}

/// One line for people.
pub fn words(stop: &Stop) -> String {
    // To a thousandth of a per cent, which no result of a filesystem is worth.
    let width = (stop.until.width * 1e5).round() / 1e3;
    let wide = format!(
        "after {}, {} of {} results are wider than ±{width} % or not known yet",
        match stop.rounds {
            1 => "1 round".to_owned(),
            rounds => format!("{rounds} rounds"),
        },
        stop.wide.len(),
        stop.counted,
    );
    match stop.reason {
        StopReason::Narrow => format!("{wide}: that is enough"),
        StopReason::MostRounds => format!("{wide}, and there are as many rounds as may be"),
        StopReason::MostTime => format!("{wide}, and the time for further rounds is over"),
        StopReason::Running | StopReason::Wide => format!("{wide}: one more round"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Until;

    fn with(reason: StopReason) -> String {
        words(&Stop {
            until: Until {
                width: 0.05,
                share: 1.0,
                max_rounds: 20,
                max_time: None,
            },
            reason,
            rounds: 6,
            counted: 24,
            wide: Vec::new(),
        })
    }

    #[test]
    fn each_reason_has_its_words() {
        let start = "after 6 rounds, 0 of 24 results are wider than ±5 % or not known yet";
        assert_eq!(with(StopReason::Narrow), format!("{start}: that is enough"));
        assert_eq!(with(StopReason::Wide), format!("{start}: one more round"));
        let most = with(StopReason::MostRounds);
        assert_eq!(
            most,
            format!("{start}, and there are as many rounds as may be")
        );
        let late = with(StopReason::MostTime);
        assert_eq!(
            late,
            format!("{start}, and the time for further rounds is over")
        );
    }
}
