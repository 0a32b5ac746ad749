//! Stopping early without fooling oneself: intervals that hold at every look, and the rules that
//! look at them.
//!
//! A run that stops when its interval pleases must not report an interval made for one look:
//! Wilson read again after each of 60 seeds misses the truth at some look in 16 to 34 % of runs,
//! the confidence sequence here in at most 2.5 %. Looks go only at the longest prefix of seeds that
//! have all ended: sessions that fail often run longer, or shorter, than those that pass.

use statrs::function::beta::ln_beta;

use super::figure::{Counts, Figure, Interval, note};
use super::level::Level;
use super::method::Method;
use super::multiple::bonferroni;

/// What a look sees of one planned session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Seen {
    /// It has not ended.
    Open,
    /// It ended and is missing: infrastructure failed it, or an operator killed it.
    Missing,
    /// It ended with this score in \[0, 1\].
    Scored(f64),
}

impl Seen {
    fn score(self) -> Option<f64> {
        match self {
            Self::Scored(score) => Some(score),
            Self::Open | Self::Missing => None,
        }
    }
}

/// The sessions of one variant at a look: for each case its seeds, ascending.
pub type Cases = [Vec<Seen>];

/// Mean of values in \[0, 1\] with sum `sum` (it may be fractional) over `n` sessions of one case,
/// with the beta-binomial confidence sequence, which is valid at every n at once.
///
/// With S = sum and F = n - S, the set of p with ln B(S+1, F+1) - S ln p - F ln(1-p) < ln(1/α), its
/// two ends by bisection; S = 0 has lo = 0, F = 0 has hi = 1. n = 0 has no estimate and the limits
/// 0 and 1. (Robbins 1970; for scores by convexity of the likelihood ratio.) It depends on totals
/// alone, so on no order of arrival.
///
/// A sum outside \[0, n\] is undefined.
pub fn cs_beta_binomial(sum: f64, n: u64, level: Level) -> Figure {
    let counts = Counts::one_case(n);
    let undefined = |note| Figure::undefined(Method::CsBetaBinomial, level, counts, note);
    // Sums of scores may end a rounding beyond n.
    let most = n as f64;
    if !(0.0..=most * (1.0 + 1e-12)).contains(&sum) {
        return undefined(note::OUT_OF_RANGE);
    }
    let sum = sum.min(most);
    if n == 0 {
        return Figure {
            lo: Some(0.0),
            hi: Some(1.0),
            ..undefined(note::NOTHING)
        };
    }
    let limits = Ok(sequence_limits(sum, most, level));
    Figure::new(Method::CsBetaBinomial, level, counts, sum / most, limits)
}

/// The ends of the confidence sequence for `s` in \[0, n\], n > 0.
fn sequence_limits(s: f64, n: f64, level: Level) -> Interval {
    let (f, centre) = (n - s, s / n);
    let height = ln_beta(s + 1.0, f + 1.0);
    let most = -(1.0 - level.get()).ln();
    let times_ln = |k: f64, p: f64| if k > 0.0 { k * p.ln() } else { 0.0 };
    let is_inside = |p: f64| height - times_ln(s, p) - times_ln(f, 1.0 - p) < most;
    // The left side falls up to the centre, where it is at most 0, and rises from there.
    let root = |mut outside: f64| {
        let mut inside = centre;
        loop {
            let middle = inside.midpoint(outside);
            if middle == inside || middle == outside {
                return middle;
            }
            if is_inside(middle) {
                inside = middle;
            } else {
                outside = middle;
            }
        }
    };
    Interval {
        lo: if s > 0.0 { root(0.0) } else { 0.0 },
        hi: if f > 0.0 { root(1.0) } else { 1.0 },
    }
}

/// The longest prefix of the seeds of a case that have all ended.
pub fn ended_prefix(seeds: &[Seen]) -> &[Seen] {
    let ended = seeds.iter().take_while(|seen| **seen != Seen::Open).count();
    seeds.get(..ended).unwrap_or_default()
}

