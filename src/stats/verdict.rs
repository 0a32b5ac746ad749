//! What an interval says: of a difference, and of a threshold.

use super::figure::Interval;
use super::level::Level;

/// Non-zero differences below which a sign-flip test cannot reach 5 %, so that a verdict is not
/// called fragile for it.
const FRAGILE_FROM: u64 = 6;

/// What the interval of B - A says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// All of it is above 0.
    Better,
    /// All of it is below 0.
    Worse,
    /// 0 is inside: no difference was shown, which does not say that there is none.
    NoDifference,
    /// All of it is within the margin.
    Equivalent,
}

impl Verdict {
    /// The verdict of the interval of B - A. Equivalent iff -δ < lo and hi < δ for a margin δ: who
    /// gives one says that differences within it do not matter, whichever way they point. Else
    /// better iff lo > 0, worse iff hi < 0.
    pub fn of(limits: Interval, margin: Option<f64>) -> Self {
        let Interval { lo, hi } = limits;
        if margin.is_some_and(|margin| -margin < lo && hi < margin) {
            Self::Equivalent
        } else if lo > 0.0 {
            Self::Better
        } else if hi < 0.0 {
            Self::Worse
        } else {
            Self::NoDifference
        }
    }

    /// Whether a difference was shown.
    pub fn is_difference(self) -> bool {
        matches!(self, Self::Better | Self::Worse)
    }

    /// The verdict within a sweep: a difference stands only if its adjusted p-value is at most α
    /// as well. Without a p-value it does not.
    pub fn confirmed(self, adjusted_p: Option<f64>, level: Level) -> Self {
        let stands = adjusted_p.is_some_and(|p| p <= 1.0 - level.get());
        if self.is_difference() && !stands {
            Self::NoDifference
        } else {
            self
        }
    }

    /// Whether a difference was shown that the sign-flip test (p-value and non-zero differences)
    /// does not see: p > α with six or more of those.
    pub fn is_fragile(self, p_signflip: f64, nonzero: u64, level: Level) -> bool {
        self.is_difference() && nonzero >= FRAGILE_FROM && p_signflip > 1.0 - level.get()
    }
}

/// What an interval says of a threshold τ. A fact (a total, a count) is an interval with
/// lo = hi = its value, and is never undetermined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Threshold {
    /// The whole interval is on the right side of τ.
    Shown,
    /// The whole interval is on the wrong side.
    Refuted,
    /// τ is inside. That is not a pass.
    Undetermined,
}

impl Threshold {
    /// "at least τ": shown iff lo ≥ τ, refuted iff hi < τ.
    pub fn at_least(limits: Interval, tau: f64) -> Self {
        Self::of(limits.lo >= tau, limits.hi < tau)
    }

    /// "at most τ": shown iff hi ≤ τ, refuted iff lo > τ.
    pub fn at_most(limits: Interval, tau: f64) -> Self {
        Self::of(limits.hi <= tau, limits.lo > tau)
    }

    fn of(shown: bool, refuted: bool) -> Self {
        match (shown, refuted) {
            (true, _) => Self::Shown,
            (false, true) => Self::Refuted,
            (false, false) => Self::Undetermined,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts() {
        let table = [
            (0.01, 0.2, None, Verdict::Better),
            (-0.2, -0.01, None, Verdict::Worse),
            (0.0, 0.2, None, Verdict::NoDifference),
            (-0.2, 0.0, None, Verdict::NoDifference),
            (-0.01, 0.02, Some(0.05), Verdict::Equivalent),
            (0.01, 0.02, Some(0.05), Verdict::Equivalent),
            (-0.05, 0.02, Some(0.05), Verdict::NoDifference),
            (0.01, 0.05, Some(0.05), Verdict::Better),
        ];
        for (lo, hi, margin, want) in table {
            assert_eq!(
                Verdict::of(Interval { lo, hi }, margin),
                want,
                "{lo} {hi} {margin:?}"
            );
        }
    }

    #[test]
    fn a_sweep_asks_for_both() {
        let level = Level::new(0.75).unwrap();
        let table = [
            (Verdict::Better, Some(0.25), Verdict::Better),
            (Verdict::Worse, Some(0.3), Verdict::NoDifference),
            (Verdict::Better, None, Verdict::NoDifference),
            (Verdict::Equivalent, None, Verdict::Equivalent),
            (Verdict::NoDifference, Some(0.01), Verdict::NoDifference),
        ];
        for (verdict, p, want) in table {
            assert_eq!(verdict.confirmed(p, level), want, "{verdict:?} {p:?}");
        }
    }

    #[test]
    fn when_a_difference_is_fragile() {
        let fragile =
            |verdict: Verdict, p, nonzero| verdict.is_fragile(p, nonzero, Level::default());
        assert!(fragile(Verdict::Better, 0.06, 6) && fragile(Verdict::Worse, 0.06, 6));
        assert!(!fragile(Verdict::Better, 0.04, 6) && !fragile(Verdict::Better, 0.06, 5));
        assert!(!fragile(Verdict::NoDifference, 0.5, 9) && !fragile(Verdict::Equivalent, 0.5, 9));
    }

    #[test]
    fn thresholds_from_both_sides() {
        use Threshold::{Refuted, Shown, Undetermined};
        let table = [
            (0.8, 0.9, 0.8, Shown, Undetermined),
            (0.8, 0.9, 0.9, Undetermined, Shown),
            (0.8, 0.9, 0.85, Undetermined, Undetermined),
            (0.8, 0.9, 0.79, Shown, Refuted),
            (0.8, 0.9, 0.91, Refuted, Shown),
            (3.0, 3.0, 3.0, Shown, Shown),
            (3.0, 3.0, 4.0, Refuted, Shown),
            (0.8, 0.9, f64::NAN, Undetermined, Undetermined),
        ];
        for (lo, hi, tau, at_least, at_most) in table {
            let limits = Interval { lo, hi };
            assert_eq!(
                Threshold::at_least(limits, tau),
                at_least,
                "{limits:?} >= {tau}"
            );
            assert_eq!(
                Threshold::at_most(limits, tau),
                at_most,
                "{limits:?} <= {tau}"
            );
        }
    }
}
