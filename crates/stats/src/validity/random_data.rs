//! Compression that has nothing to compress.

use model::CampaignResults;

/// Returns the contenders whose options compress files, if the tests write content but none that
/// compresses.
pub(crate) fn idle_compression(results: &CampaignResults) -> Vec<String> {
    let kinds = results.campaign.data_kinds();
    if kinds.is_empty() || kinds.iter().any(|kind| kind.is_compressible()) {
        return Vec::new();
    }
    let compressing = results.campaign.contenders.iter().filter(|one| one.compresses());
    compressing.map(|one| one.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use model::DataKind;

    use super::*;
    use crate::fixture;

    #[test]
    fn compression_is_idle_only_on_data_that_does_not_compress() {
        let mut results = fixture::plain();
        assert!(idle_compression(&results).is_empty());
        for (contender, option) in
            results.campaign.contenders.iter_mut().zip(["noatime,compress=zstd:3", "compress=no"])
        {
            contender.mount_options = vec![option.to_owned()];
        }
        let first = results.campaign.contenders[0].name.clone();
        assert_eq!(idle_compression(&results), [first]);
        results.campaign.suites[0].tests[0].data = DataKind::Text;
        assert!(idle_compression(&results).is_empty());
    }
}
