//! What this crate says to the inputs of a row, one function per family.
//!
//! Integers here are counts and must match exactly; real numbers are compared with the tolerance.

use serde_json::{Value, json};

use super::inputs::Inputs;
use crate::stats::bootstrap::{Kind, Statistic, bootstrap};
use crate::stats::moments::sd;
use crate::stats::paired;
use crate::stats::pass_k::{self, PassK};
use crate::stats::planning::Noise;
use crate::stats::sequential::cs_beta_binomial;
use crate::stats::signflip;
use crate::stats::{Case, Figure, Level, Tally, Units};
use crate::stats::{
    mean, missing, multiple, proportion, quantile, ratio, strata, two_cases, variance,
};

type Family = fn(&str, &Inputs) -> Option<Value>;

const FAMILIES: [Family; 8] = [
    of_one_case,
    of_a_suite,
    over_k,
    of_two_runs,
    of_signs,
    of_plans,
    of_draws,
    of_quantiles,
];

/// `None` if the crate does not know the method.
pub(super) fn answer(method: &str, inputs: &Inputs) -> Option<Value> {
    FAMILIES.iter().find_map(|family| family(method, inputs))
}

/// Rates, means and medians of one case.
fn of_one_case(method: &str, inputs: &Inputs) -> Option<Value> {
    Some(match method {
        "wilson" => rate(inputs, proportion::wilson),
        "clopper_pearson" => rate(inputs, proportion::clopper_pearson),
        "jeffreys" => rate(inputs, proportion::jeffreys),
        "gen_jeffreys" => per_case(&mean::gen_jeffreys(
            &inputs.get::<Vec<f64>>("x"),
            inputs.level(),
        )),
        "log_mean_t" => {
            let x: Vec<f64> = inputs.get("x");
            let mut answer = per_case(&mean::log_t(&x, inputs.level()));
            answer["sd"] = json!(sd(&x));
            answer
        }
        "median_ci" => {
            let x: Vec<f64> = inputs.get("x");
            let mut answer = per_case(&mean::median(&x, inputs.level()));
            answer["rank"] = json!(mean::median_rank(x.len() as u64, inputs.level()));
            answer
        }
        "ratio_of_means" => {
            let (num, den): (Vec<f64>, Vec<f64>) = (inputs.get("num"), inputs.get("den"));
            overall(&mean::log_t_ratio(&num, &den, inputs.level()))
        }
        _ => return None,
    })
}

/// A whole suite, and what its noise comes from.
fn of_a_suite(method: &str, inputs: &Inputs) -> Option<Value> {
    let units = Units::default();
    Some(match method {
        "overall_population" => overall(&strata::gen_jeffreys(
            &inputs.cases(),
            &units,
            inputs.level(),
        )),
        "overall_fixed" => {
            let cases = inputs.cases();
            let mut answer = overall(&strata::strat_wilson(&cases, &units, inputs.level()));
            answer["n_eff"] = json!(strata::effective_n(&cases, &units));
            answer
        }
        "clustered_micro" => {
            let micro = variance::clustered_micro(&inputs.cases(), &units, inputs.level());
            let mut answer = overall(&micro.figure);
            answer["se_cr0"] = json!(micro.se_cr0);
            answer["se_cr1"] = json!(micro.se_cr1);
            answer
        }
        "variance_components" => match variance::variance_components(&inputs.cases()) {
            Some(v) => json!({
                "msb": v.msb, "msw": v.msw, "n0": v.n0, "between": v.between,
                "within": v.within, "icc": v.icc, "deff": v.deff,
            }),
            None => json!({
                "msb": null, "msw": null, "n0": null, "between": null,
                "within": null, "icc": null, "deff": null,
            }),
        },
        "missing_bounds" => {
            let rows: Vec<(u64, u64, u64)> = inputs.get("kn_planned");
            let case = |(passed, scored, planned)| {
                Tally {
                    passed,
                    scored,
                    planned,
                }
                .into()
            };
            let cases: Vec<Case> = rows.into_iter().map(case).collect();
            let b = missing::bounds(&cases, &units);
            json!({"lo": b.lo, "hi": b.hi, "missing": b.missing, "planned": b.planned})
        }
        _ => return None,
    })
}