/// The figure of one case at a look: [`cs_beta_binomial`] over the scored sessions of its
/// [`ended_prefix`], out of all sessions of that prefix. It is what a case stopped by rule reports.
pub fn at_look(seeds: &[Seen], level: Level) -> Figure {
    let prefix = ended_prefix(seeds);
    let scores: Vec<f64> = prefix.iter().filter_map(|seen| seen.score()).collect();
    cs_beta_binomial(scores.iter().sum(), scores.len() as u64, level)
        .with_planned(prefix.len() as u64)
}

/// When a case is known well enough.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StopRule {
    /// Stop once the interval is at most this wide.
    pub width: Option<f64>,
    /// Stop once the interval excludes this value.
    pub threshold: Option<f64>,
}

impl StopRule {
    /// Whether the figure of a look ([`at_look`]) meets either; never before something is scored.
    pub fn is_met(&self, figure: &Figure) -> bool {
        let Some(Interval { lo, hi }) = figure.interval().filter(|_| figure.estimate.is_some())
        else {
            return false;
        };
        self.width.is_some_and(|width| hi - lo <= width)
            || self
                .threshold
                .is_some_and(|threshold| threshold < lo || hi < threshold)
    }
}

/// Seed blocks that are complete: every case has ended at every seed below. None without cases.
pub fn complete_blocks(cases: &Cases) -> usize {
    let ended = cases.iter().map(|seeds| ended_prefix(seeds).len());
    ended.min().unwrap_or(0)
}

/// B - A on these cases, for two of `variants` variants compared while they run: the confidence
/// sequence of (b - a + 1)/2 over all sessions of the seed blocks complete on both sides, at level
/// 1 - α/(K(K-1)/2), scaled back to \[-1, 1\]. It holds for all pairs at all looks at once.
///
/// `a` and `b` are the same cases in the same order. A missing session counts 0 for the side that
/// leads (in mean score over those blocks; A if they are equal) and 1 for the other, and a note
/// says how many do. No complete block has no estimate and the limits -1 and 1. The counts are the
/// sessions of both sides in those blocks.
///
/// Different numbers of cases are undefined, and so are scores outside \[0, 1\].
pub fn cs_paired(a: &Cases, b: &Cases, variants: u64, level: Level) -> Figure {
    let blocks = complete_blocks(a).min(complete_blocks(b));
    let a_leads = mean_score(a, blocks) >= mean_score(b, blocks);
    paired_sequence(a, b, a_leads, variants, level)
}

/// Which of the running variants are to stop: those that the present leader (the highest mean score
/// over the blocks complete for all of them; the first of equals) beats, its lower limit over them
/// by [`cs_paired`] being above 0. `variants` is how many the run began with.
pub fn beaten(running: &[&Cases], variants: u64, level: Level) -> Vec<bool> {
    let blocks = running
        .iter()
        .map(|cases| complete_blocks(cases))
        .min()
        .unwrap_or(0);
    let means: Vec<f64> = running
        .iter()
        .map(|cases| mean_score(cases, blocks))
        .collect();
    let highest = means.iter().copied().fold(0.0, f64::max);
    let leads = means.iter().position(|mean| *mean == highest);
    let Some(leader) = leads.and_then(|at| running.get(at)) else {
        return vec![false; running.len()];
    };
    let loses = |(at, cases): (usize, &&Cases)| {
        let over = || paired_sequence(cases, leader, false, variants, level).lo;
        Some(at) != leads && over().is_some_and(|lo| lo > 0.0)
    };
    running.iter().enumerate().map(loses).collect()
}

