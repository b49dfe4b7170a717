//! Resolves the user's options into one campaign, and checks it before cells run.

pub mod ages;
pub mod analysis;
pub mod campaign;
pub mod campaign_text;
pub mod contender_groups;
pub mod contenders;
pub mod disk_sweep;
pub mod external_programs;
pub mod guest;
pub mod resolve;
pub mod rounds;
pub mod select_campaign;
pub mod source_choice;
pub mod studies;
pub mod test_machine;
pub mod together;
pub mod validate;
pub mod versions;
