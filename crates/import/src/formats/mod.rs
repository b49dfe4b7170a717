//! Output formats of other benchmark programs, one file each.

pub(crate) mod bonnie;
pub(crate) mod dbench;
pub(crate) mod filebench;
pub(crate) mod filebench_file;
pub(crate) mod fio;
pub(crate) mod fio_job_file;
pub(crate) mod fio_options;
pub(crate) mod fs_mark;
pub(crate) mod fsarena_csv;
pub(crate) mod hyperfine;
pub(crate) mod ior;
pub(crate) mod iozone;
pub(crate) mod mdtest;
pub(crate) mod phoronix;
pub(crate) mod tiobench;
