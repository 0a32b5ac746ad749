//! How long an endpoint asks to wait.

use std::time::Duration;

use jiff::{Timestamp, fmt::rfc2822::DateTimeParser};

/// What the headers say: `retry-after-ms` in milliseconds wins over `retry-after` in seconds or as a
/// date, of which what has passed is no wait. What cannot be read says nothing.
#[must_use]
pub fn retry_after<'a>(
    header: impl Fn(&str) -> Option<&'a str>,
    now: Timestamp,
) -> Option<Duration> {
    let number = |text: &str, unit: f64| {
        let n: f64 = text.trim().parse().ok()?;
        Duration::try_from_secs_f64(n * unit).ok()
    };
    if let Some(wait) = header("retry-after-ms").and_then(|text| number(text, 1e-3)) {
        return Some(wait);
    }
    let text = header("retry-after")?;
    number(text, 1.0).or_else(|| {
        let date = DateTimeParser::new().parse_timestamp(text.trim()).ok()?;
        Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_headers_say() {
        let now: Timestamp = "2026-10-21T07:27:30Z".parse().unwrap();
        let of = |ms: Option<&'static str>, after: Option<&'static str>| {
            let header = |name: &str| match name {
                "retry-after-ms" => ms,
                _ => after,
            };
            retry_after(header, now).map(|wait| wait.as_millis())
        };
        let date = "Wed, 21 Oct 2026 07:28:00 GMT";
        let table = [
            (None, None, None),
            (None, Some("20"), Some(20_000)),
            (None, Some(" 0.5 "), Some(500)),
            (None, Some("-1"), None),
            (None, Some("soon"), None),
            (None, Some("1e300"), None),
            (None, Some("NaN"), None),
            (None, Some(date), Some(30_000)),
            (None, Some("Wed, 21 Oct 2026 07:00:00 GMT"), Some(0)),
            (Some("250"), Some("20"), Some(250)),
            (Some("x"), Some("20"), Some(20_000)),
        ];
        for (ms, after, want) in table {
            assert_eq!(of(ms, after), want, "{ms:?} {after:?}");
        }
    }
}
