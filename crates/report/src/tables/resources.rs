//! Limits and use of memory and disks for each contender, as a table, and a note if contenders
//! differ in them.

use model::Bytes;
use stats::{Analysis, Resources, RobustEstimate};

use crate::document::Table;
use crate::text::asymmetries::{ALL, FRESH, asymmetries};
use crate::text::sanitize::sanitize_line;

/// Title of the table.
pub(crate) const TITLE: &str = "Memory and disks";
/// Explanation of the table.
pub(crate) const NOTE: &str = "“May use” includes the page cache; in a guest it is the memory of the guest. “Kernel” is the growth of the kernel's object caches (inodes, directory entries, buffer heads, extents) since before the filesystem was created, whether in use or kept for later. It is measured only in guests, which use the kernel exclusively. It does not include kmalloc, whole pages, the driver's code and the page cache. “Driver” is the private memory of the processes of a FUSE driver. “Mounted” is right after the mount; “most” is the maximum at the end of a phase. Both are medians over rounds.";

/// A column: its heading, and its value for a contender.
type ResourceColumn = (&'static str, fn(&Resources) -> Option<String>);

const COLUMNS: [ResourceColumn; 8] = [
    ("age", |r| r.age.as_deref().map(sanitize_line)),
    (">may use", |r| Some(r.memory?.to_string())),
    ("disk", |r| r.disk.as_deref().map(sanitize_line)),
    (">disks", |r| Some(r.disks?.to_string())),
    (">kernel, mounted", |r| bytes(r.kernel.as_ref()?.mounted)),
    (">kernel, most", |r| bytes(r.kernel.as_ref()?.max)),
    (">driver, mounted", |r| bytes(r.driver.as_ref()?.mounted)),
    (">driver, most", |r| bytes(r.driver.as_ref()?.max)),
];

fn bytes(estimate: Option<RobustEstimate>) -> Option<String> {
    Some(Bytes(estimate?.median.round() as u64).to_string())
}

/// Returns a line for each contender, in the campaign's order, or `None` if all have the same
/// limits and no memory was measured. The setting of the campaign then describes them.
pub(crate) fn table(analysis: &Analysis) -> Option<Table> {
    let resources = &analysis.resources;
    let is_measured = |r: &Resources| r.kernel.is_some() || r.driver.is_some();
    if !resources.iter().any(is_measured) && asymmetries(analysis).next().is_none() {
        return None;
    }
    let is_known = |(_, of): &&ResourceColumn| resources.iter().any(|r| of(r).is_some());
    let columns: Vec<&ResourceColumn> = COLUMNS.iter().filter(is_known).collect();
    let heading: Vec<&str> =
        ["filesystem"].into_iter().chain(columns.iter().map(|(name, _)| *name)).collect();
    let mut table = Table { by_contender: true, ..Table::new(&heading) };
    for of in resources {
        let cells = columns.iter().map(|(name, value)| {
            value(of).unwrap_or_else(|| match *name {
                ">may use" => ALL.to_owned(),
                "age" => FRESH.to_owned(),
                _ => "none".to_owned(),
            })
        });
        table.push([sanitize_line(&of.contender)].into_iter().chain(cells));
    }
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DocumentOptions;
    use model::{CampaignResults, ContenderOverrides, KernelMemoryUse};
    use stats::{analyse, fixture};

    fn measured() -> CampaignResults {
        let mut results = fixture::plain();
        results.campaign.contenders[2].own =
            ContenderOverrides { memory: Some(Bytes::mib(32)), ..ContenderOverrides::default() };
        let own = results.cells.iter_mut();
        for stored in own.filter(|stored| stored.cell.contender == "fast") {
            let result = stored.result.as_mut().unwrap();
            let memory =
                |kernel, driver| KernelMemoryUse { kernel: Some(Bytes::kib(kernel)), driver };
            result.mounted = Some(memory(300, None));
            result.phases[0].memory = Some(memory(5 << 10, Some(Bytes::mib(9))));
        }
        results
    }

    #[test]
    fn each_contender_has_a_line_with_its_limits_and_use() {
        let text = table(&analyse(&measured())).unwrap().text(&DocumentOptions::FILE);
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|l| l.split("  ").filter(|w| !w.is_empty()).map(str::trim).collect())
            .collect();
        assert_eq!(
            lines[0],
            ["FILESYSTEM", "MAY USE", "KERNEL, MOUNTED", "KERNEL, MOST", "DRIVER, MOST"]
        );
        assert_eq!(lines[1], ["fast", "512 MiB", "300 KiB", "5 MiB", "9 MiB"]);
        assert_eq!(lines[3], ["slow", "32 MiB", "none", "none", "none"]);
    }
}
