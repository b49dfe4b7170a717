//! Compares two contenders over hosts: each host ran both, and is a block.
//!
//! Contenders are compared within a host, round by round, which cancels the speed of the host. The
//! mean of a host is one value, and the variation between hosts decides ([`BlockDesign::ByHost`]). A
//! host that ran only one contender is not used, because the host could be the cause of a
//! difference.

use std::collections::BTreeMap;

use serde::Serialize;

use super::difference::{
    AnalysedCampaign, CampaignComparison, CompareFilter, common_rows, disturbed, find_result,
    per_contender, result_changes,
};
use super::setting_diff::{self, IncomparableCampaigns};
use crate::inference::{BlockDesign, PairedResult};
use crate::results::paired::{RowPair, caches, is_sound, logs};
use crate::{IncomparableTest, MetricResult, ResultRow};

/// A host that is a block of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostBlock {
    /// Its name.
    pub name: String,
    /// The numbers of the campaigns that ran on the host.
    pub campaigns: Vec<i64>,
    /// Maximum number of rounds with both contenders, over all results.
    pub rounds: u32,
    /// Recorded facts that differ between hosts: the name and the value on this host.
    pub differs: Vec<(String, String)>,
}

/// Compares two contenders, by their names, over the hosts that ran these campaigns.
///
/// # Errors
/// Returns an error if campaigns differ in clock or backend, if no campaign has a contender, or if
/// no host ran both contenders.
///
/// # Panics
/// Panics if there is no campaign.
pub fn compare_over_hosts(
    campaigns: &[AnalysedCampaign<'_>],
    before: &str,
    after: &str,
    wanted: &CompareFilter,
) -> Result<CampaignComparison, IncomparableCampaigns> {
    let first = campaigns[0];
    for other in campaigns {
        setting_diff::check_comparable(first.results, other.results)?;
    }
    for name in [before, after] {
        let mut tried = campaigns.iter().map(|one| one.contender(name).map(|_| ()));
        tried.find(Result::is_ok).unwrap_or_else(|| first.contender(name).map(|_| ()))?;
    }
    let hosts = by_host(campaigns);
    let mut not_the_same = Vec::new();
    let (mut values, mut rounds) = (BTreeMap::new(), vec![0; hosts.len()]);
    for (host, (_, own)) in hosts.iter().enumerate() {
        let both = Both { names: [before, after], host };
        for campaign in own {
            both.collect(first, campaign, wanted, &mut values, &mut not_the_same);
        }
    }
    let compared: Vec<(RowPair<'_>, PairedResult)> = values
        .into_iter()
        .enumerate()
        .map(|(number, (_, of_row))| of_row.beside(number, &mut rounds))
        .collect();
    if compared.is_empty() {
        let [before, after] = [before, after].map(str::to_owned);
        return Err(IncomparableCampaigns::NoHostRanBoth(before, after));
    }
    let contenders = [before, after].map(|name| {
        let mut found = campaigns.iter().filter_map(|one| one.contender(name).ok());
        found.next().map(|(_, contender)| contender)
    });
    let settings = match contenders {
        [Some(before), Some(after)] => {
            setting_diff::contender_differences(first.results, before, after)
        }
        _ => Vec::new(),
    };
    Ok(CampaignComparison {
        paired: true,
        sessions: None,
        within: Some([before, after].map(str::to_owned)),
        disturbed: [before, after].map(|name| disturbed(campaigns, Some(name))),
        settings,
        only_in_one: Vec::new(),
        not_the_same,
        changes: result_changes(&compared, BlockDesign::ByHost, wanted.margin),
        new_failures: Vec::new(),
        overall: per_contender(&compared, BlockDesign::ByHost, wanted.margin),
        margin: wanted.margin,
        elsewhere: false,
        hosts: blocks(&hosts, &rounds),
    })
}

/// Campaigns by the host that ran them.
type ByHost<'c, 'a> = Vec<(String, Vec<&'c AnalysedCampaign<'a>>)>;

fn by_host<'c, 'a>(campaigns: &'c [AnalysedCampaign<'a>]) -> ByHost<'c, 'a> {
    let mut hosts: BTreeMap<String, Vec<&AnalysedCampaign<'a>>> = BTreeMap::new();
    for one in campaigns {
        hosts.entry(setting_diff::host(one.results)).or_default().push(one);
    }
    hosts.into_iter().collect()
}

fn blocks(hosts: &ByHost<'_, '_>, rounds: &[u32]) -> Vec<HostBlock> {
    let empty = model::Environment::default();
    let environments = hosts.iter().map(|(_, own)| {
        let last = own.iter().rev().find_map(|one| one.results.environments.last());
        last.unwrap_or(&empty)
    });
    let differ = setting_diff::host_differences(&environments.collect::<Vec<_>>());
    let block = |(number, (name, own)): (usize, &(String, Vec<&AnalysedCampaign<'_>>))| HostBlock {
        name: name.clone(),
        campaigns: own.iter().map(|one| one.results.id).collect(),
        rounds: rounds[number],
        differs: differ
            .iter()
            .map(|(what, values)| (what.clone(), values[number].clone()))
            .collect(),
    };
    hosts.iter().enumerate().map(block).collect()
}

/// Two contenders on a host.
struct Both<'n> {
    names: [&'n str; 2],
    host: usize,
}

/// Key of a row of the first campaign.
type HostKey<'a> = (&'a str, &'a str, &'a str, model::Metric);

/// Data of a row: both sides in some campaign, and the log costs of each round that has both, with
/// its host.
struct OfRow<'a> {
    sides: RowPair<'a>,
    /// Index of the test of the row.
    test: usize,
    costs: Vec<(usize, f64, f64)>,
}

