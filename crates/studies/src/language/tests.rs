//! Statements that are understood, and those that are not.
