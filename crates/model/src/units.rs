//! Quantities with their unit in the type: bytes, nanoseconds and percentages.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A number of bytes.
///
/// Reads `4096` (bytes), `8 KiB`, `1.5 GiB`, `700 MB`, below 8 EiB, in any case of letters. `KiB`
/// and its larger units are powers of 1024, `kB` and its larger units powers of 1000. A single
/// letter is a power of 1024, as in fio and mkfs: `4k`, `512m`, `1G`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bytes(pub u64);

/// A duration in nanoseconds.
///
/// Reads `30 s`, `1.5 ms`, `10m` and `10min` (minutes), `1h30m`, `2 days`, up to 292 years, in any
/// case of letters. Each number needs a unit.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Nanos(pub u64);

/// A quantity that could not be parsed. Its text is the cause with the correct form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseUnitError {
    text: String,
    cause: String,
}

impl ParseUnitError {
    fn new(text: &str, cause: impl Into<String>) -> Self {
        Self { text: text.trim().to_owned(), cause: cause.into() }
    }
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.text, self.cause)
    }
}

impl std::error::Error for ParseUnitError {}

const BINARY: [(&str, u64); 6] = [
    ("EiB", 1 << 60),
    ("PiB", 1 << 50),
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
];
const DECIMAL: [(&str, u64); 4] =
    [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];

impl Bytes {
    /// Maximum size: the kernel supports no larger file.
    pub const MAX_UNITS: Self = Self(LARGEST);

    /// Creates a number of bytes from KiB (1024 bytes).
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }

    /// Creates a number of bytes from MiB (1024 KiB).
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }

    /// Returns the quantity as a limit: `4 GiB - 1 B` if it is slightly below a power of two.
    pub fn format_limit(self) -> String {
        let above = self.0.checked_next_power_of_two().map(Self);
        match above.map(|above| (above, Self(above.0 - self.0))) {
            Some((above, below)) if below.0 > 0 && below.0 <= above.0 >> 10 => {
                format!("{above} - {below}")
            }
            _ => self.to_string(),
        }
    }

    /// Returns the quantity in binary units if another one is shown in binary units, else in
    /// decimal units, so that both can be compared at sight.
    pub fn format_like(self, other: Self) -> String {
        let shown = other.to_string();
        match BINARY.iter().any(|(name, _)| shown.ends_with(name)) {
            true => self.rounded(&BINARY),
            false => self.rounded(&DECIMAL),
        }
    }

    /// Returns the quantity in the largest of these units that it fills, with one decimal.
    fn rounded(self, units: &[(&str, u64)]) -> String {
        // 1023.9 MiB is shown as 1.0 GiB.
        let fits = |(_, factor): &&(&str, u64)| self.0 as f64 >= 0.9995 * *factor as f64;
        match units.iter().find(fits) {
            Some((name, factor)) => format!("{:.1} {name}", self.0 as f64 / *factor as f64),
            None => format!("{} B", self.0),
        }
    }

    /// Returns the quantity as a `usize`, for buffer lengths.
    ///
    /// # Panics
    /// Panics if the address space of the machine is smaller than the quantity.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).expect("a buffer length fits the address space")
    }
}

impl Nanos {
    /// Creates a span from seconds.
    pub const fn from_secs(n: u64) -> Self {
        Self(n * 1_000_000_000)
    }

    /// Reads a limit of a campaign or a cell: a time above 0 and at most 365 days.
    ///
    /// # Errors
    /// Returns an error if the text is not a time or out of range.
    pub fn parse_limit(text: &str) -> Result<Self, ParseUnitError> {
        // Nothing is nothing in any unit.
        let time: Self = if text.trim() == "0" { Self(0) } else { text.parse()? };
        match time > Self(0) && time <= Self::from_secs(365 * 86_400) {
            true => Ok(time),
            false => Err(ParseUnitError::new(text, "is not above 0 and at most 365 days")),
        }
    }

    /// Returns the span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the duration as the type of the standard library.
    pub const fn to_duration(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0)
    }
}

