//! Errors of JSON without names of types.

/// Returns the cause of an error, without the names of types in this program.
pub fn json_error_cause(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    let what = match what.split_once(", expected struct ") {
        Some((what, _)) => format!("{what}, expected an object"),
        None => what.to_owned(),
    };
    let what: String = what.chars().take(200).collect();
    match error.is_eof() {
        true => "the JSON ends in the middle: the file is cut off".to_owned(),
        false => format!("{what}: the file is damaged or of another version"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Named {
        name: String,
    }

    #[test]
    fn names_no_type_of_this_program() {
        let cause = |text: &str| match serde_json::from_str::<Named>(text) {
            Ok(one) => panic!("{} is read", one.name),
            Err(error) => json_error_cause(&error),
        };
        let other = "the file is damaged or of another version";
        assert_eq!(cause("3"), format!("invalid type: integer `3`, expected an object: {other}"));
        assert_eq!(cause("{}"), format!("missing field `name`: {other}"));
        assert_eq!(cause("{"), "the JSON ends in the middle: the file is cut off");
    }
}
