//! The first page of a site with a line for each campaign, and the page of studies.

use askama::Template;
use model::CampaignResults;
use stats::Analysis;
use studies::{Replication, Study};

use crate::site::{CampaignHead, Frame, HISTORY, Site, campaign_file, verdict};
use crate::text::claims::{self, ClaimView};
use crate::text::replication;

/// A campaign in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    head: CampaignHead,
    verdict: String,
    /// File of the campaign's page.
    file: String,
}

impl IndexEntry {
    /// Creates the entry of a campaign, including its result.
    pub fn from_results(results: &CampaignResults, analysis: &Analysis) -> Self {
        Self {
            head: CampaignHead::from_results(results),
            verdict: verdict(results, analysis),
            file: campaign_file(results.id),
        }
    }

    /// Returns the description of the campaign, without its result.
    pub const fn head(&self) -> &CampaignHead {
        &self.head
    }
}

/// A published comparison that campaigns of the database repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyEntry {
    title: String,
    /// Publication and workload of the study.
    source: String,
    /// Explains how closely fsarena reproduces the study.
    rationale: String,
    /// Summary of the verdicts on the claims, by the study's figures and by the latest campaign.
    fared: Vec<String>,
    claims: Vec<ClaimView>,
    /// The results that claims are judged by.
    sides: Vec<String>,
    /// Campaigns of the study, the latest first.
    campaigns: Vec<IndexEntry>,
}

impl StudyEntry {
    /// Creates the entry of a study with these campaigns, the latest first.
    pub fn new(title: &str, source: &str, rationale: &str, campaigns: Vec<IndexEntry>) -> Self {
        Self {
            title: title.to_owned(),
            source: source.to_owned(),
            rationale: rationale.to_owned(),
            fared: Vec::new(),
            claims: Vec::new(),
            sides: Vec::new(),
            campaigns,
        }
    }

    /// Adds the claims of the study, evaluated by the study's figures and by the latest campaign.
    #[must_use]
    pub fn with_claims(mut self, study: &Study, latest: &Replication) -> Self {
        self.fared = vec![claims::summary(study)];
        self.fared.extend(replication::summary(latest));
        self.claims = ClaimView::twice(&latest.claims);
        let id = self.campaigns.first().map_or(0, |latest| latest.head.id);
        self.sides = vec!["By what was published".to_owned(), format!("By campaign {id}")];
        self
    }
}

#[derive(Template)]
#[template(path = "site_index.html")]
struct Index<'a> {
    frame: Frame,
    entries: Vec<&'a IndexEntry>,
    history: &'static str,
}

#[derive(Template)]
#[template(path = "site_studies.html")]
struct Studies<'a> {
    frame: Frame,
    studies: &'a [StudyEntry],
}

/// Renders the first page of a site, with the latest campaigns first.
pub fn index_page(entries: &[IndexEntry], site: Site) -> String {
    let mut entries: Vec<&IndexEntry> = entries.iter().collect();
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.head.id));
    let page = Index { frame: Frame::new("Campaigns", Some(site)), entries, history: HISTORY };
    page.render().expect("writing to a string does not fail")
}

/// Renders the page of studies of a site.
pub fn studies_page(studies: &[StudyEntry], site: Site) -> String {
    let page = Studies { frame: Frame::new("Studies", Some(site)), studies };
    page.render().expect("writing to a string does not fail")
}
