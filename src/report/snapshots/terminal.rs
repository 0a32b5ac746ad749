//! The tables for a person.

use crate::report::{
    Style, fixture,
    terminal::{View, render},
};

fn view(width: usize) -> View<'static> {
    View {
        run: "latest",
        width,
        rows: None,
        style: Style::default(),
    }
}

#[test]
fn variants_stand_side_by_side() {
    let summary = fixture::summary();
    insta::assert_snapshot!(render(&summary, &view(100)), @"
    sessions  baseline  cautious  all
    ──────────────────────────────────────────
    passed          31        26   57
    failed          17         5   22
    errored          0         3    3  missing
    not_run          0        14   14  missing
    ──────────────────────────────────────────
    planned         48        48   96

    17 sessions missing from every figure: 3 errored, 14 not_run. `farm resume latest` runs them.
    No scored session, so in no figure of cautious: web-003.

    figures                   baseline                         cautious
    ─────────────────────────────────────────────────────────────────────────────────────────────
    pass rate
      these cases, new seeds  0.646 [0.548, 0.733] n=48        0.733 [0.550, 0.850] n=31/48
      new cases like these    0.646 [0.199, 0.936] n=48        0.733 [0.200, 0.970] n=31/48
      if missing fail … pass  –                                0.479 … 0.833 incomplete
    rate
      completion              0.979 [0.891, 0.996] n=48        0.979 [0.891, 0.996] n=31/48
      budget exhaustion       0.021 [0.004, 0.109] n=48        0.021 [0.004, 0.109] n=31/48
      fallback stop           0.000 [0.000, 0.074] n=48        0.000 [0.000, 0.074] n=31/48
    mean of case means
      verifier score          0.953 [0.880, 0.980] n=48        0.953 [0.880, 0.980] n=31/48
      steps to completion     2.512 [1.732, 3.644] n=47/48     2.512 [1.732, 3.644] n=30/48
      completed / scored      47 / 48                          30 / 31
      blocked steps           0.063 [0.012, 0.331] n=48        0.063 [0.012, 0.331] n=31/48
      tokens in               384.000 [301.200, 489.500] n=48  384.000 [301.200, 489.500] n=31/48
      tokens out              n/a n=0/48                       n/a n=0/48
      cost in USD             0.0123 [0.0101, 0.0150] n=48     0.0123 [0.0101, 0.0150] n=31/48
      cost per pass in USD    0.0190 [0.0132, 0.0274] n=48     0.0190 [0.0132, 0.0274] n=31/48
    total
      blocked steps           3                                3
      tokens in               18,432                           18,432
      tokens out              unknown                          unknown
      cost                    $0.590                           $0.590
    over k seeds
      pass@3                  0.748 [0.235, 0.977] n=48        0.748 [0.235, 0.977] n=31/48
      pass^3                  0.523 [0.118, 0.905] n=48        0.523 [0.118, 0.905] n=31/48
    hidden metrics
      efficiency              1.256 [0.900, 1.700] n=48        –
    noise of the pass rate
      due to seeds            0.031                            0.031

    95 % intervals; `summary.md` names their methods.
    Overlapping intervals do not compare variants: `farm compare` does, case by case.
    note: nothing scored (tokens out)

    baseline                pass rate              n  label   may fail  steps  score
    ────────────────────────────────────────────────────────────────────────────────
    web-003    ●─┤········  0.000 [0.000, 0.242]  12  never             2.800  0.969
      ✗ answer_contains 12/12 · status 2/12
    file-007   ····├──●─┤·  0.667 [0.391, 0.862]  12  flaky             3.000  0.969
      ✗ answer_number 4/12 · status 1/12
    file-002   ······├──●┤  0.917 [0.646, 0.985]  12  flaky             2.250  0.969
      ✗ steps 1/12
    arith-001  ········├─●  1.000 [0.758, 1.000]  12  always     0.242  2.000  0.969

    cautious                pass rate                 n  label   may fail  steps  score
    ───────────────────────────────────────────────────────────────────────────────────
    web-003                 n/a                    0/12  –                     –      –
      ! 12 not_run
    file-007   ·├──●──┤···  0.375 [0.137, 0.694]   8/12  flaky             3.000  0.969
      ✗ answer_number 5/8
      ! 2 errored, 2 not_run
    arith-001  ·······├──●  1.000 [0.741, 1.000]  11/12  always     0.259  2.000  0.969
      ! 1 errored
    file-002   ········├─●  1.000 [0.758, 1.000]     12  always     0.242  2.250  0.969

    may fail: the largest failure rate still plausible of a case that always passed.
    ✗ NAME k/n: the check failed in k of n sessions.
    ");
}

#[test]
fn eighty_columns_hold_two_variants() {
    let text = render(&fixture::summary(), &view(80));
    assert!(text.lines().all(|line| line.chars().count() <= 80));
    let figures = text.split("\n\n").find(|part| part.starts_with("figures"));
    insta::assert_snapshot!(figures.unwrap(), @"
    figures                   baseline                 cautious
    ───────────────────────────────────────────────────────────────────────────
    sessions scored           n=48                     n=31/48
    pass rate
      these cases, new seeds  0.646 [0.548, 0.733]     0.733 [0.550, 0.850]
      new cases like these    0.646 [0.199, 0.936]     0.733 [0.200, 0.970]
      if missing fail … pass  –                        0.479 … 0.833 incomplete
    rate
      completion              0.979 [0.891, 0.996]     0.979 [0.891, 0.996]
      budget exhaustion       0.021 [0.004, 0.109]     0.021 [0.004, 0.109]
      fallback stop           0.000 [0.000, 0.074]     0.000 [0.000, 0.074]
    mean of case means
      verifier score          0.953 [0.880, 0.980]     0.953 [0.880, 0.980]
      steps to completion     2.512 [1.732, 3.644]     2.512 [1.732, 3.644]
      completed / scored      47 / 48                  30 / 31
      blocked steps           0.063 [0.012, 0.331]     0.063 [0.012, 0.331]
      tokens in               384 [301, 490]           384 [301, 490]
      tokens out              n/a n=0/48               n/a n=0/48
      cost in USD             0.0123 [0.0101, 0.0150]  0.0123 [0.0101, 0.0150]
      cost per pass in USD    0.0190 [0.0132, 0.0274]  0.0190 [0.0132, 0.0274]
    total
      blocked steps           3                        3
      tokens in               18,432                   18,432
      tokens out              unknown                  unknown
      cost                    $0.590                   $0.590
    over k seeds
      pass@3                  0.748 [0.235, 0.977]     0.748 [0.235, 0.977]
      pass^3                  0.523 [0.118, 0.905]     0.523 [0.118, 0.905]
    hidden metrics
      efficiency              1.256 [0.900, 1.700]     –
    noise of the pass rate
      due to seeds            0.031                    0.031
    ");
}

#[test]
fn one_variant_is_told_in_full() {
    let mut summary = fixture::summary();
    summary.variants.truncate(1);
    summary.ledger = summary.variants[0].ledger;
    let view = View {
        rows: Some(2),
        ..view(80)
    };
    insta::assert_snapshot!(render(&summary, &view), @"
    sessions  baseline
    ──────────────────
    passed          31
    failed          17
    ──────────────────
    planned         48

    figures                   baseline
    ───────────────────────────────────────────────────────────────────────
    pass rate
      these cases, new seeds  0.646 [0.548, 0.733] n=48 strat. Wilson 95 %
      new cases like these    0.646 [0.199, 0.936] n=48 gen. Jeffreys 95 %
    rate
      completion              0.979 [0.891, 0.996] n=48 strat. Wilson 95 %
      budget exhaustion       0.021 [0.004, 0.109] n=48 strat. Wilson 95 %
      fallback stop           0.000 [0.000, 0.074] n=48 strat. Wilson 95 %
    mean of case means
      verifier score          0.953 [0.880, 0.980] n=48 strat. Wilson 95 %
      steps to completion     2.512 [1.732, 3.644] n=47/48 log-t 95 %
      completed / scored      47 / 48
      blocked steps           0.063 [0.012, 0.331] n=48 log-t 95 %
      tokens in               384.000 [301.200, 489.500] n=48 log-t 95 %
      tokens out              n/a n=0/48
      cost in USD             0.0123 [0.0101, 0.0150] n=48 log-t 95 %
      cost per pass in USD    0.0190 [0.0132, 0.0274] n=48 log-t ratio 95 %
    total
      blocked steps           3
      tokens in               18,432
      tokens out              unknown
      cost                    $0.590
    over k seeds
      pass@3                  0.748 [0.235, 0.977] n=48 gen. Jeffreys 95 %
      pass^3                  0.523 [0.118, 0.905] n=48 gen. Jeffreys 95 %
    hidden metrics
      efficiency              1.256 [0.900, 1.700] n=48 log-t 95 %
    noise of the pass rate
      due to seeds            0.031

    note: nothing scored (tokens out)

    case                   pass rate              n  label  may fail  steps  score
    ──────────────────────────────────────────────────────────────────────────────
    web-003   ●─┤········  0.000 [0.000, 0.242]  12  never            2.800  0.969
      ✗ answer_contains 12/12 · status 2/12
    file-007  ····├──●─┤·  0.667 [0.391, 0.862]  12  flaky            3.000  0.969
      ✗ answer_number 4/12 · status 1/12
    … 2 more cases: `farm report latest --all`

    may fail: the largest failure rate still plausible of a case that always passed.
    ✗ NAME k/n: the check failed in k of n sessions.
    ");
}

#[test]
fn what_does_not_fit_goes_below() {
    let text = render(&fixture::summary(), &view(60));
    let tables = text.matches("\nfigures ").count();
    assert_eq!(tables, 2);
    assert!(!text.contains('●'), "no room for bars");
}

#[test]
fn colour_adds_nothing_but_colour() {
    let coloured = View {
        style: Style { colour: true },
        ..view(80)
    };
    let coloured = render(&fixture::summary(), &coloured);
    let escapes = regex::Regex::new("\x1b\\[[0-9]+m").unwrap();
    assert!(escapes.is_match(&coloured));
    let plain = render(&fixture::summary(), &view(80));
    assert_eq!(escapes.replace_all(&coloured, ""), plain);
}

#[test]
fn a_damaged_ledger_is_said_to_be() {
    let mut summary = fixture::summary();
    summary.ledger.planned += 1;
    let text = render(&summary, &view(80));
    assert!(text.contains("do not add up"), "{text}");
}
