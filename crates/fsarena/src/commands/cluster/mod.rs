//! `fsarena cluster`: runs a campaign in virtual time on any number of hosts.

pub mod collect;
pub mod plan;
pub mod work;
