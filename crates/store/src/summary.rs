//! The list of campaigns, without their results.

use std::collections::BTreeMap;

use model::{Backend, Campaign, Nanos, Profile, Status};
use serde::Serialize;

use crate::read::{parse, time};
use crate::{CampaignId, Store, StoreError};

/// A stored campaign in one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CampaignSummary {
    /// Its number.
    pub id: CampaignId,
    /// Its name.
    pub name: String,
    /// When it was begun, nanoseconds since 1970.
    pub started: Nanos,
    /// How large its tests are.
    pub profile: Profile,
    /// Where its contenders live.
    pub backend: Backend,
    /// Names of its contenders.
    pub contenders: Vec<String>,
    /// Cells in its plan.
    pub planned: u32,
    /// Cells that have a result.
    pub done: u32,
    /// Of these, how many ended with each status.
    pub statuses: BTreeMap<Status, u32>,
}

impl Store {
    /// Every stored campaign, in the order in which they were begun.
    ///
    /// # Errors
    /// When SQLite refuses or what is stored cannot be read.
    pub fn campaigns(&self) -> Result<Vec<CampaignSummary>, StoreError> {
        let snapshot = self.connection.unchecked_transaction()?;
        let mut query = snapshot.prepare(
            "SELECT id, started, definition,
                    (SELECT count(*) FROM planned_cell WHERE campaign = campaign.id)
             FROM campaign ORDER BY id",
        )?;
        let rows = query.query_map([], |row| {
            let definition: String = row.get(2)?;
            let id = CampaignId(row.get(0)?);
            Ok((id, time(row, 1)?, definition, row.get(3)?))
        })?;
        rows.map(|row| {
            let (id, started, definition, planned) = row?;
            let campaign = parse("campaign", &definition)?;
            Ok(summary(id, started, campaign, planned, self.statuses(id)?))
        })
        .collect()
    }

    fn statuses(&self, id: CampaignId) -> Result<BTreeMap<Status, u32>, StoreError> {
        let mut query = self
            .connection
            .prepare_cached("SELECT status, count(*) FROM cell WHERE campaign = ?1 GROUP BY 1")?;
        let rows = query.query_map([id.0], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, u32>(1)?))
        })?;
        rows.map(|row| {
            let (word, count) = row?;
            Ok((parse("status", &format!("\"{word}\""))?, count))
        })
        .collect()
    }
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
        name: campaign.name,
        started,
        profile: campaign.profile,
        backend: campaign.backend,
        contenders: campaign.contenders.into_iter().map(|c| c.name).collect(),
        planned,
        done: statuses.values().sum(),
        statuses,
    }
}
