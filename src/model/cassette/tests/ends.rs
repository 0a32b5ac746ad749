//! Recorded sessions that a limit ended, asked for again.

use super::*;

/// A session that overflowed the model's context does so again, and no other.
#[tokio::test]
async fn a_request_that_was_too_long_is_so_again() {
    let dir = tempfile::tempdir().unwrap();
    recording(dir.path());
    let cassette = cassette(dir.path(), Cost::Nothing);
    let mut conversation = Way::default().conversation();
    go_on(&mut conversation, &recorded_turns()[..1]);
    let error = ask(&cassette, "b", 1, &conversation).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Context);
    let mut other = Way::default().conversation();
    go_on(&mut other, &[(call("17 * 23"), &["392"])]);
    let error = ask(&cassette, "b", 1, &other).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::NoReply);
}

/// A session that its money or time ended does so again, if it may spend as much.
#[tokio::test]
async fn a_limit_ends_a_session_that_has_the_same() {
    let dir = tempfile::tempdir().unwrap();
    recording(dir.path());
    let cassette = cassette(dir.path(), Cost::Nothing);
    let mut conversation = Way::default().conversation();
    go_on(&mut conversation, &recorded_turns()[..1]);
    let other = Limits {
        max_cost_usd: Some(0.5),
        max_seconds: Some(60.0),
        ..limits()
    };
    let unknown = Cassette {
        source: Arc::new(Source {
            limits: None,
            ..source(Cost::Nothing)
        }),
        ..cassette.clone().within(limits())
    };
    use ModelErrorKind::{Context, NoReply, SessionCost, SessionTime};
    let table = [
        (
            cassette.clone().within(limits()),
            [Context, SessionCost, SessionTime],
        ),
        (cassette.clone().within(other), [Context, NoReply, NoReply]),
        (
            cassette.within(Limits::default()),
            [Context, NoReply, NoReply],
        ),
        (unknown, [Context, NoReply, NoReply]),
    ];
    for (cassette, kinds) in table {
        for (seed, kind) in [1, 3, 4].into_iter().zip(kinds) {
            let error = ask(&cassette, "b", seed, &conversation).await.unwrap_err();
            assert_eq!(error.kind, kind, "{seed} {:?}: {error}", cassette.limits);
        }
    }
}
