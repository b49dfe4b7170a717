//! JSON schema of a report, derived from its types. It is the source of docs/report.schema.json,
//! and not used by the program.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::Value;

use crate::exports::json::JsonReport;

/// Returns the schema as text, with the doc comments of the types as the descriptions of the
/// fields.
pub fn json_schema() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<JsonReport<'_>>();
    Prose.transform(&mut schema);
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text.push('\n');
    text
}

/// Converts doc comments into prose for readers of a report: joins broken lines, and turns links to
/// items into words.
struct Prose;

impl Transform for Prose {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::String(text)) = schema.get_mut("description") {
            let paragraphs = text.split("\n\n");
            let paragraphs: Vec<String> = paragraphs.map(|p| p.replace('\n', " ")).collect();
            *text =
                paragraphs.join("\n").replace("[`", "`").replace("`]", "`").replace("crate::", "");
        }
        transform_subschemas(self, schema);
    }
}
