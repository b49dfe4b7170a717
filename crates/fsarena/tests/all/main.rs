//! Tests of the command line, in one program, because linking is slow.

mod command_line;
mod delete;
mod hostile_files;
mod imported;
mod many_campaigns;
mod peers;
mod process_limits;
mod released_formats;
mod shared_directory;
mod stored_campaign;
mod told;
mod validated_disks;
mod without_home;
