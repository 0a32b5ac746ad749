use std::{fmt, ops::Range, str::FromStr};

/// The most seeds of a run; a guard against a slip of the finger.
pub(super) const MAX_SEED: u64 = 1_000_000_000;

/// The seeds of a run, half open: `12` is 0 to 11, `3..5` is 3 and 4. Never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeedRange {
    start: u64,
    end: u64,
}

/// Why a text is no range of seeds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SeedError {
    /// Neither a number nor `A..B`.
    #[error("{0:?} is no number of seeds: write 12, or a half-open range such as 3..5")]
    Shape(String),
    /// `0`.
    #[error("0 seeds are none: a run needs at least one, such as --seeds 1")]
    Zero,
    /// A range that ends before it begins anything.
    #[error("the seeds {0}..{1} are empty: the end is not included, so write A..B with A < B")]
    Empty(u64, u64),
    /// Beyond what a run can hold.
    #[error("seed {0} is too large: at most {MAX_SEED}")]
    TooLarge(u64),
}

impl SeedRange {
    /// The indices.
    #[must_use]
    pub fn range(self) -> Range<u64> {
        self.start..self.end
    }
}

impl FromStr for SeedRange {
    type Err = SeedError;

    fn from_str(text: &str) -> Result<Self, SeedError> {
        let number = |part: &str| {
            let digits = part.trim();
            let is_plain = digits.bytes().all(|b| b.is_ascii_digit());
            digits
                .parse::<u64>()
                .ok()
                .filter(|_| is_plain)
                .ok_or_else(|| SeedError::Shape(text.to_owned()))
        };
        let (start, end) = match text.split_once("..") {
            Some((start, end)) => (number(start)?, number(end)?),
            None => match number(text)? {
                0 => return Err(SeedError::Zero),
                end => (0, end),
            },
        };
        if start >= end {
            return Err(SeedError::Empty(start, end));
        }
        if end > MAX_SEED {
            return Err(SeedError::TooLarge(end));
        }
        Ok(Self { start, end })
    }
}

impl fmt::Display for SeedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_parse() {
        let shape = |text: &str| SeedError::Shape(text.to_owned());
        let table = [
            ("1", Ok(0..1)),
            ("12", Ok(0..12)),
            ("3..5", Ok(3..5)),
            (" 3 .. 5 ", Ok(3..5)),
            ("0", Err(SeedError::Zero)),
            ("0..0", Err(SeedError::Empty(0, 0))),
            ("5..3", Err(SeedError::Empty(5, 3))),
            ("1000000001", Err(SeedError::TooLarge(1_000_000_001))),
            ("", Err(shape(""))),
            ("..", Err(shape(".."))),
            ("3..", Err(shape("3.."))),
            ("-1", Err(shape("-1"))),
            ("+1", Err(shape("+1"))),
            ("3..=5", Err(shape("3..=5"))),
            ("1.5", Err(shape("1.5"))),
            ("99999999999999999999", Err(shape("99999999999999999999"))),
        ];
        for (text, want) in table {
            assert_eq!(text.parse().map(SeedRange::range), want, "{text:?}");
        }
    }

    #[test]
    fn shown_as_it_parses() {
        let seeds: SeedRange = "12".parse().unwrap();
        assert_eq!(seeds.to_string(), "0..12");
        assert_eq!(seeds.to_string().parse(), Ok(seeds));
    }
}
