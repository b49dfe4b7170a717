//! Formats for other programs.

pub(crate) mod bonnie_csv;
pub(crate) mod csv;
pub(crate) mod iozone;
pub(crate) mod json;
#[cfg(feature = "parquet")]
pub(crate) mod parquet_table;
#[cfg(feature = "schema")]
pub(crate) mod schema;
