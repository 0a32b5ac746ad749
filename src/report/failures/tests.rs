use super::*;
use crate::domain::{
    Limit, SessionKey, Status,
    failures::{Example, LastError, SCHEMA},
};

fn group(sessions: u64, of: u64, example: &str) -> FailureGroup {
    let session: SessionKey = example.parse().unwrap();
    FailureGroup {
        variant: session.variant.clone(),
        checks: vec!["answer_contains".to_owned(), "is `polite`".to_owned()],
        status: Status::Completed,
        limit: None,
        error: None,
        sessions,
        share: sessions as f64 / of as f64,
        cases: 1,
        case_ids: vec![session.case.clone()],
        example: Example {
            session,
            step: Some(BadStep {
                step: 2,
                thought: Some("17 * 23 is *nearly* 400.".to_owned()),
                call: None,
                answer: Some("<script>alert(1)</script>\u{1b}[2J\n# Passed\n`400`".to_owned()),
                wrong: None,
            }),
        },
    }
}

fn failures() -> Failures {
    let names = |n: u32| (0..n).map(|n| format!("web-{n:03}").parse().unwrap());
    let of = |variant: &str, scored, failed, errored, ungrouped| VariantFailures {
        variant: variant.parse().unwrap(),
        scored,
        failed,
        errored,
        ungrouped,
    };
    let exhausted = FailureGroup {
        checks: vec!["status".to_owned()],
        status: Status::BudgetExhausted,
        limit: Some(Limit::Steps),
        error: Some(LastError {
            code: Some(Code::UnknownTool),
            message: "no tool \"dice\"".to_owned(),
        }),
        cases: 12,
        case_ids: names(10).collect(),
        example: Example {
            session: "cautious/web-000/1".parse().unwrap(),
            step: Some(BadStep {
                step: 0,
                thought: None,
                call: Some(r#"dice {"sides":6}"#.to_owned()),
                answer: None,
                wrong: Some(
                    r#"schema: no tool "dice"; tools: calculator, file_read, web_fetch, and what
else there may be in a reason that does not fit in one line of a terminal"#
                        .to_owned(),
                ),
            }),
        },
        ..group(20, 22, "cautious/web-000/1")
    };
    let errored = FailureGroup {
        checks: Vec::new(),
        status: Status::ModelError,
        error: Some(LastError {
            code: None,
            message: "HTTP 503 after 6 tries".to_owned(),
        }),
        example: Example {
            session: "cautious/arith-001/4".parse().unwrap(),
            step: None,
        },
        ..group(3, 3, "cautious/arith-001/4")
    };
    Failures {
        schema: SCHEMA.to_owned(),
        run: "r".to_owned(),
        variants: vec![of("baseline", 48, 1, 0, 0), of("cautious", 31, 22, 3, 2)],
        failed: vec![exhausted, group(1, 1, "baseline/arith-001/7")],
        errored: vec![errored],
    }
}

fn view(groups: Option<usize>) -> View<'static> {
    View {
        run: "latest",
        groups,
        width: 80,
        style: Style::default(),
    }
}

#[test]
fn groups_stand_below_each_other() {
    insta::assert_snapshot!(render(&failures(), &view(None)), @r#"
    23 of 79 scored sessions failed, in 2 groups; 3 errored, in 1 group.

    Failure 1: cautious, 20 sessions (90.9 % of its failed), 12 cases
      checks   status
      status   budget_exhausted (steps)
      error    unknown_tool
      cases    web-000, web-001, web-002, web-003, web-004, web-005, web-006,
               web-007, web-008, web-009 and 2 more
      example  cautious/web-000/1, step 1
        call     dice {"sides":6}
        wrong    schema: no tool "dice"; tools: calculator, file_read, web_fetch,
                 and what else there may be in a reason that does not fit in one
                 line of a terminal
      farm trace show cautious/web-000/1 --run latest

    Failure 2: baseline, 1 session (100.0 % of its failed), 1 case
      checks   answer_contains, is `polite`
      status   completed
      cases    arith-001
      example  baseline/arith-001/7, step 3
        thought  17 * 23 is *nearly* 400.
        answer   <script>alert(1)</script>\u{1b}[2J # Passed `400`
      farm trace show baseline/arith-001/7 --run latest

    Error 1: cautious, 3 sessions (100.0 % of its errored), 1 case
      status   model_error
      error    HTTP 503 after 6 tries
      cases    arith-001
      example  cautious/arith-001/4
      farm trace show cautious/arith-001/4 --run latest

    2 more sessions failed in yet other ways.
    "#);
}

#[test]
fn markdown_holds_what_models_say_in_code() {
    insta::assert_snapshot!(markdown(&failures(), &view(None)), @r#"
    # Failures

    23 of 79 scored sessions failed, in 2 groups; 3 errored, in 1 group.

    ## Failure 1: cautious, 20 sessions (90.9 % of its failed), 12 cases

    - checks: `status`
    - status: `budget_exhausted (steps)`
    - error: `unknown_tool`
    - cases: `web-000`, `web-001`, `web-002`, `web-003`, `web-004`, `web-005`, `web-006`, `web-007`, `web-008`, `web-009` and 2 more
    - example: cautious/web-000/1, step 1
      - call: `dice {"sides":6}`
      - wrong: `schema: no tool "dice"; tools: calculator, file_read, web_fetch, and what else there may be in a reason that does not fit in one line of a terminal`

    `farm trace show cautious/web-000/1 --run latest`

    ## Failure 2: baseline, 1 session (100.0 % of its failed), 1 case

    - checks: `answer_contains`, `` is `polite` ``
    - status: `completed`
    - cases: `arith-001`
    - example: baseline/arith-001/7, step 3
      - thought: `17 * 23 is *nearly* 400.`
      - answer: `` <script>alert(1)</script>\u{1b}[2J # Passed `400` ``

    `farm trace show baseline/arith-001/7 --run latest`

    ## Error 1: cautious, 3 sessions (100.0 % of its errored), 1 case

    - status: `model_error`
    - error: `HTTP 503 after 6 tries`
    - cases: `arith-001`
    - example: cautious/arith-001/4

    `farm trace show cautious/arith-001/4 --run latest`

    2 more sessions failed in yet other ways.
    "#);
}

#[test]
fn what_is_left_out_is_said() {
    for text in [
        render(&failures(), &view(Some(1))),
        markdown(&failures(), &view(Some(1))),
    ] {
        assert!(
            text.contains("\n1 more group of failed sessions: `--all` shows them.\n"),
            "{text}"
        );
        assert!(!text.contains("of errored sessions:"), "{text}");
        assert!(
            !text.contains("Failure 2") && text.contains("Error 1"),
            "{text}"
        );
    }
}

#[test]
fn no_failure_is_said() {
    let all = failures();
    let variant = VariantFailures {
        failed: 0,
        ..all.variants[0].clone()
    };
    let none = Failures {
        variants: vec![variant],
        failed: Vec::new(),
        errored: Vec::new(),
        ..all
    };
    assert_eq!(
        render(&none, &view(None)),
        "No session failed, of 48 scored sessions.\n"
    );
    let doc = markdown(&none, &view(None));
    assert_eq!(
        doc,
        "# Failures\n\nNo session failed, of 48 scored sessions.\n"
    );
}

#[test]
fn only_titles_and_commands_are_coloured() {
    let view = View {
        style: Style { colour: true },
        ..view(None)
    };
    let text = render(&failures(), &view);
    let coloured = text.lines().filter(|line| line.contains('\u{1b}'));
    assert_eq!(coloured.count(), 6);
}