/// pass@k, pass^k and flakiness.
fn over_k(method: &str, inputs: &Inputs) -> Option<Value> {
    let units = Units::default();
    Some(match method {
        "pass_at_k" => pass_k_of_case(inputs, PassK::AtK),
        "pass_hat_k" => pass_k_of_case(inputs, PassK::HatK),
        "overall_pass_k" => {
            let kind = match inputs.get::<String>("kind").as_str() {
                "at" => PassK::AtK,
                "hat" => PassK::HatK,
                other => panic!("unknown kind {other}"),
            };
            let (k, tallies) = (inputs.get("k"), inputs.tallies());
            let found = pass_k::overall(kind, k, &tallies, &units, inputs.level());
            let mut answer = overall(&found.figure);
            answer["n_excluded"] = json!(found.n_excluded);
            answer
        }
        "flip_rate" => json!({"estimate": pass_k::flakiness(inputs.get("k"), inputs.get("n"))}),
        _ => return None,
    })
}

/// Differences and ratios.
fn of_two_runs(method: &str, inputs: &Inputs) -> Option<Value> {
    let units = Units::default();
    Some(match method {
        "paired_population" => {
            let paired = paired::reg_paired_t(&inputs.pairs(), &units, inputs.level());
            let mut answer = overall(&paired.figure);
            answer["se"] = json!(paired.se);
            answer["p"] = json!(paired.p);
            answer
        }
        "paired_fixed" => overall(&paired::mover(&inputs.pairs(), &units, inputs.level())),
        "newcombe" => {
            let (a, b) = inputs.two_tallies();
            per_case(&two_cases::newcombe(a, b, inputs.level()))
        }
        "fisher_exact" => {
            let (a, b) = inputs.two_tallies();
            json!({"p": two_cases::fisher(a, b)})
        }
        "geo_ratio" => {
            let (a, b): (Vec<f64>, Vec<f64>) = (inputs.get("a"), inputs.get("b"));
            let ratio = ratio::log_t_paired(&a, &b, inputs.level());
            let mut answer = overall(&ratio.figure);
            answer["p"] = json!(ratio.p);
            answer
        }
        "hodges_lehmann" => per_case(&ratio::hodges_lehmann(
            &inputs.get::<Vec<f64>>("d"),
            inputs.level(),
        )),
        _ => return None,
    })
}

/// P-values of signs, and of many comparisons.
fn of_signs(method: &str, inputs: &Inputs) -> Option<Value> {
    Some(match method {
        "signflip" => {
            let d: Vec<f64> = inputs.get("d");
            json!({"p": signflip::enumerated(&d), "m": d.iter().filter(|d| **d != 0.0).count()})
        }
        "signflip_int" => {
            let d: Vec<i64> = inputs.get("di");
            json!({"p": signflip::convolved(&d), "m": d.iter().filter(|d| **d != 0).count()})
        }
        "signflip_mc" => {
            let d: Vec<f64> = inputs.get("d");
            let (hits, p) = signflip::drawn(&d, inputs.get("B"), &mut inputs.stream());
            json!({"hits": hits, "p": p})
        }
        "mcnemar_exact" => {
            let times = |name: &str, d: i64| std::iter::repeat_n(d, inputs.get(name));
            let d: Vec<i64> = times("n01", 1).chain(times("n10", -1)).collect();
            json!({"p": signflip::convolved(&d)})
        }
        "holm" => json!({"value": multiple::holm(&inputs.get::<Vec<f64>>("p"))}),
        "benjamini_hochberg" => {
            json!({"value": multiple::benjamini_hochberg(&inputs.get::<Vec<f64>>("p"))})
        }
        _ => return None,
    })
}

