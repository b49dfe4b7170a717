//! Renders a document for one medium. Any text is made safe here.

mod html;
mod markdown;
mod terminal;

use crate::document::Table;

pub use html::html;
pub(crate) use html::safe as safe_html;
pub use markdown::markdown;
pub use terminal::{DocumentOptions, terminal};

impl Table {
    /// Renders the table alone: for a terminal, without a margin.
    pub fn text(&self, options: &DocumentOptions) -> String {
        terminal::table_text(self, options)
    }

    /// Renders the table alone as Markdown.
    pub fn markdown(&self) -> String {
        markdown::table_markdown(self)
    }
}

#[cfg(test)]
mod render_tests;
