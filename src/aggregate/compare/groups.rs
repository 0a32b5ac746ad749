//! Groups of sides that cannot be told apart.

use std::collections::BTreeSet;

/// The largest groups of `0..count` in which no two are `apart`, in the order of their members.
///
/// Begins with one group of all and splits it for each pair that is apart; what another group
/// holds is dropped (insert and absorb, Piepho 2004).
pub(super) fn of(count: usize, apart: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut groups: Vec<BTreeSet<usize>> = vec![(0..count).collect()];
    for (a, b) in apart {
        let (split, mut kept): (Vec<_>, Vec<_>) = groups
            .into_iter()
            .partition(|group| group.contains(a) && group.contains(b));
        for group in split {
            for gone in [b, a] {
                let mut part = group.clone();
                part.remove(gone);
                if !kept.iter().any(|other| part.is_subset(other)) {
                    kept.retain(|other| !other.is_subset(&part));
                    kept.push(part);
                }
            }
        }
        groups = kept;
    }
    let mut groups: Vec<Vec<usize>> = groups
        .into_iter()
        .map(|group| group.into_iter().collect())
        .collect();
    groups.sort();
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_hold_who_cannot_be_told_apart() {
        for (count, apart, want) in [
            (3, &[][..], &[&[0, 1, 2][..]][..]),
            (3, &[(0, 2)], &[&[0, 1], &[1, 2]]),
            (3, &[(0, 1), (0, 2), (1, 2)], &[&[0], &[1], &[2]]),
            (3, &[(0, 2), (1, 2)], &[&[0, 1], &[2]]),
            (4, &[(0, 3), (0, 2), (1, 3)], &[&[0, 1], &[1, 2], &[2, 3]]),
            // No order of places explains this one.
            (3, &[(0, 1)], &[&[0, 2], &[1, 2]]),
        ] {
            assert_eq!(of(count, apart), want, "{apart:?}");
        }
    }
}
