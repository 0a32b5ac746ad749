//! Random variates from farm's own stream of numbers.

use std::f64::consts::TAU;

use farm::stats::random::Stream;

/// Draws from the laws that the populations are made of.
pub struct Variates(Stream);

impl Variates {
    /// Those of the setting with that name.
    pub fn new(name: &str) -> Self {
        Self(Stream::new(0, name))
    }

    /// Uniform in (0, 1).
    pub fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    /// Standard normal (Box & Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (TAU * self.uniform()).cos()
    }

    /// Logarithm of a gamma variate of that shape (Marsaglia & Tsang 2000; a shape below 1 is that
    /// of shape + 1 times a power of a uniform variate, which only the logarithm can hold).
    fn ln_gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            return self.ln_gamma(shape + 1.0) + self.uniform().ln() / shape;
        }
        let d = shape - 1.0 / 3.0;
        loop {
            let x = self.normal();
            let v = (1.0 + x / (9.0 * d).sqrt()).powi(3);
            if v > 0.0 && self.uniform().ln() < 0.5 * x * x + d * (1.0 - v + v.ln()) {
                return (d * v).ln();
            }
        }
    }

    /// Beta: one gamma variate's share of two.
    pub fn beta(&mut self, a: f64, b: f64) -> f64 {
        let odds = self.ln_gamma(a) - self.ln_gamma(b);
        1.0 / (1.0 + (-odds).exp())
    }

    /// Passes in `n` sessions that pass with chance `p`.
    pub fn binomial(&mut self, n: u64, p: f64) -> u64 {
        (0..n).filter(|_| self.uniform() < p).count() as u64
    }
}
