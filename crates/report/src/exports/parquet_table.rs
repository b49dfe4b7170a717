//! Tables as Apache Parquet files: the records of a CSV, with types.
//!
//! Format: Apache Parquet, version 1 pages, one row group, not compressed; written with the
//! `parquet` crate of the Apache project, without Arrow. Every column is optional: an empty CSV
//! field is null.

use std::sync::Arc;

use model::{CampaignResults, SweepAxis};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use stats::Analysis;

use crate::exports::csv;

/// Columns with integers.
const WHOLE: [&str; 3] = ["campaign", "round", "passes"];
/// Columns with numbers.
const NUMBERS: [&str; 3] = ["value", "raw_device_share", "overhead_share"];

/// Type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParquetKind {
    /// 64-bit integers.
    Whole,
    /// 64-bit floating-point numbers.
    Number,
    /// UTF-8 text.
    Text,
}

/// The values of a column; `None` is null.
enum ParquetColumn {
    Whole(Vec<Option<i64>>),
    Number(Vec<Option<f64>>),
    Text(Vec<Option<ByteArray>>),
}

/// Returns the type of a column of the table of rounds.
fn kind(name: &str) -> ParquetKind {
    if WHOLE.contains(&name) || SweepAxis::ALL.iter().any(|axis| axis.name() == name) {
        ParquetKind::Whole
    } else if NUMBERS.contains(&name) {
        ParquetKind::Number
    } else {
        ParquetKind::Text
    }
}

impl ParquetColumn {
    const fn new(kind: ParquetKind) -> Self {
        match kind {
            ParquetKind::Whole => Self::Whole(Vec::new()),
            ParquetKind::Number => Self::Number(Vec::new()),
            ParquetKind::Text => Self::Text(Vec::new()),
        }
    }

    /// Adds a field of the CSV. Numbers are parsed without loss.
    fn push(&mut self, field: &str) {
        match self {
            Self::Whole(values) => values.push(field.parse().ok()),
            Self::Number(values) => values.push(field.parse().ok()),
            Self::Text(values) => {
                values.push((!field.is_empty()).then(|| ByteArray::from(field)));
            }
        }
    }

    fn field(&self, name: &str) -> String {
        match self {
            Self::Whole(_) => format!("OPTIONAL INT64 {name};"),
            Self::Number(_) => format!("OPTIONAL DOUBLE {name};"),
            Self::Text(_) => format!("OPTIONAL BYTE_ARRAY {name} (UTF8);"),
        }
    }

    fn write(self, mut out: SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match self {
            Self::Whole(values) => write::<Int64Type>(&mut out, values)?,
            Self::Number(values) => write::<DoubleType>(&mut out, values)?,
            Self::Text(values) => write::<ByteArrayType>(&mut out, values)?,
        }
        out.close()
    }
}

/// Writes the present values, and a definition level for each that marks it as present or missing.
fn write<T: DataType>(
    out: &mut SerializedColumnWriter<'_>,
    values: Vec<Option<T::T>>,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
    let present: Vec<T::T> = values.into_iter().flatten().collect();
    out.typed::<T>().write_batch(&present, Some(&levels), None)?;
    Ok(())
}

/// A table with any columns.
pub struct ParquetTable {
    columns: Vec<(String, ParquetColumn)>,
}

impl ParquetTable {
    /// Creates an empty table with these columns.
    pub fn new<'a>(columns: impl IntoIterator<Item = (&'a str, ParquetKind)>) -> Self {
        let columns = columns.into_iter();
        let columns = columns.map(|(name, kind)| (name.to_owned(), ParquetColumn::new(kind)));
        Self { columns: columns.collect() }
    }

    /// Adds a record with one field for each column, formatted as in CSV. An empty field is null.
    pub fn push(&mut self, fields: &[String]) {
        for ((_, column), field) in self.columns.iter_mut().zip(fields) {
            column.push(field);
        }
    }

    /// Returns the table as a Parquet file.
    ///
    /// # Errors
    /// Returns an error with the library's reason if the library fails.
    pub fn file(self) -> Result<Vec<u8>, String> {
        self.bytes().map_err(|error| error.to_string())
    }

    fn bytes(self) -> Result<Vec<u8>, ParquetError> {
        let fields = self.columns.iter().map(|(name, c)| c.field(name));
        let fields: Vec<String> = fields.collect();
        let schema = parse_message_type(&format!("message fsarena {{ {} }}", fields.join(" ")))?;
        let properties = Arc::new(WriterProperties::builder().build());
        let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties)?;
        let mut group = writer.next_row_group()?;
        for (_, column) in self.columns {
            let out = group.next_column()?;
            column.write(out.expect("the schema has a field for each column"))?;
        }
        group.close()?;
        writer.into_inner()
    }
}

/// Returns the table of rounds as a Parquet file.
///
/// # Errors
/// Returns an error with the library's reason if the library fails.
pub fn parquet(results: &CampaignResults, analysis: &Analysis) -> Result<Vec<u8>, String> {
    let names = csv::header();
    let columns = names.iter().map(|name| (name.as_ref(), kind(name)));
    let mut table = ParquetTable::new(columns);
    csv::each_record(results, analysis, &mut |fields| table.push(fields));
    table.file()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use stats::{analyse, fixture};

    use super::*;

    /// Formats a field as in the CSV.
    fn shown(field: &Field) -> String {
        match field {
            Field::Null => String::new(),
            Field::Long(number) => number.to_string(),
            Field::Double(number) => number.to_string(),
            Field::Str(text) => text.clone(),
            other => panic!("no column holds {other}"),
        }
    }

    #[test]
    fn a_table_of_any_columns_reads_back() {
        let columns = [("sector", ParquetKind::Whole), ("phase", ParquetKind::Text)];
        let mut table = ParquetTable::new(columns);
        let records = [["7".to_owned(), "write".to_owned()], ["8".to_owned(), String::new()]];
        records.iter().for_each(|record| table.push(record));
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&table.file().unwrap()).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
        let fields = |row: parquet::record::Row| {
            let fields: Vec<String> = row.get_column_iter().map(|(_, f)| shown(f)).collect();
            fields
        };
        assert_eq!(rows.map(fields).collect::<Vec<_>>(), records.map(Vec::from));
    }

    #[test]
    fn reads_back_as_the_records_of_the_csv() {
        for results in [fixture::hostile(), fixture::swept(), fixture::calibrated()] {
            let analysis = analyse(&results);
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&parquet(&results, &analysis).unwrap()).unwrap();
            let reader = SerializedFileReader::new(file).unwrap();
            let mut wanted = Vec::new();
            csv::each_record(&results, &analysis, &mut |fields| {
                wanted.push(fields.to_vec());
            });
            let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
            assert_eq!(rows.len(), wanted.len());
            for (row, wanted) in rows.iter().zip(&wanted) {
                let names: Vec<&String> = row.get_column_iter().map(|(name, _)| name).collect();
                assert!(names.into_iter().eq(&csv::header()));
                let fields: Vec<String> = row.get_column_iter().map(|(_, f)| shown(f)).collect();
                assert_eq!(fields, *wanted);
            }
        }
    }
}
