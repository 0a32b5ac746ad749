//! The null distribution of the sign-flip sum, of differences or of their ranks: each turns negative
//! with chance ½.

/// P(Y = y) for y in 0..=`most`, with Y = Σ of those `weights` whose fair coin falls on heads.
///
/// The counts of outcomes are halved at every step, since they overflow a float beyond 1,023
/// weights. All terms are sums of positive numbers, so nothing cancels: the relative error of each
/// is a few 1e-16 per weight, as long as it is above about 1e-290. The cost is one addition per
/// weight and value that can be reached by then, at most weights × (`most` + 1); the memory
/// twice `most` + 1 numbers.
pub(super) fn null_distribution(weights: &[usize], most: usize) -> Vec<f64> {
    let mut sorted = weights.to_vec();
    sorted.sort_unstable();
    // Small weights first: what can be reached grows slowly.
    let (mut law, mut next) = (vec![1.0], Vec::new());
    for weight in sorted {
        let reached = (law.len() - 1).saturating_add(weight).min(most);
        law.resize(reached + 1, 0.0);
        next.clone_from(&law);
        for (with, without) in next
            .get_mut(weight..)
            .unwrap_or_default()
            .iter_mut()
            .zip(&law)
        {
            *with += without;
        }
        for chance in &mut next {
            *chance *= 0.5;
        }
        std::mem::swap(&mut law, &mut next);
    }
    law.resize(most + 1, 0.0);
    law
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_laws_by_hand() {
        assert_eq!(null_distribution(&[], 2), [1.0, 0.0, 0.0]);
        assert_eq!(null_distribution(&[1, 1], 2), [0.25, 0.5, 0.25]);
        assert_eq!(null_distribution(&[2, 1], 3), [0.25; 4]);
        assert_eq!(null_distribution(&[5, 1], 2), [0.25, 0.25, 0.0]);
        assert_eq!(null_distribution(&[0, 1], 1), [0.5, 0.5]);
        assert_eq!(null_distribution(&[3], 0), [0.5]);
    }

    #[test]
    fn agrees_with_enumeration() {
        let weights = [3, 1, 4, 1, 5, 9, 2, 6];
        let mut want = vec![0.0; 32];
        for heads in 0..256_u32 {
            let chosen = weights
                .iter()
                .enumerate()
                .filter(|(i, _)| heads >> i & 1 == 1);
            want[chosen.map(|(_, w)| w).sum::<usize>()] += 1.0 / 256.0;
        }
        assert_eq!(null_distribution(&weights, 31), want);
        assert_eq!(null_distribution(&weights, 12), want[..13]);
    }
}