impl Both<'_> {
    /// Adds the results of both contenders in a campaign.
    fn collect<'a>(
        &self,
        first: AnalysedCampaign<'a>,
        campaign: &AnalysedCampaign<'a>,
        wanted: &CompareFilter,
        values: &mut BTreeMap<HostKey<'a>, OfRow<'a>>,
        not_the_same: &mut Vec<IncomparableTest>,
    ) {
        let rows = common_rows(first, *campaign, wanted, not_the_same);
        for (number, (row, own)) in rows.iter().enumerate() {
            let sides = self.names.map(|name| find_result(campaign, own, name));
            let [Some((_, before)), Some((_, after))] = sides else {
                continue;
            };
            let is_comparable = |one: &MetricResult| is_sound(own, one);
            if !(is_comparable(before) && is_comparable(after) && caches(before) == caches(after)) {
                continue;
            }
            let both = logs(own, before).into_iter().zip(logs(own, after));
            let costs: Vec<(usize, f64, f64)> =
                both.filter_map(|(a, b)| Some((self.host, a?, b?))).collect();
            if costs.is_empty() {
                continue;
            }
            let key = (row.suite.as_str(), row.test.as_str(), row.phase.as_str(), row.metric);
            let of_row = values.entry(key).or_insert_with(|| OfRow {
                sides: (*own, before, after),
                test: test_of(&rows, number),
                costs: Vec::new(),
            });
            of_row.costs.extend(costs);
        }
    }
}

fn test_of(rows: &[(&ResultRow, &ResultRow)], number: usize) -> usize {
    let of = |row: &ResultRow| (row.suite.clone(), row.test.clone());
    let own = of(rows[number].0);
    let found = rows.iter().position(|(row, _)| of(row) == own);
    found.unwrap_or(number)
}

impl<'a> OfRow<'a> {
    /// Returns the mean of each host before and after, and raises `rounds` to the number of values
    /// of each host.
    fn beside(self, row: usize, rounds: &mut [u32]) -> (RowPair<'a>, PairedResult) {
        let mut beside = PairedResult {
            row,
            test: self.test,
            contender: 0,
            before: vec![None; rounds.len()],
            after: vec![None; rounds.len()],
        };
        for (host, most) in rounds.iter_mut().enumerate() {
            let own = self.costs.iter().filter(|(of, ..)| *of == host);
            let (count, before, after) =
                own.fold((0u32, 0.0, 0.0), |sum, (_, a, b)| (sum.0 + 1, sum.1 + a, sum.2 + b));
            if count > 0 {
                let mean = |sum: f64| Some(sum / f64::from(count));
                (beside.before[host], beside.after[host]) = (mean(before), mean(after));
                *most = count.max(*most);
            }
        }
        (self.sides, beside)
    }
}

#[cfg(test)]
mod tests {
    use model::{CampaignResults, Nanos, SeededRng};

    use super::*;
    use crate::{Analysis, analyse, fixture};

