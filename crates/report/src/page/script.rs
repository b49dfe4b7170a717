//! The script and style of the page, assembled from their files, and the content security policy
//! that allows only these. Each is identified by its hash (CSP Level 3, §2.3.1).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// Concatenates files in `web`.
macro_rules! texts {
    ($($path:literal)*) => { concat!($(include_str!(concat!("../../../../web/", $path))),*) };
}

/// Drawing code for charts, used for the page and for pictures.
macro_rules! drawing {
    () => {
        texts!(
            "script/data.js" "script/dom.js" "script/axis.js" "script/bars.js" "script/lines.js"
            "script/latency.js" "script/processor.js" "script/steps.js" "script/heat_chart.js"
            "script/sweeps.js"
        )
    };
}

/// The script, wrapped in one function so that none of its names are global.
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

/// Draws all charts as pictures without a browser and returns them as JSON.
pub(crate) const PICTURES: &str = concat!(
    "(() => {\n\"use strict\";\n",
    texts!("pictures/document.js"),
    drawing!(),
    texts!("pictures/pictures.js"),
    "return JSON.stringify(pictures());\n})();\n",
);

/// Style sheet. Later rules override earlier ones.
pub(crate) const STYLE: &str = texts!(
    "style/base.css" "style/layout.css" "style/table.css" "style/chart.css" "style/print.css"
);

/// Returns only the style of the charts, with the light colours of the page written as values: not
/// all SVG viewers support CSS variables or hover effects.
pub(crate) fn chart_style() -> String {
    let light = texts!("style/base.css").split("@media").next();
    let colours = light.into_iter().flat_map(|text| text.split("--").skip(1));
    let colours = colours.filter_map(|text| text.split(';').next()?.split_once(": "));
    let plain = texts!("style/chart.css").lines().filter(|line| !line.contains(":has("));
    let style: String = plain.map(|line| format!("{line}\n")).collect();
    colours.fold(style, |style, (name, colour)| style.replace(&format!("var(--{name})"), colour))
}

/// Returns the content security policy of the page: only its style and its script.
pub(super) fn content_security_policy() -> String {
    format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src blob:; base-uri 'none'; form-action 'none'",
        csp_hash(SCRIPT),
        csp_hash(STYLE)
    )
}

/// Returns the hash of a text in the format of a content security policy.
pub(crate) fn csp_hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Example of FIPS 180-4: the hash of `abc`.
    #[test]
    fn a_source_is_named_by_its_hash() {
        assert_eq!(csp_hash("abc"), "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    }

    #[test]
    fn the_style_of_charts_has_its_colours_and_no_variable() {
        let style = chart_style();
        assert!(style.contains(".bar.best { fill: #2f8fc7; }"), "{style}");
        assert!(!style.contains("var(") && !style.contains(":has"), "{style}");
    }

    #[test]
    fn script_and_style_cannot_close_their_element_or_evaluate_text() {
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
