//! The list of campaigns, without their results.

use std::collections::BTreeMap;

use model::{BackendKind, Campaign, Nanos, SizeProfile, Status};
use serde::Serialize;

use crate::store::error::RowError;
use crate::store::read::{parse, time};
use crate::store::row::{CAMPAIGN, ReadView};
use crate::store::{CampaignId, Store, StoreError};

/// One-line summary of a stored campaign.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CampaignSummary {
    /// Its number.
    pub id: CampaignId,
    /// Its name.
    pub name: String,
    /// Start time, in nanoseconds since 1970.
    pub started: Nanos,
    /// Size of the tests.
    pub profile: SizeProfile,
    /// Backend of the campaign.
    pub backend: BackendKind,
    /// Remote host that ran the campaign, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Names of the contenders.
    pub contenders: Vec<String>,
    /// Number of planned cells.
    pub planned: u32,
    /// Number of cells with a result.
    pub done: u32,
    /// Number of finished cells by status.
    pub statuses: BTreeMap<Status, u32>,
    /// Its definition, without rounds that were added later.
    #[serde(skip)]
    pub campaign: Campaign,
}

impl Store {
    /// Returns a summary of every stored campaign, in order of creation.
    ///
    /// # Errors
    /// Returns an error if SQLite refuses or the database is damaged.
    pub fn campaigns(&self) -> Result<Vec<CampaignSummary>, StoreError> {
        self.read_transaction(|view| {
            let stored = CAMPAIGN.select(view, "ORDER BY id", [], |row| {
                let id = CampaignId(row.get("id")?);
                Ok((id, time(row, "started")?, parse(row, "definition")?))
            })?;
            let stored = stored.into_iter();
            let summaries = stored.map(|(id, started, campaign)| {
                let (planned, statuses) = (planned(view, id)?, statuses(view, id)?);
                Ok(summary(id, started, campaign, planned, statuses))
            });
            summaries.collect()
        })
    }

    /// Returns the definition of every stored campaign, in order of creation.
    ///
    /// # Errors
    /// Returns an error if SQLite refuses or the database is damaged.
    pub fn definitions(&self) -> Result<Vec<(CampaignId, Campaign)>, StoreError> {
        self.read_transaction(|view| {
            CAMPAIGN.select(view, "ORDER BY id", [], |row| {
                Ok((CampaignId(row.get("id")?), parse(row, "definition")?))
            })
        })
    }
}

fn planned(view: ReadView<'_>, id: CampaignId) -> Result<u32, RowError> {
    let sql = "SELECT count(*) FROM planned_cell WHERE campaign = ?1";
    let mut query = view.connection.prepare_cached(sql)?;
    Ok(query.query_row([id.0], |row| row.get(0))?)
}

/// Counts the cells with each status. Does not read their results, which would be slow.
fn statuses(view: ReadView<'_>, id: CampaignId) -> Result<BTreeMap<Status, u32>, RowError> {
    let sql = "SELECT status, count(*) FROM cell WHERE campaign = ?1 GROUP BY 1";
    let mut query = view.connection.prepare_cached(sql)?;
    let rows =
        query.query_map([id.0], |row| Ok((row.get::<_, String>(0)?, row.get::<_, u32>(1)?)))?;
    let statuses = rows.map(|row| {
        let (word, count) = row?;
        let status: Result<Status, _> = serde_json::from_value(word.clone().into());
        let damaged = |_| RowError::Damaged(format!("a cell has the status `{word}`"));
        Ok((status.map_err(damaged)?, count))
    });
    statuses.collect()
}

fn summary(
    id: CampaignId,
    started: Nanos,
    campaign: Campaign,
    planned: u32,
    statuses: BTreeMap<Status, u32>,
) -> CampaignSummary {
    CampaignSummary {
        id,
        name: campaign.name.clone(),
        started,
        profile: campaign.profile,
        backend: campaign.backend,
        host: campaign.host.clone(),
        contenders: campaign.contenders.iter().map(|c| c.name.clone()).collect(),
        planned,
        done: statuses.values().sum(),
        statuses,
        campaign,
    }
}
