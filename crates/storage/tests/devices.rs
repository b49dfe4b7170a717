//! What is tested on loop devices, with root.

mod common;
mod device;
mod held_device;
mod loop_device;
mod lost_beginning;
