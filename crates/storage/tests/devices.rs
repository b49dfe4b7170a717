//! Tests on loop devices; they need root.

mod common;
mod device;
mod held_device;
mod loop_device;
mod lost_beginning;
