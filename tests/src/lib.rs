//! End-to-end tests live in the files beside this one.
