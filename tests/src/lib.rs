//! What the end-to-end tests share: a driver with faults, and a sandbox that notices what is left.
//!
//! Only for tests: nothing here is part of fsarena.

pub mod faultfs;
