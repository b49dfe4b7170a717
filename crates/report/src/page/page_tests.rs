//! Tests of the structure of the page: required and forbidden content.

use model::{Feature, RequiredFeature, UseCase, WorkloadCategory};
use stats::{SuitesByGroup, analyse, fixture};

use super::*;

fn page_of(results: &CampaignResults) -> String {
    page(results, &analyse(results), &Default::default(), None)
}

/// Renders the page of a built-in study.
fn page_of_study(name: &str) -> (Study, String) {
    let catalog = config::Catalog::builtin().unwrap();
    let study = Study::read(&catalog.study(name).unwrap()).unwrap().unwrap();
    let reported = study.reported(&catalog).unwrap();
    let results = reported.into_results("published").unwrap();
    let page = study_page(&study, &results, &analyse(&results));
    (study, page)
}

#[test]
fn page_of_a_study_starts_with_its_title_and_claims() {
    let (study, html) = page_of_study("bonnie-linux-2011");
    let (head, rest) = html.split_once("</header>").unwrap();
    for part in [
        "<h1>The ultimate Linux filesystems benchmark</h1>".to_owned(),
        "Published in 2011: 494 numbers of 19 contenders.".to_owned(),
        "22 claims, judged by its own figures: 12 supported, 5 partly, 1 contradicted and 4 undecidable."
            .to_owned(),
        "<b>contradicted:</b> ".to_owned(),
        format!("<code>fsarena study replicate {}</code>", study.name),
    ] {
        assert!(head.contains(&part), "{part}: {head}");
    }
    for not in ["no advice", "--budget", "--rounds"] {
        assert!(!head.contains(not), "{not}: {head}");
    }
    let claims = rest.split_once("<section id=\"claims\">").unwrap().1;
    let claims = claims.split_once("</section>").unwrap().0;
    for claim in &study.claims {
        assert_eq!(count(claims, &format!("id=\"claim-{}\"", claim.id)), 1);
    }
    let known = data(&html);
    assert_eq!(known["contenders"].as_array().unwrap().len(), 19, "no contender is missing");
    assert!(known["uses"].as_array().unwrap().is_empty());
}

/// The way in which fsarena makes filesystems, and its run order, do not apply to results of
/// others.
#[test]
fn page_of_a_study_does_not_describe_fsarenas_method() {
    let html = without_scripts(&page_of_study("debian-file-server-2006").1);
    for not in [
        "as catalogued",
        "no discard",
        "Lazy initialisation",
        "found by trying",
        "not tried",
        "freshly made",
        "Harness overhead",
        "Raw device",
        "too few rounds",
        "enough rounds to say",
        "seldom",
        "0 ×",
        "0.0 GiB",
    ] {
        assert!(!html.contains(not), "{not}: {html}");
    }
    for said in [
        "<dt>Processor</dt><dd>Intel Celeron 533</dd>",
        "<dt>Rounds</dt><dd>one number each, without a spread</dd>",
        "<code>fsarena study show debian-file-server-2006</code> has them",
        "Others made these measurements with their own method",
    ] {
        assert!(html.contains(said), "{said}");
    }
    let own = page_of(&fixture::plain());
    assert!(own.contains("as catalogued") && own.contains("freshly made"));
}

/// Returns the page without the contents of its scripts.
fn without_scripts(html: &str) -> String {
    let mut pieces = html.split("<script");
    let mut rest = pieces.next().unwrap().to_owned();
    for piece in pieces {
        let (open, after) = (piece.split_once('>').unwrap().0, piece.split_once("</script>"));
        rest += &format!("<script{open}></script>{}", after.unwrap().1);
    }
    rest
}

/// Returns the data block that the script reads.
fn data(html: &str) -> serde_json::Value {
    let begin = "<script type=\"application/json\" id=\"data\">";
    let block = html.split_once(begin).unwrap().1;
    serde_json::from_str(block.split_once("</script>").unwrap().0).unwrap()
}

