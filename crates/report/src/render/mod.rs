//! Renders a document for one medium. Text is made safe here, whatever it contains.

mod html;
mod markdown;
mod terminal;

pub use html::html;
pub(crate) use html::safe as safe_html;
pub use markdown::markdown;
pub(crate) use markdown::table_markdown;
pub(crate) use terminal::table_text;
pub use terminal::{DocumentOptions, terminal};

#[cfg(test)]
mod render_tests;
