//! Quantities with their unit in the type: bytes and nanoseconds.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number of bytes.
///
/// Reads `4096`, `8 KiB`, `1.5 GiB`, `700 MB`, below 8 EiB. Binary units are powers of 1024,
/// decimal ones of 1000. A single letter is binary, as in fio and mkfs: `4k`, `512M`, `1G`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bytes(pub u64);

/// A duration in nanoseconds.
///
/// Can be parsed from `250` (nanoseconds), `30 s`, `1.5 ms`, `2 min`, up to 292 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Nanos(pub u64);

/// A quantity that could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseUnitError {
    text: String,
    expected: &'static str,
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not {}", self.text, self.expected)
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
const DECIMAL: [(&str, u64); 5] = [
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("KB", 1_000),
];
const LETTERS: [(&str, u64); 8] = [
    ("T", 1 << 40),
    ("t", 1 << 40),
    ("G", 1 << 30),
    ("g", 1 << 30),
    ("M", 1 << 20),
    ("m", 1 << 20),
    ("K", 1 << 10),
    ("k", 1 << 10),
];
const TIMES: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
    ("s", 1_000_000_000),
];

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

/// Splits `1.5 MiB` into number and unit and multiplies them. The result is exact for whole
/// numbers.
fn scaled<'a>(text: &str, units: impl Iterator<Item = &'a (&'a str, u64)>) -> Option<u64> {
    let text = text.trim();
    let digits =
        text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number = number.replace('_', "");
    let unit = unit.trim();
    let factor = if unit.is_empty() || unit == "B" {
        1
    } else {
        units.into_iter().find(|(name, _)| *name == unit)?.1
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).filter(|n| *n <= LARGEST);
    }
    let value = number.parse::<f64>().ok()? * factor as f64;
    (value >= 0.0 && value < LARGEST as f64 && factor > 1).then(|| value.round() as u64)
}

/// Reads a percentage such as `5%` or `2.5 %` as a share. Returns `None` if it is negative or not a
/// percentage.
pub fn percentage(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix('%')?.trim_end();
    let percent = number.parse::<f64>().ok()?;
    (percent.is_finite() && percent >= 0.0).then_some(percent / 100.0)
}

impl FromStr for Bytes {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        scaled(text, BINARY.iter().chain(&DECIMAL).chain(&LETTERS)).map(Self).ok_or_else(|| {
            ParseUnitError {
                text: text.to_owned(),
                expected: "a size below 8 EiB such as `64 KiB`, `2 GiB`, `512M` or `700 MB`",
            }
        })
    }
}

impl FromStr for Nanos {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        scaled(text, TIMES.iter()).map(Self).ok_or_else(|| ParseUnitError {
            text: text.to_owned(),
            expected: "a time below 292 years such as `500 ms`, `30 s` or `2 min`",
        })
    }
}

impl fmt::Display for Bytes {
    /// Uses the largest unit with a whole number, binary or decimal, whichever needs fewer digits.
    /// Otherwise uses a binary unit with one decimal.
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
        if let Some((number, name)) = found {
            return f.pad(&format!("{number} {name}"));
        }
        // 1023.9 MiB is shown as 1.0 GiB.
        let fits = |(_, factor): &(&str, u64)| self.0 as f64 >= 0.9995 * *factor as f64;
        match BINARY.into_iter().find(fits) {
            Some((name, factor)) => f.pad(&format!("{:.1} {name}", self.0 as f64 / factor as f64)),
            None => f.pad(&format!("{} B", self.0)),
        }
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

/// A number of data files (`"8 KiB"`) or of results (`8192`).
#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrText {
    Number(u64),
    Text(String),
}

macro_rules! quantity_serde {
    ($type:ty) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_u64(self.0)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                match NumberOrText::deserialize(deserializer)? {
                    NumberOrText::Number(n) => Ok(Self(n)),
                    NumberOrText::Text(text) => text.parse().map_err(serde::de::Error::custom),
                }
            }
        }
    };
}

quantity_serde!(Bytes);
quantity_serde!(Nanos);

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
            ("1.5 G", 3 << 29),
            ("2T", 2 << 40),
        ] {
            assert_eq!(letters.parse(), Ok(Bytes(bytes)), "{letters}");
        }
    }

    #[test]
    fn invalid_sizes_are_refused_with_a_hint() {
        for wrong in ["", "MiB", "-1 MiB", "1 mib", "12 parsecs", "1.2.3 MiB", "0.5"] {
            let error = wrong.parse::<Bytes>().unwrap_err().to_string();
            assert!(error.contains("64 KiB"), "{wrong}: {error}");
        }
        for beyond in [
            "99999999999 TiB",
            "8388608 TiB",
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
        assert_eq!(percentage("5%"), Some(0.05));
        assert_eq!(percentage(" 2.5 % "), Some(0.025));
        assert_eq!(percentage("0%"), Some(0.0));
        for wrong in ["5", "", "%", "-1%", "nan%", "inf%", "five%"] {
            assert_eq!(percentage(wrong), None, "{wrong}");
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

    proptest! {
        #[test]
        fn whole_sizes_survive_showing_and_reading(n in 0u64..1 << 50) {
            let exact = Bytes(n & !0x3ff);
            prop_assert_eq!(exact.to_string().parse::<Bytes>().unwrap(), exact);
        }

        #[test]
        fn reading_never_panics(text in ".*") {
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<Nanos>();
        }
    }
}
