//! Sets of files, their names and the order of visits.

pub(crate) mod mixed;
pub(crate) mod names;
pub(crate) mod path_buffer;
pub(crate) mod permutation;
pub(crate) mod set;
pub(crate) mod visit_order;
