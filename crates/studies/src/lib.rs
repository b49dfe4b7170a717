//! Published comparisons: their figures, their claims, and the verdict on each.
//!
//! The catalog holds the texts; here they get a meaning. Figures are a table in the study's own words ([`Figures`]),
//! claims are statements about them ([`language`]), and [`Claim::judge`] says whether they hold by any [`Evidence`]: by
//! what was printed ([`Published`]) or by what was measured since ([`Measured`]). This crate is pure.

mod checks;
mod csv;
mod evidence;
mod figures;
mod finding;
mod judge;
mod judgement;
pub mod language;
mod measured;
mod published;
mod reported;
mod study;
mod then_and_now;

pub use evidence::{Comparison, Evidence, Known, Number, Order, Place};
pub use figures::{Cell, Contender, Figure, Figures, Status};
pub use judge::judge;
pub use judgement::{HoldsIn, Judgement, Shown, Values, Verdict, Why, in_few};
pub use measured::Measured;
pub use published::Published;
pub use study::{Claim, Counterpart, Doubt, Part, Point, Study};
pub use then_and_now::{
    Ahead, ClaimTwice, ContenderTwice, Difference, FigureTwice, Side, ThenAndNow,
};