/// Planning, and looks on the way.
fn of_plans(method: &str, inputs: &Inputs) -> Option<Value> {
    Some(match method {
        "diff_components" => {
            let noise = Noise::of(&inputs.pairs());
            json!({
                "omega2": noise.map(|n| n.omega2),
                "sA2": noise.map(|n| n.var_a),
                "sB2": noise.map(|n| n.var_b),
            })
        }
        "cases_needed" => {
            let (noise, level, power) = inputs.plan();
            let cases = noise.cases_needed(inputs.get("delta"), inputs.get("seeds"), level, power);
            json!({"cases": cases})
        }
        "seeds_needed" => {
            let (noise, level, power) = inputs.plan();
            let seeds = noise.seeds_needed(inputs.get("delta"), inputs.get("cases"), level, power);
            json!({"seeds": seeds})
        }
        "mde" => {
            let (noise, level, power) = inputs.plan();
            json!({"delta": noise.mde(inputs.get("cases"), inputs.get("seeds"), level, power)})
        }
        "cs_beta_binomial" => per_case(&cs_beta_binomial(
            inputs.get("S"),
            inputs.get("n"),
            inputs.level(),
        )),
        _ => return None,
    })
}

/// What is drawn.
fn of_draws(method: &str, inputs: &Inputs) -> Option<Value> {
    Some(match method {
        "bootstrap" => resampled(inputs),
        "rng_u64" => {
            let mut stream = inputs.stream();
            let drawn = (0..inputs.get::<usize>("count")).map(|_| stream.next_u64().to_string());
            json!({"u64": drawn.collect::<Vec<_>>()})
        }
        "rng_index" => {
            let (mut stream, n) = (inputs.stream(), inputs.get("n"));
            let drawn = (0..inputs.get::<usize>("count")).map(|_| stream.index(n));
            json!({"index": drawn.collect::<Vec<_>>()})
        }
        _ => return None,
    })
}

/// Quantiles and tails.
fn of_quantiles(method: &str, inputs: &Inputs) -> Option<Value> {
    Some(match method {
        "t_two_sided_p" => {
            json!({"value": quantile::t_two_sided_p(inputs.get("t"), inputs.get("df"))})
        }
        "t_quantile" => json!({"value": quantile::t_quantile(inputs.get("p"), inputs.get("df"))}),
        "beta_quantile" => {
            let (p, a, b) = (inputs.get("p"), inputs.get("a"), inputs.get("b"));
            json!({"value": quantile::beta_quantile(p, a, b)})
        }
        "normal_quantile" => json!({"value": quantile::normal_quantile(inputs.get("p"))}),
        _ => return None,
    })
}

fn rate(inputs: &Inputs, interval: fn(u64, u64, Level) -> Figure) -> Value {
    per_case(&interval(inputs.get("k"), inputs.get("n"), inputs.level()))
}

fn pass_k_of_case(inputs: &Inputs, kind: PassK) -> Value {
    let (k, n, c) = (inputs.get("k"), inputs.get("n"), inputs.get("c"));
    per_case(&pass_k::pass_k(kind, k, n, c, inputs.level()))
}

fn resampled(inputs: &Inputs) -> Value {
    let statistic = match inputs.get::<String>("stat").as_str() {
        "mean" => Statistic::Mean,
        "median" => Statistic::Median,
        other => panic!("unknown statistic {other}"),
    };
    let kind = match inputs.get::<String>("kind").as_str() {
        "percentile" => Kind::Percentile,
        "bca" => Kind::Bca,
        other => panic!("unknown kind {other}"),
    };
    let (x, resamples): (Vec<f64>, usize) = (inputs.get("x"), inputs.get("B"));
    let stream = &mut inputs.stream();
    let found = bootstrap(&x, statistic, kind, resamples, stream, inputs.level());
    let mut answer = per_case(&found.figure);
    answer["z0"] = json!(found.z0);
    answer["accel"] = json!(found.acceleration);
    answer
}

fn per_case(f: &Figure) -> Value {
    json!({"estimate": f.estimate, "lo": f.lo, "hi": f.hi, "n": f.n})
}

fn overall(f: &Figure) -> Value {
    json!({
        "estimate": f.estimate, "lo": f.lo, "hi": f.hi,
        "n_cases": f.n_cases, "n_sessions": f.n,
    })
}
