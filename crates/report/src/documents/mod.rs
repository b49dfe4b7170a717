//! Reports as text: terminal, Markdown, comparison, search for the first worse version, agreement,
//! history, advice.

pub(crate) mod advice;
pub(crate) mod agreement;
pub(crate) mod compare;
pub(crate) mod explanation;
pub(crate) mod history;
pub(crate) mod markdown;
pub(crate) mod regression_search;
pub(crate) mod terminal;
