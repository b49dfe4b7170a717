//! Published comparisons: their figures, their claims, and the verdict on each.
//!
//! The catalog contains the texts; this crate interprets them. Figures are a table with the names
//! used by the study ([`FigureTable`]), claims are statements about them ([`language`]), and
//! [`evaluate`] judges them by any [`Evidence`]: the printed figures ([`PublishedEvidence`]) or later
//! measurements ([`CampaignEvidence`]). This crate is pure.

mod claims;
mod figures;
pub mod language;
mod replication;
mod study;

pub use claims::campaign_evidence::CampaignEvidence;
pub use claims::evaluate::evaluate;
pub use claims::evidence::{
    Comparison, Evidence, FigureRef, MeasuredNumber, ObservedValue, Ranking, Unknown,
};
pub use claims::published_evidence::PublishedEvidence;
pub use claims::verdict::{
    ClaimVerdict, DecidingValues, DisplayValue, HoldsInCount, UnknownReason, Verdict, abbreviate,
};
pub use figures::{FigureSpec, FigureStatus, FigureTable, FigureValue, StudyContender};
pub use replication::{
    Leader, ReplicatedClaim, ReplicatedContender, ReplicatedFigure, ReplicatedValue, Replication,
    SetupDifference,
};
pub use study::{AxisPosition, Claim, FigureDoubt, MappedPhase, PhaseMapping, Study};
