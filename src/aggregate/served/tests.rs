use super::*;
use crate::{
    aggregate::{Options, summarise},
    domain::{CheckResult, Grid, Outcome, Reading, SessionId, Status},
    store::{Options as StoreOptions, Reader, Score, Store, Write},
};

fn by(model: &str, fingerprint: &str) -> Served {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Served {
        model: some(model),
        provider: None,
        fingerprint: some(fingerprint),
    }
}

/// A session that ended: none for one without a verdict.
fn row(served: Vec<Served>, passed: Option<bool>) -> SessionRow {
    let outcome = Outcome {
        served,
        ..Outcome::so_far(Status::Completed, [], &[], None, None)
    };
    let judged = |passed| {
        let name = "c".to_owned();
        Score::Judged(vec![CheckResult { name, passed }])
    };
    SessionRow {
        session: SessionId(0),
        attempt: 0,
        restarts: 0,
        began: 0.0,
        ended: Some(1.0),
        work_s: Some(1.0),
        waits: Vec::new(),
        outcome: Some(outcome),
        score: passed.map(judged),
    }
}

/// Strata of sessions with the places of their cases, as `served sessions passed/scored`.
fn told(sessions: &[(usize, SessionRow)]) -> Vec<String> {
    let mut strata = Strata::default();
    sessions
        .iter()
        .for_each(|(case, row)| strata.add(*case, row));
    let cases = sessions.last().map_or(0, |(case, _)| case + 1);
    let strata = strata.figures(cases, &Units::default(), Level::default());
    let name = |by: &Served| {
        let parts = [&by.model, &by.fingerprint];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        parts.join("/")
    };
    let told = |of: &Stratum| {
        let served: Vec<String> = of.served.iter().map(name).collect();
        let figure = &of.pass_rate;
        assert_eq!((figure.n, figure.n_planned), (of.scored, of.scored));
        format!("{served:?} {} {}/{}", of.sessions, of.passed, of.scored)
    };
    strata.iter().map(told).collect()
}

#[test]
fn a_session_belongs_to_all_that_answered_it_together() {
    let (a, b) = (by("m", "1"), by("m", "2"));
    let both = [
        (0, row(vec![a.clone(), b.clone()], Some(false))),
        (0, row(vec![a.clone()], Some(true))),
        (0, row(vec![], Some(true))),
        // The other way round, and of another case.
        (1, row(vec![b.clone(), a.clone()], Some(true))),
        (1, row(vec![a.clone()], Some(false))),
        (1, row(vec![a.clone()], None)),
        (2, row(vec![b.clone()], None)),
        (
            2,
            SessionRow {
                outcome: None,
                ..row(vec![b], None)
            },
        ),
    ];
    let want = [
        r#"["m/1"] 3 1/2"#,
        r#"["m/1", "m/2"] 2 1/2"#,
        r#"[] 1 1/1"#,
        r#"["m/2"] 1 0/0"#,
    ];
    assert_eq!(told(&both), want);
    assert!(told(&[(0, row(vec![], Some(true)))]).is_empty());
    assert!(told(&[]).is_empty());
}

#[test]
fn fingerprints_that_tell_nothing_apart_are_left_out() {
    let of = |n: usize| -> Vec<(usize, SessionRow)> {
        let session = |i: usize| {
            let served = vec![by("m", &i.to_string()), by("", &i.to_string())];
            (i / 3, row(served, Some(i.is_multiple_of(2))))
        };
        (0..n).map(session).collect()
    };
    assert_eq!(told(&of(MOST)).len(), MOST);
    // The last one is the one too many, or there are more after it.
    for n in [MOST + 1, 3 * MOST] {
        let want = format!(r#"["m"] {n} {}/{n}"#, n.div_ceil(2));
        assert_eq!(told(&of(n)), [want]);
    }
}

#[test]
fn the_order_of_sessions_within_a_case_is_all_the_same() {
    let mut sessions: Vec<_> = (0..2 * MOST)
        .map(|i| {
            (
                0,
                row(
                    vec![by(&(i % 3).to_string(), &i.to_string())],
                    Some(i % 2 == 0),
                ),
            )
        })
        .collect();
    let forth = told(&sessions);
    sessions.reverse();
    assert_eq!(told(&sessions), forth);
}

/// From the store, with the interval of the pass rate.
#[tokio::test]
async fn a_summary_has_them_where_any_reply_says() {
    let grid = Grid::new(
        vec!["v".parse().unwrap(), "w".parse().unwrap()],
        vec!["b".parse().unwrap(), "a".parse().unwrap()],
        0..2,
    )
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("farm.db");
    let store = Store::create(&path, "r", &grid, StoreOptions::default()).unwrap();
    let mut writes = Vec::new();
    for id in grid.ids() {
        let cell = grid.cell(id);
        let served = match (cell.variant, cell.seed) {
            (1, _) => vec![],
            (_, seed) => vec![by("m", &seed.to_string())],
        };
        let of = row(served, None).outcome.unwrap();
        writes.push(Write::Begin {
            session: id,
            attempt: 0,
            ts: 1.0,
        });
        writes.push(Write::End {
            session: id,
            attempt: 0,
            outcome: of.into(),
            work_s: 0.0,
            waits: Vec::new(),
            ts: 2.0,
        });
        let name = "c".to_owned();
        let passed = (cell.case, cell.seed) != (0, 1);
        let checks = vec![CheckResult { name, passed }];
        let verdict = crate::domain::Verdict::Scored(checks);
        writes.push(Write::score((id, 0), &verdict));
    }
    store.handle().commit(writes).await.unwrap();
    let reader = Reader::open(&path).unwrap();
    let options = Options {
        level: Level::default(),
        reading: Reading::Fixed,
        clusters: &[None, None],
        measure: None,
    };
    let summary = summarise(&reader, &grid, &options).unwrap();
    store.join().await.unwrap();
    let [v, w] = &summary.variants[..] else {
        panic!("{summary:?}")
    };
    assert!(w.served.is_empty());
    let text = serde_json::to_string(w).unwrap();
    assert!(!text.contains("served"), "{text}");
    let [all, half] = &v.served[..] else {
        panic!("{:?}", v.served)
    };
    assert_eq!(
        (all.passed, all.scored, half.passed, half.scored),
        (2, 2, 1, 2)
    );
    assert_eq!(half.pass_rate.method, "strat_wilson");
    assert_eq!(half.pass_rate.estimate, Some(0.5));
    assert!(half.pass_rate.lo.is_some() && half.pass_rate.hi.is_some());
    // The whole has the same interval as a stratum with all of it would.
    let whole = &v.overall.pass_rate.fixed;
    assert_eq!((whole.n, whole.estimate), (4, Some(0.75)));
}