    /// Simulates two contenders on a host that is slower by the factor `host`; the cost of `fs1`
    /// there is multiplied by `of_second`.
    fn on_host(name: &str, seed: u64, host: f64, of_second: f64) -> CampaignResults {
        let what =
            fixture::Simulated { contenders: 2, tests: 2, rounds: 3, slower: 0.0, drift: 0.0 };
        let mut results = fixture::simulated(seed, what);
        results.campaign.host = Some(name.to_owned());
        results.environments[0].cpu = format!("processor of {name}");
        for stored in &mut results.cells {
            let own = if stored.cell.contender == "fs1" { of_second } else { 1.0 };
            let phases = stored.result.iter_mut().flat_map(|result| &mut result.phases);
            phases.for_each(|p| p.elapsed = Nanos((p.elapsed.0 as f64 * host * own) as u64));
        }
        results
    }

    fn over(campaigns: &[CampaignResults]) -> Result<CampaignComparison, IncomparableCampaigns> {
        let analyses: Vec<Analysis> = campaigns.iter().map(analyse).collect();
        let both = campaigns.iter().zip(&analyses);
        let both: Vec<_> = both.map(|(r, a)| AnalysedCampaign::new(r, a)).collect();
        compare_over_hosts(&both, "fs0", "fs1", &CompareFilter::default())
    }

    fn called_different(found: &CampaignComparison) -> bool {
        let mut changes = found.changes.iter();
        changes.any(|change| change.compared.verdict.is_significant())
    }

    /// A host that takes three times as long changes no comparison.
    #[test]
    fn a_host_three_times_slower_changes_no_comparison() {
        let hosts = |slow: f64| {
            let all = [("n1", 1.0), ("n2", slow), ("n3", 1.0)].into_iter().zip(1..);
            all.map(|((name, host), seed)| on_host(name, seed, host, 1.5)).collect::<Vec<_>>()
        };
        let [even, uneven] = [1.0, 3.0].map(|slow| over(&hosts(slow)).unwrap());
        for (a, b) in even.changes.iter().zip(&uneven.changes) {
            assert!((a.compared.ratio / b.compared.ratio - 1.0).abs() < 1e-6);
            assert_eq!(a.compared.verdict.is_significant(), b.compared.verdict.is_significant());
        }
        assert!(uneven.worse_overall().count() == 1, "{:?}", uneven.overall);
        let rounds: Vec<u32> = uneven.hosts.iter().map(|host| host.rounds).collect();
        assert_eq!(rounds, [3, 3, 3]);
        let told = &uneven.hosts[1].differs;
        assert_eq!(told[..], [("processor".to_owned(), "processor of n2".to_owned())]);
    }

    /// A host that favours one of them is no evidence about other hosts. Of 60 comparisons that
    /// differ only in this, one in twenty may be called different. A factor of three must be found.
    #[test]
    fn an_effect_of_the_host_on_one_contender_is_noise() {
        let (mut false_claims, mut found) = (0, 0);
        for seed in 0..60 {
            let mut rng = SeededRng::substream(seed, "hosts");
            let mut hosts = |factor: f64| {
                let host = |number: u64| {
                    let likes = (0.4 * (rng.next_f64() - 0.5)).exp();
                    on_host(&format!("n{number}"), 100 * seed + number, 1.0, factor * likes)
                };
                (1..5).map(host).collect::<Vec<_>>()
            };
            false_claims += u32::from(called_different(&over(&hosts(1.0)).unwrap()));
            found += u32::from(called_different(&over(&hosts(3.0)).unwrap()));
        }
        println!(
            "of 60: {false_claims} called different for no reason, three times the time found in {found}"
        );
        assert!(false_claims <= 6, "{false_claims}: three are allowed, and chance");
        assert!(found >= 54, "{found}");
    }

    #[test]
    fn contenders_of_different_hosts_are_never_compared() {
        let mut hosts = [on_host("n1", 1, 1.0, 1.0), on_host("n2", 2, 3.0, 1.0)];
        for (host, alone) in hosts.iter_mut().zip(["fs0", "fs1"]) {
            let others = host.cells.iter_mut().filter(|c| c.cell.contender != alone);
            others.for_each(|cell| cell.result = None);
        }
        let error = over(&hosts).unwrap_err();
        assert_eq!(error, IncomparableCampaigns::NoHostRanBoth("fs0".into(), "fs1".into()));
        assert!(error.to_string().starts_with("no host has run both fs0 and fs1"));
    }

    #[test]
    fn several_campaigns_of_a_host_are_one_block() {
        let [one, two] = [1, 2].map(|seed| on_host("n1", seed, 1.0, 2.0));
        let other = on_host("n2", 3, 1.0, 2.0);
        let found = over(&[one, two, other]).unwrap();
        let rounds: Vec<u32> = found.hosts.iter().map(|host| host.rounds).collect();
        assert_eq!(rounds, [6, 3]);
    }
}
