use std::str::FromStr;

use jiff::{
    SignedDuration, Timestamp,
    civil::{DateTime, Time},
    tz::TimeZone,
};

/// When a run is to wind down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// `none`: when it is done.
    None,
    /// `2026-12-01T07:00:00Z`, RFC 3339: a moment with its offset, which may have passed.
    At(Timestamp),
    /// `07:00` or `07:00:30`: the next such time on the clock of this machine.
    TimeOfDay(Time),
    /// `1h30m`: a span from the start of the process, more than nothing. A day is 24 hours.
    In(SignedDuration),
}

/// Why a text is no [`Until`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UntilError {
    /// None of the forms.
    #[error(
        "{0:?} is no time: write none, a span such as 1h30m (units d, h, m, s), a time of day \
         such as 07:00, or a moment such as 2026-12-01T07:00:00Z"
    )]
    Shape(String),
    /// A date and time that is another moment in each time zone.
    #[error("{0:?} has no offset: end it with Z for UTC, or with one such as +01:00")]
    NoOffset(String),
    /// A span of nothing.
    #[error("{0:?} is no time to run in: write a span of at least 1s, or none for no deadline")]
    Zero(String),
}

impl Until {
    /// The moment, for a process that started at `now` where clocks show `zone`. A time of day is
    /// its first occurrence after `now`: the earlier one on a day that has it twice, and as much
    /// later as clocks jump on a day that leaves it out.
    #[must_use]
    pub fn moment(&self, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match *self {
            Self::None => None,
            Self::At(moment) => Some(moment),
            Self::TimeOfDay(time) => next(time, now, zone),
            // Beyond the last moment that there is, nothing is lost by stopping at it.
            Self::In(span) => Some(now.checked_add(span).unwrap_or(Timestamp::MAX)),
        }
    }
}

fn next(time: Time, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let today = zone.to_datetime(now).date();
    std::iter::successors(Some(today), |day| day.tomorrow().ok())
        // A time zone that leaves out a whole day needs the third.
        .take(3)
        .filter_map(|day| zone.to_timestamp(day.to_datetime(time)).ok())
        .find(|moment| *moment > now)
}

impl FromStr for Until {
    type Err = UntilError;

    fn from_str(text: &str) -> Result<Self, UntilError> {
        if text == "none" {
            return Ok(Self::None);
        }
        if has_date(text) {
            return text.parse().map(Self::At).map_err(|_| {
                if text.parse::<DateTime>().is_ok() {
                    UntilError::NoOffset(text.to_owned())
                } else {
                    UntilError::Shape(text.to_owned())
                }
            });
        }
        if let Some(time) = time_of_day(text) {
            return Ok(Self::TimeOfDay(time));
        }
        match span(text) {
            Some(SignedDuration::ZERO) => Err(UntilError::Zero(text.to_owned())),
            Some(span) => Ok(Self::In(span)),
            None => Err(UntilError::Shape(text.to_owned())),
        }
    }
}

/// Whether the text begins as `2026-12-01T` does.
fn has_date(text: &str) -> bool {
    let is_digits = |part: &str, n| part.len() == n && part.bytes().all(|b| b.is_ascii_digit());
    text.split_once(['T', 't', ' ']).is_some_and(|(date, _)| {
        let parts: Vec<&str> = date.split('-').collect();
        matches!(parts[..], [year, month, day]
            if is_digits(year, 4) && is_digits(month, 2) && is_digits(day, 2))
    })
}

/// `HH:MM` or `HH:MM:SS`.
fn time_of_day(text: &str) -> Option<Time> {
    let part = |part: &str| i8::try_from(digits(part).filter(|_| part.len() == 2)?).ok();
    let parts: Vec<i8> = text.split(':').map(part).collect::<Option<_>>()?;
    match parts[..] {
        [hour, minute] => Time::new(hour, minute, 0, 0).ok(),
        [hour, minute, second] => Time::new(hour, minute, second, 0).ok(),
        _ => None,
    }
}

/// Whole numbers with units, the larger units first, each at most once.
fn span(text: &str) -> Option<SignedDuration> {
    let mut rest = text;
    let mut seconds: i64 = 0;
    for (unit, size) in [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)] {
        if let Some((number, after)) = rest.split_once(unit) {
            seconds = seconds.checked_add(digits(number)?.checked_mul(size)?)?;
            rest = after;
        }
    }
    (rest.is_empty() && !text.is_empty()).then(|| SignedDuration::from_secs(seconds))
}

