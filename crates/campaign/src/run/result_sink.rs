//! Storage for the results of a campaign.

use crate::store::{CampaignId, Store, StoreError};
use model::{Calibration, CampaignResults, Cell, CellResult, Environment};
use sys::io::clock;

/// Stores the plan and the results of one campaign. Data stored by a call survives a kill.
pub trait ResultSink {
    /// Error of a failed operation on the storage.
    type Error: std::error::Error;

    /// Loads the campaign with all its results.
    ///
    /// # Errors
    /// Returns an error if the campaign cannot be read.
    fn load(&self) -> Result<CampaignResults, Self::Error>;

    /// Stores the start of a session and its environment.
    ///
    /// # Errors
    /// Returns an error if the session cannot be stored.
    fn begin_session(&mut self, environment: &Environment) -> Result<(), Self::Error>;

    /// Stores the harness overhead and the speed of the raw device, at most once per campaign.
    ///
    /// # Errors
    /// Returns an error if the calibration cannot be stored or already exists.
    fn calibrate(&mut self, calibration: &Calibration) -> Result<(), Self::Error>;

    /// Appends cells to the plan, all or none.
    ///
    /// # Errors
    /// Returns an error if the cells cannot be stored or do not continue the plan.
    fn extend_plan(&mut self, cells: &[Cell]) -> Result<(), Self::Error>;

    /// Stores the result of a cell.
    ///
    /// # Errors
    /// Returns an error if the result cannot be stored or already exists.
    fn record(&mut self, cell: &Cell, result: &CellResult) -> Result<(), Self::Error>;
}

/// A campaign stored in a database.
pub struct StoredCampaign<'a> {
    store: &'a mut Store,
    id: CampaignId,
}

impl<'a> StoredCampaign<'a> {
    /// Selects a campaign of a database.
    pub const fn new(store: &'a mut Store, id: CampaignId) -> Self {
        Self { store, id }
    }
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
