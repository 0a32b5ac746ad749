//! What the renderers make of the fixture, whole, as a person sees it.

use super::{Style, csv, fixture, forest, junit, markdown, session, terminal};
use crate::domain::trace::Record;

fn view(width: usize) -> terminal::View<'static> {
    terminal::View {
        run: "latest",
        width,
        rows: None,
        style: Style::default(),
    }
}

#[test]
fn variants_stand_side_by_side() {
    let summary = fixture::summary();
    insta::assert_snapshot!(terminal::render(&summary, &view(100)), @"
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
    share of sessions
      completion              0.979 [0.891, 0.996] n=48        0.979 [0.891, 0.996] n=31/48
      budget exhaustion       0.021 [0.004, 0.109] n=48        0.021 [0.004, 0.109] n=31/48
      fallback stop           0.000 [0.000, 0.074] n=48        0.000 [0.000, 0.074] n=31/48
    mean per session
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
    Overlapping intervals do not compare variants: compare them case by case.
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
    let text = terminal::render(&fixture::summary(), &view(80));
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
    share of sessions
      completion              0.979 [0.891, 0.996]     0.979 [0.891, 0.996]
      budget exhaustion       0.021 [0.004, 0.109]     0.021 [0.004, 0.109]
      fallback stop           0.000 [0.000, 0.074]     0.000 [0.000, 0.074]
    mean per session
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
    let view = terminal::View {
        rows: Some(2),
        ..view(80)
    };
    insta::assert_snapshot!(terminal::render(&summary, &view), @"
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
    share of sessions
      completion              0.979 [0.891, 0.996] n=48 strat. Wilson 95 %
      budget exhaustion       0.021 [0.004, 0.109] n=48 strat. Wilson 95 %
      fallback stop           0.000 [0.000, 0.074] n=48 strat. Wilson 95 %
    mean per session
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
    let text = terminal::render(&fixture::summary(), &view(60));
    let tables = text.matches("\nfigures ").count();
    assert_eq!(tables, 2);
    assert!(!text.contains('●'), "no room for bars");
}

#[test]
fn colour_adds_nothing_but_colour() {
    let coloured = terminal::View {
        style: Style { colour: true },
        ..view(80)
    };
    let coloured = terminal::render(&fixture::summary(), &coloured);
    let escapes = regex::Regex::new("\x1b\\[[0-9]+m").unwrap();
    assert!(escapes.is_match(&coloured));
    let plain = terminal::render(&fixture::summary(), &view(80));
    assert_eq!(escapes.replace_all(&coloured, ""), plain);
}

#[test]
fn a_damaged_ledger_is_said_to_be() {
    let mut summary = fixture::summary();
    summary.ledger.planned += 1;
    let text = terminal::render(&summary, &view(80));
    assert!(text.contains("do not add up"), "{text}");
}

#[test]
fn markdown_holds_the_same() {
    insta::assert_snapshot!(markdown::render(&fixture::summary()), @"
    # Summary

    **Partial**; 96 sessions planned, 79 scored; **17 missing** (3 errored, 14 not_run).

    ## Sessions

    | state | baseline | cautious | all |
    | --- | ---: | ---: | ---: |
    | passed | 31 | 26 | 57 |
    | failed | 17 | 5 | 22 |
    | errored | 0 | 3 | 3 |
    | not_run | 0 | 14 | 14 |
    | **planned** | **48** | **48** | **96** |

    ## Figures

    | figure | baseline | cautious |
    | --- | --- | --- |
    | pass rate: these cases, new seeds | 0.646 [0.548, 0.733] n=48 strat. Wilson 95 % | 0.733 [0.550, 0.850] n=31/48 strat. Wilson 95 % |
    | pass rate: new cases like these | 0.646 [0.199, 0.936] n=48 gen. Jeffreys 95 % | 0.733 [0.200, 0.970] n=31/48 gen. Jeffreys 95 % |
    | pass rate: if missing fail … pass | – | 0.479 … 0.833 incomplete |
    | share of sessions: completion | 0.979 [0.891, 0.996] n=48 strat. Wilson 95 % | 0.979 [0.891, 0.996] n=31/48 strat. Wilson 95 % |
    | share of sessions: budget exhaustion | 0.021 [0.004, 0.109] n=48 strat. Wilson 95 % | 0.021 [0.004, 0.109] n=31/48 strat. Wilson 95 % |
    | share of sessions: fallback stop | 0.000 [0.000, 0.074] n=48 strat. Wilson 95 % | 0.000 [0.000, 0.074] n=31/48 strat. Wilson 95 % |
    | mean per session: verifier score | 0.953 [0.880, 0.980] n=48 strat. Wilson 95 % | 0.953 [0.880, 0.980] n=31/48 strat. Wilson 95 % |
    | mean per session: steps to completion | 2.512 [1.732, 3.644] n=47/48 log-t 95 % | 2.512 [1.732, 3.644] n=30/48 log-t 95 % |
    | mean per session: completed / scored | 47 / 48 | 30 / 31 |
    | mean per session: blocked steps | 0.063 [0.012, 0.331] n=48 log-t 95 % | 0.063 [0.012, 0.331] n=31/48 log-t 95 % |
    | mean per session: tokens in | 384.000 [301.200, 489.500] n=48 log-t 95 % | 384.000 [301.200, 489.500] n=31/48 log-t 95 % |
    | mean per session: tokens out | n/a n=0/48 | n/a n=0/48 |
    | mean per session: cost in USD | 0.0123 [0.0101, 0.0150] n=48 log-t 95 % | 0.0123 [0.0101, 0.0150] n=31/48 log-t 95 % |
    | mean per session: cost per pass in USD | 0.0190 [0.0132, 0.0274] n=48 log-t ratio 95 % | 0.0190 [0.0132, 0.0274] n=31/48 log-t ratio 95 % |
    | total: blocked steps | 3 | 3 |
    | total: tokens in | 18,432 | 18,432 |
    | total: tokens out | unknown | unknown |
    | total: cost | $0.590 | $0.590 |
    | over k seeds: pass@3 | 0.748 [0.235, 0.977] n=48 gen. Jeffreys 95 % | 0.748 [0.235, 0.977] n=31/48 gen. Jeffreys 95 % |
    | over k seeds: pass^3 | 0.523 [0.118, 0.905] n=48 gen. Jeffreys 95 % | 0.523 [0.118, 0.905] n=31/48 gen. Jeffreys 95 % |
    | hidden metrics: efficiency | 1.256 [0.900, 1.700] n=48 log-t 95 % | – |
    | noise of the pass rate: due to seeds | 0.031 | 0.031 |

    No scored session, so in no figure of cautious: web-003.

    Note: nothing scored (tokens out).

    ## Cases of baseline, worst first

    Pass rates with Wilson intervals, 95 %; n: sessions scored (/ planned).

    | case | pass rate | n | failed checks | label | may fail | flakiness | steps | completed | verifier score |
    | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
    | web-003 | 0.000 [0.000, 0.242] | 12 | answer_contains 12/12, status 2/12 | never | – | 0.000 | 2.800 | 12/12 | 0.969 |
    | file-007 | 0.667 [0.391, 0.862] | 12 | answer_number 4/12, status 1/12 | flaky | – | 0.485 | 3.000 | 12/12 | 0.969 |
    | file-002 | 0.917 [0.646, 0.985] | 12 | steps 1/12 | flaky | – | 0.167 | 2.250 | 12/12 | 0.969 |
    | arith-001 | 1.000 [0.758, 1.000] | 12 |  | always | 0.242 | 0.000 | 2.000 | 12/12 | 0.969 |

    ## Cases of cautious, worst first

    Pass rates with Wilson intervals, 95 %; n: sessions scored (/ planned).

    | case | pass rate | n | failed checks | missing | label | may fail | flakiness | steps | completed | verifier score |
    | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
    | web-003 | n/a | 0/12 |  | 12 not_run | – | – | – | – | 0/0 | – |
    | file-007 | 0.375 [0.137, 0.694] | 8/12 | answer_number 5/8 | 2 errored, 2 not_run | flaky | – | 0.536 | 3.000 | 8/8 | 0.969 |
    | arith-001 | 1.000 [0.741, 1.000] | 11/12 |  | 1 errored | always | 0.259 | 0.000 | 2.000 | 11/11 | 0.969 |
    | file-002 | 1.000 [0.758, 1.000] | 12 |  |  | always | 0.242 | 0.000 | 2.250 | 12/12 | 0.969 |

    ## What it means

    | figure | what it means |
    | --- | --- |
    | pass rate: these cases, new seeds | Share of scored sessions whose checks all hold. The interval is for running these same cases again with other seeds. |
    | pass rate: new cases like these | The same share. The interval is for other cases of the same kind, so it also holds the luck of which cases were written. |
    | pass rate: if missing fail … pass | The pass rate if all missing sessions had failed, and if all had passed. incomplete: over 5 % are missing, or half of one case. |
    | share of sessions: completion | Scored sessions in which the agent ended by itself. |
    | share of sessions: budget exhaustion | Scored sessions that ran into a limit: steps, tokens, cost, seconds or context. |
    | share of sessions: fallback stop | Scored sessions stopped after three failed turns in a row. |
    | mean per session: verifier score | Mean score of all judgments of a session, from 0 to 1. |
    | mean per session: steps to completion | Steps of completed sessions only: those that ended otherwise would distort it. |
    | mean per session: completed / scored | The sessions that steps to completion rests on, of all that were scored. |
    | mean per session: blocked steps | Steps that a verifier blocked before they ran. |
    | mean per session: tokens in | Tokens of all requests. |
    | mean per session: tokens out | Tokens of all replies. |
    | mean per session: cost in USD | US dollars of final attempts. |
    | mean per session: cost per pass in USD | US dollars per session that passes: the mean cost over the pass rate. |
    | total: blocked steps | Steps blocked in scored sessions; a total is a fact and has no interval. |
    | total: tokens in | Tokens of all requests of scored sessions; unknown when any call did not report them. |
    | total: tokens out | Tokens of all replies of scored sessions; unknown when any call did not report them. |
    | total: cost | US dollars of the final attempts of scored sessions. |
    | over k seeds: pass@3 | Chance that at least one of k seeds of a case passes. |
    | over k seeds: pass^3 | Chance that all of k seeds of a case pass. |
    | hidden metrics: efficiency | A metric defined in the sealed half of the cases. |
    | noise of the pass rate: due to seeds | Share of the variance of the pass rate that more seeds would reduce; the rest only more cases would. |
    | case: label | Whether its scored sessions passed always, never or sometimes (flaky). |
    | case: may fail | For always: the largest failure rate that is still plausible. |
    | case: flakiness | Chance that two seeds of the case disagree. |
    | case: failed checks | NAME k/n: the check failed in k of the n sessions it judged. |

    A figure reads: estimate, interval in brackets, n = sessions scored (/ planned, when some are missing), method and level. Each case weighs the same, and the cases of one cluster count as one. Rates other than the pass rate are given in its first reading. A figure without an interval is a fact, or says why it has none. Overlapping intervals do not compare variants: compare them case by case.
    ");
}

#[test]
fn names_are_no_markup() {
    let mut summary = fixture::summary();
    summary.variants[0].cases[3].checks[1].name = "a|b *c*\n<d>".to_owned();
    let text = markdown::render(&summary);
    assert!(text.contains(r"| a\|b \*c\* &lt;d> 12/12, "), "{text}");
}

#[test]
fn csv_has_a_line_per_variant_and_case() {
    let mut out = Vec::new();
    csv::cases(&fixture::summary(), &mut out).unwrap();
    insta::assert_snapshot!(String::from_utf8(out).unwrap(), @r#"
    variant,case,planned,passed,failed,errored,killed,not_run,skipped,unscored,pass_rate,pass_rate_lo,pass_rate_hi,method,level,label,max_failure_rate,flakiness,verifier_score,verifier_score_lo,verifier_score_hi,steps,steps_lo,steps_hi,completed,scored,tokens_in,tokens_in_lo,tokens_in_hi,tokens_out,tokens_out_lo,tokens_out_hi,cost_usd,cost_usd_lo,cost_usd_hi,failed_checks
    baseline,arith-001,12,12,0,0,0,0,0,0,1,0.7575059904469021,1,wilson,0.95,always,0.24249400955309786,0,0.969,0.9,0.99,2,,,12,12,384,,,,,,0.0123,,,
    baseline,file-002,12,11,1,0,0,0,0,0,0.9166666666666666,0.6461200862787543,0.9851349057603306,wilson,0.95,flaky,,0.16666666666666666,0.969,0.9,0.99,2.25,,,12,12,384,,,,,,0.0123,,,steps 1/12
    baseline,file-007,12,8,4,0,0,0,0,0,0.6666666666666666,0.39062208694049383,0.8618799098751401,wilson,0.95,flaky,,0.48484848484848486,0.969,0.9,0.99,3,,,12,12,384,,,,,,0.0123,,,answer_number 4/12; status 1/12
    baseline,web-003,12,0,12,0,0,0,0,0,0,0,0.2424940095530979,wilson,0.95,never,,0,0.969,0.9,0.99,2.8,,,12,12,384,,,,,,0.0123,,,answer_contains 12/12; status 2/12
    cautious,arith-001,12,11,0,1,0,0,0,0,1,0.7411670300055737,1,wilson,0.95,always,0.2588329699944263,0,0.969,0.9,0.99,2,,,11,11,384,,,,,,0.0123,,,
    cautious,file-002,12,12,0,0,0,0,0,0,1,0.7575059904469021,1,wilson,0.95,always,0.24249400955309786,0,0.969,0.9,0.99,2.25,,,12,12,384,,,,,,0.0123,,,
    cautious,file-007,12,3,5,2,0,2,0,0,0.375,0.1368442847391229,0.694257607346229,wilson,0.95,flaky,,0.5357142857142857,0.969,0.9,0.99,3,,,8,8,384,,,,,,0.0123,,,answer_number 5/8
    cautious,web-003,12,0,0,0,0,12,0,0,,,,wilson,0.95,,,,,,,,,,0,0,,,,,,,,,,
    "#);
}

#[test]
fn junit_has_a_test_for_each_case() {
    let mut summary = fixture::summary();
    summary.variants.remove(0);
    insta::assert_snapshot!(junit::render(&summary, &[]).unwrap(), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="farm" tests="4" skipped="1" failures="1" errors="1">
        <testsuite name="cautious" tests="4" skipped="1" errors="1" failures="1">
            <properties>
                <property name="pass_rate" value="0.733"/>
                <property name="pass_rate_lo" value="0.55"/>
                <property name="pass_rate_hi" value="0.85"/>
                <property name="level" value="0.95"/>
                <property name="method" value="strat_wilson"/>
                <property name="planned" value="48"/>
                <property name="passed" value="26"/>
                <property name="failed" value="5"/>
                <property name="errored" value="3"/>
                <property name="not_run" value="14"/>
            </properties>
            <testcase name="arith-001" classname="cautious">
                <properties>
                    <property name="pass_rate" value="1"/>
                    <property name="pass_rate_lo" value="0.7411670300055737"/>
                    <property name="pass_rate_hi" value="1"/>
                    <property name="level" value="0.95"/>
                    <property name="method" value="wilson"/>
                    <property name="planned" value="12"/>
                    <property name="passed" value="11"/>
                    <property name="errored" value="1"/>
                    <property name="label" value="always"/>
                </properties>
                <error message="pass rate 1.000 [0.741, 1.000] n=11/12 Wilson 95 %; 11 passed, 1 errored" type="infrastructure"/>
            </testcase>
            <testcase name="file-002" classname="cautious">
                <properties>
                    <property name="pass_rate" value="1"/>
                    <property name="pass_rate_lo" value="0.7575059904469021"/>
                    <property name="pass_rate_hi" value="1"/>
                    <property name="level" value="0.95"/>
                    <property name="method" value="wilson"/>
                    <property name="planned" value="12"/>
                    <property name="passed" value="12"/>
                    <property name="label" value="always"/>
                </properties>
            </testcase>
            <testcase name="file-007" classname="cautious">
                <properties>
                    <property name="pass_rate" value="0.375"/>
                    <property name="pass_rate_lo" value="0.1368442847391229"/>
                    <property name="pass_rate_hi" value="0.694257607346229"/>
                    <property name="level" value="0.95"/>
                    <property name="method" value="wilson"/>
                    <property name="planned" value="12"/>
                    <property name="passed" value="3"/>
                    <property name="failed" value="5"/>
                    <property name="errored" value="2"/>
                    <property name="not_run" value="2"/>
                    <property name="label" value="flaky"/>
                </properties>
                <failure message="pass rate 0.375 [0.137, 0.694] n=8/12 Wilson 95 %; 3 passed, 5 failed, 2 errored, 2 not_run; failed checks: answer_number 5/8" type="checks"/>
            </testcase>
            <testcase name="web-003" classname="cautious">
                <properties>
                    <property name="level" value="0.95"/>
                    <property name="method" value="wilson"/>
                    <property name="planned" value="12"/>
                    <property name="not_run" value="12"/>
                </properties>
                <skipped message="pass rate n/a n=0/12; 12 not_run"/>
            </testcase>
        </testsuite>
    </testsuites>
    "#);
}

#[test]
fn a_plot_is_drawn_to_the_pixel() {
    let mut summary = fixture::summary();
    summary.variants.truncate(1);
    summary.variants[0].cases.drain(1..3);
    let svg = forest::render(&summary, Some(1));
    let (_, drawn) = svg.split_once("</style>").unwrap();
    insta::assert_snapshot!(drawn.trim(), @r#"
    <rect class="ff-back" x="0.5" y="0.5" width="859" height="243" rx="8"/>
    <path class="ff-grid ff-edge" d="M183.4 89V159"/>
    <path class="ff-grid" d="M303.2 89V159"/>
    <path class="ff-grid" d="M423 89V159"/>
    <path class="ff-grid" d="M542.8 89V159"/>
    <path class="ff-grid ff-edge" d="M662.6 89V159"/>
    <g class="ff-c0">
    <path class="ff-guide" d="M493 139V159"/>
    </g>
    <text class="ff-title" x="20" y="34">Pass rate of baseline</text>
    <text class="ff-note" x="20" y="53">2 cases · 79 of 96 sessions scored · missing: 3 errored, 14 not_run</text>
    <text class="ff-note ff-centre" x="183.4" y="83">0</text>
    <text class="ff-note ff-centre" x="303.2" y="83">0.25</text>
    <text class="ff-note ff-centre" x="423" y="83">0.5</text>
    <text class="ff-note ff-centre" x="542.8" y="83">0.75</text>
    <text class="ff-note ff-centre" x="662.6" y="83">1</text>
    <text class="ff-note ff-end" x="814.6" y="83">pass rate [95 %]</text>
    <text class="ff-note ff-end" x="840" y="83">n</text>
    <rect class="ff-stripe" x="14" y="89" width="832" height="20" rx="3"/>
    <text class="ff-text ff-strong" x="20" y="103">these cases, new seeds</text>
    <g class="ff-c0">
    <title>these cases, new seeds, baseline: 0.646 [0.548, 0.733] n=48 strat. Wilson 95 %</title>
    <path class="ff-diamond" d="M446 99L493 93L534.7 99L493 105Z"/>
    <path class="ff-mark" transform="translate(493 99)" d="M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z"/>
    </g>
    <text class="ff-text ff-end" x="814.6" y="103">0.646 [0.548, 0.733]</text>
    <text class="ff-text ff-end" x="840" y="103">48</text>
    <text class="ff-text ff-strong" x="20" y="123">new cases like these</text>
    <g class="ff-c0">
    <title>new cases like these, baseline: 0.646 [0.199, 0.936] n=48 gen. Jeffreys 95 %</title>
    <path class="ff-diamond" d="M278.8 119L493 113L631.9 119L493 125Z"/>
    <path class="ff-mark" transform="translate(493 119)" d="M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z"/>
    </g>
    <text class="ff-text ff-end" x="814.6" y="123">0.646 [0.199, 0.936]</text>
    <text class="ff-text ff-end" x="840" y="123">48</text>
    <rect class="ff-stripe" x="14" y="139" width="832" height="20" rx="3"/>
    <text class="ff-text" x="20" y="153">web-003</text>
    <g class="ff-c0">
    <title>web-003, baseline: 0.000 [0.000, 0.242] n=12 Wilson 95 %</title>
    <path class="ff-bar" d="M183.4 149H299.6M183.4 146v6M299.6 146v6"/>
    <path class="ff-mark" transform="translate(183.4 149)" d="M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z"/>
    </g>
    <text class="ff-text ff-end" x="814.6" y="153">0.000 [0.000, 0.242]</text>
    <text class="ff-text ff-end" x="840" y="153">12</text>
    <text class="ff-note ff-centre" x="183.4" y="175">0</text>
    <text class="ff-note ff-centre" x="303.2" y="175">0.25</text>
    <text class="ff-note ff-centre" x="423" y="175">0.5</text>
    <text class="ff-note ff-centre" x="542.8" y="175">0.75</text>
    <text class="ff-note ff-centre" x="662.6" y="175">1</text>
    <text class="ff-note" x="20" y="198">The worst cases are shown; 1 better one is left out.</text>
    <text class="ff-note" x="20" y="213">95 % intervals: strat. Wilson for these cases, gen. Jeffreys for new ones, Wilson for a case. n: sessions scored (/ planned).</text>
    <text class="ff-note" x="20" y="228">Dashed: the pass rate over all cases.</text>
    </svg>
    "#);
}

#[test]
fn a_session_reads_step_by_step() {
    let view = session::View {
        lines: Some(3),
        style: Style::default(),
    };
    insta::assert_snapshot!(session::render(&trace(), &view), @r#"
    scripted/file-007/3  attempt 2
      task     How much did the flour of June cost?
               Answer in USD.
      budget   8 steps
      tools    calculator, file_read

    step 1/8
      thought  I need the ledger.
      call     file_read {"path":"notes/june.txt"}
      ✓ schema  1.00  args match file_read schema
      ✓ budget  1.00  step 1/8; headroom 1.00
      result   Opening float
               flour 12.40
               flour 7.10
               … 2 more lines

    step 2/8  turn 2, call 1
      call     calculator {"expression":"12.40 + 7.10"}
      ✓ schema  1.00  args match calculator schema
      ✓ budget  0.88  step 2/8; headroom 0.88
      result   19.5

    step 3/8  turn 2, call 2
      call     calculater {"expr
      ✗ schema  0.00  unknown tool calculater; known: calculator, file_read
      ✓ budget  0.75  step 3/8; headroom 0.75
      blocked  blocked: unknown tool calculater

    step 4/8
      reply    not usable
      ✗ reply   0.00  neither text nor a call
      ✓ budget  0.62  step 4/8; headroom 0.62
      error    Your reply had neither text nor a call.

    step 5/8
      thought  Both are flour.
      answer   19.50 USD\u{1b}[2J
      repaired closed a fence
      ✓ schema  1.00  final answer step; no tool call to validate
      ✓ budget  0.50  step 5/8; headroom 0.50

    completed  5 steps · mean score 0.775 · tokens 1,240 in, ? out · $0.000412
    "#);
}

#[test]
fn a_session_without_an_end_says_so() {
    let view = session::View {
        lines: None,
        style: Style::default(),
    };
    let text = session::render(&trace()[..2], &view);
    assert!(text.contains("salt 1.00\n"), "whole: {text}");
    assert!(text.ends_with("\nno end recorded\n"), "{text}");
}

fn trace() -> Vec<Record> {
    let lines = r#"
{"type":"run_start","schema":"farm.trace/1","run":"r","variant":"scripted","case":"file-007","seed":3,"rng_seed":"1","attempt":1,"task":"How much did the flour of June cost?\nAnswer in USD.","max_steps":8,"tools":["calculator","file_read"],"ts":0}
{"type":"step","step":0,"turn":0,"call":0,"decision":{"thought":"I need the ledger.","tool_call":{"tool":"file_read","args":{"path":"notes/june.txt"}},"answer":null},"judgments":[{"verifier":"schema","phase":"pre_act","score":1.0,"passed":true,"reason":"args match file_read schema"},{"verifier":"budget","phase":"post_act","score":1.0,"passed":true,"reason":"step 1/8; headroom 1.00"}],"observation":{"ok":true,"content":"Opening float\nflour 12.40\nflour 7.10\nsugar 3.00\nsalt 1.00\n"},"reply":{},"request_sha256":"x","repairs":[],"finish":"tool_calls","refused":false,"usage":null,"ts":0}
{"type":"step","step":1,"turn":1,"call":0,"decision":{"thought":null,"tool_call":{"tool":"calculator","args":{"expression":"12.40 + 7.10"}},"answer":null},"judgments":[{"verifier":"schema","phase":"pre_act","score":1.0,"passed":true,"reason":"args match calculator schema"},{"verifier":"budget","phase":"post_act","score":0.875,"passed":true,"reason":"step 2/8; headroom 0.88"}],"observation":{"ok":true,"content":"19.5"},"reply":{},"request_sha256":"x","repairs":[],"finish":"tool_calls","refused":false,"usage":null,"ts":0}
{"type":"step","step":2,"turn":1,"call":1,"decision":{"thought":null,"tool_call":{"tool":"calculater","args":null,"args_raw":"{\"expr"},"answer":null},"judgments":[{"verifier":"schema","phase":"pre_act","score":0.0,"passed":false,"reason":"unknown tool calculater; known: calculator, file_read","code":"unknown_tool"},{"verifier":"budget","phase":"post_act","score":0.75,"passed":true,"reason":"step 3/8; headroom 0.75"}],"observation":{"ok":false,"content":"blocked: unknown tool calculater"},"ts":0}
{"type":"step","step":3,"turn":2,"call":0,"decision":{"thought":null,"tool_call":null,"answer":null},"judgments":[{"verifier":"reply","phase":"pre_act","score":0.0,"passed":false,"reason":"neither text nor a call","code":"empty"},{"verifier":"budget","phase":"post_act","score":0.625,"passed":true,"reason":"step 4/8; headroom 0.62"}],"observation":{"ok":false,"content":"Your reply had neither text nor a call."},"reply":{},"ts":0}
{"type":"step","step":4,"turn":3,"call":0,"decision":{"thought":"Both are flour.","tool_call":null,"answer":"19.50 USD\u001b[2J"},"judgments":[{"verifier":"schema","phase":"pre_act","score":1.0,"passed":true,"reason":"final answer step; no tool call to validate"},{"verifier":"budget","phase":"post_act","score":0.5,"passed":true,"reason":"step 5/8; headroom 0.50"}],"observation":null,"reply":{},"repairs":["closed a fence"],"ts":0}
{"type":"run_end","status":"completed","limit":null,"answer":"19.50 USD","steps_used":5,"mean_score":0.775,"usage":{"tokens_in":1240,"tokens_out":null},"cost_usd":0.000412,"error":null,"ts":0}
"#;
    lines
        .trim()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
