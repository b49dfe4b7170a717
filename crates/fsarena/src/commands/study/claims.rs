//! `fsarena study claims`: checks the claims of published comparisons against their own figures.

use std::process::ExitCode;

use ::studies::{Claim, ClaimVerdict, Study, Verdict};
use serde_json::{Value, json};

use crate::args::cli::GlobalArgs;
use crate::args::study_args::ClaimsArgs;
use crate::output::claims_text;
use crate::output::exit::ExitReason;
use crate::output::text::{print, print_json};
use crate::settings::studies;

/// Evaluates the claims of one study, or counts the verdicts for every study.
pub fn run(args: &ClaimsArgs, globals: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let named = args.study.as_deref().filter(|name| *name != "all");
    let studies = match named {
        Some(name) => vec![studies::study(name, globals)?],
        None => studies::all(globals)?,
    };
    if globals.json {
        let values: Vec<Value> = studies.iter().map(in_json).collect();
        print_json(&json!({ "studies": values }))?;
    } else if named.is_some() || args.verdict.is_some() {
        let texts = studies.iter().map(|study| claims_text::of_study(study, args.verdict));
        print(&texts.collect::<String>())?;
    } else {
        print(&claims_text::counts(&studies))?;
    }
    Ok(ExitReason::Success.into())
}

fn in_json(study: &Study) -> Value {
    let judged = study.evaluate_claims();
    let count = |verdict: Verdict| {
        let of = judged.iter().filter(|(_, judgement)| judgement.verdict == verdict);
        (verdict.name().replace(' ', "-"), json!(of.count()))
    };
    let counts: serde_json::Map<String, Value> = Verdict::ALL.map(count).into_iter().collect();
    let claims: Vec<Value> = judged.iter().map(|(claim, how)| claim_in_json(claim, how)).collect();
    json!({
        "study": study.name, "title": study.title, "source": study.source, "counts": counts, "claims": claims,
        "does_not_add_up": study.inconsistencies(),
    })
}

fn claim_in_json(claim: &Claim, judgement: &ClaimVerdict) -> Value {
    json!({ "claim": claim, "by_its_own_figures": judgement })
}
