//! Published comparisons: their figures, their claims, and the verdict on each.
//!
//! The catalog contains the texts; this crate interprets them. Figures are a table with the names
//! used by the study ([`Figures`]), claims are statements about them ([`language`]), and
//! [`Claim::judge`] judges them by any [`Evidence`]: the printed figures ([`Published`]) or later
//! measurements ([`Measured`]). This crate is pure.

mod campaign_evidence;
mod consistency;
mod csv;
mod evaluate;
mod evidence;
mod figures;
mod imported;
pub mod language;
mod published_evidence;
mod replication;
mod study;
mod truth;
mod verdict;

pub use campaign_evidence::CampaignEvidence;
pub use evaluate::evaluate;
pub use evidence::{Comparison, Evidence, FigureRef, MeasuredNumber, ObservedValue, Ranking};
pub use figures::{FigureSpec, FigureStatus, FigureTable, FigureValue, StudyContender};
pub use published_evidence::PublishedEvidence;
pub use replication::{
    Leader, ReplicatedClaim, ReplicatedContender, ReplicatedFigure, ReplicatedValue, Replication,
    SetupDifference,
};
pub use study::{AxisPosition, Caveat, Claim, MappedPhase, PhaseMapping, Study};
pub use verdict::{
    ClaimVerdict, DecidingValues, DisplayValue, HoldsInCount, UnknownReason, Verdict, abbreviate,
};
