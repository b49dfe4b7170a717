//! Parses composite.xml of the Phoronix Test Suite: a test for each of its profiles, a phase for
//! each description.
//!
//! Source of the format: results that are published on openbenchmarking.org, and
//! `pts_result_file*.php` of the suite. `RawString` contains the values of single runs, separated
//! by colons; each run is a round. Without it, the value is the only round. `MB/s` is 10^6 bytes,
//! as in the suite, even if the underlying program means MiB. Results with a scale that no metric
//! has are skipped and named. Results of one description that differ in scale or arguments are
//! separate phases. An entry or a run without a value, or with 0, failed. Time and size of the
//! installation are no results. A document with a DTD is refused, because its entities could be of any size.

use model::{Environment, Metric};
use roxmltree::{Document, Node, ParsingOptions};

use crate::campaign_builder::{CampaignBuilder, StatedNames, failed_value, ok_value};
use crate::parse::number::optional;
use crate::parse::text::{as_utf8, shortened};
use crate::{ImportError, InputFormat, MAX_RESULTS, NamingOptions, ParsedInput};

/// Maximum number of XML nodes: enough for 200,000 results, and less memory than one result needs.
const MAX_NODES: u32 = 8 * MAX_RESULTS as u32;

/// Maximum number of attributes of an element. The suite writes none; the time for parsing grows with
/// their square.
const MAX_ATTRIBUTES: usize = 64;

/// Refuses an element with too many attributes.
fn check_attributes(text: &str) -> Result<(), ImportError> {
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        let sections = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
        let section = sections.iter().find(|(begin, _)| rest.starts_with(begin));
        if let Some((begin, end)) = section {
            let behind = &rest[begin.len()..];
            rest = behind.find(end).map_or("", |at| &behind[at + end.len()..]);
            continue;
        }
        let (mut quote, mut attributes, mut end) = (None, 0, rest.len());
        for (at, byte) in rest.bytes().enumerate() {
            match (quote, byte) {
                (Some(open), _) if byte == open => quote = None,
                (Some(_), _) => {}
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'=') => attributes += 1,
                (None, b'>') => {
                    end = at;
                    break;
                }
                _ => {}
            }
            if attributes > MAX_ATTRIBUTES {
                let line = text[..text.len() - rest.len()].matches('\n').count() + 1;
                let what = format!(
                    "an element has more than {MAX_ATTRIBUTES} attributes: the Phoronix Test Suite writes none"
                );
                return Err(ImportError::at_line(line, what));
            }
        }
        rest = &rest[end..];
    }
    Ok(())
}

/// Reads all results.
pub fn read(bytes: &[u8], naming: &NamingOptions) -> Result<ParsedInput, ImportError> {
    let options =
        ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    check_attributes(as_utf8(bytes)?)?;
    let document = Document::parse_with_options(as_utf8(bytes)?, options).map_err(|error| {
        let what: String = error.to_string().chars().take(200).collect();
        ImportError::at_line(error.pos().row as usize, format!("it is no XML that is read: {what}"))
    })?;
    let root = document.root_element();
    if root.tag_name().name() != "PhoronixTestSuite" {
        return Err(ImportError::in_file("not a result file of the Phoronix Test Suite"));
    }
    let mut gathering = CampaignBuilder::new(InputFormat::Phoronix, "Phoronix Test Suite", naming);
    if let Some(generated) = child(root, "Generated") {
        gathering.set_name(text(generated, "Title"));
        let version = text(generated, "TestClient");
        if !version.is_empty() {
            gathering.set_program(version);
        }
    }
    let systems: Vec<Environment> = children(root, "System").map(environment).collect();
    if let [first, others @ ..] = systems.as_slice()
        && others.iter().all(|other| other == first)
    {
        *gathering.environment() = first.clone();
    }
    let (mut line, mut from) = (1, 0);
    for node in children(root, "Result") {
        let start = node.range().start;
        let between = &document.input_text().as_bytes()[from..start];
        line += between.iter().filter(|byte| **byte == b'\n').count();
        from = start;
        result(&mut gathering, line, node)?;
    }
    gathering.finish()
}

fn children<'a>(node: Node<'a, 'a>, name: &'static str) -> impl Iterator<Item = Node<'a, 'a>> {
    let named = move |child: &Node<'_, '_>| child.tag_name().name() == name;
    node.children().filter(named)
}

fn child<'a>(node: Node<'a, 'a>, name: &'static str) -> Option<Node<'a, 'a>> {
    children(node, name).next()
}

fn text<'a>(node: Node<'a, 'a>, name: &'static str) -> &'a str {
    let text = child(node, name).and_then(|child| child.text());
    text.unwrap_or_default().trim()
}

