//! Comma-separated values as in RFC 4180: fields may be quoted, and a quote in a quoted field is
//! doubled.

/// A record, with the number of its first line, from 1.
pub(crate) type CsvRecord = (usize, Vec<String>);

/// Reads the records of a text; empty lines are skipped.
///
/// # Errors
/// Returns the line and the reason if a quote is not closed or is inside a field.
pub(crate) fn records(text: &str) -> Result<Vec<CsvRecord>, (usize, &'static str)> {
    let mut records = Vec::new();
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut line = 1;
    while !rest.is_empty() {
        let begins = line;
        let mut fields = Vec::new();
        loop {
            let (field, behind) = field(rest).map_err(|why| (begins, why))?;
            line += field.matches('\n').count();
            fields.push(field);
            match behind.strip_prefix(',') {
                Some(next) => rest = next,
                None => {
                    rest = behind.strip_prefix('\r').unwrap_or(behind);
                    break;
                }
            }
        }
        rest = match rest.strip_prefix('\n') {
            Some(next) => next,
            None if rest.is_empty() => rest,
            None => return Err((begins, "unexpected text after a closing quote")),
        };
        line += 1;
        if fields.iter().any(|field| !field.is_empty()) {
            records.push((begins, fields));
        }
    }
    Ok(records)
}

/// Splits a text into its first field and the rest.
fn field(text: &str) -> Result<(String, &str), &'static str> {
    let Some(mut rest) = text.strip_prefix('"') else {
        let end = text.find([',', '\n', '\r']).unwrap_or(text.len());
        let (field, behind) = text.split_at(end);
        return match field.contains('"') {
            true => Err("a quote is inside a field that does not begin with one"),
            false => Ok((field.to_owned(), behind)),
        };
    };
    let mut field = String::new();
    loop {
        let end = rest.find('"').ok_or("a quote is not closed")?;
        field += &rest[..end];
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(behind) => {
                field.push('"');
                rest = behind;
            }
            None => return Ok((field, rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quotes_keep_commas_and_line_ends_together() {
        let text = "a,\"b, \"\"c\"\"\r\nd\",\r\n\n\"e\"";
        let fields = |all: &[&str]| all.iter().map(|f| (*f).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            records(text).unwrap(),
            [(1, fields(&["a", "b, \"c\"\r\nd", ""])), (4, fields(&["e"]))]
        );
    }

    #[test]
    fn invalid_csv_is_reported_with_its_line() {
        assert_eq!(records("a\n\"b").unwrap_err(), (2, "a quote is not closed"));
        assert_eq!(records("a\nb\"c").unwrap_err().0, 2);
        assert_eq!(records("\"a\"b").unwrap_err().0, 1);
    }

    proptest! {
        #[test]
        fn written_records_read_back(all in prop::collection::vec(prop::collection::vec("[a,\"\n é]{1,5}", 1..4), 0..4)) {
            let quoted = |field: &String| format!("\"{}\"", field.replace('"', "\"\""));
            let line = |fields: &Vec<String>| fields.iter().map(quoted).collect::<Vec<_>>().join(",");
            let text: Vec<String> = all.iter().map(line).collect();
            let read: Vec<Vec<String>> = records(&text.join("\n")).unwrap().into_iter().map(|(_, f)| f).collect();
            prop_assert_eq!(read, all);
        }
    }
}