/// Returns the names of all tags, in order. Panics if the tags are not well nested.
fn tags(html: &str) -> Vec<String> {
    let html = &without_scripts(html);
    const VOID: [&str; 5] = ["!doctype", "meta", "wbr", "path", "link"];
    let body = html.split_once("<style>").unwrap();
    let after = body.1.split_once("</style>").unwrap().1;
    let mut open: Vec<String> = vec!["html".to_owned(), "head".to_owned()];
    let mut seen = Vec::new();
    for piece in after.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').expect("a tag ends");
        let name =
            tag.split([' ', '\n', '/']).find(|part| !part.is_empty()).unwrap().to_lowercase();
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_ref(), Some(&name), "wrongly nested");
        } else {
            if !VOID.contains(&name.as_str()) {
                open.push(name.clone());
            }
            seen.push(name);
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
    seen
}

fn count(html: &str, what: &str) -> usize {
    html.matches(what).count()
}

#[test]
fn page_shows_resource_limits_and_notes_different_ones_at_the_top() {
    let mut results = fixture::plain();
    assert!(!page_of(&results).contains("may use different memory"));
    results.campaign.contenders[0].own.memory = Some(model::Bytes::mib(32));
    let html = page_of(&results);
    for size in ["32 MiB", "512 MiB"] {
        assert!(html.contains(&format!("<td class=\"n\">{size}</td>")), "{size}");
    }
    let remarks = html.split_once("class=\"remarks\"").unwrap().1;
    let remarks = remarks.split_once("</section>").unwrap().0;
    assert!(
        remarks
            .contains("Contenders may use different memory: 32 MiB (fast); 512 MiB (middle, slow)")
    );
}

#[test]
fn commands_are_code_and_sentences_contain_no_markup() {
    assert_eq!(
        code_spans_to_html("<b> & `fsarena run` or `x"),
        "&lt;b&gt; &amp; <code>fsarena run</code> or `x"
    );
}

#[test]
fn the_page_is_well_nested_and_holds_only_the_tags_of_its_templates() {
    let campaigns =
        [fixture::plain(), fixture::calibrated(), fixture::hostile(), fixture::realistic()];
    let mut pages: Vec<String> = campaigns.iter().map(page_of).collect();
    pages.push(page_of_study("emerging-filesystems-2007").1);
    for html in pages {
        for tag in tags(&html) {
            let own = [
                "a",
                "article",
                "b",
                "bdi",
                "body",
                "caption",
                "code",
                "dd",
                "details",
                "dialog",
                "div",
                "dl",
                "dt",
                "figcaption",
                "figure",
                "footer",
                "h1",
                "h2",
                "h3",
                "h4",
                "header",
                "li",
                "main",
                "nav",
                "p",
                "pre",
                "script",
                "section",
                "small",
                "span",
                "strong",
                "summary",
                "table",
                "tbody",
                "td",
                "th",
                "thead",
                "tr",
                "ul",
                "wbr",
            ];
            assert!(own.contains(&tag.as_str()), "unexpected tag <{tag}> in the page");
        }
    }
}

#[test]
fn page_loads_nothing_and_runs_only_its_script() {
    let html = page_of(&fixture::hostile());
    let policy = html.split("Content-Security-Policy\" content=\"").nth(1).unwrap();
    let policy = policy.split('"').next().unwrap();
    let allowed: Vec<&str> = policy.split("; ").collect();
    let [default, script, style, image, base, form] = allowed[..] else { panic!("{policy}") };
    assert_eq!(
        [default, image, base, form],
        ["default-src 'none'", "img-src blob:", "base-uri 'none'", "form-action 'none'"]
    );
    assert!(script.starts_with("script-src 'sha256-") && style.starts_with("style-src 'sha256-"));
    assert!(!policy.contains("unsafe"));
    assert_eq!(count(&html, "<script"), 2, "the data and our own");
    let shown = html.replace("&#60;", "").replace("src=x onerror", "");
    // The only address is the namespace of SVG, which is never loaded.
    let shown = shown.replace("\"http://www.w3.org/2000/svg\"", "");
    for forbidden in [
        "<img", "<link", "<iframe", "src=", "url(", "@import", "http:", "https:", "style=\"",
        " onclick", " onload",
    ] {
        assert!(!shown.contains(forbidden), "{forbidden}");
    }
    let anchors = html.split("href=\"").skip(1).all(|link| link.starts_with('#'));
    assert!(anchors, "links stay on the page");
}

#[test]
fn every_link_has_its_target() {
    for html in [page_of(&fixture::hostile()), page_of_study("os2-shootout-2002").1] {
        for link in html.split("href=\"#").skip(1) {
            let id = link.split('"').next().unwrap();
            assert_eq!(count(&html, &format!("id=\"{id}\"")), 1, "{id}");
        }
    }
}

