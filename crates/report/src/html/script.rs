//! The page's script and style, put together from their files, and the policy that lets these and nothing
//! else run: each is named by its hash (CSP Level 3, §2.3.1).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// The script: one function, so that nothing of it is seen from outside.
pub(super) const SCRIPT: &str = concat!(
    "(() => {\n\"use strict\";\n",
    include_str!("../../../../web/script/data.js"),
    include_str!("../../../../web/script/dom.js"),
    include_str!("../../../../web/script/axis.js"),
    include_str!("../../../../web/script/demand.js"),
    include_str!("../../../../web/script/filter.js"),
    include_str!("../../../../web/script/bars.js"),
    include_str!("../../../../web/script/lines.js"),
    include_str!("../../../../web/script/latency.js"),
    include_str!("../../../../web/script/processor.js"),
    include_str!("../../../../web/script/steps.js"),
    include_str!("../../../../web/script/phases.js"),
    include_str!("../../../../web/script/sweeps.js"),
    include_str!("../../../../web/script/uses.js"),
    include_str!("../../../../web/script/detail.js"),
    include_str!("../../../../web/script/heat.js"),
    include_str!("../../../../web/script/main.js"),
    "})();\n",
);

/// The style sheet; what comes later wins.
pub(super) const STYLE: &str = concat!(
    include_str!("../../../../web/style/base.css"),
    include_str!("../../../../web/style/layout.css"),
    include_str!("../../../../web/style/table.css"),
    include_str!("../../../../web/style/chart.css"),
    include_str!("../../../../web/style/print.css"),
);

/// What the page may do: apply its own style, run its own script, and nothing else.
pub(super) fn policy() -> String {
    format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        source_of(SCRIPT),
        source_of(STYLE)
    )
}

fn source_of(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4's example: the hash of `abc`.
    #[test]
    fn a_source_is_named_by_its_hash() {
        assert_eq!(
            source_of("abc"),
            "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="
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
