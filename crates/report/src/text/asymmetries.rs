//! Differences between contenders other than their filesystem, in sentences.

use stats::{Analysis, Resources};

use crate::text::sanitize::sanitize_line;

/// Text for a contender without a limit.
pub(crate) const ALL: &str = "all there is";
/// Text for a contender that is not aged.
pub(crate) const FRESH: &str = "fresh";

/// Returns sentences on differences between contenders that may explain their order.
pub(crate) fn unlike(analysis: &Analysis) -> Vec<String> {
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
    let sentences = [
        sentence(analysis, "are of different age", "filesystem and age", age),
        sentence(analysis, "are on different disks", "filesystem and disk", disks),
        sentence(analysis, "may use different memory", "filesystem and memory", memory),
    ];
    sentences.into_iter().flatten().collect()
}

fn sentence(
    analysis: &Analysis,
    how: &str,
    both: &str,
    of: impl Fn(&Resources) -> Option<String>,
) -> Option<String> {
    let mut kinds: Vec<(String, Vec<String>)> = Vec::new();
    for resources in &analysis.resources {
        let Some(kind) = of(resources) else { continue };
        let who = sanitize_line(&resources.contender);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, members)) => members.push(who),
            None => kinds.push((kind, vec![who])),
        }
    }
    if kinds.len() < 2 {
        return None;
    }
    let kinds = kinds.iter().map(|(kind, members)| format!("{kind} ({})", members.join(", ")));
    let kinds: Vec<String> = kinds.collect();
    let compared = match analysis.by_disk.is_empty() {
        true => "Every answer compares",
        false => "Answers take each disk by itself; tables compare",
    };
    Some(format!(
        "Contenders {how}: {}. {compared} {both} together; only those in one pair of brackets differ by their \
         filesystem alone.",
        kinds.join("; ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::{analyse, fixture};

    #[test]
    fn only_differing_resources_are_reported() {
        assert_eq!(unlike(&analyse(&fixture::plain())), [""; 0]);
        let mut results = fixture::plain();
        results.campaign.contenders[2].own.memory = Some(model::Bytes::mib(32));
        let said = unlike(&analyse(&results));
        assert_eq!(said.len(), 1);
        assert!(
            said[0].starts_with(
                "Contenders may use different memory: 512 MiB (fast, middle); 32 MiB (slow). Every answer"
            ),
            "{said:?}"
        );
    }
}
