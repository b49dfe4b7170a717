//! The JSON schema of a report, derived from the types that it is made of: the source of
//! docs/report.schema.json, and no part of the program.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::Value;

use crate::exports::json::JsonReport;

/// The schema as text, with the documentation of the types as the meaning of every field.
pub fn json_schema() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<JsonReport<'_>>();
    Prose.transform(&mut schema);
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text.push('\n');
    text
}

/// Turns documentation for readers of the code into prose for readers of a report: lines that were broken
/// are one, and links to other items are words.
struct Prose;

impl Transform for Prose {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::String(text)) = schema.get_mut("description") {
            let paragraphs = text.split("\n\n");
            let paragraphs: Vec<String> = paragraphs.map(|p| p.replace('\n', " ")).collect();
            *text = paragraphs
                .join("\n")
                .replace("[`", "`")
                .replace("`]", "`")
                .replace("crate::", "");
        }
        transform_subschemas(self, schema);
    }
}
