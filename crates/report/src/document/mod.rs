//! A document for people, independent of its medium: sections build it once, and `render`
//! formats it for a terminal, as Markdown or as HTML.

pub(crate) mod table;

pub use table::{Style, Table, TableCell};

/// A document: its blocks in reading order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The blocks.
    pub blocks: Vec<Block>,
}

/// A part of a document. Text may come from outside; renderers make it safe.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Title of the document.
    Title(String),
    /// Title of a section.
    Heading(String),
    /// Sentences.
    Paragraph(String),
    /// Explanation of the block before it.
    Note(String),
    /// Sentences that must not be overlooked.
    Warning(String),
    /// Entries below each other.
    List(Vec<Item>),
    /// Entries whose labels are a column.
    Facts(Vec<Item>),
    /// A table.
    Table(Table),
    /// Lines that keep their breaks and spaces, such as a kernel log.
    Verbatim(String),
}

/// An entry of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Subject of the text; may be empty.
    pub label: String,
    /// The text.
    pub text: String,
    /// Style of the label.
    pub style: Style,
}

impl Item {
    /// Creates an entry with a label.
    pub fn new(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self { label: label.into(), text: text.into(), style: Style::Plain }
    }

    /// Creates an entry whose label shows a status.
    pub fn styled(label: impl Into<String>, style: Style, text: impl Into<String>) -> Self {
        Self { style, ..Self::new(label, text) }
    }
}

impl From<String> for Item {
    fn from(text: String) -> Self {
        Self::new("", text)
    }
}

impl Document {
    /// Creates a document with a title.
    pub fn titled(title: impl Into<String>) -> Self {
        Self { blocks: vec![Block::Title(title.into())] }
    }

    /// Adds a block.
    pub fn push(&mut self, block: Block) {
        self.blocks.push(block);
    }

    /// Adds a paragraph, if there is text.
    pub fn paragraph(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.push(Block::Paragraph(text));
        }
    }

    /// Adds an explanation, if there is text.
    pub fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.push(Block::Note(text));
        }
    }

    /// Adds a section, if it has content.
    pub fn section(
        &mut self,
        heading: impl Into<String>,
        content: impl IntoIterator<Item = Block>,
    ) {
        let content: Vec<Block> = content.into_iter().filter(|block| !block.is_empty()).collect();
        if !content.is_empty() {
            self.push(Block::Heading(heading.into()));
            self.blocks.extend(content);
        }
    }

    /// Adds a section with a list, if the list has entries.
    pub fn list<T: Into<Item>>(
        &mut self,
        heading: impl Into<String>,
        items: impl IntoIterator<Item = T>,
    ) {
        self.section(heading, [Block::list(items)]);
    }
}

impl Block {
    /// Creates a list.
    pub fn list<T: Into<Item>>(items: impl IntoIterator<Item = T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }

    /// Whether the block has no content.
    pub const fn is_empty(&self) -> bool {
        match self {
            Self::List(items) | Self::Facts(items) => items.is_empty(),
            Self::Table(table) => table.is_empty(),
            Self::Title(text)
            | Self::Heading(text)
            | Self::Paragraph(text)
            | Self::Note(text)
            | Self::Warning(text)
            | Self::Verbatim(text) => text.is_empty(),
        }
    }
}
