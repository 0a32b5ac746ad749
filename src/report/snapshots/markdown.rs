//! `summary.md`.

use crate::report::{fixture, markdown::render};

#[test]
fn markdown_holds_the_same() {
    insta::assert_snapshot!(render(&fixture::summary()), @"
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
    | rate: completion | 0.979 [0.891, 0.996] n=48 strat. Wilson 95 % | 0.979 [0.891, 0.996] n=31/48 strat. Wilson 95 % |
    | rate: budget exhaustion | 0.021 [0.004, 0.109] n=48 strat. Wilson 95 % | 0.021 [0.004, 0.109] n=31/48 strat. Wilson 95 % |
    | rate: fallback stop | 0.000 [0.000, 0.074] n=48 strat. Wilson 95 % | 0.000 [0.000, 0.074] n=31/48 strat. Wilson 95 % |
    | mean of case means: verifier score | 0.953 [0.880, 0.980] n=48 strat. Wilson 95 % | 0.953 [0.880, 0.980] n=31/48 strat. Wilson 95 % |
    | mean of case means: steps to completion | 2.512 [1.732, 3.644] n=47/48 log-t 95 % | 2.512 [1.732, 3.644] n=30/48 log-t 95 % |
    | mean of case means: completed / scored | 47 / 48 | 30 / 31 |
    | mean of case means: blocked steps | 0.063 [0.012, 0.331] n=48 log-t 95 % | 0.063 [0.012, 0.331] n=31/48 log-t 95 % |
    | mean of case means: tokens in | 384.000 [301.200, 489.500] n=48 log-t 95 % | 384.000 [301.200, 489.500] n=31/48 log-t 95 % |
    | mean of case means: tokens out | n/a n=0/48 | n/a n=0/48 |
    | mean of case means: cost in USD | 0.0123 [0.0101, 0.0150] n=48 log-t 95 % | 0.0123 [0.0101, 0.0150] n=31/48 log-t 95 % |
    | mean of case means: cost per pass in USD | 0.0190 [0.0132, 0.0274] n=48 log-t ratio 95 % | 0.0190 [0.0132, 0.0274] n=31/48 log-t ratio 95 % |
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
    | rate: completion | Scored sessions in which the agent ended by itself. |
    | rate: budget exhaustion | Scored sessions that ran into a limit: steps, tokens, cost, seconds or context. |
    | rate: fallback stop | Scored sessions stopped after three failed turns in a row. |
    | mean of case means: verifier score | Mean score of all judgments of a session, from 0 to 1. |
    | mean of case means: steps to completion | Steps of completed sessions only: those that ended otherwise would distort it. |
    | mean of case means: completed / scored | The sessions that steps to completion rests on, of all that were scored. |
    | mean of case means: blocked steps | Steps that a verifier blocked before they ran. |
    | mean of case means: tokens in | Tokens of all requests. |
    | mean of case means: tokens out | Tokens of all replies. |
    | mean of case means: cost in USD | US dollars of final attempts. |
    | mean of case means: cost per pass in USD | US dollars per session that passes: the mean cost over the pass rate. |
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

    A figure reads: estimate, interval in brackets, n = sessions scored (/ planned, when some are missing), method and level. Each case weighs the same, and the cases of one cluster count as one. Rates other than the pass rate are given in its first reading. A figure without an interval is a fact, or says why it has none. Overlapping intervals do not compare variants: `farm compare` does, case by case.
    ");
}

#[test]
fn names_are_no_markup() {
    let mut summary = fixture::summary();
    summary.variants[0].cases[3].checks[1].name = "a|b *c*\n<d>".to_owned();
    let text = render(&summary);
    assert!(text.contains(r"| a\|b \*c\* &lt;d> 12/12, "), "{text}");
}
