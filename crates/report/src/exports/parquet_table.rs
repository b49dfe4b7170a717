//! The table of rounds as an Apache Parquet file: the records of the CSV, with types.
//!
//! Format: Apache Parquet, version 1 pages, one row group, not compressed; written by the crate of the
//! Apache project without its Arrow half. Every column is optional: what is empty in the CSV is null here.

use std::sync::Arc;

use analyse::Analysis;
use model::{Axis, CampaignResults};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;

use crate::exports::csv;

/// Columns that hold whole numbers.
const WHOLE: [&str; 3] = ["campaign", "round", "passes"];
/// Columns that hold numbers.
const NUMBERS: [&str; 3] = ["value", "raw_device_share", "overhead_share"];

/// A column with its values; `None` is null.
enum Column {
    Whole(Vec<Option<i64>>),
    Number(Vec<Option<f64>>),
    Text(Vec<Option<ByteArray>>),
}

impl Column {
    fn new(name: &str) -> Self {
        let is_axis = Axis::ALL.iter().any(|axis| axis.name() == name);
        if WHOLE.contains(&name) || is_axis {
            Self::Whole(Vec::new())
        } else if NUMBERS.contains(&name) {
            Self::Number(Vec::new())
        } else {
            Self::Text(Vec::new())
        }
    }

    /// A field of the CSV, whose numbers read back as what they were.
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

/// Writes the values that are there, and a level for each that says whether it is.
fn write<T: DataType>(
    out: &mut SerializedColumnWriter<'_>,
    values: Vec<Option<T::T>>,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
    let present: Vec<T::T> = values.into_iter().flatten().collect();
    out.typed::<T>()
        .write_batch(&present, Some(&levels), None)?;
    Ok(())
}

/// The table of rounds as a Parquet file.
///
/// # Errors
/// When the library refuses, with its reason.
pub fn parquet(results: &CampaignResults, analysis: &Analysis) -> Result<Vec<u8>, String> {
    bytes(results, analysis).map_err(|e| e.to_string())
}

fn bytes(results: &CampaignResults, analysis: &Analysis) -> Result<Vec<u8>, ParquetError> {
    let names = csv::header();
    let mut columns: Vec<Column> = names.iter().map(|name| Column::new(name)).collect();
    csv::each_record(results, analysis, &mut |fields| {
        for (column, field) in columns.iter_mut().zip(fields) {
            column.push(field);
        }
    });
    let fields = columns.iter().zip(&names).map(|(c, name)| c.field(name));
    let fields: Vec<String> = fields.collect();
    let schema = parse_message_type(&format!("message fsarena {{ {} }}", fields.join(" ")))?;
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties)?;
    let mut group = writer.next_row_group()?;
    for column in columns {
        let out = group.next_column()?;
        column.write(out.expect("the schema has a field for each column"))?;
    }
    group.close()?;
    writer.into_inner()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use analyse::{analyse, fixture};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::*;

    /// A field as the CSV writes it.
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
    fn it_reads_back_as_the_records_of_the_csv() {
        for results in [fixture::hostile(), fixture::swept(), fixture::calibrated()] {
            let analysis = analyse(&results);
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&parquet(&results, &analysis).unwrap())
                .unwrap();
            let reader = SerializedFileReader::new(file).unwrap();
            let mut wanted = Vec::new();
            csv::each_record(&results, &analysis, &mut |fields| {
                wanted.push(fields.to_vec());
            });
            let rows: Vec<_> = reader
                .get_row_iter(None)
                .unwrap()
                .map(Result::unwrap)
                .collect();
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
