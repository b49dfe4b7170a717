//! Deletes campaigns with all their stored data.

use std::fs;
use std::time::Duration;

use model::Bytes;
use rusqlite::{Connection, ErrorCode};

use crate::store::error::RowError;
use crate::store::open::{BUSY, write_ahead};
use crate::store::read::require;
use crate::store::{CampaignId, Store, StoreError, schema};

/// Tables with rows of campaigns and the column of the campaign, each before the tables that it
/// refers to. Only files of older versions have the first two.
const TABLES: [(&str, &str); 8] = [
    ("measurement", "campaign"),
    ("phase", "campaign"),
    ("cell", "campaign"),
    ("planned_cell", "campaign"),
    ("session", "campaign"),
    ("calibration", "campaign"),
    ("imported", "campaign"),
    ("campaign", "id"),
];

impl Store {
    /// Deletes campaigns, all or none. Their numbers are never used again.
    ///
    /// # Errors
    /// Returns an error if a campaign does not exist or SQLite refuses. No campaign is deleted in that
    /// case.
    pub fn delete(&mut self, campaigns: &[CampaignId]) -> Result<(), StoreError> {
        self.write_transaction(|transaction| {
            let guards = guards(transaction)?;
            for (name, _) in &guards {
                transaction.execute_batch(&format!("DROP TRIGGER {name}"))?;
            }
            for id in campaigns {
                require(transaction, *id)?;
                for (table, column) in TABLES {
                    if schema::has_table(transaction, table)? {
                        let sql = format!("DELETE FROM {table} WHERE {column} = ?1");
                        transaction.execute(&sql, [id.0])?;
                    }
                }
                let sql = "INSERT INTO upkeep (name, value) VALUES ('campaigns', ?1) \
                           ON CONFLICT DO UPDATE SET value = max(value, excluded.value)";
                transaction.execute(sql, [id.0])?;
            }
            for (_, create) in &guards {
                transaction.execute_batch(create)?;
            }
            Ok(())
        })
    }

    /// Gives the space of deleted rows back to the filesystem. Returns the number of bytes by which
    /// the file became smaller; readers of the database can delay that.
    ///
    /// # Errors
    /// Returns an error if SQLite refuses, for example on a full disk. The file is unchanged then.
    pub fn give_space_back(&mut self) -> Result<Bytes, StoreError> {
        const INCREMENTAL: u32 = 2;
        let size = |store: &Self| fs::metadata(store.path()).map_or(0, |file| file.len());
        let shrink = |connection: &Connection| -> rusqlite::Result<()> {
            // Before, because deleted pages may still be in the log only.
            connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
            let mode = connection.pragma_query_value(None, "auto_vacuum", |row| row.get(0));
            match mode? {
                // Returns a row for each page.
                INCREMENTAL => connection.pragma_query(None, "incremental_vacuum", |_| Ok(()))?,
                // A file of an older version is rewritten, once.
                _ => connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")?,
            }
            connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        };
        let before = size(self);
        let shrunk = shrink(&self.connection).map_err(RowError::from);
        shrunk.map_err(|trouble| trouble.with_path(self.path()))?;
        Ok(Bytes(before.saturating_sub(size(self))))
    }

    /// Returns true if another connection has the database open.
    ///
    /// # Errors
    /// Returns an error if SQLite refuses for another reason.
    pub fn is_open_elsewhere(&self) -> Result<bool, StoreError> {
        let look = || -> rusqlite::Result<bool> {
            // Only the single user of a database can remove its log.
            self.connection.busy_timeout(Duration::ZERO)?;
            let removed = self.connection.pragma_update(None, "journal_mode", "DELETE");
            self.connection.busy_timeout(BUSY)?;
            match removed {
                Ok(()) => write_ahead(&self.connection).map(|()| false),
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                    Ok(true)
                }
                Err(error) => Err(error),
            }
        };
        look().map_err(|error| RowError::from(error).with_path(self.path()))
    }
}

/// Returns the triggers that refuse deletion, each with its name and the statement that creates it.
fn guards(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let sql = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '%\\_kept' ESCAPE '\\'";
    let mut query = connection.prepare(sql)?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}