#[test]
fn every_phase_has_a_table_and_every_metric_is_known_to_the_script() {
    let results = fixture::realistic();
    let analysis = analyse(&results);
    let html = page(&results, &analysis, &Default::default(), None);
    let phases = analysis.rows.iter().filter(|r| r.primary).count();
    for part in ["<article", "<figure>", "<details class=\"data\">"] {
        assert_eq!(count(&html, part), phases, "{part}");
    }
    let data = data(&html);
    let known = data["phases"].as_array().unwrap();
    let rows = known.iter().flat_map(|phase| phase["rows"].as_array().unwrap());
    assert_eq!(rows.count(), analysis.rows.len());
}

/// Formats a number like the script.
fn written(row: &serde_json::Value, number: &serde_json::Value) -> String {
    if let (Some(digits), Some(value)) = (row["digits"].as_u64(), number.as_f64()) {
        return format!("{value:.0$}", digits as usize);
    }
    let value = number.as_f64().unwrap();
    match row["whole"] == true && value.fract() == 0.0 && value.abs() < 1000.0 {
        true => value.to_string(),
        false => crate::text::scale::three_digits(value),
    }
}

#[test]
fn script_data_contain_each_result_as_in_the_tables() {
    for results in [fixture::realistic(), fixture::hostile()] {
        let analysis = analyse(&results);
        let data = data(&page(&results, &analysis, &Default::default(), None));
        let phases = data["phases"].as_array().unwrap();
        let known = phases.iter().flat_map(|phase| phase["rows"].as_array().unwrap());
        let mut checked = 0;
        for (row, known) in analysis.rows.iter().zip(known) {
            let scale = crate::tables::overview::row_scale(row);
            assert_eq!(known["u"], scale.symbol());
            for (result, known_result) in row.results.iter().zip(known["f"].as_array().unwrap()) {
                let Some(estimate) = result.estimate else {
                    let words = known_result.as_str().unwrap();
                    assert_eq!(words.starts_with('!'), result.has_failed_rounds());
                    assert_eq!(words[1..], crate::tables::overview::status_counts(result));
                    continue;
                };
                let known_result = known_result.as_array().unwrap();
                // Most results contain only the variation and the rounds.
                let of_rounds = match known_result[1].is_string() {
                    true => known_result[4].as_array().unwrap(),
                    false => &known_result[1..].to_vec(),
                };
                let median = match known_result[1].is_string() {
                    true => known_result[0].clone(),
                    false => {
                        let rounds = of_rounds.iter().map(|round| round.as_f64().unwrap());
                        stats::median(&rounds.collect::<Vec<f64>>()).into()
                    }
                };
                assert_eq!(written(known, &median), scale.number(estimate.median));
                assert_eq!(of_rounds.len(), result.rounds.len());
                for (round, known_round) in result.rounds.iter().zip(of_rounds) {
                    match round.value {
                        Some(value) => assert_eq!(written(known, known_round), scale.number(value)),
                        None => assert_eq!(known_round, round.outcome.name()),
                    }
                }
                checked += 1;
            }
        }
        assert!(checked > 200, "{checked}");
    }
}

#[test]
fn every_metric_is_defined() {
    let html = page_of(&fixture::plain());
    for metric in model::Metric::ALL {
        assert!(html.contains(labels::title(metric)), "{metric}");
        let first = labels::definition(metric).split(['\'', '<']).next().unwrap();
        assert!(html.contains(first), "{metric}");
    }
}

#[test]
fn hostile_text_is_text() {
    let html = page_of(&fixture::hostile());
    assert!(!html.contains("<script>alert"));
    assert!(html.contains("&#60;script&#62;alert(1)&#60;/script&#62;"));
    assert!(html.contains("&#60;img src=x onerror=alert(2)&#62;"));
    assert!(html.chars().all(|c| c == '\n' || !c.is_control()), "no control character");
    assert!(!html.contains('\u{202e}') && html.contains("\\u{202e}"));
    assert!(!html.contains(fixture::LONG), "very long names are shortened");
}

