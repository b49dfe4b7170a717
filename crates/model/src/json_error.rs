//! Errors of JSON without names of types.

/// Returns the cause of an error, without the names of types in this program.
pub fn json_error_cause(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    let what = match what.rsplit_once(", expected ") {
        _ if what.starts_with("data did not match any variant of ") => {
            "a value has none of the forms that it can have".to_owned()
        }
        Some((found, expected)) => format!("{}, expected {}", plain(found), in_words(expected)),
        None => plain(what),
    };
    let what: String = what.chars().take(200).collect();
    match error.is_eof() {
        true => "the JSON ends in the middle: the file is cut off".to_owned(),
        false => format!("{what}: the file is damaged or of another version"),
    }
}

/// Names a value in terms of JSON.
fn plain(found: &str) -> String {
    let words = [
        ("invalid type: sequence", "a list"),
        ("invalid type: map", "an object"),
        ("invalid type: null", "nothing"),
        ("invalid type: unit value", "nothing"),
    ];
    if let Some((_, word)) = words.iter().find(|(start, _)| *start == found) {
        return format!("invalid type: {word}");
    }
    let words = [
        ("unknown variant ", "unknown value "),
        ("invalid length ", "invalid number of values: "),
        ("invalid type: floating point ", "invalid type: number "),
    ];
    let mut words = words.iter();
    let word = words.find_map(|(from, to)| Some(format!("{to}{}", found.strip_prefix(from)?)));
    word.unwrap_or_else(|| found.to_owned())
}

/// Names a type in terms of JSON.
fn in_words(expected: &str) -> &str {
    let starts = |words: &[&str]| words.iter().any(|word| expected.starts_with(word));
    let number = expected.strip_prefix("a nonzero ").unwrap_or(expected);
    let bits = number.strip_prefix(['u', 'i']).unwrap_or_default();
    match expected {
        "f32" | "f64" => "a number",
        _ if matches!(bits, "8" | "16" | "32" | "64" | "128" | "size") => "a whole number",
        "variant identifier" | "enum identifier" => "one of the known names",
        "field identifier" => "a name",
        "path string" => "a path",
        "unit" => "nothing",
        _ if starts(&["tuple ", "a tuple", "a sequence", "an array", "fewer elements"]) => "a list",
        _ if starts(&["struct ", "a map", "map", "internally tagged", "adjacently tagged"]) => {
            "an object"
        }
        _ if starts(&["enum ", "unit variant", "newtype variant", "unit struct"]) => {
            "one of the known names"
        }
        _ => expected,
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

    #[derive(Debug, PartialEq, Eq, serde::Deserialize)]
    struct Pair(u8, u8);

    #[derive(Debug, PartialEq, Eq, serde::Deserialize)]
    enum Word {
        One,
        Two,
        Three(u8),
    }

    #[derive(Debug, PartialEq, Eq, serde::Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(u8),
        Pair(Pair),
    }

    fn cause<T: serde::de::DeserializeOwned + std::fmt::Debug>(text: &str) -> String {
        let cause = json_error_cause(&serde_json::from_str::<T>(text).unwrap_err());
        let (what, _) = cause.split_once(": the file is damaged").expect("the fix");
        what.to_owned()
    }

    #[test]
    fn says_what_it_expects_in_the_words_of_json() {
        assert_eq!(cause::<f64>("null"), "invalid type: nothing, expected a number");
        assert_eq!(cause::<u64>("[]"), "invalid type: a list, expected a whole number");
        assert_eq!(cause::<u32>("-1"), "invalid value: integer `-1`, expected a whole number");
        assert_eq!(cause::<i32>("{}"), "invalid type: an object, expected a whole number");
        assert_eq!(
            cause::<std::num::NonZeroU64>("0"),
            "invalid value: integer `0`, expected a whole number"
        );
        assert_eq!(cause::<u8>("1.5"), "invalid type: number `1.5`, expected a whole number");
        assert_eq!(cause::<Vec<u8>>("{}"), "invalid type: an object, expected a list");
        assert_eq!(cause::<Pair>("[1]"), "invalid number of values: 1, expected a list");
        assert_eq!(
            cause::<Word>("\"Four\""),
            "unknown value `Four`, expected one of `One`, `Two`, `Three`"
        );
        assert_eq!(cause::<Either>("null"), "a value has none of the forms that it can have");
        assert_eq!(cause::<std::path::PathBuf>("1"), "invalid type: integer `1`, expected a path");
        let quoted = cause::<u8>("\"x, expected f64\"");
        assert_eq!(quoted, "invalid type: string \"x, expected f64\", expected a whole number");
    }
}
