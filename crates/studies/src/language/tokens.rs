//! Splits a statement into words: `,`, `<`, `=` and a trailing `%` are separate words, and spaces
//! separate all others.

/// Splits a statement into words.
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
