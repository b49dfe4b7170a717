//! From what the user asks for to one campaign, checked before anything runs.

pub mod ages;
pub mod analysed;
pub mod asked;
pub mod campaign_text;
pub mod chosen;
pub mod contender_choice;
pub mod contender_groups;
pub mod directories;
pub mod guest_request;
pub mod peers;
pub mod published;
pub mod read;
pub mod refusals;
pub mod rounds;
pub mod several_disks;
pub mod source_choice;
pub mod test_machine;
pub mod versions;
