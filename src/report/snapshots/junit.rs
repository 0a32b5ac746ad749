//! Cases as tests.

use crate::report::{fixture, junit};

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
