//! The tables, created by numbered migrations. A released migration never changes.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::store::StoreError;
use crate::store::error::RowError;

/// Application id in SQLite's header that identifies a database of fsarena: `fsar`.
const APPLICATION_ID: u32 = u32::from_be_bytes(*b"fsar");

/// The migrations in order. Migration n creates schema n.
const MIGRATIONS: [&str; 7] = [
    include_str!("../../migrations/0001_campaigns.sql"),
    include_str!("../../migrations/0002_calibration.sql"),
    include_str!("../../migrations/0003_checksums.sql"),
    include_str!("../../migrations/0004_sessions.sql"),
    include_str!("../../migrations/0005_imported.sql"),
    include_str!("../../migrations/0006_views.sql"),
    include_str!("../../migrations/0007_upkeep.sql"),
];

/// The migration that creates views unless tables of the same names exist. A new file has no rows
/// in these tables, so it gets the views.
const VIEWS: u32 = 6;

/// The newest schema that this version supports.
const KNOWN: u32 = MIGRATIONS.len() as u32;

/// Migrates a database to the newest schema. Refuses databases of other programs and of newer
/// versions.
///
/// Everything happens in one transaction that locks out other writers. Two programs that open a new
/// file at once therefore do not both create its tables.
pub fn migrate(connection: &mut Connection, path: &Path) -> Result<(), RowError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = check(&transaction, path)?;
    if found < KNOWN {
        for (number, migration) in (1..).zip(MIGRATIONS).skip(found as usize) {
            if found == 0 && number == VIEWS {
                transaction.execute_batch("DROP TABLE measurement; DROP TABLE phase")?;
            }
            transaction.execute_batch(migration)?;
        }
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", KNOWN)?;
    }
    transaction.commit()?;
    Ok(())
}

/// Returns the schema of a database, or 0 for a new one. Refuses databases of other programs and of
/// newer versions.
pub fn check(connection: &Connection, path: &Path) -> Result<u32, RowError> {
    // All reads see the same state, even if another program creates the tables at the same time.
    let alone = connection.is_autocommit();
    let _snapshot = alone.then(|| connection.unchecked_transaction()).transpose()?;
    let application: u32 = pragma(connection, "application_id")?;
    let found: u32 = pragma(connection, "user_version")?;
    let tables: u32 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let new = tables == 0 && application == 0 && found == 0;
    if !new && application != APPLICATION_ID {
        return Err(StoreError::NotAnFsarenaDatabase { path: path.to_owned() }.into());
    }
    if found > KNOWN {
        return Err(StoreError::NewerSchema { path: path.to_owned(), found, known: KNOWN }.into());
    }
    if found == 0 && !new {
        return Err(RowError::Damaged("it has lost the number of its version".into()));
    }
    Ok(found)
}

/// Returns true if rows have digests. Checks the columns instead of the schema number, which may be
/// damaged.
pub fn has_digests(connection: &Connection) -> Result<bool, RowError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM pragma_table_info('cell') WHERE name = 'digest')";
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
}

/// Returns true if a table of this name exists. Databases of older versions may lack it.
pub fn has_table(connection: &Connection, name: &str) -> Result<bool, RowError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1)";
    Ok(connection.query_row(sql, [name], |row| row.get(0))?)
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_migration_file_is_applied_in_the_order_of_its_number() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");
        let mut files: Vec<_> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert_eq!(files.len(), MIGRATIONS.len());
        for (number, (file, applied)) in (1..).zip(files.iter().zip(MIGRATIONS)) {
            let name = file.file_name().unwrap().to_str().unwrap();
            assert!(name.starts_with(&format!("{number:04}_")), "{name}");
            assert_eq!(fs::read_to_string(file).unwrap(), applied);
        }
    }

    /// The database must not be treated as new, which would ignore its campaigns, and must not be
    /// migrated again.
    #[test]
    fn a_database_without_a_version_is_damaged() {
        let mut connection = Connection::open_in_memory().unwrap();
        let path = Path::new("a.db");
        assert_eq!(check(&connection, path).unwrap(), 0);
        migrate(&mut connection, path).unwrap();
        connection.pragma_update(None, "user_version", 0).unwrap();
        for found in [check(&connection, path).map(|_| ()), migrate(&mut connection, path)] {
            let told = found.unwrap_err().with_path(path).to_string();
            assert_eq!(
                told,
                "the database a.db is damaged (it has lost the number of its version): put a sound copy of that file in its \
                 place, or name another database with --db"
            );
        }
    }

    #[test]
    fn every_table_refuses_change_removal_and_replacement() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, Path::new(":memory:")).unwrap();
        let count = |kind: &str| -> u32 {
            let sql = "SELECT count(*) FROM sqlite_schema WHERE type = ?1";
            connection.query_row(sql, [kind], |row| row.get(0)).unwrap()
        };
        let (with_digest, upkeep) = (5, 1);
        assert_eq!(count("trigger"), 3 * (count("table") - upkeep) + with_digest);
    }

    /// Reading all campaigns one after another would otherwise scan all rows for each of them.
    #[test]
    fn rows_of_a_campaign_are_found_by_index() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, Path::new(":memory:")).unwrap();
        for table in ["session", "planned_cell", "cell", "calibration"] {
            let sql = format!("EXPLAIN QUERY PLAN SELECT * FROM {table} WHERE campaign = ?1");
            let plan: String = connection.query_row(&sql, [1], |row| row.get("detail")).unwrap();
            assert!(plan.starts_with("SEARCH"), "{plan}");
        }
    }

    #[test]
    fn migrating_again_changes_nothing() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, Path::new(":memory:")).unwrap();
        migrate(&mut connection, Path::new(":memory:")).unwrap();
        assert_eq!(check(&connection, Path::new(":memory:")).unwrap(), KNOWN);
    }
}
