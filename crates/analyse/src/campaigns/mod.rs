//! Series side by side: campaigns, sessions, contenders fresh and aged; and histories.

pub(crate) mod ageing;
pub(crate) mod difference;
pub(crate) mod history;
pub(crate) mod settings;
