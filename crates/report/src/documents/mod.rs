//! Reports as documents: campaign, last screen of a run, comparison, search for the first worse
//! version, agreement, history, explanation, advice, second opinion.

pub(crate) mod advice;
pub(crate) mod agreement;
pub(crate) mod campaign;
pub(crate) mod compare;
pub(crate) mod explanation;
pub(crate) mod history;
pub(crate) mod last_screen;
pub(crate) mod regression_search;
pub(crate) mod second_opinion;
