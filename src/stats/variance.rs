//! Where the noise comes from: seeds within cases, or cases.

use super::cases::{Case, Units, counts};
use super::figure::{Figure, Interval, note};
use super::level::Level;
use super::method::Method;
use super::quantile::t_quantile;

/// One-way analysis of variance of all scored sessions, cases as groups.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VarianceComponents {
    /// Variance between cases: max(0, (MSB - MSW)/n₀).
    pub between: f64,
    /// Variance between the seeds of a case: MSW.
    pub within: f64,
    /// Mean square between cases.
    pub msb: f64,
    /// Mean square within cases.
    pub msw: f64,
    /// Effective sessions per case, (N - Σn_i²/N)/(G - 1).
    pub n0: f64,
    /// Intraclass correlation between/(between + within); `None` when both are 0.
    pub icc: Option<f64>,
    /// Design effect 1 + (N/G - 1)·ICC.
    pub deff: Option<f64>,
    /// Share of Var = between/G + within/N that is due to seeds: large, add seeds; small, add
    /// cases. `None` when both are 0.
    pub seed_share: Option<f64>,
}

/// Variance components of `cases`; the grand mean is that of the sessions.
///
/// `None` for fewer than two cases, for one session per case, and for values that are not finite.
pub fn variance_components(cases: &[Case]) -> Option<VarianceComponents> {
    let counts = counts(cases);
    if counts.n_cases < 2 || counts.n == counts.n_cases {
        return None;
    }
    let (g, n) = (counts.n_cases as f64, counts.n as f64);
    let grand = session_mean(cases, n)?;
    let (mut between, mut within, mut squares) = (0.0, 0.0, 0.0);
    for case in cases.iter().filter(|case| case.n > 0) {
        let n_i = case.n as f64;
        between += n_i * (case.mean - grand) * (case.mean - grand);
        within += (n_i - 1.0) * case.variance.unwrap_or(0.0);
        squares += n_i * n_i;
    }
    let (msb, msw) = (between / (g - 1.0), within / (n - g));
    if !(msb.is_finite() && msw.is_finite()) {
        return None;
    }
    let n0 = (n - squares / n) / (g - 1.0);
    let between = ((msb - msw) / n0).max(0.0);
    let (of_cases, of_seeds) = (between / g, msw / n);
    let icc = share(between, msw);
    Some(VarianceComponents {
        between,
        within: msw,
        msb,
        msw,
        n0,
        icc,
        deff: icc.map(|icc| 1.0 + (n / g - 1.0) * icc),
        seed_share: share(of_seeds, of_cases),
    })
}

/// Session-weighted mean with its cluster-robust errors.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusteredMicro {
    /// The mean and its interval.
    pub figure: Figure,
    /// Standard error without small-sample correction.
    pub se_cr0: Option<f64>,
    /// Standard error times √(G/(G - 1)).
    pub se_cr1: Option<f64>,
}

/// Mean over sessions ȳ with a Student interval ȳ ± t_{G-1}·CR1:
/// CR0² = Σ_i(Σ_j(y_ij - ȳ))²/N²
/// over units, CR1² = CR0²·G/(G - 1). Summaries have unit means instead: cases that lose sessions
/// weigh less here. The limits are not clipped.
///
/// One unit has no error and no interval: there is no fall-back to independent sessions.
pub fn clustered_micro(cases: &[Case], units: &Units, level: Level) -> ClusteredMicro {
    let counts = counts(cases);
    let n = counts.n as f64;
    let Some(grand) = session_mean(cases, n) else {
        let note = if counts.n == 0 {
            note::NOTHING
        } else {
            note::OUT_OF_RANGE
        };
        let figure = Figure::undefined(Method::ClusteredMicro, level, counts, note);
        return ClusteredMicro {
            figure,
            se_cr0: None,
            se_cr1: None,
        };
    };
    let residuals = units.gather(
        cases
            .iter()
            .map(|case| Some(case.n as f64 * (case.value()? - grand))),
    );
    let used = residuals.iter().filter(|(_, cases)| *cases > 0);
    let (g, squares) = used.fold((0.0_f64, 0.0_f64), |(g, squares), (sum, _)| {
        (g + 1.0, squares + sum * sum)
    });
    let cr0 = (g > 1.0).then(|| squares.sqrt() / n);
    let cr1 = cr0.map(|se| se * (g / (g - 1.0)).sqrt());
    let limits = match (cr1, t_quantile(level.tail(), g - 1.0)) {
        (None, _) if counts.n_cases == 1 => Err(note::ONE_CASE),
        (None, _) => Err(note::ONE_CLUSTER),
        (Some(_), None) => Err(note::OUT_OF_REACH),
        // The lower tail of t is negative.
        (Some(se), Some(t)) => Ok(Interval {
            lo: grand + t * se,
            hi: grand - t * se,
        }),
    };
    let figure = Figure::new(Method::ClusteredMicro, level, counts, grand, limits);
    ClusteredMicro {
        figure,
        se_cr0: cr0,
        se_cr1: cr1,
    }
}

