//! One module for each command and for each group of commands.

pub mod advise;
pub mod agent;
pub mod changes;
pub mod cluster {
    pub mod collect;
    pub mod plan;
    pub mod work;
}
pub mod compare;
pub mod disk {
    pub mod replay;
    pub mod requests;
    pub mod validate;
}
pub mod delete;
pub mod doctor;
pub mod explain;
pub mod guest;
pub mod history;
pub mod import;
pub mod install;
pub mod list;
pub mod overview;
pub mod regression;
pub mod regression_search;
pub mod report;
pub mod resume;
pub mod run;
pub mod run_on_hosts;
pub mod run_on_kernels;
pub mod show;
pub mod study {
    pub mod claims;
    pub mod replicate;
    pub mod show;
}
pub mod survive {
    pub mod check;
    pub mod sequences;
    pub mod steps;
    pub mod trace;
    pub mod write;
}
pub mod tool {
    pub mod agree;
    pub mod calibrate;
    pub mod completions;
    pub mod format;
    pub mod man;
    pub mod site;
}
pub mod trace;
pub mod watch;