/// [`cs_paired`] with the leader given.
fn paired_sequence(a: &Cases, b: &Cases, a_leads: bool, variants: u64, level: Level) -> Figure {
    let blocks = complete_blocks(a).min(complete_blocks(b));
    let (mut sum, mut pairs, mut missing) = (0.0, 0_u64, 0_u64);
    for (a, b) in a.iter().zip(b) {
        for (a, b) in a.iter().zip(b).take(blocks) {
            let mut value = |seen: &Seen, leads: bool| {
                seen.score().unwrap_or_else(|| {
                    missing += 1;
                    f64::from(u8::from(!leads))
                })
            };
            sum += (value(b, !a_leads) - value(a, a_leads) + 1.0) / 2.0;
            pairs += 1;
        }
    }
    let sessions = pairs.saturating_mul(2);
    let counts = Counts {
        n_cases: if pairs > 0 { a.len() as u64 } else { 0 },
        n: sessions - missing,
        n_planned: sessions,
    };
    let undefined = |note| Figure::undefined(Method::CsPaired, level, counts, note);
    if a.len() != b.len() {
        return undefined(note::OUT_OF_RANGE);
    }
    let of_pairs = variants.saturating_mul(variants.saturating_sub(1)) / 2;
    let half = cs_beta_binomial(sum, pairs, bonferroni(level, of_pairs));
    let Some(limits) = half.interval() else {
        return undefined(note::OUT_OF_RANGE);
    };
    let limits = Interval {
        lo: 2.0 * limits.lo - 1.0,
        hi: 2.0 * limits.hi - 1.0,
    };
    let Some(centre) = half.estimate else {
        return Figure {
            lo: Some(limits.lo),
            hi: Some(limits.hi),
            ..undefined(note::NO_BLOCK)
        };
    };
    let figure = Figure::new(
        Method::CsPaired,
        level,
        counts,
        2.0 * centre - 1.0,
        Ok(limits),
    );
    match missing {
        0 => figure,
        m => figure.with_note(format!("missing sessions counted against the leader: {m}")),
    }
}

