//! How far what was found is from what is listed.

use std::fmt;

use crate::simulation::Found;
use crate::{LONG, Setting};

/// Half a unit of the last digit of listed shares and widths.
const ROUNDING: (f64, f64) = (0.0005, 0.005);

/// One number, found and listed.
#[derive(Debug, Clone)]
pub struct Deviation {
    what: &'static str,
    found: f64,
    listed: f64,
    /// Distance beyond rounding, in standard errors of the difference of both simulations.
    pub errors: f64,
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            found,
            listed,
            errors,
        } = self;
        write!(
            f,
            "{what} {found:.4} (listed {listed:.3}, {errors:.1} standard errors)"
        )
    }
}

/// All numbers of a setting that are listed.
pub fn deviations(setting: &Setting, found: &Found) -> Vec<Deviation> {
    let mut all = vec![share("coverage", found.covered, found, setting.coverage)];
    all.extend(setting.width.map(|listed| width(found, listed)));
    all.extend(
        setting
            .rejected
            .map(|listed| share("rejected", found.rejected, found, listed)),
    );
    all
}

/// A share of the replicates. Its variance is that of the share in both simulations together, one
/// success and one failure added: a share of 0 or 1 is not certain either.
fn share(what: &'static str, hits: u32, found: &Found, listed: f64) -> Deviation {
    let (n, before) = (f64::from(found.replicates), f64::from(LONG));
    let p = (f64::from(hits) + listed * before + 1.0) / (n + before + 2.0);
    let error = (p * (1.0 - p) * (1.0 / n + 1.0 / before)).sqrt();
    deviation(what, f64::from(hits) / n, listed, ROUNDING.0, error)
}

/// The mean width; the widths before had the variance of those found.
fn width(found: &Found, listed: f64) -> Deviation {
    let (n, before) = (f64::from(found.replicates), f64::from(LONG));
    let mean = found.width / n;
    let variance = (found.width_squared / n - mean * mean).max(0.0);
    let error = (variance * (1.0 / n + 1.0 / before)).sqrt();
    deviation("width", mean, listed, ROUNDING.1, error)
}

fn deviation(what: &'static str, found: f64, listed: f64, rounding: f64, error: f64) -> Deviation {
    let beyond = (found - listed).abs() - rounding;
    let errors = if beyond <= 0.0 { 0.0 } else { beyond / error };
    Deviation {
        what,
        found,
        listed,
        errors,
    }
}