/// Parses `Processor: …, Memory: …` and `OS: …, Kernel: …`.
fn environment(system: Node<'_, '_>) -> Environment {
    let part = |list: &str, name: &str| {
        let parts = list.split(", ");
        let part = parts.filter_map(|part| part.strip_prefix(name)).next();
        let part = part.and_then(|part| part.strip_prefix(": ")).unwrap_or_default();
        part.chars().take(200).collect::<String>()
    };
    let [hardware, software] =
        ["Hardware", "Software"].map(|name| text_of(system, name).to_owned());
    Environment {
        cpu: part(&hardware, "Processor"),
        device: part(&hardware, "Disk"),
        kernel: part(&software, "Kernel"),
        distribution: part(&software, "OS"),
        ..Environment::default()
    }
}

/// Returns the text of the first child with this name. Returns an empty string if it has no such child.
fn text_of<'a>(node: Node<'a, 'a>, name: &'static str) -> &'a str {
    let text = child(node, name).and_then(|child| child.text());
    text.unwrap_or_default().trim()
}

fn result(
    gathering: &mut CampaignBuilder<'_>,
    line: usize,
    result: Node<'_, '_>,
) -> Result<(), ImportError> {
    let field = |name| text_of(result, name);
    let (profile, title, scale) = (field("Identifier"), field("Title"), field("Scale"));
    let called = if profile.is_empty() { title } else { profile };
    let called = called.rsplit('/').next().unwrap_or_default();
    if field("Description").starts_with("Test Install ") {
        gathering.skip_with_reason("time and size of the installation of tests");
        return Ok(());
    }
    let Some((metric, factor)) = metric(scale, field("Proportion")) else {
        gathering.skip_with_reason(format!("{title} in “{scale}”, which no metric has"));
        return Ok(());
    };
    let described = [field("Description"), field("Arguments"), title];
    let described = described.into_iter().find(|text| !text.is_empty());
    let described = shortened(described.unwrap_or("result"));
    let parameters = [scale, field("Arguments")].map(shortened).join(", ");
    let data = result.children().find(|child| child.tag_name().name() == "Data");
    let entries = data.into_iter().flat_map(|data| data.children());
    for entry in entries.filter(|entry| entry.tag_name().name() == "Entry") {
        let field = |name| text_of(entry, name);
        let (system, value, runs) = (field("Identifier"), field("Value"), field("RawString"));
        let contender = gathering.contender(&StatedNames::title(Some(system)))?;
        let test = gathering.test(called);
        let phase = gathering.unique_phase_name(&test, &described, &parameters);
        let runs = if runs.is_empty() { value } else { runs };
        for run in runs.split(':') {
            let taken = match (optional(run), run.trim()) {
                (Some(value), _) if value > 0.0 => {
                    ok_value(&contender, &test, &phase, vec![(metric, value * factor)])
                }
                (_, "") => failed_value(&contender, &test, &phase, "no result"),
                (Some(_), _) => failed_value(&contender, &test, &phase, "a result of 0"),
                (None, _) => {
                    let called = shortened(&contender);
                    let what = format!("an invalid value of {title} of {called}");
                    gathering.skip_with_reason(what);
                    continue;
                }
            };
            gathering.set_primary_metric(&test, &phase, metric);
            gathering.add(line, taken)?;
        }
    }
    Ok(())
}

/// Returns the metric of a scale and the factor that converts its values to our unit. Returns
/// `None` if the scale's better end differs from the metric's.
fn metric(scale: &str, proportion: &str) -> Option<(Metric, f64)> {
    const TIMES: [(&str, f64); 8] = [
        ("seconds", 1.0),
        ("s", 1.0),
        ("sec", 1.0),
        ("milliseconds", 1e-3),
        ("ms", 1e-3),
        ("microseconds", 1e-6),
        ("us", 1e-6),
        ("nanoseconds", 1e-9),
    ];
    let lower = scale.to_ascii_lowercase();
    let time = TIMES.iter().find(|(name, _)| *name == lower);
    let found = if let Some((_, factor)) = time {
        (Metric::Elapsed, *factor)
    } else if lower.ends_with(" per op") {
        (Metric::LatencyMean, of_first(&lower, &TIMES)?)
    } else if let Some(factor) = throughput(scale) {
        (Metric::Throughput, factor)
    } else {
        (Metric::Rate, rate(&lower)?)
    };
    let better = match found.0.direction() {
        model::Direction::Higher => "HIB",
        _ => "LIB",
    };
    (proportion.is_empty() || proportion == better).then_some(found)
}

/// Returns the part of a scale before "per second".
fn of_a_second(scale: &str) -> Option<&str> {
    let ends = ["/second", "/sec", "/s", " per second", " per sec"];
    ends.iter().find_map(|end| scale.strip_suffix(end))
}

