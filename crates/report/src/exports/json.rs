//! Facts and analysis as JSON for other programs, complete and unrounded.

use model::{CampaignResults, json_error_cause};
use serde::{Deserialize, Serialize};
use stats::{Analysis, advise};

use crate::text::conclusions::split_by_disk;
use crate::text::summary::answer_text;

/// Identifier of the document format. It changes when the format changes.
pub const SCHEMA: &str = "fsarena-report/1";

/// JSON schema of the document (draft 2020-12), with a description of every field.
pub const JSON_SCHEMA: &str = include_str!("../../../../docs/report.schema.json");

/// The output of `fsarena report --format json`: the facts of a campaign as they are stored, and
/// the analysis that follows from them. Units: a field of type Nanos is in nanoseconds, one of type
/// Bytes in bytes, values of results in the unit of their row. Fields may be added; readers must
/// ignore unknown fields. `schema` changes when a field changes its meaning or is removed.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "fsarena report"))]
pub(crate) struct JsonReport<'a> {
    /// The shape of the document.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    schema: &'static str,
    /// The facts.
    results: &'a CampaignResults,
    /// The analysis, derived from the results.
    analysis: &'a Analysis,
    /// The sentences that answer the uses.
    answers: Vec<UseAnswer>,
}

/// The sentences that answer a use, the same in every report.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct UseAnswer {
    /// Name of the use.
    #[serde(rename = "use")]
    name: String,
    /// Disk of the contenders, if there are several.
    disk: Option<String>,
    /// The answer.
    answer: String,
}

fn answers(analysis: &Analysis) -> Vec<UseAnswer> {
    let parts = split_by_disk(analysis).into_iter();
    let all = parts.flat_map(|(disk, part)| {
        part.uses.iter().map(move |one| UseAnswer {
            name: one.name.clone(),
            disk: disk.map(str::to_owned),
            answer: answer_text(&advise(one), part),
        })
    });
    all.collect()
}

/// The stored facts of such a document, without the analysis.
#[derive(Deserialize)]
struct StoredResults {
    schema: String,
    results: CampaignResults,
}

/// Reads the facts of a campaign from the output of `fsarena report --format json`.
///
/// # Errors
/// Returns an error if the document has another schema or is malformed, or if it contains values
/// that are impossible in a campaign.
pub fn read_json(document: &[u8]) -> Result<CampaignResults, String> {
    let StoredResults { schema, results } = serde_json::from_slice(document)
        .map_err(|e| format!("line {}: {}", e.line(), json_error_cause(&e)))?;
    if schema != SCHEMA {
        return Err(format!("its schema is `{schema}`, but this fsarena reads {SCHEMA}"));
    }
    let planned = results.cells.iter().map(|stored| stored.cell.round).max();
    if planned.unwrap_or(0) < results.campaign.rounds {
        return Err("it has fewer rounds than its campaign".to_owned());
    }
    results.validate()?;
    Ok(results)
}