/// Mean of the scored sessions in the first `blocks` seeds; 0 if there are none.
fn mean_score(cases: &Cases, blocks: usize) -> f64 {
    let scores = || cases.iter().flat_map(|seeds| seeds.iter().take(blocks));
    let (sum, n) = scores()
        .filter_map(|seen| seen.score())
        .fold((0.0, 0_u64), |(sum, n), score| (sum + score, n + 1));
    if n > 0 { sum / n as f64 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Seen::{Missing, Open, Scored};

    const PASS: Seen = Scored(1.0);
    const FAIL: Seen = Scored(0.0);

    /// `cases` cases of `seeds` equal sessions.
    fn all(seen: Seen, cases: usize, seeds: usize) -> Vec<Vec<Seen>> {
        vec![vec![seen; seeds]; cases]
    }

    fn note_of(figure: &Figure) -> Option<&str> {
        figure.note.as_deref()
    }

    #[test]
    fn ends_in_closed_form() {
        // S = n: n + 1 times p^n is α at the lower limit.
        for n in [1, 8, 60, 1000] {
            let figure = cs_beta_binomial(n as f64, n, Level::default());
            let want = (0.05 / (n + 1) as f64).powf(1.0 / n as f64);
            assert!((figure.lo.unwrap() - want).abs() < 1e-12, "{n}");
            assert_eq!(figure.hi, Some(1.0));
            let mirrored = cs_beta_binomial(0.0, n, Level::default());
            assert!((mirrored.hi.unwrap() + want - 1.0).abs() < 1e-12, "{n}");
        }
    }

    #[test]
    fn sums_out_of_range_are_undefined() {
        for (sum, n) in [(-0.1, 3), (3.1, 3), (f64::NAN, 3), (0.5, 0)] {
            let figure = cs_beta_binomial(sum, n, Level::default());
            assert_eq!((figure.estimate, figure.lo), (None, None), "{sum} {n}");
            assert_eq!(note_of(&figure), Some(note::OUT_OF_RANGE));
        }
        let rounded = cs_beta_binomial(3.000_000_000_000_000_4, 3, Level::default());
        assert_eq!((rounded.estimate, rounded.hi), (Some(1.0), Some(1.0)));
        assert!(
            cs_beta_binomial(4e8, 1_000_000_000, Level::default())
                .lo
                .unwrap()
                < 0.4
        );
    }

    #[test]
    fn a_look_sees_the_prefix_that_has_ended() {
        let seeds = [PASS, Missing, FAIL, Open, FAIL, FAIL];
        assert_eq!(ended_prefix(&seeds), [PASS, Missing, FAIL]);
        let figure = at_look(&seeds, Level::default());
        assert_eq!(
            (figure.estimate, figure.n, figure.n_planned),
            (Some(0.5), 2, 3)
        );
        assert_eq!(figure.lo, cs_beta_binomial(1.0, 2, Level::default()).lo);
        let nothing = at_look(&[Open, PASS], Level::default());
        assert_eq!(
            (nothing.estimate, nothing.lo, nothing.hi),
            (None, Some(0.0), Some(1.0))
        );
    }

    #[test]
    fn when_a_case_stops() {
        let rule = |width, threshold| StopRule { width, threshold };
        let figure = at_look(&[PASS; 12], Level::default()); // [0.629, 1]
        let table = [
            (rule(None, None), false),
            (rule(Some(0.4), None), true),
            (rule(Some(0.3), None), false),
            (rule(None, Some(0.6)), true),
            (rule(None, Some(0.65)), false),
            (rule(Some(0.3), Some(0.6)), true),
        ];
        for (rule, want) in table {
            assert_eq!(rule.is_met(&figure), want, "{rule:?} {figure:?}");
        }
        assert!(!rule(Some(1.0), Some(-1.0)).is_met(&at_look(&[], Level::default())));
    }

    #[test]
    fn only_blocks_complete_on_both_sides_count() {
        let (mut a, b) = (all(PASS, 3, 4), all(FAIL, 3, 4));
        a[1][2] = Open;
        assert_eq!(
            (
                complete_blocks(&a),
                complete_blocks(&b),
                complete_blocks(&[])
            ),
            (2, 4, 0)
        );
        let figure = cs_paired(&a, &b, 2, Level::default());
        assert_eq!(
            (figure.estimate, figure.n_cases, figure.n),
            (Some(-1.0), 3, 12)
        );
        let plain = cs_beta_binomial(0.0, 6, Level::default());
        assert_eq!(figure.hi, Some(2.0 * plain.hi.unwrap() - 1.0));
        assert_eq!((figure.lo, figure.level), (Some(-1.0), Level::default()));
        let more = cs_paired(&a, &b, 4, Level::default());
        let of_six = cs_beta_binomial(0.0, 6, bonferroni(Level::default(), 6));
        assert_eq!(more.hi, Some(2.0 * of_six.hi.unwrap() - 1.0));
    }

    #[test]
    fn missing_sessions_count_against_the_leader() {
        let (mut a, mut b) = (all(FAIL, 2, 4), all(PASS, 2, 4));
        (a[0][0], b[0][1]) = (Missing, Missing);
        let figure = cs_paired(&a, &b, 2, Level::default());
        // B leads: A's missing one is a pass, B's a failure.
        assert_eq!(figure.estimate, Some(6.0 / 8.0));
        assert_eq!((figure.n, figure.n_planned), (14, 16));
        assert_eq!(
            note_of(&figure),
            Some("missing sessions counted against the leader: 2")
        );
        let back = cs_paired(&b, &a, 2, Level::default());
        assert_eq!(back.estimate, Some(-6.0 / 8.0));
    }

    #[test]
    fn no_block_and_unequal_cases() {
        let level = Level::default();
        let none = cs_paired(&all(Open, 2, 3), &all(PASS, 2, 3), 2, level);
        assert_eq!(
            (none.estimate, none.lo, none.hi),
            (None, Some(-1.0), Some(1.0))
        );
        assert_eq!((note_of(&none), none.n_cases), (Some(note::NO_BLOCK), 0));
        let unequal = cs_paired(&all(PASS, 2, 3), &all(PASS, 3, 3), 2, level);
        assert_eq!(
            (unequal.lo, note_of(&unequal)),
            (None, Some(note::OUT_OF_RANGE))
        );
    }

    #[test]
    fn who_is_beaten() {
        let (good, middling) = (
            all(PASS, 10, 6),
            vec![vec![PASS, FAIL, PASS, PASS, FAIL, PASS]; 10],
        );
        let (bad, fresh) = (all(FAIL, 10, 6), all(Open, 10, 6));
        let beaten = |running: &[&Cases]| super::beaten(running, 3, Level::default());
        assert_eq!(beaten(&[&bad, &good, &middling]), [true, false, false]);
        assert_eq!(beaten(&[&good, &good]), [false, false]);
        assert_eq!(beaten(&[&bad, &fresh]), [false, false]);
        assert_eq!(beaten(&[&bad]), [false]);
        assert_eq!(beaten(&[]), [false; 0]);
        // More sessions part the middling one too.
        let (good, middling) = (all(PASS, 60, 6), vec![middling[0].clone(); 60]);
        assert_eq!(beaten(&[&middling, &good]), [true, false]);
    }
}