/// Returns the bytes of a scale such as `MB/s`, `MiB/sec` or `Megabytes per second`, or of a scale
/// in bits. `Mb/s` may be either.
fn throughput(scale: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 5] =
        [("bytes", 1.0), ("byte", 1.0), ("bits", 0.125), ("bit", 0.125), ("b", 1.0)];
    const KIB: f64 = 1024.0;
    let lower = scale.to_ascii_lowercase();
    let counted = of_a_second(&lower)?;
    let written = &scale[..counted.len()];
    if written.ends_with('b') && written.starts_with(|c: char| c.is_ascii_uppercase()) {
        return None;
    }
    let (prefix, unit) =
        UNITS.iter().find_map(|(unit, bytes)| Some((counted.strip_suffix(unit)?, bytes)))?;
    let prefix = match prefix {
        "" => 1.0,
        "k" | "kilo" => 1e3,
        "m" | "mega" => 1e6,
        "g" | "giga" => 1e9,
        "t" | "tera" => 1e12,
        "ki" | "kibi" => KIB,
        "mi" | "mebi" => KIB * KIB,
        "gi" | "gibi" => KIB * KIB * KIB,
        "ti" | "tebi" => KIB * KIB * KIB * KIB,
        _ => return None,
    };
    Some(prefix * unit)
}

/// Returns the number of operations per unit of a rate: `Million Ops/sec`, `Files/s`, `IOPS`.
fn rate(scale: &str) -> Option<f64> {
    const COUNTED: [&str; 14] = [
        "op",
        "operation",
        "io",
        "file",
        "directory",
        "request",
        "req",
        "transaction",
        "query",
        "read",
        "write",
        "seek",
        "message",
        "call",
    ];
    let (word, before) = match scale.rsplit_once(' ') {
        Some((before, word @ ("iops" | "tps"))) => (word, before),
        _ if matches!(scale, "iops" | "tps") => (scale, ""),
        _ => {
            let counted = of_a_second(scale)?;
            let (before, word) = counted.rsplit_once(' ').unwrap_or(("", counted));
            (word, before)
        }
    };
    let one = word.strip_suffix("ies").map(|root| format!("{root}y"));
    let one = one.unwrap_or_else(|| word.strip_suffix('s').unwrap_or(word).to_owned());
    let is_known = matches!(word, "iops" | "tps") || COUNTED.contains(&one.as_str());
    is_known.then_some(match before.split(' ').next_back() {
        Some("thousand" | "kilo" | "k") => 1e3,
        Some("million" | "mega" | "m") => 1e6,
        Some("billion" | "giga" | "g") => 1e9,
        _ => 1.0,
    })
}

/// Returns the factor of the first word of a scale: `Microseconds Per Op`.
fn of_first(scale: &str, list: &[(&str, f64)]) -> Option<f64> {
    let first = scale.split(' ').next()?;
    list.iter().find(|(name, _)| *name == first).map(|(_, factor)| *factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_with_many_attributes_are_refused_before_parsing() {
        let attributes =
            |count: usize| (0..count).map(|number| format!(" a{number}='=>'")).collect::<String>();
        let few = format!("<?x ====?><!-- <a {} --><a{}>", attributes(100), attributes(64));
        assert_eq!(check_attributes(&few.repeat(50)), Ok(()));
        let many = format!("<PhoronixTestSuite>\n<a{}/>", attributes(400_000));
        let error = read(many.as_bytes(), &NamingOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with("line 2: an element has more than 64 attributes"), "{error}");
    }

    #[test]
    fn scales_map_to_metrics_or_are_refused() {
        let mib = 1024.0 * 1024.0;
        for (scale, metric_of, factor) in [
            ("MB/s", Metric::Throughput, 1e6),
            ("mb/s", Metric::Throughput, 1e6),
            ("GB/sec", Metric::Throughput, 1e9),
            ("KB/sec", Metric::Throughput, 1e3),
            ("MiB/sec", Metric::Throughput, mib),
            ("Mbits/sec", Metric::Throughput, 1e6 / 8.0),
            ("Mbits/s", Metric::Throughput, 1e6 / 8.0),
            ("Megabytes per second", Metric::Throughput, 1e6),
            ("Million Ops/sec", Metric::Rate, 1e6),
            ("Bogo Ops/s", Metric::Rate, 1.0),
            ("Queries Per Second", Metric::Rate, 1.0),
            ("Files/s", Metric::Rate, 1.0),
            ("IOPS", Metric::Rate, 1.0),
            ("TPS", Metric::Rate, 1.0),
            ("Microseconds Per Op", Metric::LatencyMean, 1e-6),
            ("Seconds", Metric::Elapsed, 1.0),
        ] {
            assert_eq!(metric(scale, ""), Some((metric_of, factor)), "{scale}");
        }
        for scale in ["Mb/s", "Frames Per Second", "Points", "", "/s", "MB", "Nodes/s", "é/s"] {
            assert_eq!(metric(scale, ""), None, "{scale}");
        }
        assert_eq!(metric("MB/s", "LIB"), None);
    }
}
