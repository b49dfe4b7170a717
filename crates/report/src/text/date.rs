//! Formats dates for users. Never reads the clock.

use model::Nanos;

/// Formats nanoseconds since 1970 as `2026-03-14 15:09 UTC`; 0 means "not stated".
pub fn moment(since_1970: Nanos) -> String {
    if since_1970.0 == 0 {
        return "not stated".to_owned();
    }
    let minutes = since_1970.0 / 60_000_000_000;
    let (year, month, day) = civil_from_days(minutes / 1440);
    let (hour, minute) = (minutes / 60 % 24, minutes % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// Formats nanoseconds since 1970 as `14 Mar 2026`.
pub(crate) fn day(since_1970: Nanos) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (year, month, day) = civil_from_days(since_1970.0 / 86_400_000_000_000);
    format!("{day} {} {year}", MONTHS[(month as usize).saturating_sub(1) % 12])
}

/// Converts a number of days since 1970-01-01 to year, month and day.
///
/// Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`, for days
/// that are not negative.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        let shown = |seconds| moment(Nanos::from_secs(seconds));
        assert_eq!(shown(0), "not stated");
        assert_eq!(shown(60), "1970-01-01 00:01 UTC");
        assert_eq!(shown(951_782_399), "2000-02-28 23:59 UTC");
        assert_eq!(shown(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(shown(1_760_000_000), "2025-10-09 08:53 UTC");
    }

    #[test]
    fn days_follow_each_other_without_a_gap() {
        let length = |year: u64, month: u64| match month {
            2 if year.is_multiple_of(4)
                && (!year.is_multiple_of(100) || year.is_multiple_of(400)) =>
            {
                29
            }
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..200_000 {
            assert_eq!(civil_from_days(days), (year, month, day));
            day += 1;
            if day > length(year, month) {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }
}
