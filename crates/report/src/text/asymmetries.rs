//! Differences between contenders other than their filesystem.

use std::fmt;

use stats::{Analysis, Resources};

use crate::text::sanitize::sanitize_line;

/// Text for a contender without a limit.
pub(crate) const ALL: &str = "all there is";
/// Text for a contender that is not aged.
pub(crate) const FRESH: &str = "fresh";

/// A difference between contenders that may explain their order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asymmetry {
    /// How contenders differ.
    how: &'static str,
    /// Settings that every answer compares.
    both: &'static str,
    /// Contenders by the setting that differs.
    kinds: Vec<(String, Vec<String>)>,
    by_disk: bool,
}

/// Returns the differences between contenders that may explain their order.
pub(crate) fn asymmetries(analysis: &Analysis) -> impl Iterator<Item = Asymmetry> {
    let disks = |r: &Resources| {
        let model = r.disk.as_deref().map(sanitize_line)?;
        Some(match r.disks {
            Some(1) | None => model,
            Some(count) => format!("{count} × {model}"),
        })
    };
    let memory = |r: &Resources| {
        let size = r.memory.map(|size| size.to_string());
        Some(size.unwrap_or_else(|| ALL.to_owned()))
    };
    let any_aged = analysis.resources.iter().any(|r| r.age.is_some());
    let age = |r: &Resources| {
        let age = r.age.as_deref().map_or_else(|| FRESH.to_owned(), sanitize_line);
        any_aged.then_some(age)
    };
    let found = [
        asymmetry(analysis, "are of different age", "filesystem and age", age),
        asymmetry(analysis, "are on different disks", "filesystem and disk", disks),
        asymmetry(analysis, "may use different memory", "filesystem and memory", memory),
    ];
    found.into_iter().flatten()
}

fn asymmetry(
    analysis: &Analysis,
    how: &'static str,
    both: &'static str,
    of: impl Fn(&Resources) -> Option<String>,
) -> Option<Asymmetry> {
    let mut kinds: Vec<(String, Vec<String>)> = Vec::new();
    for resources in &analysis.resources {
        let Some(kind) = of(resources) else { continue };
        let who = sanitize_line(&resources.contender);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, members)) => members.push(who),
            None => kinds.push((kind, vec![who])),
        }
    }
    let by_disk = !analysis.by_disk.is_empty();
    (kinds.len() > 1).then_some(Asymmetry { how, both, kinds, by_disk })
}

impl fmt::Display for Asymmetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = self.kinds.iter();
        let kinds = kinds.map(|(kind, members)| format!("{kind} ({})", members.join(", ")));
        let kinds: Vec<String> = kinds.collect();
        let compared = match self.by_disk {
            false => "Every answer compares",
            true => "Answers take each disk by itself; tables compare",
        };
        write!(
            f,
            "Contenders {}: {}. {compared} {} together; only those in one pair of brackets differ by their \
             filesystem alone.",
            self.how,
            kinds.join("; "),
            self.both
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::{analyse, fixture};

    #[test]
    fn only_differing_resources_are_reported() {
        let unlike = |results: &model::CampaignResults| -> Vec<String> {
            let analysis = analyse(results);
            asymmetries(&analysis).map(|one| one.to_string()).collect()
        };
        assert_eq!(unlike(&fixture::plain()), [""; 0]);
        let mut results = fixture::plain();
        results.campaign.contenders[2].own.memory = Some(model::Bytes::mib(32));
        let said = unlike(&results);
        assert_eq!(said.len(), 1);
        assert!(
            said[0].starts_with(
                "Contenders may use different memory: 512 MiB (fast, middle); 32 MiB (slow). Every answer"
            ),
            "{said:?}"
        );
    }
}
