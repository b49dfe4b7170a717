//! Facts and analysis as JSON, for other programs; nothing is rounded or left out.

use analyse::Analysis;
use model::CampaignResults;
use serde::Serialize;

/// Names the shape of the document; it changes when that does.
pub const SCHEMA: &str = "fsarena-report/1";

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    results: &'a CampaignResults,
    analysis: &'a Analysis,
}

pub(crate) fn render(results: &CampaignResults, analysis: &Analysis) -> String {
    let report = Report {
        schema: SCHEMA,
        results,
        analysis,
    };
    let mut text =
        serde_json::to_string_pretty(&report).expect("results hold only what JSON can say");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use analyse::{analyse, fixture};

    #[test]
    fn results_and_analysis_read_back_as_they_were() {
        let results = fixture::hostile();
        let analysis = analyse(&results);
        let mut value: serde_json::Value =
            serde_json::from_str(&render(&results, &analysis)).unwrap();
        assert_eq!(value["schema"], SCHEMA);
        let read: CampaignResults = serde_json::from_value(value["results"].take()).unwrap();
        assert_eq!(read, results);
        let read: Analysis = serde_json::from_value(value["analysis"].take()).unwrap();
        assert_eq!(read, analysis);
    }
}