#[test]
fn failures_come_with_their_evidence() {
    let html = page_of(&fixture::hostile());
    for evidence in [
        "link: EPERM, errno 1",
        "too small",
        "BUG: &#60;b&#62;unable",
        "fuse_request_wait",
        "exit code 1",
        "could not be read",
        "checksum",
        "corrupt: byte 4097",
        "2 of 45 test runs are missing",
    ] {
        assert!(html.contains(evidence), "{evidence}");
    }
}

#[test]
fn every_group_of_tests_has_its_answer_below_the_table() {
    let html = page_of(&fixture::plain());
    let list = html.split_once("id=\"by-group\">").unwrap().1;
    let list = list.split_once("</ul>").unwrap().0;
    assert_eq!(count(list, "<li>"), 3, "two groups, and both together");
    let answer = "<b>large files written:</b> no other costs less than fast. middle costs at least 2.00 times as much";
    assert!(list.contains(answer), "{list}");
    assert!(list.contains("slow at least 4.00 times as much"));
}

#[test]
fn missing_numbers_are_replaced_by_their_status() {
    let html = page_of(&fixture::hostile());
    for words in [
        "crashed in 3 of 3 rounds",
        "hung in 3 of 3 rounds",
        "invalid in 3 of 3 rounds",
        "skipped in 3 of 3 rounds",
        "unsupported in 3 of 3 rounds",
    ] {
        let start = html.find(words).unwrap_or_else(|| panic!("{words}"));
        let text = &html[html[..start].rfind('<').expect("a tag before it")..start];
        assert!(text.contains("class=\"failed\""), "{words}: {text}");
    }
}

#[test]
fn unfinished_and_empty_campaigns_are_marked() {
    let mut results = fixture::plain();
    for stored in &mut results.cells {
        stored.result = None;
    }
    results.environments.clear();
    let html = page_of(&results);
    assert!(html.contains("9 of 9 test runs are missing"));
    assert!(html.contains("not run yet: 3 of 3 rounds"));
    assert!(html.contains("No environment was recorded: no test has run yet."));
    tags(&html);
}

#[test]
fn features_are_answers_in_the_table_and_no_charts() {
    let mut results = fixture::plain();
    for phase in &mut results.campaign.suites[0].tests[0].phases {
        phase.op =
            model::Op::ProbeFeature(model::ProbeFeature { feature: model::Feature::HardLinks });
    }
    for stored in &mut results.cells {
        for phase in stored.result.iter_mut().flat_map(|r| &mut r.phases) {
            phase.primary_metric = Metric::Supported;
        }
    }
    let analysis = analyse(&results);
    assert!(analysis.phase_counts.iter().all(|s| s.phases == 0));
    let html = page(&results, &analysis, &Default::default(), None);
    assert_eq!(count(&html, "<article"), 0);
    assert!(!html.contains("<tr data-phase"), "they have their own matrix");
    assert!(html.contains(">yes</td>"));
}

#[test]
fn needs_of_a_use_have_a_sign_for_each_filesystem() {
    let results = fixture::hostile();
    let needs = [Feature::HardLinks, Feature::Xattrs]
        .map(|feature| RequiredFeature { feature, rationale: "copies are <links>".to_owned() });
    let wanted = UseCase {
        crash_recovery: Some("it restarts alone".to_owned()),
        needs: needs.into(),
        ..fixture::use_of(&[(WorkloadCategory::StreamWrite, 1.0)])
    };
    let mut analysis = analyse(&results);
    analysis.score_use_cases([&wanted], &SuitesByGroup::new());
    let html = page(&results, &analysis, &disk::DiskMaps::default(), None);
    let (_, table) = html.split_once("<div class=\"needs").expect("a table of needs");
    let (table, _) = table.split_once("</table>").expect("its end");
    assert!(table.contains("copies are &#60;links&#62;"), "{table}");
    let signs: Vec<Vec<&str>> = table
        .split("<tr data-c=")
        .skip(1)
        .map(|row| ["✓", "✗", "?"].into_iter().filter(|sign| row.contains(sign)).collect())
        .collect();
    assert_eq!(signs.len(), results.campaign.contenders.len());
    for expected in [vec!["✓", "?"], vec!["✓", "✗", "?"]] {
        assert!(signs.contains(&expected), "{signs:?}");
    }
    assert!(table.contains("Synced files survive power cuts"), "{table}");
}
