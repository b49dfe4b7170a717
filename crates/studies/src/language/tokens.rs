//! A statement as words: `,`, `<`, `=` and a trailing `%` stand for themselves, everything else is parted by spaces.

/// The words of a statement.
pub(super) fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    for word in text.split_whitespace() {
        let mut rest = word;
        while let Some(at) = rest.find([',', '<', '=', '%']) {
            if at > 0 {
                tokens.push(&rest[..at]);
            }
            tokens.push(&rest[at..=at]);
            rest = &rest[at + 1..];
        }
        if !rest.is_empty() {
            tokens.push(rest);
        }
    }
    tokens
}