impl From<std::time::Duration> for Nanos {
    fn from(d: std::time::Duration) -> Self {
        Self(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Maximum quantity parsed from a text, so that calculations with it fit into 64 bits.
const LARGEST: u64 = i64::MAX as u64;

/// Splits `1.5 MiB, …` into its number, its unit and the rest of the text.
fn split_term(text: &str) -> (&str, &str, &str) {
    let is_digit = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    let (number, rest) = text.split_at(text.find(|c| !is_digit(c)).unwrap_or(text.len()));
    let rest = rest.trim_start();
    let (unit, rest) = rest.split_at(rest.find(is_digit).unwrap_or(rest.len()));
    (number, unit.trim_end(), rest)
}

/// Multiplies a number by its unit. The result is exact for whole numbers.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    let number = number.replace('_', "");
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).filter(|n| *n <= LARGEST);
    }
    let value = number.parse::<f64>().ok()? * factor as f64;
    (value >= 0.0 && value < LARGEST as f64 && factor > 1).then(|| value.round() as u64)
}

/// Returns the number of bytes of a unit of size.
fn size_unit(unit: &str) -> Option<u64> {
    let unit = unit.to_ascii_lowercase();
    if matches!(&*unit, "" | "b" | "byte" | "bytes") {
        return Some(1);
    }
    let (letter, rest) = unit.split_at_checked(1)?;
    let power = 1 + u32::try_from("kmgtpe".find(letter)?).ok()?;
    match rest {
        "" | "i" | "ib" => Some(1 << (10 * power)),
        "b" => Some(1000_u64.pow(power)),
        _ => None,
    }
}

/// Returns the nanoseconds of a unit of time.
fn time_unit(unit: &str) -> Option<u64> {
    Some(match &*unit.to_lowercase() {
        "ns" => 1,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000_000,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000_000_000,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000_000_000,
        "d" | "day" | "days" => 86_400_000_000_000,
        _ => return None,
    })
}

/// Adds the terms of a duration such as `1h30m`, from the largest unit to the smallest.
fn duration(text: &str) -> Option<u64> {
    let (mut rest, mut total, mut last) = (text.trim(), 0_u64, u64::MAX);
    loop {
        let (number, unit, more) = split_term(rest);
        let factor = time_unit(unit).filter(|factor| *factor < last)?;
        total = total.checked_add(scaled(number, factor)?).filter(|n| *n <= LARGEST)?;
        if more.is_empty() {
            return Some(total);
        }
        (rest, last) = (more, factor);
    }
}

/// Reads a percentage such as `5%` or `2.5 %` as a share.
///
/// # Errors
/// Returns an error if the text is negative or not a percentage. A number without its sign is not
/// a percentage, because `0.05` could be 5 % or 0.05 %.
pub fn percentage(text: &str) -> Result<f64, ParseUnitError> {
    let text = text.trim();
    let (digits, has_sign) = match text.strip_suffix('%') {
        Some(digits) => (digits.trim_end(), true),
        None => (text, false),
    };
    let number = digits.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    let cause = match number {
        Some(percent) if has_sign => return Ok(percent / 100.0),
        Some(share) if share > 0.0 && share < 1.0 => {
            let percent = (share * 1e8).round() / 1e6;
            format!("has no percent sign; write `{percent}%` or `{text}%`")
        }
        Some(_) => format!("has no percent sign; write `{text}%`"),
        None => "is not a percentage such as `5%`".to_owned(),
    };
    Err(ParseUnitError::new(text, cause))
}

impl FromStr for Bytes {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let (number, unit, rest) = split_term(text.trim());
        let factor = size_unit(unit).filter(|_| rest.is_empty());
        factor.and_then(|factor| scaled(number, factor)).map(Self).ok_or_else(|| {
            let cause = "is not a size below 8 EiB such as `64 KiB`, `2 GiB`, `512M` or `700 MB`";
            ParseUnitError::new(text, cause)
        })
    }
}

