//! Run times of cells in earlier campaigns, used to estimate the time of a new one.

use campaign::plan::PastDurations;
use campaign::store::Store;
use model::{Campaign, CampaignId, Contender, Nanos, Test};

/// Maximum number of earlier campaigns to use, newest first.
const CAMPAIGNS: usize = 5;

/// Returns the run times of equal cells in the newest campaigns under the same conditions, except
/// campaign `own`.
pub fn load(store: &Store, campaign: &Campaign, own: Option<CampaignId>) -> PastDurations {
    let mut experience = PastDurations::default();
    // A campaign that cannot be read contributes no times; they only improve the estimate.
    let definitions = store.definitions().unwrap_or_default();
    let earlier = definitions.into_iter().rev();
    let alike = earlier.filter(|(id, earlier)| Some(*id) != own && are_alike(earlier, campaign));
    for (id, earlier) in alike.take(CAMPAIGNS) {
        let before = experience.cells.len();
        for ((contender, test), times) in store.elapsed(id).unwrap_or_default() {
            let same = is_same(&earlier, campaign, &contender, &test);
            if let Some(time) = median(times).filter(|_| same) {
                experience.cells.entry((contender, test)).or_insert(time);
            }
        }
        if experience.cells.len() > before {
            experience.campaigns.push(id);
        }
    }
    experience
}

/// Returns true if equal cells of both campaigns are expected to take about the same time.
fn are_alike(one: &Campaign, other: &Campaign) -> bool {
    let conditions = |campaign: &Campaign| {
        (
            (campaign.backend, campaign.clock, campaign.guest.clone()),
            (campaign.size, campaign.memory, campaign.readahead),
            (campaign.device.clone(), campaign.host.clone()),
            campaign.source.clone(),
        )
    };
    conditions(one) == conditions(other)
}

/// Returns true if the named contender and the named test are the same in both campaigns.
fn is_same(one: &Campaign, other: &Campaign, contender: &str, test: &str) -> bool {
    let contenders = [one, other].map(|c| contender_of(c, contender));
    let tests = [one, other].map(|c| test_of(c, test));
    contenders[0].is_some()
        && contenders[0] == contenders[1]
        && tests[0].is_some()
        && tests[0] == tests[1]
}

fn contender_of<'a>(campaign: &'a Campaign, name: &str) -> Option<&'a Contender> {
    campaign.contenders.iter().find(|c| c.name == name)
}

fn test_of<'a>(campaign: &'a Campaign, name: &str) -> Option<&'a Test> {
    let mut tests = campaign.suites.iter().flat_map(|suite| &suite.tests);
    tests.find(|test| test.name == name)
}

fn median(mut times: Vec<Nanos>) -> Option<Nanos> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use campaign::run::in_memory;
    use model::Bytes;

    use super::*;

    #[test]
    fn equal_cells_under_the_same_conditions_are_remembered_and_no_others() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(&directory.path().join("fsarena.db")).unwrap();
        let catalog = config::Catalog::builtin().unwrap();
        let contenders = ["ext4", "xfs"].map(|name| catalog.contender(name).unwrap());
        let campaign = in_memory::campaign(contenders.into(), 2);
        let mut begin = |campaign: &Campaign, seconds: u64| {
            let cells = campaign::plan::plan(campaign);
            let id = store.begin_campaign(campaign, &cells, Nanos(1)).unwrap();
            let environment = model::Environment::default();
            store.begin_session(id, &environment, Nanos(1)).unwrap();
            for cell in &cells {
                let mut result = in_memory::ok_result(&in_memory::test());
                result.elapsed = Nanos::from_secs(seconds);
                store.record(id, cell, &result).unwrap();
            }
            id
        };
        let larger = Campaign { size: Bytes(campaign.size.0 * 2), ..campaign.clone() };
        let ids = [begin(&campaign, 7), begin(&campaign, 8), begin(&larger, 99)];
        let known = load(&store, &campaign, None);
        assert_eq!((known.cells.len(), known.campaigns), (2, vec![ids[1]]));
        assert!(known.cells.values().all(|time| *time == Nanos::from_secs(8)));
        let resumed = load(&store, &campaign, Some(ids[1]));
        assert_eq!(resumed.campaigns, [ids[0]], "its own cells are known anyway");
        let mut renamed = campaign.clone();
        for contender in &mut renamed.contenders {
            contender.mount_options.push("noatime".into());
        }
        assert!(load(&store, &renamed, None).cells.is_empty());
    }
}
