//! What each contender may use of memory and disks, and what it used, as a table; and, where contenders are not alike in
//! it, that said.

use analyse::{Analysis, Estimate, Resources};
use model::Bytes;

use crate::tables::plain_table::PlainTable;
use crate::wording::text::clean;

/// What stands above the table.
pub(crate) const TITLE: &str = "Memory and disks";
/// What has to be known of it.
pub(crate) const NOTE: &str = "“May use” holds the page cache; of a guest it is all that the guest has. “Kernel” is what \
    the kernel's object caches (inodes, directory entries, buffer heads, extents) held more than before the filesystem \
    was made, used or kept for later, and is measured in guests alone, where nobody else uses the kernel. It is less than \
    the whole: kmalloc, whole pages, the driver's code and the page cache are not in it. “Driver” is what the processes of \
    a FUSE driver have for themselves. “Mounted” is right after the mount; “most” is the most at the end of a phase. Both \
    are medians over rounds.";

/// What may be used where nothing is said.
const ALL: &str = "all there is";

/// A column: its heading, and what stands in it for a contender.
type Column = (&'static str, fn(&Resources) -> Option<String>);

const COLUMNS: [Column; 7] = [
    (">may use", |r| Some(r.memory?.to_string())),
    ("disk", |r| r.disk.as_deref().map(clean)),
    (">disks", |r| Some(r.disks?.to_string())),
    (">kernel, mounted", |r| bytes(r.kernel.as_ref()?.mounted)),
    (">kernel, most", |r| bytes(r.kernel.as_ref()?.most)),
    (">driver, mounted", |r| bytes(r.driver.as_ref()?.mounted)),
    (">driver, most", |r| bytes(r.driver.as_ref()?.most)),
];

fn bytes(estimate: Option<Estimate>) -> Option<String> {
    Some(Bytes(estimate?.median.round() as u64).to_string())
}

/// A line for each contender, in the campaign's order; `None` where all may use the same and nothing was measured: the
/// campaign's own setting says it then.
pub(crate) fn table(analysis: &Analysis) -> Option<PlainTable> {
    let resources = &analysis.resources;
    let is_measured = |r: &Resources| r.kernel.is_some() || r.driver.is_some();
    if !resources.iter().any(is_measured) && unlike(analysis).is_empty() {
        return None;
    }
    let is_known = |(_, of): &&Column| resources.iter().any(|r| of(r).is_some());
    let columns: Vec<&Column> = COLUMNS.iter().filter(is_known).collect();
    let heading: Vec<&str> = ["contender"]
        .into_iter()
        .chain(columns.iter().map(|(name, _)| *name))
        .collect();
    let mut table = PlainTable::new(&heading);
    for of in resources {
        let cells = columns.iter().map(|(name, value)| {
            value(of).unwrap_or_else(|| match *name {
                ">may use" => ALL.to_owned(),
                _ => "none".to_owned(),
            })
        });
        table.push([clean(&of.contender)].into_iter().chain(cells).collect());
    }
    Some(table)
}

/// Sentences for what contenders are not alike in: whoever is ahead may owe it to that.
pub(crate) fn unlike(analysis: &Analysis) -> Vec<String> {
    let disks = |r: &Resources| {
        let model = r.disk.as_deref().map(clean)?;
        Some(match r.disks {
            Some(1) | None => model,
            Some(count) => format!("{count} × {model}"),
        })
    };
    let memory = |r: &Resources| {
        let size = r.memory.map(|size| size.to_string());
        Some(size.unwrap_or_else(|| ALL.to_owned()))
    };
    let sentences = [
        sentence(
            analysis,
            "are on different disks",
            "filesystem and disk",
            disks,
        ),
        sentence(
            analysis,
            "may use different memory",
            "filesystem and memory",
            memory,
        ),
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
        let who = clean(&resources.contender);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, members)) => members.push(who),
            None => kinds.push((kind, vec![who])),
        }
    }
    if kinds.len() < 2 {
        return None;
    }
    let kinds = kinds
        .iter()
        .map(|(kind, members)| format!("{kind} ({})", members.join(", ")));
    let kinds: Vec<String> = kinds.collect();
    Some(format!(
        "Contenders {how}: {}. Ranks, marks and scores compare {both} together; only those in one pair of brackets \
         differ by their filesystem alone.",
        kinds.join("; ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyse::{analyse, fixture};
    use model::{CampaignResults, MemoryUse, OwnSetting};

    fn measured() -> CampaignResults {
        let mut results = fixture::plain();
        results.campaign.contenders[2].own = OwnSetting {
            memory: Some(Bytes::mib(32)),
            ..OwnSetting::default()
        };
        let own = results.cells.iter_mut();
        for stored in own.filter(|stored| stored.cell.contender == "fast") {
            let result = stored.result.as_mut().unwrap();
            let memory = |kernel, driver| MemoryUse {
                kernel: Some(Bytes::kib(kernel)),
                driver,
            };
            result.mounted = Some(memory(300, None));
            result.phases[0].memory = Some(memory(5 << 10, Some(Bytes::mib(9))));
        }
        results
    }

    #[test]
    fn each_contender_has_a_line_with_what_it_may_use_and_what_it_used() {
        let text = table(&analyse(&measured())).unwrap().text("");
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|l| {
                l.split("  ")
                    .filter(|w| !w.is_empty())
                    .map(str::trim)
                    .collect()
            })
            .collect();
        assert_eq!(
            lines[0],
            [
                "CONTENDER",
                "MAY USE",
                "KERNEL, MOUNTED",
                "KERNEL, MOST",
                "DRIVER, MOST"
            ]
        );
        assert_eq!(lines[1], ["fast", "512 MiB", "300 KiB", "5 MiB", "9 MiB"]);
        assert_eq!(lines[3], ["slow", "32 MiB", "none", "none", "none"]);
    }

    #[test]
    fn contenders_that_are_not_alike_are_told_and_those_that_are_are_not() {
        assert_eq!(unlike(&analyse(&fixture::plain())), [""; 0]);
        let said = unlike(&analyse(&measured()));
        assert_eq!(said.len(), 1);
        assert!(
            said[0].starts_with(
                "Contenders may use different memory: 512 MiB (fast, middle); 32 MiB (slow). Ranks"
            ),
            "{said:?}"
        );
    }
}
