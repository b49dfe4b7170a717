//! Where the results of a campaign are kept.

use model::{Calibration, CampaignResults, Cell, CellResult, Environment};
use store::{CampaignId, Store, StoreError};
use sys::clock;

/// Keeps the plan and the results of one campaign. What a call has stored is there after a kill.
pub trait ResultSink {
    /// Why something could not be kept.
    type Error: std::error::Error;

    /// All that is kept.
    ///
    /// # Errors
    /// When it cannot be read.
    fn load(&self) -> Result<CampaignResults, Self::Error>;

    /// Keeps that the campaign begins or goes on, and on what.
    ///
    /// # Errors
    /// When it cannot be kept.
    fn begin_session(&mut self, environment: &Environment) -> Result<(), Self::Error>;

    /// Keeps what the harness costs and what the raw device can do; once.
    ///
    /// # Errors
    /// When it cannot be kept, or there is one.
    fn calibrate(&mut self, calibration: &Calibration) -> Result<(), Self::Error>;

    /// Keeps further cells behind the plan, all or none.
    ///
    /// # Errors
    /// When they cannot be kept, or do not follow the plan.
    fn extend_plan(&mut self, cells: &[Cell]) -> Result<(), Self::Error>;

    /// Keeps what became of a cell.
    ///
    /// # Errors
    /// When it cannot be kept, or the cell has a result.
    fn record(&mut self, cell: &Cell, result: &CellResult) -> Result<(), Self::Error>;
}

/// A campaign in a database.
pub struct StoredCampaign<'a> {
    /// The database.
    pub store: &'a mut Store,
    /// The campaign.
    pub id: CampaignId,
}

impl ResultSink for StoredCampaign<'_> {
    type Error = StoreError;

    fn load(&self) -> Result<CampaignResults, StoreError> {
        self.store.load(self.id)
    }

    fn begin_session(&mut self, environment: &Environment) -> Result<(), StoreError> {
        let now = clock::realtime();
        self.store.begin_session(self.id, environment, now)
    }

    fn calibrate(&mut self, calibration: &Calibration) -> Result<(), StoreError> {
        self.store.calibrate(self.id, calibration)
    }

    fn extend_plan(&mut self, cells: &[Cell]) -> Result<(), StoreError> {
        self.store.extend_plan(self.id, cells)
    }

    fn record(&mut self, cell: &Cell, result: &CellResult) -> Result<(), StoreError> {
        self.store.record(self.id, cell, result)
    }
}
