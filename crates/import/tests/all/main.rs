//! Tests of imports of other programs' output, in one program, because linking is slow.

mod contenders;
mod cut_runs;
mod exported;
mod fio;
mod headings;
mod hostile;
mod parameters;
mod real_inputs;
mod samples;
