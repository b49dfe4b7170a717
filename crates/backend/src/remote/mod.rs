//! Requests to the agent of the machine under test, as a child process or over ssh.

pub(crate) mod agent_backend;
pub(crate) mod connection;
pub(crate) mod inspect;
pub(crate) mod measure;
pub(crate) mod serve;
pub(crate) mod ssh;
pub(crate) mod user_prompt;
