//! The page's script and style, put together from their files, and the policy that lets these and nothing
//! else run: each is named by its hash (CSP Level 3, §2.3.1).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// The texts of files in `web`, one after the other.
macro_rules! texts {
    ($($path:literal)*) => { concat!($(include_str!(concat!("../../../../web/", $path))),*) };
}

/// What draws charts, from the campaign's numbers: for the page and for pictures.
macro_rules! drawing {
    () => {
        texts!(
            "script/data.js" "script/dom.js" "script/axis.js" "script/bars.js" "script/lines.js"
            "script/latency.js" "script/processor.js" "script/steps.js" "script/heat_chart.js"
            "script/sweeps.js"
        )
    };
}

/// The script: one function, so that nothing of it is seen from outside.
pub(super) const SCRIPT: &str = concat!(
    "(() => {\n\"use strict\";\n",
    drawing!(),
    texts!(
        "script/inference.js" "script/verdict.js" "script/weighed.js" "script/marks.js" "script/state.js"
        "script/derived.js" "script/demand.js" "script/share.js" "script/filter.js" "script/rank_chart.js"
        "script/uses.js" "script/phases.js" "script/pager.js" "script/heat.js" "script/groups.js" "script/counts.js" "script/disk.js"
        "script/disk_map.js" "script/detail.js" "script/chart_index.js" "script/places.js" "script/main.js"
    ),
    "})();\n",
);

/// The same charts, each as a picture: gives all of them as JSON, without a browser.
pub(crate) const PICTURES: &str = concat!(
    "(() => {\n\"use strict\";\n",
    texts!("pictures/document.js"),
    drawing!(),
    texts!("pictures/pictures.js"),
    "return JSON.stringify(pictures());\n})();\n",
);

/// The style sheet; what comes later wins.
pub(crate) const STYLE: &str = texts!(
    "style/base.css" "style/layout.css" "style/table.css" "style/chart.css" "style/print.css"
);

/// The style of the charts alone, in the light colours of the page, which are spelt out: not all that
/// shows SVG knows variables of CSS, or what a pointer hovers over.
pub(crate) fn chart_style() -> String {
    let light = texts!("style/base.css").split("@media").next();
    let colours = light.into_iter().flat_map(|text| text.split("--").skip(1));
    let colours = colours.filter_map(|text| text.split(';').next()?.split_once(": "));
    let plain = texts!("style/chart.css")
        .lines()
        .filter(|line| !line.contains(":has("));
    let style: String = plain.map(|line| format!("{line}\n")).collect();
    colours.fold(style, |style, (name, colour)| {
        style.replace(&format!("var(--{name})"), colour)
    })
}

/// What the page may do: apply its own style, run its own script, and nothing else.
pub(super) fn content_security_policy() -> String {
    format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src blob:; base-uri 'none'; form-action 'none'",
        csp_hash(SCRIPT),
        csp_hash(STYLE)
    )
}

/// How a policy names a text.
pub(crate) fn csp_hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4's example: the hash of `abc`.
    #[test]
    fn a_source_is_named_by_its_hash() {
        assert_eq!(
            csp_hash("abc"),
            "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="
        );
    }

    #[test]
    fn the_style_of_charts_has_its_colours_and_no_variable() {
        let style = chart_style();
        assert!(style.contains(".bar.best { fill: #2f8fc7; }"), "{style}");
        assert!(
            !style.contains("var(") && !style.contains(":has"),
            "{style}"
        );
    }

    #[test]
    fn nothing_in_script_or_style_can_end_its_element_or_runs_text() {
        for text in [SCRIPT, STYLE] {
            for forbidden in ["</", "<!--", "<script", "\r"] {
                assert!(!text.contains(forbidden), "{forbidden:?}");
            }
        }
        for forbidden in [
            "eval(",
            "Function(",
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "fetch(",
            "XMLHttpRequest",
            "import(",
            "WebSocket",
            "localStorage",
        ] {
            assert!(!SCRIPT.contains(forbidden), "{forbidden}");
        }
    }
}
