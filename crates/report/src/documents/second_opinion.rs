//! Second opinion on a use: which contender costs least on a simulated disk. Virtual and real times
//! are never pooled.

use model::{CampaignResults, GuestDisk};
use stats::{Advice, QualifiedContender};

use crate::text::conclusions::format_excess;
use crate::text::sanitize::sanitize_line;

/// Smallest difference of a cost that has a reason, as a share.
const EXPLAINED: f64 = 0.05;

/// Returns the sentence that compares advice in real time with advice for the same use from a
/// campaign in virtual time. `None` if that campaign does not rank the contender to take and
/// another one.
pub fn second_opinion(
    advice: &Advice,
    simulated: &Advice,
    campaign: &CampaignResults,
) -> Option<String> {
    let pick = &advice.ranking.first()?.contender;
    let is_ranked = |one: &&QualifiedContender| {
        advice.ranking.iter().any(|real| real.contender == one.contender) && one.place.is_some()
    };
    let common: Vec<&QualifiedContender> = simulated.ranking.iter().filter(is_ranked).collect();
    let [first, second, ..] = common[..] else { return None };
    let picked = common.iter().find(|one| one.contender == *pick)?;
    let ratio = |one: &QualifiedContender| one.place.as_ref().map_or(1.0, |place| place.ratio);
    let excess = |one: &QualifiedContender| ratio(one) / ratio(first) - 1.0;
    let name = |one: &QualifiedContender| sanitize_line(&one.contender);
    let order = match first.contender == *pick {
        true => {
            let (also, next) = (name(first), name(second));
            format!("{also} is first as well, and {next} costs {}", format_excess(excess(second)))
        }
        false => format!(
            "another is first: {}, and {} costs {}{}",
            name(first),
            name(picked),
            format_excess(excess(picked)),
            reason(picked, first, excess(picked))
        ),
    };
    let disk = match campaign.campaign.guest.as_ref().map(|guest| &guest.disk) {
        Some(GuestDisk::Model { model }) => format!("the simulated disk {}", model.name),
        _ => "a simulated machine".to_owned(),
    };
    Some(format!("On {} (virtual time, campaign {}) {order}.", sanitize_line(&disk), campaign.id))
}

/// Returns the group of tests that makes the largest part of the difference.
fn reason(picked: &QualifiedContender, first: &QualifiedContender, excess: f64) -> String {
    let weigh = |one: &QualifiedContender, group| {
        let costs = one.groups.iter().find(|cost| cost.group == group);
        costs.and_then(|cost| Some(cost.share * cost.ratio?.ln())).unwrap_or(0.0)
    };
    let parts = picked.groups.iter();
    let parts =
        parts.map(|cost| (cost.group, weigh(picked, cost.group) - weigh(first, cost.group)));
    let most = parts.max_by(|a, b| a.1.total_cmp(&b.1));
    most.filter(|(_, part)| excess >= EXPLAINED && *part > 0.0)
        .map_or_else(String::new, |(group, _)| format!(", mostly for {}", group.title()))
}

#[cfg(test)]
mod tests {
    use model::WorkloadCategory::{Durable, Trees};
    use stats::{advise, analyse, fixture};

    use super::*;

    fn advice(results: &CampaignResults) -> Advice {
        let one = fixture::use_of(&[(Trees, 60.0), (Durable, 40.0)]);
        let mut analysis = analyse(results);
        analysis.score_use_cases([&one], &[].into());
        advise(&analysis.uses[0])
    }

    #[test]
    fn another_first_contender_is_named_with_the_excess_and_its_group() {
        let campaign = fixture::realistic();
        let real = advice(&campaign);
        let own = second_opinion(&real, &real, &campaign).unwrap();
        let pick = &real.ranking[0].contender;
        assert!(own.contains(&format!("{pick} is first as well, and ")), "{own}");

        let mut other = real.clone();
        other.ranking.swap(0, 1);
        let told = second_opinion(&other, &real, &campaign).unwrap();
        let taken = &other.ranking[0].contender;
        assert!(told.contains(&format!("another is first: {pick}, and {taken} costs ")), "{told}");
    }

    #[test]
    fn a_campaign_without_the_contender_has_no_opinion() {
        let campaign = fixture::realistic();
        let real = advice(&campaign);
        let mut without = real.clone();
        without.ranking.remove(0);
        assert_eq!(second_opinion(&real, &without, &campaign), None);
        without.ranking.clear();
        assert_eq!(second_opinion(&real, &without, &campaign), None);
    }
}
