//! Numbers as printed by programs. Values that no measurement can have are rejected.

use model::Nanos;

use crate::ImportError;

/// Maximum value of any metric: above every possible number of bytes or nanoseconds.
const MAX_NUMBER: f64 = 1e24;

/// Parses a non-negative number.
pub fn number(text: &str, line: usize) -> Result<f64, ImportError> {
    optional(text).ok_or_else(|| none(text, "no number from 0 on", line))
}

/// Parses a number that may be negative, such as the space of a phase that frees some.
pub fn signed(text: &str, line: usize) -> Result<f64, ImportError> {
    let value = match text.strip_prefix('-') {
        Some(amount) => optional(amount).map(|amount| -amount),
        None => optional(text),
    };
    value.ok_or_else(|| none(text, "no number", line))
}

fn none(text: &str, what: &str, line: usize) -> ImportError {
    let shown: String = text.chars().take(40).collect();
    let why = format!("`{shown}` is {what}: the file is damaged or of another format");
    ImportError::at_line(line, why)
}

/// Parses a number. Returns `None` if it is not one.
pub fn optional(text: &str) -> Option<f64> {
    let is_plain = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let value: f64 = match is_number && text.chars().all(is_plain) {
        true => text.parse().ok()?,
        false => return None,
    };
    finite_non_negative(value)
}

/// Returns true if a printed number may differ by more than 5 % from the measured one, because it
/// has too few digits. Comparisons call results within 5 % equal.
pub fn is_coarse(text: &str) -> bool {
    const MARGIN: f64 = 0.05;
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let rounding = 0.5 / 10_f64.powi(decimals.min(30) as i32);
    optional(text).is_some_and(|value| value > 0.0 && rounding > MARGIN * value)
}

/// Returns a number that is already parsed if it is a possible measured value.
pub fn finite_non_negative(value: f64) -> Option<f64> {
    (value.is_finite() && (0.0..=MAX_NUMBER).contains(&value)).then_some(value)
}

/// Splits a number from the unit that follows it: `12us`, `0.38ms]`.
pub fn split_unit(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'));
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    Some((optional(digits)?, unit))
}

/// Parses a time with a unit. Returns seconds.
pub fn seconds(text: &str) -> Option<f64> {
    let (value, unit) = split_unit(text)?;
    let factor = match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "ns" => 1e-9,
        _ => return None,
    };
    Some(value * factor)
}

/// Converts seconds since 1970 to a time. Returns `None` for times before 1990, which cannot be
/// right.
pub fn since_1970(seconds: u64) -> Option<Nanos> {
    const YEAR_1990: u64 = 631_152_000;
    let nanos = seconds.checked_mul(1_000_000_000)?;
    (seconds >= YEAR_1990 && i64::try_from(nanos).is_ok()).then_some(Nanos(nanos))
}

/// Parses a time without a time zone as UTC: `Thu Nov 26 00:58:37 2026`. Further words are ignored.
pub fn parse_ctime(words: &[&str]) -> Option<Nanos> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let [_, month, day, time, year, ..] = words else {
        return None;
    };
    let month = MONTHS.iter().position(|known| known == month)?;
    at(year.parse().ok()?, month as u64 + 1, day.parse().ok()?, time)
}

/// Parses a US date: `11/26/2026 00:58:37`.
pub fn parse_us_date(day: &str, time: &str) -> Option<Nanos> {
    let mut parts = day.split('/').map(|part| part.parse().ok());
    let (month, day, year) = (parts.next()??, parts.next()??, parts.next()??);
    at(year, month, day, time)
}

fn at(year: u64, month: u64, day: u64, time: &str) -> Option<Nanos> {
    let mut parts = time.split(':').map(|part| part.parse::<u64>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    let is_time = hours < 24 && minutes < 60 && seconds < 61;
    if !is_time || !(1990..=9999).contains(&year) || !(1..=31).contains(&day) {
        return None;
    }
    // Days of the civil calendar. Years start in March, so that a leap day is the last day of a
    // year.
    let (years, months) = match month {
        1 | 2 => (year - 1, month + 9),
        3..=12 => (year, month - 3),
        _ => return None,
    };
    const DAYS_TO_UNIX_EPOCH: u64 = 719_468;
    let days = 365 * years + years / 4 - years / 100 + years / 400;
    let days = days + (153 * months + 2) / 5 + day - 1 - DAYS_TO_UNIX_EPOCH;
    since_1970(days * 86_400 + hours * 3600 + minutes * 60 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_of_the_calendar_is_a_time() {
        let second = |seconds: u64| Some(Nanos(seconds * 1_000_000_000));
        let words = ["Thu", "Nov", "26", "00:58:37", "2026"];
        assert_eq!(parse_ctime(&words), second(1_795_654_717));
        assert_eq!(parse_us_date("02/29/2024", "12:00:00"), second(1_709_208_000));
        for (day, time) in [
            ("13/01/2024", "12:00:00"),
            ("01/01/2024", "24:00:00"),
            ("01/01/99999999999", "12:00:00"),
            ("01/01", "12:00:00"),
            ("0/0/0", "0:0:0"),
        ] {
            assert_eq!(parse_us_date(day, time), None);
        }
        assert_eq!(parse_ctime(&["Nov", "26"]), None);
    }

    #[test]
    fn refuses_impossible_measured_values() {
        for bad in ["", "-1", "nan", "NaN", "inf", "1e400", "1e25", "0x1", "1,5", "+1", "١"] {
            assert_eq!(optional(bad), None, "{bad}");
        }
        for (good, value) in [("0", 0.0), ("1.5", 1.5), ("1e3", 1000.0), (".5", 0.5)] {
            assert_eq!(optional(good), Some(value));
        }
        assert!(number("x", 7).unwrap_err().to_string().starts_with("line 7: `x` is no"));
    }

    #[test]
    fn numbers_with_too_few_digits_are_coarse() {
        for coarse in ["0.003", "9", "0.9", "0.009"] {
            assert!(is_coarse(coarse), "{coarse}");
        }
        for fine in ["0.010", "10", "1.0", "0.05000", "0.000", "x"] {
            assert!(!is_coarse(fine), "{fine}");
        }
    }

    #[test]
    fn times_are_seconds() {
        assert_eq!(seconds("12us"), Some(12e-6));
        assert_eq!(seconds("3s"), Some(3.0));
        assert_eq!(seconds("3"), None);
    }
}
