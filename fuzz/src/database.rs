//! Results as they are stored and reported, then all that follows from them: analysis, comparison and every form
//! of a report.
//!
//! An input is a report in JSON, or edits of a sound one, which come further: the name of a base in the first line,
//! then lines `NUMBER VALUE`, each of which puts a value in the place of the node with that number. Without a value
//! the node goes.

use std::sync::LazyLock;

use analyse::{
    Analysed, SuitesByGroup, Wanted, advise, analyse, compare_campaigns, fixture, history,
};
use model::CampaignResults;
use report::{Form, Format, Options, Sides};
use serde_json::{Value, json};

use crate::property::survives_json;
use crate::sample::CATALOG;

static BASES: LazyLock<[Base; 3]> = LazyLock::new(|| {
    [
        Base::of("plain", &fixture::plain()),
        Base::of("calibrated", &fixture::calibrated()),
        Base::of("swept", &fixture::swept()),
    ]
});
/// More edits than these show nothing new.
const MOST_EDITS: usize = 16;

/// A sound report, and where its nodes are.
struct Base {
    name: &'static str,
    report: Value,
    /// JSON pointers (RFC 6901).
    nodes: Vec<String>,
}

impl Base {
    fn of(name: &'static str, results: &CampaignResults) -> Self {
        let report = json!({ "schema": report::SCHEMA, "results": results });
        let mut nodes = Vec::new();
        below(&report, "", &mut nodes);
        Self {
            name,
            report,
            nodes,
        }
    }

    fn edited(&self, edits: &str) -> Value {
        let mut report = self.report.clone();
        for edit in edits.lines().take(MOST_EDITS) {
            let (number, value) = edit.split_once(' ').unwrap_or((edit, ""));
            let Ok(number) = number.parse::<usize>() else {
                continue;
            };
            let node = &self.nodes[number % self.nodes.len()];
            match value {
                "" => remove(&mut report, node),
                value => put(&mut report, node, value),
            }
        }
        report
    }
}

/// A report, or edits of one.
pub fn run(input: &[u8]) {
    let read = if input.starts_with(b"{") {
        report::read_json(input)
    } else {
        report::read_json(
            edited(&String::from_utf8_lossy(input))
                .to_string()
                .as_bytes(),
        )
    };
    if let Ok(results) = read {
        is_shown(&results);
    }
}

/// Every base as it is.
pub fn seeds() -> Vec<Vec<u8>> {
    let bases = BASES.iter().map(|base| base.name);
    bases.map(|name| format!("{name}\n").into()).collect()
}

fn edited(input: &str) -> Value {
    let (name, edits) = input.split_once('\n').unwrap_or((input, ""));
    let base = BASES.iter().find(|base| base.name == name);
    base.unwrap_or(&BASES[0]).edited(edits)
}

fn below(value: &Value, pointer: &str, nodes: &mut Vec<String>) {
    nodes.push(pointer.to_owned());
    match value {
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                below(item, &format!("{pointer}/{number}"), nodes);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                below(field, &format!("{pointer}/{name}"), nodes);
            }
        }
        _ => {}
    }
}

fn put(report: &mut Value, node: &str, value: &str) {
    if let Some(place) = report.pointer_mut(node) {
        *place = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    }
}

fn remove(report: &mut Value, node: &str) {
    let Some((parent, name)) = node.rsplit_once('/') else {
        return;
    };
    match report.pointer_mut(parent) {
        Some(Value::Object(fields)) => {
            fields.remove(name);
        }
        Some(Value::Array(items)) => {
            if let Ok(number) = name.parse::<usize>()
                && number < items.len()
            {
                items.remove(number);
            }
        }
        _ => {}
    }
}

/// What was read is read again as it was, and every form of report can show it.
fn is_shown(results: &CampaignResults) {
    survives_json(results);
    let mut analysis = analyse(results);
    analysis.weigh_uses(CATALOG.uses(), &SuitesByGroup::new());
    for format in Format::ALL {
        let shown = report::render(format, results, &analysis, &Options::default());
        if format == Format::Json {
            let again = report::read_json(shown.as_bytes());
            assert_eq!(again.as_ref(), Ok(results));
        }
    }
    report::charts(results, &analysis);
    if let Some(calibration) = &results.calibration {
        report::overhead_lines(calibration);
        report::raw_device_lines(calibration);
    }
    for one in &analysis.uses {
        report::advice_text(&advise(one), &analysis, results);
    }
    let campaign = Analysed::new(results, &analysis);
    let result = "*/*".parse().expect("a pattern");
    let mut past = history(&result, &[]);
    past.add(campaign);
    past.add(campaign);
    report::history_text(&past.finish());
    compared(campaign);
}

/// A campaign beside itself: nothing can have become worse.
fn compared(campaign: Analysed<'_>) {
    let wanted = Wanted::default();
    let Ok(found) = compare_campaigns(campaign, campaign, &wanted) else {
        return;
    };
    assert_eq!(found.regressions().count(), 0, "it is the same campaign");
    let sides = Sides {
        before: "before",
        after: "after",
    };
    for form in [Form::Text { columns: None }, Form::Markdown] {
        report::compare_text(&found, sides, form);
    }
}