pub(crate) fn render(results: &CampaignResults, analysis: &Analysis) -> String {
    let report = JsonReport { schema: SCHEMA, results, analysis, answers: answers(analysis) };
    // Indentation would be more than half of the text.
    let mut text = serde_json::to_string(&report).expect("results hold only what JSON can say");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::{analyse, fixture};

    /// Creates the reports of the fixtures, one of them with a use case.
    fn reports() -> Vec<serde_json::Value> {
        let campaigns = [
            fixture::plain(),
            fixture::hostile(),
            fixture::realistic(),
            fixture::swept(),
            fixture::calibrated(),
            fixture::aged(),
            in_guests(),
        ];
        let one = fixture::use_of(&[(model::WorkloadCategory::Trees, 1.0)]);
        let report = |results: &CampaignResults| {
            let mut analysis = analyse(results);
            analysis.score_use_cases([&one], &stats::SuitesByGroup::new());
            serde_json::from_str(&render(results, &analysis)).unwrap()
        };
        campaigns.iter().map(report).collect()
    }

    #[test]
    fn a_report_has_no_indentation_and_no_empty_shares() {
        let results = fixture::plain();
        let text = render(&results, &analyse(&results));
        assert_eq!(text.lines().count(), 1);
        assert!(!text.contains("\"overhead_share\":null"), "{text}");
    }

    fn in_guests() -> CampaignResults {
        let mut results = fixture::plain();
        let model = model::DiskModel::ideal();
        results.campaign.guest = Some(fixture::guest(model::GuestDisk::Model { model }));
        results
    }

    /// Returns the schema unchanged, or with every object closed, so that a report may contain only
    /// fields of the schema. Objects described by several branches are closed at their combination.
    fn schema(closed: bool) -> serde_json::Value {
        fn close(value: &mut serde_json::Value) {
            if let Some(object) = value.as_object_mut() {
                let is_object = object.contains_key("properties");
                for (key, inner) in &mut *object {
                    match key.as_str() {
                        "oneOf" | "anyOf" | "allOf" if is_object => close_within(inner),
                        _ => close(inner),
                    }
                }
                if is_object && !object.contains_key("additionalProperties") {
                    object.insert("unevaluatedProperties".to_owned(), false.into());
                }
            } else if let Some(array) = value.as_array_mut() {
                array.iter_mut().for_each(close);
            }
        }
        fn close_within(branches: &mut serde_json::Value) {
            for branch in branches.as_array_mut().into_iter().flatten() {
                let parts = branch.as_object_mut().into_iter().flatten();
                for (key, inner) in parts {
                    match key.as_str() {
                        "oneOf" | "anyOf" | "allOf" => close_within(inner),
                        _ => close(inner),
                    }
                }
            }
        }
        let mut schema = serde_json::from_str(JSON_SCHEMA).unwrap();
        if closed {
            close(&mut schema);
            let mut parts = Vec::new();
            parts_of_others(&schema, &mut parts);
            for name in parts {
                let part = schema["$defs"][name].as_object_mut().unwrap();
                part.remove("unevaluatedProperties");
            }
        }
        schema
    }

    /// Collects the definitions referenced next to properties: they describe the same object.
    fn parts_of_others(value: &serde_json::Value, found: &mut Vec<String>) {
        let beside = value["properties"].is_object();
        if let Some(name) = value["$ref"].as_str().filter(|_| beside) {
            found.extend(name.rsplit('/').next().map(str::to_owned));
        }
        let inner = value.as_object().into_iter().flat_map(|o| o.values());
        let inner = inner.chain(value.as_array().into_iter().flatten());
        inner.for_each(|value| parts_of_others(value, found));
    }

    /// Returns the first violation of a schema by each document.
    fn violations(schema: serde_json::Value, documents: &[serde_json::Value]) -> Vec<String> {
        let (mut compiler, mut schemas) = (boon::Compiler::new(), boon::Schemas::new());
        compiler.add_resource("/report.schema.json", schema).unwrap();
        let schema = compiler.compile("/report.schema.json", &mut schemas).unwrap();
        let errors = documents.iter().filter_map(|one| schemas.validate(one, schema).err());
        errors.map(|error| error.to_string()).collect()
    }

    #[test]
    fn every_report_matches_the_schema_and_has_no_unknown_fields() {
        for closed in [false, true] {
            let errors = violations(schema(closed), &reports());
            assert!(errors.is_empty(), "docs/report.schema.json: {errors:#?}");
        }
    }

    #[test]
    fn schema_rejects_wrong_documents() {
        let good = reports().swap_remove(0);
        for (pointer, wrong) in [
            ("/schema", serde_json::json!("fsarena-report/0")),
            ("/results/campaign/rounds", serde_json::json!("three")),
            ("/analysis/rows/0/metric", serde_json::json!("speed")),
            ("/analysis/rows/0/results/0/estimate", serde_json::json!({})),
            ("/analysis/features/0/features/0/found", serde_json::json!({ "no": 1 })),
        ] {
            let mut report = good.clone();
            *report.pointer_mut(pointer).unwrap() = wrong;
            assert_eq!(violations(schema(false), &[report]).len(), 1, "{pointer}");
        }
    }

    #[test]
    fn every_field_of_the_schema_has_its_meaning() {
        let schema = schema(false);
        for (name, definition) in schema["$defs"].as_object().unwrap() {
            assert!(definition["description"].is_string(), "{name}");
            let fields = definition["properties"].as_object().into_iter().flatten();
            for (field, value) in fields.filter(|(field, _)| *field != "op") {
                assert!(value["description"].is_string(), "{name}.{field}");
            }
        }
    }

    #[test]
    fn results_survive_a_round_trip() {
        let results = fixture::hostile();
        let analysis = analyse(&results);
        let mut value: serde_json::Value =
            serde_json::from_str(&render(&results, &analysis)).unwrap();
        assert_eq!(value["schema"], SCHEMA);
        let read: CampaignResults = serde_json::from_value(value["results"].take()).unwrap();
        assert_eq!(read, results);
    }

    /// The analysis of billions of rounds would use all memory.
    #[test]
    fn a_report_with_more_rounds_than_a_campaign_can_have_is_refused() {
        let mut results = fixture::plain();
        let written = |results: &CampaignResults| {
            let report = serde_json::json!({ "schema": SCHEMA, "results": results });
            report.to_string()
        };
        assert_eq!(read_json(written(&results).as_bytes()), Ok(results.clone()));
        results.cells[0].cell.round = u32::MAX;
        results.campaign.rounds = u32::MAX;
        let error = read_json(written(&results).as_bytes()).unwrap_err();
        assert!(error.starts_with("it has 4294967295 rounds"), "{error}");
    }
}