/// A number of digits alone.
fn digits(text: &str) -> Option<i64> {
    let is_plain = text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn each_form_is_read() {
        let clock = |h, m, s| Ok(Until::TimeOfDay(Time::new(h, m, s, 0).unwrap()));
        let span = |seconds| Ok(Until::In(SignedDuration::from_secs(seconds)));
        let shape = |text: &str| Err(UntilError::Shape(text.to_owned()));
        let table = [
            ("none", Ok(Until::None)),
            (
                "2026-12-01T07:00:00Z",
                Ok(Until::At(at("2026-12-01T07:00:00Z"))),
            ),
            (
                "2026-12-01t07:00:00.5+01:00",
                Ok(Until::At(at("2026-12-01T06:00:00.5Z"))),
            ),
            (
                "2026-12-01 07:00:00-08:00",
                Ok(Until::At(at("2026-12-01T15:00:00Z"))),
            ),
            ("07:00", clock(7, 0, 0)),
            ("23:59:30", clock(23, 59, 30)),
            ("00:00", clock(0, 0, 0)),
            ("8h", span(28_800)),
            ("90m", span(5_400)),
            ("1h30m", span(5_400)),
            ("45s", span(45)),
            ("2d", span(172_800)),
            ("1d2h3m4s", span(93_784)),
            ("0h1s", span(1)),
            (
                "2026-12-01T07:00:00",
                Err(UntilError::NoOffset("2026-12-01T07:00:00".to_owned())),
            ),
            ("0s", Err(UntilError::Zero("0s".to_owned()))),
            ("", shape("")),
            ("None", shape("None")),
            ("8", shape("8")),
            ("h", shape("h")),
            ("8 h", shape("8 h")),
            ("-8h", shape("-8h")),
            ("+8h", shape("+8h")),
            ("1.5h", shape("1.5h")),
            ("30m1h", shape("30m1h")),
            ("1h1h", shape("1h1h")),
            ("5ms", shape("5ms")),
            ("8hours", shape("8hours")),
            ("9223372036854775807d", shape("9223372036854775807d")),
            ("7:00", shape("7:00")),
            ("24:00", shape("24:00")),
            ("07:60", shape("07:60")),
            ("07:00:60", shape("07:00:60")),
            ("+7:00", shape("+7:00")),
            ("07:00Z", shape("07:00Z")),
            ("2026-12-01", shape("2026-12-01")),
            ("2026-13-01T07:00:00Z", shape("2026-13-01T07:00:00Z")),
            ("+002026-12-01T07:00:00Z", shape("+002026-12-01T07:00:00Z")),
            ("tomorrow", shape("tomorrow")),
            ("ä:öü", shape("ä:öü")),
        ];
        for (text, want) in table {
            assert_eq!(text.parse::<Until>(), want, "{text:?}");
        }
    }

    #[test]
    fn a_moment_is_seen_from_now() {
        // Clocks of Central Europe: 2026-03-29 has no 02:30, 2026-10-25 has it twice.
        let europe = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let table = [
            ("none", "2026-06-01T00:00:00Z", None),
            (
                "2026-01-01T00:00:00Z",
                "2026-06-01T00:00:00Z",
                Some("2026-01-01T00:00:00Z"),
            ),
            ("90m", "2026-06-01T00:00:00Z", Some("2026-06-01T01:30:00Z")),
            (
                "07:00",
                "2026-06-01T04:59:59Z",
                Some("2026-06-01T05:00:00Z"),
            ),
            (
                "07:00",
                "2026-06-01T05:00:00Z",
                Some("2026-06-02T05:00:00Z"),
            ),
            // The day is that of the zone.
            (
                "00:30",
                "2026-06-01T22:15:00Z",
                Some("2026-06-01T22:30:00Z"),
            ),
            // A night of another length.
            (
                "07:00",
                "2026-03-28T22:00:00Z",
                Some("2026-03-29T05:00:00Z"),
            ),
            (
                "02:30",
                "2026-03-28T22:00:00Z",
                Some("2026-03-29T01:30:00Z"),
            ),
            (
                "02:30",
                "2026-03-29T01:30:00Z",
                Some("2026-03-30T00:30:00Z"),
            ),
            (
                "02:30",
                "2026-10-24T22:00:00Z",
                Some("2026-10-25T00:30:00Z"),
            ),
            (
                "02:30",
                "2026-10-25T00:30:00Z",
                Some("2026-10-26T01:30:00Z"),
            ),
        ];
        for (text, now, want) in table {
            let until: Until = text.parse().unwrap();
            let moment = until.moment(at(now), &europe);
            assert_eq!(moment, want.map(at), "{text} at {now}");
        }
        let long: Until = "99999999d".parse().unwrap();
        let now = at("2026-06-01T00:00:00Z");
        assert_eq!(long.moment(now, &europe), Some(Timestamp::MAX));
    }
}
