//! `fsarena claims`: what published comparisons conclude, and whether their own figures say the same.

use std::process::ExitCode;

use serde_json::{Value, json};
use studies::{Claim, Judgement, Study, Verdict};

use crate::arguments::cli::Globals;
use crate::arguments::study_args::ClaimsArgs;
use crate::output::claims_text;
use crate::output::exit::Code;
use crate::output::text::{print, print_json};
use crate::request::published;

/// Judges the claims of a study, or counts those of every study.
pub fn run(args: &ClaimsArgs, globals: &Globals) -> anyhow::Result<ExitCode> {
    let named = args.study.as_deref().filter(|name| *name != "all");
    let studies = match named {
        Some(name) => vec![published::study(name, globals)?],
        None => published::all(globals)?,
    };
    if globals.json {
        let values: Vec<Value> = studies.iter().map(in_json).collect();
        print_json(&json!({ "studies": values }))?;
    } else if named.is_some() {
        let texts = studies
            .iter()
            .map(|study| claims_text::of_study(study, args.verdict));
        print(&texts.collect::<String>())?;
    } else {
        print(&claims_text::counts(&studies))?;
    }
    Ok(Code::Done.into())
}

fn in_json(study: &Study) -> Value {
    let judged = study.judged();
    let count = |verdict: Verdict| {
        let of = judged
            .iter()
            .filter(|(_, judgement)| judgement.verdict == verdict);
        (verdict.name().replace(' ', "-"), json!(of.count()))
    };
    let counts: serde_json::Map<String, Value> = Verdict::ALL.map(count).into_iter().collect();
    let claims: Vec<Value> = judged
        .iter()
        .map(|(claim, how)| claim_in_json(claim, how))
        .collect();
    json!({
        "study": study.name, "title": study.title, "source": study.source, "counts": counts, "claims": claims,
        "does_not_add_up": study.does_not_add_up(),
    })
}

fn claim_in_json(claim: &Claim, judgement: &Judgement) -> Value {
    json!({ "claim": claim, "by_its_own_figures": judgement })
}
