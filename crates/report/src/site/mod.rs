//! Pages over several campaigns, and those of a whole database, which is a site: an index, what changed, a history.
//!
//! They stand on their own as the page of a campaign does, and have no script at all: charts are SVG that is drawn
//! here. Templates escape all text; the only markup passed through is our own.

mod changes;
mod chart;
mod history;
mod index;
mod replication;

use model::CampaignResults;

use crate::documents::history::release;
use crate::page::script;
use crate::text::conclusions::category_conclusions_by_disk;
use crate::text::date::moment;
use crate::text::summary::heading;
use crate::text::text::sanitize_line;
use crate::text::{labels, summary};

pub use changes::{HistoryOverview, changes_page};
pub use history::history_page;
pub use index::{IndexEntry, StudyEntry, index_page, studies_page};
pub use replication::replication_page;

/// What these pages have beside the style of a campaign's page.
const OWN_STYLE: &str = include_str!("../../../../web/style/site.css");

/// What every page has around it.
struct Frame {
    policy: String,
    style: String,
    title: String,
    /// Other pages of the site: their names and files; none where there is no site.
    links: Vec<(&'static str, &'static str)>,
}

impl Frame {
    fn new(title: &str, site: Option<Site>) -> Self {
        let style = format!("{}{OWN_STYLE}", script::STYLE);
        let named = script::csp_hash(&style);
        let links = match site {
            None => Vec::new(),
            Some(site) => {
                let studies = site.studies.then_some(("Studies", STUDIES));
                let links = [("Campaigns", INDEX), ("History", HISTORY)];
                links.into_iter().chain(studies).collect()
            }
        };
        Self {
            policy: format!(
                "default-src 'none'; style-src '{named}'; base-uri 'none'; form-action 'none'"
            ),
            style,
            title: title.to_owned(),
            links,
        }
    }
}

/// The files of a site.
pub const INDEX: &str = "index.html";
/// The page of the history of all results.
pub const HISTORY: &str = "history.html";
/// The page of published comparisons that were run again.
pub const STUDIES: &str = "studies.html";

/// The file of a campaign's page in a site.
pub fn campaign_file(id: i64) -> String {
    format!("campaign-{id}.html")
}

/// Which pages a site has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Whether it has a page of studies.
    pub studies: bool,
}

/// What is said of a campaign in a line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CampaignHead {
    /// Its number.
    pub id: i64,
    name: String,
    begun: String,
    kernel: String,
    machine: String,
    clock: String,
    backend: String,
    profile: String,
    rounds: String,
    contenders: Vec<String>,
}

impl CampaignHead {
    /// That of a campaign.
    pub fn from_results(results: &CampaignResults) -> Self {
        let campaign = &results.campaign;
        let environment = results.environments.last();
        let kernel = environment.map_or("", |environment| &environment.kernel);
        let machine = campaign.describe_guest().or_else(|| {
            let environment = environment?;
            Some(summary::processor(environment))
        });
        let here = campaign.measured_by.is_none();
        let of_here = |text: String| if here { text } else { String::new() };
        Self {
            id: results.id,
            name: sanitize_line(&campaign.name),
            begun: moment(results.started),
            kernel: match kernel.is_empty() {
                true => String::new(),
                false => format!("Linux {}", release(kernel)),
            },
            machine: sanitize_line(&machine.unwrap_or_default()),
            clock: of_here(campaign.clock.to_string()),
            backend: campaign.backend.to_string(),
            profile: match &campaign.measured_by {
                Some(by) => format!("measured by {}", sanitize_line(&by.program)),
                None => campaign.profile.to_string(),
            },
            rounds: labels::pluralize(campaign.rounds, "round"),
            contenders: campaign
                .contenders
                .iter()
                .map(|c| sanitize_line(&c.name))
                .collect(),
        }
    }

    /// Which it is, of what, when and where: `campaign 7, 3 filesystems …`.
    pub fn describe(&self) -> String {
        let parts = [
            &self.profile,
            &self.rounds,
            &self.clock,
            &self.kernel,
            &self.machine,
        ];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        let parts: Vec<&str> = parts.map(String::as_str).collect();
        format!(
            "campaign {} of {}, {}",
            self.id,
            self.begun,
            parts.join(", ")
        )
    }

    /// The name, or what stands for one.
    fn title(&self) -> String {
        match self.name.is_empty() {
            true => format!("Campaign {}", self.id),
            false => self.name.clone(),
        }
    }
}

/// What came of a campaign, in a sentence or two.
fn verdict(results: &CampaignResults, analysis: &stats::Analysis) -> String {
    let each = category_conclusions_by_disk(analysis).into_iter();
    let all = each.filter_map(|mut groups| groups.pop());
    let all = all.map(|all| format!("{}: {}", heading(&all.question), all.answer));
    let all: Vec<String> = all.collect();
    let all = (!all.is_empty()).then(|| all.join(" "));
    let unfinished = summary::incomplete_note(analysis);
    let nothing = || match results.cells.iter().any(|cell| cell.result.is_some()) {
        true => "Nothing that could be ranked.".to_owned(),
        false => "Nothing has run yet.".to_owned(),
    };
    match (unfinished, all) {
        (Some(unfinished), Some(all)) => format!("{all} {unfinished}"),
        (None, Some(all)) => all,
        (Some(unfinished), None) => unfinished,
        (None, None) => nothing(),
    }
}

#[cfg(test)]
#[path = "site_tests.rs"]
mod tests;
