//! Tests of the plan, the run and the database of campaigns, in one program, because linking is slow.

mod append_only;
mod budget;
mod common;
mod damage;
mod delete;
mod import;
mod old_databases;
mod older_versions;
mod round_trip;
mod simulation;
mod store;
mod time_left;