impl FromStr for Nanos {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        if let Some(total) = duration(text) {
            return Ok(Self(total));
        }
        let number = text.trim();
        Err(ParseUnitError::new(
            text,
            match number.parse::<f64>() {
                Ok(_) => format!("has no unit; write `{number}s`, `{number}min` or `{number}h`"),
                Err(_) => "is not a time such as `500 ms`, `30s`, `10min` or `1h30m`".to_owned(),
            },
        ))
    }
}

impl fmt::Display for Bytes {
    /// Uses the largest unit with a whole number, binary or decimal, whichever needs fewer digits.
    /// Uses a binary unit with one decimal if there is no such unit or the number is hard to read;
    /// the form `{:#}` is always exact.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |units: &[(&'static str, u64)]| {
            let is_whole =
                |(_, factor): &&(&str, u64)| self.0 >= *factor && self.0.is_multiple_of(*factor);
            let (name, factor) = units.iter().find(is_whole)?;
            Some((self.0 / factor, *name))
        };
        let found = match (whole(&BINARY), whole(&DECIMAL)) {
            (Some(binary), Some(decimal)) if decimal.0.ilog10() < binary.0.ilog10() => {
                Some(decimal)
            }
            (None, Some(decimal)) if decimal.0 < 1000 => Some(decimal),
            (binary, _) => binary,
        };
        let is_readable = |number| number < 10_000 || number < 100_000 && number % 1000 == 0;
        f.pad(&match found {
            Some((number, name)) if f.alternate() || is_readable(number) => {
                format!("{number} {name}")
            }
            _ if f.alternate() => format!("{} B", self.0),
            _ => self.rounded(&BINARY),
        })
    }
}

