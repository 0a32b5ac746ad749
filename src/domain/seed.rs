use sha2::{Digest, Sha256};

use super::CaseId;

fn first_u64(text: &str) -> u64 {
    let digest = Sha256::digest(text.as_bytes());
    digest
        .iter()
        .take(8)
        .fold(0, |acc, byte| (acc << 8) | u64::from(*byte))
}

/// The number behind a session's randomness, from the run seed, the case and the seed index.
///
/// First 8 bytes, big endian, of SHA-256 over `farm-seed/1`, run seed, case id and seed index,
/// one a line. The variant is left out on purpose: variants are compared on equal seeds.
#[must_use]
pub fn rng_seed(run_seed: u64, case: &CaseId, seed: u64) -> u64 {
    first_u64(&format!("farm-seed/1\n{run_seed}\n{case}\n{seed}"))
}

/// The part of `rng_seed` that goes to a provider: its lowest 31 bits.
#[must_use]
pub fn provider_seed(rng_seed: u64) -> u32 {
    (rng_seed & 0x7fff_ffff) as u32
}

/// Draw `j` of reply `t`: a number in `0..total`, addressed so that no retry shifts it.
///
/// First 8 bytes, big endian, of SHA-256 over `farm-draw/1`, the provider seed, `t` and `j`, one
/// a line, modulo `total`. A `total` of 0 gives 0.
#[must_use]
pub fn draw(rng_seed: u64, t: u64, j: u64, total: u64) -> u64 {
    let seed = provider_seed(rng_seed);
    first_u64(&format!("farm-draw/1\n{seed}\n{t}\n{j}"))
        .checked_rem(total)
        .unwrap_or(0)
}

/// The number behind the `n`-th try, from 0, of a question to a judge: the first is asked with
/// the session's own, others with first 8 bytes, big endian, of SHA-256 over `farm-judge/1`, that
/// and the try, one a line.
#[must_use]
pub fn judge_seed(rng_seed: u64, n: u32) -> u64 {
    match n {
        0 => rng_seed,
        n => first_u64(&format!("farm-judge/1\n{rng_seed}\n{n}")),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Row {
        run_seed: u64,
        case: CaseId,
        seed: u64,
        rng_seed: String,
        provider_seed: u32,
        draws: Vec<Draw>,
    }

    #[derive(Deserialize)]
    struct Draw {
        t: u64,
        j: u64,
        total: u64,
        value: u64,
    }

    #[test]
    fn golden_seeds() {
        let rows: Vec<Row> = serde_json::from_str(&crate::golden::read("seeds.json")).unwrap();
        let mut draws = 0;
        for row in &rows {
            let rng = rng_seed(row.run_seed, &row.case, row.seed);
            assert_eq!(rng.to_string(), row.rng_seed);
            assert_eq!(provider_seed(rng), row.provider_seed);
            for d in &row.draws {
                assert_eq!(draw(rng, d.t, d.j, d.total), d.value);
                draws += 1;
            }
        }
        crate::golden::check_count("seeds.json", draws, 30);
    }

    #[test]
    fn each_try_of_a_judge_has_its_own_seed() {
        let of_tries: Vec<u64> = (0..3).map(|n| judge_seed(7, n)).collect();
        // sha256sum says so of "farm-judge/1\n7\n1" and "…2".
        assert_eq!(of_tries, [7, 18290060705701551190, 7847558639909118543]);
    }

    #[test]
    fn an_empty_choice_draws_nothing() {
        assert_eq!(draw(1, 2, 3, 0), 0);
    }
}
