//! The stream of random numbers: one per figure, the same on every machine and for ever.

use rand_pcg::{Pcg64, rand_core::Rng};

/// Stream constant of PCG, its published default.
const PCG_STREAM: u128 = 0x0a02_bdbf_7bb3_c0a7_ac28_fa16_a64a_bf96;

/// A stream of 64-bit numbers that depends on the seed and the label alone.
///
/// x = seed XOR FNV-1a64(label in UTF-8); two SplitMix64 outputs from state x are the high and low
/// half of the state of a PCG64 (XSL-RR 128/64). The label is the name of the figure
/// (`overall.cost_usd`), so that figures do not share a stream.
#[derive(Debug, Clone)]
pub struct Stream(Pcg64);

impl Stream {
    /// The stream of figure `label` under `stats_seed`.
    pub fn new(stats_seed: u64, label: &str) -> Self {
        let mut x = stats_seed ^ fnv1a(label);
        let (high, low) = (split_mix(&mut x), split_mix(&mut x));
        let state = (u128::from(high) << 64) | u128::from(low);
        Self(Pcg64::new(state, PCG_STREAM))
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// An index below `n`: the high half of number × n. 0 if `n` is 0.
    pub fn index(&mut self, n: usize) -> usize {
        ((u128::from(self.next_u64()) * n as u128) >> 64) as usize
    }

    /// A fair coin, the top bit: true is minus.
    pub fn minus(&mut self) -> bool {
        self.next_u64() >> 63 == 1
    }
}

/// FNV-1a, 64 bits \[Fowler, Noll & Vo\].
fn fnv1a(text: &str) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The next output of SplitMix64 \[Steele, Lea & Flood 2014\].
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_as_published() {
        assert_eq!(fnv1a(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("a"), 0xaf63_dc4c_8601_ec8c);
        let mut state = 0;
        assert_eq!(split_mix(&mut state), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn labels_part_the_streams() {
        let first = |seed, label| Stream::new(seed, label).next_u64();
        assert_eq!(first(1, "a"), first(1, "a"));
        assert_ne!(first(1, "a"), first(1, "b"));
        assert_ne!(first(1, "a"), first(2, "a"));
    }

    #[test]
    fn indices_stay_below() {
        let mut stream = Stream::new(0, "test");
        assert!((0..1000).all(|_| stream.index(7) < 7));
        assert_eq!(stream.index(0), 0);
    }
}
