//! Rows with a checksum over their content, which detects rows that were changed or moved when they
//! are read.
//!
//! The digest is the SHA-256 (FIPS 180-4) of the table's name, followed by each column in the order
//! of `Table::columns`. A value is encoded as a type byte (0 NULL, 1 integer, 2 text), followed
//! by eight bytes for an integer, or by the length in bytes and the bytes for a text. Numbers are
//! little-endian, and the table's name is encoded as a text.

use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Params, Row, params_from_iter};
use sha2::{Digest, Sha256};

use crate::store::error::RowError;

/// One consistent state of the database, as seen by a reader.
#[derive(Clone, Copy)]
pub struct ReadView<'a> {
    /// Connection to the database, in a transaction.
    pub connection: &'a Connection,
    /// Whether rows have digests. Rows of older versions do not if the database is read-only.
    pub digests: bool,
}

/// A table whose rows have digests.
pub struct TableSpec {
    name: &'static str,
    /// All columns except the digest, keys first.
    columns: &'static [&'static str],
    /// Describes a row, for errors about damage.
    called: fn(&Row<'_>) -> rusqlite::Result<String>,
}

/// Definitions of campaigns.
pub const CAMPAIGN: TableSpec = TableSpec {
    name: "campaign",
    columns: &["id", "name", "started", "profile", "backend", "definition"],
    called: |row| Ok(format!("definition of campaign {}", key(row, "id")?)),
};

/// Sessions of campaigns with their environments.
pub const SESSION: TableSpec = TableSpec {
    name: "session",
    columns: &["id", "campaign", "started", "environment"],
    called: |row| {
        let (id, campaign) = (key(row, "id")?, key(row, "campaign")?);
        Ok(format!("environment {id}, of campaign {campaign},"))
    },
};

/// Plans.
pub const PLANNED_CELL: TableSpec = TableSpec {
    name: "planned_cell",
    columns: &["campaign", "cell", "contender", "suite", "test", "round", "seed"],
    called: |row| Ok(format!("plan of {}", cell(row)?)),
};

/// Results.
pub const CELL: TableSpec = TableSpec {
    name: "cell",
    columns: &["campaign", "cell", "session", "status", "started", "elapsed", "result"],
    called: |row| Ok(format!("result of {}", cell(row)?)),
};

/// Overhead of fsarena and speed of raw devices.
pub const CALIBRATION: TableSpec = TableSpec {
    name: "calibration",
    columns: &["campaign", "taken", "calibration"],
    called: |row| {
        let campaign = key(row, "campaign")?;
        Ok(format!("calibration of campaign {campaign}"))
    },
};

/// The table of imported campaigns.
pub const IMPORTED: TableSpec = TableSpec {
    name: "imported",
    columns: &["campaign"],
    called: |row| Ok(format!("origin of campaign {}", key(row, "campaign")?)),
};

fn key(row: &Row<'_>, column: &str) -> rusqlite::Result<i64> {
    row.get(column)
}

fn cell(row: &Row<'_>) -> rusqlite::Result<String> {
    let (cell, campaign) = (key(row, "cell")?, key(row, "campaign")?);
    Ok(format!("cell {cell} of campaign {campaign}"))
}

impl TableSpec {
    /// Stores a row with these values, one per column.
    pub fn insert(&self, connection: &Connection, values: Vec<Value>) -> Result<(), RowError> {
        let digest = self.digest(values.iter().map(ValueRef::from))?;
        let places = vec!["?"; values.len() + 1].join(", ");
        let (name, columns) = (self.name, self.columns.join(", "));
        let sql = format!("INSERT INTO {name} ({columns}, digest) VALUES ({places})");
        let all = values.into_iter().chain([Value::Blob(digest.to_vec())]);
        connection.prepare_cached(&sql)?.execute(params_from_iter(all))?;
        Ok(())
    }

    /// Selects rows with the rest of a query. `take` converts each row after its checksum was
    /// verified. Errors of a row, including those of `take`, contain the description of the row.
    pub fn select<T>(
        &self,
        view: ReadView<'_>,
        rest: &str,
        parameters: impl Params,
        take: impl Fn(&Row<'_>) -> Result<T, RowError>,
    ) -> Result<Vec<T>, RowError> {
        let digest = match view.digests {
            true => "digest",
            false => "NULL AS digest",
        };
        let (name, columns) = (self.name, self.columns.join(", "));
        let sql = format!("SELECT {columns}, {digest} FROM {name} {rest}");
        let mut query = view.connection.prepare_cached(&sql)?;
        let mut rows = query.query(parameters)?;
        let mut taken = Vec::new();
        while let Some(row) = rows.next()? {
            let sound = self.check(row).and_then(|()| take(row));
            taken.push(sound.map_err(|trouble| trouble.with_row(&(self.called)(row)))?);
        }
        Ok(taken)
    }

    /// Compares a row with its digest. Rows of older versions have no digest.
    fn check(&self, row: &Row<'_>) -> Result<(), RowError> {
        let Some(stored) = row.get::<_, Option<Vec<u8>>>("digest")? else {
            return Ok(());
        };
        let columns = 0..self.columns.len();
        let values = columns.map(|column| row.get_ref(column));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        match self.digest(values)? == *stored {
            true => Ok(()),
            false => Err(RowError::Damaged("it does not match its checksum".into())),
        }
    }

    fn digest<'a>(
        &self,
        values: impl IntoIterator<Item = ValueRef<'a>>,
    ) -> Result<[u8; 32], RowError> {
        let mut digest = Sha256::new();
        let text = |digest: &mut Sha256, bytes: &[u8]| {
            digest.update([2]);
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        };
        text(&mut digest, self.name.as_bytes());
        for value in values {
            match value {
                ValueRef::Null => digest.update([0]),
                ValueRef::Integer(number) => {
                    digest.update([1]);
                    digest.update(number.to_le_bytes());
                }
                ValueRef::Text(bytes) => text(&mut digest, bytes),
                ValueRef::Real(_) | ValueRef::Blob(_) => {
                    let why = "a column holds what was never stored there";
                    return Err(RowError::Damaged(why.into()));
                }
            }
        }
        Ok(digest.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If the digest changed silently, every stored row would appear damaged.
    #[test]
    fn the_digest_of_a_known_row() {
        let values = [ValueRef::Integer(7), ValueRef::Integer(-1), ValueRef::Text(b"{}")];
        let digest = CALIBRATION.digest(values).unwrap();
        let shown: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(shown, "5936ded63b85e2da5270da93026cb8db930678240c9799e8c5828bd399027dae");
    }

    #[test]
    fn no_two_rows_are_written_alike() {
        let digest = |values: [ValueRef<'_>; 3]| CALIBRATION.digest(values).unwrap();
        let text = |text| ValueRef::Text(text);
        let rows = [
            [text(b"ab"), text(b"c"), text(b"")],
            [text(b"a"), text(b"bc"), text(b"")],
            [text(b"a"), text(b"bc"), ValueRef::Null],
            [text(b"a"), text(b"bc"), ValueRef::Integer(0)],
        ];
        for (i, row) in rows.iter().enumerate() {
            for other in &rows[..i] {
                assert_ne!(digest(*row), digest(*other));
            }
        }
    }
}