/// Mean over all sessions; exact where all case means are equal. `None` if nothing was scored
/// or a value is not finite.
fn session_mean(cases: &[Case], n: f64) -> Option<f64> {
    let mut means = cases.iter().filter_map(Case::value);
    let first = means.next()?;
    let mean = if means.all(|mean| mean == first) {
        first
    } else {
        let sums = cases.iter().map(|case| case.n as f64 * case.mean);
        sums.sum::<f64>() / n
    };
    mean.is_finite().then_some(mean)
}

/// part/(part + rest), `None` when both are 0.
fn share(part: f64, rest: f64) -> Option<f64> {
    (part + rest > 0.0).then(|| part / (part + rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_of_seeds_says_what_to_add() {
        let noisy = [Case::new(&[0.0, 1.0], 2), Case::new(&[1.0, 0.0], 2)];
        let noisy = variance_components(&noisy).unwrap();
        assert_eq!((noisy.between, noisy.seed_share), (0.0, Some(1.0)));
        let split = [Case::new(&[0.0, 0.0], 2), Case::new(&[1.0, 1.0], 2)];
        let split = variance_components(&split).unwrap();
        assert_eq!(
            (split.within, split.seed_share, split.icc),
            (0.0, Some(0.0), Some(1.0))
        );
    }

    #[test]
    fn no_variance_is_seen_as_none() {
        let flat = [Case::new(&[0.1; 3], 3), Case::new(&[0.1; 2], 3)];
        let flat = variance_components(&flat).unwrap();
        assert_eq!((flat.msb, flat.msw), (0.0, 0.0));
        assert_eq!((flat.icc, flat.deff, flat.seed_share), (None, None, None));
    }

    #[test]
    fn undefined_where_nothing_can_be_split() {
        let one_case = [Case::new(&[0.0, 1.0], 2), Case::new(&[], 2)];
        let one_seed = [Case::new(&[0.0], 1), Case::new(&[1.0], 1)];
        let not_finite = [Case::new(&[0.0, f64::NAN], 2), Case::new(&[1.0, 1.0], 2)];
        for cases in [&one_case, &one_seed, &not_finite] {
            assert_eq!(variance_components(cases), None);
        }
        let micro = clustered_micro(&not_finite, &Units::default(), Level::default());
        assert_eq!((micro.figure.estimate, micro.se_cr0), (None, None));
        assert_eq!(micro.figure.note.as_deref(), Some(note::OUT_OF_RANGE));
    }

    #[test]
    fn micro_joins_clusters_and_never_falls_back() {
        let cases = [
            Case::new(&[0.0, 1.0], 2),
            Case::new(&[1.0], 2),
            Case::new(&[0.0; 3], 3),
        ];
        let level = Level::default();
        let joined = clustered_micro(&cases, &Units::new([Some("a"), Some("a"), None]), level);
        let merged = [Case::new(&[0.0, 1.0, 1.0], 3), cases[2]];
        let merged = clustered_micro(&merged, &Units::default(), level);
        assert!((joined.se_cr1.unwrap() - merged.se_cr1.unwrap()).abs() < 1e-15);
        let one = clustered_micro(&cases, &Units::new([Some("a"); 3]), level);
        assert_eq!((one.se_cr0, one.figure.lo), (None, None));
        assert_eq!(one.figure.note.as_deref(), Some(note::ONE_CLUSTER));
        let none = clustered_micro(&[], &Units::default(), level).figure;
        assert_eq!(
            (none.estimate, none.note.as_deref()),
            (None, Some(note::NOTHING))
        );
    }
}
