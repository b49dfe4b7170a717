//! The structure of the page: what must be on it, and what must never be.

use analyse::{analyse, fixture};

use super::*;

fn page(results: &CampaignResults) -> String {
    render(results, &analyse(results))
}

/// Names of all tags, in order; fails on what is not well nested.
fn tags(html: &str) -> Vec<String> {
    const VOID: [&str; 5] = ["!doctype", "meta", "wbr", "path", "link"];
    let body = html.split_once("<style>").unwrap();
    let after = body.1.split_once("</style>").unwrap().1;
    let mut open: Vec<String> = vec!["html".to_owned(), "head".to_owned()];
    let mut seen = Vec::new();
    for piece in after.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').expect("a tag ends");
        let name = tag
            .split([' ', '\n', '/'])
            .find(|part| !part.is_empty())
            .unwrap()
            .to_lowercase();
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
fn the_page_is_well_nested_and_holds_only_the_tags_of_its_templates() {
    for results in [
        fixture::plain(),
        fixture::calibrated(),
        fixture::hostile(),
        fixture::realistic(),
    ] {
        let html = page(&results);
        for tag in tags(&html) {
            let own = [
                "a",
                "article",
                "b",
                "bdi",
                "body",
                "code",
                "dd",
                "details",
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
                "path",
                "pre",
                "section",
                "small",
                "span",
                "strong",
                "summary",
                "svg",
                "table",
                "tbody",
                "td",
                "text",
                "th",
                "thead",
                "tr",
                "ul",
                "wbr",
            ];
            assert!(own.contains(&tag.as_str()), "<{tag}> is none of ours");
        }
    }
}

#[test]
fn nothing_is_loaded_and_nothing_runs() {
    let html = page(&fixture::hostile());
    let csp = "content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"";
    assert_eq!(count(&html, csp), 1);
    for forbidden in [
        "<script", "<img", "<link", "<iframe", "src=", "url(", "@import", "http:", "https:",
        "style=\"",
    ] {
        let shown = html.replace("&#60;", "").replace("src=x onerror", "");
        assert!(!shown.contains(forbidden), "{forbidden}");
    }
    let anchors = html
        .split("href=\"")
        .skip(1)
        .all(|link| link.starts_with('#'));
    assert!(anchors, "links stay on the page");
}

#[test]
fn every_link_has_its_target() {
    let html = page(&fixture::hostile());
    for link in html.split("href=\"#").skip(1) {
        let id = link.split('"').next().unwrap();
        assert_eq!(count(&html, &format!("id=\"{id}\"")), 1, "{id}");
    }
}

#[test]
fn every_metric_of_every_phase_has_a_chart_and_a_table() {
    let results = fixture::realistic();
    let analysis = analyse(&results);
    let html = render(&results, &analysis);
    assert_eq!(count(&html, "<svg"), analysis.rows.len());
    assert_eq!(count(&html, "<figure>"), analysis.rows.len());
    assert_eq!(
        count(&html, "<details class=\"data\">"),
        analysis.rows.len()
    );
    let phases = analysis.rows.iter().filter(|r| r.headline).count();
    assert_eq!(count(&html, "<article"), phases);
    assert_eq!(count(&html, "<details class=\"more\">"), phases);
}

#[test]
fn every_metric_is_defined() {
    let html = page(&fixture::plain());
    for metric in model::Metric::ALL {
        assert!(html.contains(words::title(metric)), "{metric}");
        let first = words::definition(metric).split(['\'', '<']).next().unwrap();
        assert!(html.contains(first), "{metric}");
    }
}

#[test]
fn hostile_text_is_text() {
    let html = page(&fixture::hostile());
    assert!(!html.contains("<script>alert"));
    assert!(html.contains("&#60;script&#62;alert(1)&#60;/script&#62;"));
    assert!(html.contains("&#60;img src=x onerror=alert(2)&#62;"));
    assert!(
        html.chars().all(|c| c == '\n' || !c.is_control()),
        "no control character"
    );
    assert!(!html.contains('\u{202e}') && html.contains("\\u{202e}"));
    assert!(
        !html.contains(fixture::LONG),
        "very long names are shortened"
    );
}

#[test]
fn failures_come_with_their_evidence() {
    let html = page(&fixture::hostile());
    for evidence in [
        "link: EPERM, errno 1",
        "too small",
        "BUG: &#60;b&#62;unable",
        "fuse_request_wait",
        "exit code 1",
        "could not be read",
        "checksum",
        "corrupt: byte 4097",
        "2 of 45 cells have not run yet",
    ] {
        assert!(html.contains(evidence), "{evidence}");
    }
}

#[test]
fn words_stand_where_there_is_no_bar() {
    let html = page(&fixture::hostile());
    for words in [
        "crashed in 3 of 3 rounds",
        "hung in 3 of 3 rounds",
        "invalid in 3 of 3 rounds",
        "skipped in 3 of 3 rounds",
        "unsupported in 3 of 3 rounds",
    ] {
        let start = html.find(words).unwrap_or_else(|| panic!("{words}"));
        let text = &html[html[..start].rfind('<').expect("a tag before it")..start];
        assert!(text.contains("class=\"word failed\""), "{words}: {text}");
    }
}

#[test]
fn an_unfinished_and_an_empty_campaign_say_so() {
    let mut results = fixture::plain();
    for stored in &mut results.cells {
        stored.result = None;
    }
    results.environments.clear();
    let html = page(&results);
    assert!(html.contains("9 of 9 cells have not run yet"));
    assert!(html.contains("not run yet: 3 of 3 rounds"));
    assert!(html.contains("nothing has run yet"));
    tags(&html);
}

#[test]
fn features_are_answers_in_the_table_and_no_charts() {
    let mut results = fixture::plain();
    for phase in &mut results.campaign.suites[0].tests[0].phases {
        phase.op = model::Op::Probe {
            feature: model::Feature::HardLinks,
        };
    }
    for stored in &mut results.cells {
        for phase in stored.result.iter_mut().flat_map(|r| &mut r.phases) {
            phase.headline = Metric::Supported;
        }
    }
    let analysis = analyse(&results);
    assert!(analysis.standings.iter().all(|s| s.phases == 0));
    let html = render(&results, &analysis);
    assert_eq!(count(&html, "<svg"), 0);
    assert!(html.contains("<a href=\"#features\">write</a>"));
    assert!(html.contains(">yes</td>"));
}
