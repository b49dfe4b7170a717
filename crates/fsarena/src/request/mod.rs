//! From what the user asks for to one campaign, checked before anything runs.

pub mod ages;
pub mod analysed;
pub mod campaign_text;
pub mod chosen;
pub mod contender_choice;
pub mod contender_groups;
pub mod guest_request;
pub mod peers;
pub mod published;
pub mod read;
pub mod several_disks;
pub mod source_choice;
pub mod versions;