impl fmt::Display for Nanos {
    /// Shows three significant digits in a unit that suits the duration.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0 as f64;
        let (value, unit) = match self.0 {
            0..1_000 => return f.pad(&format!("{} ns", self.0)),
            1_000..1_000_000 => (n / 1e3, "µs"),
            1_000_000..1_000_000_000 => (n / 1e6, "ms"),
            1_000_000_000..120_000_000_000 => (n / 1e9, "s"),
            _ => (n / 6e10, "min"),
        };
        let decimals = match value {
            v if v < 10.0 => 2,
            v if v < 100.0 => 1,
            _ => 0,
        };
        f.pad(&format!("{value:.decimals$} {unit}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_binary_decimal_and_plain_sizes() {
        assert_eq!("64 KiB".parse(), Ok(Bytes(65_536)));
        assert_eq!("2GiB".parse(), Ok(Bytes(2 << 30)));
        assert_eq!("700 MB".parse(), Ok(Bytes(700_000_000)));
        assert_eq!("1.5 MiB".parse(), Ok(Bytes(1_572_864)));
        assert_eq!("4096".parse(), Ok(Bytes(4096)));
        assert_eq!("1_000".parse(), Ok(Bytes(1000)));
    }

    #[test]
    fn a_letter_alone_is_binary_as_in_fio_and_mkfs() {
        for (letters, bytes) in [
            ("4k", 4 << 10),
            ("4K", 4 << 10),
            ("512M", 512 << 20),
            ("512m", 512 << 20),
            ("1G", 1 << 30),
            ("1g", 1 << 30),
            ("1.5 G", 3 << 29),
            ("2T", 2 << 40),
            ("1p", 1 << 50),
        ] {
            assert_eq!(letters.parse(), Ok(Bytes(bytes)), "{letters}");
        }
    }

    #[test]
    fn a_unit_of_size_is_the_same_in_capital_and_small_letters() {
        for (texts, bytes) in [
            (["4 KiB", "4KIB", "4 kib", "4Ki"], 4096),
            (["10MB", "10 mb", "10Mb", "10_000kb"], 10_000_000),
            (["1GiB", "1gib", "1 Gib", "1024 MiB"], 1 << 30),
            (["2", "2 B", "2b", "2 bytes"], 2),
        ] {
            for text in texts {
                assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
            }
        }
    }

    #[test]
    fn invalid_sizes_are_refused_with_a_hint() {
        for wrong in
            ["", "MiB", "-1 MiB", "1,5 MiB", "12 parsecs", "1.2.3 MiB", "0.5", "1G 512M", "10 Mbit"]
        {
            let error = wrong.parse::<Bytes>().unwrap_err().to_string();
            assert!(error.contains("64 KiB"), "{wrong}: {error}");
        }
        for beyond in [
            "99999999999 TiB",
            "8388608 TiB",
            "8 EiB",
            "18446744073709551615",
            "18446744073709551615 KiB",
            "9999999999999999999999 kB",
        ] {
            let error = beyond.parse::<Bytes>().unwrap_err().to_string();
            assert!(error.contains("below 8 EiB"), "{beyond}: {error}");
        }
        assert_eq!("8388607 TiB".parse(), Ok(Bytes(((8 << 20) - 1) << 40)));
        assert!("2562048 h".parse::<Nanos>().is_err(), "beyond 292 years");
    }

    #[test]
    fn sizes_are_shown_in_the_usual_units() {
        for (bytes, shown) in [
            (0, "0 B"),
            (900, "900 B"),
            (4096, "4 KiB"),
            (1000, "1 kB"),
            (1 << 30, "1 GiB"),
            (20_000 << 20, "20000 MiB"),
            (50_649_504 << 10, "48.3 GiB"),
            (24_972 << 10, "24.4 MiB"),
            (20_000_000_000, "20 GB"),
            (1_500_000, "1.4 MiB"),
            (512_000, "500 KiB"),
            ((1 << 30) - 20_001, "1.0 GiB"),
            (1_000_000_001, "953.7 MiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), shown, "{bytes}");
        }
    }

    #[test]
    fn a_size_that_is_compared_is_shown_in_the_units_of_the_other() {
        for (bytes, other, shown) in [
            (5_400_000_000, 1_500_000_000_000, "5.4 GB"),
            (5_400_000_000, 200 << 20, "5.0 GiB"),
            (51, 100, "51 B"),
        ] {
            assert_eq!(Bytes(bytes).format_like(Bytes(other)), shown);
        }
    }

    #[test]
    fn limits_below_a_power_of_two_show_the_difference() {
        let limits = [
            ((1 << 32) - 1, "4 GiB - 1 B"),
            ((1 << 44) - 4096, "16 TiB - 4 KiB"),
            (i64::MAX as u64, "8 EiB - 1 B"),
            (1 << 41, "2 TiB"),
            (3 << 30, "3 GiB"),
        ];
        for (bytes, shown) in limits {
            assert_eq!(Bytes(bytes).format_limit(), shown);
        }
    }

    #[test]
    fn a_percentage_has_its_sign_and_is_a_share() {
        assert_eq!(percentage("5%"), Ok(0.05));
        assert_eq!(percentage(" 2.5 % "), Ok(0.025));
        assert_eq!(percentage("0%"), Ok(0.0));
        for (wrong, told) in [
            ("5", "`5` has no percent sign; write `5%`"),
            ("0.05", "`0.05` has no percent sign; write `5%` or `0.05%`"),
            ("0", "`0` has no percent sign; write `0%`"),
            ("", "`` is not a percentage such as `5%`"),
            ("five%", "`five%` is not a percentage such as `5%`"),
        ] {
            assert_eq!(percentage(wrong).unwrap_err().to_string(), told);
        }
        for wrong in ["0", "%", "-1%", "-1", "nan%", "nan", "inf%"] {
            assert!(percentage(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn reads_and_shows_times() {
        assert_eq!("1.5 ms".parse(), Ok(Nanos(1_500_000)));
        assert_eq!("2 min".parse(), Ok(Nanos::from_secs(120)));
        assert_eq!(Nanos(1_234_567).to_string(), "1.23 ms");
        assert_eq!(Nanos::from_secs(600).to_string(), "10.0 min");
        assert_eq!(Nanos(17).to_string(), "17 ns");
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, seconds) in [
            ("10m", 600),
            ("10min", 600),
            ("10 Minutes", 600),
            ("90s", 90),
            ("1h30m", 5400),
            ("1h 30 min", 5400),
            ("1.5h", 5400),
            ("2 days", 172_800),
            ("1d12h", 129_600),
        ] {
            assert_eq!(text.parse(), Ok(Nanos::from_secs(seconds)), "{text}");
        }
    }

    #[test]
    fn a_time_without_a_unit_or_with_an_unknown_one_is_refused() {
        let told = |text: &str| text.parse::<Nanos>().unwrap_err().to_string();
        assert_eq!(told("10"), "`10` has no unit; write `10s`, `10min` or `10h`");
        assert_eq!(told("1.5"), "`1.5` has no unit; write `1.5s`, `1.5min` or `1.5h`");
        for wrong in ["", "s", "1h30", "30m1h", "1h1h", "1:30:00", "-1s", "1 year", "1,5h", "1..5h"]
        {
            assert!(told(wrong).contains("10min"), "{}", told(wrong));
        }
    }

    #[test]
    fn a_limit_is_neither_zero_nor_absurdly_long() {
        assert_eq!(Nanos::parse_limit("1s"), Ok(Nanos::from_secs(1)));
        assert_eq!(Nanos::parse_limit("1 ns"), Ok(Nanos(1)));
        assert!(Nanos::parse_limit("365 days").is_ok());
        for wrong in ["0", "0s", "0h", "366 days", "2562047h"] {
            let told = Nanos::parse_limit(wrong).unwrap_err().to_string();
            assert_eq!(told, format!("`{wrong}` is not above 0 and at most 365 days"));
        }
    }

    proptest! {
        #[test]
        fn the_exact_form_of_a_size_survives_showing_and_reading(n in 0u64..1 << 50) {
            for exact in [Bytes(n), Bytes(n & !0x3ff)] {
                prop_assert_eq!(format!("{exact:#}").parse::<Bytes>().unwrap(), exact);
            }
        }

        #[test]
        fn a_shown_time_is_read_as_almost_the_same(n in 1u64..1 << 62) {
            let read = Nanos(n).to_string().parse::<Nanos>().unwrap();
            prop_assert!(read.0.abs_diff(n) as f64 <= n as f64 * 0.006, "{}", Nanos(n));
        }

        #[test]
        fn a_time_of_several_terms_is_their_sum(h in 0u64..10_000, m in 0u64..10_000, s in 0u64..10_000) {
            let time = Nanos::from_secs(h * 3600 + m * 60 + s);
            for text in [format!("{h}h{m}m{s}s"), format!("{h} h {m} min {s} s")] {
                prop_assert_eq!(text.parse(), Ok(time));
            }
        }

        #[test]
        fn no_number_alone_is_a_time_or_a_percentage(n in 0.0f64..1e12) {
            for text in [format!("{n}"), format!(" {n:.0} ")] {
                let told = text.parse::<Nanos>().unwrap_err().to_string();
                prop_assert!(told.contains("has no unit"), "{}", told);
                let told = percentage(&text).unwrap_err().to_string();
                prop_assert!(told.contains("has no percent sign"), "{}", told);
            }
        }

        #[test]
        fn any_case_of_a_size_is_the_same(n in 0u64..1000, unit in "[kmgtp](|i?b)") {
            let (small, capital) = (format!("{n}{unit}"), format!("{n} {}", unit.to_uppercase()));
            prop_assert_eq!(small.parse::<Bytes>().unwrap(), capital.parse().unwrap());
        }

        #[test]
        fn reading_never_panics(text in ".*", number in "[0-9._]{0,25}", unit in "[a-zA-Z%\u{b5} ]{0,4}") {
            for text in [text, format!("{number}{unit}"), format!("{number}{unit}{number}{unit}")] {
                let _ = text.parse::<Bytes>();
                let _ = text.parse::<Nanos>();
                let _ = percentage(&text);
            }
        }
    }
}
