//! One line a case.

use crate::report::{csv, fixture};

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
