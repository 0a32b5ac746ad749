//! The golden table, row by row (`tests/golden/stats.json`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::bootstrap::{Kind, Statistic, bootstrap};
use super::moments::sd;
use super::paired::{self, Pair};
use super::pass_k::{self, PassK};
use super::planning::Noise;
use super::random::Stream;
use super::sequential::cs_beta_binomial;
use super::signflip;
use super::{Case, Figure, Level, Tally, Units};
use super::{mean, missing, multiple, proportion, quantile, ratio, strata, two_cases, variance};

/// Figures as text: `report::text` runs these rows.
const TEXT: &str = "format";

#[derive(Deserialize)]
struct Table {
    tolerance: Tolerance,
    count: usize,
    cases: Vec<Row>,
}

#[derive(Deserialize)]
struct Tolerance {
    rel: f64,
    abs: f64,
}

#[derive(Deserialize)]
struct Row {
    id: String,
    method: String,
    inputs: Inputs,
    expected: Map<String, Value>,
}

#[derive(Deserialize)]
struct Inputs(Map<String, Value>);

impl Inputs {
    fn get<T: serde::de::DeserializeOwned>(&self, name: &str) -> T {
        let value = self
            .0
            .get(name)
            .unwrap_or_else(|| panic!("no input {name}"));
        serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("input {name}: {e}"))
    }

    fn level(&self) -> Level {
        Level::new(self.get("level")).unwrap()
    }

    /// `kn`: passes and scored sessions, all planned.
    fn tallies(&self) -> Vec<Tally> {
        let kn: Vec<(u64, u64)> = self.get("kn");
        kn.into_iter()
            .map(|(passed, scored)| Tally {
                passed,
                scored,
                planned: scored,
            })
            .collect()
    }

    /// `kn`, or the scores in `cases`.
    fn cases(&self) -> Vec<Case> {
        if self.0.contains_key("kn") {
            return self.tallies().into_iter().map(Case::from).collect();
        }
        of_scores(&self.get::<Vec<Vec<f64>>>("cases"))
    }

    /// `A` and `B`: passes and scored sessions, or scores when they are not whole numbers. A case
    /// that B does not have has nothing scored there.
    fn pairs(&self) -> Vec<Pair> {
        let side = |name: &str| {
            let rows: Vec<Vec<f64>> = self.get(name);
            let kn = rows.iter().map(|row| match row.as_slice() {
                [k, n] if k.fract() == 0.0 && n.fract() == 0.0 => Some(Case::from(Tally {
                    passed: *k as u64,
                    scored: *n as u64,
                    planned: *n as u64,
                })),
                _ => None,
            });
            let kn: Option<Vec<Case>> = kn.collect();
            kn.unwrap_or_else(|| of_scores(&rows))
        };
        let (a, b) = (side("A"), side("B"));
        let b = b.into_iter().chain(std::iter::repeat(Case::default()));
        a.into_iter().zip(b).map(|(a, b)| Pair { a, b }).collect()
    }

    /// The stream of `seed` and `label`.
    fn stream(&self) -> Stream {
        Stream::new(self.get("seed"), &self.get::<String>("label"))
    }

    /// Noise, level 1 - alpha and power of a plan.
    fn plan(&self) -> (Noise, Level, f64) {
        let noise = Noise {
            omega2: self.get("omega2"),
            var_a: self.get("sA2"),
            var_b: self.get("sB2"),
        };
        let level = Level::new(1.0 - self.get::<f64>("alpha")).unwrap();
        (noise, level, self.get("power"))
    }

    /// One case on both sides: `ka` of `na`, `kb` of `nb`.
    fn two_tallies(&self) -> (Tally, Tally) {
        let side = |k: &str, n: &str| Tally {
            passed: self.get(k),
            scored: self.get(n),
            planned: self.get(n),
        };
        (side("ka", "na"), side("kb", "nb"))
    }
}

fn of_scores(scores: &[Vec<f64>]) -> Vec<Case> {
    let case = |x: &Vec<f64>| Case::new(x, x.len() as u64);
    scores.iter().map(case).collect()
}

/// What this crate says to the inputs of a row; `None` if it does not know the method.
///
/// Integers here are counts and must match exactly; real numbers are compared with the tolerance.
fn answer(method: &str, inputs: &Inputs) -> Option<Value> {
    let units = Units::default();
    Some(match method {
        "wilson" => rate(inputs, proportion::wilson),
        "clopper_pearson" => rate(inputs, proportion::clopper_pearson),
        "jeffreys" => rate(inputs, proportion::jeffreys),
        "gen_jeffreys" => per_case(&mean::gen_jeffreys(
            &inputs.get::<Vec<f64>>("x"),
            inputs.level(),
        )),
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

/// Real numbers within rel or abs; nulls, counts and strings exactly.
fn agree(got: &Value, want: &Value, tolerance: &Tolerance) -> bool {
    match (got, want) {
        (Value::Number(got), Value::Number(want)) if got.is_f64() => {
            let (got, want) = (got.as_f64().unwrap(), want.as_f64().unwrap());
            let off = (got - want).abs();
            off <= tolerance.abs || off <= tolerance.rel * want.abs()
        }
        (Value::Array(got), Value::Array(want)) => {
            let both = got.iter().zip(want);
            got.len() == want.len() && both.into_iter().all(|(g, w)| agree(g, w, tolerance))
        }
        _ => got == want,
    }
}

#[test]
fn golden_stats() {
    let table: Table = serde_json::from_str(&crate::golden::read("stats.json")).unwrap();
    assert_eq!(table.cases.len(), table.count, "rows in the table");

    let (mut ran, mut skipped, mut wrong) = (BTreeMap::new(), 0, Vec::new());
    for row in &table.cases {
        if row.method == TEXT {
            skipped += 1;
            continue;
        }
        let Some(got) = answer(&row.method, &row.inputs) else {
            panic!("{}: unknown method {}", row.id, row.method);
        };
        assert!(!row.expected.is_empty(), "{}: nothing to compare", row.id);
        for (name, want) in &row.expected {
            let got = got
                .get(name)
                .unwrap_or_else(|| panic!("{}: no {name} in answer", row.id));
            if !agree(got, want, &table.tolerance) {
                wrong.push(format!("{} {name}: got {got}, want {want}", row.id));
            }
        }
        *ran.entry(row.method.as_str()).or_insert(0) += 1;
    }
    assert!(
        wrong.is_empty(),
        "{} values differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let rows: usize = ran.values().sum();
    assert_eq!(rows + skipped, table.count);
    crate::golden::check_count("stats.json", rows, 232);
}
